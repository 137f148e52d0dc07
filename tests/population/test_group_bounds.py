"""Bounds of a sum over groups: single groups, sums, truths, the primal program, edges."""

import clarabel
import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import nnls

from carve_stats.counts import ReplayCounts
from carve_stats.population.bounds import (
    identification_bounds,
    identified_extremes,
    sampling_bounds,
)
from carve_stats.population.cells import budget_cells
from carve_stats.population.group_bounds import GroupCells, contrast_bounds, group_cells
from carve_stats.population.mixing import Population

GRID = (1 - np.cos(np.pi * np.arange(33) / 32)) / 2
ATOMS = np.repeat(GRID, 33), np.tile(GRID, 33)
AGAINST = np.array([1, -1])


def cell_rows(k, p_sham, p_destroy):
    """Cell probabilities at k replays an arm from SciPy's binomial law, a cell a row."""
    sham = stats.binom.pmf(np.arange(k + 1)[:, None], k, p_sham)
    destroy = stats.binom.pmf(np.arange(k + 1)[:, None], k, p_destroy)
    return np.einsum("xa,ya->xya", sham, destroy).reshape(-1, np.size(p_sham))


def cells_of(population, k):
    return cell_rows(k, population.p_sham, population.p_destroy) @ population.weights


def not_above(k):
    """The outcomes of ``score <= 0``."""
    return np.arange(k + 1) <= np.arange(k + 1)[:, None]


def random_population(rng, atoms=6):
    return Population(
        rng.choice(GRID, atoms), rng.choice(GRID, atoms), rng.dirichlet(np.ones(atoms))
    )


def truth_of(populations, weights, signs, outcomes):
    k = outcomes.shape[0] - 1
    shares = [outcomes.ravel() @ cells_of(population, k) for population in populations]
    return float(np.sum(np.array(signs) * weights * shares))


def multinomial(cells, n):
    return (np.diag(cells) - np.outer(cells, cells)) / n


def known_cells(populations, weights, k, n, clusters=200):
    """Cells as the populations have them, their covariance that of independent questions."""
    share = np.stack(
        [w * cells_of(population, k) for w, population in zip(weights, populations, strict=True)]
    )
    return GroupCells(k, k, share, multinomial(share.ravel(), n), n, clusters, 1.0)


def drawn(rng, populations, sizes, k, *, clusters=20):
    """Questions of each population, replayed; those of the last size are of no group."""
    atoms = [np.full((2, sizes[-1]), 0.5)]
    for population, size in zip(reversed(populations), sizes[-2::-1], strict=True):
        chosen = rng.choice(len(population.weights), size, p=population.weights)
        atoms.insert(0, np.stack([population.p_sham[chosen], population.p_destroy[chosen]]))
    x, y = rng.binomial(k, np.concatenate(atoms, axis=1))
    n = x.size
    videos = rng.integers(0, clusters, n).astype(str)
    ids = [f"q{i:05d}" for i in range(n)]
    counts = ReplayCounts(ids, x, [k] * n, y, [k] * n, cluster=videos)
    return counts, np.repeat([*range(len(populations)), -1], sizes)


