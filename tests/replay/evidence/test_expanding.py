"""Evidence given in short: folders of frames, intervals and moments of a video."""

from fractions import Fraction

import av
import numpy as np
import pytest
from test_media import moving, number_of

from carve_stats.errors import InputError
from carve_stats.replay.evidence.expanding import expand_item, expand_trajectory
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.evidence.media import load_frames
from carve_stats.replay.trajectories import EvidenceItem, Trajectory


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    """A film of 4 s at 25 pictures a second, and a folder of 12 numbered pictures."""
    root = tmp_path_factory.mktemp("media")
    with av.open(str(root / "film.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 192, 64, "yuv420p"
        for i in range(100):
            frame = av.VideoFrame.from_ndarray(moving(i), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    (root / "clips" / "q1").mkdir(parents=True)
    names = [f"f{i}.png" for i in range(1, 11)] + ["f10b.JPG", "f010.webp"]
    for i, name in enumerate(names):
        kind = "jpeg" if name.endswith("JPG") else name[-4:].strip(".")
        (root / "clips" / "q1" / name).write_bytes(Encoder(kind, 95).encode(moving(i)).data)
    for name in (".DS_Store", "._f1.png", "info.json", "Thumbs.db"):
        (root / "clips" / "q1" / name).write_text("no picture")
    (root / "clips" / "empty").mkdir()
    (root / "out").symlink_to(root.parent, target_is_directory=True)
    (root / "clips" / "empty" / "notes.txt").write_text("")
    return root


def numbers(record, media):
    frames = load_frames(EvidenceItem(id="0", **record), media)
    return [number_of(frame.pixels()) for frame in frames]


@pytest.mark.parametrize("folder", ["clips/q1", "clips/q1/", "clips/empty/../q1", "./clips/q1"])
def test_a_folder_gives_its_pictures_in_the_order_of_their_numbers(media, folder):
    record = expand_item({"id": "7", "frames": folder, "query": "q"}, media, frames=4)
    names = [path.rsplit("/", 1)[1] for path in record["frames"]]
    assert names == [*(f"f{i}.png" for i in range(1, 11)), "f010.webp", "f10b.JPG"]
    assert (record["id"], record["query"]) == ("7", "q")
    shown = numbers({"frames": record["frames"]}, media)
    assert shown == [*range(10), 11, 10]


def test_a_whole_path_within_the_media_root_is_as_good(media):
    record = expand_item({"frames": str(media / "clips" / "q1")}, media, frames=4)
    assert numbers({"frames": record["frames"]}, media)[:3] == [0, 1, 2]


def test_a_folder_with_times(media):
    times = [float(i) for i in range(12)]
    record = expand_item({"frames": "clips/q1", "times": times}, media, frames=4)
    frames = load_frames(EvidenceItem(id="0", **record), media)
    assert [frame.time for frame in frames] == times
    short = expand_item({"frames": "clips/q1", "times": times[:3]}, media, frames=4)
    with pytest.raises(InputError, match="it has 12 frames and 3 times: give one time a frame"):
        EvidenceItem(id="0", **short)


@pytest.mark.parametrize(
    "record",
    [
        {"id": "0", "text": "a caption"},
        {"frames": ["clips/q1/f1.png", "clips/q1/f2.png"], "times": [1.0, 2.0]},
        {"video": "film.mkv", "times": [0.5], "start": 3.0, "end": 3.0},
        {"video": None, "frames": None, "text": "x"},
    ],
)
def test_what_is_given_in_full_stays_as_it_is(media, record):
    given = dict(record)
    assert expand_item(record, media, frames=4) == given == record


@pytest.mark.parametrize(
    ("interval", "frames", "policy", "shown", "expected"),
    [
        ((1.0, 3.0), 4, None, (1, 3), [31, 43, 56, 68]),
        ((3.0, 9.0), 2, None, (3, 4), [81, 93]),
        ((2.0, 2.0), 4, "1s", (1.5, 2.5), [40, 46, 53, 59]),
        ((0.0, None), 2, "1s", (0, 1), [6, 18]),
        ((4.0, 4.0), 2, "1s", (3, 4), [81, 93]),
        ((2.0, 2.0), 4, "10s", (0, 4), [12, 37, 62, 87]),
        ((2.02, None), 4, "none", (2.02, 2.02), [50]),
        ((4.0, 4.0), 4, "none", (4, 4), [99]),
    ],
)
def test_an_interval_gives_times_spread_over_it(media, interval, frames, policy, shown, expected):
    item = {"video": "film.mkv", "start": interval[0], "end": interval[1]}
    record = expand_item(item, media, frames=frames, zero_length=policy)
    own = expand_item({**item, "zero_length": policy}, media, frames=frames)
    assert own == {**record, "zero_length": policy}
    moment = interval[1] in (None, interval[0])
    assert record.get("zero_length") == (policy if moment else None)
    assert (record["start"], record["end"]) == shown
    assert numbers(record, media) == expected
    assert all(isinstance(time, float) for time in record["times"])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"frames": "clips/none"}, "frames='clips/none': no folder .* to read .No such file"),
        ({"frames": "film.mkv"}, "no folder .* to read .Not a directory"),
        ({"frames": "clips/\0"}, "frames: path .* cannot be used .embedded null"),
        ({"frames": ".."}, "frames: path '..' leads out of the folder"),
        ({"frames": "clips/../../x"}, "leads out of the folder"),
        ({"frames": "/etc"}, "frames: path '/etc' leads out of the folder"),
        ({"frames": "out"}, "frames: path 'out' leads out of the folder"),
        ({"video": "out/x.mp4", "start": 1.0}, "video: path 'out/x.mp4' leads out of the folder"),
        ({"frames": "clips/empty"}, "holds no JPEG, PNG or WebP picture"),
        ({"video": "film.mkv", "start": 1.0, "zero_length": "2s"}, "unknown zero_length '2s'"),
        ({"video": "film.mkv"}, "video='film.mkv' has neither times nor a start"),
        ({"video": "film.mkv", "end": 3.0}, "has neither times nor a start"),
        (
            {"video": "film.mkv", "start": 2.0},
            r"^start=2.0 is the end too: say what such a moment shows \(none, 1s, 10s\) by"
            r" zero_length in the item, \[input\] zero_length in the configuration, or"
            r" read_trajectories\(zero_length=\)$",
        ),
        ({"video": "film.mkv", "start": 5.0, "end": 6.0}, "outside the video, which has 4 s"),
        ({"video": "film.mkv", "start": "2"}, "start='2' must be a number of seconds"),
        ({"video": "film.mkv", "start": True}, "start=True must be a number of seconds"),
        ({"video": "none.mkv", "start": 1.0, "end": 2.0}, "none.mkv: no such video"),
        ({"video": 3, "start": 1.0, "end": 2.0}, "video=3 must be a path"),
        (
            {"video": "a\0b", "start": 1.0, "end": 2.0},
            "video: path .* cannot be used",
        ),
    ],
)
def test_what_cannot_be_expanded_is_named_in_one_line(media, record, message):
    with pytest.raises(InputError, match=message) as caught:
        expand_item(record, media, frames=4)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("frames", [None, 4])
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "has an interval and no times: give them, or say how many frames an interval shows"),
        ({"frames": 4}, "frames=4 is a number, and an item's frames are paths: take it out"),
        ({"frames": 4.0, "times": [1.0]}, "frames=4.0 is a number"),
    ],
)
def test_how_many_frames_an_interval_shows_is_not_said_in_the_item(media, frames, more, message):
    item = {"video": "film.mkv", "start": 1.0, "end": 2.0, **more}
    if frames and not more:
        assert len(expand_item(item, media, frames=frames)["times"]) == frames
        return
    place = r", by \[input\] frames in the configuration, or read_trajectories\(frames=\)$"
    with pytest.raises(InputError, match=message + ".*" + place):
        expand_item(item, media, frames=frames)


