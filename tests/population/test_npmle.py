import math

import clarabel
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from carve_stats.errors import InputError
from carve_stats.population._constrained_newton import GAP
from carve_stats.population.cells import PatternCells
from carve_stats.population.npmle import GridLikelihood, npmle


def cell_rows(k_sham, k_destroy, p_sham, p_destroy):
    """Cell probabilities by the textbook formula, one column an atom."""
    return np.array(
        [
            math.comb(k_sham, x)
            * math.comb(k_destroy, y)
            * p_sham**x
            * (1 - p_sham) ** (k_sham - x)
            * p_destroy**y
            * (1 - p_destroy) ** (k_destroy - y)
            for x in range(k_sham + 1)
            for y in range(k_destroy + 1)
        ]
    )


def square(points=33):
    grid = (1 - np.cos(np.pi * np.arange(points) / (points - 1))) / 2
    return [axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij")]


def stacked(patterns, points=33):
    """Shares of the cells and the probabilities that the grid and the pooled rates give them."""
    n = sum(int(p.counts.sum()) for p in patterns)
    flips = [0, 0]
    for _, k_destroy, counts in patterns:
        for cell, questions in enumerate(counts.tolist()):
            x, y = divmod(cell, k_destroy + 1)
            flips[0] += x * questions
            flips[1] += y * questions
    replays = [sum(p[arm] * int(p.counts.sum()) for p in patterns) for arm in (0, 1)]
    atoms = [np.append(axis, flips[arm] / replays[arm]) for arm, axis in enumerate(square(points))]
    shares = np.concatenate([p.counts / n for p in patterns])
    return shares, np.concatenate([cell_rows(p.k_sham, p.k_destroy, *atoms) for p in patterns])


def solve_dual(shares, matrix):
    """The largest mean log likelihood and its cells, by interior points on the dual.

    Maximise Σ f log u over u > 0 with Aᵀ(f u) <= 1; the cells are 1/u (Koenker and Mizera, Convex
    optimization in R, 2014). In cones: maximise Σ f t with (t, 1, u) in the exponential cone.
    """
    held = np.flatnonzero(shares)
    f, rows = shares[held], held.size
    cones = sparse.lil_matrix((3 * rows, 2 * rows))
    right = np.zeros(3 * rows)
    for i in range(rows):
        cones[3 * i, rows + i] = -1.0
        right[3 * i + 1] = 1.0
        cones[3 * i + 2, i] = -1.0
    atoms = np.concatenate([(f[:, None] * matrix[held]).T, np.zeros((matrix.shape[1], rows))], 1)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((2 * rows, 2 * rows)),
        np.concatenate([np.zeros(rows), -f]),
        sparse.vstack([sparse.csc_matrix(atoms), cones]).tocsc(),
        np.concatenate([np.ones(matrix.shape[1]), right]),
        [clarabel.NonnegativeConeT(matrix.shape[1])] + [clarabel.ExponentialConeT()] * rows,
        settings,
    ).solve()
    fitted = 1 / np.array(solution.x[:rows])
    return float(f @ np.log(fitted)), fitted


def draw(rng, n, k_sham, k_destroy, population):
    p_sham, p_destroy = population
    x, y = rng.binomial(k_sham, p_sham, n), rng.binomial(k_destroy, p_destroy, n)
    cells = np.bincount(x * (k_destroy + 1) + y, minlength=(k_sham + 1) * (k_destroy + 1))
    return PatternCells(k_sham, k_destroy, cells)


def wide(rng, n):
    return rng.beta(0.7, 1.2, n), rng.beta(0.9, 0.5, n)


def check_certificate(patterns, fit):
    """Feasible, as likely as it says, and no direction to any grid atom gains more than the gap."""
    shares, matrix = stacked(patterns)
    fitted = np.concatenate(fit.fitted)
    rebuilt = [cell_rows(p.k_sham, p.k_destroy, fit.p_sham, fit.p_destroy) for p in patterns]
    assert np.allclose(np.concatenate(rebuilt) @ fit.weights, fitted, rtol=1e-12, atol=1e-15)
    assert fit.weights.min() > 0
    assert fit.weights.sum() == pytest.approx(1.0, abs=1e-14)
    held = shares > 0
    likelihood = shares[held] @ np.log(fitted[held])
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-13)
    gap = ((shares[held] / fitted[held]) @ matrix[held]).max() - 1
    assert gap <= GAP + 1e-13
    assert fit.duality_gap == pytest.approx(max(gap, 0.0), abs=1e-12)
    assert fit.weights.size <= held.sum()