class TestCells:
    def test_by_a_plain_loop(self, rng):
        """Subsampling by SciPy's hypergeometric law, one question after another."""
        n = 60
        made = rng.integers(2, 4, (2, n))
        group = rng.integers(-1, 3, n)
        made[:, group < 0] = rng.integers(0, 3, (2, int((group < 0).sum())))
        videos = rng.integers(0, 8, n)
        x, y = rng.binomial(made, np.where(videos % 2, 0.1, 0.9))
        counts = ReplayCounts(
            [f"q{i:02d}" for i in range(n)], x, made[0], y, made[1], cluster=videos.astype(str)
        )
        cells = group_cells(counts, group, 3, (2, 2))

        rows = np.zeros((n, 3, 3, 3))
        for i in np.flatnonzero(group >= 0):
            for a in range(3):
                for b in range(3):
                    rows[i, group[i], a, b] = stats.hypergeom.pmf(
                        a, made[0, i], x[i], 2
                    ) * stats.hypergeom.pmf(b, made[1, i], y[i], 2)
        rows = rows.reshape(n, 27)
        share = rows.mean(axis=0)
        sums = np.array([(rows - share)[videos == v].sum(axis=0) for v in range(8)])
        covariance = 8 / 7 * sums.T @ sums / n**2
        assert (cells.k_sham, cells.k_destroy, cells.n, cells.clusters) == (2, 2, n, 8)
        assert cells.share == pytest.approx(share.reshape(3, 9), abs=1e-14)
        assert cells.covariance == pytest.approx(covariance, abs=1e-14)
        effect = np.trace(covariance) / np.trace(multinomial(share, n))
        assert effect > 1.2
        assert cells.design_effect == pytest.approx(effect, rel=1e-12)
        assert 0.5 < cells.share.sum() < 1.0

    def test_one_group_of_all_is_that_of_the_budget(self, rng):
        counts = Population.paper().sample(200, 3, clusters=10, icc=0.3, rng=rng)
        ours = group_cells(counts, np.zeros(200, int), 1, (2, 3))
        theirs = budget_cells(counts, 2, 3)
        assert ours.share[0] == pytest.approx(theirs.share, abs=1e-15)
        assert ours.covariance == pytest.approx(theirs.covariance, abs=1e-16)
        assert ours.design_effect == pytest.approx(theirs.design_effect, rel=1e-12)

    def test_questions_of_a_video_in_two_groups_go_together(self):
        """Each video has as many of the one group as of the other, all with the same flips."""
        ids = [f"q{i}" for i in range(8)]
        counts = ReplayCounts(ids, [0] * 8, [1] * 8, [1] * 8, [1] * 8, cluster=list("aaaabbcd"))
        group = np.array([0, 1, 0, 1, 0, 1, -1, -1])
        cells = group_cells(counts, group, 2, (1, 1))
        assert cells.share.tolist() == [[0, 3 / 8, 0, 0]] * 2
        assert cells.covariance[1, 5] == pytest.approx(cells.covariance[1, 1])
        assert cells.covariance[1, 1] > 0.0

    @pytest.mark.parametrize("videos", [None, ["v"] * 4])
    def test_without_two_clusters_each_question_is_its_own(self, videos):
        counts = ReplayCounts(list("abcd"), [0, 1, 0, 1], [1] * 4, [1] * 4, [1] * 4, cluster=videos)
        cells = group_cells(counts, np.array([0, 0, 1, 1]), 2, (1, 1))
        assert cells.clusters == (None if videos is None else 1)
        share = np.array([0, 1, 0, 1, 0, 1, 0, 1]) / 4
        assert cells.covariance == pytest.approx(4 / 3 * multinomial(share, 4), abs=1e-15)


class TestOneGroup:
    """With all questions in one group they are the bounds of a sign."""

    @pytest.mark.parametrize(("made", "target"), [(1, 3), (2, 5)])
    def test_of_known_cells(self, made, target):
        population = Population.paper()
        cells = cells_of(population, made)
        bounds = identification_bounds(made, made, cells, target, target)
        known = known_cells([population], [1.0], made, 500)
        for i, sign in enumerate((-1, 0, 1)):
            outcomes = np.sign(np.arange(target + 1) - np.arange(target + 1)[:, None]) == sign
            identified, _ = contrast_bounds(known, known.share, np.array([1]), outcomes)
            assert identified == pytest.approx((bounds.low[i], bounds.high[i]), abs=5e-4)
            low, high = contrast_bounds(known, known.share, np.array([-1]), outcomes)[0]
            assert (-high, -low) == pytest.approx(identified, abs=5e-4)

    def test_of_drawn_questions(self, rng):
        counts = Population.paper().sample(300, 2, clusters=25, icc=0.2, rng=rng)
        ours = group_cells(counts, np.zeros(300, int), 1, (2, 2))
        theirs = budget_cells(counts, 2, 2)
        bounds = sampling_bounds(
            2, 2, theirs.share, theirs.covariance, 300, theirs.design_effect, 5, 5, df=24, level=0.9
        )
        # Cells of a population at the middle of the set: the identified range is within.
        fitted = cells_of(Population.paper(), 2)[None]
        for i, sign in enumerate((-1, 0, 1)):
            outcomes = np.sign(np.arange(6) - np.arange(6)[:, None]) == sign
            identified, interval = contrast_bounds(ours, fitted, np.array([1]), outcomes, level=0.9)
            low, high = min(bounds.low[i], identified[0]), max(bounds.high[i], identified[1])
            assert interval == pytest.approx((low, high), abs=5e-4)


