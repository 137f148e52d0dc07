"""What a deferral did, in figures: those of routing rules, for questions that were really asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import count_clusters, explain, interval_method
from carve_stats.counts import ReplayCounts
from carve_stats.inference.stopped import stopped_decisions
from carve_stats.outcomes import Outcomes
from carve_stats.replay.deferral.outcomes import final_reply
from carve_stats.replay.deferral.result import Deferral
from carve_stats.replay.records import Replay
from carve_stats.routing.joined import CONDITIONAL, NEITHER_KNOWN, join
from carve_stats.routing.value import deferral_value, original_accuracy

__all__ = ["describe_deferral"]

NO_GOLD = "right answer not known"
UNJUDGED = "{n} whose right answer is not known: left out of repairs, harms and shares"
WITHOUT_REPLAYS = "{n} of the run without any replay: the rule was not asked about them"
NO_SCORE = "{n} without a score: {deferred} deferred, the others keep the first answer"
DRAWN = "{n} deferred by chance, as the rule leaves it, drawn by the seed {seed}"
NOT_ASKED = "{n} deferred and not asked yet: the first answer stands until then"
NO_ANSWER = (
    "{n} that the fallback gave no answer to ({why}): the first answer stands, and their outcome"
    " is not known; were no answer a wrong one, there would be {right} more harms, as far as right"
    " answers are known"
)
AGAIN = "{n} asked again after a reply without an answer: the first answer given counts"


def describe_deferral(
    counts: ReplayCounts,
    outcomes: Outcomes,
    *,
    rule: str,
    name: str,
    store: str | None,
    seed: int,
    deferred: Sequence[str],
    drawn: int,
    replies: Mapping[str, Sequence[Replay]],
    without_replays: int,
    level: float,
    notes: Sequence[str],
) -> Deferral:
    """Put together what a deferral did.

    Parameters
    ----------
    counts, outcomes : ReplayCounts, Outcomes
        Of the same questions.
    rule, name, store, seed
        As in `Deferral`, whose ``fallback`` is the name.
    deferred : sequence of str
        Ids of the deferred questions.
    drawn : int
        Of them those that were chosen by chance.
    replies : mapping of str to sequence of Replay
        The fallback's attempts at each of them that it was asked.
    without_replays : int
        Questions of the run that the counts do not hold.
    level : float
        Confidence level.
    notes : sequence of str
        What the rule has to say.

    Returns
    -------
    Deferral
        With the figures of `evaluate_rule` for what was asked.
    """
    original, answers = outcomes.original.correct, outcomes.alternatives[name]
    # Where nothing came from the fallback the first answer stands: that is the outcome then.
    stands = np.where(answers.known, answers.correct, original)
    standing = Outcomes(outcomes.question, original, {name: stands}, cluster=outcomes.cluster)
    data = join(counts, standing, stopped=True)
    asked = np.isin(data.counts.question, list(replies)).astype(float)
    method = interval_method("t", level, data.codes)
    value = deferral_value(asked, data, method=method)
    before = original_accuracy(data, method=method)
    silent = {q: last for q, one in replies.items() if not (last := final_reply(one)).valid}
    scored = _scored(counts)
    left_out = {
        NO_GOLD if reason == NEITHER_KNOWN else reason: count
        for reason, count in data.questions["left_out"].items()
    }
    told: list[tuple[int, str, dict[str, object]]] = [
        (without_replays, WITHOUT_REPLAYS, {}),
        (int((~scored).sum()), NO_SCORE,
         {"deferred": int((~scored & np.isin(counts.question, deferred)).sum())}),
        (left_out.get(NO_GOLD, 0), UNJUDGED, {}),
        (drawn, DRAWN, {"seed": seed}),
        (len(deferred) - len(replies), NOT_ASKED, {}),
        (len(silent), NO_ANSWER,
         {"why": _listed(Counter(last.status for last in silent.values())),
          "right": int(np.nansum(original[np.isin(outcomes.question, list(silent))]))}),
        (sum(final_reply(one).attempt > 0 for one in replies.values()), AGAIN, {}),
    ]  # fmt: skip
    shown = [text.format(n=_display.counted(n, "question"), **more) for n, text, more in told if n]
    reasons = [("accuracy before", before.note), *value.reasons()]
    return Deferral(
        rule=rule,
        fallback=name,
        store=store,
        seed=seed,
        questions={"read": len(counts), "used": len(data), "left_out": left_out},
        scored=int(scored.sum()),
        clusters=None if data.codes is None else count_clusters(data.codes),
        deferred=tuple(deferred),
        answered=len(replies) - len(silent),
        no_answer=len(silent),
        not_asked=len(deferred) - len(replies),
        repairs=_whole(value.repairs),
        harms=_whole(value.harms),
        net=_whole(value.net),
        yield_per_100=value.yield_per_100,
        accuracy_before=before,
        accuracy_after=value.accuracy_after,
        gain_points=value.gain_points,
        tokens=None if answers.tokens is None else float(np.nansum(answers.tokens)),
        outcomes=outcomes,
        interval=method,
        notes=tuple(
            dict.fromkeys(
                [*(n for n in data.notes if n != CONDITIONAL), *shown, *notes, *explain(reasons)]
            )
        ),
    )


def _scored(counts: ReplayCounts) -> NDArray[np.bool_]:
    return counts.scored if counts.stopping is None else ~np.isnan(stopped_decisions(counts))


def _listed(statuses: Counter[str]) -> str:
    return ", ".join(f"{n} {status}" for status, n in statuses.most_common())


def _whole(count: float) -> int | None:
    return None if math.isnan(count) else int(count)
