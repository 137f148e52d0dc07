"""Rules: right ones pass, and each wrong one is caught with a smallest or reduced table."""

import itertools
import math
import re
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from wrong_rules import WRONG_RULES, compares_floats

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.mixing import Population
from carve_stats.routing.rules.posterior import PosteriorRule
from carve_stats.testing.rules.asking import AskedRule
from carve_stats.testing.rules.properties import PROPERTIES
from carve_stats.testing.rules.questions import Question, all_questions, all_tables, describe
from carve_stats.testing.rules.reading import read_rule
from carve_stats.testing.rules.reduction import REDUCED, reduce_table, smaller_tables
from carve_stats.testing.rules.search import LARGEST
from carve_stats.testing.rules.verdicts import Broken
from carve_stats.testing.rules.verify import verify_rule

RIGHT = [
    "score <= 0", "score = 1/3", "score > 2/3", ScoreRule("<", "0.1"), "lowest 1", "lowest 2",
    "lowest 1 confidence", "confidence < 0.6", "always", "never", "random 2",
]  # fmt: skip


@pytest.mark.parametrize("rule", RIGHT, ids=str)
def test_right_rules_pass(rule):
    verification = verify_rule(rule, k=1)
    assert verification.passed, str(verification)
    assert verification["ties"].passed
    assert verification["row order"].passed


def test_the_comparison_at_a_lattice_point_passes_where_floats_fail():
    assert verify_rule("score <= 2/3").passed
    verification = verify_rule(compares_floats)
    assert [check.name for check in verification.failed] == ["ties"]
    assert "SHAM 0 of 1 and DESTROY 2 of 3 flipped" in verification["ties"].counterexample
    assert "SHAM 1 of 3 and DESTROY 1 of 1 flipped" in verification["ties"].counterexample
    assert "as whole numbers" in verification["ties"].counterexample


def test_a_posterior_tells_equal_scores_apart_and_says_so():
    rule = PosteriorRule("mean", "<=", 0.0, Population([0.2, 0.6], [0.3, 0.5]))
    assert verify_rule(rule, k=1).passed
    as_score = verify_rule(rule, k=1, decides_on="score")
    assert [check.name for check in as_score.failed] == ["ties"]


def test_a_rule_that_needs_no_score_has_to_say_it():
    def everything(counts):
        return np.ones(len(counts))

    verification = verify_rule(everything, k=1)
    assert [check.name for check in verification.failed] == ["undefined scores"]
    assert "decides_on='question'" in verification["undefined scores"].counterexample
    assert verify_rule(everything, k=1, decides_on="question").passed
    everything.decides_on = "question"
    assert verify_rule(everything, k=1).passed


def by_hand(one):
    return Fraction(one[2], one[3]) - Fraction(one[0], one[1])


def one_score(score: float | None) -> bool:
    return score is not None and score <= 0


def one_float(score: float) -> bool:
    return score < 0


def of_counts(replayed: ReplayCounts):
    return replayed.scored & (replayed.score_numerator < 0)


def of_questions(questions):
    return of_counts(questions.counts)


def of_scores(scores):
    return scores <= 0


@pytest.mark.parametrize("rule", [one_score, one_float, of_counts, of_questions, of_scores])
def test_functions_of_scores_and_counts_are_read(rule):
    verification = verify_rule(rule, k=1)
    assert verification.passed, str(verification)


@pytest.mark.parametrize("name", WRONG_RULES)
def test_each_wrong_rule_is_caught_with_the_smallest_table(name):
    rule, check, rows = WRONG_RULES[name]
    verification = verify_rule(rule, k=max(max(row) for row in rows) or 1)
    found = verification[check]
    assert found.passed is False, str(verification)
    assert found.counterexample.startswith(describe([Question(*row) for row in rows])), (
        found.counterexample
    )
    assert "\n" not in found.counterexample


def arms(k):
    return [(x, n) for n in range(k + 1) for x in range(n + 1)]


