"""`count_remaining`: what of a run is still to be made, by condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from carve_stats.replay.costs.measuring import ENOUGH, NOTHING, Estimate
from carve_stats.replay.costs.metering import shown_of
from carve_stats.replay.progress import RunProgress
from carve_stats.replay.trajectories import Trajectory

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["Remaining", "count_remaining"]


@dataclass(slots=True, kw_only=True)
class Remaining:
    """What is still to be made in one condition.

    Parameters
    ----------
    planned, there, spared : int
        Replays that are asked for; of these, those that are made, and that need not be.
    replays : Estimate
        Those to be made.
    replies : Estimate
        Replies to be asked for: more than replays where an invalid one is tried again.
    captions, frames : Estimate
        Captions to be asked for, and frames to be shown.
    by_question : dict of str to Estimate
        `replies`, by question; only those with a replay to be made.
    """

    planned: int = 0
    there: int = 0
    spared: int = 0
    replays: Estimate = NOTHING
    replies: Estimate = NOTHING
    captions: Estimate = NOTHING
    frames: Estimate = NOTHING
    by_question: dict[str, Estimate] = field(default_factory=dict)


def count_remaining(
    trajectories: Sequence[Trajectory],
    k: Mapping[str, int],
    *,
    attempts: int,
    captions: bool,
    progress: RunProgress | None = None,
    stopping: StoppingPlan | None = None,
    expected: Mapping[str, float] | None = None,
) -> dict[str, Remaining]:
    """Count what of a run is still to be made.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The questions.
    k : mapping of str to int
        Replays of each question, by condition.
    attempts : int
        How often a repetition is put to the agent at most.
    captions : bool
        Whether the agent captions evidence before it answers.
    progress : RunProgress, optional
        What is made; nothing if not given.
    stopping : StoppingPlan, optional
        The plan by which the run stops questions early.
    expected : mapping of str to float, optional
        SHAM and DESTROY replays that are expected of a question then.

    Returns
    -------
    dict of str to Remaining
        By condition.
    """
    counts = {condition: Remaining() for condition in k}
    walked = {} if stopping is None else {
        "sham": stopping.guaranteed[0], "destroy": stopping.guaranteed[1],
    }  # fmt: skip
    tries = _tries(trajectories, k, attempts, progress)
    if stopping is not None:
        expected = _replays_of_stopped(trajectories, progress) or expected
    for trajectory in trajectories:
        question = trajectory.question_id
        shown = shown_of(trajectory)
        stopped = (
            stopping is not None
            and progress is not None
            and progress.walk(question).next_condition is None
        )
        for condition, asked in k.items():
            count = counts[condition]
            left, most = _left(progress, question, condition, asked, attempts)
            count.planned += asked
            count.there += asked - left
            if stopped and condition in walked:
                count.spared += left
                continue
            if not left:
                continue
            replays = Estimate(left, left, left)
            if condition in walked:
                least = max(0, walked[condition] - (asked - left))
                mean = None
                if expected is not None:
                    mean = min(max(expected[condition] - (asked - left), least), left)
                replays = Estimate(mean, least, left)
            factor = tries[condition]
            replies = Estimate(
                None if factor is None or replays.expected is None else replays.expected * factor,
                replays.low,
                most,
            )
            count.replays += replays
            count.replies += replies
            count.frames += replies.times(shown.frames)
            if captions and condition != "self":
                count.captions += replies.times(shown.items)
            count.by_question[question] = replies
    return counts


def _left(
    progress: RunProgress | None, question: str, condition: str, asked: int, attempts: int
) -> tuple[int, int]:
    """Replays that are not made, and the most attempts that they may take."""
    if progress is None:
        return asked, asked * attempts
    left = most = 0
    for repetition in range(asked):
        attempt = progress.next_attempt(question, condition, repetition)
        if attempt is not None:
            left += 1
            most += attempts - attempt
    return left, most


def _tries(
    trajectories: Sequence[Trajectory],
    k: Mapping[str, int],
    attempts: int,
    progress: RunProgress | None,
) -> dict[str, float | None]:
    """Attempts that a replay takes on average, by condition; None where that is not known."""
    if attempts == 1:
        return dict.fromkeys(k, 1)
    if progress is None:
        return dict.fromkeys(k)
    asked = {t.question_id for t in trajectories}
    made = dict.fromkeys(k, 0)
    finished = dict.fromkeys(k, 0)
    for question, condition, repetition, attempt in progress.completed():
        if question in asked and repetition < k.get(condition, 0):
            made[condition] += 1
            done = progress.next_attempt(question, condition, repetition) is None
            finished[condition] += attempt == 0 and done
    return {c: made[c] / finished[c] if finished[c] >= ENOUGH else None for c in k}


def _replays_of_stopped(
    trajectories: Sequence[Trajectory], progress: RunProgress | None
) -> dict[str, float] | None:
    """Replays that questions took until they stopped, on average."""
    if progress is None:
        return None
    walks = [progress.walk(t.question_id) for t in trajectories]
    ended = [walk for walk in walks if walk.next_condition is None]
    if len(ended) < ENOUGH:
        return None
    return {
        "sham": sum(walk.sham for walk in ended) / len(ended),
        "destroy": sum(walk.destroy for walk in ended) / len(ended),
    }
