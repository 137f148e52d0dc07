"""A dozen questions of a run, with what the agent was shown and what it answered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from carve_stats.counts import CONDITIONS, ReplayCounts
from carve_stats.report.panels import Panel, draw_panel, redraw_evidence

if TYPE_CHECKING:
    from carve_stats.replay.records import Replay
    from carve_stats.replay.store import RunStore
    from carve_stats.replay.trajectories import Trajectory

__all__ = ["Example", "Option", "choose_questions", "collect_examples"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a question, and whether it is the frozen and the right answer."""

    label: str
    text: str
    frozen: bool
    correct: bool


@dataclass(frozen=True, slots=True)
class Example:
    """One question as the report shows it.

    Parameters
    ----------
    question_id, video_id, question : str
        The question; `video_id` is None where unknown.
    group : str
        ``negative``, ``tied`` or ``positive``.
    score : str
        The score as a fraction, with its arms.
    options : tuple of Option
        Empty for an open question.
    frozen, correct : str or None
        The frozen and the right answer, the latter None where unknown.
    texts : tuple of str
        Captions or other texts among the evidence.
    panels : tuple of Panel
        One for each condition that has records, in the order self, sham, destroy.
    """

    question_id: str
    video_id: str | None
    question: str
    group: str
    score: str
    options: tuple[Option, ...]
    frozen: str
    correct: str | None
    texts: tuple[str, ...]
    panels: tuple[Panel, ...]


def choose_questions(
    counts: ReplayCounts, available: Iterable[str], *, number: int = 12
) -> tuple[tuple[str, str], ...]:
    """Choose questions that show every sign of the score, by a rule that leaves no choice.

    Parameters
    ----------
    counts : ReplayCounts
        The log.
    available : iterable of str
        Ids of the questions that can be shown.
    number : int
        How many to choose.

    Returns
    -------
    tuple of (str, str)
        Question id and group; first the negative scores from the lowest, then the tied ones, then
        the positive ones from the highest.

    Notes
    -----
    The three groups are taken from in turn, so that a short one leaves its places to the
    others. Equal scores go in the order of the SHA-256 of the question id, which nobody chose.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c"], [3, 1, 0], [3] * 3, [0, 1, 3], [3] * 3)
    >>> choose_questions(counts, "abc", number=2)
    (('a', 'negative'), ('b', 'tied'))
    """
    known = set(available)
    groups: dict[str, list[tuple[Fraction, str, str]]] = {
        "negative": [],
        "tied": [],
        "positive": [],
    }
    scored = counts.select(counts.scored)
    for i, question_id in enumerate(scored.question.tolist()):
        if question_id in known:
            value = _score(scored, i)
            group = "negative" if value < 0 else "positive" if value > 0 else "tied"
            digest = hashlib.sha256(question_id.encode("utf-8", "surrogatepass")).hexdigest()
            groups[group].append((-abs(value), digest, question_id))
    in_turn = zip_longest(*([(q, name) for _, _, q in sorted(g)] for name, g in groups.items()))
    chosen = [pick for picks in in_turn for pick in picks if pick is not None][:number]
    return tuple(pick for name in groups for pick in chosen if pick[1] == name)


def collect_examples(
    counts: ReplayCounts, run: RunStore, media: str | Path | None
) -> tuple[Example, ...]:
    """Gather what the report shows of the chosen questions.

    Parameters
    ----------
    counts : ReplayCounts
        The log of the run.
    run : RunStore
        The run: trajectories, records and the plan with the seeds.
    media : path or None
        The folder that the frames' paths are relative to; None shows no frames.

    Returns
    -------
    tuple of Example
        At most a dozen.
    """
    trajectories = {t.question_id: t for t in run.trajectories()}
    chosen = choose_questions(counts, trajectories)
    records: dict[str, list[Replay]] = {question_id: [] for question_id, _ in chosen}
    for record in run.records():
        if record.question_id in records:
            records[record.question_id].append(record)
    redraw = None if media is None else redraw_evidence(run.plan, media)
    place = {question_id: i for i, question_id in enumerate(counts.question.tolist())}
    return tuple(
        _example(
            trajectories[question_id],
            group,
            _score_words(counts, place[question_id]),
            tuple(
                draw_panel(trajectories[question_id], replays, redraw)
                for replays in _by_condition(records[question_id])
            ),
        )
        for question_id, group in chosen
    )


def _example(trajectory: Trajectory, group: str, score: str, panels: tuple[Panel, ...]) -> Example:
    return Example(
        question_id=trajectory.question_id,
        video_id=trajectory.video_id,
        question=trajectory.question,
        group=group,
        score=score,
        options=tuple(
            Option(label, text, label == trajectory.answer, label == trajectory.correct)
            for label, text in trajectory.options.items()
        ),
        frozen=trajectory.answer,
        correct=trajectory.correct,
        texts=tuple(item.text for item in trajectory.evidence if item.text),
        panels=panels,
    )


def _by_condition(records: Sequence[Replay]) -> list[list[Replay]]:
    records = sorted(records, key=lambda record: (record.repetition, record.attempt))
    by_condition = [[r for r in records if r.condition == c] for c in CONDITIONS]
    return [replays for replays in by_condition if replays]


def _score(counts: ReplayCounts, i: int) -> Fraction:
    return Fraction(
        int(counts.score_numerator[i]), int(counts.sham_replays[i] * counts.destroy_replays[i])
    )


def _score_words(counts: ReplayCounts, i: int) -> str:
    value = str(_score(counts, i)).replace("-", "−")
    return (
        f"{value} = {counts.destroy_flips[i]}/{counts.destroy_replays[i]} DESTROY"
        f" − {counts.sham_flips[i]}/{counts.sham_replays[i]} SHAM"
    )
