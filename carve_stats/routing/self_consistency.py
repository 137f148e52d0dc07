"""Self-consistency: the answer that most SELF replays give, as an alternative answerer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats._columns import find_rows
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.same_questions import check_mismatch, join_clusters
from carve_stats.outcomes import Answerer, Outcomes, check_covariate_name, check_outcomes
from carve_stats.routing.self_answers import SelfAnswers

__all__ = ["AGREEMENT", "SelfConsistency", "self_consistency"]

AGREEMENT = "self_agreement"
"""The covariate: the share of SELF replays that keep the frozen answer."""

NO_REPLAYS = (
    "{n} no valid SELF replay and {keep} the original answer, as under rules on scores; {their}"
    " self_agreement is not known"
)
TIES = (
    "{n} several answers that most SELF replays gave: the frozen one is taken where it is among"
    " them ({frozen}), else the first by label ({label})"
)
NO_GOLD = (
    "{n} no gold answer, so answers that differ from the original are of unknown correctness: to"
    " take only those that keep it would make the change 0 by construction, and none of these"
    " questions counts; give read_self_answers gold= (--gold FILE, the benchmark's, or a column"
    " gold_answer in the outcomes)"
)
NOT_READ = (
    "{n} a majority that is not known to be right or wrong, since its answer is not in the logs or"
    " cannot be read: to take only the others would make the change 0 by construction, or nearly,"
    " and no question counts; with a single right answer a question the change lies between {low}"
    " and {high} points; log the answers of SELF replays (answer, and not only flip) and give"
    " read_self_answers gold= (--gold FILE)"
)
UNNAMED = "{n} SELF replays that flipped to an answer which is not in the logs"
OWN_TOOLS = "tools are those of the original answer, since replays make no tool calls"
NO_TOKENS = (
    "tokens are not known: they are those of the original answer and of all SELF replays, and logs"
    " are not read for what a replay took, which each agent counts under names of its own"
)

_KINDS = {
    "kept": "the frozen answer",
    "changed": "another answer",
    "not known": "not known which, or whether the frozen one",
    "none": "no SELF replay: the original stays",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SelfConsistency:
    """The majority of the SELF replays as an answerer, from `self_consistency`.

    Parameters
    ----------
    answerer : Answerer
        Whether the majority's answer is right, in order of the outcomes' questions.
    agreement : ndarray of float, shape (n,)
        Share of SELF replays that keep the frozen answer; NaN where there is none.
    outcomes : Outcomes
        Those given, with the answerer among the alternatives and the agreement as the covariate
        ``self_agreement``.
    name : str
        What the answerer is called there.
    questions : mapping of str to mapping
        How many have which majority (``kept``, ``changed``, ``not known``, ``none``), and of
        these how many answers are ``right``, ``wrong`` and ``not known``.
    tied : int
        Questions with several answers that were given most often.
    notes : tuple of str
        What a reader has to know.
    """

    answerer: Answerer
    agreement: NDArray[np.float64]
    outcomes: Outcomes
    name: str
    questions: Mapping[str, Mapping[str, int]]
    tied: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; what is not known is None."""
        return {
            "question": self.outcomes.question.tolist(),
            "correct": [None if x != x else int(x) for x in self.answerer.correct.tolist()],
            "self_agreement": [None if x != x else x for x in self.agreement.tolist()],
            "name": self.name,
            "questions": {kind: dict(row) for kind, row in self.questions.items()},
            "tied": self.tied,
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        n = _display.counted(len(self.outcomes), "question")
        caption = f"Majority of the SELF replays: {n}"
        rows: list[list[object]] = [
            [_KINDS[kind], *row.values()]
            for kind, row in self.questions.items()
            if row["questions"]
        ]
        columns = zip(*(row.values() for row in self.questions.values()), strict=True)
        rows.append(["all", *map(sum, columns)])
        return caption, ["majority", "questions", "right", "wrong", "not known"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def self_consistency(
    self_answers: SelfAnswers,
    outcomes: Outcomes,
    *,
    name: str = "self_consistency",
    allow_mismatch: bool = False,
) -> SelfConsistency:
    """Make an answerer of the answer that most SELF replays give.

    Parameters
    ----------
    self_answers : SelfAnswers
        As `read_self_answers` gives them; with gold answers, if other answers than the frozen ones
        are to be judged.
    outcomes : Outcomes
        Whether the original answers are right; joined by question id.
    name : str
        What to call the answerer.
    allow_mismatch : bool
        Whether questions may lack SELF replays (they keep the original answer then) or outcomes
        (they are left out then); both are counted.

    Returns
    -------
    SelfConsistency
        The answerer; its `outcomes` go into `compare_methods`.

    Raises
    ------
    InputError
        No valid SELF replay at all, ids that do not match, or a frozen answer that is right by its
        gold answer and wrong by the outcomes, or the other way round.

    See Also
    --------
    carve_stats.routing.methods.compare_methods : the answerer in a table with others.

    Notes
    -----
    The majority is over the valid SELF replays; the frozen answer has no vote of its own, but of
    several answers given as often it goes first, and then the first by label: the choice must not
    depend on the order of the records, and the mean over a random choice would be no answer that is
    right or wrong. At k = 3 and k = 2 ties are common.

    A majority that is the frozen answer is as right as the original. One that is not is judged
    by the gold answer. Where questions with such a majority have none, the answerer is not known of
    any question without a gold answer: those that keep the original answer would make the change 0
    by construction, and those that lose a right one would count as harms against which no repair
    can be seen. Where the majority of a question is not known for want of its answer, as in logs
    that say ``flip`` alone, the answerer is for the same reason not known of any question; a note
    says between which ends the change lies. `questions` still counts what is known of each
    majority.

    ``self_agreement`` is a confidence: abstention is a rule on it (``self_agreement < 0.5`` in
    `evaluate_rule`), and its risk and coverage those of a score.

    References
    ----------
    X. Wang et al., *Self-consistency improves chain of thought reasoning in language models*, ICLR
    2023, for the majority.

    Examples
    --------
    >>> said = SelfAnswers(["q1", "q2", "q3"], [{"a": 3}, {"a": 1, "b": 2}, {"b": 1, "c": 1}],
    ...     ["a", "a", "c"], correct=[{"a": 1.0}, {"a": 0.0, "b": 1.0}, {"b": 1.0, "c": 0.0}])
    >>> result = self_consistency(said, Outcomes(["q1", "q2", "q3"], [1, 0, 0], {}))
    >>> result.answerer.correct, result.agreement.round(2), result.tied
    (array([1., 1., 0.]), array([1.  , 0.33, 0.5 ]), 1)
    >>> result.outcomes
    <Outcomes: 3 questions, ? clusters, original 1 of 3 right, self_consistency 2 of 3 right>
    """
    if not isinstance(self_answers, SelfAnswers):
        raise InputError(
            f"self_answers is a {type(self_answers).__name__}: it must be SelfAnswers, as"
            " read_self_answers(path) gives them"
        )
    check_outcomes(outcomes)
    check_covariate_name(name, "name")
    if name in outcomes.alternatives:
        raise InputError(f"name={name!r}: outcomes have such an alternative: give another name=")
    if AGREEMENT in outcomes.covariates:
        raise InputError(f"outcomes have a covariate {AGREEMENT} already: rename that column")
    if not self_answers.replays.any():
        raise InputError(
            "self_answers hold no valid SELF replay: self-consistency needs some; run the SELF"
            " condition, or read logs that have it"
        )
    counts = _as_counts(self_answers)
    row = find_rows(counts.question, outcomes.question)
    check_mismatch(counts, outcomes, row, allowed=allow_mismatch)
    cluster = join_clusters(counts, outcomes, row)
    correct = np.full(len(outcomes), math.nan)
    agreement = np.full(len(outcomes), math.nan)
    kinds, ties = [], Counter[str]()
    for i, place in enumerate(row.tolist()):
        kind, correct[i] = _judge(self_answers, place, outcomes, i, ties)
        kinds.append(kind)
    gaps = _gaps(self_answers, row, kinds, correct, outcomes)
    found = row >= 0
    agreement[found] = self_answers.agreement[row[found]]
    answerer = Answerer(np.where(gaps.blank, math.nan, correct), tools=outcomes.original.tools)
    return SelfConsistency(
        answerer=answerer,
        agreement=agreement,
        outcomes=Outcomes(
            outcomes.question,
            outcomes.original.correct,
            {**outcomes.alternatives, name: answerer},
            cluster=cluster,
            original_tokens=outcomes.original.tokens,
            original_tools=outcomes.original.tools,
            covariates={**outcomes.covariates, AGREEMENT: agreement},
            ledger=outcomes.ledger,
        ),
        name=name,
        questions=_counts(np.array(kinds), correct),
        tied=ties.total(),
        notes=_notes(self_answers, row, kinds, ties, gaps, outcomes),
    )


def _as_counts(said: SelfAnswers) -> ReplayCounts:
    """The same questions as counts, for the join that all replays share."""
    none = np.zeros(len(said), np.int64)
    return ReplayCounts(
        said.question,
        *[none] * 4,
        self_flips=said.judged - said.kept,
        self_replays=said.judged,
        cluster=said.cluster,
        ledger=said.ledger,
    )


def _judge(
    said: SelfAnswers, place: int, outcomes: Outcomes, i: int, ties: Counter[str]
) -> tuple[str, float]:
    """Which majority a question has, and whether it is right."""
    original = float(outcomes.original.correct[i])
    if place < 0:
        return "none", original
    frozen = said.frozen[place]
    right = said.correct[place]
    judged = math.nan if frozen is None else right.get(frozen, math.nan)
    if abs(judged - original) == 1:  # false where one is NaN
        raise InputError(
            f"question {str(outcomes.question[i])!r}: its frozen answer {frozen!r} is"
            f" {'right' if judged else 'wrong'} by the gold answer, and"
            f" {'right' if original else 'wrong'} by the outcomes: mend one of them"
        )
    if math.isnan(original):
        original = judged
    majority = said.majority(place)
    if majority.tied:
        ties["frozen" if majority.kept else "label"] += 1
    if majority.kept:
        return "kept", original
    if majority.label is None and majority.kept is None:
        unknown = bool(said.unnamed[place]) or bool(said.kept[place])
        return ("not known", math.nan) if unknown else ("none", original)
    known = math.nan if majority.label is None else right.get(majority.label, math.nan)
    return ("changed" if majority.kept is False else "not known"), known


class _Gaps(NamedTuple):
    """Questions that must not count, since those like them with another majority cannot."""

    no_gold: NDArray[np.bool_]
    """For want of a gold answer."""
    unread: int
    """How many majorities are not known for want of their answer: no question counts then."""
    change: tuple[float, float]
    """Between which points the change lies all the same."""

    @property
    def blank(self) -> NDArray[np.bool_]:
        return self.no_gold | (self.unread > 0)


def _gaps(
    said: SelfAnswers,
    row: NDArray[np.int64],
    kinds: list[str],
    correct: NDArray[np.float64],
    outcomes: Outcomes,
) -> _Gaps:
    places = row.tolist()
    judged = np.array([p >= 0 and any(x == x for x in said.correct[p].values()) for p in places])
    unnamed = np.array([p >= 0 and said.unnamed[p] > 0 for p in places])
    differs = np.array([kind in ("changed", "not known") for kind in kinds])
    original = outcomes.original.correct
    unread = differs & np.isnan(correct) & (judged | unnamed) & ~np.isnan(original)
    no_gold = np.zeros(len(kinds), bool)
    if (differs & ~judged & ~unnamed).any():
        replayed = np.array([kind != "none" for kind in kinds])
        # Questions without replays keep the original answer; by themselves they are no method.
        no_gold = ~judged & replayed if judged.any() else ~no_gold
    return _Gaps(no_gold, int(unread.sum()), _bounds(said, row, kinds, correct, original))


def _bounds(
    said: SelfAnswers,
    row: NDArray[np.int64],
    kinds: list[str],
    correct: NDArray[np.float64],
    original: NDArray[np.float64],
) -> tuple[float, float]:
    """The least and the largest change, in points, where one answer a question is right."""
    # What flipped from a right answer is wrong, whatever it is.
    flipped = np.array(
        [
            kind == "changed" and said.majority(place).label is None
            for kind, place in zip(kinds, row.tolist(), strict=True)
        ]
    )
    unknown = np.isnan(correct)
    least = np.where(unknown, 0.0, correct)
    most = np.where(unknown, ~(flipped & (original == 1)), correct)
    used = ~np.isnan(original)
    n = max(int(used.sum()), 1)
    low, high = (100 * float((one - original)[used].sum()) / n for one in (least, most))
    return low, high


def _counts(kinds: NDArray[np.str_], correct: NDArray[np.float64]) -> dict[str, dict[str, int]]:
    return {
        kind: {
            "questions": int((kinds == kind).sum()),
            "right": int(((kinds == kind) & (correct == 1)).sum()),
            "wrong": int(((kinds == kind) & (correct == 0)).sum()),
            "not known": int(((kinds == kind) & np.isnan(correct)).sum()),
        }
        for kind in _KINDS
    }


def _notes(
    said: SelfAnswers,
    row: NDArray[np.int64],
    kinds: list[str],
    ties: Counter[str],
    gaps: _Gaps,
    outcomes: Outcomes,
) -> tuple[str, ...]:
    notes = []
    if none := kinds.count("none"):
        keep, their = ("keeps", "its") if none == 1 else ("keep", "their")
        notes.append(NO_REPLAYS.format(n=_have(none), keep=keep, their=their))
    if ties:
        notes.append(TIES.format(n=_have(ties.total()), frozen=ties["frozen"], label=ties["label"]))
    of_replays = np.array([kind != "none" for kind in kinds])
    if gaps.no_gold.any():
        notes.append(NO_GOLD.format(n=_have(int((of_replays & gaps.no_gold).sum()))))
    if gaps.unread:
        low, high = (_display.number(one, 2, signed=True) for one in gaps.change)
        notes.append(NOT_READ.format(n=_have(gaps.unread), low=low, high=high))
    if unnamed := int((said.unnamed[row[row >= 0]] > 0).sum()):
        notes.append(UNNAMED.format(n=_have(unnamed)))
    if without := int(np.setdiff1d(said.question, outcomes.question).size):
        notes.append(f"{_have(without)} replays and no outcome and {_are(without)} left out")
    if outcomes.original.tools is not None:
        notes.append(OWN_TOOLS)
    if outcomes.original.tools is not None or outcomes.original.tokens is not None:
        notes.append(NO_TOKENS)
    return tuple(notes)


def _have(n: int) -> str:
    return "1 question has" if n == 1 else f"{n} questions have"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
