"""Scores, outcomes and clusters of the same questions, as arrays, for selective prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats import _display
from carve_stats._columns import as_column, id_column, is_missing
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer, Outcomes

__all__ = ["SelectiveInput", "selective_input"]

NOT_KNOWN = "outcome not known"
_ROUNDING = 1e-12
NEARLY_TIED = (
    "some values of {name} differ by rounding only and do not count as tied: take"
    " ReplayCounts.score, or round them"
)
LEFT_OUT = "{n} left out ({why}): coverage is a share of the others"


class SelectiveInput(NamedTuple):
    """The n questions with a known outcome and all scores, in an order of their own.

    Parameters
    ----------
    scores : dict of str to ndarray of float, shape (n,)
        Each score by name.
    wrong : ndarray of bool, shape (n,)
        Whether each answer is wrong.
    codes : ndarray of int, shape (n,), or None
        The cluster of each question, numbered in order of the names.
    questions : dict
        ``read``, ``used`` and ``left_out`` (reason: count).
    notes : tuple of str
        What was left out.
    """

    scores: Mapping[str, NDArray[np.float64]]
    wrong: NDArray[np.bool_]
    codes: NDArray[np.int64] | None
    questions: Mapping[str, Any]
    notes: tuple[str, ...]


def selective_input(
    scores: Mapping[str, ArrayLike], correct: ArrayLike, cluster: ArrayLike | None
) -> SelectiveInput:
    """Check the columns, leave out what is missing and count it.

    Parameters
    ----------
    scores : mapping of str to array_like, shape (n,)
        Each score by name; None or NaN where missing.
    correct : array_like, shape (n,)
        1, 0, or missing.
    cluster : array_like of str, shape (n,), or None
        The cluster of each question.

    Returns
    -------
    SelectiveInput
        In the order of scores, clusters and outcomes, so that that of the rows changes nothing.

    Raises
    ------
    InputError
        Lengths that differ, values that are no numbers, an outcome other than 1, 0 and missing.
    """
    _check_column("correct", correct, {Outcomes: "original_correct", Answerer: "correct"})
    for name, values in scores.items():
        _check_column(name, values, {ReplayCounts: "score"})
    right = _numbers("correct", correct)
    bad = np.flatnonzero(~((right == 0) | (right == 1) | np.isnan(right)))
    if bad.size:
        raise InputError(
            f"correct={right[bad[0]]:g} in row {bad[0]} must be 1, 0 or missing (None or NaN)"
        )
    columns = {name: _numbers(name, values) for name, values in scores.items()}
    videos = None if cluster is None else id_column("cluster", cluster)
    for name, column in {**columns, **({} if videos is None else {"cluster": videos})}.items():
        if column.shape != right.shape:
            raise InputError(
                f"{name} has {column.size} rows and correct has {right.size}: give one a question,"
                " in the same order"
            )
    used = ~np.isnan(right)
    left_out = {NOT_KNOWN: int((~used).sum())}
    for name, column in columns.items():
        without = used & np.isnan(column)
        left_out[f"no {name}"] = int(without.sum())
        used &= ~without
    codes = None if videos is None else np.unique(videos[used], return_inverse=True)[1]
    kept = [column[used] for column in columns.values()]
    wrong = right[used] == 0
    keys = [wrong, *([] if codes is None else [codes]), *kept[::-1]]
    order = np.lexsort(keys)
    left_out = {reason: n for reason, n in left_out.items() if n}
    return SelectiveInput(
        scores=dict(zip(columns, (column[order] for column in kept), strict=True)),
        wrong=wrong[order],
        codes=None if codes is None else codes[order],
        questions={"read": right.size, "used": int(wrong.size), "left_out": left_out},
        notes=(
            *(
                LEFT_OUT.format(n=_display.counted(n, "question"), why=why)
                for why, n in left_out.items()
            ),
            *(
                NEARLY_TIED.format(name=name)
                for name, column in zip(columns, kept, strict=True)
                if _nearly_tied(column)
            ),
        ),
    )


def _check_column(name: str, values: object, columns: Mapping[type, str]) -> None:
    """Refuse an object that has the column wanted, and name it."""
    for kind, column in columns.items():
        if isinstance(values, kind):
            raise InputError(f"{name} is {_A[kind]}, no column: give its {column}")


_A = {Outcomes: "an Outcomes", Answerer: "an Answerer", ReplayCounts: "a ReplayCounts"}


def _nearly_tied(column: NDArray[np.float64]) -> bool:
    """Whether some scores differ by no more than rounding."""
    values = np.unique(column)
    finite = values[np.isfinite(values)]
    near = _ROUNDING * np.maximum(1.0, np.abs(finite[1:]))
    return bool((np.diff(finite) <= near).any())


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = as_column(name, values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}: it must be one-dimensional")
    if array.dtype.kind == "O":
        array = np.array([np.nan if is_missing(x) else x for x in array.tolist()])
    if not array.size:
        return np.empty(0)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds values that are not numbers: give numbers, None or NaN")
    return array.astype(np.float64)
