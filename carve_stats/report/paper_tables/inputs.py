"""What tables of the paper are made of: runs, outcomes, and whatever else was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError, unknown_name
from carve_stats.outcomes import Outcomes, check_outcomes
from carve_stats.report.paper_tables.extensions import extends
from carve_stats.report.paper_tables.runs_apart import (
    MAY_EXTEND,
    name_run,
    planned_k,
    runs_of_their_own,
    without_shared,
)

__all__ = [
    "Backbone",
    "PaperInputs",
    "check_names",
    "tell_left_out",
]


TWICE = "added up, they are counted twice"


@dataclass(frozen=True, slots=True)
class Backbone:
    """Another agent, for table A5.

    Parameters
    ----------
    name : str
        What it is called.
    counts : ReplayCounts
        Its replays: those of one run, or of runs added up.
    outcomes : Outcomes
        Which of its answers are right.
    which : str
        Which of its runs the counts are of, to be told; empty where there is nothing to tell.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b"], [0, 1], [3, 3], [2, 0], [3, 3], cluster=["v", "w"])
    >>> Backbone("32B", counts, Outcomes(["a", "b"], [1, 0], {"strong": [1, 1]})).name
    '32B'
    """

    name: str
    counts: ReplayCounts
    outcomes: Outcomes
    which: str = ""

    def __post_init__(self) -> None:
        check_counts(self.counts)
        check_outcomes(self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperInputs:
    """What there is to make tables of, for `build_tables`.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        Every run of one agent, by its id, as `read_runs` gives them.
    run : str, optional
        The only run that any table speaks of. Not given, tables of one run take the first of those
        with the k that most runs have.
    pooled : ReplayCounts, optional
        All runs added up, in the place of each of them.
    outcomes : Outcomes, optional
        Which answers are right, as `read_outcomes` gives them. Gold coverage is its covariate
        ``covered``: ``outcomes.with_covariates(found.question, found.overlap())`` adds it, where
        ``found`` is of `read_intervals`. `self_consistency` adds the SELF majority.
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
        What the first agent is called; another name than the second's.
    level : float
        Confidence level of all intervals.
    seed : int
        Of the splits of table A5.
    allow_mismatch : bool
        Whether questions may lack replays in one run, or outcomes.

    Raises
    ------
    InputError
        No run, an unknown one, a column that `outcomes` does not have, counts that were stopped
        early, or two agents of one name.

    See Also
    --------
    carve_stats.report.paper_tables.build_tables : makes the tables.

    Examples
    --------
    >>> runs = {"seed 1": ReplayCounts(["a", "b"], [0, 1], [3, 3], [2, 0], [3, 3])}
    >>> outcomes = Outcomes(["a", "b"], [1, 0], {"strong": [1, 1]})
    >>> PaperInputs(runs=runs, outcomes=outcomes).main_run
    'seed 1'
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
        if not isinstance(self.runs, Mapping):
            raise InputError(
                f"runs is a {type(self.runs).__name__}: it must be a mapping from the id of a run"
                " to its ReplayCounts, such as runs={'seed 1': counts}"
            )
        if not self.runs:
            raise InputError("runs is empty: give at least one run")
        for name, counts in self.runs.items():
            _check_run(name, counts, used=self.run is None or name == self.run)
        if self.pooled is not None:
            check_counts(self.pooled)
        if self.run is not None and self.run not in self.runs:
            raise InputError(unknown_name("run", self.run, self.runs))
        if isinstance(self.match, str):
            raise InputError(f"match={self.match!r} must be a tuple of names: ({self.match!r},)")
        if self.outcomes is not None:
            check_outcomes(self.outcomes)
            if self.fallback is not None:
                self.outcomes.fallback(self.fallback)
            columns = self.outcomes.covariates
            for name in self.match:
                _check_column("match", name, ["cluster", *columns])
            if self.confidence is not None:
                _check_column("confidence", self.confidence, columns)
        if self.second is not None:
            if not isinstance(self.second, Backbone):
                raise InputError(
                    f"second is a {type(self.second).__name__}: it must be"
                    " Backbone(name, counts, outcomes)"
                )
            check_names(self.name, self.second.name)

    @property
    def main(self) -> ReplayCounts:
        """The counts of the tables that speak of one run."""
        if self.pooled is not None:
            return self.pooled
        return without_shared(self.runs[self.main_run])

    @property
    def main_run(self) -> str:
        """The id of that run: the first of those with the k that most runs have.

        Of two such k it is the smaller: a run that extends another comes after it.
        """
        if self.run is not None:
            return self.run
        k = {name: planned_k(self.runs[name]) or 0 for name in sorted(self.runs)}
        times = Counter(k.values())
        return min(k, key=lambda name: (k[name] == 0, -times[k[name]], k[name]))

    def which(self) -> tuple[str, ...]:
        """The notes that say which of several runs a table speaks of."""
        if len(self.runs) == 1:
            return ()
        if self.pooled is not None:
            return (f"the replays of {len(self.runs)} runs, added up", *self._counted_twice())
        others = "--run leaves the others out" if self.run is not None else "--run names another"
        return (f"{name_run(self.main_run)}, one of {len(self.runs)} ({others})",)

    def separate_runs(self) -> tuple[dict[str, ReplayCounts], tuple[str, ...]]:
        """The runs that can be compared, by their ids, and notes on those left out.

        A run that extends another to more replays is no second run. Where one run was named, or
        all were added up, there is just that.
        """
        if self.pooled is not None or self.run is not None:
            return {self.run or "": self.main}, self.which()
        return runs_of_their_own(self.runs, self.main_run)

    def budgets(self) -> dict[int, tuple[str, ReplayCounts]]:
        """For each k that was planned one run, in words, in order of k.

        The chosen run comes before the others, which come in order of their ids. Where one run
        was named, or all were added up, there is just that.
        """
        if self.pooled is not None:
            given = [("all runs added up", self.pooled)]
        else:
            first = self.main_run
            more = [] if self.run is not None else sorted(set(self.runs) - {first})
            given = [(name_run(name), self.runs[name]) for name in (first, *more)]
        found: dict[int, tuple[str, ReplayCounts]] = {}
        for name, counts in given:
            k = planned_k(counts)
            if k is not None and k not in found:
                found[k] = (name, without_shared(counts) if self.pooled is None else counts)
        return dict(sorted(found.items()))

    def which_budgets(self) -> tuple[str, ...]:
        """The notes that say which run each k is of."""
        if len(self.runs) == 1:
            return ()
        parts = [f"k = {k}: {name}" for k, (name, _) in self.budgets().items()]
        twice = self._counted_twice() if self.pooled is not None else ()
        return (*(["; ".join(parts)] if parts else []), *twice)

    def _counted_twice(self) -> tuple[str, ...]:
        notes = []
        for a, b in permutations(sorted(self.runs), 2):
            extended = extends(self.runs, a, b)
            if extended:
                notes.append(f"{name_run(a)} holds all replays of {name_run(b)}: {TWICE}")
            elif extended is None:
                notes.append(f"{MAY_EXTEND.format(name_run(a), name_run(b))}: if so, {TWICE}")
        return tuple(notes)


