"""Runs side by side: the k each was planned with, and which of them count as runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.report.paper_tables.extensions import extends

__all__ = [
    "name_run",
    "planned_k",
    "runs_of_their_own",
    "tell_by_run",
    "without_shared",
]


def planned_k(counts: ReplayCounts) -> int | None:
    """How many replays of each arm most questions were given, valid or not.

    Parameters
    ----------
    counts : ReplayCounts
        A run.

    Returns
    -------
    int or None
        Of the replays made in both arms by each scored question, the most frequent number; of
        several the largest. None where no question has a score.

    Examples
    --------
    >>> planned_k(ReplayCounts(["a"], [0], [9], [0], [10], sham_invalid=[1]))
    10
    """
    if not counts.scored.any():
        return None
    made = np.minimum(
        counts.sham_replays + counts.sham_invalid, counts.destroy_replays + counts.destroy_invalid
    )
    k, questions = np.unique(made[counts.scored], return_counts=True)
    return int(k[questions == questions.max()].max())


def without_shared(counts: ReplayCounts, beside: Iterable[str] = ()) -> ReplayCounts:
    """The same run, whose ledger does not speak of replays shared with runs that are not used.

    Parameters
    ----------
    counts : ReplayCounts
        A run.
    beside : iterable of str
        The ids of the runs that are used with it.

    Returns
    -------
    ReplayCounts
        `counts` itself where there is nothing to leave out.
    """
    ledger, used = counts.ledger, set(beside)
    if ledger is None:
        return counts
    unsaid = {note for other, note in ledger.shared.items() if other not in used}
    if not unsaid:
        return counts
    notes = tuple(note for note in ledger.notes if note not in unsaid)
    return counts.with_ledger(replace(ledger, notes=notes))


def runs_of_their_own(
    runs: Mapping[str, ReplayCounts], main: str
) -> tuple[dict[str, ReplayCounts], tuple[str, ...]]:
    """The runs without those that hold another's replays, or no scores.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        By their ids.
    main : str
        The one that stays in any case. Of others the run with the fewest replays stays.

    Returns
    -------
    runs : dict
        In order of their ids.
    notes : tuple of str
        What was taken as what, and that k differs where it does.
    """
    k = {name: planned_k(runs[name]) for name in sorted(runs)}
    kept = [main]
    notes = []
    for name in sorted(k, key=lambda name: (k[name] or 0, name)):
        if name == main:
            continue
        if k[name] is None:
            notes.append(f"{name_run(name)} has no scores: not among these runs")
            continue
        inside = next((one for one in kept if extends(runs, name, one)), None)
        around = next((one for one in kept if extends(runs, one, name)), None)
        if inside is not None:
            notes.append(EXTENDS.format(name_run(name), k[name], name_run(inside)))
        elif around is not None:
            notes.append(EXTENDED.format(name_run(name), k[name], name_run(around)))
        else:
            kept.append(name)
    notes += [
        MAY_EXTEND.format(name_run(a), name_run(b))
        for a, b in permutations(sorted(kept), 2)
        if extends(runs, a, b) is None
    ]
    if len({k[name] for name in kept}) > 1:
        shown = ", ".join(f"{k[name]} in {name_run(name)}" for name in sorted(kept))
        notes.append(UNEQUAL.format(shown))
    return {name: without_shared(runs[name], kept) for name in sorted(kept)}, tuple(notes)


EXTENDS = "{} (k = {}) holds all replays of {}: it extends it, and is no run of its own here"
MAY_EXTEND = "{} may extend {} (its counts allow it; too few questions to tell)"
EXTENDED = "{} (k = {}) is held by {}, which extends it: it is no run of its own here"
UNEQUAL = (
    "k is {}: flip rates and mean scores do not depend on k; the spread of runs and how well they"
    " agree do"
)


def name_run(name: str) -> str:
    """A run in words."""
    return f"run {name!r}" if name else "the run without a name"


def tell_by_run(told: Mapping[str, Iterable[str]]) -> list[str]:
    """The notes of several runs: those of all of them once, others with the run's name.

    Parameters
    ----------
    told : mapping of str to iterable of str
        Notes by what the run is called.

    Returns
    -------
    list of str
        In the order given.

    Examples
    --------
    >>> tell_by_run({"run 'a'": ["few", "k differs"], "run 'b'": ["few"]})
    ['few', "run 'a': k differs"]
    """
    by_run = {name: list(notes) for name, notes in told.items()}
    common = [
        note
        for note in dict.fromkeys(note for notes in by_run.values() for note in notes)
        if all(note in notes for notes in by_run.values())
    ]
    return common + [
        f"{name}: {note}"
        for name, notes in by_run.items()
        for note in dict.fromkeys(notes)
        if note not in common
    ]
