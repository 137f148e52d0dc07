"""Plans and path counting where a replay gives no valid answer: it is spent."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest
from stopping_cases import LOPSIDED, ORDERS, plan_of

from carve_stats.errors import InputError
from carve_stats.law.path_counting import path_shares
from carve_stats.planning.curtailment import stopping_plan

SAFE_RULES = ("score <= 0", "score < 1/3", "score > -1/2", "score >= 2/5", "sign")
FLIP, KEEP, INVALID = 1, 0, None


def reducer(plan):
    """The plan after so many invalid replays, each made once."""
    return cache(plan.reduced)


def walk(plan, reduced, sham, destroy):
    """(i, x, j, y, a, b) where a question stops whose calls would turn out as given."""
    calls, outcomes = {"sham": 0, "destroy": 0}, {"sham": sham, "destroy": destroy}
    valid = {"sham": [], "destroy": []}
    while True:
        a, b = (calls[arm] - len(valid[arm]) for arm in ("sham", "destroy"))
        if a == plan.k_sham or b == plan.k_destroy:
            condition = None
        else:
            state = (
                len(valid["sham"]), sum(valid["sham"]), len(valid["destroy"]), sum(valid["destroy"])
            )  # fmt: skip
            condition = reduced(a, b).next_condition(*state)
        if condition is None:
            s, d = valid["sham"], valid["destroy"]
            return len(s), sum(s), len(d), sum(d), a, b
        outcome = outcomes[condition][calls[condition]]
        calls[condition] += 1
        if outcome is not INVALID:
            valid[condition].append(outcome)


def full_decision(rule, sham, destroy):
    """What all calls decide, from the score in fractions; None where there is no score."""
    x, y = ([o for o in arm if o is not INVALID] for arm in (sham, destroy))
    if not x or not y:
        return None
    score = Fraction(sum(y), len(y)) - Fraction(sum(x), len(x))
    if rule == "sign":
        return (score > 0) - (score < 0)
    _, comparison, threshold = rule.split()
    ask = {"<=": "__le__", "<": "__lt__", ">": "__gt__", ">=": "__ge__"}[comparison]
    return getattr(score, ask)(Fraction(threshold))


def every_outcome(k):
    return list(product((FLIP, KEEP, INVALID), repeat=k))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", SAFE_RULES)
@pytest.mark.parametrize(("k_sham", "k_destroy", "minimum"), [(3, 3, (1, 1)), (2, 4, (1, 2))])
def test_decisions_are_those_of_all_calls(order, rule, k_sham, k_destroy, minimum):
    plan = plan_of(k_sham, k_destroy, rule, order, minimum)
    reduced = reducer(plan)
    for sham in every_outcome(k_sham):
        for destroy in every_outcome(k_destroy):
            *state, a, b = walk(plan, reduced, sham, destroy)
            full = full_decision(rule, sham, destroy)
            if a == k_sham or b == k_destroy:
                assert full is None
            elif full is not None:
                assert reduced(a, b).decision(*state) == full
            else:  # decided, or without a valid replay in an arm: with a minimum never decided
                assert min(state[0], state[2]) == 0


def test_a_spent_arm_is_known_to_decide_earlier():
    # Two valid SHAM replays, none flipped, and no third: one DESTROY flip is enough.
    plan = plan_of(3, 3, "score <= 0", "alternate")
    assert plan.next_condition(2, 0, 1, 1) == "destroy"
    assert plan.reduced(1, 0).next_condition(2, 0, 1, 1) is None
    assert plan.reduced(1, 0).decision(2, 0, 1, 1) is False


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_invalid_changes_nothing(order):
    plan = plan_of(5, 4, "score < 1/3", order, (2, 1))
    assert plan.reduced(0, 0).sha256 == plan.sha256


def test_a_plan_that_changes_decisions_stops_where_it_did():
    plan = stopping_plan(6, population=LOPSIDED, changed=0.05)
    less = plan.reduced(1, 2)
    rows, columns = less.action.shape
    before = plan.action[:rows, :columns] < 0
    assert before.any()
    assert (less.action[before] < 0).all()


@pytest.mark.parametrize("invalid", [(3, 0), (0, 3), (4, 0), (-1, 0)])
def test_no_arm_can_be_lost(invalid):
    with pytest.raises(InputError, match=r"without a valid replay|whole number"):
        plan_of(3, 3, "score <= 0", "alternate").reduced(*invalid)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", ["score <= 0", "sign"])
@pytest.mark.parametrize(("minimum", "to"), [((1, 1), (1, 1)), ((2, 1), (2, 1)), ((1, 2), (0, 2))])
def test_expected_shares_with_invalid_replays_are_the_binomial_cells_exactly(
    order, rule, minimum, to
):
    k_sham, k_destroy = 3, 3
    plan = plan_of(k_sham, k_destroy, rule, order, minimum)
    reduced = reducer(plan)
    found = path_shares(plan, *to, invalid=(k_sham, k_destroy))
    chances = {
        "sham": {INVALID: Fraction(1, 5), FLIP: Fraction(4, 5) * Fraction(2, 7)},
        "destroy": {INVALID: Fraction(1, 3), FLIP: Fraction(2, 3) * Fraction(3, 5)},
    }
    for chance in chances.values():
        chance[KEEP] = 1 - chance[INVALID] - chance[FLIP]

    def probability(arm, outcomes):
        product_ = Fraction(1)
        for outcome in outcomes:
            product_ *= chances[arm][outcome]
        return product_

    sums = np.zeros(found.shares.shape[1])
    for sham in every_outcome(k_sham):
        for destroy in every_outcome(k_destroy):
            row = found.rows(*walk(plan, reduced, sham, destroy))[0]
            assert row >= 0
            too_few = sum(o is not INVALID for o in sham) < max(to[0], 1) or sum(
                o is not INVALID for o in destroy
            ) < max(to[1], 1)
            # Left out are the questions that would lack replays without stopping, and no others.
            assert np.isnan(found.shares[row]).all() == too_few
            if not too_few:
                sums += (
                    float(probability("sham", sham) * probability("destroy", destroy))
                    * (found.shares[row])
                )

    def at_least(k, least, invalid):
        return sum(
            comb(k, m) * (1 - invalid) ** m * invalid ** (k - m) for m in range(least, k + 1)
        )

    def cells(k, p):
        return [comb(k, u) * p**u * (1 - p) ** (k - u) for u in range(k + 1)]

    kept = at_least(k_sham, max(to[0], 1), Fraction(1, 5))
    kept *= at_least(k_destroy, max(to[1], 1), Fraction(1, 3))
    expected = [
        float(kept * s * d)
        for s in cells(to[0], Fraction(2, 7))
        for d in cells(to[1], Fraction(3, 5))
    ]
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


def test_what_only_valid_replays_guarantee_is_refused_with_invalid_ones():
    # In alternate order two of three SHAM replays are sure, unless one DESTROY replay is invalid.
    plan = plan_of(3, 3, "score <= 0", "alternate", (1, 1))
    assert plan.guaranteed == (2, 1)
    path_shares(plan, 2, 1)
    with pytest.raises(InputError, match=r"must not exceed \(1, 1\), .* with invalid ones spent"):
        path_shares(plan, 2, 1, invalid=(1, 1))


def test_too_many_states_are_refused():
    plan = plan_of(40, 40, "score <= 0", "alternate", (2, 2))
    with pytest.raises(InputError, match="too many states to count paths in"):
        path_shares(plan, 1, 1, invalid=(20, 20))
