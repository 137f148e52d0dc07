import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from carve_stats._kernels import resampling

MASK_32, MASK_64 = 2**32 - 1, 2**64 - 1

# The ways to draw a resample: one by one; or Poisson counts, whose expected total is below the
# draws to be made by so many of its standard deviations. At 0 nearly every second one is too many.
WAYS = ["one by one", 0.0, 1.0, 3.0]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    if request.param != "one by one":
        monkeypatch.setattr(resampling, "MOST_COUNTED", 0)
        monkeypatch.setattr(resampling, "MARGIN", request.param)
        monkeypatch.setattr(resampling, "_TILE", 8)
    return request.param


def draw_counts(items, seed, resamples):
    """How often each item was drawn: sums over the rows of a unit matrix."""
    return resampling.resample_sums(np.eye(items), np.uint64(seed), resamples)


def multinomial_probability(counts):
    total = sum(counts)
    ways = math.factorial(total)
    for count in counts:
        ways //= math.factorial(count)
    return Fraction(ways, len(counts) ** total)


def test_counts_of_three_items_have_the_exact_multinomial_law(way):
    outcomes = [c for c in itertools.product(range(4), repeat=3) if sum(c) == 3]
    share = np.array([float(multinomial_probability(c)) for c in outcomes])
    assert math.fsum(share) == pytest.approx(1, abs=1e-15)
    resamples = 12_000
    seen, times = np.unique(draw_counts(3, 11, resamples), axis=0, return_counts=True)
    assert seen.tolist() == [list(c) for c in outcomes]
    assert scipy.stats.chisquare(times, share * resamples).pvalue > 1e-3


def test_two_of_twenty_items_have_the_exact_joint_law(way):
    # Items on both sides of a tile's end; neighbours share the rest of the draws.
    items, resamples = 20, 3000
    counts = draw_counts(items, 5, resamples)
    assert (counts.sum(axis=1) == items).all()
    law = scipy.stats.multinomial(items, [1 / items, 1 / items, 1 - 2 / items])
    for one, other in [(0, 1), (7, 8), (3, 19)]:
        seen, expected = np.zeros((4, 4)), np.zeros((4, 4))
        for a, b in itertools.product(range(items + 1), repeat=2):
            if a + b <= items:
                expected[min(a, 3), min(b, 3)] += resamples * law.pmf([a, b, items - a - b])
        pairs = np.minimum(counts[:, [one, other]], 3).astype(int)
        np.add.at(seen, (pairs[:, 0], pairs[:, 1]), 1)
        assert expected.min() > 5
        assert scipy.stats.chisquare(seen.ravel(), expected.ravel()).pvalue > 1e-3


def test_factorial_moments_are_those_of_the_multinomial(way):
    # E[c (c−1) … (c−j+1)] = items! / (items−j)! / items^j for each item, and its mean over them.
    items, resamples = 20, 3000
    counts = draw_counts(items, 8, resamples)
    assert counts.mean() == 1
    falling = counts.copy()
    for j in (2, 3):
        falling *= counts - (j - 1)
        of_resamples = falling.mean(axis=1)
        expected = math.perm(items, j) / items**j
        error = of_resamples.std(ddof=1) / math.sqrt(resamples)
        assert abs(of_resamples.mean() - expected) < 4 * error
        assert error < 0.05 * expected


def test_resamples_do_not_depend_on_each_other(way):
    # Of neighbours in a group of four, and of neighbours across groups.
    counts = draw_counts(12, 3, 2000) - 1
    for lag in (1, 2, 4):
        products = (counts[lag:] * counts[:-lag]).mean(axis=1)
        assert abs(products.mean()) < 4 * products.std() / math.sqrt(len(products))


