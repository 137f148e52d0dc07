"""Copula maximum likelihood, against known laws and a maximisation by other means."""

import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.stats import beta, binom, norm

from carve_stats.population.cells import PatternCells, pattern_cells
from carve_stats.population.copula import fit_copula
from carve_stats.population.families import BetaCopula
from carve_stats.population.mixing import Population


def block(table, k_sham, k_destroy):
    return PatternCells(k_sham, k_destroy, np.asarray(table, float).ravel())


def cells_of(p_sham, p_destroy, weights, k_sham, k_destroy):
    """Cell probabilities of weighted points, by SciPy."""
    sham = binom.pmf(np.arange(k_sham + 1)[:, None], k_sham, p_sham)
    destroy = binom.pmf(np.arange(k_destroy + 1)[:, None], k_destroy, p_destroy)
    return (sham * weights) @ destroy.T


@pytest.mark.parametrize(
    ("sham", "destroy", "correlation"),
    [
        ((0.34, 1.8), (0.63, 1.1), 0.45),
        ((0.1, 5.0), (0.9, 0.4), -0.6),
        ((0.5, 30.0), (0.6, 2), 0.9),
    ],
)
@pytest.mark.parametrize("budgets", [[(3, 3)], [(10, 10), (9, 10), (4, 2)]])
def test_a_law_is_found_from_its_own_cells(sham, destroy, correlation, budgets):
    law = BetaCopula(
        mean_sham=sham[:1],
        mean_destroy=destroy[:1],
        concentration_sham=sham[1],
        concentration_destroy=destroy[1],
        correlation=correlation,
    )
    p_sham, p_destroy, weights, _ = law.atoms()  # a quadrature that the fit does not use
    fit = fit_copula(
        [block(1000 * cells_of(p_sham, p_destroy, weights, *ks), *ks) for ks in budgets]
    )
    assert fit.notes == ()
    found = fit.family
    assert found.mean_sham[0] == pytest.approx(sham[0], abs=1e-4)
    assert found.mean_destroy[0] == pytest.approx(destroy[0], abs=1e-4)
    assert found.concentration_sham == pytest.approx(sham[1], rel=0.005)
    assert found.concentration_destroy == pytest.approx(destroy[1], rel=0.005)
    assert found.correlation == pytest.approx(correlation, abs=0.003)
    entropy = np.mean(
        [(c * np.log(c)).sum() for c in (cells_of(p_sham, p_destroy, weights, *k) for k in budgets)]
    )
    assert fit.log_likelihood == pytest.approx(entropy, abs=1e-8)


def test_points_are_the_law_that_they_stand_for():
    counts = Population.paper().sample(400, 3, rng=5)
    fit = fit_copula(pattern_cells(counts))
    points = np.meshgrid(fit.p_sham, fit.p_destroy, indexing="ij")
    ours = Population(*(p.ravel() for p in points), fit.weights.ravel())
    fine = Population._from_family(fit.family)
    for k in (1, 3, 10):
        assert ours.signs(k) == pytest.approx(fine.signs(k), abs=2e-6)


def test_maximum_agrees_with_nelder_mead_over_gauss_hermite_nodes():
    counts = Population.paper().sample(600, 3, rng=8)
    tally = np.zeros((4, 4))
    np.add.at(tally, (counts.sham_flips, counts.destroy_flips), 1)
    node, weight = hermegauss(40)
    weight = weight / weight.sum()
    first, second = (z.ravel() for z in np.meshgrid(node, node, indexing="ij"))
    pairs = np.outer(weight, weight).ravel()

    def loss(t):
        (a, b, c, d), rho = np.exp(t[:4]), math.tanh(t[4])
        latent = norm.cdf(rho * first + math.sqrt(1 - rho**2) * second)
        p_sham = np.repeat(beta.ppf(norm.cdf(node), a, b), node.size)
        cells = cells_of(p_sham, beta.ppf(latent, c, d), pairs, 3, 3)
        return -(tally * np.log(cells)).sum() / tally.sum()

    start = [-0.5, 0.2, -0.4, -1.0, 0.5]
    options = {"maxfev": 900, "xatol": 1e-5, "fatol": 1e-11}
    peer = minimize(loss, start, method="Nelder-Mead", options=options)
    fit = fit_copula(pattern_cells(counts))
    assert fit.log_likelihood == pytest.approx(-peer.fun, abs=2e-6)
    (a, b, c, d), rho = np.exp(peer.x[:4]), math.tanh(peer.x[4])
    assert fit.family.mean_sham[0] == pytest.approx(a / (a + b), abs=1e-3)
    assert fit.family.mean_destroy[0] == pytest.approx(c / (c + d), abs=1e-3)
    assert fit.family.concentration_sham == pytest.approx(a + b, rel=0.01)
    assert fit.family.concentration_destroy == pytest.approx(c + d, rel=0.01)
    assert fit.family.correlation == pytest.approx(rho, abs=0.01)


