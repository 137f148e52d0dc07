"""`SelfAnswers`: what the SELF replays of each question answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._columns import id_column
from carve_stats.counts import Ledger
from carve_stats.errors import InputError
from carve_stats.law._arguments import whole_number

__all__ = ["Majority", "SelfAnswers"]


class Majority(NamedTuple):
    """The answer that most SELF replays of a question gave.

    Parameters
    ----------
    kept : bool or None
        Whether it is the frozen answer; None where that is not known, or there is no answer.
    label : str or None
        The answer; None where it is not known, or there is none.
    tied : bool
        Whether another answer was given as often.
    """

    kept: bool | None
    label: str | None
    tied: bool


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class SelfAnswers:
    """How often the SELF replays of each question gave which answer, from `read_self_answers`.

    The columns are sorted by question id. Answers are compared as they stand; the reader folds them
    as it does for flips.

    Parameters
    ----------
    question : array_like of str, shape (n,)
        Question ids, each once.
    answers : sequence of mapping, shape (n,)
        Each answer that valid SELF replays gave, with their number.
    frozen : sequence of str or None, shape (n,)
        The frozen answer; None where it is not known.
    kept, judged : array_like of int, shape (n,), optional
        Valid SELF replays that keep the frozen answer, and those of which it is known whether they
        do. Not given: what `answers` and `frozen` say.
    unnamed : array_like of int, shape (n,), optional
        Valid SELF replays that flipped to an answer which is not known; none where not given.
    correct : sequence of mapping, optional
        Whether each of the answers, and the frozen one, is right: 1.0, 0.0, or NaN.
    cluster : array_like of str, shape (n,), optional
        The cluster of each question.
    ledger : Ledger, optional
        What the reader used and left out.

    Raises
    ------
    InputError
        A question id twice, lengths that differ, or numbers that cannot be right; names the first
        question concerned.

    Examples
    --------
    >>> said = SelfAnswers(["q2", "q1"], [{"a": 2, "b": 1}, {"b": 1, "c": 1}], ["b", None])
    >>> said.question, said.agreement.round(3)
    (array(['q1', 'q2'], dtype='<U2'), array([  nan, 0.333]))
    >>> said.majority(0), said.majority(1)
    (Majority(kept=None, label='b', tied=True), Majority(kept=False, label='a', tied=False))
    """

    question: NDArray[np.str_]
    answers: tuple[Mapping[str, int], ...]
    frozen: tuple[str | None, ...]
    kept: NDArray[np.int64]
    judged: NDArray[np.int64]
    unnamed: NDArray[np.int64]
    correct: tuple[Mapping[str, float], ...]
    cluster: NDArray[np.str_] | None
    ledger: Ledger | None

    def __init__(
        self,
        question: ArrayLike,
        answers: Sequence[Mapping[str, int]],
        frozen: Sequence[str | None],
        *,
        kept: ArrayLike | None = None,
        judged: ArrayLike | None = None,
        unnamed: ArrayLike | None = None,
        correct: Sequence[Mapping[str, float]] | None = None,
        cluster: ArrayLike | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        ids = id_column("question", question)
        n = ids.size
        order = np.argsort(ids, kind="stable")
        ordered = ids[order]
        twice = np.flatnonzero(ordered[1:] == ordered[:-1])
        if twice.size:
            raise InputError(
                f"question={str(ordered[twice[0]])!r} stands in two rows: each needs one row"
            )
        votes = [{label: int(m) for label, m in sorted(one.items()) if m} for one in answers]
        known = [None if one is None else str(one) for one in frozen]
        said = [{} for _ in range(n)] if correct is None else [dict(one) for one in correct]
        clusters = None if cluster is None else id_column("cluster", cluster)
        for name, size in (("answers", len(votes)), ("frozen", len(known)), ("correct", len(said))):
            if size != n:
                raise InputError(f"{name} has {size} entries and question {n}: give one a question")
        if clusters is not None and clusters.size != n:
            raise InputError(f"cluster has {clusters.size} entries and question {n}")
        if kept is None or judged is None:
            pairs = list(zip(votes, known, strict=True))
            kept = [0 if one is None else v.get(one, 0) for v, one in pairs]
            judged = [0 if one is None else sum(v.values()) for v, one in pairs]
        columns = {
            name: np.broadcast_to(whole_number(name, column, least=0), (n,)).astype(np.int64)
            for name, column in (
                ("kept", kept),
                ("judged", judged),
                ("unnamed", np.zeros(n, np.int64) if unnamed is None else unnamed),
            )
        }
        wrong = np.flatnonzero(columns["kept"] + columns["unnamed"] > columns["judged"])
        if wrong.size:
            raise InputError(
                f"question={str(ids[wrong[0]])!r}: kept and unnamed are more than judged, the"
                " replays of which it is known whether they keep the frozen answer"
            )
        values: dict[str, Any] = {
            "question": ordered,
            "answers": tuple(votes[i] for i in order.tolist()),
            "frozen": tuple(known[i] for i in order.tolist()),
            **{name: column[order] for name, column in columns.items()},
            "correct": tuple(said[i] for i in order.tolist()),
            "cluster": None if clusters is None else clusters[order],
            "ledger": ledger,
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.question.size)

    @property
    def replays(self) -> NDArray[np.int64]:
        """Valid SELF replays of each question, shape (n,)."""
        named = np.array([sum(votes.values()) for votes in self.answers], np.int64)
        return named + self.unnamed + self._kept_unnamed

    @property
    def _kept_unnamed(self) -> NDArray[np.int64]:
        """Replays that keep a frozen answer without saying which it is."""
        pairs = zip(self.answers, self.frozen, strict=True)
        named = [0 if label is None else votes.get(label, 0) for votes, label in pairs]
        return self.kept - np.array(named, np.int64)

    @property
    def agreement(self) -> NDArray[np.float64]:
        """The share of SELF replays that keep the frozen answer; NaN where not known."""
        share = np.full(len(self), math.nan)
        np.divide(self.kept, self.judged, out=share, where=self.judged > 0)
        return share

    def majority(self, row: int) -> Majority:
        """The answer that most SELF replays of a question gave.

        Parameters
        ----------
        row : int
            Which question.

        Returns
        -------
        Majority
            Of several answers given as often, the frozen one if it is among them, else the first
            by label: what no order of records changes. Where some answers are not known, it is the
            frozen one only if it is so whatever they are.
        """
        frozen, kept, unknown = self.frozen[row], int(self.kept[row]), int(self.unnamed[row])
        others = {label: m for label, m in self.answers[row].items() if label != frozen}
        most = max(others.values(), default=0)
        if not kept + most + unknown:
            return Majority(None, None, False)
        if unknown:
            if kept >= most + unknown:
                return Majority(True, frozen, False)
            changed = False if kept < max(most, 1) else None
            return Majority(changed, _surely_first(others, max(kept, unknown), unknown), False)
        first = [label for label, m in sorted(others.items()) if m == most]
        if kept and kept >= most:
            return Majority(True, frozen, kept == most)
        of_all = int(self.judged[row]) == kept + sum(others.values())
        return Majority(False if of_all else None, first[0], len(first) > 1)

    def to_dict(self) -> dict[str, Any]:
        """The columns as plain lists, ready for JSON; None where something is not known."""
        return {
            "question": self.question.tolist(),
            "cluster": [None] * len(self) if self.cluster is None else self.cluster.tolist(),
            "answers": [dict(votes) for votes in self.answers],
            "frozen": list(self.frozen),
            "replays": self.replays.tolist(),
            "kept": self.kept.tolist(),
            "self_agreement": [None if x != x else x for x in self.agreement.tolist()],
        }

    def __repr__(self) -> str:
        replays = self.replays
        return (
            f"<SelfAnswers: {len(self)} questions, {int((replays > 0).sum())} with"
            f" {int(replays.sum())} valid SELF replays>"
        )


def _surely_first(votes: Mapping[str, int], rival: int, unknown: int) -> str | None:
    """The answer that stays first wherever `unknown` more votes go; another has up to `rival`."""
    if not votes:
        return None
    first, most = min(votes.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = [(-m - unknown, label) for label, m in votes.items() if label != first]
    return first if most > rival and min(rest, default=(0, "")) > (-most, first) else None
