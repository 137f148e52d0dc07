"""Which answers of a deferral are right: replies and right answers, joined by question id."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer, Outcomes
from carve_stats.replay.costs.prices import tokens_used
from carve_stats.replay.records import Replay
from carve_stats.replay.trajectories import Trajectory, fold_label

__all__ = ["DEFERRED", "deferral_outcomes", "final_reply", "right_answers"]

DEFERRED = "deferred"
"""The covariate that says whether a question was deferred."""

Equal = Callable[[str, str], bool]


def right_answers(
    trajectories: Iterable[Trajectory], gold: Mapping[str, str | None] | None
) -> dict[str, str]:
    """The right answer of each question of which it is known.

    Parameters
    ----------
    trajectories : iterable of Trajectory
        Whose ``correct`` may say it.
    gold : mapping of str to str or None, optional
        Labels by question id, in any case; questions that are not among the trajectories are
        passed over.

    Returns
    -------
    dict of str to str
        The option's label as the trajectory writes it; for an open question the text.

    Raises
    ------
    InputError
        A label that is no option, another right answer than the trajectory's, or not one question
        in common.

    Examples
    --------
    >>> question = Trajectory(question_id="q1", answer="A", options={"A": "yes", "B": "no"})
    >>> right_answers([question], {"q1": "b"})
    {'q1': 'B'}
    """
    if gold is not None and not isinstance(gold, Mapping):
        raise InputError(f"gold is a {type(gold).__name__}: give a mapping from question to label")
    known = {}
    trajectories = list(trajectories)
    if gold and trajectories and not any(t.question_id in gold for t in trajectories):
        raise InputError(
            f"gold: no question id in common with the run: ids are such as {next(iter(gold))!r}"
            f" there and {trajectories[0].question_id!r} in the run"
        )
    for trajectory in trajectories:
        question, told = trajectory.question_id, trajectory.correct
        given = None if gold is None else gold.get(question)
        if given is not None:
            found = _own_label(trajectory, given)
            if told is not None and found != told:
                raise InputError(
                    f"question {question!r}: its right answer is {told!r} in the run's trajectory"
                    f" (correct) and {given!r} in gold: mend one"
                )
            told = found
        if told is not None:
            known[question] = told
    return known


def _own_label(trajectory: Trajectory, given: object) -> str:
    if not isinstance(given, str):
        raise InputError(
            f"gold: the right answer {given!r:.40} of question {trajectory.question_id!r} must be a"
            " text: the label of an option"
        )
    if not trajectory.options:
        return given
    for label in trajectory.options:
        if fold_label(label) == fold_label(given):
            return label
    raise InputError(
        f"gold: the right answer {given!r:.40} of question {trajectory.question_id!r} is none of"
        f" its options {', '.join(trajectory.options)}: give the label of one"
    )


def final_reply(attempts: Sequence[Replay]) -> Replay:
    """The attempt that counts: the first one with an answer, or else the last."""
    return next((one for one in attempts if one.valid), attempts[-1])


def deferral_outcomes(
    counts: ReplayCounts,
    trajectories: Mapping[str, Trajectory],
    chosen: NDArray[np.bool_],
    replies: Mapping[str, Sequence[Replay]],
    *,
    right: Mapping[str, str],
    name: str,
    equal: Equal | None,
) -> Outcomes:
    """Judge the first answers and the fallback's.

    Parameters
    ----------
    counts : ReplayCounts
        The n questions, with their clusters.
    trajectories : mapping of str to Trajectory
        With the first answers.
    chosen : ndarray of bool, shape (n,)
        Which are deferred.
    replies : mapping of str to sequence of Replay
        The fallback's attempts at each question that it was asked.
    right : mapping of str to str
        Right answers, as far as they are known.
    name : str
        The fallback.
    equal : callable, optional
        Whether two open answers are the same; without it they are not judged.

    Returns
    -------
    Outcomes
        Of the n questions. The fallback's outcome is known only where it answered.
    """
    original: list[float] = []
    fallback: list[float] = []
    tokens: list[float] = []
    for question in counts.question.tolist():
        trajectory = trajectories[question]
        attempts = replies.get(question, ())
        answer = final_reply(attempts).answer if attempts else None
        for outcomes, said in ((original, trajectory.answer), (fallback, answer)):
            outcomes.append(_judge(said, right.get(question), trajectory, equal))
        tokens.append(_tokens(attempts))
    return Outcomes(
        counts.question,
        original,
        {name: Answerer(fallback, None if all(map(math.isnan, tokens)) else tokens)},  # type: ignore[arg-type]
        cluster=counts.cluster,
        covariates={DEFERRED: chosen},
    )


def _judge(
    said: str | None, right: str | None, trajectory: Trajectory, equal: Equal | None
) -> float:
    if said is None or right is None:
        return math.nan
    if trajectory.options:
        return float(said == right)
    return math.nan if equal is None else float(bool(equal(said, right)))


def _tokens(attempts: Sequence[Replay]) -> float:
    """The tokens of all attempts, as far as they are told: each of them was paid for."""
    told = [used for one in attempts if (used := tokens_used(one.usage)) is not None]
    return float(sum(read + written for read, written in told)) if told else math.nan
