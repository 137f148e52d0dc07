"""Routing rules that are wrong on purpose, each in one way."""

import itertools
import random

import numpy as np

__all__ = ["WRONG_RULES"]


def subtracted(counts):
    """The score as floats subtract it; NaN where an arm is empty."""
    with np.errstate(invalid="ignore"):
        sham = counts.sham_flips / counts.sham_replays
        return counts.destroy_flips / counts.destroy_replays - sham


class Named:
    """A rule of a name: propensities by a function of the counts."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def propensities(self, questions):
        return np.asarray(self.function(questions.counts), float)

    def __str__(self):
        return self.name


def compares_floats(counts):
    return subtracted(counts) <= 2 / 3


def compares_given_floats(scores):
    return scores <= 2 / 3


def undefined_as_zero(scores):
    return np.nan_to_num(scores) <= 0


def not_positive(scores):
    return ~(scores > 0)


def first_of_ties(counts):
    """The lowest score, and of several the one that comes first."""
    scored = np.flatnonzero(counts.scored)
    chosen = np.zeros(len(counts))
    if scored.size:
        chosen[scored[np.argmin(counts.score[scored])]] = 1
    return chosen


def first_half(counts):
    return counts.scored & (np.arange(len(counts)) < (len(counts) + 1) // 2)


def by_name(counts):
    return counts.scored & np.char.startswith(counts.question, "q")


def by_ledger(counts):
    return counts.scored & (counts.ledger is not None)


def drawn_globally(counts):
    return counts.scored & (np.array([random.random() for _ in range(len(counts))]) < 0.5)


def drawn(counts):
    return counts.scored * np.random.default_rng().random(len(counts))


_calls = itertools.count()


def every_other_call(counts):
    return counts.scored * float(next(_calls) % 2)


def per_cent(counts):
    return 100.0 * (counts.scored & (counts.score_numerator <= 0))


def scored_rows_only(counts):
    return (counts.score_numerator <= 0)[counts.scored]


def divides(counts):
    flips = zip(counts.destroy_flips.tolist(), counts.destroy_replays.tolist(), strict=True)
    return [float(y / k == 0) for y, k in flips]


def fills_in(scores):
    scores[np.isnan(scores)] = 1
    return scores <= 0


def notes_down(questions):
    questions.covariates["seen"] = questions.counts.score
    return questions.counts.scored & (questions.counts.score_numerator <= 0)


def counts_of_flips(counts):
    """Compares numbers of flips, whatever there were of replays."""
    return counts.scored & (counts.destroy_flips <= counts.sham_flips)


def of_planned_replays(counts):
    """Divides by the replays that were planned, invalid ones among them."""
    planned = counts.sham_replays + counts.sham_invalid
    planned_destroy = counts.destroy_replays + counts.destroy_invalid
    return counts.scored & (counts.destroy_flips * planned <= counts.sham_flips * planned_destroy)


def all_valid_only(counts):
    return counts.scored & (counts.score_numerator <= 0) & (counts.destroy_invalid == 0)


def stable_alone(counts):
    return counts.scored & (counts.score_numerator <= 0) & (counts.self_flips == 0)


def steady_kept(counts):
    steady = (counts.self_replays > 0) & (counts.self_flips == 0)
    return counts.scored & (counts.score_numerator <= 0) & ~steady


def restless_kept(counts):
    restless = (counts.self_replays >= 3) & (counts.self_flips == counts.self_replays)
    return counts.scored & (counts.score_numerator <= 0) & ~restless


def by_cluster(counts):
    kept = counts.scored & (counts.score_numerator <= 0)
    return kept if counts.cluster is None else kept & (counts.cluster != counts.cluster[-1])


def writes_to_counts(counts):
    chosen = counts.scored & (counts.score_numerator <= 0)
    counts.sham_flips[:] = 0
    return chosen


WRONG_RULES = {
    # name: (rule, the check that fails first, the smallest table as (x, k_sham, y, k_destroy) rows)
    "compares floats": (compares_floats, "ties", [(0, 1, 2, 3), (1, 3, 1, 1)]),
    "compares given floats": (
        compares_given_floats, "float scores", [(0, 1, 2, 3), (1, 3, 1, 1)],
    ),
    "undefined as 0": (undefined_as_zero, "undefined scores", [(0, 0, 0, 0)]),
    "not positive": (not_positive, "undefined scores", [(0, 0, 0, 0)]),
    "first of ties": (first_of_ties, "ties", [(0, 1, 0, 1), (0, 1, 0, 1)]),
    "first half of the rows": (first_half, "ties", [(0, 1, 0, 1), (0, 1, 0, 1)]),
    "by the names": (by_name, "names", [(0, 1, 0, 1)]),
    "by the ledger": (by_ledger, "names", [(0, 1, 0, 1)]),
    "drawn globally": (drawn_globally, "generators", [(0, 0, 0, 0)]),
    "drawn": (drawn, "repeatable", [(0, 1, 0, 1)]),
    "every other call": (every_other_call, "repeatable", [(0, 1, 0, 1)]),
    "per cent": (per_cent, "propensities", [(0, 1, 0, 1)]),
    "scored rows only": (scored_rows_only, "propensities", [(0, 0, 0, 0)]),
    "divides by no replay": (divides, "runs", [(0, 0, 0, 0)]),
    "fills in the scores it is given": (fills_in, "input", [(0, 0, 0, 0)]),
    "notes down in the covariates": (notes_down, "input", [(0, 0, 0, 0)]),
    "divides by the planned replays": (of_planned_replays, "other replays", [(1, 1, 1, 1)]),
    "asks for all valid": (all_valid_only, "other replays", [(0, 1, 0, 1)]),
    "asks for a stable SELF": (stable_alone, "other replays", [(0, 1, 0, 1)]),
    "keeps what SELF keeps": (steady_kept, "other replays", [(0, 1, 0, 1)]),
    "keeps what SELF always flips": (restless_kept, "other replays", [(0, 1, 0, 1)]),
    "by the cluster": (by_cluster, "names", [(0, 1, 0, 1)]),
    "writes to the counts": (writes_to_counts, "input", [(0, 0, 0, 0)]),
    "compares numbers of flips": (counts_of_flips, "ties", [(0, 1, 0, 1), (1, 1, 2, 2)]),
    "strict, and says it is not": (
        Named("score <= 0", lambda c: c.scored & (c.score_numerator < 0)),
        "thresholds", [(0, 1, 0, 1)],
    ),
    "arms swapped": (
        Named("score < 0", lambda c: c.scored & (c.score_numerator > 0)),
        "thresholds", [(0, 1, 1, 1)],
    ),
    "rounds to one decimal": (
        Named("score <= 0.3", lambda c: np.round(c.score, 1) <= 0.3),
        "thresholds", [(0, 1, 1, 3)],
    ),
    "floats under a name": (
        Named("score <= 2/3", lambda c: subtracted(c) <= 2 / 3), "thresholds", [(1, 3, 1, 1)],
    ),
}  # fmt: skip
