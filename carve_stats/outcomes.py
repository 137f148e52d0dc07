"""`Outcomes`: which answers were right. What routing needs to know beside `ReplayCounts`.

The frozen answer is the *original*; every other answerer, such as a stronger and dearer model,
is an *alternative* to which a question may be deferred. What is not known is NaN, and neither
right nor wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._columns import as_column, find_rows, id_column, is_missing, mask_column
from carve_stats.counts import Ledger
from carve_stats.errors import InputError, unknown_name

__all__ = ["ORIGINAL", "Answerer", "Outcomes", "check_covariate_name", "check_outcomes"]

ORIGINAL = "original"
"""The answerer that gave the frozen answers."""

_BUILT_IN = ("cluster", "posterior mean", "posterior probability")
_SCORE = {name.casefold() for name in ("score", "delta", "Δ", "Δ̂")}  # rules read any case of it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answerer:
    """What one answerer made of the questions, and at what cost.

    Parameters
    ----------
    correct : array_like, shape (n,)
        1 (or True) where its answer is right, 0 (or False) where it is wrong, None or NaN where
        that is not known. In `Outcomes`: 1.0, 0.0 and NaN.
    tokens, tools : array_like of float, shape (n,), optional
        Tokens and tool calls that each answer took, None or NaN where not known.
    """

    correct: NDArray[np.float64]
    tokens: NDArray[np.float64] | None = None
    tools: NDArray[np.float64] | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether it is known if the answer is right; shape (n,)."""
        return ~np.isnan(self.correct)

    def __repr__(self) -> str:
        correct = np.asarray(self.correct, float)
        known = int((~np.isnan(correct)).sum())
        return f"<Answerer: {int(np.nansum(correct))} right of {known} known>"

    def _map(self, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Answerer:
        """The same with each column changed and made read-only."""
        return Answerer(
            _read_only(change(self.correct)),
            None if self.tokens is None else _read_only(change(self.tokens)),
            None if self.tools is None else _read_only(change(self.tools)),
        )


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Outcomes:
    """Which answers are right: the original one and those of any number of alternatives.

    The columns are read-only and sorted by question id, so that the order of the input
    never matters.

    Parameters
    ----------
    question : array_like of str, shape (n,)
        Question ids, each once.
    original_correct : array_like, shape (n,)
        Whether the original answer is right: 1 or 0, True or False; None or NaN where not known.
    alternatives : mapping of str to array_like or Answerer
        The same for each alternative answerer, by name; an `Answerer` may bring its costs.
    cluster : array_like of str, shape (n,), optional
        The cluster (the video) of each question. None where it is not known.
    original_tokens, original_tools : array_like of float, shape (n,), optional
        What the original answers took.
    covariates : mapping of str to array_like, shape (n,), optional
        Whatever else is known of the questions: numbers, or texts that name strata. Truth values
        become the texts ``true`` and ``false``; what is missing becomes NaN among numbers and
        the empty text among texts.
    ledger : Ledger, optional
        What the reader used and left out.

    Raises
    ------
    InputError
        A question id twice, lengths that differ, an outcome other than 1, 0 and missing, or a
        negative cost; the message names the first question concerned. A covariate with the name
        of a built-in figure, such as ``score``.

    Examples
    --------
    >>> outcomes = Outcomes(["q2", "q1"], [1, 0], {"strong": [None, 1]}, cluster=["v", "v"],
    ...                     covariates={"covered": [True, False]})
    >>> outcomes
    <Outcomes: 2 questions, 1 clusters, original 1 of 2 right, strong 1 of 1 right>
    >>> outcomes.question, outcomes.original_correct
    (array(['q1', 'q2'], dtype='<U2'), array([0., 1.]))
    >>> outcomes.alternatives["strong"].correct      # NaN: neither right nor wrong
    array([ 1., nan])
    >>> outcomes.covariates["covered"]
    array(['false', 'true'], dtype='<U5')
    """

    question: NDArray[np.str_]
    cluster: NDArray[np.str_] | None
    original: Answerer
    alternatives: Mapping[str, Answerer]
    covariates: Mapping[str, NDArray[np.str_] | NDArray[np.float64]]
    ledger: Ledger | None

    def __init__(
        self,
        question: ArrayLike,
        original_correct: ArrayLike,
        alternatives: Mapping[str, ArrayLike | Answerer],
        *,
        cluster: ArrayLike | None = None,
        original_tokens: ArrayLike | None = None,
        original_tools: ArrayLike | None = None,
        covariates: Mapping[str, ArrayLike] | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        given_ids = id_column("question", question)
        order = np.argsort(given_ids, kind="stable")
        ids = given_ids[order]
        twice = np.flatnonzero(ids[1:] == ids[:-1])
        if twice.size:
            raise InputError(
                f"question={str(ids[twice[0]])!r} stands in two rows: each question needs one row"
            )
        original = _answerer(
            ORIGINAL, (original_correct, original_tokens, original_tools), given_ids
        )
        others = {
            name: _answerer(name, _columns_of(given), given_ids)
            for name, given in _named("alternatives", alternatives).items()
        }
        if ORIGINAL in others:
            raise InputError(
                f"alternatives={ORIGINAL!r} names the frozen answer: give it as original_correct"
            )
        for name in _named("covariates", covariates or {}):
            check_covariate_name(name, "covariates")
        beside = {
            name: _covariate(name, given, given_ids) for name, given in (covariates or {}).items()
        }
        if cluster is not None:
            clusters = id_column("cluster", cluster)
            if clusters.size != ids.size:
                raise InputError(
                    f"cluster has {clusters.size} rows and question has {ids.size}: give one"
                    " cluster a question"
                )
        else:
            clusters = None
        values = dict(
            question=given_ids, cluster=clusters, original=original, alternatives=others,
            covariates=beside,
        )  # fmt: skip
        _set_rows(self, values, order, ledger)

    def __len__(self) -> int:
        return int(self.question.size)

    @property
    def original_correct(self) -> NDArray[np.float64]:
        """Whether the original answer is right: 1.0, 0.0, NaN where not known; shape (n,)."""
        return self.original.correct

    def fallback(self, name: str | None = None) -> tuple[str, Answerer]:
        """The alternative that deferred questions go to.

        Parameters
        ----------
        name : str, optional
            Its name; needed only where there are several.

        Returns
        -------
        name : str
            Its name.
        answerer : Answerer
            Its outcomes.

        Raises
        ------
        InputError
            No alternative, an unknown one, or several and no name; the message names them.

        Examples
        --------
        >>> outcomes = Outcomes(["q1", "q2"], [1, 0], {"strong": [1, 1]})
        >>> outcomes.fallback()
        ('strong', <Answerer: 2 right of 2 known>)
        """
        if not self.alternatives:
            raise InputError(
                "outcomes hold no alternative answerer: add a column <name>_correct, or give"
                " answers= (--answers)"
            )
        if name is None:
            if len(self.alternatives) > 1:
                raise InputError(
                    f"outcomes hold several alternatives, {', '.join(self.alternatives)}: say which"
                    " one is the fallback with fallback= (--fallback)"
                )
            return next(iter(self.alternatives.items()))
        if name not in self.alternatives:
            raise InputError(unknown_name("fallback", name, self.alternatives))
        return name, self.alternatives[name]

    def select(self, mask: ArrayLike) -> Outcomes:
        """The questions where `mask` is True.

        Parameters
        ----------
        mask : array_like of bool, shape (n,)
            Which questions to keep.

        Returns
        -------
        Outcomes
            Without a ledger: it speaks of what was read, not of what was chosen.
        """
        keep = mask_column(mask, self.question.shape)
        # Rows of valid columns in order are valid and in order: nothing to check again.
        chosen = object.__new__(Outcomes)
        values = {n: getattr(self, n) for n in self.__dataclass_fields__ if n != "ledger"}
        _set_rows(chosen, values, keep, None)
        return chosen

    def with_covariates(
        self,
        question: ArrayLike,
        columns: Mapping[str, ArrayLike],
        *,
        allow_mismatch: bool = False,
    ) -> Outcomes:
        """The same with more covariates, joined by question id.

        Parameters
        ----------
        question : array_like of str, shape (m,)
            Question ids, each once, in any order.
        columns : mapping of str to array_like, shape (m,)
            The covariates, by name.
        allow_mismatch : bool
            Whether ids that only one side has are allowed. A covariate is then missing for
            questions without a row, and rows of other questions are left out.

        Returns
        -------
        Outcomes
            With the same ledger.

        Raises
        ------
        InputError
            Ids that only one side has, none in common, an id twice, or a covariate that is there
            already; the message names the first.

        Examples
        --------
        >>> outcomes = Outcomes(["q1", "q2"], [1, 0], {"strong": [1, 1]})
        >>> outcomes.with_covariates(["q2", "q1"], {"recall": [0.5, None]}).covariates
        {'recall': array([nan, 0.5])}
        """
        if hasattr(question, "question"):
            raise InputError(
                f"question holds a whole {type(question).__name__}, no ids: give its .question, and"
                " columns={name: values}, such as its .overlap() where it has one"
            )
        given = Outcomes(
            question, np.full(np.shape(question), np.nan), {},
            covariates=_named("columns", columns),
        )  # fmt: skip
        for name in given.covariates:
            if name in self.covariates:
                raise InputError(f"columns={name!r}: the outcomes have such a covariate: rename it")
        row, back = (
            find_rows(a, b)
            for a, b in ((given.question, self.question), (self.question, given.question))
        )
        alone = [str(self.question[row < 0][0])] if (row < 0).any() else []
        strange = [str(given.question[back < 0][0])] if (back < 0).any() else []
        if (alone or strange) and (not allow_mismatch or not (row >= 0).any()):
            sides = [f"question={one!r} has an outcome and no covariates" for one in alone]
            sides += [f"question={one!r} has covariates and no outcome" for one in strange]
            raise InputError(
                f"{'; '.join(sides)}: mend the ids, or give allow_mismatch=True"
                if (row >= 0).any()
                else f"no question id in common: {'; '.join(sides)}"
            )
        missing = {"U": "", "f": np.nan}
        added = {
            name: np.array([*column, missing[column.dtype.kind]], column.dtype)[row]
            for name, column in given.covariates.items()
        }
        return Outcomes(
            self.question,
            self.original.correct,
            self.alternatives,
            cluster=self.cluster,
            original_tokens=self.original.tokens,
            original_tools=self.original.tools,
            covariates={**self.covariates, **added},
            ledger=self.ledger,
        )

    def to_dict(self) -> dict[str, Any]:
        """The columns as plain lists, ready for JSON; None where something is not known."""

        def listed(answerer: Answerer) -> dict[str, list[Any] | None]:
            return {
                "correct": [None if x is None else int(x) for x in _plain(answerer.correct)],
                "tokens": None if answerer.tokens is None else _plain(answerer.tokens),
                "tools": None if answerer.tools is None else _plain(answerer.tools),
            }

        return {
            "question": self.question.tolist(),
            "cluster": [None] * len(self) if self.cluster is None else self.cluster.tolist(),
            ORIGINAL: listed(self.original),
            "alternatives": {name: listed(one) for name, one in self.alternatives.items()},
            "covariates": {name: _plain(values) for name, values in self.covariates.items()},
        }

    def __repr__(self) -> str:
        videos = "?" if self.cluster is None else np.unique(self.cluster).size
        answerers = {ORIGINAL: self.original, **self.alternatives}
        right = ", ".join(
            f"{name} {int(np.nansum(one.correct))} of {int(one.known.sum())} right"
            for name, one in answerers.items()
        )
        return f"<Outcomes: {len(self)} questions, {videos} clusters, {right}>"


def check_covariate_name(name: str, place: str) -> None:
    """Refuse a covariate that a built-in figure of the same name would displace."""
    folded = " ".join(name.split())
    if folded in _BUILT_IN or folded.casefold() in _SCORE:
        raise InputError(
            f"{place}: a covariate cannot be called {name!r}, which rules and controls take for"
            " their own figure: rename the column, or name it anew with columns= (--outcome-map)"
        )


def check_outcomes(outcomes: object) -> None:
    """Refuse anything but outcomes, such as the path of a table."""
    if not isinstance(outcomes, Outcomes):
        raise InputError(
            f"outcomes is a {type(outcomes).__name__}: it must be Outcomes, as read_outcomes(path)"
            " gives them"
        )


def _set_rows(
    outcomes: Outcomes, values: Mapping[str, Any], rows: NDArray[Any], ledger: Ledger | None
) -> None:
    """Fill in the columns, of the rows in this order, and make them read-only."""

    def taken(column: NDArray[Any]) -> NDArray[Any]:
        return column[rows]

    for name, value in values.items():
        if isinstance(value, Answerer):
            value = value._map(taken)
        elif isinstance(value, Mapping):
            value = {
                key: one._map(taken) if isinstance(one, Answerer) else _read_only(taken(one))
                for key, one in sorted(value.items())
            }
        elif value is not None:
            value = _read_only(taken(value))
        object.__setattr__(outcomes, name, value)
    object.__setattr__(outcomes, "ledger", ledger)


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    column.flags.writeable = False
    return column


def _named(argument: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(
            f"{argument} is a {type(given).__name__}: it must be a mapping from names to columns"
        )
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{argument}: {name!r} is no name: give a text")
    return given


def _columns_of(given: ArrayLike | Answerer) -> tuple[Any, Any, Any]:
    if isinstance(given, Answerer):
        return given.correct, given.tokens, given.tools
    return given, None, None


def _answerer(name: str, columns: tuple[Any, Any, Any], ids: NDArray[np.str_]) -> Answerer:
    correct, tokens, tools = columns
    if correct is None:
        raise InputError(f"{name}_correct is None: give one outcome a question")
    right = _numbers(f"{name}_correct", correct, ids)
    _refuse(
        ~((right == 0) | (right == 1) | np.isnan(right)),
        f"{name}_correct",
        right,
        ids,
        "must be 1, 0 or missing",
    )
    return Answerer(
        right, _costs(f"{name}_tokens", tokens, ids), _costs(f"{name}_tools", tools, ids)
    )


def _costs(
    name: str, values: ArrayLike | None, ids: NDArray[np.str_]
) -> NDArray[np.float64] | None:
    if values is None:
        return None
    costs = _numbers(name, values, ids)
    # NaN makes both comparisons false: it is not known, and no defect.
    wrong = (costs < 0) | (costs == np.inf)
    _refuse(wrong, name, costs, ids, "must be a number of at least 0, or missing")
    return costs


def _column(name: str, values: ArrayLike, ids: NDArray[np.str_]) -> NDArray[Any]:
    """The values as an array of one a question; of mixed ones, an array of objects."""
    if isinstance(values, list | tuple) and any(map(is_missing, values)):
        # Beside texts in a list NumPy makes the text "None" of a None.
        mixed = np.empty(len(values), object)
        mixed[:] = values
        values = mixed
    array = as_column(name, values)
    if array.shape != ids.shape:
        raise InputError(f"{name} has shape {array.shape}: it must be {ids.shape}, one a question")
    return array


def _numbers(name: str, values: ArrayLike, ids: NDArray[np.str_]) -> NDArray[np.float64]:
    array = _column(name, values, ids)
    if array.dtype.kind == "O":
        array = np.array([np.nan if is_missing(x) else x for x in array.tolist()])
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds values that are not numbers: give numbers, or NaN")
    return array.astype(np.float64)


def _covariate(
    name: str, values: ArrayLike, ids: NDArray[np.str_]
) -> NDArray[np.str_] | NDArray[np.float64]:
    array = _column(name, values, ids)
    if array.dtype.kind == "S":
        raise InputError(f"{name} holds bytes: give texts")
    if array.dtype.kind in "iuf":
        return _finite(name, array.astype(np.float64), ids)
    if array.dtype.kind in "bU":
        return np.where(array, "true", "false") if array.dtype.kind == "b" else array.astype(str)
    listed = [None if is_missing(x) else x for x in array.tolist()]
    there = [x for x in listed if x is not None]
    if there and all(isinstance(x, int | float) and not isinstance(x, bool) for x in there):
        numbers = np.array([np.nan if x is None else float(x) for x in listed], np.float64)
        return _finite(name, numbers, ids)
    return np.array(["" if x is None else _text(x) for x in listed], np.str_)


def _finite(name: str, column: NDArray[np.float64], ids: NDArray[np.str_]) -> NDArray[np.float64]:
    _refuse(np.isinf(column), name, column, ids, "must be finite, or missing (None or NaN)")
    return column


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind == "U":
        return [text or None for text in column.tolist()]
    return [None if x != x else x for x in column.tolist()]


def _refuse(
    bad: NDArray[np.bool_], name: str, values: NDArray[Any], ids: NDArray[np.str_], rule: str
) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        i = where[0]
        raise InputError(f"{name}={values[i]:g} of question {str(ids[i])!r} {rule}")