@pytest.mark.parametrize("budgets", [[(3, 3)], [(2, 4)], [(3, 3), (3, 2), (2, 3)], [(1, 1)]])
def test_the_dual_has_the_same_maximum(rng, budgets):
    patterns = [draw(rng, 400, *budget, wide(rng, 400)) for budget in budgets]
    fit = npmle(patterns)
    shares, matrix = stacked(patterns)
    likelihood, fitted = solve_dual(shares, matrix)
    assert fit.log_likelihood == pytest.approx(likelihood, abs=2e-6)
    assert np.concatenate(fit.fitted)[shares > 0] == pytest.approx(fitted, abs=1e-3)


def test_a_log_of_a_thousand_questions_is_certified(rng):
    for k in (3, 10):
        for population in (wide(rng, 1249), (0.344, 0.642)):
            patterns = [draw(rng, 1249, k, k, population)]
            check_certificate(patterns, npmle(patterns))


@st.composite
def tables(draw_value):
    k_sham, k_destroy = draw_value(st.integers(1, 4)), draw_value(st.integers(1, 4))
    cells = (k_sham + 1) * (k_destroy + 1)
    size = draw_value(st.sampled_from([2, 30, 100_000]))
    counts = draw_value(st.lists(st.integers(0, size), min_size=cells, max_size=cells))
    counts[draw_value(st.integers(0, cells - 1))] += 1
    return PatternCells(k_sham, k_destroy, np.array(counts))


@given(st.lists(tables(), min_size=1, max_size=3))
def test_every_table_is_certified(patterns):
    check_certificate(patterns, npmle(patterns))


@pytest.mark.parametrize(
    ("k_sham", "k_destroy", "counts"),
    [
        # The last steps of Newton gain less than a likelihood in double precision can show.
        (1, 4, [0, 0, 0, 93608, 0, 0, 0, 0, 0, 1]),
        (1, 1, [1, 0, 0, 82201108]),
        # An early step would take a cell that holds questions to probability 0.
        (2, 1, [14, 0, 2, 617, 2142, 3484]),
        # The pooled rates leave the support and come back.
        (3, 1, [0, 19, 11, 4, 27, 1, 18, 62]),
    ],
)
def test_tables_that_are_hard_to_fit_are_certified(k_sham, k_destroy, counts):
    patterns = [PatternCells(k_sham, k_destroy, np.array(counts))]
    check_certificate(patterns, npmle(patterns))


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any))
def test_at_one_replay_every_table_is_a_population(counts):
    cells = np.array(counts)
    fit = npmle([PatternCells(1, 1, cells)])
    shares = cells / cells.sum()
    assert fit.fitted[0] == pytest.approx(shares, abs=1e-6)
    entropy = sum(f * math.log(f) for f in shares if f > 0)
    assert fit.log_likelihood == pytest.approx(entropy, abs=1e-9)


def test_cells_of_a_grid_population_are_fitted_exactly():
    grid = square(33)
    atoms = [40, 500, 1000]
    shares = cell_rows(3, 3, *(axis[atoms] for axis in grid)) @ np.array([0.5, 0.25, 0.25])
    counts = np.rint(shares * 1e12).astype(np.int64)
    fit = npmle([PatternCells(3, 3, counts)])
    # ℓ is flat at its maximum: a gap of 1e-10 leaves about its square root in the cells.
    assert fit.fitted[0] == pytest.approx(shares, abs=1e-5)


def test_even_flips_are_fitted_by_one_pair_of_rates():
    counts = np.zeros(16, int)
    counts[1 * 4 + 2] = 7  # every question has 1 of 3 and 2 of 3
    fit = npmle([PatternCells(3, 3, counts)])
    assert fit.p_sham.tolist() == [1 / 3]
    assert fit.p_destroy.tolist() == [2 / 3]
    assert fit.weights.tolist() == [1.0]
    assert fit.log_likelihood == pytest.approx(math.log((4 / 9) ** 2), abs=1e-14)


@pytest.mark.parametrize(("cell", "rates"), [(0, (0.0, 0.0)), (15, (1.0, 1.0)), (3, (0.0, 1.0))])
def test_certain_flips_are_certain(cell, rates):
    counts = np.zeros(16, int)
    counts[cell] = 1
    fit = npmle([PatternCells(3, 3, counts)])
    assert (fit.p_sham.tolist(), fit.p_destroy.tolist()) == ([rates[0]], [rates[1]])
    assert fit.log_likelihood == 0.0


def test_more_of_the_same_questions_change_nothing(rng):
    pattern = draw(rng, 300, 3, 3, wide(rng, 300))
    few, many = npmle([pattern]), npmle([pattern._replace(counts=pattern.counts * 1000)])
    assert many.log_likelihood == pytest.approx(few.log_likelihood, abs=1e-12)
    assert many.weights == pytest.approx(few.weights, abs=1e-6)


