"""Rules side by side against the published table, plain Python and enumeration."""

import itertools

import numpy as np
import pytest
from routing_cases import published_log, random_log

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.policies import compare_policies


def test_the_published_table():
    table = compare_policies(*published_log())
    figures = [
        (row.policy, row.selected, row.repairs, row.harms, round(row.yield_per_100.estimate, 2))
        for row in table.rows[:3]
    ]
    assert figures == [
        ("score < 0", 166, 33, 19, 8.43),
        ("score = 0", 372, 65, 38, 7.26),
        ("score <= 0", 538, 98, 57, 7.62),
    ]
    always, plain = table["always"], table["plain"]
    assert (always.selected, always.repairs, always.harms) == (1258, 162, 98)
    assert round(always.yield_per_100.estimate, 2) == 5.09
    assert plain.selected == 538
    assert round(plain.yield_per_100.estimate, 2) == 5.09


def test_chance_is_all_choices_of_each_stratum():
    ids = [f"q{i}" for i in range(8)]
    flips = [2, 1, 0, 2, 0, 1, 0, 0]  # SHAM; DESTROY is 1 of 3 throughout
    videos, covered = list("vvvwwwxx"), [1, 0, 1, 0, 1, 0, 1, 0]
    original, fallback = [0, 1, 0, 0, 1, 1, 0, 0], [1, 0, 0, 1, 1, 0, 1, 1]
    counts = ReplayCounts(ids, flips, [3] * 8, [1] * 8, [3] * 8, cluster=videos)
    outcomes = Outcomes(ids, original, {"strong": fallback}, covariates={"covered": covered})
    table = compare_policies(counts, outcomes, match="covered")
    deferred = [x >= 1 for x in flips]
    value = [b - a for a, b in zip(original, fallback, strict=True)]
    strata = {"plain": ["all"] * 8, "by_cluster": videos, "matched": covered}
    net = sum(d for d, one in zip(value, deferred, strict=True) if one)
    for name, stratum in strata.items():
        choices = []
        for one in sorted(set(stratum)):
            inside = [i for i in range(8) if stratum[i] == one]
            m = sum(deferred[i] for i in inside)
            choices.append([sum(value[i] for i in c) for c in itertools.combinations(inside, m)])
        nets = [sum(parts) for parts in itertools.product(*choices)]
        row = table[name]
        assert row.net == pytest.approx(np.mean(nets))
        assert row.yield_per_100.estimate == pytest.approx(100 * np.mean(nets) / sum(deferred))
        assert row.yield_per_100.se == pytest.approx(100 * np.std(nets) / sum(deferred))
        assert row.p_value == pytest.approx(np.mean([x >= net for x in nets]))
        # The smallest net that at least 2.5 % and 97.5 % of the choices do not exceed.
        ends = [
            next(x for x in sorted(nets) if np.mean([y <= x for y in nets]) >= share - 1e-12)
            for share in (0.025, 0.975)
        ]
        assert [row.yield_per_100.low, row.yield_per_100.high] == pytest.approx(
            [100 * x / sum(deferred) for x in ends]
        )


def test_controls_belong_to_the_last_rule(rng):
    counts, outcomes = random_log(rng)
    table = compare_policies(counts, outcomes, rules=["score <= 0", "lowest 20"])
    assert table.control_of == "lowest 20"
    assert {row.selected for row in table.rows if row.kind == "random"} == {20}


def test_the_order_of_the_rows_changes_nothing(rng):
    counts, outcomes = random_log(rng, n=80)
    p = rng.permutation(80)
    names = ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays", "cluster")
    other = ReplayCounts(counts.question[p], **{name: getattr(counts, name)[p] for name in names})
    strong = outcomes.alternatives["strong"].correct
    shuffled = Outcomes(outcomes.question[p], outcomes.original_correct[p], {"strong": strong[p]})
    told = {"interval": "bootstrap", "rng": 5, "resamples": 200, "match": "cluster"}
    assert (
        compare_policies(counts, outcomes, **told).to_dict()
        == compare_policies(other, shuffled, **told).to_dict()
    )


def test_a_rule_that_defers_nobody_has_no_yield():
    counts = ReplayCounts(["a", "b"], [0, 0], [3, 3], [3, 2], [3, 3], cluster=["v", "w"])
    table = compare_policies(counts, Outcomes(["a", "b"], [0, 1], {"strong": [1, 1]}))
    for policy in ("score <= 0", "plain", "by_cluster"):
        row = table[policy]
        assert (row.selected, row.net) == (0, 0)
        assert row.to_dict()["yield_per_100"]["estimate"] is None
    assert table["always"].net == 1


def test_without_a_known_outcome_nothing_is_counted():
    counts = ReplayCounts(["a", "b"], [2, 0], [3, 3], [1, 2], [3, 3], cluster=["v", "w"])
    table = compare_policies(counts, Outcomes(["a", "b"], [0, 1], {"strong": [None, None]}))
    assert [row.policy for row in table.rows] == ["score < 0", "score = 0", "score <= 0", "always"]
    for row, plain in zip(table.rows, table.to_dict()["rows"], strict=True):
        for name in ("selected", "repairs", "harms", "net"):
            assert getattr(row, name) is None
            assert plain[name] is None
    for line in str(table).splitlines()[4:8]:
        assert line.split()[-8:] == ["–"] * 8


def test_without_clusters_there_is_no_control_by_cluster():
    counts = ReplayCounts(["a", "b"], [2, 0], [3, 3], [1, 2], [3, 3])
    table = compare_policies(counts, Outcomes(["a", "b"], [0, 1], {"strong": [1, 1]}))
    assert [row.policy for row in table.rows][3:] == ["always", "plain"]
    assert any("no control by cluster" in note for note in table.notes)
    assert table["score <= 0"].gain_points.low is None


def test_no_rule_is_refused(rng):
    with pytest.raises(InputError, match="rules is empty"):
        compare_policies(*random_log(rng), rules=[])


def test_the_table_shows_what_it_holds():
    table = compare_policies(
        *published_log(covariates={"covered": np.arange(1258) % 3 == 0}), match="covered"
    )
    shown = str(table)
    assert "as many of each stratum of covered" in shown
    assert "at random: as many questions as score <= 0 defers" in shown
    assert "+7.62" in shown
    assert "<table>" in table._repr_html_()
    with pytest.raises(InputError, match="no policy 'delta<0' in the table"):
        table["delta<0"]


def test_notes_say_which_rule_they_are_of():
    # Two questions: "score < 0" defers one, "score <= 0" too, and "score = 0" none.
    counts = ReplayCounts(list("ab"), [0, 3], [3, 3], [3, 0], [3, 3], cluster=list("vw"))
    outcomes = Outcomes(list("ab"), [1, 0], {"f": [0, 1]})
    rules = ("score = 0", "score <= 0")
    alone = {rule: evaluate_rule(counts, outcomes, rule).notes for rule in rules}
    notes = compare_policies(counts, outcomes, rules=rules).notes
    for note in alone["score = 0"]:
        if note in alone["score <= 0"]:
            assert note in notes
        elif note.startswith("at random, "):  # its controls are not in the table
            assert not any(one.endswith(note) for one in notes)
        else:
            assert f"score = 0: {note}" in notes
    assert any(note.startswith("score = 0: ") for note in notes)
