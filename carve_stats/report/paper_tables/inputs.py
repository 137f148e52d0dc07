"""What tables of the paper are made of: runs, outcomes, and whatever else was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError, unknown_name
from carve_stats.outcomes import Outcomes
from carve_stats.population.patterns import fullest_budget

__all__ = [
    "Backbone",
    "PaperInputs",
    "common_k",
    "name_run",
    "tell_left_out",
]


@dataclass(frozen=True, slots=True)
class Backbone:
    """Replays and outcomes of one agent, and what it is called."""

    name: str
    counts: ReplayCounts
    outcomes: Outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperInputs:
    """What there is to make tables of.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        Every run of one agent, by its id.
    run : str, optional
        The run of the tables that speak of one; not given, the first of those with the k that most
        runs have.
    pooled : ReplayCounts, optional
        All runs added up, in its place.
    outcomes : Outcomes, optional
        Which answers are right. Gold coverage is its covariate ``covered``.
    fallback : str, optional
        Which alternative answers deferred questions; needed where there are several.
    confidence : str, optional
        The covariate that says how sure the agent is: the higher, the surer. Not given, it is
        ``confidence`` if there is such a covariate, and else the share of SELF replays that keep
        the answer.
    match : tuple of str
        Covariates that deferral at random is matched on; ``covered`` where not given.
    method_notes : tuple of str
        What there is to say of how alternatives were made, for table 4.
    second : Backbone, optional
        Another agent.
    name : str
        What the first agent is called.
    level : float
        Confidence level of all intervals.
    seed : int
        Of the splits of table A5.
    allow_mismatch : bool
        Whether questions may lack replays in one run, or outcomes.
    """

    runs: Mapping[str, ReplayCounts]
    run: str | None = None
    pooled: ReplayCounts | None = None
    outcomes: Outcomes | None = None
    fallback: str | None = None
    confidence: str | None = None
    match: tuple[str, ...] = ()
    method_notes: tuple[str, ...] = ()
    second: Backbone | None = None
    name: str = "first"
    level: float = 0.95
    seed: int = 0
    allow_mismatch: bool = False

    def __post_init__(self) -> None:
        if not self.runs:
            raise InputError("runs is empty: give at least one run")
        for counts in self.runs.values():
            check_counts(counts)
        if self.run is not None and self.run not in self.runs:
            raise InputError(unknown_name("run", self.run, self.runs))
        if self.outcomes is not None:
            if self.fallback is not None:
                self.outcomes.fallback(self.fallback)
            for name in (*self.match, *([self.confidence] if self.confidence else [])):
                if name not in self.outcomes.covariates and name != "cluster":
                    raise InputError(unknown_name("covariate", name, self.outcomes.covariates))

    @property
    def main(self) -> ReplayCounts:
        """The counts of the tables that speak of one run."""
        if self.pooled is not None:
            return self.pooled
        return self.runs[self.main_run]

    @property
    def main_run(self) -> str:
        """The id of that run: the first of those with the k that most runs have.

        Of two such k it is the smaller: a run that extends another comes after it.
        """
        if self.run is not None:
            return self.run
        k = {name: common_k(self.runs[name]) or 0 for name in sorted(self.runs)}
        times = Counter(k.values())
        return min(k, key=lambda name: (k[name] == 0, -times[k[name]], k[name]))

    def which(self) -> tuple[str, ...]:
        """The note that says which of several runs a table speaks of."""
        if len(self.runs) == 1:
            return ()
        if self.pooled is not None:
            return (f"the replays of {len(self.runs)} runs, added up",)
        return (f"{name_run(self.main_run)}, one of {len(self.runs)} (--run names another)",)

    def comparable_runs(self) -> tuple[dict[str, ReplayCounts], tuple[str, ...]]:
        """The runs with the k of the chosen one, by their ids, and a note that names the others.

        A run that extends another to more replays is no second run.
        """
        k = {name: common_k(counts) for name, counts in self.runs.items()}
        own = k[self.main_run]
        alike = {name: self.runs[name] for name in sorted(k) if k[name] == own}
        others = [
            f"{name_run(name)} has {'no scores' if k[name] is None else f'k = {k[name]}'}"
            for name in sorted(k)
            if name not in alike
        ]
        if not others:
            return alike, ()
        return alike, (f"{'; '.join(others)}: not among these runs, whose k is {own}",)

    def budgets(self) -> dict[int, tuple[str, ReplayCounts]]:
        """For each k one run with as many replays in each arm, in order of k.

        The chosen run comes before the others, which come in order of their ids.
        """
        found: dict[int, tuple[str, ReplayCounts]] = {}
        first = self.main_run
        given = [("", self.pooled)] if self.pooled is not None else []
        given += [(first, self.runs[first])]
        given += [(name, one) for name, one in self.runs.items() if name != first]
        for name, counts in given:
            k = common_k(counts)
            if k is not None and k not in found:
                found[k] = (name, counts)
        return dict(sorted(found.items()))

    def which_budgets(self) -> tuple[str, ...]:
        """The note that says which run each k is of."""
        if len(self.runs) == 1:
            return ()
        parts = [
            f"k = {k}: {'all runs added up' if counts is self.pooled else name_run(name)}"
            for k, (name, counts) in self.budgets().items()
        ]
        return ("; ".join(parts),) if parts else ()


def common_k(counts: ReplayCounts) -> int | None:
    """The k of both arms: that of all questions scored, or the one at which most replays count."""
    scored = counts.scored
    return fullest_budget(counts.select(scored), equal=True)[0] if scored.any() else None


def name_run(name: str) -> str:
    """A run in words."""
    return f"run {name!r}" if name else "the run without a name"


def tell_left_out(questions: Mapping[str, Any]) -> list[str]:
    """The note that says how many questions a result leaves out, and why; none if it has all.

    Parameters
    ----------
    questions : mapping
        ``read`` and ``left_out`` (reason: count), as results have them.

    Returns
    -------
    list of str
        Of at most one note.

    Examples
    --------
    >>> tell_left_out({"read": 9, "left_out": {"no valid sham replay": 2}})
    ['left out of 9 questions: 2 (no valid sham replay)']
    """
    reasons = ", ".join(f"{n} ({reason})" for reason, n in questions["left_out"].items() if n)
    return [f"left out of {questions['read']} questions: {reasons}"] if reasons else []