def test_without_newton_the_likelihood_still_rises(rng, monkeypatch):
    patterns = [draw(rng, 300, 2, 2, wide(rng, 300))]
    best = npmle(patterns)

    def circles(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", circles)
    slow = npmle(patterns)
    shares, matrix = stacked(patterns)
    assert shares @ np.log(matrix[:, -1]) < slow.log_likelihood <= best.log_likelihood + GAP
    assert best.log_likelihood - slow.log_likelihood <= slow.duality_gap < 0.02


def test_the_ratio_is_to_the_best_single_atom(rng):
    patterns = [draw(rng, 50, *budget, wide(rng, 50)) for budget in [(3, 3), (2, 5)]]
    budgets = [(p.k_sham, p.k_destroy) for p in patterns]
    counts = [p.counts for p in patterns]
    likelihood = GridLikelihood(budgets)
    rates = likelihood.pooled_rates(np.concatenate(counts))

    def mean_log(p_sham, p_destroy):
        rows = [cell_rows(*b, np.array([p_sham]), np.array([p_destroy]))[:, 0] for b in budgets]
        return sum(c @ np.log(r) for c, r in zip(counts, rows, strict=True)) / 100

    ratio = likelihood.likelihood_ratio(np.concatenate(counts))
    gain = npmle(patterns).log_likelihood - mean_log(*rates)
    assert ratio == pytest.approx(200 * gain, abs=1e-9)
    around = [(a, b) for a in (-1e-3, 0, 1e-3) for b in (-1e-3, 0, 1e-3) if a or b]
    assert all(mean_log(rates[0] + a, rates[1] + b) < mean_log(*rates) for a, b in around)


NINE = [(k_sham, k_destroy) for k_sham in (8, 9, 10) for k_destroy in (8, 9, 10)]


@pytest.mark.parametrize("budgets", [NINE, [(1, 30), (2, 1), (30, 2)]])
@pytest.mark.parametrize("spread", [False, True])
def test_the_ratio_of_ragged_replays_lacks_no_more_than_the_gap(rng, budgets, spread):
    likelihood = GridLikelihood(budgets)
    for n in (1, 20, 140):  # questions a pattern
        population = wide(rng, n) if spread else (0.344, 0.642)
        patterns = [draw(rng, n, *budget, population) for budget in budgets]
        fit = npmle(patterns)
        check_certificate(patterns, fit)
        shares, matrix = stacked(patterns)
        held = shares > 0
        gain = fit.log_likelihood - shares[held] @ np.log(matrix[held, -1])
        questions = n * len(budgets)
        ratio = likelihood.likelihood_ratio(np.concatenate([p.counts for p in patterns]))
        assert ratio == pytest.approx(2 * questions * gain, abs=2 * questions * GAP)


def test_expected_counts_need_not_be_whole(rng):
    pattern = draw(rng, 300, 3, 3, wide(rng, 300))
    share = pattern._replace(counts=pattern.counts / 300)
    likelihood = GridLikelihood([(3, 3)])
    assert likelihood.pooled_rates(share.counts) == pytest.approx(
        likelihood.pooled_rates(pattern.counts), abs=1e-14
    )
    assert npmle([share]).log_likelihood == pytest.approx(
        npmle([pattern]).log_likelihood, abs=1e-12
    )
    rare = pattern._replace(counts=np.where(np.arange(16) == 3, 1e-18, pattern.counts))
    assert npmle([rare]).duality_gap <= GAP
    nearly = np.array([0, 0, 0, 0, 5e-19, 0, 0.01, 0])  # more flips than replays, by rounding
    assert GridLikelihood([(3, 1)]).pooled_rates(nearly) == (1.0, 0.0)


@pytest.mark.parametrize("sham", [[1, 1], [9, 12, 4], [27, 27, 9, 1]])
@pytest.mark.parametrize("destroy", [[1, 2, 1], [8, 12, 6, 1]])
def test_exactly_binomial_shares_have_ratio_zero(sham, destroy):
    counts = np.outer(sham, destroy).ravel()
    likelihood = GridLikelihood([(len(sham) - 1, len(destroy) - 1)])
    assert 0 <= likelihood.likelihood_ratio(counts) < 1e-9


def test_points_set_the_grid():
    fit = npmle([PatternCells(1, 1, np.array([3, 0, 0, 1]))], points=2)
    assert set(fit.p_sham.tolist()) <= {0.0, 0.25, 1.0}


@pytest.mark.parametrize("patterns", [[], [PatternCells(1, 1, np.zeros(4, int))]])
def test_without_questions_there_is_no_fit(patterns):
    with pytest.raises(InputError, match="patterns hold no question"):
        npmle(patterns)
