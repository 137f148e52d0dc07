"""`FiniteReplayLaw`: the exact law of the score of a question replayed finitely often."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._kernels import law as kernels
from carve_stats._kernels import tie_sequence
from carve_stats._kernels.binomial import SCALE, unscale_all
from carve_stats.errors import InputError
from carve_stats.law._arguments import Rational, generator, one_number, probability, replay_budget
from carve_stats.law._budgets import compute, flat, shaped
from carve_stats.law._lattice import possible_scores, threshold
from carve_stats.law._rates import FlipRates, arm
from carve_stats.law._signs import signs, tie
from carve_stats.law.score_rule import ScoreRule, as_rule

__all__ = ["FiniteReplayLaw", "SignShares"]


# The logarithm of 2**SCALE in two parts: a whole number times the first one is exact. The last
# term is what the double math.log(2) lacks of log 2.
_LOG_SCALE = round(SCALE * math.log(2.0) * 2**20) / 2**20
_LOG_SCALE_REST = SCALE * math.log(2.0) - _LOG_SCALE + SCALE * 2.3190468138462996e-17


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
    p_sham, p_destroy : float or array_like, optional
        Flip probabilities, between 0 and 1. Each arm takes one of p, q and logit.
    k : int or array_like of int, optional
        Replays in each arm, at least 1.
    k_sham, k_destroy : int or array_like of int, optional
        Replays in each arm where they differ; in the place of `k`.
    q_sham, q_destroy : float or array_like, optional
        1 − p, where p is so close to 1 that a float cannot tell.
    logit_sham, logit_destroy : float or array_like, optional
        log(p/q), which may be infinite.

    Attributes
    ----------
    p_sham, p_destroy, q_sham, q_destroy : ndarray of float64
        The smaller one of each p and q is exactly what was given.
    k_sham, k_destroy : ndarray of int64

    Raises
    ------
    InputError
        A probability that is NaN or outside [0, 1]; a rate or a budget given twice or not at
        all; a budget that is not a whole number of at least 1; shapes that do not broadcast.

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
    _q_sham: NDArray[np.float64] | None
    _q_destroy: NDArray[np.float64] | None

    def __init__(
        self,
        p_sham: ArrayLike | None = None,
        p_destroy: ArrayLike | None = None,
        k: ArrayLike | None = None,
        *,
        k_sham: ArrayLike | None = None,
        k_destroy: ArrayLike | None = None,
        q_sham: ArrayLike | None = None,
        q_destroy: ArrayLike | None = None,
        logit_sham: ArrayLike | None = None,
        logit_destroy: ArrayLike | None = None,
    ) -> None:
        sham, destroy = replay_budget(k, k_sham, k_destroy)
        p, q = arm("sham", p_sham, q_sham, logit_sham)
        u, v = arm("destroy", p_destroy, q_destroy, logit_destroy)
        object.__setattr__(self, "_q_sham", q)
        object.__setattr__(self, "_q_destroy", v)
        parameters = {"p_sham": p, "p_destroy": u, "k_sham": sham, "k_destroy": destroy}
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

    @property
    def q_sham(self) -> NDArray[np.float64]:
        """1 − p_sham."""
        return 1.0 - self.p_sham if self._q_sham is None else self._q_sham

    @property
    def q_destroy(self) -> NDArray[np.float64]:
        """1 − p_destroy."""
        return 1.0 - self.p_destroy if self._q_destroy is None else self._q_destroy

    def tie(self) -> Any:
        """P(Δ̂ = 0).

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape.

        References
        ----------
        - `proofs/thm_tie_closed_forms.py`: the sum and the integral that it is, at one k in both
          arms.
        - `proofs/thm_sign_sweep.py`: the sum in half the terms, for k up to 10.
        - `proofs/thm_trapezoid.py`: the rule for the integral and its error, beyond k = 128.
        - `proofs/thm_support.py`: which outcomes tie, at unequal k.
        - `proofs/thm_tie_decay.py`: at most BC^(2k), BC the Bhattacharyya coefficient.
        - `proofs/thm_tie_peak.py`: which p_destroy makes ties most frequent.
        """
        return self._compute(tie, 1)[0]

    def negative(self) -> Any:
        """P(Δ̂ < 0), as a float or an array of the law's shape.

        References
        ----------
        - `proofs/thm_sign_sweep.py`: as for `signs`.
        """
        return self.signs().negative

    def positive(self) -> Any:
        """P(Δ̂ > 0), as a float or an array of the law's shape.

        References
        ----------
        - `proofs/thm_sign_sweep.py`: as for `signs`.
        """
        return self.signs().positive

    def signs(self) -> SignShares:
        """P(Δ̂ < 0), P(Δ̂ = 0) and P(Δ̂ > 0).

        Returns
        -------
        SignShares
            Floats for one question, else arrays of the law's shape.

        References
        ----------
        - `proofs/thm_sign_sweep.py`: all three in one sweep of positive terms, for k up to 10.
        - `proofs/thm_expected_sign.py`: how the signs at every k follow from the ties.
        - `proofs/thm_right_sign.py`: the right sign gains at every k.
        """
        return SignShares(*self._compute(signs, 3))

    def signs_gradient(self) -> tuple[SignShares, SignShares]:
        """Derivatives of the three sign probabilities by p_sham and by p_destroy.

        Returns
        -------
        by_sham, by_destroy : SignShares
            Floats for one question, else arrays of the law's shape.

        Notes
        -----
        Exact sums, from ∂b_k(j; p)/∂p = k (b_{k−1}(j − 1; p) − b_{k−1}(j; p)).

        References
        ----------
        - `proofs/thm_gradient.py`: the derivatives as sums.
        - `proofs/thm_tie_peak.py`: the sign of the tie's derivative, and where it changes.

        Examples
        --------
        >>> by_sham, by_destroy = FiniteReplayLaw(.3436525, .6417726, k=3).signs_gradient()
        >>> round(by_sham.zero, 6), round(by_destroy.zero, 6)
        (0.461385, -0.466922)
        """
        gradient = self._compute(_by_columns(kernels.signs_gradient), 6)
        return SignShares(*gradient[:3]), SignShares(*gradient[3:])

    def tie_sequence(self) -> NDArray[np.float64]:
        """P(Δ̂ = 0) at 0, 1, … k replays in each arm.

        Returns
        -------
        ndarray, shape (*law.shape, k + 1)
            Entry 0 is 1: with no replays nothing differs.

        Raises
        ------
        InputError
            The law holds more than one budget, or k_sham is not k_destroy.

        Notes
        -----
        With s = p_sham p_destroy + q_sham q_destroy and t_j the probability at j,
        (j + 1) t_{j+1} = (2j + 1) s t_j − j (1 − p_sham − p_destroy)² t_{j−1}: Bonnet's recursion
        for Legendre polynomials, in twice the usual precision. The sequence never rises, and is
        convex: it is a Hausdorff moment sequence.

        References
        ----------
        - `proofs/thm_tie_closed_forms.py`: the recurrence.
        - `proofs/thm_tie_moments.py`: the sequence never rises, and is convex.

        Examples
        --------
        >>> FiniteReplayLaw(1 / 3, 2 / 3, k=3).tie_sequence() * [1, 9, 27, 729]
        array([  1.,   4.,   8., 160.])
        """
        shape, k = (*self.shape, self._equal_budget() + 1), self._equal_budget()
        out = np.empty(shape)
        tie_sequence.tie_sequence(*self._rates().columns(), k, out.ravel())
        return out

    def tie_sequence_gradient(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Derivatives of `tie_sequence` by p_sham and by p_destroy.

        Returns
        -------
        by_sham, by_destroy : ndarray, shape (*law.shape, k + 1)

        Raises
        ------
        InputError
            As `tie_sequence`.

        References
        ----------
        - `proofs/thm_gradient.py`: the recurrence of the derivatives.

        Examples
        --------
        >>> by_sham, by_destroy = FiniteReplayLaw(.3436525, .6417726, k=3).tie_sequence_gradient()
        >>> by_sham.round(6)
        array([0.      , 0.283545, 0.402183, 0.461385])
        >>> by_destroy.round(6)
        array([ 0.      , -0.312695, -0.412881, -0.466922])
        """
        shape, k = (*self.shape, self._equal_budget() + 1), self._equal_budget()
        by_sham, by_destroy = np.empty(shape), np.empty(shape)
        tie_sequence.tie_sequence_gradient(
            *self._rates().columns(), k, by_sham.ravel(), by_destroy.ravel()
        )
        return by_sham, by_destroy

    def mean(self) -> Any:
        """E Δ̂ = p_destroy − p_sham, as a float or an array of the law's shape.

        References
        ----------
        - `proofs/thm_law.py`: the mean.
        """
        # Two p close to 1 differ by what their q differ.
        difference = np.where(
            (self.p_sham > 0.5) & (self.p_destroy > 0.5),
            self.q_sham - self.q_destroy,
            self.p_destroy - self.p_sham,
        )
        return shaped(np.array(np.broadcast_to(difference, self.shape)), self.shape)

    def var(self) -> Any:
        """Var Δ̂ = p_sham q_sham/k_sham + p_destroy q_destroy/k_destroy, with q = 1 − p.

        References
        ----------
        - `proofs/thm_law.py`: the variance.
        """
        sham = self.p_sham * self.q_sham / self.k_sham
        destroy = self.p_destroy * self.q_destroy / self.k_destroy
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

        References
        ----------
        - `proofs/thm_law.py`: the law whose probabilities are added up.

        Examples
        --------
        >>> law = FiniteReplayLaw(.5, .5, k=10)
        >>> law.cdf("3/10") == law.cdf(.3)
        True
        >>> round(law.cdf("3/10"), 6)
        0.942341
        """

        def kernel(rates: FlipRates, k_sham: int, k_destroy: int, out: Any) -> None:
            largest = threshold(theta, k_sham * k_destroy)
            kernels.score_cdf(*rates.columns(), k_sham, k_destroy, largest, out)

        return self._compute(kernel, 1)[0]

    def sf(self, theta: Rational) -> Any:
        """P(Δ̂ > theta), a sum of its own and not 1 less `cdf`, so that small values are right.

        Parameters
        ----------
        theta : Fraction, int, str or float
            As for `cdf`.

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape.

        References
        ----------
        - `proofs/thm_law.py`: the law whose probabilities are added up.

        Examples
        --------
        >>> law = FiniteReplayLaw(.25, .375, k=3)
        >>> law.sf(0) == 7533 / 16384
        True
        """

        def kernel(rates: FlipRates, k_sham: int, k_destroy: int, out: Any) -> None:
            largest = threshold(theta, k_sham * k_destroy)
            kernels.score_cdf(*rates.swapped().columns(), k_destroy, k_sham, -largest - 1, out)

        return self._compute(kernel, 1)[0]

    def quantile(self, level: float) -> Any:
        """The smallest possible score s with P(Δ̂ <= s) >= level.

        Parameters
        ----------
        level : float
            Between 0 and 1; at 0 the smallest score with a positive probability.

        Returns
        -------
        float or ndarray
            Values of `support`; a float for one question, else an array of the law's shape.

        Raises
        ------
        InputError
            A level that is no number between 0 and 1.

        Notes
        -----
        Found by halving on the integers y·k_sham − x·k_destroy. Above 1/2 the condition is
        P(Δ̂ > s) <= 1 − level, which is the same and loses nothing in the tail.

        References
        ----------
        - `proofs/thm_law.py`: the law whose probabilities are added up.

        Examples
        --------
        >>> FiniteReplayLaw(.25, .375, k=3).quantile(.5)
        0.0
        """
        wanted = float(probability("level", one_number("level", level)))

        def kernel(rates: FlipRates, k_sham: int, k_destroy: int, out: Any) -> None:
            kernels.score_quantile(*rates.columns(), k_sham, k_destroy, wanted, out)
            out /= k_sham * k_destroy

        return self._compute(kernel, 1)[0]

    def probability(self, selected: ScoreRule | str | ArrayLike) -> Any:
        """P(the question is selected): the power of a rule or of a test.

        Parameters
        ----------
        selected : ScoreRule, str or array_like of bool, shape (k_sham + 1, k_destroy + 1)
            A comparison of the score with a rational, such as ``"score <= 0"``; or whether each
            outcome (x SHAM and y DESTROY flips) is selected, as `ExactTest.rejects` has it.

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape.

        Raises
        ------
        InputError
            A text that is no rule; a table that has not the shape of the law's one budget, or
            is not of bools.

        Notes
        -----
        Each probability is a sum of its own terms, never 1 less another one, so that small
        ones keep their relative accuracy in both tails.

        References
        ----------
        - `proofs/thm_law.py`: the law whose probabilities are added up.

        Examples
        --------
        >>> law = FiniteReplayLaw(.25, .375, k=3)
        >>> law.probability("score > 0") == 7533 / 16384
        True
        >>> from carve_stats.law.exact_tests import exact_test
        >>> barnard = exact_test(10, 10, test="barnard")
        >>> FiniteReplayLaw(.2, .7, k=10).probability(barnard.rejects(.05))
        0.62...
        """
        if isinstance(selected, ScoreRule | str):
            rule = as_rule(selected)
            return self._between(rule.ends)
        return self._among(self._table(selected))

    def wrong_sign(self, selected: ScoreRule | str | ArrayLike | None = None) -> Any:
        """P(Δ̂ has the sign that p_destroy − p_sham has not, and the question is selected).

        Parameters
        ----------
        selected : ScoreRule, str or array_like of bool, shape (k_sham + 1, k_destroy + 1)
            As in `probability`; every score unless it is given. Where it tells which outcomes
            lead to a decision, this is the probability of deciding the wrong way.

        Returns
        -------
        float or ndarray
            A float for one question, else an array of the law's shape. NaN where
            p_destroy = p_sham: then there is no sign to be wrong about.

        Raises
        ------
        InputError
            As `probability`.

        Notes
        -----
        For one k in both arms P(wrong sign) <= (BC^(2k) − t_k)/2, where BC is the Bhattacharyya
        coefficient √(p_sham p_destroy) + √(q_sham q_destroy) and t_k the probability of a tie.

        References
        ----------
        - `proofs/thm_tie_decay.py`: the bound.
        - `proofs/thm_right_sign.py`: over k it rises and then falls.

        Examples
        --------
        >>> law = FiniteReplayLaw(.25, .375, k=3)
        >>> law.wrong_sign() == law.negative()
        True
        >>> round(law.wrong_sign("score <= -1/2"), 4)
        0.045
        """
        if selected is None:
            negative, _, positive = self.signs()
        elif isinstance(selected, ScoreRule | str):
            rule = as_rule(selected)

            def below(denominator: int) -> tuple[int, int]:
                lowest, highest = rule.ends(denominator)
                return lowest, min(highest, -1)

            def above(denominator: int) -> tuple[int, int]:
                lowest, highest = rule.ends(denominator)
                return max(lowest, 1), highest

            negative, positive = self._between(below), self._between(above)
        else:
            table, budget = self._table(selected), self._one_budget()
            negative = self._among(table & ScoreRule("<", Fraction(0)).table(*budget))
            positive = self._among(table & ScoreRule(">", Fraction(0)).table(*budget))
        difference = np.asarray(self.mean())
        wrong = np.where(difference > 0, negative, positive)
        return shaped(np.where(difference == 0, np.nan, wrong), self.shape)

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

        References
        ----------
        - `proofs/thm_support.py`: how many scores there are.

        Examples
        --------
        >>> FiniteReplayLaw(.3, .6, k_sham=1, k_destroy=2).lattice()
        (array([-2, -1,  0,  1,  2]), 2)
        """
        k_sham, k_destroy = self._one_budget()
        possible, step = possible_scores(k_sham, k_destroy)
        denominator = k_sham * k_destroy
        return np.flatnonzero(possible) * step - denominator, denominator

    def support(self) -> NDArray[np.float64]:
        """The scores that are possible, ascending, each correctly rounded.

        References
        ----------
        - `proofs/thm_support.py`: how many scores there are.
        """
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

        References
        ----------
        - `proofs/thm_law.py`: the recurrence without cancellation, at one k in both arms.
        - `proofs/thm_support.py`: the points, at unequal k.
        - `proofs/thm_tie_decay.py`: the law is a symmetric one that is tilted.
        - `proofs/thm_log_concave.py`: one peak, at one k in both arms.

        Examples
        --------
        >>> FiniteReplayLaw(.25, .5, k=1).pmf()
        array([0.125, 0.5  , 0.375])
        """
        probabilities, scale = self._scaled_pmf()
        unscale_all(probabilities, scale)
        return probabilities.reshape(*self.shape, probabilities.shape[1])

    def logpmf(self) -> NDArray[np.float64]:
        """Natural logarithm of `pmf`, also where that is too small for a float.

        Returns
        -------
        ndarray, shape (*law.shape, points)
            −inf where the probability is 0.

        References
        ----------
        - `proofs/thm_law.py`: as for `pmf`.

        Examples
        --------
        >>> FiniteReplayLaw(1e-300, 0, k=3).logpmf().round(2)
        array([-2072.33, -1380.45,  -689.68,     0.  ,     -inf,     -inf,     -inf])
        """
        mantissa, scale = self._scaled_pmf()
        with np.errstate(divide="ignore"):
            logarithms = np.log(mantissa) - scale * _LOG_SCALE_REST - scale * _LOG_SCALE
        return logarithms.reshape(*self.shape, logarithms.shape[1])

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
        except (ValueError, TypeError):
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

    def _equal_budget(self) -> int:
        k_sham, k_destroy = self._one_budget()
        if k_sham != k_destroy:
            raise InputError(
                f"k_sham={k_sham} and k_destroy={k_destroy}: a sequence over k needs one k for both"
            )
        return k_sham

    def _table(self, selected: ArrayLike) -> NDArray[np.bool_]:
        k_sham, k_destroy = self._one_budget()
        try:
            table = np.ascontiguousarray(selected)
        except ValueError:  # rows of unequal length
            table = np.empty(0)
        if table.shape != (k_sham + 1, k_destroy + 1) or table.dtype != np.bool_:
            raise InputError(
                "selected must be a rule such as 'score <= 0', or a table of bools of shape"
                f" {(k_sham + 1, k_destroy + 1)} such as exact_test({k_sham}, {k_destroy})"
                ".rejects(.05)"
            )
        return table

    def _among(self, table: NDArray[np.bool_]) -> Any:
        """P(the outcome is one of the table's)."""

        def kernel(rates: FlipRates, k_sham: int, k_destroy: int, out: Any) -> None:
            kernels.outcome_probability(*rates.columns(), k_sham, k_destroy, table, out)

        return self._compute(kernel, 1)[0]

    def _between(self, ends: Callable[[int], tuple[int, int]]) -> Any:
        """P(the numerator of the score is between the two ends that a denominator has)."""

        def kernel(rates: FlipRates, k_sham: int, k_destroy: int, out: Any) -> None:
            denominator = k_sham * k_destroy
            lowest, highest = ends(denominator)
            if lowest > highest:
                out[:] = 0.0
            elif lowest == -denominator:
                kernels.score_cdf(*rates.columns(), k_sham, k_destroy, highest, out)
            elif highest == denominator:  # the lower tail of the arms exchanged
                kernels.score_cdf(*rates.swapped().columns(), k_destroy, k_sham, -lowest, out)
            elif lowest == highest:
                kernels.score_point(*rates.columns(), k_sham, k_destroy, lowest, out)
            else:
                kernels.score_between(*rates.columns(), k_sham, k_destroy, lowest, highest, out)

        return self._compute(kernel, 1)[0]

    def _rates(self) -> FlipRates:
        def row(values: NDArray[np.float64] | None) -> Any:
            return None if values is None else flat(values, self.shape)

        return FlipRates(
            row(self.p_sham), row(self._q_sham), row(self.p_destroy), row(self._q_destroy)
        )

    def _scaled_pmf(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        k_sham, k_destroy = self._one_budget()
        possible, _ = possible_scores(k_sham, k_destroy)
        rates = self._rates()
        mantissa = np.empty((len(rates), possible.size))
        scale = np.empty(mantissa.shape, np.int32)  # at most nine times k
        kernels.score_pmf(*rates.columns(), k_sham, k_destroy, mantissa, scale)
        if not possible.all():
            mantissa, scale = mantissa[:, possible], scale[:, possible]
        return mantissa, scale

    def _compute(self, kernel: Callable[..., None], outputs: int) -> tuple[Any, ...]:
        return compute(kernel, outputs, self.shape, self._rates(), self.k_sham, self.k_destroy)


def _by_columns(kernel: Callable[..., None]) -> Callable[..., None]:
    return lambda rates, *rest: kernel(*rates.columns(), *rest)
