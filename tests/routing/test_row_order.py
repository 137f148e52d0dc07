"""The order of the rows changes no figure of any routing function; other ids change none either."""

import itertools
import math

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.counts import ReplayCounts
from carve_stats.logs.outcomes import read_outcomes
from carve_stats.outcomes import Answerer, Outcomes
from carve_stats.routing.comparison import compare_rules
from carve_stats.routing.controls import random_control, strata_codes
from carve_stats.routing.curve import routing_curve
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.frontier import deferral_frontier
from carve_stats.routing.joined import join
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.score_values import score_values

RULES = [
    "score <= 0", "score < 1/3", "score = 0", "lowest 17", "lowest 11 confidence",
    "confidence < 0.5", "random 13", "always", "never",
]  # fmt: skip
BOOTSTRAP = {"interval": "bootstrap", "rng": 3, "resamples": 100}
SEEDS = st.integers(0, 2**32 - 1)


def random_table(seed, n=40, k=2):
    """One row a question: replays, outcomes, costs and covariates, with ties and gaps."""
    rng = np.random.default_rng(seed)
    made = rng.choice([0, 1, *[k] * 6], (2, n))
    flips = rng.binomial(made, rng.choice([0.2, 0.5, 0.8], (2, n)))
    right = rng.binomial(1, [[0.4], [0.6]], (2, n)).astype(float)
    right[:, rng.random(n) < 0.05] = math.nan
    right[1, rng.random(n) < 0.05] = math.nan
    tokens = np.where(rng.random((2, n)) < 0.03, math.nan, rng.integers(1, 900, (2, n)))
    return pandas.DataFrame(
        {
            "question_id": [f"q{i:02d}" for i in rng.permutation(n)],
            "video_id": [f"v{v}" for v in rng.integers(0, 5, n)],
            "sham_flips": flips[0],
            "sham_replays": made[0],
            "destroy_flips": flips[1],
            "destroy_replays": made[1],
            "original_correct": right[0],
            "strong_correct": right[1],
            "original_tokens": tokens[0],
            "strong_tokens": tokens[1],
            "confidence": np.where(rng.random(n) < 0.1, math.nan, rng.integers(0, 7, n) / 6),
            "kind": rng.choice(["a", "b", ""], n),
        }
    )


def counts_of(table, ids=None):
    columns = ["sham_flips", "sham_replays", "destroy_flips", "destroy_replays"]
    flips = (table[name].to_numpy() for name in columns)
    ids = table["question_id"].to_numpy(str) if ids is None else ids
    return ReplayCounts(ids, *flips, cluster=table["video_id"].to_numpy(str))


def outcomes_of(table, ids=None):
    def answerer(name):
        return Answerer(table[f"{name}_correct"].to_numpy(), table[f"{name}_tokens"].to_numpy())

    return Outcomes(
        table["question_id"].to_numpy(str) if ids is None else ids,
        table["original_correct"].to_numpy(),
        {"strong": answerer("strong")},
        cluster=table["video_id"].to_numpy(str),
        original_tokens=table["original_tokens"].to_numpy(),
        covariates={
            "confidence": table["confidence"].to_numpy(),
            "kind": table["kind"].to_numpy(str),
        },
    )


def evaluations(counts, outcomes):
    for rule in RULES:
        for options in ({}, BOOTSTRAP):
            match = ["kind", "confidence"]
            yield evaluate_rule(counts, outcomes, rule, match=match, **options).to_dict()


def comparisons(counts, outcomes):
    for a, b in itertools.pairwise(RULES):
        for options in ({}, BOOTSTRAP):
            yield compare_rules(counts, outcomes, a, b, **options).to_dict()


def curves(counts, outcomes):
    for rule in ("score <= 0", "score > 1/3", "score = 0"):
        yield routing_curve(counts, outcomes, rule, k=[1, 2]).to_dict()


def predicted(counts, outcomes):
    yield routing_curve(counts, outcomes, k=[1, 3]).to_dict()


