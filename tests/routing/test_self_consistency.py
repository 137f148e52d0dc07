"""The majority of the SELF replays against plain Python and against every way the gaps can be."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.methods import compare_methods
from carve_stats.routing.self_answers import SelfAnswers
from carve_stats.routing.self_consistency import NO_TOKENS, OWN_TOOLS, self_consistency

LABELS = "abcd"
replies = st.lists(st.sampled_from(LABELS), max_size=7)


def one(answers, frozen, **more):
    return SelfAnswers(["q"], [Counter(answers)], [frozen], **more)


def plain_majority(answers, frozen):
    """The most frequent answer; among several the frozen one, else the first by label."""
    most = max(Counter(answers).values())
    tied = sorted(label for label in set(answers) if answers.count(label) == most)
    return frozen if frozen in tied else tied[0]


@given(replies, st.sampled_from(LABELS))
def test_the_majority_is_that_of_plain_python(answers, frozen):
    said = one(answers, frozen)
    majority = said.majority(0)
    if not answers:
        assert (majority.kept, majority.label) == (None, None)
        assert math.isnan(said.agreement[0])
        return
    assert majority.label == plain_majority(answers, frozen)
    assert majority.kept == (majority.label == frozen)
    counted = sorted(Counter(answers).values())
    assert majority.tied == (counted[-1:] == counted[-2:-1])
    assert said.agreement[0] == answers.count(frozen) / len(answers)


@given(replies.filter(len))
def test_without_a_frozen_answer_the_majority_is_the_first_by_label(answers):
    majority = one(answers, None).majority(0)
    assert (majority.kept, majority.label) == (None, plain_majority(answers, None))


@given(st.lists(st.sampled_from(LABELS), max_size=4), st.integers(1, 3))
def test_of_unnamed_answers_only_that_is_said_which_holds_whatever_they_are(answers, unnamed):
    """Flips whose answer is not known: all labels but the frozen one are tried for each."""
    frozen = "b"
    kept, judged = answers.count(frozen), len(answers) + unnamed
    said = one(answers, frozen, kept=[kept], judged=[judged], unnamed=[unnamed])
    majority = said.majority(0)
    # As many new labels as there are gaps, some of which come before all others.
    others = [*(label for label in LABELS if label != frozen), "A1", "A2", "z1"]
    possible = {
        plain_majority([*answers, *more], frozen)
        for more in itertools.product(others, repeat=unnamed)
    }
    if majority.kept is None:
        assert frozen in possible
        assert len(possible) > 1
    else:
        assert {label == frozen for label in possible} == {majority.kept}
    assert majority.label == (possible.pop() if len(possible) == 1 else None)


def test_the_order_of_questions_and_answers_changes_nothing():
    votes, frozen = [{"b": 1, "a": 1}, {"c": 2, "a": 2, "b": 1}, {"d": 3}], ["c", "b", "d"]
    ids = ["q3", "q1", "q2"]
    first = SelfAnswers(ids, votes, frozen)
    second = SelfAnswers(ids[::-1], [dict(reversed(v.items())) for v in votes[::-1]], frozen[::-1])
    assert first.to_dict() == second.to_dict()
    outcomes = Outcomes(ids, [1, 0, 1], {})
    results = [self_consistency(said, outcomes).to_dict() for said in (first, second)]
    assert results[0] == results[1]
    assert [first.majority(i).label for i in range(3)] == ["a", "d", "a"]


def drawn(rng, n=80, k=3):
    """Questions with a gold answer, a frozen answer and k SELF answers each."""
    gold, frozen = rng.choice(list(LABELS), (2, n)).tolist()
    answers = [
        [f if rng.random() < 0.6 else str(rng.choice(list(LABELS))) for _ in range(k)]
        for f in frozen
    ]
    ids = [f"q{i:03d}" for i in range(n)]
    videos = [f"v{i % 9}" for i in range(n)]
    return ids, gold, frozen, answers, videos


def said_of(ids, gold, frozen, answers, *, judged=True):
    correct = [{label: float(label == g) for label in LABELS} for g in gold] if judged else None
    return SelfAnswers(ids, [Counter(a) for a in answers], frozen, correct=correct)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_answerer_is_right_where_plain_python_is(rng, k):
    ids, gold, frozen, answers, videos = drawn(rng, k=k)
    original = [int(f == g) for f, g in zip(frozen, gold, strict=True)]
    outcomes = Outcomes(ids, original, {}, cluster=videos, original_tools=np.arange(80) % 5)
    result = self_consistency(said_of(ids, gold, frozen, answers), outcomes)
    right = [int(plain_majority(a, f) == g) for a, f, g in zip(answers, frozen, gold, strict=True)]
    assert result.answerer.correct.tolist() == right
    row = compare_methods(result.outcomes)["self_consistency"]
    pairs = list(zip(original, right, strict=True))
    assert (row.repairs, row.harms) == (pairs.count((0, 1)), pairs.count((1, 0)))
    assert row.change_points.estimate == pytest.approx(100 * (sum(right) - sum(original)) / 80)
    assert row.tools == pytest.approx(np.mean(np.arange(80) % 5))
    assert row.tokens is None
    agreement = [a.count(f) / k for a, f in zip(answers, frozen, strict=True)]
    assert result.agreement.tolist() == pytest.approx(agreement)
    assert result.outcomes.covariates["self_agreement"].tolist() == pytest.approx(agreement)
    kept = sum(plain_majority(a, f) == f for a, f in zip(answers, frozen, strict=True))
    assert result.questions["kept"]["questions"] == kept
    assert result.questions["changed"]["questions"] == 80 - kept


def test_without_gold_answers_its_change_is_blank(rng):
    """It would count harms and no repairs, or, of those that keep the answer, neither."""
    ids, gold, frozen, answers, videos = drawn(rng)
    original = [int(f == g) for f, g in zip(frozen, gold, strict=True)]
    said = said_of(ids, gold, frozen, answers, judged=False)
    outcomes = Outcomes(ids, original, {"strong": [1] * 80}, cluster=videos)
    result = self_consistency(said, outcomes)
    assert np.isnan(result.answerer.correct).all()
    kept = [plain_majority(a, f) == f for a, f in zip(answers, frozen, strict=True)]
    assert result.questions["kept"]["not known"] == 0
    assert result.questions["changed"]["not known"] == 80 - sum(kept) > 0
    (note,) = (note for note in result.notes if "--gold" in note)
    assert note.startswith("80 questions have no gold answer")
    assert "answers that differ from the original are of unknown correctness" in note
    table = compare_methods(result.outcomes)
    row = table["self_consistency"]
    assert (row.n, row.selected, row.repairs, row.harms, row.net) == (0, None, None, None, None)
    for figure in (row.accuracy, row.change_points):
        assert math.isnan(figure.estimate)
        assert (figure.low, figure.high) == (None, None)
    assert table["strong"].n == 80
    assert not any("do not speak of the same questions" in note for note in table.notes)
    assert any("80 self_consistency outcome not known" in note for note in table.notes)
    alone = Outcomes(ids, original, {}, cluster=videos)
    assert compare_methods(self_consistency(said, alone).outcomes)["self_consistency"].n == 0


def test_of_some_gold_answers_the_questions_with_one_count(rng):
    ids, gold, frozen, answers, videos = drawn(rng)
    original = [int(f == g) for f, g in zip(frozen, gold, strict=True)]
    full = said_of(ids, gold, frozen, answers)
    half = [one if i % 2 else {} for i, one in enumerate(full.correct)]
    said = SelfAnswers(ids, full.answers, frozen, correct=half)
    outcomes = Outcomes(ids, original, {}, cluster=videos)
    all_known = self_consistency(full, outcomes).answerer.correct
    correct = self_consistency(said, outcomes).answerer.correct
    assert np.isnan(correct[::2]).all()
    assert correct[1::2].tolist() == all_known[1::2].tolist()


def test_where_every_majority_keeps_the_answer_no_gold_answer_is_needed():
    said = SelfAnswers(["a", "b"], [{"x": 2, "y": 1}, {"z": 3}], ["x", "z"])
    result = self_consistency(said, Outcomes(["a", "b"], [1, 0], {}))
    assert result.answerer.correct.tolist() == [1, 0]
    assert not any("gold" in note for note in result.notes)


def test_an_answer_that_cannot_be_read_is_not_known_whatever_the_original_was():
    said = SelfAnswers(
        ["a", "b"], [{"it is y": 1}] * 2, ["x"] * 2, correct=[{"x": 1.0}, {"x": 0.0}]
    )
    result = self_consistency(said, Outcomes(["a", "b"], [1, 0], {}))
    assert np.isnan(result.answerer.correct).all()
    assert any(note.startswith("2 questions have a majority that is") for note in result.notes)


def test_abstention_is_a_rule_on_the_agreement(rng):
    ids, gold, frozen, answers, videos = drawn(rng)
    strong = [1] * 80
    original = [int(f == g) for f, g in zip(frozen, gold, strict=True)]
    outcomes = Outcomes(ids, original, {"strong": strong}, cluster=videos)
    result = self_consistency(said_of(ids, gold, frozen, answers), outcomes)
    from carve_stats.counts import ReplayCounts

    none = np.zeros(80, int)
    counts = ReplayCounts(ids, none, none, none, none)
    chosen = evaluate_rule(counts, result.outcomes, "self_agreement < 0.5", fallback="strong")
    changed = [a.count(f) / 3 < 0.5 for a, f in zip(answers, frozen, strict=True)]
    assert chosen.selected == sum(changed)
    repairs = sum(c and not o for c, o in zip(changed, original, strict=True))
    assert chosen.repairs == repairs


def test_questions_without_a_valid_replay_keep_the_original_answer():
    judged = [{"x": 0.0, "y": 1.0}, {}, {}]
    said = SelfAnswers(["a", "b", "c"], [{"x": 2}, {}, {}], ["y", "y", None], correct=judged)
    result = self_consistency(said, Outcomes(["a", "b", "c"], [1, 1, 0], {}))
    assert result.answerer.correct.tolist() == [0, 1, 0]
    assert np.isnan(result.agreement).tolist() == [False, True, True]
    assert result.questions["none"] == {"questions": 2, "right": 1, "wrong": 1, "not known": 0}
    assert any(note.startswith("2 questions have no valid SELF replay") for note in result.notes)


def test_ties_are_counted_by_how_they_were_broken():
    votes = [{"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}]
    said = SelfAnswers(["p", "q", "r"], votes, ["b", "c", "a"])
    result = self_consistency(said, Outcomes(["p", "q", "r"], [1, 1, 1], {}))
    assert [said.majority(i).label for i in range(3)] == ["b", "a", "a"]
    assert result.tied == 2
    note = next(note for note in result.notes if "several answers" in note)
    assert "among them (1), else the first by label (1)" in note


def test_no_self_replay_at_all_is_one_clear_line():
    said = SelfAnswers(["a"], [{}], ["x"])
    with pytest.raises(InputError, match="no valid SELF replay") as refused:
        self_consistency(said, Outcomes(["a"], [1], {}))
    assert "\n" not in str(refused.value)


def test_ids_of_one_side_are_refused_or_counted():
    said = SelfAnswers(["a", "b", "z"], [{"x": 1}] * 3, ["x"] * 3)
    outcomes = Outcomes(["a", "b", "c"], [1, 0, 1], {})
    with pytest.raises(InputError, match=r"'z'.*'c'"):
        self_consistency(said, outcomes)
    result = self_consistency(said, outcomes, allow_mismatch=True)
    assert result.answerer.correct.tolist() == [1, 0, 1]
    assert math.isnan(result.agreement[2])
    assert "1 question has replays and no outcome and is left out" in result.notes
    with pytest.raises(InputError, match="no question id in common"):
        self_consistency(said, Outcomes(["d"], [1], {}), allow_mismatch=True)


def test_a_frozen_answer_that_is_right_and_wrong_is_refused():
    said = SelfAnswers(["a"], [{"x": 1}], ["x"], correct=[{"x": 1.0}])
    with pytest.raises(InputError, match=r"question 'a'.*right by the gold answer, and wrong by"):
        self_consistency(said, Outcomes(["a"], [0], {}))


def test_an_original_outcome_that_is_not_known_comes_from_the_gold_answer():
    said = SelfAnswers(["a"], [{"x": 1}], ["x"], correct=[{"x": 1.0}])
    result = self_consistency(said, Outcomes(["a"], [None], {}))
    assert result.answerer.correct.tolist() == [1.0]


def test_videos_of_the_replays_are_taken_where_the_outcomes_have_none():
    said = SelfAnswers(["a", "b"], [{"x": 1}] * 2, ["x"] * 2, cluster=["v", "w"])
    result = self_consistency(said, Outcomes(["a", "b"], [1, 0], {}))
    assert result.outcomes.cluster.tolist() == ["v", "w"]
    with pytest.raises(InputError, match="a question has one video"):
        self_consistency(said, Outcomes(["a", "b"], [1, 0], {}, cluster=["v", "u"]))


def test_names_that_are_taken_are_refused():
    said = SelfAnswers(["a"], [{"x": 1}], ["x"])
    with pytest.raises(InputError, match="give another name="):
        self_consistency(said, Outcomes(["a"], [1], {"self_consistency": [1]}))
    outcomes = Outcomes(["a"], [1], {}, covariates={"self_agreement": [0.5]})
    with pytest.raises(InputError, match="covariate self_agreement already"):
        self_consistency(said, outcomes)
    with pytest.raises(InputError, match="self_answers is a str"):
        self_consistency("log.jsonl", outcomes)


def test_self_answers_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="'a' stands in two rows"):
        SelfAnswers(["a", "a"], [{}, {}], [None, None])
    with pytest.raises(InputError, match="answers has 1 entries and question 2"):
        SelfAnswers(["a", "b"], [{}], [None, None])
    with pytest.raises(InputError, match="'a': kept and unnamed are more than judged"):
        SelfAnswers(["a"], [{}], [None], kept=[1], judged=[1], unnamed=[1])


def test_the_result_shows_what_it_holds(rng):
    ids, gold, frozen, answers, _ = drawn(rng)
    original = [int(f == g) for f, g in zip(frozen, gold, strict=True)]
    outcomes = Outcomes(ids, original, {}, original_tools=[2] * 80)
    result = self_consistency(said_of(ids, gold, frozen, answers), outcomes)
    shown = str(result)
    assert "no SELF replay" not in shown
    assert "another answer" in shown
    assert "replays make no tool calls" in " ".join(shown.split())
    assert shown.count("80") >= 2
    assert "<table>" in result._repr_html_()


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ({}, ()),
        ({"original_tools": [2]}, (OWN_TOOLS, NO_TOKENS)),
        ({"original_tokens": [90]}, (NO_TOKENS,)),
    ],
)
def test_what_replays_cost_is_not_known_and_said_where_the_rest_is(costs, said):
    answers = SelfAnswers(["a"], [{"x": 1}], ["x"])
    result = self_consistency(answers, Outcomes(["a"], [1], {}, **costs))
    assert result.answerer.tokens is None
    assert tuple(note for note in result.notes if "tokens" in note or "tools" in note) == said


def flips_of(frozen, answers, *, correct):
    """SELF records that say whether an answer flipped, and not which it is."""
    kept = [a.count(f) for a, f in zip(answers, frozen, strict=True)]
    judged = [len(a) for a in answers]
    return SelfAnswers(
        [f"q{i:03d}" for i in range(len(frozen))],
        [{f: m} for f, m in zip(frozen, kept, strict=True)],
        frozen,
        kept=kept,
        judged=judged,
        unnamed=np.subtract(judged, kept),
        correct=correct,
    )


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("gold_known", [True, False])
def test_flips_without_answers_give_no_change_but_its_ends(rng, k, gold_known):
    ids, gold, frozen, answers, videos = drawn(rng, k=k)
    original = np.array([int(f == g) for f, g in zip(frozen, gold, strict=True)])
    outcomes = Outcomes(ids, original, {}, cluster=videos)
    correct = [{f: float(f == g)} for f, g in zip(frozen, gold, strict=True)]
    said = flips_of(frozen, answers, correct=correct if gold_known else None)
    result = self_consistency(said, outcomes)
    assert np.isnan(result.answerer.correct).all()
    row = compare_methods(result.outcomes)["self_consistency"]
    assert (row.n, row.repairs, row.harms) == (0, None, None)
    (note,) = (note for note in result.notes if "points; log the answers" in note)
    # A majority is the frozen answer for sure where the others cannot have as many, and another
    # one for sure where no replay keeps it; else it may be either.
    low = high = unknown = 0
    for a, f, right in zip(answers, frozen, original.tolist(), strict=True):
        kept, others = a.count(f), k - a.count(f)
        if kept >= others:
            continue
        unknown += 1
        if right:
            low -= 1
            high -= kept == 0
        else:
            high += 1
    assert note.startswith(f"{unknown} questions have a majority that is not known")
    ends = f"between {100 * low / 80:+.2f} and {100 * high / 80:+.2f} points"
    assert ends in note
    # What the answers say where they are logged lies between.
    full = self_consistency(said_of(ids, gold, frozen, answers), outcomes)
    change = compare_methods(full.outcomes)["self_consistency"].change_points.estimate
    assert 100 * low / 80 - 1e-9 <= change <= 100 * high / 80 + 1e-9
