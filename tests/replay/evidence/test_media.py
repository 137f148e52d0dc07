import wave
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

from carve_stats.errors import InputError, MissingExtraError
from carve_stats.replay.evidence import media
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.evidence.media import decode_frames, load_frames, video_seconds
from carve_stats.replay.loop import run_replays
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

LEVEL, STEP = 20, 5
SIZE = (48, 32)  # width, height


def write_clip(path, begins, *, codec="mpeg4", rate=None, every=12):
    """A clip whose frame i is grey level 20 + 5 i and begins at begins[i] milliseconds."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate or 1000)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = 2_000_000
        stream.codec_context.gop_size = every
        base = Fraction(1, rate or 1000)
        stream.codec_context.time_base = base
        for i, begin in enumerate(begins):
            grey = np.full((SIZE[1], SIZE[0], 3), LEVEL + STEP * i, np.uint8)
            frame = av.VideoFrame.from_ndarray(grey, format="rgb24")
            frame.pts, frame.time_base = round(Fraction(begin, 1000) / base), base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def shown(path, times, **settings):
    """Which frame is shown at each time, read off its grey level."""
    pictures = decode_frames(path, times, **settings)
    return [round((pixels.mean() - LEVEL) / STEP) for _, pixels in pictures]


def played(begins, time):
    """The definition: the last frame that has begun, or the first."""
    return max([i for i, begin in enumerate(begins) if begin / 1000 <= time], default=0)


CONSTANT = [200 * i for i in range(40)]
# Half a second of quick frames, a frame that stands for three seconds, then irregular ones.
VARIABLE = [*range(0, 500, 50), *range(3500, 9000, 700), 9001, 9002, 9500, 12000]


@pytest.mark.parametrize("begins", [CONSTANT, VARIABLE], ids=["constant", "variable"])
@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_the_frame_played_at_a_time_is_the_last_that_has_begun(tmp_path, begins, suffix):
    clip = write_clip(tmp_path / f"clip.{suffix}", begins)
    exact = [begin / 1000 for begin in begins]
    between = [begin / 1000 + 0.0004 for begin in begins] + [
        begin / 1000 - 0.0004 for begin in begins[1:]
    ]
    for times in (exact, between):
        assert shown(clip, times) == [played(begins, t) for t in times]


@pytest.mark.parametrize("begins", [CONSTANT, VARIABLE], ids=["constant", "variable"])
def test_one_frame_alone_is_found_by_seeking(tmp_path, begins):
    clip = write_clip(tmp_path / "clip.mp4", begins)
    for time in (0.0, 0.21, 3.6, 5.0, 6.99, 9.0015, 11.0, 12.0):
        assert shown(clip, [time]) == [played(begins, time)]


def test_times_in_any_order_and_more_than_once(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4", CONSTANT)
    times = [7.0, 0.3, 7.0, 2.2, 0.0]
    assert shown(clip, times) == [played(CONSTANT, t) for t in times]


def test_times_outside_the_clip_give_its_first_and_last_frame(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4", CONSTANT)
    assert shown(clip, [-5.0, 100.0]) == [0, 39]


def test_the_time_of_the_picture_is_when_it_begins(tmp_path):
    clip = write_clip(tmp_path / "clip.mkv", VARIABLE)
    assert [time for time, _ in decode_frames(clip, [2.9, 4.0, 9.0015])] == [0.45, 3.5, 9.001]


def test_times_count_from_the_start_of_the_stream(tmp_path):
    clip = write_clip(tmp_path / "late.mkv", [begin + 3000 for begin in CONSTANT])
    with av.open(str(clip)) as container:
        assert container.streams.video[0].start_time == 3000  # the clip is what it should be
    assert shown(clip, [0.0, 0.5, 7.0]) == [0, 2, 35]


def test_a_container_without_an_index(tmp_path):
    clip = write_clip(
        tmp_path / "clip.mpg", [40 * i for i in range(46)], codec="mpeg1video", rate=25
    )
    with av.open(str(clip)) as container:  # this muxer moves some of the times it is given
        stream = container.streams.video[0]
        start = stream.start_time
        begins = [
            1000 * float((f.pts - start) * stream.time_base) for f in container.decode(stream)
        ]
    times = [0.0, 0.5, 1.0, 1.3, 1.79]
    assert shown(clip, times) == [played(begins, t) for t in times]


def moving(i):
    """A picture that is like no other of its clip: i in binary, in ten bars."""
    pixels = np.full((64, 192, 3), 40, np.uint8)
    for bit in range(10):
        pixels[:, bit * 16 : bit * 16 + 16] = 235 if i >> bit & 1 else 20
    return pixels


def number_of(pixels):
    bars = [pixels[16:48, bit * 16 + 4 : bit * 16 + 12].mean() > 128 for bit in range(10)]
    return sum(int(bar) << bit for bit, bar in enumerate(bars))


def write_reordered(path, codec, *, n=300, sound=0, **options):
    """A clip of 25 pictures a second, many of them predicted from later ones too."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = 192, 64, "yuv420p"
        heard = container.add_stream("mp2", rate=48000) if sound else None
        for i in range(n):
            frame = av.VideoFrame.from_ndarray(moving(i), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        for i in range(sound * 48000 // 1152):
            samples = av.AudioFrame.from_ndarray(np.zeros((1, 2304), np.int16), layout="stereo")
            samples.sample_rate, samples.pts = 48000, i * 1152
            container.mux(heard.encode(samples))
    return path


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [("mpeg1video", "mpg"), ("mpeg2video", "mpg"), ("mpeg2video", "ts"), ("mpeg4", "mp4")],
)
def test_a_picture_does_not_depend_on_the_other_times(tmp_path, rng, codec, suffix):
    clip = write_reordered(tmp_path / f"clip.{suffix}", codec, g="15", bf="2")
    times = rng.uniform(0, 11, 15).tolist()
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        order = [(f.pts - stream.start_time, f) for f in container.decode(stream)]
        shown_by_order = []
        for time in times:
            until = 0
            while until + 1 < len(order) and order[until + 1][0] * stream.time_base <= time:
                until += 1
            shown_by_order.append(number_of(order[until][1].to_ndarray(format="rgb24")))
    together = [number_of(pixels) for _, pixels in decode_frames(clip, times)]
    alone = [number_of(decode_frames(clip, [time])[0][1]) for time in times]
    assert together == alone == shown_by_order


def test_avi_pictures_are_shown_in_their_order(tmp_path):
    # The packets' times are those of decoding: 1, 3, 4, 2, 6, ... in the order of showing.
    clip = write_reordered(tmp_path / "clip.avi", "libx264", g="50", bf="2", threads="1")
    with av.open(str(clip)) as container:
        stamps = [frame.pts for frame in container.decode(video=0)]
        assert stamps != sorted(stamps)  # the clip is what it should be
    for i in (0, 1, 2, 3, 57, 120, 121, 299):
        ((begin, pixels),) = decode_frames(clip, [i / 25 + 0.01])
        assert (number_of(pixels), begin) == (i, i / 25)


@pytest.mark.parametrize("suffix", ["mkv", "avi"])
def test_a_clip_that_has_lost_its_end_is_refused_where_it_is_missing(tmp_path, suffix):
    clip = write_reordered(tmp_path / f"clip.{suffix}", "mpeg4", g="12")
    with av.open(str(clip)) as container:
        places = [packet.pos for packet in container.demux() if packet.size]
    clip.write_bytes(clip.read_bytes()[: places[150] - 8])  # 8 bytes are a packet's head
    assert number_of(decode_frames(clip, [2.0])[0][1]) == 50
    for times in ([10.0], [2.0, 10.0], [100.0]):
        with pytest.raises(InputError, match=rf"clip\.{suffix}: is cut off after") as caught:
            decode_frames(clip, times)
        one_line(caught)


def test_sound_that_goes_on_is_no_lost_end(tmp_path):
    clip = write_reordered(tmp_path / "clip.mkv", "mpeg4", n=50, sound=6)
    assert number_of(decode_frames(clip, [5.0])[0][1]) == 49


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_impossible_times_and_heights_are_refused(tmp_path, time):
    clip = write_clip(tmp_path / "clip.mp4", CONSTANT)
    with pytest.raises(InputError, match="times="):
        decode_frames(clip, [1.0, time])
    with pytest.raises(InputError, match="height=0"):
        decode_frames(clip, [1.0], height=0)
    assert shown(clip, [1e30]) == [39]


class Astray:
    """A container whose seeks land somewhere else."""

    def __init__(self, container, land):
        self._container, self._land = container, land

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._container.close()

    def __getattr__(self, name):
        return getattr(self._container, name)

    def seek(self, offset, **settings):
        self._container.seek(self._land(offset), **settings)


@pytest.mark.parametrize(
    "land", [lambda offset: 0, lambda offset: offset and offset + 50_000], ids=["early", "late"]
)
def test_seeks_that_go_astray_change_no_picture(tmp_path, monkeypatch, land):
    clip = write_clip(tmp_path / "clip.mp4", CONSTANT)
    opened = media._opened
    monkeypatch.setattr(media, "_opened", lambda path: Astray(opened(path), land))
    times = [0.1, 3.0, 3.1, 6.0, 6.3]
    assert shown(clip, times) == [played(CONSTANT, t) for t in times]


def test_a_sideways_film_is_turned_upright(tmp_path):
    clip = tmp_path / "phone.mp4"
    with av.open(str(clip), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        pixels = np.zeros((32, 48, 3), np.uint8)
        pixels[:, :24] = 200  # the left half is bright
        container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    data = bytearray(clip.read_bytes())
    # ISO/IEC 14496-12, 8.3.2: the matrix (a b u c d v x y w) of a track header, version 0,
    # stands 40 bytes after the box's name; (x, y) goes to (ax + cy, bx + dy). A quarter turn
    # clockwise takes right to down and down to left: a = 0, b = 1, c = -1, d = 0.
    at = data.index(b"tkhd") + 4 + 40
    one = 1 << 16
    matrix = [0, one, 0, -one, 0, 0, 0, 0, 1 << 30]
    data[at : at + 36] = b"".join(value.to_bytes(4, "big", signed=True) for value in matrix)
    clip.write_bytes(data)
    ((_, upright),) = decode_frames(clip, [0.0])
    assert upright.shape == (48, 32, 3)
    # What was left is now on top.
    assert upright[:20].mean() > 150
    assert upright[-20:].mean() < 50
    ((_, small),) = decode_frames(clip, [0.0], height=24)
    assert small.shape == (24, 16, 3)
    assert small[:8].mean() > 150


def test_pictures_are_scaled_to_a_height(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4", CONSTANT)
    assert decode_frames(clip, [1.0], height=16)[0][1].shape == (16, 24, 3)
    assert shown(clip, [1.0], height=16) == [5]


def test_the_declared_length_of_a_clip(tmp_path):
    assert video_seconds(write_clip(tmp_path / "a.mp4", CONSTANT)) == pytest.approx(8.0, abs=0.25)
    assert video_seconds(write_clip(tmp_path / "a.mkv", CONSTANT)) == pytest.approx(8.0, abs=0.25)


def test_video_evidence_is_decoded_and_encoded_without_loss(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4", CONSTANT)
    item = EvidenceItem(id="0", video="clip.mp4", times=(1.05, 4.4))
    frames = load_frames(item, tmp_path)
    assert [(f.media_type, f.time) for f in frames] == [("image/png", 1.0), ("image/png", 4.4)]
    for frame, (_, pixels) in zip(frames, decode_frames(clip, item.times), strict=True):
        np.testing.assert_array_equal(frame.pixels(), pixels)


def test_stored_frames_are_read_as_they_are(tmp_path, rng):
    pixels = rng.integers(0, 256, (8, 9, 3), np.uint8)
    stored = [Encoder(name).encode(pixels) for name in ("jpeg", "png", "webp")]
    for i, frame in enumerate(stored):
        (tmp_path / f"{i}.picture").write_bytes(frame.data)
    names = tuple(f"{i}.picture" for i in range(3))
    frames = load_frames(EvidenceItem(id="0", frames=names, times=(1.0, 2.0, 3.0)), tmp_path)
    assert [(f.data, f.media_type) for f in frames] == [(f.data, f.media_type) for f in stored]
    assert [f.time for f in frames] == [1.0, 2.0, 3.0]
    untimed = load_frames(EvidenceItem(id="0", frames=names), tmp_path)
    assert [f.time for f in untimed] == [None] * 3


def test_the_current_folder_is_the_root_if_none_is_given(tmp_path, monkeypatch):
    frame = Encoder("png").encode(np.zeros((2, 2, 3), np.uint8))
    (tmp_path / "0.png").write_bytes(frame.data)
    monkeypatch.chdir(tmp_path)
    assert load_frames(EvidenceItem(id="0", frames=("0.png",)))[0].data == frame.data


def test_a_text_has_no_frames(tmp_path):
    assert load_frames(EvidenceItem(id="0", text="a caption"), tmp_path) == ()


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "item",
    [
        EvidenceItem(id="0", frames=("there-is-none.jpg",)),
        EvidenceItem(id="0", video="there-is-none.mp4", times=(1.0,)),
    ],
    ids=["frame", "video"],
)
def test_a_missing_file_is_named(tmp_path, item):
    with pytest.raises(InputError) as caught:
        load_frames(item, tmp_path)
    message = one_line(caught)
    assert str(tmp_path / "there-is-none") in message
    assert "check the media root" in message


def test_files_of_another_kind_are_named(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a picture, not a video")
    with pytest.raises(InputError) as caught:
        load_frames(EvidenceItem(id="0", frames=("notes.txt",)), tmp_path)
    assert "notes.txt: is no JPEG, PNG or WebP picture" in one_line(caught)
    with pytest.raises(InputError) as caught:
        decode_frames(text, [0.0])
    assert "notes.txt: is no video" in one_line(caught)


def test_broken_pictures_are_named_when_they_are_loaded(tmp_path, monkeypatch):
    data = Encoder("png").encode(np.zeros((90, 90, 3), np.uint8)).data
    (tmp_path / "cut.png").write_bytes(data[:-30])
    with pytest.raises(InputError, match=r"cut\.png: cannot be decoded") as caught:
        load_frames(EvidenceItem(id="0", frames=("cut.png",)), tmp_path)
    one_line(caught)
    (tmp_path / "huge.png").write_bytes(data)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4000)  # Pillow refuses from twice as many
    with pytest.raises(InputError, match=r"huge\.png: cannot be decoded \(Image size") as caught:
        load_frames(EvidenceItem(id="0", frames=("huge.png",)), tmp_path)
    one_line(caught)


@pytest.mark.parametrize("name", ["png", "webp"])
def test_animated_pictures_are_named(tmp_path, name):
    first, *others = (Image.new("RGB", (8, 8), (60 * i, 0, 0)) for i in range(4))
    first.save(tmp_path / f"moves.{name}", save_all=True, append_images=others)
    with pytest.raises(InputError, match=rf"moves\.{name}: is animated"):
        load_frames(EvidenceItem(id="0", frames=(f"moves.{name}",)), tmp_path)


def test_other_files_in_the_container_of_webp_are_no_picture(tmp_path):
    write_reordered(tmp_path / "clip.avi", "mpeg4", n=3)
    with pytest.raises(InputError, match=r"clip\.avi: is no JPEG, PNG or WebP picture"):
        load_frames(EvidenceItem(id="0", frames=("clip.avi",)), tmp_path)


def test_sound_alone_is_refused(tmp_path):
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(1600))
    with pytest.raises(InputError, match=r"sound\.wav: has no video stream"):
        decode_frames(tmp_path / "sound.wav", [0.0])


def test_a_clip_without_a_decodable_picture_is_refused(tmp_path):
    clip = write_clip(tmp_path / "clip.mkv", CONSTANT)
    data = clip.read_bytes()
    (tmp_path / "cut.mkv").write_bytes(
        data[: data.index(b"\x1f\x43\xb6\x75")]
    )  # before the Cluster
    with pytest.raises(InputError, match=r"cut\.mkv: ") as caught:
        decode_frames(tmp_path / "cut.mkv", [0.0])
    one_line(caught)


def test_without_pyav_the_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'carve-stats\[replay\]'"):
        decode_frames(tmp_path / "clip.mp4", [0.0])


@pytest.mark.parametrize("times", [(5000.0,), (0.0, 3.1), (-1.1,)])
def test_times_that_are_not_in_the_video_are_refused(tmp_path, times):
    write_clip(tmp_path / "clip.mp4", range(0, 2000, 100), rate=10)
    item = EvidenceItem(id="e", video="clip.mp4", times=times)
    asked = Trajectory(question_id="q1", answer="A", options={"A": "a", "B": "b"}, evidence=[item])
    with pytest.raises(InputError, match=r"'q1', evidence 'e': times has .*'clip.mp4' has 2 s"):
        run_replays(lambda r: "A", [asked], k=1, store=tmp_path / "run",
                    seed=1, media=tmp_path)  # fmt: skip
    assert not (tmp_path / "run").exists()
