"""Where scores go between two k: nested choices of replays, nested binomial sums, and the net."""

import itertools
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from curve_cases import COMPARE, rows_of, selects, uneven_log, used, values_of
from routing_cases import random_log
from scipy import stats

from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.grid import cell_matrix
from carve_stats.population.mixing import Population
from carve_stats.routing.curve import routing_curve
from carve_stats.routing.groups import VALUES, ValueGroups
from carve_stats.routing.transitions import MODELLED, score_transitions

RULES = ["score <= 0", "score < 1/3", "score = 0", "score >= -1/2", "score > 1/3"]
CLASSES = ("<", "=", ">")


def place(score, threshold):
    return next(i for i, sign in enumerate(CLASSES) if COMPARE[sign](score, threshold))


@cache
def nested(threshold, x, k_sham, y, k_destroy, from_k, to_k):
    """Shares of the nine transitions over all nested choices of replays of both arms."""
    arms = []
    for flips, made in ((x, k_sham), (y, k_destroy)):
        one = [1] * flips + [0] * (made - flips)
        arms.append(
            [
                (sum(small), sum(large))
                for large in itertools.combinations(one, to_k)
                for small in itertools.combinations(large, from_k)
            ]
        )
    tally = {}
    for (a, more_a), (b, more_b) in itertools.product(*arms):
        before = place(Fraction(b - a, from_k), threshold)
        after = place(Fraction(more_b - more_a, to_k), threshold)
        tally[before, after] = tally.get((before, after), 0) + 1
    total = sum(tally.values())
    return np.array(
        [[float(Fraction(tally.get((i, j), 0), total)) for j in range(3)] for i in range(3)]
    )


