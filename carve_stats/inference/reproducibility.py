"""How well two runs over the same questions agree, and how well they could."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    count_clusters,
    explain,
    interval_method,
)
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.inference.joined_runs import (
    check_same_questions,
    common_k,
    count_pairs,
    same_counts,
)
from carve_stats.inference.run_agreement import (
    RunAgreement,
    observe_agreement,
    predict_agreement,
)
from carve_stats.law._arguments import one_whole_number
from carve_stats.law.score_rule import ScoreRule, as_rule
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population

__all__ = ["Reproducibility", "reproducibility", "spearman_brown"]

NO_RELIABILITY = "not estimable: runs whose scores correlate negatively have no reliability"
PREDICTED = (
    "predicted: what independent replays of questions from this population show on average, each"
    " question at its own numbers of valid replays, as if these had nothing to do with its flip"
    " probabilities; without sampling error. Runs that agree less differ in more than their"
    " replays; runs that agree more share something, such as a cache or seeds"
)
FITTED = (
    "the population was fitted to the flips of both runs added up, so it does not know which run a"
    " flip comes from"
)
SAME_COUNTS = (
    "every question has the same flips and replays in both runs: if they are one log read twice,"
    " nothing here is reproducibility"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reproducibility:
    """How two runs agree, from `reproducibility`.

    Parameters
    ----------
    observed : RunAgreement of Estimate
        With cluster intervals; NaN, with a note, where undefined.
    predicted : RunAgreement of float
        What the population predicts for these questions and replays; NaN where undefined.
    population : Population or None
        That population; None where none could be fitted.
    rule : ScoreRule
        What `jaccard` is about.
    selected : dict
        Questions that the rule selects in run ``a``, in run ``b``, and in ``both``.
    k : dict
        ``sham_a``, ``destroy_a``, ``sham_b``, ``destroy_b``: valid replays of each question;
        None where they differ.
    questions : dict
        ``read``, ``scored`` (in both runs), ``left_out`` (reason: count).
    records : dict
        For ``a`` and ``b`` the reader's ``read``, ``used`` and ``left_out``; None where no reader
        was involved.
    clusters : int or None
        Clusters of the scored questions; None where they are not known.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    observed: RunAgreement
    predicted: RunAgreement
    population: Population | None
    rule: ScoreRule
    selected: Mapping[str, int]
    k: Mapping[str, int | None]
    questions: Mapping[str, Any]
    records: Mapping[str, Mapping[str, Any] | None]
    clusters: int | None
    interval: IntervalMethod
    notes: tuple[str, ...]

    def reliability_at(self, k: int) -> Estimate:
        """The correlation that two runs of another budget would have: Spearman and Brown.

        Parameters
        ----------
        k : int
            Replays in each arm and run.

        Returns
        -------
        Estimate
            From the observed correlation alone, without a fitted population. Undefined, with a
            note, where that is negative.

        Raises
        ------
        InputError
            Where k differs between the questions, arms or runs: their correlation belongs to no
            one budget. `population.reliability(k)` predicts then as well.

        Notes
        -----
        Exact for any population of questions (`Population.reliability`). The interval is that of
        the correlation, carried over; a negative end becomes 0, the least reliability there is.

        References
        ----------
        As for `Population.reliability`.
        """
        budget = one_whole_number("k", k)
        ks = set(self.k.values())
        own = next(iter(ks))
        if len(ks) > 1 or own is None:
            raise InputError(
                f"k={budget}: the formula of Spearman and Brown needs one k for all questions, arms"
                f" and runs, and these have {dict(self.k)}: use .population.reliability({budget})"
            )
        pearson, factor = self.observed.pearson, budget / own
        if not pearson.estimate >= 0.0:
            return Estimate(math.nan, note=pearson.note or NO_RELIABILITY)
        value = spearman_brown(pearson.estimate, factor)
        if pearson.se is None:
            return replace(pearson, estimate=value)
        slope = factor / (1 + (factor - 1) * pearson.estimate) ** 2
        low, high = (spearman_brown(max(end, 0.0), factor) for end in (pearson.low, pearson.high))
        return Estimate(value, pearson.se * slope, low, high)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "questions": dict(self.questions),
            "records": dict(self.records),
            "clusters": self.clusters,
            "k": dict(self.k),
            "rule": str(self.rule),
            "selected": dict(self.selected),
            "observed": {name: e.to_dict() for name, e in self.observed._asdict().items()},
            "predicted": {n: _display.plain(p) for n, p in self.predicted._asdict().items()},
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        names = ["correlation of scores", "same sign", f"Jaccard of {self.rule}"]
        rows: list[list[object]] = [
            [
                name,
                _display.number(observed.estimate),
                _display.interval(observed.low, observed.high),
                _display.number(predicted),
            ]
            for name, observed, predicted in zip(names, self.observed, self.predicted, strict=True)
        ]
        clusters = "unknown" if self.clusters is None else self.clusters
        caption = (
            f"Two runs over the same questions ({self.questions['scored']} scored in both,"
            f" {clusters} clusters; {self.interval})"
        )
        return caption, ["", "observed", "interval", "predicted"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def reproducibility(
    counts_a: ReplayCounts,
    counts_b: ReplayCounts,
    *,
    rule: ScoreRule | str = "score < 0",
    population: Population | None = None,
    level: float = 0.95,
) -> Reproducibility:
    """Agreement of two runs over the same questions, observed and predicted.

    Parameters
    ----------
    counts_a, counts_b : ReplayCounts
        The two runs, joined by question id. k may differ between questions, arms and runs.
    rule : ScoreRule or str
        Which questions are selected, for the Jaccard index.
    population : Population, optional
        What the prediction is made from; fitted to both runs together where not given.
    level : float
        Confidence level.

    Returns
    -------
    Reproducibility
        Pearson's r of the scores, the share of equal signs, and the Jaccard index of the
        selected sets, over the questions scored in both runs, with cluster t intervals.

    Raises
    ------
    InputError
        A question that only one run has, or that has two clusters; clusters in one run only; no
        rule; a level outside (0, 1).

    Notes
    -----
    Influence functions: with standardised scores a and b, r has ab − r (a² + b²)/2; the Jaccard
    index is a ratio Ī/Ū of means, intersection over union, and has (I − J U)/Ū.

    The prediction keeps each question's own four numbers of replays. With n_a and n_b the
    probabilities that the rule selects a question in each run, and s_a and s_b those of the signs,
    agreement is E[Σ s_a s_b], the Jaccard index E[n_a n_b]/E[n_a + n_b − n_a n_b], and r is
    Var Δ/√(V_a V_b), where V is Var Δ plus the mean of p_sham q_sham/k_sham + p_destroy q_destroy/
    k_destroy. Where replays are independent given the question, the observed figures are this but
    for the sampling of questions and replays.

    References
    ----------
    - `proofs/thm_reliability.py`: the predicted correlation.
    - `proofs/thm_correlation_influence.py`: the influence functions.

    Examples
    --------
    >>> import numpy as np
    >>> population, k = Population.paper(), np.full(1249, 3)
    >>> drawn, rng = population.draw(1249, clusters=103, rng=1), np.random.default_rng(2)
    >>> a, b = (ReplayCounts(drawn.question, rng.binomial(k, drawn.p_sham), k,
    ...         rng.binomial(k, drawn.p_destroy), k, cluster=drawn.cluster) for run in "ab")
    >>> result = reproducibility(a, b, population=population)
    >>> print(result.observed.pearson, round(result.predicted.pearson, 4))
    0.5... [0.5..., 0.6...] 0.5606
    >>> print(result.reliability_at(10))
    0.8... [0.7..., 0.8...]
    """
    check_counts(counts_a)
    check_counts(counts_b)
    if population is not None and not isinstance(population, Population):
        raise InputError(
            f"population is a {type(population).__name__}: it must be a Population, as"
            " fit_population(counts) gives one"
        )
    parsed = as_rule(rule)
    check_same_questions(counts_a, counts_b)
    both = counts_a.pool(counts_b)
    scored = counts_a.scored & counts_b.scored
    codes = None if both.cluster_codes is None else both.cluster_codes[scored]
    method = interval_method("t", level, codes)
    a, b = counts_a.select(scored), counts_b.select(scored)
    chosen = [parsed.selects(r.score_numerator, r.sham_replays * r.destroy_replays) for r in (a, b)]
    notes = [SAME_COUNTS] if len(a) and same_counts(a, b) else []
    if population is None and len(a):
        try:
            # The smooth "em" fit pulls agreement up; the replays of both runs identify it.
            population = fit_population(both.select(scored), method="npmle")
            notes.append(FITTED)
        except InputError as error:
            notes.append(f"no prediction: no population could be fitted: {error}")
    predicted = RunAgreement(math.nan, math.nan, math.nan)
    if population is not None and len(a):
        predicted = predict_agreement(population, a, b, parsed)
        notes.append(PREDICTED)
    observed = observe_agreement(a, b, chosen, codes, level)
    names = ("correlation", "agreement", "Jaccard index")
    read = [note for r in (counts_a, counts_b) if r.ledger for note in r.ledger.notes]
    reasons = zip(names, (estimate.note for estimate in observed), strict=True)
    return Reproducibility(
        observed=observed,
        predicted=predicted,
        population=population,
        rule=parsed,
        selected={
            "a": int(chosen[0].sum()),
            "b": int(chosen[1].sum()),
            "both": int((chosen[0] & chosen[1]).sum()),
        },
        k={
            f"{arm}_{name}": common_k(getattr(run, f"{arm}_replays"))
            for name, run in (("a", a), ("b", b))
            for arm in ("sham", "destroy")
        },
        questions=count_pairs(counts_a, counts_b),
        records={
            name: None if run.ledger is None else run.ledger.to_dict()
            for name, run in (("a", counts_a), ("b", counts_b))
        },
        clusters=None if codes is None else count_clusters(codes),
        interval=method,
        notes=tuple(dict.fromkeys([*read, *explain(reasons), *notes])),
    )


def spearman_brown(reliability: float, factor: float) -> float:
    """Reliability after multiplying the number of replays.

    Parameters
    ----------
    reliability : float
        Correlation of two runs, between 0 and 1.
    factor : float
        New replays over old ones, in both arms.

    Returns
    -------
    float
        factor·r/(1 + (factor − 1)·r).

    Examples
    --------
    >>> round(spearman_brown(.5606147, 10 / 3), 6)
    0.809633
    """
    return factor * reliability / (1 + (factor - 1) * reliability)
