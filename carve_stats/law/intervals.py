"""Intervals for p_destroy − p_sham of one question; one table for each pair of budgets."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError, check_name
from carve_stats.law._arguments import error_rate, one_whole_number
from carve_stats.law._budgets import budget_groups, shaped
from carve_stats.law._interval_limits import LOWER_LIMITS
from carve_stats.law._questions import flips_and_replays

__all__ = ["EXACT_INTERVALS", "INTERVALS", "IntervalTable", "interval_table", "score_intervals"]

INTERVALS = tuple(LOWER_LIMITS)
EXACT_INTERVALS = ("agresti-min", "chan-zhang", "santner-snell")

_MOST_REPLAYS = 200  # in both arms together; one exact interval then takes a second

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


class IntervalTable(NamedTuple):
    """Lower and upper limits for p_destroy − p_sham, of one shape; between −1 and 1."""

    low: Any
    high: Any


def interval_table(
    k_sham: int, k_destroy: int, *, interval: str = "agresti-min", level: float = 0.95
) -> IntervalTable:
    """Intervals for p_destroy − p_sham of every table of k_sham and k_destroy replays.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays in each arm, at least 0. Without replays in an arm the interval is [−1, 1].
    interval : str
        Exact, which hold the level whatever the rates are: ``agresti-min`` inverts the
        two-sided score test, ``chan-zhang`` both one-sided ones, and ``santner-snell`` both
        one-sided tests by the observed difference itself. Approximate, and quick for any k:
        ``miettinen-nurminen``, ``newcombe`` and ``agresti-caffo``.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    IntervalTable of ndarray, shape (k_sham + 1, k_destroy + 1)
        Entry (x, y): the limits for x SHAM and y DESTROY flips. Read-only, and kept, so that
        asking again costs nothing.

    Raises
    ------
    InputError
        A budget that is not a whole number of at least 0, more than 200 replays in all for an
        exact interval, an unknown `interval`, or a level outside (0, 1).

    Notes
    -----
    An exact interval is the hull of the differences δ that its test does not reject at
    1 − level, with Z(δ) = (y/n − x/m − δ)/√(p̃_s q̃_s/m + p̃_d q̃_d/n) at the most likely rates that
    differ by δ, m and n replays, and all probabilities taken at the rates that make them
    largest:

    - ``agresti-min``: P(size of Z(δ) at least as observed) > 1 − level;
    - ``chan-zhang``: P(Z(δ) at least, or at most, as observed) > (1 − level)/2, for the lower
      and the upper limit;
    - ``santner-snell``: the same with the score in the place of Z(δ), so that tables of equal
      scores have equal intervals.

    The limits are certified: a branch and bound over δ drops only what is certainly ruled out,
    and ends at most 1e-10 outside the hull (more only where the probability touches 1 − level
    without crossing it). It relies on Z(δ) falling in δ, which was checked in numbers for every
    table of up to 12 replays an arm.

    0 is outside the interval only where `exact_test` rejects at 1 − level: "barnard" for
    ``agresti-min``, and by "doubling" for ``chan-zhang``. With equal budgets it is outside
    wherever the test rejects (every table up to k = 20 at .8, .9, .95 and .99 was looked at).
    With unequal budgets 0 can be rejected and lie in a gap, beyond which differences are not:
    coverage demands that the interval holds those, and so it holds 0. Of the rejecting tables
    with up to 20 replays an arm that concerns 0.6 % at the level .95 (``agresti-min``; first
    at 2 against 15 replays, and 1 against 17) and 0.2 % (``chan-zhang``).

    At k = 3 the exact intervals cover at least 95 % everywhere, Miettinen and Nurminen's down
    to 84.7 % and Newcombe's down to 82.7 %. The lengths, averaged over the tables, are 1.195
    (``agresti-min``), 1.327 and 1.366.

    Exchanging the arms turns an interval round, and so does exchanging flips with replays that
    did not flip, to the last bit.

    A table of ``agresti-min`` takes 1 ms at k = 3, 40 ms at k = 10, 0.6 s at k = 20 and 3 s at
    k = 30, and then about k**4.5. `score_intervals` makes it only where it is smaller than the
    number of questions: one question takes 0.1 s at k = 50 and 0.5 s at k = 100.

    References
    ----------
    - A. Agresti, Y. Min, "On small-sample confidence intervals for parameters in discrete
      distributions", Biometrics 57 (2001) 963–971.
    - I. Chan, Z. Zhang, "Test-based exact confidence intervals for the difference of two
      binomial proportions", Biometrics 55 (1999) 1202–1209.
    - T. Santner, M. Snell, "Small-sample confidence intervals for p1 − p2 and p1/p2 in 2 × 2
      contingency tables", JASA 75 (1980) 386–394.
    - O. Miettinen, M. Nurminen, "Comparative analysis of two rates", Statistics in Medicine 4
      (1985) 213–226.
    - R. Newcombe, "Interval estimation for the difference between independent proportions",
      Statistics in Medicine 17 (1998) 873–890.
    - A. Agresti, B. Caffo, "Simple and effective confidence intervals for proportions and
      differences of proportions result from adding two successes and two failures", The
      American Statistician 54 (2000) 280–288.
    - `proofs/thm_test_inversion.py`: the coverage of the exact intervals, and which of them leave
      out 0.

    Examples
    --------
    >>> low, high = interval_table(3, 3)
    >>> low[0].round(4)                 # no SHAM flip, and 0 to 3 DESTROY flips
    array([-0.6316, -0.3535, -0.1636,  0.1515])
    >>> high[0].round(4)
    array([0.6316, 0.8646, 0.983 , 1.    ])
    """
    check_name("interval", interval, INTERVALS)
    error = error_rate(level)
    budget = {"k_sham": k_sham, "k_destroy": k_destroy}
    return _table(*(one_whole_number(n, k, least=0) for n, k in budget.items()), interval, error)


def score_intervals(
    sham_flips: ArrayLike,
    sham_replays: ArrayLike,
    destroy_flips: ArrayLike,
    destroy_replays: ArrayLike,
    *,
    interval: str = "agresti-min",
    level: float = 0.95,
) -> IntervalTable:
    """Interval for p_destroy − p_sham of each question.

    Parameters
    ----------
    sham_flips, sham_replays, destroy_flips, destroy_replays : array_like of int
        Flips and replays of each question; the four broadcast together.
    interval, level
        As in `interval_table`.

    Returns
    -------
    IntervalTable
        Limits: floats for one question, else arrays of the broadcast shape. [−1, 1] where an
        arm has no replays.

    Raises
    ------
    InputError
        Counts that are not whole numbers of at least 0, more flips than replays, shapes that
        do not broadcast, an unknown `interval`, or a level outside (0, 1).

    References
    ----------
    - `proofs/thm_test_inversion.py`: the coverage of the exact intervals.

    Examples
    --------
    >>> low, high = score_intervals([0, 0, 1], 3, [3, 0, 4], [3, 3, 5])
    >>> low.round(4), high.round(4)
    (array([ 0.1515, -0.6316, -0.2624]), array([1.    , 0.6316, 0.8876]))
    >>> limits = score_intervals(38, 92, 63, 93, interval="newcombe")
    >>> round(limits.low, 4), round(limits.high, 4)
    (0.1212, 0.3929)
    """
    check_name("interval", interval, INTERVALS)
    error = error_rate(level)
    (x, k_sham, y, k_destroy), shape = flips_and_replays(
        sham_flips, sham_replays, destroy_flips, destroy_replays
    )
    low, high = np.empty(x.size), np.empty(x.size)
    for m, n, rows in budget_groups(k_sham, k_destroy):
        if (m + 1) * (n + 1) <= rows.size:
            table = _table(m, n, interval, error)
            low[rows], high[rows] = table.low[x[rows], y[rows]], table.high[x[rows], y[rows]]
        else:  # the tables that occur are fewer than all
            low[rows], high[rows] = _limits(x[rows], y[rows], m, n, interval, error)
    return IntervalTable(shaped(low, shape), shaped(high, shape))


@lru_cache(maxsize=128)
def _table(m: int, n: int, interval: str, error: float) -> IntervalTable:
    x, y = np.indices((m + 1, n + 1)).reshape(2, -1)
    limits = [limit.copy() for limit in _limits(x, y, m, n, interval, error)]
    for limit in limits:
        limit.flags.writeable = False
    # Views of read-only arrays cannot be made writable again.
    return IntervalTable(*(limit.reshape(m + 1, n + 1) for limit in limits))


def _limits(
    x: _Integers, y: _Integers, m: int, n: int, interval: str, error: float
) -> tuple[_Floats, _Floats]:
    """Both limits of the tables with x of m sham flips and y of n destroy flips.

    Only lower limits are computed: exchanging flips with replays that did not flip turns an
    interval round. So does exchanging the arms; both together leave it as it is, and the limit
    is computed for one of the two tables. That makes the symmetries exact to the bit.
    """
    if interval in EXACT_INTERVALS and m + n > _MOST_REPLAYS:
        raise InputError(
            f"k_sham={m} and k_destroy={n}: exact intervals are for at most {_MOST_REPLAYS} replays"
            " in both arms together; at so many 'miettinen-nurminen' holds its level nearly"
        )
    if m == 0 or n == 0:
        return np.full(x.size, -1.0), np.full(x.size, 1.0)
    sham, destroy = np.concatenate([x, m - x]), np.concatenate([y, n - y])
    other = (sham + destroy > n) if m == n else np.full(sham.size, m > n)
    sham, destroy = np.where(other, n - destroy, sham), np.where(other, m - sham, destroy)
    m, n = min(m, n), max(m, n)
    code, place = np.unique(sham * (n + 1) + destroy, return_inverse=True)
    low = LOWER_LIMITS[interval](*np.divmod(code, n + 1), m, n, error)[place]
    return low[: x.size], 0.0 - low[x.size :]
