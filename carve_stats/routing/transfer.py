"""Whether a rule that was chosen on some videos gains on others, and with another backbone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import check_level, explain, interval_method
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.joined_runs import same_counts
from carve_stats.law._arguments import generator, one_whole_number
from carve_stats.law.score_rule import ScoreRule
from carve_stats.outcomes import Outcomes
from carve_stats.routing.evaluate import unscored_notes
from carve_stats.routing.joined import RoutingData, join
from carve_stats.routing.rules.base import (
    Rule,
    looks_at_scores,
    rule_notes,
    rule_propensities,
)
from carve_stats.routing.rules.never import Never
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.transfer_result import RuleTransfer, SplitGain, TransferRule
from carve_stats.routing.value import DeferralValue, deferral_value
from carve_stats.routing.video_splits import SideSums, choose_rule, split_outcomes

__all__ = ["RULES", "rule_transfer"]

Floats = NDArray[np.float64]

RULES = ("score < 0", "score = 0", "score <= 0", "never")

SPREAD = (
    "the SD and range over splits are no standard error or interval: all splits share the same"
    " videos; the rows of the rules have intervals over videos"
)
NO_COMMON = (
    "source and target have no video in common: the rule is chosen on half of the source's videos"
    " and evaluated on half of the target's"
)
OTHER_QUESTIONS = (
    "{n} of questions in common, each of another video in the source than in the target: taken for"
    " different questions"
)
SAME = (
    "source and target are the same replays and outcomes: the transfer is to other videos only, and"
    " the transfer gain is the source gain"
)
NO_GAIN = "no rule gains on the source as a whole: what a split chooses there is chance"
FEW = (
    "the source has {n}: with half of so few, which rule is chosen and what it gains depend on"
    " single videos"
)
EMPTY = "{n} of {splits} splits leave no question of the {side} to evaluate, and are not counted"
ALL_EMPTY = "no split leaves a question of the {side} to evaluate"
_FEW_VIDEOS = 10


def rule_transfer(
    source_counts: ReplayCounts,
    source_outcomes: Outcomes,
    target_counts: ReplayCounts,
    target_outcomes: Outcomes,
    *,
    rng: np.random.Generator | int,
    rules: Sequence[Rule | ScoreRule | str] = RULES,
    splits: int = 400,
    level: float = 0.95,
    fallback: str | None = None,
    target_fallback: str | None = None,
    allow_mismatch: bool = False,
) -> RuleTransfer:
    """What a rule gains on videos and on a backbone that it was not chosen on.

    Parameters
    ----------
    source_counts, source_outcomes : ReplayCounts, Outcomes
        Replays and outcomes of the side that rules are chosen on, joined by question id.
    target_counts, target_outcomes : ReplayCounts, Outcomes
        Those of the other side: another backbone on the same questions, or another benchmark.
        May be the same as the source's: the transfer gain is then the source gain.
    rng : numpy.random.Generator or int
        The source of randomness of the splits, or a seed.
    rules : sequence of Rule, ScoreRule or str
        The rules to choose from; texts as in `as_routing_rule`.
    splits : int
        How many splits, at least 1.
    level : float
        Confidence level of the rules' intervals, and the share of the splits' central range.
    fallback, target_fallback : str, optional
        Which alternative answers the deferred questions of either side; needed where there are
        several. That of the target is called as the source's unless it is given.
    allow_mismatch : bool
        As for `evaluate_rule`, on both sides.

    Returns
    -------
    RuleTransfer
        What is not defined is NaN or None, with a note.

    Raises
    ------
    InputError
        Ids that do not match, unknown clusters, a source of fewer than two videos, a target
        without a question, a rule on scores and a side without any, no rule or the same one
        twice; what `evaluate_rule` raises.

    Notes
    -----
    Each split draws half of the source's videos (the smaller half of an odd number). The rule with
    the largest gain there is chosen; of equal ones that with fewer calls, then ``never``, then the
    first: a rule that selects no question there has shown no gain and is not to be credited with
    one elsewhere. It is
    evaluated on the rest of the source, and on the target: on its videos that the source also has
    and that were not drawn, and on half of its videos that the source does not have, so that a
    target of other videos is as spread over splits as a source of as many. Of an odd number it is
    the larger half, as what is left of the source is: a single video of the target is evaluated in
    every split. No video serves for both, since its questions are alike under either backbone.
    Videos are the same where their ids are.

    A split's gain is 100·net/questions of its own half. Rules that look at all questions of their
    side at once, such as ``lowest 538`` or those on a posterior, do so before the split.

    References
    ----------
    - `proofs/thm_yield.py`: gain and yield of each rule, and their standard errors.

    Examples
    --------
    >>> ids, videos = ["a", "b", "c", "d"], ["v", "w", "x", "y"]
    >>> counts = ReplayCounts(ids, [2] * 4, [3] * 4, [1] * 4, [3] * 4, cluster=videos)
    >>> outcomes = Outcomes(ids, [0, 0, 0, 0], {"strong": [1, 1, 1, 1]})
    >>> result = rule_transfer(counts, outcomes, counts, outcomes, rng=1)
    >>> result.best_source, result.source_gain.mean, result.transfer_gain.mean
    ('score < 0', 100.0, 100.0)
    """
    chosen_from = _rules(rules)
    repeats = one_whole_number("splits", splits)
    split_rng = generator(rng)
    source, target = (
        join(counts, outcomes, fallback=name, allow_mismatch=allow_mismatch, stopped=True)
        for counts, outcomes, name in (
            (source_counts, source_outcomes, fallback),
            (target_counts, target_outcomes, target_fallback or fallback),
        )
    )
    sides = {"source": _side("source", source, chosen_from, level)}
    sides["target"] = _side("target", target, chosen_from, level)
    told = _check_same_videos(source, target)
    if _are_same(source, target):
        told.append(SAME)
    source_sums, target_sums = _side_sums(sides["source"], sides["target"])
    # A rule that defers none of these questions is no better than to defer none at all.
    order = np.array(sorted(range(len(chosen_from)), key=lambda i: not _is_never(chosen_from[i])))
    outcome = split_outcomes(source_sums, target_sums, order, repeats, split_rng)
    times = np.bincount(outcome.chosen, minlength=len(chosen_from))
    best_source, best_target = (
        str(chosen_from[int(choose_rule(one.net.sum(0)[None], one.calls.sum(0)[None], order)[0])])
        for one in (source_sums, target_sums)
    )
    gains = {
        "source": _over_splits(outcome.source, level),
        "target": _over_splits(outcome.target, level),
    }
    videos = {name: int(np.unique(side.videos).size) for name, side in sides.items()}
    videos["common"] = int(np.intersect1d(sides["source"].videos, sides["target"].videos).size)
    described = tuple(
        TransferRule(rule=str(rule), chosen=int(n) / repeats, source=of_source, target=of_target)
        for rule, n, of_source, of_target in zip(
            chosen_from, times, sides["source"].values, sides["target"].values, strict=True
        )
    )
    notes = [SPREAD, *told, *_split_notes(gains, videos, described, repeats)]
    for name, side in sides.items():
        notes += [f"{name}: {note}" for note in side.notes]
    notes += explain(
        (f"{name} gain of {rule!s}", value.gain_points.note)
        for rule, *values in zip(
            chosen_from, sides["source"].values, sides["target"].values, strict=True
        )
        if not _is_never(rule)  # whose gain is 0 by its name
        for name, value in zip(sides, values, strict=True)
    )
    return RuleTransfer(
        rules=described,
        best_source=best_source,
        best_target=best_target,
        source_gain=gains["source"],
        transfer_gain=gains["target"],
        splits=repeats,
        fallback={name: side.data.fallback_name for name, side in sides.items()},
        questions={name: side.data.questions for name, side in sides.items()},
        videos=videos,
        level=check_level(level),
        notes=tuple(dict.fromkeys(notes)),
    )


def _is_never(rule: Rule) -> bool:
    return isinstance(rule, Never)


class _Side(NamedTuple):
    """One side: its questions, their videos, and what each rule does with them."""

    data: RoutingData
    videos: NDArray[np.str_]
    propensities: list[Floats]
    values: list[DeferralValue]
    notes: list[str]


def _side(name: str, data: RoutingData, rules: list[Rule], level: float) -> _Side:
    if not len(data):
        raise InputError(
            f"{name}: no question has a known outcome of both the original and the fallback, and"
            " there is nothing to evaluate"
        )
    videos = data.counts.cluster
    if videos is None:
        raise InputError(
            f"{name}: which questions share a video is not known, and splits are of videos: give"
            " cluster= in the counts or in the outcomes"
        )
    if name == "source" and np.unique(videos).size < 2:
        raise InputError(
            "source: all questions belong to one video, which cannot be split: give at least two"
        )
    on_scores = [str(rule) for rule in rules if looks_at_scores(rule)]
    if on_scores and not data.scored.any():
        raise InputError(
            f"{name}: no question has a score (a valid SHAM and a valid DESTROY replay), and the"
            f" rule {on_scores[0]!r} needs one: give other replays, or rules on covariates"
        )
    method = interval_method("t", level, data.codes)
    propensities = [rule_propensities(rule, data.rule_input) for rule in rules]
    notes = [*data.notes, *unscored_notes(np.max(propensities, axis=0), data)]
    for rule in rules:
        notes += rule_notes(rule, data.rule_input)
    values = [deferral_value(e, data, method=method) for e in propensities]
    return _Side(data, videos, propensities, values, notes)


def _check_same_videos(source: RoutingData, target: RoutingData) -> list[str]:
    """Refuse a question of one video here and another there; a note where all ids are so."""
    a, b = source.counts, target.counts
    assert a.cluster is not None
    assert b.cluster is not None
    common, of_a, of_b = np.intersect1d(a.question, b.question, return_indices=True)
    differ = np.flatnonzero(a.cluster[of_a] != b.cluster[of_b])
    # Where none agrees these are two benchmarks that both number their questions from 1.
    if 0 < differ.size < common.size:
        i = differ[0]
        raise InputError(
            f"question={str(common[i])!r} is in cluster {str(a.cluster[of_a[i]])!r} in the source"
            f" and in {str(b.cluster[of_b[i]])!r} in the target: a question has one video"
        )
    return [OTHER_QUESTIONS.format(n=_display.counted(common.size, "id"))] if differ.size else []


def _are_same(source: RoutingData, target: RoutingData) -> bool:
    """Whether both sides are the same questions with the same replays and outcomes."""
    pairs = (
        (source.counts.cluster, target.counts.cluster),
        (source.original, target.original),
        (source.fallback, target.fallback),
    )
    return same_counts(source.counts, target.counts) and all(
        a is not None and b is not None and np.array_equal(a, b) for a, b in pairs
    )


def _side_sums(source: _Side, target: _Side) -> tuple[SideSums, SideSums]:
    """Sums within videos, over the videos of both sides in the order of their ids."""
    names = np.unique(np.concatenate([source.videos, target.videos]))

    def of_side(side: _Side) -> SideSums:
        place = np.searchsorted(names, side.videos)

        def summed(values: Floats) -> Floats:
            return np.bincount(place, values, names.size).astype(np.float64)

        return SideSums(
            summed(np.ones(place.size)),
            np.stack([summed(e * side.data.value) for e in side.propensities], axis=1),
            np.stack([summed(e) for e in side.propensities], axis=1),
        )

    return of_side(source), of_side(target)


def _split_notes(
    gains: Mapping[str, SplitGain],
    videos: Mapping[str, int],
    rules: Sequence[TransferRule],
    splits: int,
) -> list[str]:
    notes = []
    if not videos["common"]:
        notes.append(NO_COMMON)
    if videos["source"] < _FEW_VIDEOS:
        notes.append(FEW.format(n=_display.counted(videos["source"], "video")))
    if all(rule.source.net <= 0 for rule in rules):
        notes.append(NO_GAIN)
    for side, gain in gains.items():
        if not gain.splits:
            notes.append(ALL_EMPTY.format(side=side))
        elif gain.splits < splits:
            notes.append(EMPTY.format(n=splits - gain.splits, splits=splits, side=side))
    return notes


def _rules(rules: object) -> list[Rule]:
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise InputError(f"rules={rules!r} must be a list of rules, such as {list(RULES)}")
    found = [as_routing_rule(rule) for rule in rules]
    if not found:
        raise InputError(f"rules is empty: give at least one, such as {RULES[0]!r}")
    names = [str(rule) for rule in found]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"rules: {name!r} is there twice: give each rule once")
    return found


def _over_splits(gains: Floats, level: float) -> SplitGain:
    known = gains[~np.isnan(gains)]
    if not known.size:
        return SplitGain(mean=math.nan, sd=None, low=None, high=None, splits=0)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return SplitGain(
        mean=float(known.mean()),
        sd=float(known.std(ddof=1)) if known.size > 1 else None,
        low=float(low),
        high=float(high),
        splits=known.size,
    )