def test_no_smaller_table_breaks_the_float_comparison():
    """All pairs of questions, in another order of the loops than the package's."""
    broken = []
    questions = [(*sham, *destroy) for sham in arms(3) for destroy in arms(3)]
    scored = [one for one in questions if one[1] and one[3]]
    for a, b in itertools.product(scored, repeat=2):
        floats = [one[2] / one[3] - one[0] / one[1] <= 2 / 3 for one in (a, b)]
        if by_hand(a) == by_hand(b) and floats[0] != floats[1]:
            broken.append((a[1] + a[3] + b[1] + b[3], sum(a[::2]) + sum(b[::2]), a, b))
    assert min(broken) == (8, 4, (0, 1, 2, 3), (1, 3, 1, 1))
    # Nothing breaks without three replays, in an arm at least.
    assert all(max(max(a), max(b)) == 3 for _, _, a, b in broken)


def test_no_smaller_table_breaks_the_comparison_of_numbers_of_flips():
    broken = []
    scored = [(*s, *d) for s in arms(2) for d in arms(2) if s[1] and d[1]]
    for a, b in itertools.product(scored, repeat=2):
        if by_hand(a) == by_hand(b) and (a[2] <= a[0]) != (b[2] <= b[0]):
            broken.append((a[1] + a[3] + b[1] + b[3], sum(a[::2]) + sum(b[::2]), a, b))
    assert min(broken)[2:] == ((0, 1, 0, 1), (1, 1, 2, 2))


def test_a_fault_at_ten_replays_is_found_with_the_smallest_pair():
    def tenth(counts):
        return (
            counts.destroy_flips / counts.destroy_replays - counts.sham_flips / counts.sham_replays
            <= 0.1
        )

    found = verify_rule(tenth, k=1)["ties"].counterexample
    broken = {}
    scored = [(*s, *d) for s in arms(10) for d in arms(10) if s[1] and d[1]]
    for one in scored:
        if by_hand(one) == Fraction(1, 10):
            side = one[2] / one[3] - one[0] / one[1] <= 0.1
            key = (one[1] + one[3], one[0] + one[2], one)
            broken[side] = min(broken.get(side, key), key)
    pair = [Question(*key[2]) for key in sorted(broken.values())]
    assert len(pair) == 2
    assert found.startswith(describe(pair))


def test_a_fault_of_three_questions_is_found():
    def third(counts):
        return counts.scored * (1.0 if len(counts) < 3 else np.linspace(0, 1, len(counts)))

    verification = verify_rule(third, k=1)
    assert verification["row order"].counterexample.startswith("3 questions: ")


def below_the_mean(scores):
    return scores < np.nanmean(scores)


def sixth_is_strict(counts):
    """Looks at the numbers of replays from six SHAM replays on."""
    numerator, many = counts.score_numerator, counts.sham_replays >= 6
    return counts.scored & np.where(many, numerator < 0, numerator <= 0)


def first_row_of_five(counts):
    chosen = counts.scored & (counts.score_numerator < 0)
    chosen[0] |= len(counts) >= 5 and counts.scored[0]
    return chosen


@pytest.mark.parametrize("rule", [first_row_of_five, sixth_is_strict])
def test_what_is_shown_of_a_large_table_fails_as_it_is_shown(rule):
    """The words are those of asking about the shown questions alone, and none can be left out."""
    reading = read_rule(rule)
    asked = AskedRule(reading)
    everything = tuple(all_questions(LARGEST))
    looked_at = 0
    for one in PROPERTIES:
        found = one.holds(asked, everything)
        if one.applies(reading) is not None or not isinstance(found, Broken):
            continue
        looked_at += 1
        shown, kept = reduce_table(one, asked, everything, found), []

        def remember(rule, table, one=one, kept=kept):
            verdict = one.holds(rule, table)
            if isinstance(verdict, Broken):
                kept.append((table, verdict))
            return verdict

        again = reduce_table(replace(one, holds=remember), asked, everything, found)
        table, verdict = kept[-1]
        assert again == shown
        assert shown.words == one.holds(AskedRule(reading), table).words == verdict.words
        assert shown.words.startswith(describe(table))
        assert shown.found == REDUCED
        smaller = smaller_tables(table)
        assert not any(isinstance(one.holds(asked, t), Broken) for t in smaller), shown.words
    assert looked_at


