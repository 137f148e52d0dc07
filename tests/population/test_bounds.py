"""Bounds of the signs at other budgets: published widths, inner bounds, truths, symmetries."""

import clarabel
import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import linprog, nnls

from carve_stats.errors import InputError, SolverError
from carve_stats.law.subsampling import subsampled_signs
from carve_stats.population._certified import CellFunctions, certified_minimum
from carve_stats.population._conic import largest_minorant, nearest_mixture
from carve_stats.population.bounds import identification_bounds, sampling_bounds
from carve_stats.population.mixing import Population

GRID = (1 - np.cos(np.pi * np.arange(33) / 32)) / 2
ATOMS = np.repeat(GRID, 33), np.tile(GRID, 33)


def cell_rows(k_sham, k_destroy, p_sham, p_destroy):
    """Cell probabilities from SciPy's binomial law, a cell a row."""
    sham = stats.binom.pmf(np.arange(k_sham + 1)[:, None], k_sham, p_sham)
    destroy = stats.binom.pmf(np.arange(k_destroy + 1)[:, None], k_destroy, p_destroy)
    return np.einsum("xa,ya->xya", sham, destroy).reshape(-1, np.size(p_sham))


def cells_of(population, k_sham, k_destroy):
    atoms = population.p_sham, population.p_destroy
    return cell_rows(k_sham, k_destroy, *atoms) @ population.weights


def sign_rows(k_sham, k_destroy, p_sham, p_destroy):
    """Sign probabilities by adding up SciPy's cells."""
    cells = cell_rows(k_sham, k_destroy, p_sham, p_destroy)
    score = np.arange(k_destroy + 1) * k_sham - np.arange(k_sham + 1)[:, None] * k_destroy
    return np.stack([cells[np.sign(score).ravel() == sign].sum(axis=0) for sign in (-1, 0, 1)])


def random_population(rng, atoms):
    return Population(
        rng.choice(GRID, atoms), rng.choice(GRID, atoms), rng.dirichlet(np.ones(atoms))
    )


def multinomial(cells, n):
    return (np.diag(cells) - np.outer(cells, cells)) / n


def sampled(cells, n, k=3, to_k=10, **options):
    return sampling_bounds(k, k, cells, multinomial(cells, n), n, 1.0, to_k, to_k, **options)


# Widths for negative, tie and positive of the reference population near the CARVE paper, found
# on a 61 × 61 grid by a linear program of another solver (the project's design notes).
WIDTHS = {
    (3, 5): (0.008, 0.023, 0.024),
    (3, 10): (0.049, 0.086, 0.096),
    (5, 10): (0.003, 0.008, 0.009),
}


@pytest.mark.parametrize(("made", "target"), WIDTHS)
def test_widths_on_the_papers_population(made, target):
    population = Population.paper()
    bounds = identification_bounds(made, made, cells_of(population, made, made), target, target)
    assert bounds.high - bounds.low == pytest.approx(WIDTHS[made, target], abs=0.002)
    truth = np.array(population.signs(target))
    assert (bounds.low <= truth).all()
    assert (truth <= bounds.high).all()


def test_outer_bounds_are_beyond_inner_ones_by_little():
    cells = cells_of(Population.paper(), 3, 3)
    bounds = identification_bounds(3, 3, cells, 10, 10)
    rows, signs = cell_rows(3, 3, *ATOMS), sign_rows(10, 10, *ATOMS)
    for i in range(3):
        inner = [
            sign * linprog(sign * signs[i], A_eq=rows, b_eq=cells, method="highs").fun
            for sign in (1, -1)
        ]
        assert inner[0] - 0.002 <= bounds.low[i] <= inner[0]
        assert inner[1] <= bounds.high[i] <= inner[1] + 0.002


@pytest.mark.parametrize("seed", range(10))
def test_bounds_contain_the_truth(seed):
    rng = np.random.default_rng(seed)
    population = random_population(rng, int(rng.integers(2, 12)))
    made, target = rng.integers(1, 4, 2), rng.integers(2, 8, 2)
    bounds = identification_bounds(*made, cells_of(population, *made), *target)
    truth = sign_rows(*target, population.p_sham, population.p_destroy) @ population.weights
    assert (bounds.low <= truth + 1e-6).all()
    assert (truth - 1e-6 <= bounds.high).all()
    assert (bounds.high >= bounds.low).all()


@pytest.mark.parametrize(("made", "target"), [((3, 3), (3, 3)), ((4, 2), (3, 1)), ((5, 3), (2, 3))])
def test_no_more_replays_than_were_made_leave_nothing_open(made, target):
    population = random_population(np.random.default_rng(4), 20)
    cells = cells_of(population, *made)
    bounds = identification_bounds(*made, cells, *target)
    truth = sign_rows(*target, population.p_sham, population.p_destroy) @ population.weights
    subsampled = [sign.ravel() @ cells for sign in subsampled_signs(*made, *target)]
    assert bounds.low == pytest.approx(truth, abs=1e-12)
    assert bounds.low == pytest.approx(subsampled, abs=1e-14)
    assert (bounds.low == bounds.high).all()


