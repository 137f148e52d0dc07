"""What `plan_budget` was given, checked and read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from carve_stats.clusters import count_clusters
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.law._arguments import one_number, one_whole_number, probability
from carve_stats.outcomes import Outcomes
from carve_stats.planning.costs import Cost
from carve_stats.planning.goals.base import MOST_K, Goal
from carve_stats.planning.sources import GivenPopulation, Pilot, Source
from carve_stats.planning.split import check_budget
from carve_stats.population.bounds import LARGEST_TARGET
from carve_stats.population.mixing import Population
from carve_stats.population.patterns import fullest_budget

__all__ = [
    "QUICKLY_PREDICTED",
    "USUAL_K",
    "check_design_effect",
    "check_money",
    "check_needs",
    "check_source",
    "read_budgets",
    "read_clusters",
    "read_source",
    "replays_made",
]

USUAL_K = range(1, 33)
"""Looked at where nobody chose."""

# Each k beyond those of a pilot takes half a second, and many seconds from more replays.
QUICKLY_PREDICTED = 10
"""Replays an arm of a pilot, from which more are looked at without being asked for."""

_USUAL_PILOT_K = (*range(1, 11), 12, 14, 16, 20, 24, 28, 32)


def read_source(
    source: Any,
    model: str | None,
    level: float,
    *,
    per_cluster: float | None,
    design_effect: float | None,
) -> Source:
    """The source; `per_cluster` is None where a pilot's own videos are planned for."""
    if isinstance(source, ReplayCounts):
        return Pilot(source, model, level, per_cluster=per_cluster, design_effect=design_effect)
    effect = 1.0 if design_effect is None else design_effect
    if isinstance(source, Population):
        return GivenPopulation(source, effect)
    return GivenPopulation(Population.homogeneous(*source), effect)


def check_source(source: Any) -> tuple[Any, str]:
    """The source with its rates read, and which kind it is."""
    if isinstance(source, ReplayCounts):
        check_counts(source)
        if not source.scored.any():
            raise InputError("source: no question has a valid replay in both arms: nothing to plan")
        return source, "pilot"
    if isinstance(source, Population):
        return source, "population"
    if not isinstance(source, tuple | list) or len(source) != 2:
        raise InputError(
            f"source is a {type(source).__name__}: give ReplayCounts, a Population, or two rates"
            " (p_sham, p_destroy)"
        )
    rates = tuple(
        float(probability(name, one_number(name, p)))
        for name, p in zip(("p_sham", "p_destroy"), source, strict=True)
    )
    return rates, "rates"


def check_design_effect(design_effect: float | None) -> float | None:
    """The design effect, if one was given."""
    if design_effect is None:
        return None
    effect = one_number("design_effect", design_effect)
    if not 1.0 <= effect < math.inf:
        raise InputError(f"design_effect={effect} must be a number of at least 1 (--design-effect)")
    return effect


def check_money(cost: Cost | None, budget: float | None) -> float | None:
    """The budget, if there is one, once it and the prices are checked."""
    if cost is not None and not isinstance(cost, Cost):
        raise InputError(
            f"cost is a {type(cost).__name__}: give Cost(question=…, replay=…) with the prices"
        )
    if budget is None:
        return None
    money = one_number("budget", budget)
    if not 0.0 < money < math.inf:
        raise InputError(f"budget={money} must be a number above 0 (--budget)")
    if cost is None or cost.of_question(1, 1) == 0.0:
        raise InputError(
            f"budget={money:g} needs prices above 0: give --question-cost, --replay-cost or others"
            " (in Python: cost=Cost(question=…, replay=…))"
        )
    check_budget(money, cost)
    return money


def check_needs(goal: Goal, kind: str, questions: Any, outcomes: Any) -> None:
    """Refuse a goal without what it needs, and outcomes that it has no use for."""
    needs = goal.kind.needs
    if "questions" in needs and kind != "pilot" and questions is None:
        raise InputError(
            f"goal '{goal}' needs --questions N: how many are to be replayed (in Python:"
            " questions=)"
        )
    if "outcomes" in needs and kind != "pilot":
        raise InputError(f"goal '{goal}' needs the replays and the outcomes of a pilot as source")
    if outcomes is not None and not isinstance(outcomes, Outcomes):
        raise InputError(f"outcomes is a {type(outcomes).__name__}: give those of read_outcomes")
    if "outcomes" in needs and outcomes is None:
        raise InputError(
            f"goal '{goal}' needs --outcomes FILE (in Python: outcomes=, such as"
            " read_outcomes('outcomes.csv'))"
        )
    if outcomes is not None and "outcomes" not in needs:
        raise InputError(f"outcomes are of no use to goal '{goal}': leave them out")


def read_clusters(
    counts: ReplayCounts | None, n: int | None, clusters: int | None
) -> tuple[int | None, float]:
    """Videos of the plan, where they are known, and questions to a video."""
    if clusters is not None:
        videos = one_whole_number("clusters", clusters, least=2)
        if n is None:
            raise InputError(
                f"clusters={videos} needs --questions N: how many are in them (in Python:"
                " questions=)"
            )
        if videos > n:
            raise InputError(
                f"clusters={videos} must not exceed questions={n} (--clusters, --questions)"
            )
        return videos, n / videos
    if counts is None or n is None or counts.cluster_codes is None:
        return None, 1.0
    scored = counts.scored
    pilot = count_clusters(counts.cluster_codes[scored])
    if pilot < 2:
        return None, 1.0
    per_cluster = float(scored.sum()) / pilot
    return max(round(n / per_cluster), 2), per_cluster


def read_budgets(k: Iterable[int] | None, made: int) -> list[int]:
    """The k to look at, ascending."""
    if k is None:
        if not made:
            return list(USUAL_K)
        return [one for one in _USUAL_PILOT_K if made <= QUICKLY_PREDICTED or one < made] + (
            [] if made in _USUAL_PILOT_K and made <= QUICKLY_PREDICTED else [made]
        )
    try:
        wanted = sorted({one_whole_number("k", one) for one in k})
    except TypeError:
        raise InputError(f"k={k!r} must be several whole numbers, such as range(1, 33)") from None
    if not wanted:
        raise InputError("k is empty: give at least one number of replays, such as range(1, 33)")
    most = max(made, LARGEST_TARGET) if made else MOST_K
    if wanted[-1] > most:
        raise InputError(f"k={wanted[-1]} must be at most {most} to be planned for (--k)")
    return wanted


def replays_made(source: Any) -> int:
    """Replays in each arm that a pilot has of most of its questions; 0 without one."""
    if not isinstance(source, ReplayCounts):
        return 0
    return fullest_budget(source.select(source.scored), equal=True)[0]