def test_pictures_of_a_folder_are_what_they_were(media):
    pixels = Encoder("png").encode(moving(3)).pixels()
    np.testing.assert_array_equal(pixels, moving(3))
    record = expand_item({"frames": "clips/q1"}, media, frames=1)
    shown = load_frames(EvidenceItem(id="0", **record), media)[3]
    np.testing.assert_array_equal(shown.pixels(), moving(3))


def test_all_evidence_of_a_trajectory_is_expanded(media):
    record = {
        "question_id": "q1",
        "answer": "A",
        "evidence": [
            {"text": "a caption"},
            {"frames": "clips/q1"},
            {"id": "clip", "video": "film.mkv", "start": 1, "end": 3, "query": "q"},
        ],
    }
    before = repr(record)
    trajectory = Trajectory.from_dict(expand_trajectory(record, media, frames=2))
    assert repr(record) == before
    assert [item.id for item in trajectory.evidence] == ["0", "1", "clip"]
    assert len(trajectory.evidence[1].frames) == 12
    assert trajectory.evidence[2].times == (1.5, 2.5)
    # What a run stores is complete: it is expanded to itself, whatever the settings are then.
    stored = trajectory.to_dict()
    assert expand_trajectory(stored, media, frames=7, zero_length="10s") == stored


@pytest.mark.parametrize("record", [None, 3, [], {"question_id": "q"}, {"evidence": "x"}])
def test_what_is_no_trajectory_is_left_to_be_refused(media, record):
    assert expand_trajectory(record, media, frames=2) is record


def test_the_item_that_cannot_be_expanded_is_named(media):
    record = {"evidence": [{"text": "x"}, "no item", {"frames": "clips/empty"}]}
    with pytest.raises(InputError, match=r"^evidence\[2\]: frames='clips/empty'"):
        expand_trajectory(record, media, frames=2)
