"""Subsampled outcomes and thresholds: enumeration of all choices of replays, in fractions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from routing_cases import random_log

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.joined import join
from carve_stats.routing.subsampled import SubsampledCells, at_one_budget, lattice_tables


def mean_over_subsets(table, x, k_sham, y, k_destroy, k):
    """The mean of a table over all choices of k replays of each arm, one by one."""
    sham = [1] * x + [0] * (k_sham - x)
    destroy = [1] * y + [0] * (k_destroy - y)
    values = [
        Fraction(int(table[sum(a)][sum(b)]))
        for a in itertools.combinations(sham, k)
        for b in itertools.combinations(destroy, k)
    ]
    return sum(values) / len(values)


def ragged_counts(rng):
    """Every outcome of four patterns, and questions with a score no more."""
    patterns = [(3, 3), (5, 3), (3, 4), (5, 5), (0, 4), (0, 0)]
    rows = [
        (x, a, y, b) for a, b in patterns for x in range(a + 1) for y in range(b + 1)
    ] * 2  # fmt: skip
    rows = [rows[i] for i in rng.permutation(len(rows))]
    ids = [f"q{i:03d}" for i in range(len(rows))]
    return ReplayCounts(
        ids, *zip(*rows, strict=True), cluster=[f"v{i % 7}" for i in range(len(rows))]
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_means_are_those_over_all_choices_of_replays(rng, k):
    counts = ragged_counts(rng)
    cells = SubsampledCells(counts)
    tables = rng.integers(0, 5, (2, k + 1, k + 1))
    means = cells.means(tables, k)
    known = {}
    for row, table in zip(means, tables, strict=True):
        values = cells.of_questions(row)
        for i, value in enumerate(values.tolist()):
            flips = counts.sham_flips[i], counts.sham_replays[i]
            flips += counts.destroy_flips[i], counts.destroy_replays[i]
            if not (flips[1] and flips[3]):
                assert value == 0.0
                continue
            key = (id(table), *map(int, flips))
            if key not in known:
                known[key] = float(mean_over_subsets(table, *key[1:], k))
            assert value == pytest.approx(known[key], abs=1e-13)
    assert len(known) == 2 * (16 + 24 + 20 + 36)


def test_tallies_are_sums_over_questions(rng):
    counts = ragged_counts(rng)
    cells = SubsampledCells(counts)
    weights = rng.integers(-1, 2, len(counts))
    means = cells.means(rng.random((4, 3, 3)), 2)
    values = np.array([cells.of_questions(row) for row in means])
    sums = means @ cells.tally(weights)
    assert sums == pytest.approx((values * weights).sum(axis=1))
    codes = counts.cluster_codes
    by_cluster = cells.tally_by_cluster(weights, codes, means)
    assert by_cluster.shape == (7, 4)
    for v in range(7):
        here = codes == v
        assert by_cluster[v] == pytest.approx((values * weights)[:, here].sum(axis=1))


def test_no_question_with_a_score():
    cells = SubsampledCells(ReplayCounts(["a", "b"], [0, 0], [0, 3], [1, 0], [2, 0]))
    means = cells.means(np.ones((2, 2, 2)), 1)
    assert means.shape == (2, 0)
    assert cells.of_questions(means[0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("largest_first", [False, True])
def test_the_thresholds_are_all_that_differ(k, largest_first):
    found = lattice_tables(k, largest_first=largest_first)
    assert len(found) == 2 * k + 1
    scores = [[Fraction(y - x, k) for y in range(k + 1)] for x in range(k + 1)]
    for (rule, table), score in zip(
        found, sorted({s for row in scores for s in row}, reverse=largest_first), strict=True
    ):
        assert str(rule) == f"score {'>=' if largest_first else '<='} {score}"
        expected = [[s >= score if largest_first else s <= score for s in row] for row in scores]
        assert table.tolist() == expected
    assert found[-1][1].all()


def test_one_budget_keeps_what_reaches_it_and_what_has_no_score():
    made = [(3, 3)] * 5 + [(4, 3), (2, 3), (3, 1), (0, 3), (0, 0)]
    ids = [f"q{i}" for i in range(10)]
    sham, destroy = zip(*made, strict=True)
    counts = ReplayCounts(ids, [0] * 10, sham, [0] * 10, destroy)
    data = join(counts, Outcomes(ids, [0] * 10, {"f": [1] * 10}))
    kept, k, fewer = at_one_budget(data)
    assert (k, fewer) == (3, 2)
    assert kept.counts.question.tolist() == [f"q{i}" for i in (0, 1, 2, 3, 4, 5, 8, 9)]
    with pytest.raises(InputError, match="no question with both outcomes has a valid replay"):
        at_one_budget(data.select(~data.counts.scored))


def test_the_budget_is_that_of_most_replays(rng):
    """A search over every k for the largest number of replays that count."""
    counts, outcomes = random_log(rng, n=60, k=5, ragged=True)
    data = join(counts, outcomes)
    k = np.minimum(counts.sham_replays, counts.destroy_replays)
    replays = {one: one * int((k >= one).sum()) for one in range(1, 6)}
    _, made, fewer = at_one_budget(data)
    assert replays[made] == max(replays.values())
    assert fewer == int(((k >= 1) & (k < made)).sum())
