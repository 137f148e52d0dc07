import numpy as np
import pytest

from carve_stats.errors import InputError
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.evidence.render import crop_and_restore, render
from carve_stats.replay.operators import load_operator


def picture(height=60, width=80):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 3, y * 4, (x + y) % 256], axis=2).astype(np.uint8)


FRAMES = (
    Encoder("jpeg", 95).encode(picture(), 1.0),
    Encoder("jpeg", 95).encode(picture(), 2.0),
)


class Recorder:
    """An operator that changes nothing and remembers its seeds."""

    def __init__(self):
        self.seeds = []

    def __call__(self, pixels, /, *, seed):
        self.seeds.append(seed)
        return pixels

    def parameters(self):
        return {"name": "recorder"}


def rendered(condition, *, rendering_seed=3, replay_seed=4, **settings):
    settings = {"operator": load_operator("phase"), "encoder": Encoder(), "crop": 0.02} | settings
    return render(
        FRAMES,
        condition=condition,
        rendering_seed=rendering_seed,
        replay_seed=replay_seed,
        **settings,
    )


def test_self_shows_the_stored_frames():
    assert rendered("self") is FRAMES


@pytest.mark.parametrize("condition", ["sham", "destroy"])
def test_the_same_seeds_give_the_same_bytes(condition):
    assert rendered(condition) == rendered(condition)


@pytest.mark.parametrize("condition", ["sham", "destroy"])
def test_times_and_sizes_are_kept(condition):
    for frame, original in zip(rendered(condition), FRAMES, strict=True):
        assert frame.time == original.time
        assert frame.media_type == "image/jpeg"
        assert frame.pixels().shape == original.pixels().shape


def test_sham_looks_like_the_frame_and_is_not_it():
    for frame, original in zip(rendered("sham"), FRAMES, strict=True):
        difference = np.abs(frame.pixels().astype(int) - original.pixels())
        assert 0 < difference.mean() < 6


def test_destroy_holds_the_grey_levels_of_sham_in_other_places():
    png = Encoder("png")
    for a, b in zip(rendered("sham", encoder=png), rendered("destroy", encoder=png), strict=True):
        sham, destroy = a.pixels(), b.pixels()
        assert (sham != destroy).mean() > 0.9
        np.testing.assert_array_equal(
            np.sort(sham.reshape(-1, 3), axis=0), np.sort(destroy.reshape(-1, 3), axis=0)
        )


def test_only_the_operator_stands_between_sham_and_destroy():
    assert rendered("destroy", operator=Recorder()) == rendered("sham")


def test_sham_does_not_depend_on_the_replay():
    assert rendered("sham", replay_seed=4) == rendered("sham", replay_seed=5)


def test_another_repetition_has_another_crop():
    shams = {rendered("sham", rendering_seed=s)[0].data for s in range(10)}
    assert len(shams) == 10


def test_equal_frames_of_an_item_differ_in_crop_and_phases():
    first, second = rendered("sham")
    assert first.data != second.data
    first, second = rendered("destroy", crop=0)  # no crop: what differs is the phases
    assert first.data != second.data


def test_every_frame_item_and_replay_has_phases_of_its_own():
    recorder = Recorder()
    for rendering_seed in (1, 2):
        for replay_seed in (1, 2):
            rendered(
                "destroy",
                rendering_seed=rendering_seed,
                replay_seed=replay_seed,
                operator=recorder,
            )
    assert len(set(recorder.seeds)) == len(recorder.seeds) == 8


def test_without_a_crop_sham_is_the_encoder_alone():
    expected = [Encoder().encode(f.pixels(), f.time) for f in FRAMES]
    assert list(rendered("sham", crop=0)) == expected


def test_the_crop_cuts_off_at_most_its_share_of_each_side():
    height, width, crop = 200, 250, 0.02
    across = np.broadcast_to(np.arange(width, dtype=np.uint8)[None, :, None], (height, width, 3))
    down = np.broadcast_to(np.arange(height, dtype=np.uint8)[:, None, None], (height, width, 3))
    lost = []
    for seed in range(40):
        for ramp, side, middle in (
            (across, width, (100, slice(None))),
            (down, height, (slice(None), 100)),
        ):
            rng = np.random.default_rng(seed)
            line = crop_and_restore(np.ascontiguousarray(ramp), crop=crop, rng=rng)[middle][:, 0]
            lost.append((side - 1 - (int(line[-1]) - int(line[0]))) / side)
    assert min(lost) >= 0
    assert max(lost) <= crop + 1 / height  # a grey level is a pixel wide
    assert np.mean(lost) > crop / 4


def test_a_tiny_frame_survives():
    one = Encoder("png").encode(np.array([[[9, 8, 7]]], np.uint8))
    for condition in ("sham", "destroy"):
        (out,) = render(
            (one,),
            condition=condition,
            rendering_seed=1,
            replay_seed=1,
            operator=load_operator("phase"),
            encoder=Encoder("png"),
            crop=0.02,
        )
        assert out.pixels().tolist() == [[[9, 8, 7]]]


def test_an_unknown_condition_and_an_impossible_crop_are_refused():
    with pytest.raises(InputError, match="did you mean 'sham'"):
        rendered("shame")
    for crop in (-0.1, 1.0, float("nan")):
        with pytest.raises(InputError, match="crop="):
            rendered("sham", crop=crop)
