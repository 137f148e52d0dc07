"""Fitted populations: EM against plain NumPy, known truths, ragged and degenerate logs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from carve_stats._kernels.mixture import em_steps
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.population.cells import PatternCells, pattern_cells
from carve_stats.population.fit import _split, fit_cells, fit_population
from carve_stats.population.fit_result import FIT_METHODS
from carve_stats.population.grid import cell_matrix, chebyshev_grid, grid_atoms
from carve_stats.population.likelihood import observed_cells
from carve_stats.population.mixing import Population


def counts_of(rows):
    return ReplayCounts([f"q{i:04}" for i in range(len(rows))], *np.array(rows).T)


def ragged_counts(n=150, seed=1):
    rng = np.random.default_rng(seed)
    drawn = Population.paper().draw(n, rng=rng)
    k_sham, k_destroy = rng.integers(1, 4, n), rng.integers(2, 4, n)
    x, y = rng.binomial(k_sham, drawn.p_sham), rng.binomial(k_destroy, drawn.p_destroy)
    return ReplayCounts(drawn.question, x, k_sham, y, k_destroy)


def steps(cells, grid, count, weights):
    weights, gradient = weights.copy(), np.empty_like(weights)
    sham, destroy = cells.sham_rows(grid), cells.destroy_rows(grid)
    em_steps(sham, destroy, cells.row, cells.column, cells.share, count, weights, gradient)
    return weights, gradient


def dense(patterns, grid):
    """All cells of all patterns: A, by the grid module's dense matrix, and f."""
    atoms = np.repeat(grid, grid.size), np.tile(grid, grid.size)
    matrix = np.concatenate([cell_matrix(p.k_sham, p.k_destroy, *atoms) for p in patterns])
    share = np.concatenate([p.counts for p in patterns])
    return matrix, share / share.sum()


def test_em_steps_are_those_of_plain_numpy(rng):
    patterns = pattern_cells(ragged_counts())
    grid = chebyshev_grid(7)
    start = rng.random((7, 7))
    start /= start.sum()
    found, gradient = steps(observed_cells(patterns), grid, 6, start)
    matrix, share = dense(patterns, grid)
    expected = start.ravel()
    for _ in range(6):
        expected = expected * (matrix.T @ (share / (matrix @ expected)))
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-11)
    np.testing.assert_allclose(
        gradient.ravel(), matrix.T @ (share / (matrix @ expected)), rtol=1e-11
    )
    assert found.sum() == pytest.approx(1, abs=1e-13)


def test_no_step_lowers_the_likelihood(rng):
    cells = observed_cells(pattern_cells(ragged_counts()))
    grid = chebyshev_grid(9)
    weights = rng.random((9, 9)) ** 4
    weights /= weights.sum()
    reached = [cells.log_likelihood(grid, grid, weights)]
    for _ in range(20):
        weights, _ = steps(cells, grid, 1, weights)
        reached.append(cells.log_likelihood(grid, grid, weights))
    assert (np.diff(reached) >= -1e-14).all()
    assert reached[-1] > reached[0] + 0.01


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_splitting_over_the_grid_keeps_every_value_as_a_mean(values):
    grid = chebyshev_grid(9)
    shares = _split(np.array(values), grid)
    assert (shares >= 0).all()
    assert ((shares > 0).sum(axis=1) <= 2).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(shares @ grid, values, atol=1e-15)


def test_fit_of_a_populations_own_cells_has_its_signs():
    paper = Population.paper()
    sham = binom.pmf(np.arange(4)[:, None], 3, paper.p_sham)
    destroy = binom.pmf(np.arange(4)[:, None], 3, paper.p_destroy)
    cells = ((sham * paper.weights) @ destroy.T).ravel()
    fitted = fit_cells([PatternCells(3, 3, 1e9 * cells)])  # the copula is ruled out, and left
    assert fitted.signs(3) == pytest.approx(paper.signs(3), abs=1e-3)
    # Beyond k = 3 only as well as anything can know: METHODS has an identification interval of
    # width .049, .086 and .047 at k = 10.
    for ours, truth, width in zip(
        fitted.signs(10), paper.signs(10), (0.049, 0.086, 0.05), strict=True
    ):
        assert abs(ours - truth) < width
    # The log likelihood lacks no more of its maximum, −entropy, than the gap says.
    best = (cells * np.log(cells)).sum()
    assert best - fitted.fit.duality_gap <= fitted.fit.log_likelihood <= best


@pytest.mark.parametrize("method", FIT_METHODS)
def test_what_a_fit_says_of_itself(method):
    counts = ragged_counts()
    unscored = ReplayCounts(
        [*counts.question, "z1", "z2"],
        [*counts.sham_flips, 0, 0],
        [*counts.sham_replays, 0, 3],
        [*counts.destroy_flips, 1, 0],
        [*counts.destroy_replays, 3, 0],
    )
    population = fit_population(unscored, method=method)
    fit = population.fit
    assert (fit.method, fit.questions, fit.left_out) == (method, 150, 2)
    assert (fit.copula is None) == (method == "npmle")
    assert population.family == (fit.copula if method == "copula" else None)
    patterns = pattern_cells(counts)
    probability = np.concatenate(
        [
            cell_matrix(p.k_sham, p.k_destroy, population.p_sham, population.p_destroy)
            @ population.weights
            for p in patterns
        ]
    )
    share = dense(patterns, chebyshev_grid(2))[1]
    seen = share > 0
    likelihood = share[seen] @ np.log(probability[seen])
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-6)
    if method == "copula":
        assert fit.duality_gap is None
    else:
        matrix, _ = dense(patterns, chebyshev_grid())
        ratio = np.where(seen, share / np.where(seen, probability, 1), 0)
        gap = (matrix.T @ ratio).max() - 1
        assert fit.duality_gap == pytest.approx(gap, abs=1e-7)


