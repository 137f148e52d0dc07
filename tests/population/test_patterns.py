import pytest

from carve_stats.counts import ReplayCounts
from carve_stats.population.patterns import group_patterns, modal_budget, reaches


def counts_with(budgets):
    sham, destroy = zip(*budgets, strict=True)
    zero = [0] * len(budgets)
    return ReplayCounts([f"q{i}" for i in range(len(budgets))], zero, sham, zero, destroy)


@pytest.mark.parametrize(
    ("budgets", "mode"),
    [
        ([(3, 3), (3, 3), (10, 10)], (3, 3)),
        ([(3, 3), (10, 10), (10, 10)], (10, 10)),
        # Equally many: the one that more questions reach, so that fewer are left out.
        ([(10, 10)] * 2 + [(9, 10)] * 2, (9, 10)),
        ([(3, 1)] * 2 + [(1, 2)] * 2 + [(1, 3)], (1, 2)),
        # Still equal: the larger k_sham.
        ([(2, 3)] * 2 + [(3, 2)] * 2, (3, 2)),
        ([(4, 5)], (4, 5)),
    ],
)
def test_modal_budget(budgets, mode):
    assert modal_budget(counts_with(budgets)) == mode
    assert modal_budget(counts_with(budgets[::-1])) == mode


def test_a_question_reaches_a_budget_in_both_arms():
    counts = counts_with([(3, 3), (4, 2), (2, 4), (5, 9)])
    assert reaches(counts, (3, 3)).tolist() == [True, False, False, True]


def test_patterns_are_grouped():
    replays, pattern = group_patterns(counts_with([(3, 10), (10, 3), (3, 10), (3, 3)]))
    assert replays.tolist() == [[3, 3], [3, 10], [10, 3]]
    assert pattern.tolist() == [1, 2, 1, 0]
