"""Deliberately wrong estimators of the score, each with the checks that must catch it.

They are what people write: none knows of carve_stats. Where a fault is not about floats they
compute in fractions, so that nothing but the fault fails.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

__all__ = ["WRONG"]

WRONG = {}

# What fails wherever a value is wrong for valid replays.
VALUE = {"value", "thresholds", "distribution"}
BIASED = VALUE | {"unbiased"}


def wrong(*failing):
    def keep(function):
        WRONG[function.__name__] = function, set(failing)
        return function

    return keep


def valid(arm):
    return [flip for flip in arm if flip is not None]


def rate(arm):
    return Fraction(sum(arm), len(arm))


def both_rates(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    return (rate(sham), rate(destroy)) if sham and destroy else None


def right(sham, destroy):
    rates = both_rates(sham, destroy)
    return None if rates is None else rates[1] - rates[0]


@wrong(*BIASED, "sign")
def arms_swapped(sham, destroy):
    return right(destroy, sham)


@wrong("invalid replays", "undefined")
def invalid_counted_as_no_flip(sham, destroy):
    return right([f or 0 for f in sham], [f or 0 for f in destroy])


@wrong("invalid replays", "undefined")
def invalid_counted_as_a_flip(sham, destroy):
    return right([f in (None, 1) for f in sham], [f in (None, 1) for f in destroy])


@wrong("invalid replays")
def a_question_with_an_invalid_replay_dropped(sham, destroy):
    return None if None in sham or None in destroy else right(sham, destroy)


@wrong("invalid replays")
def nan_not_left_out(sham: np.ndarray, destroy: np.ndarray):
    k_sham, k_destroy = sham.size, destroy.size
    if not (k_sham and k_destroy):
        return np.nan
    return (destroy.sum() * k_sham - sham.sum() * k_destroy) / (k_sham * k_destroy)


@wrong("invalid replays")
def none_not_understood(sham, destroy):
    return rate(destroy) - rate(sham) if sham and destroy else None


@wrong(*BIASED, "relabelling", "support", "sign")
def ddof_of_one(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    if not (sham and destroy):
        return None
    return Fraction(sum(destroy), max(len(destroy) - 1, 1)) - Fraction(
        sum(sham), max(len(sham) - 1, 1)
    )


@wrong("thresholds")
def naive_floats(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    if not (sham and destroy):
        return None
    return sum(destroy) / len(destroy) - sum(sham) / len(sham)


@wrong("thresholds")
def nan_means(sham: np.ndarray, destroy: np.ndarray):
    return np.nanmean(destroy) - np.nanmean(sham)


@wrong(*VALUE, "sign", "order")
def only_the_first_replay(sham, destroy):
    return right(valid(sham)[:1], valid(destroy)[:1])


@wrong(*BIASED, "sign", "relabelling")
def max_instead_of_mean(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    return max(destroy) - max(sham) if sham and destroy else None


@wrong("self")
def self_subtracted(sham, destroy, self_flips):
    score = right(sham, destroy)
    own = valid(self_flips)
    return score if score is None or not own else score - rate(own)


@wrong("self")
def needs_self_replays(sham, destroy, self_flips):
    return right(sham, destroy) if valid(self_flips) else None


@wrong(*BIASED, "relabelling", "invalid replays", "sign")
def divided_by_the_planned_k(sham, destroy, k):
    sham, destroy = valid(sham), valid(destroy)
    return Fraction(sum(destroy) - sum(sham), k) if sham and destroy else None


@wrong("undefined")
def undefined_as_zero(sham, destroy):
    return right(sham, destroy) or 0


@wrong("undefined")
def one_arm_is_enough(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    if not sham and not destroy:
        return None
    return (rate(destroy) if destroy else 0) - (rate(sham) if sham else 0)


@wrong("runs")
def divides_by_zero(sham, destroy):
    return rate(valid(destroy)) - rate(valid(sham))


@wrong(*BIASED, "sign", "support", "arm swap", "relabelling")
def ratio_of_rates(sham, destroy):
    rates = both_rates(sham, destroy)
    return rates[1] / rates[0] if rates and rates[0] else None


@wrong(*BIASED, "sign", "arm swap", "relabelling")
def absolute_value(sham, destroy):
    score = right(sham, destroy)
    return None if score is None else abs(score)


@wrong(*BIASED, "sign", "arm swap", "relabelling")
def clipped_at_zero(sham, destroy):
    score = right(sham, destroy)
    return None if score is None else max(score, Fraction(0))


@wrong(*BIASED, "support")
def rounded_to_two_decimals(sham, destroy):
    score = right(sham, destroy)
    return None if score is None else round(float(score), 2)


@wrong(*BIASED, "support")
def single_precision(sham: np.ndarray, destroy: np.ndarray):
    sham, destroy = sham[~np.isnan(sham)], destroy[~np.isnan(destroy)]
    if not (sham.size and destroy.size):
        return np.float32("nan")
    difference = destroy.sum() * sham.size - sham.sum() * destroy.size
    return np.float32(difference / (sham.size * destroy.size))


@wrong(*BIASED, "support", "sign")
def shrunk_towards_one_half(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    if not (sham and destroy):
        return None
    return rate([*destroy, 0, 1]) - rate([*sham, 0, 1])


@wrong(*VALUE, "sign", "support", "order")
def later_replays_weigh_more(sham, destroy):
    def weighted(arm):
        return Fraction(sum(i * f for i, f in enumerate(arm, 1)), sum(range(len(arm) + 1)))

    sham, destroy = valid(sham), valid(destroy)
    return weighted(destroy) - weighted(sham) if sham and destroy else None


@wrong(*VALUE, "sign", "order", "support")
def first_replay_left_out(sham, destroy):
    return right(valid(sham)[1:] or valid(sham), valid(destroy)[1:] or valid(destroy))


@wrong(*BIASED, "sign", "order", "relabelling")
def changes_counted(sham, destroy):
    """A Markov chain's idea of a flip: a replay that differs from the one before."""

    def changed(arm):
        return rate([a != b for a, b in zip([0, *arm], arm, strict=False)])

    sham, destroy = valid(sham), valid(destroy)
    return changed(destroy) - changed(sham) if sham and destroy else None


@wrong(*BIASED, "sign", "relabelling")
def pairs_of_repetitions_only(sham, destroy):
    n = min(len(valid(sham)), len(valid(destroy)))
    return right(sorted(valid(sham))[:n], sorted(valid(destroy))[:n])


@wrong(*BIASED, "sign", "support", "arm swap", "relabelling")
def half_a_tie_added(sham, destroy):
    score = right(sham, destroy)
    return Fraction(1, 1000) if score == 0 else score


@wrong("repeatable")
def remembers_the_last_question(sham, destroy, _seen={}):  # noqa: B006 (that is the fault)
    key = tuple(sham), tuple(destroy)
    again = _seen.setdefault(key, 0)
    _seen[key] += 1
    score = right(sham, destroy)
    return score if not again or score is None else score / 2 + again


@wrong("input")
def removes_invalid_replays_in_place(sham, destroy):
    for arm in (sham, destroy):
        while None in arm:
            arm.remove(None)
    return right(sham, destroy)
