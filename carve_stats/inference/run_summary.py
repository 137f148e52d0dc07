"""Several runs in one table: each run's figures, their mean, their spread over runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    check_level,
    count_clusters,
    explain,
    interval_method,
    t_interval,
)
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.inference.joined_runs import (
    common_k,
    join_clusters,
    ledger_notes,
    same_counts,
    validity_notes,
)
from carve_stats.inference.questions import count_questions

__all__ = ["RunsFigure", "RunsSummary", "summarize_runs"]

ONE_RUN = "one run: no spread over runs"
NO_SELF = "not estimable: no run has a valid SELF replay"
SAME = (
    "runs {runs} have the same flips and replays for every question: if they are one log read"
    " twice, they are not two runs"
)
OTHER_QUESTIONS = (
    "the runs do not score the same questions ({every} of {any} are scored in every run): each"
    " value is over the run's own, so that the SD is in part that of questions"
)
OTHER_K = (
    "numbers of valid replays differ between runs: those with fewer scatter more, and the SD mixes"
    " them"
)
SPREAD = "what further runs over these questions would differ by is the SD"
MEANING = (
    f"the interval is that of the mean over these runs, for other questions and videos; {SPREAD}"
)

_MOST_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsFigure(Estimate):
    """One figure over several runs.

    Parameters
    ----------
    estimate, se, low, high, note
        As in `Estimate`, of the mean over the runs that have the figure.
    values : tuple of float
        The figure of each run, in the order of the summary's runs; NaN where it has none.
    sd : float or None
        Standard deviation over the runs, with runs − 1 in the denominator; None for fewer than
        two.
    questions : int
        Questions that the figure is over in at least one run.
    clusters : int or None
        Their clusters; None where these are not known.
    """

    values: tuple[float, ...]
    sd: float | None
    questions: int
    clusters: int | None

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value; the mean over runs is ``estimate``."""
        return {
            **Estimate.to_dict(self),
            "values": [_display.plain(value) for value in self.values],
            "sd": self.sd,
            "questions": self.questions,
            "clusters": self.clusters,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunsSummary:
    """Flip rates and mean score of several runs, from `summarize_runs`.

    Parameters
    ----------
    runs : tuple of str
        The runs, in order.
    self_, sham, destroy, mean_score : RunsFigure
        SHAM, DESTROY and mean score over the questions scored in each run, SELF over those with a
        valid SELF replay.
    k : dict
        For each run ``sham`` and ``destroy``: valid replays of each question scored; None where
        they differ.
    questions : dict
        For each run ``read``, ``scored`` and ``left_out`` (reason: count).
    scored : dict
        ``any`` and ``every``: questions scored in at least one run, and in each of them.
    records : dict
        For each run the reader's ``read``, ``used`` and ``left_out``; None where no reader was
        involved.
    clusters : int or None
        Clusters of the questions scored in any run; None where they are not known.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    runs: tuple[str, ...]
    self_: RunsFigure
    sham: RunsFigure
    destroy: RunsFigure
    mean_score: RunsFigure
    k: Mapping[str, Mapping[str, int | None]]
    questions: Mapping[str, Mapping[str, Any]]
    scored: Mapping[str, int]
    records: Mapping[str, Mapping[str, Any] | None]
    clusters: int | None
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "runs": list(self.runs),
            "questions": {run: dict(q) for run, q in self.questions.items()},
            "scored": dict(self.scored),
            "records": {run: None if r is None else dict(r) for run, r in self.records.items()},
            "clusters": self.clusters,
            "k": {run: dict(k) for run, k in self.k.items()},
            "self": self.self_.to_dict(),
            "sham": self.sham.to_dict(),
            "destroy": self.destroy.to_dict(),
            "mean_score": self.mean_score.to_dict(),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def rows(self) -> dict[str, RunsFigure]:
        """The figures by the names that the table gives them, in its order."""
        return {
            "SELF flip rate": self.self_,
            "SHAM flip rate": self.sham,
            "DESTROY flip rate": self.destroy,
            "mean score": self.mean_score,
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        shown = len(self.runs) if len(self.runs) <= _MOST_SHOWN else 0
        names = [_name(run) for run in self.runs[:shown]]
        rows: list[list[object]] = [
            [
                name,
                *(_display.number(v, signed=row is self.mean_score) for v in row.values[:shown]),
                _display.number(row.estimate, signed=row is self.mean_score),
                _display.number(row.sd),
                _display.interval(row.low, row.high, signed=row is self.mean_score),
                row.questions,
            ]
            for name, row in self.rows().items()
        ]
        clusters = (
            "unknown clusters"
            if self.clusters is None
            else _display.counted(self.clusters, "cluster")
        )
        detail = f"{_display.counted(self.scored['any'], 'question')} scored, {clusters}"
        hidden = "" if shown else "; the values of each: .rows()"
        caption = f"{_display.counted(len(self.runs), 'run')} ({detail}; {self.interval}{hidden})"
        return caption, ["", *names, "mean", "SD over runs", "interval of mean", "questions"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def summarize_runs(runs: Mapping[str, ReplayCounts], *, level: float = 0.95) -> RunsSummary:
    """Flip rates and mean score of each run, their mean and their spread over runs.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        Counts by the name of the run, as `read_runs` gives them.
    level : float
        Confidence level.

    Returns
    -------
    RunsSummary
        For each of SELF, SHAM, DESTROY and the mean score: the value of each run, the mean over
        runs with a cluster t interval, and the standard deviation over runs.

    Raises
    ------
    InputError
        No run; a question in two clusters, or clusters in some runs only; a level outside (0, 1).

    See Also
    --------
    carve_stats.inference.compare.compare_runs : two runs, paired by question.

    Notes
    -----
    The mean over R runs m̄ = Σ_r m_r/R has the influence function Σ_r (x_ir − m_r)/(R n_r) a
    question, over the runs r that have a value x_ir for it, times the number of questions. Where
    all runs have the same questions it is that of the mean of question means: the replays of all
    runs together, paired. Questions of one video stay together over all runs.

    The SD is the seed SD of published tables. It is what replays and whatever else differs between
    runs do to a figure over the same questions; the interval is about other questions.

    References
    ----------
    - `proofs/thm_cluster_variance.py`: what the standard error of the mean estimates.

    Examples
    --------
    >>> from carve_stats.population.mixing import Population
    >>> drawn = Population.paper().draw(600, clusters=60, rng=1)
    >>> runs = {f"seed {seed}": drawn.replay(k=3, p_self=0.2, rng=seed) for seed in (1, 2, 3)}
    >>> summary = summarize_runs(runs)
    >>> [round(value, 4) for value in summary.sham.values]
    [0.3267, 0.3267, 0.2989]
    >>> print(summary.sham, round(summary.sham.sd, 4))
    0.3174 [0.2924, 0.3424] 0.016
    """
    ordered = _check_runs(runs)
    check_level(level)
    names = tuple(ordered)
    question, codes, places = join_clusters(ordered)
    in_runs = np.zeros(question.size, np.int64)
    for counts, place in zip(ordered.values(), places, strict=True):
        in_runs[place] += counts.scored
    scored_codes = None if codes is None else codes[in_runs > 0]
    figures = {
        name: _figure([_values(c, name) for c in ordered.values()], places, codes, level, least)
        for name, least in (("self", 0.0), ("sham", 0.0), ("destroy", 0.0), ("score", -1.0))
    }
    k = {
        run: {arm: common_k(getattr(c, f"{arm}_replays")[c.scored]) for arm in ("sham", "destroy")}
        for run, c in ordered.items()
    }
    labels = {"self": "SELF", "sham": "SHAM", "destroy": "DESTROY", "score": "mean score"}
    scored = {"any": int((in_runs > 0).sum()), "every": int((in_runs == len(names)).sum())}
    notes = [
        *ledger_notes(ordered),
        *explain((labels[name], _reason(name, figure)) for name, figure in figures.items()),
        *_missing(names, {labels[name]: figure for name, figure in figures.items()}),
        *validity_notes(ordered),
        *_copies(ordered),
    ]
    if scored["every"] < scored["any"]:
        notes.append(OTHER_QUESTIONS.format(**scored))
    if any(one != k[names[0]] for one in k.values()):
        notes.append(OTHER_K)
    intervals = any(figure.low is not None for figure in figures.values())
    notes.append(ONE_RUN if len(names) == 1 else MEANING if intervals else SPREAD)
    return RunsSummary(
        runs=names,
        self_=figures["self"],
        sham=figures["sham"],
        destroy=figures["destroy"],
        mean_score=figures["score"],
        k=k,
        questions={run: count_questions(counts) for run, counts in ordered.items()},
        scored=scored,
        records={r: None if c.ledger is None else c.ledger.to_dict() for r, c in ordered.items()},
        clusters=None if scored_codes is None else count_clusters(scored_codes),
        interval=interval_method("t", level, scored_codes),
        notes=tuple(dict.fromkeys(notes)),
    )


def _check_runs(runs: object) -> dict[str, ReplayCounts]:
    """The runs in order of their names, each fit to be summarised."""
    if not isinstance(runs, Mapping):
        raise InputError(
            f"runs is a {type(runs).__name__}: it must map names to ReplayCounts, as"
            " read_runs(path) gives them"
        )
    if not runs:
        raise InputError("runs is empty: give at least one run")
    for name, counts in runs.items():
        if not isinstance(name, str):
            raise InputError(f"runs: the name {name!r} must be a text")
        try:
            check_counts(counts)
        except InputError as error:
            raise InputError(f"run {name!r}: {error}") from None
    return {name: runs[name] for name in sorted(runs)}


class _Values(NamedTuple):
    """Which questions of a run have a figure, and their values: quotients of whole numbers."""

    used: NDArray[np.bool_]
    numerator: NDArray[np.int64]
    denominator: NDArray[np.int64]

    def mean(self) -> Fraction | None:
        """Their mean, exactly: it does not depend on which questions have which value."""
        if not self.numerator.size:
            return None
        parts = (
            Fraction(int(self.numerator[self.denominator == denominator].sum()), denominator)
            for denominator in np.unique(self.denominator).tolist()
        )
        return sum(parts, Fraction()) / self.numerator.size


def _values(counts: ReplayCounts, figure: str) -> _Values:
    if figure == "score":
        used, numerator = counts.scored, counts.score_numerator
        denominator = counts.sham_replays * counts.destroy_replays
    else:
        used = counts.self_replays > 0 if figure == "self" else counts.scored
        numerator = getattr(counts, f"{figure}_flips")
        denominator = getattr(counts, f"{figure}_replays")
    return _Values(used, numerator[used], denominator[used])


def _figure(
    values: list[_Values],
    places: list[NDArray[np.int64]],
    codes: NDArray[np.int64] | None,
    level: float,
    least: float,
) -> RunsFigure:
    """The mean over the runs that have a value, from those of their questions."""
    means = [one.mean() for one in values]
    known = [mean for mean in means if mean is not None]
    used = np.zeros(1 + max((int(p.max(initial=-1)) for p in places), default=-1), np.bool_)
    influence = np.zeros(used.size)
    for one, place, mean in zip(values, places, means, strict=True):
        if mean is not None:
            at, x = place[one.used], one.numerator / one.denominator
            used[at] = True
            influence[at] += (x - float(mean)) / (len(known) * x.size)
    n = int(used.sum())
    own = None if codes is None else codes[used]
    estimate = t_interval(
        float(sum(known, Fraction()) / len(known)) if known else math.nan,
        influence[used] * n,
        own,
        level=level,
        within=(least, 1.0),
    )
    return RunsFigure(
        estimate=estimate.estimate,
        se=estimate.se,
        low=estimate.low,
        high=estimate.high,
        note=estimate.note,
        values=tuple(math.nan if mean is None else float(mean) for mean in means),
        # Of exact means: runs of equal rates have none, whichever questions flipped.
        sd=float(statistics.stdev(known)) if len(known) > 1 else None,
        questions=n,
        clusters=None if own is None else count_clusters(own),
    )


def _reason(name: str, figure: RunsFigure) -> str | None:
    return NO_SELF if name == "self" and not figure.questions else figure.note


def _missing(names: tuple[str, ...], figures: Mapping[str, RunsFigure]) -> list[str]:
    """Which runs lack a figure that others have."""
    notes = []
    for label, figure in figures.items():
        without = [repr(n) for n, v in zip(names, figure.values, strict=True) if math.isnan(v)]
        if without and figure.questions:
            runs = f"run {without[0]} has" if len(without) == 1 else f"runs {_list(without)} have"
            notes.append(f"{label}: {runs} no value and no part in the mean")
    return notes


def _list(names: list[str]) -> str:
    return f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"


def _copies(runs: Mapping[str, ReplayCounts]) -> list[str]:
    """Runs that hold the same counts, which independent runs hardly do."""
    first: dict[bytes, str] = {}
    notes = []
    for name, counts in runs.items():
        if not counts.scored.any():
            continue
        # Most runs differ in their SHAM flips already: not every pair has to be looked at.
        other = first.setdefault(counts.sham_flips.tobytes(), name)
        if other != name and same_counts(runs[other], counts):
            notes.append(SAME.format(runs=f"{other!r} and {name!r}"))
    return notes


def _name(run: str) -> str:
    """A run's id on one line of a table."""
    return _display.visible(run) if run else "(no run)"
