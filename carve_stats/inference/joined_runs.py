"""Several runs over questions that they share: joined by id, their clusters held together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import CONDITIONS, ReplayCounts
from carve_stats.errors import InputError

__all__ = [
    "check_same_questions",
    "common_k",
    "count_pairs",
    "join_clusters",
    "ledger_notes",
    "same_counts",
    "validity_notes",
]

_COLUMNS = tuple(f"{arm}_{what}" for arm in CONDITIONS for what in ("flips", "replays"))


def check_same_questions(
    a: ReplayCounts, b: ReplayCounts, *, otherwise: str = "select those of both"
) -> None:
    """Refuse a question that only one of two runs holds, by its id.

    Parameters
    ----------
    a, b : ReplayCounts
        The two runs.
    otherwise : str
        What a caller can do who wants the others.
    """
    alone = np.setxor1d(a.question, b.question, assume_unique=True)
    if alone.size:
        first = str(alone[0])
        one, other = ("a", "b") if (a.question == first).any() else ("b", "a")
        raise InputError(
            f"question={first!r} is in counts_{one} and not in counts_{other} ({alone.size} such"
            f" questions): give two runs over the same questions, or {otherwise}"
        )


def same_counts(a: ReplayCounts, b: ReplayCounts) -> bool:
    """Whether two runs have the same questions with the same flips and replays.

    Parameters
    ----------
    a, b : ReplayCounts
        The two runs.

    Returns
    -------
    bool
        Never so for independent runs of more than a few questions; invalid replays are not
        looked at.
    """
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("question", *_COLUMNS))


def common_k(replays: NDArray[np.int64]) -> int | None:
    """The number of replays that every question has; None where they differ.

    Parameters
    ----------
    replays : ndarray of int, shape (n,)
        Valid replays of each question in one arm.

    Returns
    -------
    int or None
        None also where there is no question.
    """
    return int(replays[0]) if replays.size and (replays == replays[0]).all() else None


def count_pairs(
    a: ReplayCounts, b: ReplayCounts, names: tuple[str, str] = ("a", "b")
) -> dict[str, Any]:
    """Questions of two runs that can be paired by their scores, and why the others cannot.

    Parameters
    ----------
    a, b : ReplayCounts
        The same questions in the same order.
    names : (str, str)
        What the two are called.

    Returns
    -------
    dict
        ``read``, ``scored`` (in both) and ``left_out`` (reason: count); these add up.
    """
    left_out = {
        f"no score in run {names[0]}": int((~a.scored & b.scored).sum()),
        f"no score in run {names[1]}": int((a.scored & ~b.scored).sum()),
        "no score in either run": int((~a.scored & ~b.scored).sum()),
    }
    return {
        "read": len(a),
        "scored": int((a.scored & b.scored).sum()),
        "left_out": {reason: count for reason, count in left_out.items() if count},
    }


def join_clusters(
    runs: Mapping[str, ReplayCounts],
) -> tuple[NDArray[np.str_], NDArray[np.int64] | None, list[NDArray[np.int64]]]:
    """All the questions of some runs, and the cluster of each.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        At least one.

    Returns
    -------
    question : ndarray of str, shape (n,)
        Each id once, in order.
    codes : ndarray of int, shape (n,), or None
        Their clusters; None where no run names any.
    place : list of ndarray of int
        For each run, where its questions are among these.

    Raises
    ------
    InputError
        A question in two clusters, or clusters in some runs only.
    """
    question, first, place = np.unique(
        np.concatenate([counts.question for counts in runs.values()]),
        return_index=True,
        return_inverse=True,
    )
    sizes = [len(counts) for counts in runs.values()]
    places = np.split(place.astype(np.int64), np.cumsum(sizes)[:-1])
    columns = {n: counts.cluster for n, counts in runs.items() if counts.cluster is not None}
    if not columns:
        return question, None, places
    if len(columns) < len(runs):
        without = next(name for name in runs if name not in columns)
        raise InputError(
            f"run {next(iter(columns))!r} names the clusters (videos) and run {without!r} does not:"
            " give those of all runs, or of none"
        )
    cluster = np.concatenate(list(columns.values()))
    wrong = np.flatnonzero(cluster != cluster[first][place])
    if wrong.size:
        row = int(wrong[0])
        holder = np.repeat(list(runs), sizes)
        said = [(str(cluster[i]), str(holder[i])) for i in (first[place[row]], row)]
        raise InputError(
            f"question={str(question[place[row]])!r} is in cluster {said[0][0]!r} in run"
            f" {said[0][1]!r} and in {said[1][0]!r} in run {said[1][1]!r}: a question has one video"
        )
    return question, np.unique(cluster[first], return_inverse=True)[1].astype(np.int64), places


def ledger_notes(runs: Mapping[str, ReplayCounts]) -> list[str]:
    """What the readers said of the runs; of some of them only, after their names.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        The runs.

    Returns
    -------
    list of str
        Each note once.
    """
    holders: dict[str, list[str]] = {}
    for name, counts in runs.items():
        for note in () if counts.ledger is None else counts.ledger.notes:
            holders.setdefault(note, []).append(repr(name))
    return [
        note if len(names) == len(runs) else f"run {', '.join(names)}: {note}"
        for note, names in holders.items()
    ]


def validity_notes(runs: Mapping[str, ReplayCounts]) -> list[str]:
    """How many replays of each run are invalid, and so in no figure.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        The runs.

    Returns
    -------
    list of str
        One note, or none where every replay is valid.
    """
    parts = []
    for name, counts in runs.items():
        invalid, valid = (
            sum(int(getattr(counts, f"{arm}_{what}").sum()) for arm in CONDITIONS)
            for what in ("invalid", "replays")
        )
        if invalid:
            parts.append(f"{invalid} of {invalid + valid} replays in run {name!r}")
    if not parts:
        return []
    return [
        f"no valid answer, and so in no figure: {', '.join(parts)}; for what they could have been"
        " see the worst-case bounds of flip_rates and mean_score, run by run"
    ]
