"""One row a question: its score, an exact interval and an exact test, and what they establish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import check_level
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts, check_counts
from carve_stats.inference.attainable import smallest_p_values
from carve_stats.inference.multiplicity import adjust_p_values, check_adjustment
from carve_stats.inference.posterior import question_posteriors
from carve_stats.inference.questions import count_questions
from carve_stats.inference.score_display import as_html, as_text
from carve_stats.inference.score_notes import score_notes
from carve_stats.law._arguments import error_rate
from carve_stats.law.exact_tests import exact_p_values
from carve_stats.law.intervals import score_intervals
from carve_stats.law.score_rule import ScoreRule, as_rule
from carve_stats.population.mixing import Population

__all__ = ["ScoreTable", "score_table"]

_ARMS = ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScoreTable:
    """The scores of all questions, from `score_table`; the columns are read-only.

    Parameters
    ----------
    question : ndarray of str, shape (n,)
        Question ids, in order.
    cluster : ndarray of str, shape (n,), or None
        The cluster (the video) of each; None where it is not known.
    sham_flips, sham_replays, destroy_flips, destroy_replays : ndarray of int, shape (n,)
        Valid replays of each arm and how many of them flipped.
    score : ndarray of float, shape (n,)
        Δ̂; NaN where an arm has no valid replay.
    low, high : ndarray of float, shape (n,)
        The interval for p_destroy − p_sham; [−1, 1] where there is no score.
    p_value : ndarray of float, shape (n,)
        Of the exact test; 1 where there is no score.
    adjusted_p_value : ndarray of float, shape (n,)
        Adjusted for the number of questions scored; 1 where there is no score.
    established : ndarray of bool, shape (n,)
        Whether the adjusted p-value is at most `significance`. With a score above 0 the answer's
        dependence on the evidence is established; with one below 0, that DESTROY flips less often.
    selected : ndarray of bool, shape (n,), or None
        Whether the rule selects the question; never where there is no score. None without rule.
    mean_difference, probability_not_above : ndarray of float, shape (n,), or None
        E[p_destroy − p_sham | counts] and P(p_destroy <= p_sham | counts), as in
        `question_posteriors`. None without population.
    interval, level
        Name and confidence level of the intervals.
    test, alternative, two_sided
        The test, as in `exact_test`.
    adjust : str
        The adjustment for the number of questions.
    rule : ScoreRule or None
        The rule of `selected`.
    k : dict
        ``sham`` and ``destroy``: valid replays of each question scored; None where they differ.
    questions : dict
        ``read``, ``scored``, ``left_out`` (reason: count).
    records : dict or None
        The reader's ``read``, ``used`` and ``left_out``; None where no reader was involved.
    smallest_possible_p_value : float or None
        The smallest that any outcome could have had at these budgets; None without a score.
    notes : tuple of str
        What a reader has to know.
    """

    question: NDArray[np.str_]
    cluster: NDArray[np.str_] | None
    sham_flips: NDArray[np.int64]
    sham_replays: NDArray[np.int64]
    destroy_flips: NDArray[np.int64]
    destroy_replays: NDArray[np.int64]
    score: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    adjusted_p_value: NDArray[np.float64]
    established: NDArray[np.bool_]
    selected: NDArray[np.bool_] | None
    mean_difference: NDArray[np.float64] | None
    probability_not_above: NDArray[np.float64] | None
    interval: str
    level: float
    test: str
    alternative: str
    two_sided: str
    adjust: str
    rule: ScoreRule | None
    k: Mapping[str, int | None]
    questions: Mapping[str, Any]
    records: Mapping[str, Any] | None
    smallest_possible_p_value: float | None
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        for values in self.columns().values():
            if values is not None:
                values.flags.writeable = False

    def __len__(self) -> int:
        return int(self.question.size)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Whether each question has a score; shape (n,)."""
        return (self.sham_replays > 0) & (self.destroy_replays > 0)

    @property
    def significance(self) -> float:
        """1 − level, without a rounding error: what adjusted p-values are compared with."""
        return error_rate(self.level)

    @property
    def smallest_p_value(self) -> float | None:
        """The smallest p-value of a question scored; None without any."""
        return float(self.p_value[self.scored].min()) if self.scored.any() else None

    @property
    def median_width(self) -> float | None:
        """The median width of the intervals of the questions scored; None without any."""
        widths = (self.high - self.low)[self.scored]
        return float(np.median(widths)) if widths.size else None

    @property
    def signs(self) -> dict[str, int]:
        """How many scores are ``negative``, ``zero`` and ``positive``."""
        numerator = self._numerator[self.scored]
        return {
            "negative": int((numerator < 0).sum()),
            "zero": int((numerator == 0).sum()),
            "positive": int((numerator > 0).sum()),
        }

    @property
    def established_above(self) -> int:
        """How many questions are established with a score above 0."""
        return int((self.established & (self._numerator > 0)).sum())

    @property
    def established_below(self) -> int:
        """How many questions are established with a score below 0."""
        return int((self.established & (self._numerator < 0)).sum())

    @property
    def _numerator(self) -> NDArray[np.int64]:
        """Of the score: its sign is the score's; 0 where there is none."""
        return self.destroy_flips * self.sham_replays - self.sham_flips * self.destroy_replays

    @property
    def excluding_zero(self) -> NDArray[np.bool_]:
        """Whether each interval lies on one side of 0; shape (n,)."""
        return (self.low > 0.0) | (self.high < 0.0)

    def adjusted(self, adjust: str) -> NDArray[np.float64]:
        """P-values adjusted for the number of questions scored.

        Parameters
        ----------
        adjust : str
            ``holm``, ``benjamini-hochberg`` or ``none``, as in `score_table`.

        Returns
        -------
        ndarray of float, shape (n,)
            1 where there is no score.
        """
        return _adjusted(self.p_value, self.scored, adjust)

    def columns(self) -> dict[str, NDArray[Any] | None]:
        """The columns by name, ready for a data frame; `cluster` is None where not known."""
        names = ["question", "cluster", *_ARMS, "score", "low", "high", "p_value"]
        names += ["adjusted_p_value", "established"]
        optional = ("selected", "mean_difference", "probability_not_above")
        names += [name for name in optional if getattr(self, name) is not None]
        return {name: getattr(self, name) for name in names}

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a question, of plain values; None where a figure is undefined."""
        columns = {
            name: [None] * len(self) if values is None else values.tolist()
            for name, values in self.columns().items()
        }
        for name in {"score", "mean_difference", "probability_not_above"} & columns.keys():
            columns[name] = [_display.plain(figure) for figure in columns[name]]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; ``rows`` has one entry a question."""
        return {
            "questions": dict(self.questions),
            "records": None if self.records is None else dict(self.records),
            "k": dict(self.k),
            "signs": self.signs,
            "interval": {"method": self.interval, "level": self.level},
            "median_width": self.median_width,
            "excluding_zero": int(self.excluding_zero.sum()),
            "test": {
                "name": self.test,
                "alternative": self.alternative,
                "two_sided": self.two_sided if self.alternative == "two-sided" else None,
                "significance": self.significance,
            },
            "adjust": self.adjust,
            "smallest_p_value": self.smallest_p_value,
            "smallest_possible_p_value": self.smallest_possible_p_value,
            "established": int(self.established.sum()),
            "established_above": self.established_above,
            "established_below": self.established_below,
            "rule": None if self.rule is None else str(self.rule),
            "selected": None if self.selected is None else int(self.selected.sum()),
            "rows": self.rows(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)


def score_table(
    counts: ReplayCounts,
    *,
    rule: ScoreRule | str | None = None,
    population: Population | None = None,
    interval: str = "agresti-min",
    level: float = 0.95,
    test: str = "barnard",
    alternative: str = "two-sided",
    two_sided: str = "statistic",
    adjust: str = "holm",
) -> ScoreTable:
    """Score, exact interval and exact test of each question.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question. k may differ between questions.
    rule : ScoreRule or str, optional
        A comparison such as ``"score <= 0"``; the column `selected` says which questions it
        selects.
    population : Population, optional
        The distribution of the questions' flip probabilities, as `fit_population` gives it. Each
        question's posterior under it is then two columns more.
    interval : str
        The interval for p_destroy − p_sham, as in `score_intervals`.
    level : float
        Confidence level of the intervals; a question is established at 1 − level.
    test, alternative, two_sided : str
        The test of no difference, as in `exact_test`; ``greater``: p_destroy > p_sham.
    adjust : str
        How p-values are adjusted for the number of questions scored. ``holm``: the probability
        that any question is established wrongly is held, whatever the dependence.
        ``benjamini-hochberg``: the expected share of wrong ones among the established, if
        the p-values are independent or positively dependent. ``none``: no adjustment.

    Returns
    -------
    ScoreTable
        A row for every question of the counts, in their order.

    Raises
    ------
    InputError
        An unknown name, or a level outside (0, 1).

    See Also
    --------
    carve_stats.inference.tie_excess.tie_excess : what the scores say in aggregate.

    Notes
    -----
    A question without a valid replay in an arm has no score: it is NaN, the interval is [−1, 1]
    and the p-value 1. Such a question is not a member of the family that is adjusted for: its
    p-value is 1 whatever is true, so it can never be established, and counting it would only
    make the others dearer.

    Each p-value is valid given the question's own two flip rates. Given all rates the p-values
    of different questions are independent if their replays are, even of questions of one video,
    which are alike in their rates; that is what Benjamini and Hochberg's procedure needs.

    At small k a single question can rarely be established. With k = 3 in each arm no two-sided
    p-value is below 1/32, so nothing survives Holm's adjustment for two questions. `notes` says
    so, and from which k on something could.

    References
    ----------
    - S. Holm, Scandinavian Journal of Statistics 6 (1979) 65–70. Y. Benjamini and Y. Hochberg,
      Journal of the Royal Statistical Society B 57 (1995) 289–300.
    - `proofs/thm_holm.py`: the adjustment, however the p-values depend on one another.
    - `proofs/thm_benjamini_hochberg.py`: the adjustment, for independent ones.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 2, 1], [3, 3, 3], [3, 1, 0], [3, 3, 0])
    >>> table = score_table(counts, rule="score <= 0")
    >>> table.score.round(4), table.selected
    (array([ 1.    , -0.3333,     nan]), array([False,  True, False]))
    >>> table.p_value.round(4), table.adjusted("holm").round(4)
    (array([0.0312, 0.6875, 1.    ]), array([0.0625, 0.6875, 1.    ]))
    >>> table.adjusted("none") <= table.significance
    array([ True, False, False])
    """
    check_counts(counts)
    level = check_level(level)
    check_adjustment(adjust)
    rule = None if rule is None else as_rule(rule)
    arms = {name: getattr(counts, name) for name in _ARMS}
    how = {"test": test, "alternative": alternative, "two_sided": two_sided}
    p_value = exact_p_values(*arms.values(), **how)
    low, high = score_intervals(*arms.values(), interval=interval, level=level)
    selected = None
    posteriors = None if population is None else question_posteriors(counts, population)
    if rule is not None:
        selected = rule.selects(
            counts.score_numerator, counts.sham_replays * counts.destroy_replays
        )
    scored, ledger = counts.scored, counts.ledger
    sham, destroy = counts.sham_replays[scored], counts.destroy_replays[scored]
    smallest = smallest_p_values(sham, destroy, **how)
    adjusted = _adjusted(p_value, scored, adjust)
    table = ScoreTable(
        question=counts.question,
        cluster=counts.cluster,
        **arms,
        score=counts.score,
        low=low,
        high=high,
        p_value=p_value,
        adjusted_p_value=adjusted,
        established=scored & (adjusted <= error_rate(level)),
        selected=selected,
        mean_difference=None if posteriors is None else posteriors.mean_difference,
        probability_not_above=None if posteriors is None else posteriors.probability_not_above,
        interval=interval,
        level=level,
        test=test,
        alternative=alternative,
        two_sided=two_sided,
        adjust=adjust,
        rule=rule,
        k={"sham": _common(sham), "destroy": _common(destroy)},
        questions=count_questions(counts),
        records=None if ledger is None else ledger.to_dict(),
        smallest_possible_p_value=float(smallest.min()) if smallest.size else None,
        notes=(),
    )
    # Intervals of single questions need no clusters.
    read = [] if ledger is None else [n for n in ledger.notes if n != UNKNOWN_CLUSTERS]
    notes = [*read, *score_notes(table, counts, smallest)]
    notes += [] if posteriors is None else posteriors.notes
    return replace(table, notes=tuple(dict.fromkeys(notes)))


def _adjusted(
    p_value: NDArray[np.float64], scored: NDArray[np.bool_], adjust: str
) -> NDArray[np.float64]:
    adjusted = np.ones(p_value.size)
    adjusted[scored] = adjust_p_values(p_value[scored], adjust)
    return adjusted


def _common(replays: NDArray[np.int64]) -> int | None:
    return int(replays[0]) if replays.size and (replays == replays[0]).all() else None
