"""The order of replays that costs least in a population: a dynamic program over all states."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels import stopping as kernels
from carve_stats.law._flip_states import decision_classes, final_decisions, flip_states
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.stopping import StoppingPlan, fixed_plan
from carve_stats.population.mixing import Population

__all__ = ["class_masses", "optimal_plan", "state_masses"]

Floats = NDArray[np.float64]

_UNIFORM = 1e-9  # weight of the uniform population: what the other rules out has an order too
_STEPS = 60  # of the bisection on the price of a changed decision
_PRICES = 1e-3, 1e9  # of a changed decision, in replays


def optimal_plan(
    budget: tuple[int, int],
    rule: ScoreRule | str,
    minimum: tuple[int, int],
    population: Population,
    costs: tuple[float, float],
    changed: float,
) -> StoppingPlan:
    """The plan of least expected cost; arguments as `stopping_plan` has checked them.

    Parameters
    ----------
    budget, rule, minimum
        As in `StoppingPlan`.
    population : Population
        What questions are like.
    costs : (float, float)
        Of a SHAM and of a DESTROY replay.
    changed : float
        The largest share of decisions that may change.

    Returns
    -------
    StoppingPlan
        An exact one where `changed` is 0.
    """
    classes = decision_classes(*budget, rule)
    certain = final_decisions(classes)
    true_mass = state_masses(population, *budget)
    mass = (1.0 - _UNIFORM) * true_mass + _UNIFORM * _uniform_masses(*budget)
    # The minimum is checked here, before it is used.
    exact = fixed_plan(*budget, rule, "alternate", minimum)
    early = flip_states(budget[0])[0][:, None] < exact.minimum[0]
    early = early | (flip_states(budget[1])[0] < exact.minimum[1])

    def solve(stop: Floats) -> NDArray[np.int8]:
        action, value = np.empty(stop.shape, np.int8), np.empty(stop.shape)
        stop = np.where(early, np.inf, stop)
        kernels.optimal_actions(*budget, *costs, mass, stop, action, value)
        return action

    def plan(action: NDArray[np.int8], verdict: NDArray[np.int8]) -> StoppingPlan:
        return StoppingPlan(*budget, rule, "optimal", exact.minimum, action, verdict)

    best = solve(np.where(certain >= 0, 0.0, np.inf))
    if changed == 0.0:
        return plan(best, certain)
    by_class = class_masses(mass, classes)
    wrong = np.sort(by_class, axis=0)[:-1].sum(axis=0)
    true_wrong = class_masses(true_mass, classes)
    likeliest = by_class.argmax(axis=0)
    true_wrong = np.where(np.arange(len(classes))[:, None, None] != likeliest, true_wrong, 0.0).sum(
        axis=0
    )
    paths = np.empty(mass.shape)
    low, high = (math.log(price * max(costs)) for price in _PRICES)
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        action = solve(math.exp(middle) * wrong)
        kernels.count_paths(*budget, action[None, None], (0, 0), (0, 0), paths[None, None])
        if float((paths * true_wrong)[action < 0].sum()) <= changed:
            best, high = action, middle
        else:
            low = middle
    return plan(best, np.where(certain >= 0, certain, np.where(best < 0, likeliest, -1)))


def state_masses(population: Population, k_sham: int, k_destroy: int) -> Floats:
    """Probability of one sequence that leads to each state, over all questions.

    Parameters
    ----------
    population : Population
        What questions are like.
    k_sham, k_destroy : int
        The full budget.

    Returns
    -------
    ndarray, shape (S, D)
        E[p_sham^x q_sham^(i−x) p_destroy^y q_destroy^(j−y)].
    """

    def sequences(k: int, p: Floats) -> Floats:
        replays, flips = flip_states(k)
        powers = np.arange(k + 1)[:, None]
        flipped, stayed = p**powers, (1.0 - p) ** powers
        return flipped[flips] * stayed[replays - flips]

    sham = sequences(k_sham, population.p_sham)
    return (sham * population.weights) @ sequences(k_destroy, population.p_destroy).T


def _uniform_masses(k_sham: int, k_destroy: int) -> Floats:
    """The same for questions whose two flip probabilities are uniform and independent."""

    def sequences(k: int) -> Floats:
        replays, flips = flip_states(k)
        ways = [math.comb(int(n), int(x)) for n, x in zip(replays, flips, strict=True)]
        return 1.0 / ((replays + 1) * np.array(ways, float))

    return np.outer(sequences(k_sham), sequences(k_destroy))


def class_masses(mass: Floats, classes: NDArray[np.bool_]) -> Floats:
    """The part of each state's mass that ends in each decision of the full budget.

    Parameters
    ----------
    mass : ndarray, shape (S, D)
        As `state_masses` gives it.
    classes : ndarray of bool, shape (decisions, k_sham + 1, k_destroy + 1)
        As `decision_classes` gives them.

    Returns
    -------
    ndarray, shape (decisions, S, D)
        They add up to `mass`.
    """
    _, rows, columns = classes.shape
    full = mass[-rows:, -columns:]
    out = np.empty((len(classes), *mass.shape))
    for outcomes, part in zip(classes, out, strict=True):
        kernels.sum_outcomes(rows - 1, columns - 1, np.where(outcomes, full, 0.0), part)
    return out