def check_names(first: str, second: str) -> None:
    """Refuse names of two agents that a reader could not tell apart.

    Parameters
    ----------
    first, second : str
        What the two are called.

    Raises
    ------
    InputError
        An empty name, or twice the same.
    """
    if not first.strip() or not second.strip() or first.strip() == second.strip():
        empty = "" if first.strip() and second.strip() else ", and a name must not be empty"
        raise InputError(
            f"the two backbones are called {first!r} and {second!r}{empty}: give two different"
            " names (--names; in Python: PaperInputs(name=…) and Backbone(name=…))"
        )


def _check_run(name: str, counts: ReplayCounts, *, used: bool) -> None:
    """Refuse what is no run; one that is not used may have been stopped early."""
    try:
        check_counts(counts, stopped=not used)
    except InputError as error:
        ledger = getattr(counts, "ledger", None)
        paths = [path for path in (ledger.inputs[:1] if ledger else ()) if path != name]
        at = "".join(f" ({path})" for path in paths)
        raise InputError(f"{name_run(name)}{at}: {error}") from None


def _check_column(argument: str, name: str, known: Iterable[str]) -> None:
    there = list(known)
    if name not in there:
        has = f"they have {', '.join(there)}" if there else "they have none but answers and costs"
        raise InputError(f"{argument}={name!r} (--{argument}) is no column of the outcomes: {has}")


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