def test_arms_and_outcomes_may_be_exchanged():
    table = np.random.default_rng(3).integers(1, 40, (4, 6))
    fit = fit_copula([block(table, 3, 5)]).family
    swapped = fit_copula([block(table.T, 5, 3)]).family
    turned = fit_copula([block(table[::-1, ::-1], 3, 5)]).family
    assert swapped.mean_sham[0] == pytest.approx(fit.mean_destroy[0], abs=1e-4)
    assert swapped.concentration_sham == pytest.approx(fit.concentration_destroy, rel=1e-3)
    assert swapped.correlation == pytest.approx(fit.correlation, abs=1e-3)
    assert turned.mean_sham[0] == pytest.approx(1 - fit.mean_sham[0], abs=1e-4)
    assert turned.correlation == pytest.approx(fit.correlation, abs=1e-3)


def test_alike_questions_end_where_an_arm_is_homogeneous():
    cells = cells_of(np.array([0.344]), np.array([0.642]), np.array([1.0]), 4, 4)
    fit = fit_copula([block(1e6 * cells, 4, 4)])
    assert fit.family.concentration_sham > 1000
    assert fit.family.concentration_destroy > 1000
    assert fit.log_likelihood == pytest.approx((cells * np.log(cells)).sum(), abs=1e-6)


def test_underdispersed_flips_are_noted():
    # Two of four flip in every question: less spread than any binomial law has.
    table = np.zeros((5, 5))
    table[2, 2] = 50
    fit = fit_copula([block(table, 4, 4)])
    assert fit.notes == (
        "SHAM flip probabilities show no variation between questions",
        "DESTROY flip probabilities show no variation between questions",
    )
    assert fit.family.mean_sham[0] == pytest.approx(0.5, abs=1e-4)


def test_all_or_none_is_noted():
    table = np.zeros((5, 5))
    table[0, 0] = table[4, 4] = 50
    fit = fit_copula([block(table, 4, 4)])
    assert fit.notes == (
        "SHAM flip probabilities are nearly all 0 or 1",
        "DESTROY flip probabilities are nearly all 0 or 1",
        "the correlation of the two arms is at the end of its range, 0.995",
    )


def test_one_replay_shows_means_and_their_product_only():
    table = np.array([[30, 25], [20, 45]])
    fit = fit_copula([block(table, 1, 1)])
    assert fit.notes == tuple(
        f"no question has two {arm} replays, so how much its flip probabilities vary cannot be"
        " seen: a concentration of 2 is assumed"
        for arm in ("SHAM", "DESTROY")
    )
    assert (fit.family.concentration_sham, fit.family.concentration_destroy) == pytest.approx(
        (2, 2)
    )
    fitted = cells_of(
        *(p.ravel() for p in np.meshgrid(fit.p_sham, fit.p_destroy, indexing="ij")),
        fit.weights.ravel(),
        1,
        1,
    )
    np.testing.assert_allclose(fitted, table / 120, atol=1e-5)


@pytest.mark.parametrize("turned", [False, True])
def test_an_arm_that_never_or_always_flips_is_a_single_probability(turned):
    table = np.zeros((4, 4))
    table[0] = [20, 10, 15, 30]
    fit = fit_copula([block(table[::-1] if turned else table, 3, 3)])
    assert fit.family is None
    assert fit.p_sham.tolist() == [1.0 if turned else 0.0]
    assert fit.notes == (
        f"SHAM flipped {'always' if turned else 'never'}: its flip probability is"
        f" {int(turned)} for all",
    )
    # What is left is a beta-binomial law of the other arm, which SciPy can maximise.
    from scipy.stats import betabinom

    def loss(t):
        return -(table[0] * betabinom.logpmf(np.arange(4), 3, *np.exp(t))).sum() / 75

    peer = minimize(loss, [0, 0], method="Nelder-Mead", options={"fatol": 1e-12})
    assert fit.log_likelihood == pytest.approx(-peer.fun, abs=1e-7)


def test_both_arms_constant():
    table = np.zeros((4, 3))
    table[0, 2] = 7
    fit = fit_copula([block(table, 3, 2)])
    assert (fit.p_sham, fit.p_destroy, fit.weights) == ([0.0], [1.0], [[1.0]])
    assert fit.log_likelihood == 0.0