def test_a_certificate_within_what_was_made_costs_nothing():
    """The program itself, which the public function does not need there, agrees."""
    population = random_population(np.random.default_rng(5), 6)
    cells = cells_of(population, 2, 2)
    functions = CellFunctions(2, 2, np.eye(9)[None, 1:], cells[1:], 0.0, np.empty((2, 0)))
    tie = np.eye(3)
    assert certified_minimum(tie[None], functions) == pytest.approx(
        cells[[0, 4, 8]].sum(), abs=1e-6
    )


def test_swapped_arms_exchange_negative_and_positive():
    cells = cells_of(Population.paper(), 2, 3)
    bounds = identification_bounds(2, 3, cells, 5, 4)
    swapped = identification_bounds(3, 2, cells.reshape(3, 4).T.ravel(), 4, 5)
    assert swapped.low[::-1] == pytest.approx(bounds.low, abs=4e-4)
    assert swapped.high[::-1] == pytest.approx(bounds.high, abs=4e-4)


def test_flips_and_their_absence_exchange_negative_and_positive():
    cells = cells_of(Population.paper(), 3, 3)
    bounds = identification_bounds(3, 3, cells, 6, 6)
    mirrored = identification_bounds(3, 3, cells[::-1], 6, 6)
    assert mirrored.low[::-1] == pytest.approx(bounds.low, abs=4e-4)
    assert mirrored.high[::-1] == pytest.approx(bounds.high, abs=4e-4)


def test_a_homogeneous_population_leaves_nothing_open():
    population = Population.homogeneous(0.344, 0.642)
    bounds = identification_bounds(2, 2, cells_of(population, 2, 2), 10, 10)
    truth = np.array(population.signs(10))
    assert bounds.low == pytest.approx(truth, abs=1e-3)
    assert bounds.high == pytest.approx(truth, abs=1e-3)


@pytest.mark.parametrize(("cell", "sign"), [(0, 1), (3, 2), (12, 0), (15, 1)])
def test_all_questions_in_one_corner_cell(cell, sign):
    cells = np.eye(16)[cell]
    bounds = identification_bounds(3, 3, cells, 10, 10)
    assert bounds.low == pytest.approx(np.eye(3)[sign], abs=1e-3)
    assert bounds.high == pytest.approx(np.eye(3)[sign], abs=1e-3)
    with_sampling = sampled(cells, 500)
    assert 0.85 < with_sampling.low[sign] <= bounds.low[sign] + 1e-3
    assert with_sampling.high[sign] == pytest.approx(1.0, abs=1e-3)


def test_sampling_bounds_shrink_to_the_identification_bounds():
    cells = cells_of(Population.paper(), 3, 3)
    known = identification_bounds(3, 3, cells, 10, 10)
    beyond = []
    for n in (10**3, 10**5, 10**7):
        bounds = sampled(cells, n)
        assert (bounds.low <= known.low + 2e-4).all()
        assert (bounds.high >= known.high - 2e-4).all()
        beyond.append(max(np.max(known.low - bounds.low), np.max(bounds.high - known.high)))
    assert beyond[0] > 0.02
    assert beyond == sorted(beyond, reverse=True)
    assert beyond[-1] < 0.003


def test_sampling_bounds_solve_the_primal_program():
    """The same set in its primal form, over weights of the grid: inner bounds."""
    rng = np.random.default_rng(8)
    truth, n = cells_of(Population.paper(), 3, 3), 1249
    share = rng.multinomial(n, truth) / n
    covariance = 1.5 * multinomial(share, n)
    bounds = sampling_bounds(3, 3, share, covariance, n, 1.5, 10, 10)

    smooth = (n * share + 0.5) / (n + 8)
    values, vectors = np.linalg.eigh((3 * covariance + 5 * 1.5 * multinomial(smooth, n)) / 8)
    kept = values > 1e-3 * values[-1]
    whitened = vectors[:, kept].T / np.sqrt(values[kept])[:, None]
    rows, aim = whitened @ cell_rows(3, 3, *ATOMS), whitened @ share
    least = nnls(np.vstack([rows, np.full(1089, 1e4)]), np.append(aim, 1e4))[1] ** 2
    radius = np.sqrt(least + stats.chi2.ppf(0.95, 1))
    constraints = sparse.csc_matrix(
        np.vstack([np.ones(1089), -np.eye(1089), np.zeros(1089), -rows])
    )
    limits = np.concatenate([[1.0], np.zeros(1089), [radius], -aim])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [
        clarabel.ZeroConeT(1),
        clarabel.NonnegativeConeT(1089),
        clarabel.SecondOrderConeT(1 + aim.size),
    ]
    for i, cost in enumerate(sign_rows(10, 10, *ATOMS)):
        inner = []
        for sign in (1, -1):
            nothing = sparse.csc_matrix((1089, 1089))
            program = (nothing, sign * cost, constraints, limits, cones, settings)
            inner.append(sign * clarabel.DefaultSolver(*program).solve().obj_val)
        assert inner[0] - 0.002 <= bounds.low[i] <= inner[0] + 1e-5
        assert inner[1] - 1e-5 <= bounds.high[i] <= inner[1] + 0.002


