import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.counts import ReplayCounts
from carve_stats.population.patterns import fullest_budget, group_patterns, reaches


def counts_with(budgets):
    sham, destroy = zip(*budgets, strict=True)
    zero = [0] * len(budgets)
    return ReplayCounts([f"q{i}" for i in range(len(budgets))], zero, sham, zero, destroy)


@pytest.mark.parametrize(
    ("budgets", "fullest", "equal"),
    [
        ([(3, 3)] * 10 + [(10, 10)], (3, 3), (3, 3)),
        ([(3, 3)] + [(10, 10)] * 2, (10, 10), (10, 10)),
        ([(10, 10)] * 2 + [(9, 10)] * 2, (9, 10), (9, 9)),
        ([(3, 1)] * 2 + [(1, 2)] * 2 + [(1, 3)], (1, 1), (1, 1)),  # 10 replays; (1, 2) has 9
        ([(2, 3)] * 2 + [(3, 2)] * 2, (2, 2), (2, 2)),
        ([(4, 5)], (4, 5), (4, 4)),
        ([(1, 1), (2, 2)], (2, 2), (2, 2)),  # 4 replays either way: the larger budget
    ],
)
def test_the_budget_at_which_most_replays_count(budgets, fullest, equal):
    for order in (budgets, budgets[::-1]):
        assert fullest_budget(counts_with(order)) == fullest
        assert fullest_budget(counts_with(order), equal=True) == equal


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=30))
def test_no_other_budget_makes_more_replays_count(budgets):
    counts = counts_with(budgets)
    kept = {
        (a, b): int(reaches(counts, (a, b)).sum()) * (a + b)
        for a in range(1, 7)
        for b in range(1, 7)
    }
    assert kept[fullest_budget(counts)] == max(kept.values())
    assert kept[fullest_budget(counts, equal=True)] == max(kept[k, k] for k in range(1, 7))


def test_a_question_reaches_a_budget_in_both_arms():
    counts = counts_with([(3, 3), (4, 2), (2, 4), (5, 9)])
    assert reaches(counts, (3, 3)).tolist() == [True, False, False, True]


def test_patterns_are_grouped():
    replays, pattern = group_patterns(counts_with([(3, 10), (10, 3), (3, 10), (3, 3)]))
    assert replays.tolist() == [[3, 3], [3, 10], [10, 3]]
    assert pattern.tolist() == [1, 2, 1, 0]