class TestTwoGroups:
    @pytest.mark.parametrize("signs", [(1, -1), (1, 1)])
    def test_the_identified_range_is_the_sum_of_those_of_the_groups(self, rng, signs):
        populations = [Population.paper(), Population.homogeneous(0.3, 0.5)]
        weights = [0.3, 0.2]
        known = known_cells(populations, weights, 2, 900)
        outcomes = not_above(4)
        identified, _ = contrast_bounds(known, known.share, np.array(signs), outcomes)
        each = [
            identified_extremes((2, 2), cells_of(population, 2), outcomes.astype(float))
            for population in populations
        ]
        each = [
            ends if sign > 0 else (-ends[1], -ends[0])
            for sign, ends in zip(signs, each, strict=True)
        ]
        for end in (0, 1):
            total = sum(w * ends[end] for w, ends in zip(weights, each, strict=True))
            assert identified[end] == pytest.approx(total, abs=5e-4)
        assert identified[1] - identified[0] > 0.002

    @pytest.mark.parametrize("seed", range(6))
    def test_they_contain_the_truth(self, seed):
        rng = np.random.default_rng(seed)
        populations = [random_population(rng), random_population(rng)]
        weights = rng.dirichlet([3, 3, 3])[:2]
        made, outcomes = int(rng.integers(1, 3)), not_above(int(rng.integers(2, 7)))
        known = known_cells(populations, weights, made, 400)
        truth = truth_of(populations, weights, AGAINST, outcomes)
        identified, interval = contrast_bounds(known, known.share, AGAINST, outcomes)
        assert identified[0] - 1e-6 <= truth <= identified[1] + 1e-6
        assert interval[0] < identified[0] - 0.005
        assert identified[1] + 0.005 < interval[1]
        assert -weights[1] - 0.2 < interval[0] < interval[1] < weights[0] + 0.2

    def test_the_interval_contains_the_identified_range(self, rng):
        """Even that of fitted cells which the questions contradict."""
        populations = [Population.homogeneous(0.2, 0.8), Population.homogeneous(0.7, 0.3)]
        known = known_cells(populations, [0.4, 0.4], 1, 10_000)
        contrary = known.share[::-1]
        identified, interval = contrast_bounds(known, contrary, AGAINST, not_above(2))
        assert interval[0] <= identified[0] <= identified[1] <= interval[1]
        own, narrow = contrast_bounds(known, known.share, AGAINST, not_above(2))
        assert narrow[0] <= own[0] <= own[1] <= narrow[1]
        assert narrow[1] < identified[0]
        assert narrow[0] == interval[0]

    def test_no_more_replays_than_were_made_leave_nothing_open(self, rng):
        populations = [random_population(rng, 30), random_population(rng, 30)]
        known = known_cells(populations, [0.5, 0.2], 2, 900)
        identified, _ = contrast_bounds(known, known.share, AGAINST, not_above(2))
        truth = truth_of(populations, [0.5, 0.2], AGAINST, not_above(2))
        assert identified == pytest.approx((truth, truth), abs=5e-4)

    def test_outcomes_that_are_all_selected_or_none_leave_nothing_open(self, rng):
        populations = [random_population(rng), random_population(rng)]
        known = known_cells(populations, [0.5, 0.2], 1, 900)
        for outcomes, share in ((np.ones((4, 4), bool), 0.3), (np.zeros((4, 4), bool), 0.0)):
            identified, interval = contrast_bounds(known, known.share, AGAINST, outcomes)
            assert identified == pytest.approx((share, share), abs=1e-12)
            assert interval[0] <= share <= interval[1]
            assert (interval[1] - interval[0] > 0.01) == bool(share)

    def test_swapped_groups_and_signs_mirror_the_interval(self, rng):
        populations = [random_population(rng), random_population(rng)]
        known = known_cells(populations, [0.5, 0.2], 1, 300)
        order = np.concatenate([np.arange(4, 8), np.arange(4)])
        swapped = known._replace(
            share=known.share[::-1], covariance=known.covariance[np.ix_(order, order)]
        )
        ours = contrast_bounds(known, known.share, AGAINST, not_above(3))
        theirs = contrast_bounds(swapped, swapped.share, AGAINST, not_above(3))
        for one, other in zip(ours, theirs, strict=True):
            assert (-other[1], -other[0]) == pytest.approx(one, abs=5e-4)

    def test_level_and_clusters_set_the_width(self, rng):
        populations = [random_population(rng), random_population(rng)]
        known = known_cells(populations, [0.5, 0.2], 1, 300)
        widths = [
            np.diff(contrast_bounds(one, known.share, AGAINST, not_above(2), level=level)[1])[0]
            for one, level in (
                (known, 0.5), (known, 0.95), (known._replace(clusters=4), 0.95),
                (known._replace(design_effect=3.0), 0.95),
            )
        ]  # fmt: skip
        assert widths[0] < widths[1] - 0.01
        assert widths[1] < widths[2] - 0.01
        assert widths[1] < widths[3] - 0.01