def test_methods_are_in_the_order_of_their_likelihood():
    counts = ragged_counts()
    copula, em, npmle = (fit_population(counts, method=m).fit for m in ("copula", "em", "npmle"))
    assert copula.log_likelihood < em.log_likelihood < npmle.log_likelihood
    assert em.copula == copula.copula
    # The gap bounds what EM, which was stopped, lacks.
    assert 0 < npmle.log_likelihood - em.log_likelihood <= em.duality_gap
    assert npmle.duality_gap < 1e-7


@pytest.mark.parametrize("method", ["copula", "npmle"])
def test_only_the_shares_of_the_cells_matter(method):
    patterns = pattern_cells(ragged_counts(n=60))
    fitted = fit_cells(patterns, method=method)
    more = fit_cells([p._replace(counts=p.counts * 20_000) for p in patterns], method=method)
    assert more.weights == pytest.approx(fitted.weights, abs=1e-9)


def test_questions_that_rule_the_copula_out_leave_less_of_it():
    # Half the questions never flip, the others flip as coins do: no Beta law has that shape.
    cells = np.zeros((4, 4))
    cells[0, 0] = 0.5
    cells += 0.5 * np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64
    few, many = (fit_cells([PatternCells(3, 3, n * cells.ravel())]) for n in (60, 10**8))
    truth = cells[0, 0]
    fitted = [
        float((fit.weights * (1 - fit.p_sham) ** 3 * (1 - fit.p_destroy) ** 3).sum())
        for fit in (few, many)
    ]
    assert abs(fitted[1] - truth) < 0.2 * abs(fitted[0] - truth)


def test_row_order_changes_nothing(rng):
    counts = ragged_counts(n=60)
    order = rng.permutation(60)
    names = ("question", "sham_flips", "sham_replays", "destroy_flips", "destroy_replays")
    mixed = ReplayCounts(*(getattr(counts, name)[order] for name in names))
    assert np.array_equal(fit_population(mixed).weights, fit_population(counts).weights)


DEGENERATE = {
    "no flips": ([(0, 3, 0, 3)] * 9, (0, 0)),
    "all flips": ([(3, 3, 3, 3)] * 9, (1, 1)),
    "sham never": ([(0, 3, y, 3) for y in (0, 1, 2, 3)] * 3, (0, 0.5)),
    "destroy always": ([(x, 3, 3, 3) for x in (0, 1, 1, 2)] * 3, (1 / 3, 1)),
    "one question": ([(1, 3, 2, 3)], (1 / 3, 2 / 3)),
    "one question, one replay": ([(0, 1, 1, 1)], (0, 1)),
    "one replay": ([(0, 1, 0, 1), (0, 1, 1, 1), (1, 1, 1, 1), (0, 1, 1, 1)], (0.25, 0.75)),
    "only ties": ([(x, 3, x, 3) for x in (0, 1, 2, 3)] * 3, (0.5, 0.5)),
    "opposites": ([(0, 3, 3, 3), (3, 3, 0, 3)] * 3, (0.5, 0.5)),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("method", FIT_METHODS)
def test_degenerate_logs_are_answered(name, method):
    rows, means = DEGENERATE[name]
    population = fit_population(counts_of(rows), method=method)
    # Fitted means are the flip rates: EM's approach them, and the copula's need not in the
    # corners of its parameters.
    sham, destroy = (population.weights @ p for p in (population.p_sham, population.p_destroy))
    assert (sham, destroy) == pytest.approx(means, abs=0.02)
    assert np.isfinite(population.fit.log_likelihood)
    assert sum(population.signs(3)) == pytest.approx(1, abs=1e-12)
    assert population.fit.questions == len(rows)


def test_an_arm_without_a_beta_law_is_said_to_have_none():
    population = fit_population(counts_of(DEGENERATE["sham never"][0]), method="copula")
    assert population.fit.copula is None
    assert population.family is None
    assert (population.p_sham == 0).all()
    assert population.fit.notes == ("SHAM flipped never: its flip probability is 0 for all",)


def test_homogeneous_questions_are_fitted_by_nearly_one_atom():
    counts = Population.homogeneous(0.344, 0.642).sample(4000, 3, rng=2)
    population = fit_population(counts)
    spread = population.weights @ (population.p_sham - population.weights @ population.p_sham) ** 2
    assert spread < 0.01
    law = Population.homogeneous(0.344, 0.642)
    assert population.signs(3) == pytest.approx(law.signs(3), abs=0.02)


def test_grid_points_are_the_atoms_of_em():
    population = fit_population(ragged_counts(n=30))
    p_sham, p_destroy = grid_atoms()
    assert np.array_equal(population.p_sham, p_sham)
    assert np.array_equal(population.p_destroy, p_destroy)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_population("logs/"), "counts is a str: it must be ReplayCounts, as"),
        (
            lambda: fit_population(counts_of([(0, 0, 1, 3)])),
            "counts: no question has a valid replay in both arms, so there is nothing to fit",
        ),
        (
            lambda: fit_population(counts_of([(0, 3, 1, 3), (0, 3, 1, 101)])),
            "question 'q0001' has 101 valid destroy replays: populations are fitted to at most 100",
        ),
        (
            lambda: fit_population(counts_of([(0, 3, 1, 3)]), method="EM"),
            "unknown method 'EM': the known ones are em, npmle, copula; did you mean 'em'?",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError) as refusal:
        call()
    assert str(refusal.value).startswith(message)
