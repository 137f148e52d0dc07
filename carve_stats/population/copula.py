"""Maximum likelihood for Beta margins joined by a Gaussian copula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv, expit, logit, ndtr

from carve_stats.population.cells import PatternCells
from carve_stats.population.families import LEAST_CONCENTRATION, BetaCopula
from carve_stats.population.likelihood import observed_cells

__all__ = ["CopulaFit", "fit_copula"]

Floats = NDArray[np.float64]

LARGEST_CONCENTRATION = 1e4
"""Flip probabilities then have a standard deviation of at most .005: nearly homogeneous."""

LARGEST_CORRELATION = 0.995
"""Of the latent normals; beyond it the quadrature below would miss the ridge."""

ASSUMED_CONCENTRATION = 2.0
"""Of an arm that never has two replays of a question, whose spread cannot be seen."""

# The latent normals are summed over a lattice of step .1, trapezoidally; its error falls like
# exp(−(2π/step)²(1 − correlation)), which is 3e-9 at the largest correlation.
_LATENT = np.arange(-60, 61) / 10.0
_TAIL = ndtr(-np.abs(_LATENT))
_MOST_STEPS = 200

# Both logit means, both log concentrations, the atanh of the correlation: where each may go.
_ENDS = np.array(
    [[logit(1e-6), logit(1 - 1e-6)]] * 2
    + [[math.log(LEAST_CONCENTRATION), math.log(LARGEST_CONCENTRATION)]] * 2
    + [[-math.atanh(LARGEST_CORRELATION), math.atanh(LARGEST_CORRELATION)]]
)


@dataclass(frozen=True, slots=True, eq=False)
class CopulaFit:
    """The fitted law, as weighted points on a product of two sets of rates.

    Parameters
    ----------
    p_sham, p_destroy : ndarray, shapes (points_sham,) and (points_destroy,)
        Flip probabilities; a single one in an arm that has flipped never or always.
    weights : ndarray, shape (points_sham, points_destroy)
        Probability of each pair.
    log_likelihood : float
        Mean over the questions.
    family : BetaCopula or None
        The law itself; None where an arm has a single flip probability.
    notes : tuple of str
        Which parameters stand at an end of their range, or could not be seen.
    """

    p_sham: Floats
    p_destroy: Floats
    weights: Floats
    log_likelihood: float
    family: BetaCopula | None
    notes: tuple[str, ...]


class _Arm(NamedTuple):
    """Where the search for one arm starts."""

    name: str
    mean: float
    concentration: float
    spread_is_seen: bool

    @property
    def constant(self) -> bool:
        return self.mean in (0.0, 1.0)

    def rates(self, mean: float, concentration: float) -> Floats:
        """The flip probabilities at the lattice of latent normals; one where all are alike."""
        if self.constant:
            return np.array([self.mean])
        a, b = mean * concentration, (1.0 - mean) * concentration
        low, high = _LATENT < 0.0, _LATENT >= 0.0
        return np.concatenate([betaincinv(a, b, _TAIL[low]), betainccinv(a, b, _TAIL[high])])


def fit_copula(patterns: Sequence[PatternCells]) -> CopulaFit:
    """Fit Beta margins and a Gaussian copula by maximum likelihood.

    Parameters
    ----------
    patterns : sequence of PatternCells
        At least one question in all.

    Returns
    -------
    CopulaFit
        The fitted law.

    Notes
    -----
    Parameters are logit mean and log concentration of each arm and the atanh of the
    correlation, searched by L-BFGS-B from the moments of the flips. The likelihood of a cell
    is a double sum over a lattice of latent normals: quantiles are needed once an arm and
    lattice point only, and the copula is in the weights.

    A concentration ends at 10,000, where an arm is homogeneous, and at .05. An arm that has
    flipped never or always has no Beta law: its likelihood has its maximum at the single flip
    probability 0 or 1, which it gets. Where no question has two replays of an arm its
    concentration is not identified: 2 is assumed and said so.

    References
    ----------
    R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained
    optimization", SIAM Journal on Scientific Computing 16 (1995).
    """
    from scipy.optimize import minimize  # loads slowly

    cells = observed_cells(patterns)
    arms, correlation = _moments(patterns)
    full, free = _start(arms, correlation)

    def law(values: Floats) -> tuple[Floats, Floats, Floats]:
        full[free] = values
        means, concentrations = expit(full[:2]), np.exp(full[2:4])
        sham, destroy = (
            arm.rates(mean, concentration)
            for arm, mean, concentration in zip(arms, means, concentrations, strict=True)
        )
        return sham, destroy, _lattice_weights(sham.size, destroy.size, math.tanh(full[4]))

    def loss(values: Floats) -> float:
        return -cells.log_likelihood(*law(values))

    best = full[free]
    if free:
        best = minimize(
            loss,
            best,
            method="L-BFGS-B",
            bounds=_ENDS[free],
            options={"maxiter": _MOST_STEPS, "ftol": 1e-12, "gtol": 1e-7},
        ).x
    sham, destroy, weights = law(best)
    return CopulaFit(
        sham,
        destroy,
        weights,
        cells.log_likelihood(sham, destroy, weights),
        _family(arms, full),
        tuple(_notes(arms, full)),
    )


def _moments(patterns: Sequence[PatternCells]) -> tuple[tuple[_Arm, _Arm], float]:
    """Starting values from the factorial moments of the flips, and which arms are constant."""
    flips, replays, both, pairs = np.zeros((4, 2))
    product = products = 0.0
    for block in patterns:
        x, y = np.divmod(np.arange(block.counts.size), block.k_destroy + 1)
        n = block.counts.sum()
        for i, (z, k) in enumerate(((x, block.k_sham), (y, block.k_destroy))):
            flips[i] += block.counts @ z
            replays[i] += n * k
            both[i] += block.counts @ (z * (z - 1))
            pairs[i] += n * k * (k - 1)
        product += block.counts @ (x * y)
        products += n * block.k_sham * block.k_destroy
    mean = flips / replays
    seen = pairs > 0
    second = np.divide(both, pairs, out=np.zeros(2), where=seen)
    inside = mean * (1 - mean)
    variance = np.where(seen, second - mean**2, inside / (ASSUMED_CONCENTRATION + 1))
    variance = np.clip(variance, inside / 200, inside / 1.3)
    with np.errstate(invalid="ignore", divide="ignore"):
        concentration = np.where(inside > 0, inside / variance - 1, ASSUMED_CONCENTRATION)
        correlation = (product / products - mean.prod()) / np.sqrt(variance.prod())
    arms = (
        _Arm("SHAM", float(mean[0]), float(concentration[0]), bool(seen[0])),
        _Arm("DESTROY", float(mean[1]), float(concentration[1]), bool(seen[1])),
    )
    return arms, float(np.clip(np.nan_to_num(correlation), -0.8, 0.8))


def _start(arms: tuple[_Arm, _Arm], correlation: float) -> tuple[Floats, list[int]]:
    """The five parameters to start from, and which of them the flips say something about."""
    means = [0.0 if arm.constant else logit(arm.mean) for arm in arms]
    concentrations = [math.log(arm.concentration) for arm in arms]
    full = np.clip([*means, *concentrations, math.atanh(correlation)], *_ENDS.T)
    free = [i for i, arm in enumerate(arms) if not arm.constant]
    free += [2 + i for i in free if arms[i].spread_is_seen]
    if not any(arm.constant for arm in arms):
        free.append(4)
    return full, free


def _lattice_weights(rows: int, columns: int, correlation: float) -> Floats:
    """The bivariate normal on the lattice; an arm with a single rate has a single point."""
    first = _LATENT[:, None] if rows > 1 else np.zeros((1, 1))
    second = _LATENT if columns > 1 else np.zeros(1)
    square = first**2 - 2 * correlation * first * second + second**2
    weights = np.exp(-square / (2 * (1 - correlation**2)))
    return weights / weights.sum()


def _family(arms: tuple[_Arm, _Arm], values: Floats) -> BetaCopula | None:
    if any(arm.constant for arm in arms):
        return None
    means, concentrations = expit(values[:2]), np.exp(values[2:4])
    return BetaCopula(
        mean_sham=(float(means[0]),),
        mean_destroy=(float(means[1]),),
        concentration_sham=max(LEAST_CONCENTRATION, float(concentrations[0])),
        concentration_destroy=max(LEAST_CONCENTRATION, float(concentrations[1])),
        correlation=math.tanh(values[4]),
    )


def _notes(arms: tuple[_Arm, _Arm], values: Floats) -> list[str]:
    notes = []
    for arm, concentration in zip(arms, np.exp(values[2:4]), strict=True):
        if arm.constant:
            often = "never" if arm.mean == 0.0 else "always"
            notes.append(
                f"{arm.name} flipped {often}: its flip probability is {arm.mean:g} for all"
            )
        elif not arm.spread_is_seen:
            notes.append(
                f"no question has two {arm.name} replays, so how much its flip probabilities vary"
                f" cannot be seen: a concentration of {ASSUMED_CONCENTRATION:g} is assumed"
            )
        elif concentration > 0.99 * LARGEST_CONCENTRATION:
            notes.append(f"{arm.name} flip probabilities show no variation between questions")
        elif concentration < 1.01 * LEAST_CONCENTRATION:
            notes.append(f"{arm.name} flip probabilities are nearly all 0 or 1")
    correlation = math.tanh(values[4])
    if abs(correlation) > 0.99 * LARGEST_CORRELATION:
        notes.append(
            f"the correlation of the two arms is at the end of its range, {correlation:.3f}"
        )
    return notes
