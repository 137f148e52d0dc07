import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from carve_stats.errors import InputError
from carve_stats.replay.operators.phase import (
    PhaseRandomization,
    match_histogram,
    phase_field,
    rotate_phases,
)

SIZES = [(h, w) for h in (63, 64) for w in (47, 48)] + [(1, 1), (1, 6), (1, 7), (2, 2), (5, 1)]

sides = st.integers(1, 9)
frames = st.tuples(sides, sides, st.just(3)).flatmap(lambda s: hnp.arrays(np.uint8, s))
seeds = st.integers(0, 2**53 - 1)


def picture(height, width):
    """A frame whose channels are correlated, as a photograph's are."""
    rng = np.random.default_rng([height, width])
    shared = rng.integers(0, 200, (height, width, 1))
    return (shared + rng.integers(0, 56, (height, width, 3))).astype(np.uint8)


def spectra(channels):
    """Full complex double spectra, by the library that the operator does not use."""
    return np.fft.fft2(np.asarray(channels, float), axes=(-2, -1))


def assert_second_order_kept(frame, rotated):
    before, after = spectra(np.moveaxis(frame, 2, 0)), spectra(rotated)
    scale = np.abs(before).max() + 1
    np.testing.assert_allclose(np.abs(after), np.abs(before), atol=2e-6 * scale)
    for a in range(3):
        for b in range(a):
            np.testing.assert_allclose(
                after[a] * after[b].conj(), before[a] * before[b].conj(), atol=4e-6 * scale**2
            )


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_amplitudes_and_cross_spectra_are_kept_before_the_histogram_step(height, width):
    frame = picture(height, width)
    assert_second_order_kept(frame, rotate_phases(frame, seed=5))


@given(frame=frames, seed=seeds)
def test_amplitudes_and_cross_spectra_are_kept_for_every_small_frame(frame, seed):
    assert_second_order_kept(frame, rotate_phases(frame, seed=seed))


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_means_and_channel_covariance_are_kept_before_the_histogram_step(height, width):
    frame = picture(height, width)
    before = frame.reshape(-1, 3).astype(float)
    after = rotate_phases(frame, seed=6).reshape(3, -1).T.astype(float)
    np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), rtol=1e-5)
    moments = [(x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) / len(x) for x in (before, after)]
    np.testing.assert_allclose(moments[1], moments[0], rtol=1e-4, atol=1e-2)


@given(height=sides, width=sides, seed=seeds)
def test_the_field_is_unit_and_conjugate_at_opposite_frequencies(height, width, seed):
    field = phase_field(height, width, seed=seed)
    np.testing.assert_allclose(np.abs(field), 1, rtol=1e-6)
    assert field[0, 0] == 1
    for column in {0, width // 2} if width % 2 == 0 else {0}:
        for row in range(height):
            np.testing.assert_array_equal(field[row, column], field[-row, column].conj())


def test_the_phases_are_uniform_on_the_circle():
    field = phase_field(200, 201, seed=3)[:, 1:]  # column 0 is not free
    # The mean of n unit phases has mean square 1/n: three harmonics within four times that.
    for harmonic in (1, 2, 3):
        assert np.abs((field**harmonic).mean()) < 4 / np.sqrt(field.size)


def test_real_bins_take_both_signs():
    signs = {complex(phase_field(4, 6, seed=s)[2, 3]) for s in range(20)}
    assert signs == {1, -1}


@given(frame=frames, seed=seeds)
def test_every_channel_keeps_its_histogram_exactly(frame, seed):
    out = PhaseRandomization()(frame, seed=seed)
    assert out.shape == frame.shape
    assert out.dtype == np.uint8
    for channel in range(3):
        np.testing.assert_array_equal(
            np.sort(out[:, :, channel], axis=None), np.sort(frame[:, :, channel], axis=None)
        )


def test_the_content_goes():
    y, x = np.mgrid[0:90, 0:120]
    disk = np.where((y - 45) ** 2 + (x - 60) ** 2 < 900, 220, 30).astype(np.uint8)
    frame = np.repeat(disk[:, :, None], 3, axis=2)
    similarity = [
        np.corrcoef(disk.ravel(), PhaseRandomization()(frame, seed=s)[:, :, 0].ravel())[0, 1]
        for s in range(20)
    ]
    # The disk's energy is in few low frequencies, so single frames correlate by chance, with
    # either sign; the mean of twenty does not.
    assert abs(np.mean(similarity)) < 0.15
    assert max(similarity) < 0.8


def test_the_same_seed_gives_the_same_frame_and_another_seed_another():
    frame = picture(30, 40)
    operator = PhaseRandomization()
    np.testing.assert_array_equal(operator(frame, seed=9), operator(frame, seed=9))
    distinct = {operator(frame, seed=s).tobytes() for s in range(20)}
    assert len(distinct) == 20


def test_the_frame_that_was_given_is_left_alone():
    frame = picture(8, 9)
    before = frame.copy()
    frame.setflags(write=False)
    PhaseRandomization()(frame, seed=1)
    np.testing.assert_array_equal(frame, before)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("level", [0, 77, 255])
def test_a_constant_frame_stays_as_it_is(height, width, level):
    frame = np.full((height, width, 3), level, np.uint8)
    np.testing.assert_array_equal(PhaseRandomization()(frame, seed=4), frame)


@pytest.mark.parametrize(("height", "width"), [(17, 23), (18, 24), (61, 40), (7, 300)])
def test_grey_stays_grey(height, width):
    grey = np.repeat(picture(height, width)[:, :, :1], 3, axis=2)
    out = PhaseRandomization()(grey, seed=8)
    np.testing.assert_array_equal(out[:, :, 0], out[:, :, 1])
    np.testing.assert_array_equal(out[:, :, 0], out[:, :, 2])


@given(
    values=hnp.arrays(
        np.float32, st.integers(1, 40), elements=st.sampled_from([-2.5, -0.0, 0.0, 1e-40, 1.0, 3e8])
    ),
    data=st.data(),
)
def test_ranks_are_those_of_a_stable_sort(values, data):
    reference = data.draw(hnp.arrays(np.uint8, values.shape))
    expected = np.empty_like(reference)
    order = sorted(range(values.size), key=lambda i: values[i])  # stable, and -0 equals 0
    expected[order] = np.sort(reference)
    np.testing.assert_array_equal(match_histogram(values, reference), expected)


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        (np.zeros((4, 4, 3)), "float64"),
        (np.zeros((4, 4), np.uint8), r"\(4, 4\)"),
        (np.zeros((4, 4, 4), np.uint8), r"\(4, 4, 4\)"),
        (np.zeros((0, 4, 3), np.uint8), r"\(0, 4, 3\)"),
        ([[[1, 2, 3]]], "list"),
    ],
)
def test_other_pixels_are_refused_in_one_line(pixels, words):
    with pytest.raises(InputError, match=words) as caught:
        PhaseRandomization()(pixels, seed=1)
    assert "\n" not in str(caught.value)


def test_a_negative_seed_is_refused():
    with pytest.raises(InputError, match="seed=-1"):
        PhaseRandomization()(picture(4, 4), seed=-1)