def test_sampling_bounds_widen_with_the_level():
    cells = cells_of(Population.paper(), 3, 3)
    narrow, wide = sampled(cells, 1249, level=0.5), sampled(cells, 1249, level=0.99)
    assert (wide.low < narrow.low - 0.005).all()
    assert (wide.high > narrow.high + 0.005).all()


def test_few_clusters_widen_the_sampling_bounds():
    cells = cells_of(Population.paper(), 3, 3)
    widths = [np.subtract(*sampled(cells, 1249, df=df)[::-1]) for df in (None, 10**6, 102, 4)]
    assert widths[1] == pytest.approx(widths[0], abs=1e-4)
    assert (widths[2] > widths[1]).all()
    assert (widths[3] > widths[2] + 0.01).all()
    with pytest.raises(InputError, match="df=0"):
        sampled(cells, 1249, df=0)


def test_sampling_bounds_of_a_homogeneous_population_are_narrow():
    cells = cells_of(Population.homogeneous(0.344, 0.642), 3, 3)
    bounds = sampled(cells, 1249)
    truth = np.array(Population.homogeneous(0.344, 0.642).signs(10))
    assert (bounds.low <= truth).all()
    assert (truth <= bounds.high).all()
    assert (bounds.high - bounds.low < (0.07, 0.06, 0.09)).all()


def test_sampling_bounds_of_few_questions_are_within_0_and_1():
    bounds = sampled(np.eye(4)[1], 1, k=1)
    assert (bounds.low >= 0.0).all()
    assert (bounds.high <= 1.0).all()
    assert (bounds.low <= bounds.high).all()


def test_nearest_mixture_is_that_of_non_negative_least_squares(rng):
    functions, centre = rng.random((40, 5)), rng.random(5) + 0.3
    weights = nearest_mixture(functions, centre)
    rows = np.vstack([functions.T, np.full(40, 1e5)])
    expected = nnls(rows, np.append(centre, 1e5))[0]
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(weights @ functions - centre) == pytest.approx(
        np.linalg.norm(expected @ functions - centre), abs=1e-6
    )


def test_largest_minorant_is_the_dual_of_the_linear_program(rng):
    functions, target = rng.random((40, 5)), rng.random(40)
    centre = rng.dirichlet(np.ones(40)) @ functions
    constant, z, _, missed = largest_minorant(functions, target, centre, 0.0)
    rows = np.column_stack([np.ones(40), functions]).T
    primal = linprog(target, A_eq=rows, b_eq=np.append(1.0, centre), method="highs")
    assert constant + z @ centre == pytest.approx(primal.fun, abs=1e-6)
    assert (constant + functions @ z <= target + 1e-6).all()
    assert 0.0 <= missed < 1e-6


def test_a_program_that_fails_is_named():
    with pytest.raises(SolverError, match="nearest population: the solver ended with"):
        nearest_mixture(np.full((4, 2), 1e300), np.full(2, -1e300))


CELLS = np.full(16, 1 / 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3, np.eye(16)[5], 10, 10), "are those of no population"),
        ((3, 2, CELLS, 10, 10), r"shape \(16,\): give one number for each of the 12 cells"),
        ((3, 3, 2 * CELLS, 10, 10), "must be at least 0 and sum to 1; the sum is 2"),
        ((3, 3, CELLS * np.nan, 10, 10), "must be at least 0 and sum to 1; the sum is nan"),
        ((3, 3, CELLS, 10, 65), "to_k_destroy=65 must be at most 64"),
        ((0, 3, CELLS, 10, 10), "k_sham=0 must be a whole number of at least 1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        identification_bounds(*arguments)


@pytest.mark.parametrize(
    ("covariance", "n", "design_effect", "level", "message"),
    [
        (np.eye(4), 9, 1.0, 0.95, r"covariance_of_share has shape \(4, 4\): give 16 × 16"),
        (np.eye(16), 0, 1.0, 0.95, "n=0 must be a whole number of at least 1"),
        (np.eye(16), 9, 0.5, 0.95, "design_effect=0.5 must be a number of at least 1"),
        (np.eye(16), 9, 1.0, 1.0, "level=1.0 must lie between 0 and 1"),
    ],
)
def test_wrong_arguments_of_sampling_bounds(covariance, n, design_effect, level, message):
    with pytest.raises(InputError, match=message):
        sampling_bounds(3, 3, CELLS, covariance, n, design_effect, 10, 10, level=level)
