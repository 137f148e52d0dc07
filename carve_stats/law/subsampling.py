"""What fewer replays would have shown: exact subsampling of the replays that were made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number
from carve_stats.law.finite_replay import SignShares

__all__ = ["subsampled_flips", "subsampled_signs"]

_LARGEST = 10_000


def subsampled_flips(k: int, to_k: int) -> NDArray[np.float64]:
    """Distribution of the flips among replays kept at random, for every number of flips.

    Parameters
    ----------
    k : int
        Replays that were made in an arm.
    to_k : int
        Replays to keep, at least 1 and at most `k`.

    Returns
    -------
    ndarray, shape (k + 1, to_k + 1)
        Entry (x, j): H[x, j] = C(x, j) C(k − x, k′ − j) / C(k, k′), the hypergeometric
        probability that j of the kept replays flipped when x of all did.

    Raises
    ------
    InputError
        A budget that is no whole number of at least 1, or larger than what was made.

    Examples
    --------
    >>> subsampled_flips(3, 1)[2].round(4)
    array([0.3333, 0.6667])
    """
    made, kept = one_whole_number("k", k), one_whole_number("to_k", to_k)
    _refuse_more(made, kept, "k")
    ways, subsets = _ways(made, kept)
    return (ways / subsets).astype(float)


def subsampled_signs(k_sham: int, k_destroy: int, to_k_sham: int, to_k_destroy: int) -> SignShares:
    """Probability of each sign when replays are left out at random, for every table.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays that were made in each arm.
    to_k_sham, to_k_destroy : int
        Replays to keep in each arm, at least 1 and at most as many as were made.

    Returns
    -------
    SignShares of ndarray, shape (k_sham + 1, k_destroy + 1)
        Entry (x, y): the probability of the sign when x of the SHAM and y of the DESTROY
        replays flipped and the kept ones are drawn without replacement.

    Raises
    ------
    InputError
        A budget that is no whole number of at least 1, or larger than what was made.

    Notes
    -----
    With H[x, j] = C(x, j) C(k − x, k′ − j) / C(k, k′), the tie probability is
    Σ H[x, j] H[y, l] over j·k′_destroy = l·k′_sham. The averages over questions are
    U-statistics: unbiased for the signs at the smaller budget, and of least variance given
    the counts.

    References
    ----------
    Hoeffding, *A class of statistics with asymptotically normal distribution*, Annals of
    Mathematical Statistics 19 (1948) 293–325.

    Examples
    --------
    >>> shares = subsampled_signs(10, 10, 3, 3)
    >>> float(shares.zero[4, 6]) == 14 / 45
    True
    """
    budget = {
        "k_sham": k_sham,
        "k_destroy": k_destroy,
        "to_k_sham": to_k_sham,
        "to_k_destroy": to_k_destroy,
    }
    made_sham, made_destroy, kept_sham, kept_destroy = (
        one_whole_number(name, value) for name, value in budget.items()
    )
    for arm, kept, made in (
        ("sham", kept_sham, made_sham),
        ("destroy", kept_destroy, made_destroy),
    ):
        _refuse_more(made, kept, f"k_{arm}")
    sham, sham_subsets = _ways(made_sham, kept_sham)
    destroy, destroy_subsets = _ways(made_destroy, kept_destroy)
    total = sham_subsets * destroy_subsets
    if total < 2**63:  # whole numbers to the end, and then one division
        sham, destroy = sham.astype(np.int64), destroy.astype(np.int64)
    else:
        sham = (sham / sham_subsets).astype(float)
        destroy = (destroy / destroy_subsets).astype(float)
        total = 1
    numerators = (
        np.arange(kept_destroy + 1) * kept_sham - np.arange(kept_sham + 1)[:, None] * kept_destroy
    )
    return SignShares(
        *(
            sham @ which.astype(sham.dtype) @ destroy.T / total
            for which in (numerators < 0, numerators == 0, numerators > 0)
        )
    )


def _refuse_more(made: int, kept: int, name: str) -> None:
    if kept > made:
        raise InputError(
            f"to_{name}={kept} must not exceed {name}={made}: subsampling cannot add replays"
        )


def _ways(made: int, kept: int) -> tuple[NDArray[Any], int]:
    """Number of subsets of `kept` of `made` replays with j of x flips, and of all subsets."""
    if made > _LARGEST:
        raise InputError(
            f"{made} replays of a question are too many to subsample exactly: keep at most"
            f" {_LARGEST}"
        )
    choose = np.zeros((made + 1, kept + 1), object)
    choose[:, 0] = 1
    for n in range(1, made + 1):
        choose[n, 1:] = choose[n - 1, 1:] + choose[n - 1, :-1]
    return choose * choose[::-1, ::-1], choose[made, kept]
