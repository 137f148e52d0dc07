"""Deferral for real: the questions that a rule selects are put to a second agent.

The fallback sees the question, its options and the evidence of SELF: the very frames and texts
that the first agent answered from. It sees neither the first answer nor the first agent's state,
and not the right answer. Its replies go through the same loop into a store of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from carve_stats.clusters import check_level
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.outcomes import ORIGINAL
from carve_stats.replay.costs.limits import SpendLimit
from carve_stats.replay.deferral.choice import choose_deferred, default_seed
from carve_stats.replay.deferral.figures import describe_deferral
from carve_stats.replay.deferral.outcomes import deferral_outcomes, right_answers
from carve_stats.replay.deferral.result import Deferral
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import Agent
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory
from carve_stats.routing.rules.base import Rule, RuleInput, rule_notes, rule_propensities
from carve_stats.routing.rules.parsing import as_routing_rule

__all__ = ["FOLDER", "defer_questions"]

FOLDER = "deferral"
"""Where in a run's directory the stores of its fallbacks are, if no other place is named."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def defer_questions(
    run: str | Path,
    counts: ReplayCounts,
    agent: Agent,
    *,
    rule: Rule | ScoreRule | str = "score <= 0",
    name: str = "fallback",
    store: str | Path | None = None,
    seed: int | None = None,
    gold: Mapping[str, str | None] | None = None,
    attempts: int = 3,
    workers: int = 1,
    limit: int | None = None,
    media: str | Path | None = None,
    equal: Callable[[str, str], bool] | None = None,
    level: float = 0.95,
    agent_spec: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    spending: SpendLimit | None = None,
) -> Deferral:
    """Put the questions of a run that a rule defers to a second agent.

    The same call resumes a deferral that was stopped or killed. Another rule on the same store
    tops it up: a question that is answered is not asked again.

    Parameters
    ----------
    run : path
        The first agent's run directory; its plan and its records are left as they are.
    counts : ReplayCounts
        The run's replays, as ``read_replays(run)`` counts them: the rule decides by them.
    agent : callable
        The fallback: takes a `ReplayRequest`, gives a `ReplayReply` or a str.
    rule : Rule, ScoreRule or str
        Which questions to defer, as for `evaluate_rule`. A question without a score is deferred
        only if the rule says so, as ``always`` does. What a rule leaves to chance, such as ties at
        the boundary of ``lowest 20``, is drawn by `choose_deferred`.
    name : str
        What the fallback is called in the outcomes.
    store : path, optional
        Where its replies are kept: new, empty, or a deferral to the same agent. If not given, the
        folder ``deferral/<name>`` in the run's directory.
    seed : int, optional
        Draws what the rule leaves to chance, and is the seed of the fallback's replies; not given,
        one that follows from the run's.
    gold : mapping of str to str or None, optional
        The label of the right option by question id, beside those that the run's trajectories
        hold. What neither knows stays unknown.
    attempts : int
        How often a question is put to the fallback at most, while its reply gives no answer.
    workers : int
        As for `run_replays`.
    limit : int, optional
        Ask no more than the first so many deferred questions, in the order of the run.
    media : path, optional
        The folder that paths of frames and videos are relative to; the current one if not given.
    equal : callable, optional
        Whether two answers are the same; needed for questions without options.
    level : float
        Confidence level of the intervals.
    agent_spec : mapping, optional
        How a configuration names the fallback, for the plan of its store.
    progress : callable, optional
        As for `run_replays`.
    spending : SpendLimit, optional
        What the whole deferral may spend, as `run_replays` takes it for `limit`.

    Returns
    -------
    Deferral
        The outcomes, in which the fallback is known of deferred questions only, and what the
        deferral has done to the answers so far.

    Raises
    ------
    InputError
        Something that cannot be right, such as counts of another run, or a right answer that is
        no option; nothing is called or written then.
    PlanError
        The store is that of another agent or seed; the message shows the difference.
    AgentError
        As for `run_replays`. What was answered is stored.

    See Also
    --------
    carve_stats.routing.evaluate.evaluate_rule : the same where all outcomes are known already.

    Notes
    -----
    The first valid attempt of the fallback is its answer. Where it gives none, as in a refusal or
    where it could not be reached, the first answer stands: the question is neither repaired nor
    harmed, its outcome is not known, and it is counted.

    The store is a run of one SELF replay a question, whose frozen answer is the first agent's: its
    flips tell where the fallback disagrees. It holds no right answer and no state of the first
    agent, so that a corrected right answer needs no reply anew.

    Examples
    --------
    >>> import tempfile
    >>> options = {"A": "a rabbit", "B": "a fox"}
    >>> questions = [Trajectory(question_id=q, answer="A", options=options, correct=c)
    ...              for q, c in (("q1", "B"), ("q2", "A"))]
    >>> counts = ReplayCounts(["q1", "q2"], [1, 0], [1, 1], [0, 1], [1, 1])
    >>> with tempfile.TemporaryDirectory() as run:
    ...     _ = run_replays(lambda request: "A", questions, k=1, store=run, seed=1)
    ...     deferral = defer_questions(run, counts, lambda request: "B", name="strong")
    >>> deferral.deferred, deferral.repairs, deferral.accuracy_after.estimate
    (('q1',), 1, 1.0)
    >>> deferral.outcomes
    <Outcomes: 2 questions, ? clusters, original 1 of 2 right, strong 1 of 1 right>
    """
    rule = as_routing_rule(rule)
    check_counts(counts, stopped=True)
    check_level(level)
    _check_name(name)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InputError(f"limit={limit!r} must be a whole number of at least 1")
    first = RunStore.load(run)
    trajectories = {t.question_id: t for t in first.trajectories()}
    _check_same_questions(counts, trajectories, run)
    right = right_answers(trajectories.values(), gold)
    seed = default_seed(first.plan.seed) if seed is None else seed
    place = first.path / FOLDER / name if store is None else Path(store).absolute()
    questions = RuleInput(counts, {})
    propensities = rule_propensities(rule, questions)
    chosen = choose_deferred(counts.question, propensities, seed=seed)
    selected = set(counts.question[chosen].tolist())
    deferred = [t for question, t in trajectories.items() if question in selected]
    if deferred:
        run_replays(
            agent,
            [replace(t, correct=None, frozen=None) for t in deferred[:limit]],
            k=1,
            store=place,
            seed=seed,
            conditions=("self",),
            attempts=attempts,
            workers=workers,
            media=media,
            equal=equal,
            agent_spec=agent_spec,
            progress=progress,
            limit=spending,
        )
    replies = _replies(place, deferred) if deferred else {}
    joined = deferral_outcomes(
        counts, trajectories, chosen, replies, right=right, name=name, equal=equal
    )
    return describe_deferral(
        counts,
        joined,
        rule=str(rule),
        name=name,
        store=str(place) if deferred else None,
        seed=seed,
        deferred=[t.question_id for t in deferred],
        drawn=int((chosen & (propensities < 1)).sum()),
        replies=replies,
        without_replays=len(trajectories) - len(counts),
        level=level,
        notes=rule_notes(rule, questions),
    )


def _replies(place: Path, deferred: Sequence[Trajectory]) -> dict[str, list[Replay]]:
    """The attempts at each deferred question that is done, in order."""
    with RunStore.load(place) as store:
        done = {
            t.question_id for t in deferred
            if store.progress.next_attempt(t.question_id, "self", 0) is None
        }  # fmt: skip
        records = [r for r in store.records() if r.question_id in done and r.condition == "self"]
    replies: dict[str, list[Replay]] = {}
    for record in sorted(records, key=lambda record: record.attempt):
        replies.setdefault(record.question_id, []).append(record)
    return replies


def _check_same_questions(
    counts: ReplayCounts, trajectories: Mapping[str, Trajectory], run: str | Path
) -> None:
    for question in counts.question.tolist():
        if question not in trajectories:
            raise InputError(
                f"counts hold question {question!r} and {run} does not: give"
                f" read_replays({str(run)!r})"
            )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == ORIGINAL:
        raise InputError(
            f"name={name!r:.80} must be letters, digits, '.', '_' and '-', such as 'strong', and"
            f" not {ORIGINAL!r}: it names a folder and columns"
        )
