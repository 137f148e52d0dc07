"""What is known of a population because it was fitted."""

from __future__ import annotations

from dataclasses import dataclass

from carve_stats.population.families import BetaCopula

__all__ = ["FIT_METHODS", "PopulationFit"]

FIT_METHODS = ("em", "npmle", "copula")


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationFit:
    """How a population was fitted, and how well it fits.

    Parameters
    ----------
    method : str
        ``em``, ``npmle`` or ``copula``.
    log_likelihood : float
        Mean over the questions of the logarithm of the probability of their flips.
    duality_gap : float or None
        The largest gain in `log_likelihood`, per unit of weight, that moving weight to any one
        atom of the grid would bring: 0 at the maximum over all populations, and never less
        than what a fit lacks of it. That of ``em`` is not 0 on purpose. None for ``copula``,
        which does not look for that maximum.
    questions : int
        Questions that were fitted: those with a score.
    left_out : int
        Questions without a valid replay in one arm or both.
    copula : BetaCopula or None
        The fitted family: the result of ``copula``, and where ``em`` began. None for
        ``npmle``, and where an arm has flipped never or always, so that it has no Beta law.
    notes : tuple of str
        What a person should know about the fit, a line each.
    """

    method: str
    log_likelihood: float
    duality_gap: float | None
    questions: int
    left_out: int
    copula: BetaCopula | None
    notes: tuple[str, ...] = ()