def fitted(counts, outcomes):
    """What a fitted population goes into, which takes its time."""
    yield from predicted(counts, outcomes)
    yield evaluate_rule(counts, outcomes, "posterior mean <= 0").to_dict()
    yield compare_rules(counts, outcomes, "score <= 0", "posterior probability >= 0.5").to_dict()


def scores(counts, outcomes):
    for k in (1, None):
        yield score_values(counts, outcomes, k=k).to_dict()


def frontiers(counts, outcomes):
    for by in ("score", "confidence"):
        yield deferral_frontier(counts, outcomes, by).to_dict()


FUNCTIONS = [evaluations, comparisons, curves, scores, frontiers]


def shuffled(table, seed):
    return table.iloc[np.random.default_rng(seed).permutation(len(table))]


@pytest.mark.parametrize("function", FUNCTIONS)
@given(SEEDS, SEEDS, SEEDS)
@settings(max_examples=4)
def test_row_order_changes_no_figure(function, seed, left, right):
    table = random_table(seed)
    expected = list(function(counts_of(table), outcomes_of(table)))
    a, b = shuffled(table, left), shuffled(table, right)
    assert list(function(counts_of(a), outcomes_of(b))) == expected


def test_row_order_changes_no_figure_of_a_fit():
    table = random_table(5)
    expected = list(fitted(counts_of(table), outcomes_of(table)))
    a, b = shuffled(table, 1), shuffled(table, 2)
    assert list(fitted(counts_of(a), outcomes_of(b))) == expected


@given(SEEDS, SEEDS)
@settings(max_examples=3)
def test_row_order_of_a_table_that_is_read(seed, order):
    names = ["question_id", "video_id", "original_correct", "strong_correct", "original_tokens"]
    names += ["strong_tokens", "confidence", "kind"]
    table = random_table(seed)
    ours, theirs = read_outcomes(table[names]), read_outcomes(shuffled(table, order)[names])
    assert str(theirs.to_dict()) == str(ours.to_dict())  # as texts: NaN is no NaN's equal
    assert theirs.ledger == ours.ledger
    counts = counts_of(table)
    found, expected = (
        evaluate_rule(counts, outcomes, "lowest 11 confidence", match="kind").to_dict()
        for outcomes in (theirs, outcomes_of(table))
    )
    del found["notes"], expected["notes"]  # the table's has what was read
    assert found == expected


@pytest.mark.parametrize("strata", [False, True])
@given(SEEDS, SEEDS)
@settings(max_examples=4)
def test_row_order_changes_no_random_control(strata, seed, order):
    table = random_table(seed)
    data = join(counts_of(table), outcomes_of(table))
    places = np.random.default_rng(order).permutation(len(data))
    for rule in RULES:
        e = as_routing_rule(rule).propensities(data.rule_input)
        columns = data.codes, data.covariates["kind"]
        codes = strata_codes(*columns) if strata else None
        again = strata_codes(*(column[places] for column in columns)) if strata else None
        expected = random_control(data.value, e, codes)
        found = random_control(data.value[places], e[places], again)
        assert found.to_dict() == expected.to_dict()
        assert found.note == expected.note


def agree(ours, theirs):
    """Whether two results are the same but for the rounding of sums in another order."""
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for name in ours:
            agree(ours[name], theirs[name])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other)
    elif isinstance(ours, float):
        assert theirs == pytest.approx(ours, rel=1e-11, abs=1e-11)
    else:
        assert ours == theirs


@pytest.mark.parametrize("function", [*FUNCTIONS, predicted])
def test_the_order_of_the_ids_changes_no_figure(function):
    """Ids decide in which order the questions are added up, and nothing else.

    Resamples are drawn by the cluster, whose names stay, and added up in single precision.
    """
    table = random_table(7)
    ids = np.random.default_rng(7).permutation(table["question_id"].to_numpy(str))
    ours = function(counts_of(table), outcomes_of(table))
    theirs = function(counts_of(table, ids), outcomes_of(table, ids))
    for one, other in zip(ours, theirs, strict=True):
        agree(one, other)