def test_a_resample_depends_on_the_seed_and_its_own_number_only(way, monkeypatch):
    whole = draw_counts(11, 9, 130)
    assert (draw_counts(11, 9, 103) == whole[:103]).all()
    assert (draw_counts(11, 10, 130) != whole).any()
    assert len(np.unique(whole, axis=0)) == 130
    monkeypatch.setattr(resampling, "_BLOCK_BYTES", 4 * 11 * 12)  # three groups of four
    assert (draw_counts(11, 9, 130) == whole).all()


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK_64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK_64
    return z ^ z >> 31


def keys(seed, number):
    key = mix(seed + 0x9E3779B97F4A7C15 * mix(number) & MASK_64)
    return key & MASK_32, key >> 32


def word(counter, key=0, second_key=0):
    x = counter + key & MASK_32
    x = ((x ^ x >> 16) * 0x7FEB352D + second_key) & MASK_32
    x = (x ^ x >> 15) * 0x846CA68B & MASK_32
    return x ^ x >> 16


def test_counted_draws_are_those_of_plain_integers():
    # What a machine's vector instructions make of the loop must not show.
    items, seed = 53, 2**63 + 5
    counters = np.array([word(i) for i in range(4 * items)], np.uint32)
    expected = np.zeros((8, items))
    for group in (0, 4):
        for i, counter in enumerate(counters.tolist()):
            item = word(counter, *keys(seed, 8 + group)) * items >> 32
            expected[group + i // items, item] += 1
    out = np.full((8, items), -1, np.float32)
    with np.errstate(over="ignore"):
        assert (resampling._scramble(4 * items) == counters).all()
        resampling.count_draws(
            np.uint64(seed), np.uint64(8), counters, np.empty_like(counters), out
        )
    assert (out == expected).all()


def test_poisson_counts_are_those_of_plain_integers():
    thresholds = resampling.poisson_thresholds(0.9)
    counters = [word(i) for i in range(203)]
    expected = [
        [sum(word(c, *keys(77, number)) > t for t in thresholds.tolist()) for c in counters]
        for number in (5, 6, 7)
    ]
    out, totals = np.full((3, 203), -1, np.float32), np.array([100, 0, 0])
    with np.errstate(over="ignore"):
        resampling.count_poisson(
            np.uint64(77), np.uint64(5), np.array(counters, np.uint32), thresholds, totals, out
        )
    assert out.tolist() == expected
    assert (totals - [100, 0, 0]).tolist() == [sum(row) for row in expected]


@pytest.mark.parametrize("mean", [0.0, 1e-4, 0.5, 0.97, 1.0])
def test_poisson_thresholds_are_the_law_to_the_last_bit(mean):
    at_most = scipy.stats.poisson.cdf(np.arange(12), mean)
    words_up_to = resampling.poisson_thresholds(mean).astype(float) + 1
    assert np.abs(words_up_to / 2**32 - at_most).max() <= 2**-32
    assert scipy.stats.poisson.sf(12, mean) < 2**-32


def test_what_is_missing_is_drawn_and_what_is_too_much_is_drawn_anew():
    table, sums = np.array([[1.0], [1.0], [1.0]]), np.array([[3.0], [1.0], [0.0], [5.0]])
    with np.errstate(over="ignore"):
        resampling.draw_missing(np.uint64(1), np.array([3, 1, 0, 5]), table, sums)
    assert sums[:, 0].tolist() == [3, 3, 3, 3]


def test_many_items_take_bounded_memory_and_each_counts_once(monkeypatch):
    sizes = []

    def fake(seed, first, counters, thresholds, totals, out):
        sizes.append(out.nbytes)
        out[:] = 1
        totals += out.shape[1]

    monkeypatch.setattr(resampling, "count_poisson", fake)
    monkeypatch.setattr(resampling, "_scramble", lambda size: np.zeros(size, np.uint32))
    table = np.stack([np.ones(100_000), np.arange(100_000) % 2], axis=1)
    sums = resampling.resample_sums(table, np.uint64(1), 100)
    assert (sums == [100_000, 50_000]).all()
    assert max(sizes) <= 1 << 18