@pytest.mark.parametrize("threshold", ["0", "1/3", "-1/2"])
@pytest.mark.parametrize(("from_k", "to_k"), [(2, 3), (1, 2)])
def test_exact_ones_are_those_of_all_nested_choices(rng, threshold, from_k, to_k):
    counts, outcomes = uneven_log(rng, k=3, n=120, smaller=6)
    mask = used(counts, 3)
    curve = routing_curve(counts, outcomes, f"score <= {threshold}", k=[from_k, to_k])
    found = curve.transitions
    assert (found.from_k, found.to_k, found.predicted) == (from_k, to_k, False)
    expected = {1: np.zeros((3, 3)), -1: np.zeros((3, 3)), 0: np.zeros((3, 3))}
    for row, value, one in zip(rows_of(counts), values_of(outcomes), mask, strict=True):
        if one and row[1] and row[3]:
            expected[value] += nested(Fraction(threshold), *row, from_k, to_k)
    assert found.repairs == pytest.approx(expected[1], abs=1e-10)
    assert found.harms == pytest.approx(expected[-1], abs=1e-10)
    assert found.questions == pytest.approx(sum(expected.values()), abs=1e-10)
    assert found.questions.sum() == pytest.approx(curve.questions["scored"], abs=1e-9)
    # Rows and columns are the classes at each k, as rules of their own.
    for i, sign in enumerate(CLASSES):
        points = routing_curve(
            counts, outcomes, f"score {sign} {threshold}", k=[from_k, to_k]
        ).points
        assert found.questions[i].sum() == pytest.approx(points[0].selected, abs=1e-9)
        assert found.questions[:, i].sum() == pytest.approx(points[1].selected, abs=1e-9)
        assert found.repairs[i].sum() == pytest.approx(points[0].repairs, abs=1e-9)
        assert found.harms[:, i].sum() == pytest.approx(points[1].harms, abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_the_change_of_net_is_the_difference_of_the_curve(rng, rule):
    counts, outcomes = uneven_log(rng, k=4)
    for wanted in ([1, 4], [2, 3], [1, 2, 3, 4]):
        curve = routing_curve(counts, outcomes, rule, k=wanted)
        first, last = curve.points[0], curve.points[-1]
        found = curve.transitions
        assert (found.from_k, found.to_k) == (wanted[0], wanted[-1])
        assert found.change.sum() == pytest.approx(last.net - first.net, abs=1e-10)
        assert found.to_dict()["change_of_net"] == found.change.sum()
        for i, j in itertools.product(range(3), range(3)):
            signs = [sign in rule.split()[1] for sign in (CLASSES[i], CLASSES[j])]
            net = found.repairs[i, j] - found.harms[i, j]
            assert found.change[i, j] == pytest.approx((signs[1] - signs[0]) * net, abs=1e-12)


def test_one_k_has_no_transitions(rng):
    assert routing_curve(*random_log(rng, n=20), k=[2]).transitions is None


SIZES = (300, 200, 400)


def known_groups(rng):
    """Three populations that are known, and questions that are just as they have them."""
    populations = tuple(
        Population(rng.random(4), rng.random(4), rng.dirichlet(np.ones(4))) for _ in VALUES
    )
    observed = [
        size * cell_matrix(1, 1, one.p_sham, one.p_destroy) @ one.weights
        for size, one in zip(SIZES, populations, strict=True)
    ]
    return ValueGroups(1, 1000, np.array(observed), populations, (None, None), None)


@pytest.mark.parametrize("rule", ["score <= 0", "score > 1/3"])
@pytest.mark.parametrize(("from_k", "to_k"), [(1, 2), (2, 3), (3, 5)])
def test_predicted_ones_are_nested_binomial_sums(rng, rule, from_k, to_k):
    """The replays at the larger k are those at the smaller one and others, all alike."""
    groups = known_groups(rng)
    threshold, more = Fraction(rule.split()[2]), to_k - from_k
    expected = []
    for population, size in zip(groups.populations, SIZES, strict=True):
        shares = np.zeros((3, 3))
        p, q = population.p_sham, population.p_destroy
        for a, b in itertools.product(range(from_k + 1), repeat=2):
            for c, d in itertools.product(range(more + 1), repeat=2):
                i = place(Fraction(b - a, from_k), threshold)
                j = place(Fraction(b + d - a - c, to_k), threshold)
                each = stats.binom.pmf(a, from_k, p) * stats.binom.pmf(c, more, p)
                each = each * stats.binom.pmf(b, from_k, q) * stats.binom.pmf(d, more, q)
                shares[i, j] += each @ population.weights
        expected.append(size * shares)
    found = score_transitions(ScoreRule.parse(rule), from_k, to_k, data=None, groups=groups)
    assert found.predicted
    assert found.repairs == pytest.approx(expected[0], abs=1e-9)
    assert found.harms == pytest.approx(expected[1], abs=1e-9)
    assert found.questions == pytest.approx(sum(expected), abs=1e-9)
    assert found.questions.sum() == pytest.approx(900, abs=1e-9)

    nets = []
    for k in (from_k, to_k):
        net = 0.0
        for sign, population, size in zip((1, -1), groups.populations, SIZES, strict=False):
            for a, b in itertools.product(range(k + 1), repeat=2):
                if selects(rule, Fraction(b - a, k)):
                    each = stats.binom.pmf(a, k, population.p_sham)
                    each = each * stats.binom.pmf(b, k, population.p_destroy)
                    net += sign * size * (each @ population.weights)
        nets.append(net)
    assert found.change.sum() == pytest.approx(nets[1] - nets[0], abs=1e-9)


def test_predicted_change_is_the_difference_of_predicted_nets(rng):
    counts, outcomes = random_log(rng, n=80, k=1)
    curve = routing_curve(counts, outcomes, k=[2, 3], model="em")
    first, last = curve.points
    assert curve.transitions.predicted
    assert curve.transitions.change.sum() == pytest.approx(last.net - first.net, abs=1e-9)
    assert curve.transitions.repairs.sum() == pytest.approx(values_of(outcomes).count(1), abs=1e-8)
    assert curve.transitions.harms.sum() == pytest.approx(values_of(outcomes).count(-1), abs=1e-8)
    assert curve.transitions.questions.sum() == pytest.approx(80, abs=1e-8)


def test_plain_values(rng):
    found = routing_curve(*random_log(rng, n=30), "score < 1/3", k=[1, 3]).transitions
    values = found.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert list(values) == ["rule", "from_k", "to_k", "predicted", "transitions", "change_of_net"]
    assert values["rule"] == "score < 1/3"
    assert [(row["from"], row["to"]) for row in values["transitions"]] == list(
        itertools.product(("below", "at", "above"), repeat=2)
    )
    for row, i in zip(values["transitions"], range(9), strict=True):
        assert list(row) == ["from", "to", "questions", "repairs", "harms", "change_of_net"]
        assert row["questions"] == found.questions.ravel()[i]
        assert row["repairs"] == found.repairs.ravel()[i]
        assert row["harms"] == found.harms.ravel()[i]


def test_text_and_html(rng):
    counts, outcomes = random_log(rng, n=30)
    found = routing_curve(counts, outcomes, k=[1, 3]).transitions
    text, html = str(found), found._repr_html_()
    assert repr(found) == text
    assert text.startswith("Scores from k = 1 to k = 3 (exact, by subsampling)")
    for header in ("questions", "repairable", "harmable", "change of net"):
        assert header in text
        assert f"{header}</th>" in html
    assert "score = 0 → score > 0" in text
    assert "score = 0 → score &gt; 0" in html
    assert text.splitlines()[-1].split()[:2] == ["all", "30.0"]
    assert MODELLED not in html
    groups = known_groups(rng)
    modelled = score_transitions(ScoreRule("<=", 0), 1, 2, data=None, groups=groups)
    assert MODELLED in modelled._repr_html_()
    assert "(predicted)" in str(modelled)


def test_what_was_observed_stays_where_more_is_predicted(rng):
    """Rows of a prediction are the log's own, and its change is that of the curve."""
    counts, outcomes = random_log(rng, n=200, k=2)
    curve = routing_curve(counts, outcomes, "score <= 1/3", k=[1, 2, 4], model="em")
    found, exact = curve.transitions, routing_curve(counts, outcomes, "score <= 1/3", k=[1, 2])
    assert (found.from_k, found.to_k, found.predicted) == (2, 4, True)
    assert found.questions.sum(axis=1) == pytest.approx(
        exact.transitions.questions.sum(axis=0), abs=1e-9
    )
    assert found.change.sum() == pytest.approx(curve.points[2].net - curve.points[1].net, abs=1e-9)