@pytest.mark.parametrize("rest", [60, 0])
def test_the_interval_solves_the_primal_program(rest):
    """The same set in its primal form, over weights of the grid in each group: inner bounds."""
    rng, k, to_k = np.random.default_rng(8), 2, 5
    populations = [Population.paper(), Population.homogeneous(0.4, 0.4)]
    counts, group = drawn(rng, populations, [50, 40, rest], k, clusters=5)
    cells = group_cells(counts, group, 2, (k, k))
    outcomes = not_above(to_k)
    n, f = len(counts), cells.share.ravel()

    places = f.size + (rest > 0)
    smooth = (n * f + 0.5) / (n + 0.5 * places)
    mixed = 0.375 * cells.covariance + 0.625 * cells.design_effect * multinomial(smooth, n)
    values, vectors = np.linalg.eigh(mixed)
    kept = values > 1e-3 * values[-1]
    whitened = vectors[:, kept].T / np.sqrt(values[kept])[:, None]
    every = np.kron(np.eye(2), cell_rows(k, *ATOMS))
    cost = np.kron([1.0, -1.0], outcomes.ravel() @ cell_rows(to_k, *ATOMS))
    if rest:
        every, cost = np.column_stack([every, np.zeros(f.size)]), np.append(cost, 0.0)
    rows, aim, m = whitened @ every, whitened @ f, cost.size
    nearest, distance = nnls(np.vstack([rows, np.full(m, 1e4)]), np.append(aim, 1e4))
    radius = np.sqrt(distance**2 + stats.f.ppf(0.95, 1, cells.clusters - 1))
    constraints = sparse.csc_matrix(np.vstack([np.ones(m), -np.eye(m), np.zeros(m), -rows]))
    limits = np.concatenate([[1.0], np.zeros(m), [radius], -aim])
    cones = [
        clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m), clarabel.SecondOrderConeT(1 + aim.size)
    ]  # fmt: skip
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    inner = []
    for sign in (1, -1):
        program = (sparse.csc_matrix((m, m)), sign * cost, constraints, limits, cones, settings)
        inner.append(sign * clarabel.DefaultSolver(*program).solve().obj_val)
    # With fitted cells within the set the interval is the program's.
    fitted = (every @ nearest).reshape(2, -1)
    identified, interval = contrast_bounds(cells, fitted, AGAINST, outcomes)
    assert inner[0] < identified[0] < identified[1] < inner[1]
    assert inner[0] - 0.002 <= interval[0] <= inner[0] + 1e-5
    assert inner[1] - 1e-5 <= interval[1] <= inner[1] + 0.002


class TestEdges:
    def test_questions_of_no_group_count_in_the_shares(self, rng):
        """The same questions among as many others: half the range, and how many adds spread."""
        populations = [Population.paper(), Population.homogeneous(0.4, 0.4)]
        alone = known_cells(populations, [0.6, 0.4], 1, 300)
        among = known_cells(populations, [0.3, 0.2], 1, 600)
        outcomes = not_above(3)
        one, _ = contrast_bounds(alone, alone.share, AGAINST, outcomes)
        half, _ = contrast_bounds(among, among.share, AGAINST, outcomes)
        assert half == pytest.approx(np.array(one) / 2, abs=5e-4)
        everything = np.ones((4, 4), bool)
        single = np.array([1])
        known = known_cells(populations[:1], [0.5], 1, 600)
        _, interval = contrast_bounds(known, known.share, single, everything)
        half_width = stats.t.ppf(0.975, 199) * np.sqrt(0.25 / 600)
        assert (interval[1] - interval[0]) / 2 == pytest.approx(half_width, rel=0.1)
        sure = known_cells(populations[:1], [1.0], 1, 600)
        _, interval = contrast_bounds(sure, sure.share, single, everything)
        assert interval == pytest.approx((1.0, 1.0), abs=5e-4)

    def test_an_empty_group(self, rng):
        population = Population.paper()
        counts, group = drawn(rng, [population, population], [60, 0, 40], 1)
        cells = group_cells(counts, group, 2, (1, 1))
        assert not cells.share[1].any()
        fitted = np.stack([0.6 * cells_of(population, 1), np.zeros(4)])
        identified, interval = contrast_bounds(cells, fitted, AGAINST, not_above(3))
        low, high = identified_extremes((1, 1), fitted[0] / 0.6, not_above(3).astype(float))
        assert identified == pytest.approx((0.6 * low, 0.6 * high), abs=1e-12)
        assert interval[0] < identified[0] <= identified[1] < interval[1]

    def test_no_question_in_any_group(self):
        counts = ReplayCounts(
            list("abcd"), [0] * 4, [1] * 4, [1] * 4, [1] * 4, cluster=list("aabb")
        )
        cells = group_cells(counts, np.full(4, -1), 2, (1, 1))
        assert cells.share.tolist() == np.zeros((2, 4)).tolist()
        identified, interval = contrast_bounds(cells, cells.share, AGAINST, not_above(3))
        assert identified == (0.0, 0.0)
        assert interval[0] < 0.0 < interval[1]

    @pytest.mark.parametrize("clusters", [None, 1])
    def test_no_interval_without_two_clusters(self, clusters):
        known = known_cells([Population.paper()], [0.7], 1, 50, clusters)
        identified, interval = contrast_bounds(known, known.share, np.array([1]), not_above(3))
        assert interval is None
        assert identified[0] < identified[1]
