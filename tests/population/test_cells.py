"""Cells, subsampled cells and their covariance, against loops over questions and subsets."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.population import cells as module
from carve_stats.population.cells import budget_cells, pattern_cells
from carve_stats.population.mixing import Population

row = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)).map(
    lambda r: (min(r[0], r[1]), r[1], min(r[2], r[3]), r[3])
)
logs = st.lists(st.tuples(row, st.integers(0, 3)), min_size=1, max_size=12)


def counts_of(rows, cluster=None):
    columns = np.array(rows).T
    names = None if cluster is None else [f"v{c}" for c in cluster]
    return ReplayCounts([f"q{i:03}" for i in range(len(rows))], *columns, cluster=names)


def subset_cells(x, k_sham, y, k_destroy, budget):
    """Share of the ways to keep `budget` of the replays that show each cell."""
    sham, destroy = [1] * x + [0] * (k_sham - x), [1] * y + [0] * (k_destroy - y)
    shares = np.zeros((budget[0] + 1, budget[1] + 1))
    for kept in combinations(sham, budget[0]):
        for other in combinations(destroy, budget[1]):
            shares[sum(kept), sum(other)] += 1
    return shares.ravel() / shares.sum()


@given(st.lists(row, min_size=1, max_size=30))
@settings(max_examples=40)
def test_every_scored_question_is_counted_in_its_cell(rows):
    blocks = pattern_cells(counts_of(rows))
    counted = {
        (x, block.k_sham, y, block.k_destroy): block.counts[x * (block.k_destroy + 1) + y]
        for block in blocks
        for x in range(block.k_sham + 1)
        for y in range(block.k_destroy + 1)
    }
    expected = Counter(r for r in rows if r[1] and r[3])
    assert {key: int(n) for key, n in counted.items() if n} == dict(expected)
    patterns = [(block.k_sham, block.k_destroy) for block in blocks]
    assert patterns == sorted({(r[1], r[3]) for r in expected})
    assert all(b.counts.size == (b.k_sham + 1) * (b.k_destroy + 1) for b in blocks)


@given(logs, st.integers(1, 2), st.integers(1, 2), st.sampled_from(["clusters", "one", "none"]))
@settings(max_examples=60)
def test_shares_and_covariance_are_those_of_a_loop_over_subsets(log, k_sham, k_destroy, kind):
    rows, videos = zip(*log, strict=True)
    videos = {"clusters": videos, "one": [0] * len(rows), "none": None}[kind]
    budget = (k_sham, k_destroy)
    kept = [i for i, r in enumerate(rows) if r[1] >= k_sham and r[3] >= k_destroy]
    counts = counts_of(rows, videos)
    if not kept:
        with pytest.raises(InputError, match=f"^k_sham={k_sham} and k_destroy={k_destroy}: no "):
            budget_cells(counts, *budget)
        return
    result = budget_cells(counts, *budget)
    h = np.array([subset_cells(*rows[i], budget) for i in kept])
    n, share = len(kept), h.mean(axis=0)
    np.testing.assert_allclose(result.share, share, atol=1e-14)
    assert (result.k_sham, result.k_destroy, result.n) == (*budget, n)
    assert result.left_out == len(rows) - n
    groups = list(range(n)) if videos is None else [videos[i] for i in kept]
    assert result.clusters == (None if videos is None else len(set(groups)))
    if len(set(groups)) == 1:
        groups = list(range(n))
    units = sorted(set(groups))
    if len(units) == 1:
        assert np.isnan(result.covariance).all()
        assert result.design_effect == 1.0
        return
    psi = np.array([sum(h[j] - share for j in range(n) if groups[j] == v) / n for v in units])
    covariance = len(units) / (len(units) - 1) * psi.T @ psi
    np.testing.assert_allclose(result.covariance, covariance, atol=1e-14)
    independent = np.trace(np.diag(share) - np.outer(share, share)) / n
    ratio = np.trace(covariance) / independent if independent > 1e-12 else 1.0
    assert result.design_effect == pytest.approx(max(1.0, ratio), abs=1e-9)


def test_blocks_of_clusters_add_up(monkeypatch):
    counts = Population.paper().sample(300, 3, clusters=40, icc=0.1, rng=1)
    whole = budget_cells(counts, 2, 3).covariance
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", 100)  # eight clusters a block
    np.testing.assert_allclose(budget_cells(counts, 2, 3).covariance, whole, atol=1e-18)


def test_design_effect_of_questions_that_are_copies():
    # Every video holds five questions with the same flips: a fifth as much is known. As many
    # videos as questions were drawn, so the corrections V/(V − 1) nearly agree.
    x, y = np.random.default_rng(1).integers(0, 4, (2, 200))
    rows = [(a, 3, b, 3) for a, b in zip(x, y, strict=True) for _ in range(5)]
    result = budget_cells(counts_of(rows, np.repeat(np.arange(200), 5)), 3, 3)
    assert result.design_effect == pytest.approx(5 * 200 / 199, rel=1e-12)
    assert budget_cells(counts_of(rows), 3, 3).design_effect == pytest.approx(1000 / 999)


def test_row_order_changes_nothing(rng):
    x, y = rng.integers(0, 5, (2, 60))
    ids, video = [f"q{i}" for i in range(60)], rng.integers(0, 9, 60).astype(str)
    order = rng.permutation(60)
    first, second = (
        budget_cells(
            ReplayCounts(
                np.array(ids)[o], x[o], [4] * 60, y[o], [4] * 60, cluster=video[o]
            ),
            3,
            2,
        )
        for o in (np.arange(60), order)
    )  # fmt: skip
    assert np.array_equal(first.share, second.share)
    assert np.array_equal(first.covariance, second.covariance)


def test_nothing_scored_has_no_patterns():
    assert pattern_cells(counts_of([(0, 0, 1, 3), (0, 3, 0, 0)])) == ()


@pytest.mark.parametrize(
    "call", [lambda: pattern_cells("logs/"), lambda: budget_cells("logs/", 3, 3)]
)
def test_anything_but_counts_is_refused(call):
    with pytest.raises(InputError, match=r"^counts is a str"):
        call()
