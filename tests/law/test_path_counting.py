"""Path counting: unbiased in exact arithmetic, and where pooled rates are not."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from stopping_cases import ORDERS, every_pair, plan_of, play

from carve_stats.errors import InputError
from carve_stats.law.path_counting import GOES_ON, NEVER, path_shares
from carve_stats.population.mixing import Population


def binomial(k, p):
    return [comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(k + 1)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("minimum", [(0, 0), (1, 1), (2, 3), (4, 3)])
@pytest.mark.parametrize("rule", ["score <= 0", "sign"])
def test_expected_shares_are_the_binomial_cells_exactly(order, minimum, rule):
    plan = plan_of(4, 3, rule, order, minimum)
    p_sham, p_destroy = Fraction(2, 7), Fraction(3, 5)
    guaranteed = plan.guaranteed
    for to_sham in range(guaranteed[0] + 1):
        for to_destroy in range(guaranteed[1] + 1):
            found = path_shares(plan, to_sham, to_destroy)
            cells = [Fraction(0)] * found.shares.shape[1]
            for (i, x, j, y), row in zip(found.terminals.tolist(), found.shares, strict=True):
                paths = int(plan.paths[i * (i + 1) // 2 + x, j * (j + 1) // 2 + y])
                one = p_sham**x * (1 - p_sham) ** (i - x)
                one *= p_destroy**y * (1 - p_destroy) ** (j - y)
                for cell, share in enumerate(row):
                    # A share is a number of paths of all: the fraction behind the float.
                    numerator = round(share * paths)
                    assert share == numerator / paths
                    cells[cell] += numerator * one
            sham, destroy = binomial(to_sham, p_sham), binomial(to_destroy, p_destroy)
            assert cells == [a * b for a in sham for b in destroy]


@pytest.mark.parametrize("order", ORDERS)
def test_shares_are_those_of_every_sequence(order):
    sham, destroy = every_pair(4, 4)
    plan = plan_of(4, 4, "score < 1/3", order, (2, 1))
    states, _ = play(plan, sham, destroy)
    found = path_shares(plan, 2, 1)
    rows = found.rows(*states.T)
    assert np.array_equal(found.terminals[rows], states)
    cells = 2 * sham[:, :2].sum(axis=1) + destroy[:, 0]
    for row in range(len(found.terminals)):
        there = np.bincount(cells[rows == row], minlength=6)
        np.testing.assert_allclose(found.shares[row], there / there.sum(), rtol=1e-15)


@pytest.mark.parametrize(
    ("order", "minimum"), [("optimal", (3, 3)), ("alternate", (0, 0)), ("destroy-first", (2, 0))]
)
def test_unbiased_for_300_000_simulated_questions(order, minimum, rng):
    n, k = 300_000, 10
    population = Population.paper()
    atom = rng.choice(population.weights.size, n, p=population.weights)
    sham = (rng.random((n, k)) < population.p_sham[atom, None]).astype(int)
    destroy = (rng.random((n, k)) < population.p_destroy[atom, None]).astype(int)
    plan = plan_of(k, k, "score <= 0", order, minimum)
    states, _ = play(plan, sham, destroy)
    for to in {plan.guaranteed, (2, 2), (1, 3)}:
        found = path_shares(plan, *to)
        by_row = np.bincount(found.rows(*states.T), minlength=len(found.terminals))
        mean = by_row @ found.shares / n
        error = np.sqrt((by_row @ found.shares**2 / n - mean**2) / n)
        sham_part = np.array(binomial(to[0], population.p_sham))
        destroy_part = np.array(binomial(to[1], population.p_destroy))
        expected = ((sham_part * population.weights) @ destroy_part.T).ravel()
        assert (np.abs(mean - expected) < 4 * error).all()
        u, v = np.indices((to[0] + 1, to[1] + 1)).reshape(2, -1)
        signs = [
            float(mean[v * to[0] < u * to[1]].sum()),
            float(mean[v * to[0] == u * to[1]].sum()),
        ]
        exact = population.signs(k_sham=to[0], k_destroy=to[1])
        assert signs == pytest.approx([exact.negative, exact.zero], abs=4 * 0.5 / n**0.5)


def ends_of(plan, p_sham, p_destroy):
    """Probability of each state to stop in, shape (questions, T)."""
    i, x, j, y = plan.terminals.T
    paths = plan.paths[i * (i + 1) // 2 + x, j * (j + 1) // 2 + y]
    p, r = np.reshape(p_sham, (-1, 1)), np.reshape(p_destroy, (-1, 1))
    return paths * p**x * (1 - p) ** (i - x) * r**y * (1 - r) ** (j - y)


def test_pooled_rates_of_stopped_replays_are_biased_and_why():
    # The project's METHODS: .359 for .344 in destroy-first pairs; exactly, not by simulation.
    population = Population.paper()
    plan = plan_of(10, 10, "score <= 0", "alternate-destroy-first")
    i, x, _, _ = plan.terminals.T
    by_question = ends_of(plan, population.p_sham, population.p_destroy)
    np.testing.assert_allclose(by_question.sum(axis=1), 1)
    ends = population.weights @ by_question
    true = population.weights @ population.p_sham
    pooled = (ends @ x) / (ends @ i)
    assert (round(true, 3), round(pooled, 3)) == (0.344, 0.359)
    # Why: each question's flips are p a replay made (Wald), but questions get unequal replays.
    replays = by_question @ i
    np.testing.assert_allclose(by_question @ x, population.p_sham * replays)
    weights = population.weights * replays
    assert pooled == pytest.approx(weights @ population.p_sham / weights.sum())
    # The mean of the questions' own rates is biased the other way: each leans by itself.
    assert round(ends @ (x / i), 3) == 0.339
    assert round((ends_of(plan, 0.5, 0.6) @ (x / i)).item(), 3) == 0.496
    # Path counting on one SHAM replay has neither fault.
    first = path_shares(plan, 1, 0).shares[:, 1]
    assert ends @ first == pytest.approx(true, abs=1e-12)
    np.testing.assert_allclose(by_question @ first, population.p_sham, atol=1e-12)


@pytest.mark.parametrize("order", ["alternate", "destroy-first"])
def test_more_than_is_guaranteed_is_refused(order):
    plan = plan_of(3, 3, "score <= 0", order)
    sham, destroy = plan.guaranteed
    path_shares(plan, sham, destroy)
    for to in ((sham + 1, destroy), (sham, destroy + 1)):
        with pytest.raises(InputError, match=rf"must not exceed \({sham}, {destroy}\)"):
            path_shares(plan, *to)


@pytest.mark.parametrize(
    "state", [(9, 0, 0, 0), (2, 3, 3, 3), (2**31 - 1, 3, 3, 3), (3, 3, 3, 3), (0, 0, 1, 0)]
)
def test_a_state_that_the_plan_does_not_lead_to_is_told(state):
    found = path_shares(plan_of(3, 3, "score <= 0", "alternate"), 1, 1)
    columns = [[a, b] for a, b in zip((3, 1, 2, 2), state, strict=True)]
    assert found.rows(*columns)[1] == NEVER


def test_an_unfinished_question_has_no_row():
    found = path_shares(plan_of(3, 3, "score <= 0", "alternate"), 1, 1)
    rows = found.rows([0, 1, 3], [0, 0, 1], [0, 1, 2], [0, 1, 2])
    assert (rows == GOES_ON).tolist() == [True, True, False]


def test_no_questions_have_no_rows():
    found = path_shares(plan_of(3, 3, "score <= 0", "alternate"), 1, 1)
    assert found.rows([], [], [], []).size == 0
