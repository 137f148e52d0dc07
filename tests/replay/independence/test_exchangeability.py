"""The exact test of frozen answers against the enumeration of all choices of the frozen ones."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.replay.independence.exchangeability import frozen_answer_test

QUESTION = st.lists(st.sampled_from("ABC"), min_size=2, max_size=4)


def agreeing_pairs(answers):
    return sum(a == b for a, b in combinations(answers, 2))


def enumerated(questions):
    """P(at least so many agreeing pairs), each answer of a question as likely the frozen one."""
    observed = sum(agreeing_pairs(answers[1:]) for answers in questions)
    as_many = all_choices = 0
    for choice in product(*(range(len(answers)) for answers in questions)):
        pairs = sum(
            agreeing_pairs(answers[:i] + answers[i + 1 :])
            for i, answers in zip(choice, questions, strict=True)
        )
        all_choices += 1
        as_many += pairs >= observed
    return Fraction(as_many, all_choices)


@given(st.lists(QUESTION.map(lambda q: [*q, "A"]), min_size=1, max_size=5))
def test_it_is_the_enumeration_over_who_is_frozen(questions):
    found = frozen_answer_test((q[0], Counter(q[1:])) for q in questions)
    informative = [q for q in questions if len(set(Counter(q).values())) > 1]
    assert (found.questions, found.informative) == (len(questions), len(informative))
    if informative:
        assert found.p_value == pytest.approx(float(enumerated(informative)), rel=1e-12)
        assert found.agreements == sum(q[1:].count(q[0]) for q in informative)
        expected = sum(
            Fraction(sum(n * (n - 1) for n in Counter(q).values()), len(q)) for q in informative
        )
        assert found.expected == pytest.approx(float(expected))
    else:
        assert found.p_value is None


def test_copies_are_the_odd_answer_out_in_every_question():
    found = frozen_answer_test([("A", {"B": 9})] * 30)
    assert found.p_value == pytest.approx(10.0**-30, rel=1e-10)


def test_a_probability_below_all_floats_is_not_zero():
    assert 0 < frozen_answer_test([("A", {"B": 9})] * 900).p_value < 1e-300


def test_questions_with_one_self_answer_say_nothing():
    found = frozen_answer_test([("A", {"B": 1}), ("A", {})])
    assert (found.questions, found.p_value) == (0, None)


def test_answers_that_nobody_gave_are_none():
    """A Counter keeps the answers whose number has come down to 0."""
    some = [("A", {"B": 3}), ("A", {"A": 2, "B": 1}), ("B", {"A": 4})]
    with_zeros = [(frozen, dict.fromkeys("ABCD", 0) | given) for frozen, given in some]
    assert frozen_answer_test(with_zeros) == frozen_answer_test(some)
    assert frozen_answer_test([("A", {"A": 0, "B": 0}), ("A", {"B": 1, "C": 0})]).questions == 0


def test_of_many_questions_evenly_spaced_ones_are_tested():
    few, often = ("B", {"A": 3}), ("A", {"A": 2, "B": 1})
    # Of four that are equally likely the frozen answer is the odd one out once.
    found = frozen_answer_test([few, often, often, often] * 25_001)
    assert (found.informative, found.tested) == (100_004, 4763)
    assert found.agreements == pytest.approx(found.expected, rel=0.001)
    assert 0.3 < found.p_value < 0.7


@pytest.mark.parametrize("k", [2, 3, 10])
def test_of_independent_answers_p_values_are_not_too_small(k, rng):
    """A thousand runs: p ≤ 5 % in about 5 % of them or fewer."""
    low = 0
    for _ in range(1000):
        rate = rng.beta(0.4, 1.0, 25)
        drawn = rng.random((25, k + 1)) < rate[:, None]
        run = [("AB"[int(q[0])], Counter("AB"[int(a)] for a in q[1:])) for q in drawn]
        p = frozen_answer_test(run).p_value
        low += p is not None and p <= 0.05
    assert low <= 50 + 4 * np.sqrt(1000 * 0.05 * 0.95)
