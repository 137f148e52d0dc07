"""`logs`: replay logs, record by record, and the counts that they must give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from carve_stats.counts import CONDITIONS, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.testing.strategies.bounds import check_bounds

__all__ = ["HOSTILE_IDS", "Log", "logs"]

HOSTILE_IDS = (
    "007", "1e5", "0x1F", "-1", "3.0", "true", "a/b", "a\\b", "..", "a,b;c\td",
    'say "hi"', "it's", "100 %", "é", "\u0301e", "問題", "🎬", "x" * 300, "q 1", "Q1", "q1",
    "q10", "q2",
)  # fmt: skip
"""Question ids that are texts like any other, and are easily taken for something else.

Not among them are ``nan``, ``null`` and their like, which in a CSV file are no id at all.
"""

_OPTIONS = "ABCD"

Replayed = tuple[str, str, int]
"""Question, condition and repetition."""


@dataclass(frozen=True, slots=True)
class Log:
    """A replay log and what happened, from which `counts` is tallied without reading it.

    Parameters
    ----------
    records : list of dict
        ``question_id``, ``condition``, ``repetition``, and ``flip`` or ``answer`` and
        ``reference_answer`` or all three; perhaps ``video_id``, ``valid`` and ``attempt``.
    replays : mapping
        From (question, condition, repetition) to the outcomes of its attempts, in order: 1 a flip,
        0 none, None an invalid replay.
    videos : mapping of str to str
        The video of each question; empty where they are not known.
    """

    records: list[dict[str, Any]]
    replays: Mapping[Replayed, tuple[int | None, ...]]
    videos: Mapping[str, str]

    def counts(self, attempts: str = "first") -> ReplayCounts:
        """What a reader must make of it.

        Parameters
        ----------
        attempts : str
            ``first`` or ``first-valid``, as for `read_replays`.

        Returns
        -------
        ReplayCounts
            With a ledger.
        """
        questions = sorted({question for question, _, _ in self.replays})
        cells = {(q, c): [0, 0, 0] for q in questions for c in CONDITIONS}
        left_out = {"invalid": 0, "duplicate": 0, "earlier attempt": 0, "later attempt": 0}
        tried = sum(map(len, self.replays.values()))
        left_out["duplicate"] = len(self.records) - tried
        for (question, condition, _), outcomes in self.replays.items():
            valid = [i for i, outcome in enumerate(outcomes) if outcome is not None]
            chosen = valid[0] if attempts == "first-valid" and valid else 0
            left_out["earlier attempt"] += chosen
            left_out["later attempt"] += len(outcomes) - chosen - 1
            outcome, cell = outcomes[chosen], cells[question, condition]
            if outcome is None:
                cell[2] += 1
            else:
                cell[0] += outcome
                cell[1] += 1
        left_out["invalid"] = sum(cell[2] for cell in cells.values())
        columns: dict[str, Any] = {
            f"{condition}_{what}": [cells[question, condition][place] for question in questions]
            for condition in CONDITIONS
            for place, what in enumerate(("flips", "replays", "invalid"))
        }
        ledger = Ledger(
            read=len(self.records),
            used=sum(cell[1] for cell in cells.values()),
            left_out={reason: n for reason, n in left_out.items() if n},
        )
        cluster = [self.videos[question] for question in questions] if self.videos else None
        return ReplayCounts(questions, **columns, cluster=cluster, ledger=ledger)


def logs(
    *,
    min_questions: int = 1,
    max_questions: int = 3,
    max_k: int = 3,
    max_attempts: int = 2,
    max_copies: int = 2,
    invalid: bool = True,
    hostile_ids: bool = False,
    shuffled: bool = True,
) -> st.SearchStrategy[Log]:
    """Replay logs with copies, further attempts, invalid replays, and fields that are missing.

    Parameters
    ----------
    min_questions, max_questions : int
        How many questions.
    max_k : int
        The most repetitions of a condition.
    max_attempts, max_copies : int
        The most attempts of a repetition, and the most records that are there twice.
    invalid : bool
        Whether replays may be invalid.
    hostile_ids : bool
        Whether question ids are those of `HOSTILE_IDS`, or plain ones.
    shuffled : bool
        Whether the records are in any order.

    Returns
    -------
    SearchStrategy
        Of `Log`; shrinks to one question and one record.

    Raises
    ------
    InputError
        Bounds that leave nothing to draw.

    Examples
    --------
    >>> from carve_stats.testing.smallest import find_smallest
    >>> log = find_smallest(logs(), lambda log: log.counts().destroy_flips.any(), tries=100)
    >>> len(log.records), log.records[0]["condition"], int(log.counts().destroy_flips[0])
    (1, 'destroy', 1)
    """
    check_bounds(1, min_questions=min_questions, max_questions=max_questions)
    check_bounds(1, max_k=max_k)
    check_bounds(1, max_attempts=max_attempts)
    check_bounds(0, max_copies=max_copies)
    names = HOSTILE_IDS if hostile_ids else tuple(f"q{i}" for i in range(max_questions))
    if min_questions > len(names):
        raise InputError(
            f"min_questions={min_questions} must be at most {len(names)} with hostile_ids"
        )
    outcomes = [0, 1, None] if invalid else [0, 1]
    return _logs(
        names, outcomes, (min_questions, max_questions), max_k, max_attempts, max_copies, shuffled
    )


@st.composite
def _logs(
    draw: st.DrawFn,
    names: tuple[str, ...],
    outcomes: list[int | None],
    size: tuple[int, int],
    max_k: int,
    max_attempts: int,
    max_copies: int,
    shuffled: bool,
) -> Log:
    """A log, drawn."""
    questions = draw(
        st.lists(st.sampled_from(names), min_size=size[0], max_size=size[1], unique=True)
    )
    attempts = st.lists(st.sampled_from(outcomes), min_size=1, max_size=max_attempts).map(tuple)
    replays: dict[Replayed, tuple[int | None, ...]] = {}
    for question in questions:
        arms = draw(st.tuples(*[st.lists(attempts, max_size=max_k)] * 3).filter(any))
        for condition, arm in zip(CONDITIONS, arms, strict=True):
            replays |= {(question, condition, i): tried for i, tried in enumerate(arm)}
    known = draw(st.booleans())
    videos = {q: draw(st.sampled_from(["v1", "v2"])) for q in questions} if known else {}
    records, copies = draw(_records(replays, videos, max_copies))
    everything = records + copies
    return Log(draw(st.permutations(everything)) if shuffled else everything, replays, videos)


@st.composite
def _records(
    draw: st.DrawFn,
    replays: Mapping[Replayed, tuple[int | None, ...]],
    videos: Mapping[str, str],
    max_copies: int,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records, and copies of some."""
    with_answers, with_flips = draw(st.sampled_from([(False, True), (True, False), (True, True)]))
    reference = {question: draw(st.sampled_from(_OPTIONS)) for question, _, _ in replays}
    named: set[str] = set()
    records: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    for (question, condition, repetition), outcomes in replays.items():
        for attempt, outcome in enumerate(outcomes):
            says_valid, says_attempt, says_video, twice = draw(st.tuples(*[st.booleans()] * 4))
            one: dict[str, Any] = {
                "question_id": question, "condition": condition, "repetition": repetition,
            }  # fmt: skip
            if with_answers:
                one["answer"] = _answer(outcome, reference[question])
                one["reference_answer"] = reference[question]
            if with_flips:
                one["flip"] = outcome
            if says_valid:
                one["valid"] = outcome is not None
            if attempt or says_attempt:
                one["attempt"] = attempt
            if videos and (
                says_video or question not in named
            ):  # one record that says it is enough
                one["video_id"] = videos[question]
                named.add(question)
            records.append(one)
            if twice and len(copies) < max_copies:
                copies.append(dict(one))
    return records, copies


def _answer(outcome: int | None, reference: str) -> str | None:
    if outcome is None:
        return None
    return _OPTIONS[(_OPTIONS.index(reference) + outcome) % len(_OPTIONS)]
