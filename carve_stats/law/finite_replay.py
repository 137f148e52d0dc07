"""`FiniteReplayLaw`: the exact law of the score of a question replayed finitely often."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._kernels import law as kernels
from carve_stats._kernels.binomial import SCALE
from carve_stats.errors import InputError
from carve_stats.law._arguments import Rational, generator, probability, replay_budget
from carve_stats.law._budgets import compute, flat, shaped
from carve_stats.law._lattice import numerators, threshold
from carve_stats.law.score_rule import ScoreRule

__all__ = ["FiniteReplayLaw", "SignShares"]


class SignShares(NamedTuple):
    """One figure for each sign of the score; floats, or arrays of one shape."""

    negative: Any
    zero: Any
    positive: Any


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class FiniteReplayLaw:
    """The exact law of the score Δ̂ = Y/k_destroy − X/k_sham.

    X ~ Bin(k_sham, p_sham) SHAM replays and Y ~ Bin(k_destroy, p_destroy) DESTROY replays
    flip, independently given the question. The four parameters broadcast together, so that
    one law holds a million questions, each with its own budget.

    Parameters
    ----------
    p_sham, p_destroy : float or array_like
        Flip probabilities, between 0 and 1.
    k : int or array_like of int, optional
        Replays in each arm, at least 1.
    k_sham, k_destroy : int or array_like of int, optional
        Replays in each arm where they differ; in the place of `k`.

    Raises
    ------
    InputError
        A probability that is NaN or outside [0, 1]; a budget that is not a whole number of
        at least 1, given twice or not at all; shapes that do not broadcast.

    Notes
    -----
    Scores are compared as the integers y·k_sham − x·k_destroy: in floats y/k − x/k takes 45
    distinct values at k = 10 where 21 exist. Every sum has terms of one sign, so that the
    probabilities keep full relative accuracy however small they are.

    With a = p_sham·p_destroy, b = (1 − p_sham)(1 − p_destroy) and one k in both arms, the tie
    probability is Σ_j C(k,j)² a^j b^(k−j) = (1/π)∫_0^π (a + b + 2√(ab) cos θ)^k dθ.

    References
    ----------
    The integral is Laplace's for Legendre polynomials: Whittaker and Watson, *A Course of
    Modern Analysis*, §15.23.

    Examples
    --------
    >>> law = FiniteReplayLaw(p_sham=.25, p_destroy=.375, k=3)
    >>> law.tie() == 2673 / 8192
    True
    >>> law.signs()
    SignShares(negative=0.213..., zero=0.326..., positive=0.459...)
    >>> FiniteReplayLaw([.2, .3], .6, k_sham=3, k_destroy=[3, 2]).tie().round(4)
    array([0.1866, 0.0646])
    """

    p_sham: NDArray[np.float64]
    p_destroy: NDArray[np.float64]
    k_sham: NDArray[np.int64]
    k_destroy: NDArray[np.int64]

    def __init__(
        self,
        p_sham: ArrayLike,
        p_destroy: ArrayLike,
        k: ArrayLike | None = None,
        *,
        k_sham: ArrayLike | None = None,
        k_destroy: ArrayLike | None = None,
    ) -> None:
        sham, destroy = replay_budget(k, k_sham, k_destroy)
        parameters = {
            "p_sham": probability("p_sham", p_sham),
            "p_destroy": probability("p_destroy", p_destroy),
            "k_sham": sham,
            "k_destroy": destroy,
        }
        try:
            np.broadcast_shapes(*(v.shape for v in parameters.values()))
        except ValueError:
            shapes = ", ".join(f"{n} {v.shape}" for n, v in parameters.items())
            raise InputError(f"the shapes do not broadcast together: {shapes}") from None
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape of the parameters; () for one question."""
        return np.broadcast_shapes(
            self.p_sham.shape, self.p_destroy.shape, self.k_sham.shape, self.k_destroy.shape
        )

    def tie(self) -> Any:
        """P(Δ̂ = 0).

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape.
        """
        return self._compute(kernels.tie, 1)[0]

    def negative(self) -> Any:
        """P(Δ̂ < 0), as a float or an array of the law's shape."""
        return self.signs().negative

    def positive(self) -> Any:
        """P(Δ̂ > 0), as a float or an array of the law's shape."""
        return self.signs().positive

    def signs(self) -> SignShares:
        """P(Δ̂ < 0), P(Δ̂ = 0) and P(Δ̂ > 0).

        Returns
        -------
        SignShares
            Floats for one question, else arrays of the law's shape.
        """
        return SignShares(*self._compute(kernels.signs, 3))

    def signs_gradient(self) -> tuple[SignShares, SignShares]:
        """Derivatives of the three sign probabilities by p_sham and by p_destroy.

        Returns
        -------
        by_sham, by_destroy : SignShares
            Floats for one question, else arrays of the law's shape.

        Notes
        -----
        Exact sums, from ∂b_k(j; p)/∂p = k (b_{k−1}(j − 1; p) − b_{k−1}(j; p)).

        Examples
        --------
        >>> by_sham, by_destroy = FiniteReplayLaw(.3436525, .6417726, k=3).signs_gradient()
        >>> round(by_sham.zero, 6), round(by_destroy.zero, 6)
        (0.461385, -0.466922)
        """
        gradient = self._compute(kernels.signs_gradient, 6)
        return SignShares(*gradient[:3]), SignShares(*gradient[3:])

    def mean(self) -> Any:
        """E Δ̂ = p_destroy − p_sham, as a float or an array of the law's shape."""
        difference = self.p_destroy - self.p_sham
        return shaped(np.array(np.broadcast_to(difference, self.shape)), self.shape)

    def var(self) -> Any:
        """Var Δ̂ = p_sham q_sham/k_sham + p_destroy q_destroy/k_destroy, with q = 1 − p."""
        sham = self.p_sham * (1.0 - self.p_sham) / self.k_sham
        destroy = self.p_destroy * (1.0 - self.p_destroy) / self.k_destroy
        return shaped(np.asarray(sham + destroy), self.shape)

    def cdf(self, theta: Rational) -> Any:
        """P(Δ̂ <= theta).

        Parameters
        ----------
        theta : Fraction, int, str or float
            A rational such as ``Fraction(1, 3)`` or ``"1/3"`` is compared exactly, on integers.
            A float is compared with the correctly rounded quotients, so that ``.1`` means the
            score 1/10 although the float is not that number.

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape.

        Examples
        --------
        >>> law = FiniteReplayLaw(.5, .5, k=10)
        >>> law.cdf("3/10") == law.cdf(.3)
        True
        >>> round(law.cdf("3/10"), 6)
        0.942341
        """

        def kernel(p_sham: Any, p_destroy: Any, k_sham: int, k_destroy: int, out: Any) -> None:
            largest = threshold(theta, k_sham * k_destroy)
            kernels.score_cdf(p_sham, p_destroy, k_sham, k_destroy, largest, out)

        return self._compute(kernel, 1)[0]

    def probability(self, rule: ScoreRule) -> Any:
        """P(the rule selects the score).

        Parameters
        ----------
        rule : ScoreRule
            A comparison of the score with a rational, such as
            ``ScoreRule.parse("score <= 0")``.

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape.

        Notes
        -----
        Each probability is a sum of its own terms, never 1 less another one, so that small
        ones keep their relative accuracy in both tails.

        Examples
        --------
        >>> law = FiniteReplayLaw(.25, .375, k=3)
        >>> law.probability(ScoreRule.parse("score > 0")) == 7533 / 16384
        True
        """

        def kernel(p_sham: Any, p_destroy: Any, k_sham: int, k_destroy: int, out: Any) -> None:
            denominator = k_sham * k_destroy
            lowest, highest = rule.ends(denominator)
            if lowest > highest:
                out[:] = 0.0
            elif lowest == -denominator:
                kernels.score_cdf(p_sham, p_destroy, k_sham, k_destroy, highest, out)
            elif highest == denominator:  # the lower tail of the arms exchanged
                kernels.score_cdf(p_destroy, p_sham, k_destroy, k_sham, -lowest, out)
            else:
                kernels.score_point(p_sham, p_destroy, k_sham, k_destroy, lowest, out)

        return self._compute(kernel, 1)[0]

    def lattice(self) -> tuple[NDArray[np.int64], int]:
        """The scores that are possible, as integers over one denominator.

        Returns
        -------
        numerators : ndarray of int64, ascending
            The distinct values of y·k_sham − x·k_destroy, those of `ReplayCounts.score_numerator`.
        denominator : int
            k_sham·k_destroy.

        Raises
        ------
        InputError
            The law holds more than one budget: each has a lattice of its own.

        Examples
        --------
        >>> FiniteReplayLaw(.3, .6, k_sham=1, k_destroy=2).lattice()
        (array([-2, -1,  0,  1,  2]), 2)
        """
        k_sham, k_destroy = self._one_budget()
        return np.unique(numerators(k_sham, k_destroy)), k_sham * k_destroy

    def support(self) -> NDArray[np.float64]:
        """The scores that are possible, ascending, each correctly rounded."""
        points, denominator = self.lattice()
        return points / denominator

    def pmf(self) -> NDArray[np.float64]:
        """P(Δ̂ = s) for each s of `support`.

        Returns
        -------
        ndarray, shape (*law.shape, points)
            The last axis is the lattice.

        Raises
        ------
        InputError
            The law holds more than one budget.

        Examples
        --------
        >>> FiniteReplayLaw(.25, .5, k=1).pmf()
        array([0.125, 0.5  , 0.375])
        """
        mantissa, scale = self._scaled_pmf()
        return np.ldexp(mantissa, -SCALE * scale)

    def logpmf(self) -> NDArray[np.float64]:
        """Natural logarithm of `pmf`, also where that is too small for a float.

        Returns
        -------
        ndarray, shape (*law.shape, points)
            −inf where the probability is 0.

        Examples
        --------
        >>> FiniteReplayLaw(1e-300, 0, k=3).logpmf().round(2)
        array([-2072.33, -1380.45,  -689.68,     0.  ,     -inf,     -inf,     -inf])
        """
        mantissa, scale = self._scaled_pmf()
        with np.errstate(divide="ignore"):
            return np.log(mantissa) - scale * (SCALE * math.log(2.0))

    def rvs(
        self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator | int
    ) -> Any:
        """Draw scores.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result; it must broadcast with the law's shape, which is the default.
        rng : numpy.random.Generator or int
            The source of randomness, or a seed for one.

        Returns
        -------
        float or ndarray
            Values of `support`.
        """
        rng = generator(rng)
        shape = self.shape if size is None else size
        try:
            x = rng.binomial(self.k_sham, self.p_sham, size=shape)
            y = rng.binomial(self.k_destroy, self.p_destroy, size=shape)
        except ValueError:
            raise InputError(
                f"size={size!r} does not hold the law's shape {self.shape}: end it with that shape"
            ) from None
        scores = (y * self.k_sham - x * self.k_destroy) / (self.k_sham * self.k_destroy)
        return shaped(np.asarray(scores), np.shape(scores))

    def __repr__(self) -> str:
        if self.shape == ():
            return (
                f"FiniteReplayLaw(p_sham={float(self.p_sham)!r}, p_destroy="
                f"{float(self.p_destroy)!r}, k_sham={int(self.k_sham)}, "
                f"k_destroy={int(self.k_destroy)})"
            )
        return f"<FiniteReplayLaw of shape {self.shape}>"

    def _one_budget(self) -> tuple[int, int]:
        if self.k_sham.ndim or self.k_destroy.ndim:
            raise InputError("k is an array: each budget has its own lattice; take one at a time")
        return int(self.k_sham), int(self.k_destroy)

    def _scaled_pmf(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        k_sham, k_destroy = self._one_budget()
        lattice, place = np.unique(numerators(k_sham, k_destroy), return_inverse=True)
        points = lattice.size
        p_sham, p_destroy = flat(self.p_sham, self.shape), flat(self.p_destroy, self.shape)
        mantissa = np.empty(p_sham.size * points)
        scale = np.empty(p_sham.size * points, np.int64)
        kernels.score_pmf(
            p_sham, p_destroy, k_sham, k_destroy, place.ravel(), points, mantissa, scale
        )
        shape = (*self.shape, points)
        return mantissa.reshape(shape), scale.reshape(shape)

    def _compute(self, kernel: Callable[..., None], outputs: int) -> tuple[Any, ...]:
        return compute(
            kernel,
            outputs,
            self.shape,
            self.p_sham,
            self.p_destroy,
            self.k_sham,
            self.k_destroy,
        )
