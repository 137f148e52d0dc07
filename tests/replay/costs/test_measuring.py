"""What replays to come will take: variances by hand, and how often the interval holds."""

from fractions import Fraction

import numpy as np
import pytest

from carve_stats.replay.costs.measuring import NOTHING, Estimate, _measured, _Sums


def measured(values):
    """Of lists of figures, one a question."""
    sums = []
    for of_question in values:
        one = _Sums()
        for value in of_question:
            one.add(float(value))
        sums.append(one)
    return _measured(sums)


def test_variances_are_those_of_the_one_way_layout():
    values = [[1, 2, 6], [4, 8], [10]]
    found = measured(values)
    n, questions = 6, 3
    mean = Fraction(31, 6)
    means = [Fraction(sum(v), len(v)) for v in values]
    within = sum((x - m) ** 2 for v, m in zip(values, means, strict=True) for x in v) / (
        n - questions
    )
    rough = sum(len(v) * (m - mean) ** 2 for v, m in zip(values, means, strict=True))
    typical = (n - Fraction(9 + 4 + 1, n)) / (questions - 1)
    between = (rough / (questions - 1) - within) / typical
    assert (found.replays, found.questions) == (n, questions)
    assert found.mean == pytest.approx(float(mean))
    assert found.even == pytest.approx(36 / 14)
    assert found.within == pytest.approx(float(within))
    assert found.between == pytest.approx(float(between))


def test_what_one_question_or_one_record_each_tell():
    one = measured([[1, 2, 3]])
    assert (one.between, one.within) == (None, None)
    assert one.of(Estimate(10, 10, 10), 5) == Estimate(20.0, None, None)
    single = measured([[1], [2], [6]])
    assert (single.between, single.within) == (7.0, 0.0)
    assert single.of(NOTHING, 0) == NOTHING


# 2,000 runs each: two standard errors are about .01. Student's t for the questions is too wide
# where only the records of a question vary.
@pytest.mark.parametrize(
    ("counts", "to_come", "each", "between", "within", "least", "most"),
    [
        ([10] * 20, 20, 1, 0, 10, 0.94, 0.99),
        ([20] * 10, 10, 1, 2, 20, 0.94, 0.99),
        ([28] + [1] * 9, 10, 3, 10, 10, 0.915, 0.97),
        ([28] + [1] * 9, 10, 3, 10, 3, 0.94, 0.995),
        ([3] * 20, 100, 3, 10, 10, 0.935, 0.965),
        ([1] * 20, 100, 5, 10, 10, 0.935, 0.965),
    ],
)
def test_the_interval_holds_as_often_as_it_says(
    counts, to_come, each, between, within, least, most, rng
):
    held = 0
    for _ in range(2000):
        pilot = [1000 + rng.normal(0, between) + rng.normal(0, within, n) for n in counts]
        n = to_come * each
        interval = measured(pilot).of(Estimate(n, n, n), to_come)
        centres = 1000 + rng.normal(0, between, to_come)
        total = each * centres.sum() + rng.normal(0, within, n).sum()
        held += interval.low <= total <= interval.high
    assert least <= held / 2000 <= most


def test_a_sum_of_many_like_figures_loses_nothing():
    values = 1e9 + np.random.default_rng(1).normal(0, 1, 1000)
    found = measured([values[:500], values[500:]])
    assert found.within == pytest.approx(
        (values[:500].var() + values[500:].var()) * 500 / 998, rel=1e-6
    )
