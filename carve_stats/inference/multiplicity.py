"""Adjusting p-values for the number of questions that were tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError, unknown_name
from carve_stats.law._arguments import numbers

__all__ = ["ADJUSTMENTS", "adjust_p_values", "check_adjustment"]

ADJUSTMENTS = ("holm", "benjamini-hochberg", "none")


def check_adjustment(adjust: str) -> None:
    """Refuse anything but the name of an adjustment."""
    if adjust not in ADJUSTMENTS:
        raise InputError(unknown_name("adjust", adjust, ADJUSTMENTS))


def adjust_p_values(p_values: ArrayLike, adjust: str) -> NDArray[np.float64]:
    """Adjusted p-values: a hypothesis is rejected where its own is at most the level.

    Parameters
    ----------
    p_values : array_like of float, shape (n,)
        One a hypothesis; all of them are the family.
    adjust : str
        ``holm``: the probability of any false rejection is held, whatever the dependence.
        ``benjamini-hochberg``: the false discovery rate, the expected share of false ones among
        the rejections, is held if the p-values are independent or positively dependent.
        ``none``: the p-values as they are.

    Returns
    -------
    ndarray of float, shape (n,)
        In the order of `p_values`; at most 1, in the order of the p-values, equal where these
        are equal.

    Raises
    ------
    InputError
        An unknown adjustment, or values that are not p-values.

    Notes
    -----
    With p_(1) ≤ … ≤ p_(n), Holm's is max over j ≤ i of min(1, (n − j + 1) p_(j)), and that of
    Benjamini and Hochberg min over j ≥ i of min(1, n p_(j)/j).

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979) 65–70. Y. Benjamini and Y. Hochberg, Controlling the false discovery
    rate, Journal of the Royal Statistical Society B 57 (1995) 289–300. Y. Benjamini and
    D. Yekutieli, The control of the false discovery rate in multiple testing under dependency,
    Annals of Statistics 29 (2001) 1165–1188.

    Examples
    --------
    >>> adjust_p_values([0.01, 0.04, 0.03], "holm")
    array([0.03, 0.06, 0.06])
    >>> adjust_p_values([0.01, 0.04, 0.03], "benjamini-hochberg")
    array([0.03, 0.04, 0.04])
    """
    check_adjustment(adjust)
    p = numbers("p_values", p_values, "numbers between 0 and 1").astype(np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise InputError("p_values must be one-dimensional, of numbers between 0 and 1")
    if adjust == "none":
        return p
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, p.size + 1)
    if adjust == "holm":
        sorted_ = np.maximum.accumulate((p.size + 1 - rank) * p[order])
    else:
        sorted_ = np.minimum.accumulate((p.size * p[order] / rank)[::-1])[::-1]
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(sorted_, 1.0)
    return adjusted
