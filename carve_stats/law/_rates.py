"""The flip probabilities of a law, given as p, as q = 1 − p or as a logit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import numbers, probability

__all__ = ["FlipRates", "arm"]

_Floats = NDArray[np.float64]


def arm(
    name: str, p: ArrayLike | None, q: ArrayLike | None, logit: ArrayLike | None
) -> tuple[_Floats, _Floats | None]:
    """Probabilities p and, unless it is 1 − p in floats, q; from whichever was given.

    Of each pair the smaller is exact and the other one is it rounded: 1 − p is exact for
    p >= 1/2, and a q below 1/2 cannot be had from p.
    """
    given = {f"p_{name}": p, f"q_{name}": q, f"logit_{name}": logit}
    if sum(value is not None for value in given.values()) != 1:
        raise InputError(f"give one of {', '.join(given)}: exactly one")
    if p is not None:
        return probability(f"p_{name}", p), None
    if q is not None:
        stay = probability(f"q_{name}", q)
        return _read_only(1.0 - stay), stay
    assert logit is not None  # one of the three is given
    odds = numbers(f"logit_{name}", logit, "a number, the logarithm of the odds").astype(float)
    if np.isnan(odds).any():
        raise InputError(f"logit_{name} has a NaN: it must be a number, the logarithm of the odds")
    small = np.exp(-np.abs(odds)) / (1.0 + np.exp(-np.abs(odds)))
    large = 1.0 - small
    flips = odds > 0
    return _read_only(np.where(flips, large, small)), _read_only(np.where(flips, small, large))


@dataclass(frozen=True, slots=True, eq=False)
class FlipRates:
    """Rates of both arms for the kernels: contiguous, one-dimensional, of one length.

    A q is None where it is 1 − p in floats, as some kernels would rather compute it than read it.
    """

    p_sham: _Floats
    q_sham: _Floats | None
    p_destroy: _Floats
    q_destroy: _Floats | None

    def __len__(self) -> int:
        return self.p_sham.size

    @property
    def only_p(self) -> bool:
        """Whether each q is 1 − p in floats."""
        return self.q_sham is None and self.q_destroy is None

    def columns(self) -> tuple[_Floats, _Floats, _Floats, _Floats]:
        """p_sham, q_sham, p_destroy and q_destroy."""
        return (
            self.p_sham,
            1.0 - self.p_sham if self.q_sham is None else self.q_sham,
            self.p_destroy,
            1.0 - self.p_destroy if self.q_destroy is None else self.q_destroy,
        )

    def swapped(self) -> FlipRates:
        """The arms exchanged, so that the score changes its sign."""
        return FlipRates(self.p_destroy, self.q_destroy, self.p_sham, self.q_sham)

    def __getitem__(self, rows: NDArray[np.int64]) -> FlipRates:
        def taken(values: _Floats | None) -> Any:
            return None if values is None else values[rows]

        return FlipRates(
            self.p_sham[rows], taken(self.q_sham), self.p_destroy[rows], taken(self.q_destroy)
        )


def _read_only(values: Any) -> _Floats:
    array = np.asarray(values, dtype=np.float64)
    array.flags.writeable = False
    return array