def test_a_fault_of_five_questions_is_reduced_to_five():
    verification = verify_rule(first_row_of_five, k=1)
    shown = verification["row order"].counterexample
    assert shown.startswith(
        "5 questions: without a replay; without a replay; without a replay; without a replay; "
    )
    assert shown.endswith("(a counterexample, reduced as far as it goes)")


def test_a_fault_of_six_replays_is_reduced_to_the_smallest_pair():
    shown = verify_rule(sixth_is_strict, k=1)["ties"].counterexample
    assert shown.startswith(describe([Question(0, 1, 0, 1), Question(0, 6, 0, 1)]))


def test_the_reduction_of_a_large_table_is_bounded():
    """A mean in another order is another float: every question may be needed for it."""
    asked = []

    def watched(scores):
        asked.append(len(scores))
        return below_the_mean(scores)

    shown = verify_rule(watched, k=1)["row order"].counterexample
    assert re.search(r"\(a counterexample, (reduced as far|larger than)", shown)
    assert sum(asked) < 2_000_000


def test_a_rule_that_says_it_looks_at_self_may():
    def stable(counts):
        return counts.scored & (counts.score_numerator <= 0) & (counts.self_flips == 0)

    assert [check.name for check in verify_rule(stable, k=1).failed] == ["other replays"]
    stable.conditions = ("self", "sham", "destroy")
    assert verify_rule(stable, k=1).passed


def test_small_tables_are_all_there_and_in_order():
    tables = all_tables(2)
    assert len(tables) == 36 + 36 * 37 // 2 == len(set(tables))
    sizes = [(len(t), sum(q[1] + q[3] for q in t), sum(q[0] + q[2] for q in t)) for t in tables]
    assert sizes == sorted(sizes)


def test_a_rule_is_named_as_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "rules_of_mine.py").write_text(
        "def keep(scores):\n    return scores <= 0\nRULE = 'score < 0'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    assert verify_rule("rules_of_mine:keep", k=1).subject == "rule rules_of_mine:keep"
    assert verify_rule("rules_of_mine:RULE", k=1)["thresholds"].passed
    sys.modules.pop("rules_of_mine")


def test_a_rule_that_refuses_everything_has_not_passed():
    verification = verify_rule("random 9999", k=1)
    assert not verification.passed
    assert "only 1 question to choose from" in verification.notes[0]


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        ("sometimes", {}, "rule='sometimes' is unknown"),
        ("no_such_module:rule", {}, "cannot import 'no_such_module'"),
        (3, {}, "rule is the object int"),
        (lambda z: z, {}, "has the parameter 'z': call it questions"),
        (lambda: 0, {}, "has no parameter: call it questions"),
        ("score <= 0", {"decides_on": "luck"}, "unknown decides_on 'luck'"),
        ("score <= 0", {"k": 9}, "k=9 must be a whole number from 1 to 4"),
        ("score <= 0", {"k": True}, "k=True must be"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_line(rule, options, message):
    with pytest.raises(InputError, match=message) as refusal:
        verify_rule(rule, **options)
    assert "\n" not in str(refusal.value)


def test_the_result_is_plain_and_names_its_parts():
    result = verify_rule("score <= 0", k=1).to_dict()
    assert result["passed"] is True
    assert result["subject"] == "rule score <= 0"
    names = [check["name"] for check in result["checks"]]
    assert names[:4] == ["runs", "propensities", "undefined scores", "ties"]
    assert not any(isinstance(v, float) and math.isnan(v) for v in result.values())
