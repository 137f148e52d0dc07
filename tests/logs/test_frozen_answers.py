"""Replays and outcomes of two backbones are refused where both know the frozen answer."""

import log_writers as w
import pandas
import pytest

from carve_stats.errors import InputError
from carve_stats.logs.frozen_answers import check_frozen_answers
from carve_stats.logs.outcomes import read_outcomes

QUESTIONS = ("q1", "q2", "q3")
LOG = [
    w.record(question, condition, i, answer, reference, run=run)
    for run in ("one", "two")
    for question, reference in zip(QUESTIONS, "ABC", strict=True)
    for condition in ("SHAM", "DESTROY")
    for i, answer in enumerate("AB")
]


def check(log=LOG, *, keep=None, answers=None, **columns):
    table = pandas.DataFrame({"question_id": QUESTIONS, **columns})
    frame = pandas.DataFrame(log)
    if keep is not None:
        frame = frame[frame.columns.difference(keep)]
    outcomes = read_outcomes(table, answers=answers)
    check_frozen_answers(frame, outcomes, table, answers=answers)


def refuse(*args, **columns):
    with pytest.raises(InputError) as refused:
        check(*args, **columns)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_another_original_answer_is_refused_with_the_first_question():
    said = refuse(original_correct=[1, 0, 0], original_answer=["A", "D", "D"])
    assert said.startswith(
        "question 'q2': its frozen answer is 'b' in the logs (reference_answer) and 'D' in the"
        " outcomes (original_answer) (the first of 2 such questions): "
    )
    said = refuse(original_correct=[1, 0, 0], original_answer=["A", "B", "D"])
    assert said.startswith("question 'q3'")
    assert "the first of" not in said


def test_both_wrong_by_the_gold_answer_is_seen_too():
    said = refuse(original_answer=["A", "B", "D"], gold_answer=["A", "B", "E"])
    assert said.startswith("question 'q3': its frozen answer is 'c'")


def test_an_outcome_that_the_gold_answer_contradicts_is_refused():
    said = refuse(original_correct=[1, 0, 1], gold_answer=["A", "B", "C"])
    assert said.startswith(
        "question 'q2': its frozen answer 'b' in the logs is right by the gold answer, and wrong by"
    )
    check(original_correct=[1, 1, 0], gold_answer=["A", "B", "D"])


def test_an_answerer_in_a_file_of_its_own_is_looked_at():
    theirs = pandas.DataFrame({"question_id": QUESTIONS, "answer": ["A", "B", "D"], "correct": 1})
    said = refuse(answers={"original": theirs}, strong_correct=[1, 1, 1])
    assert said.startswith("question 'q3'")


@pytest.mark.parametrize(
    "original", [["a", "(B)", "C."], ["A", None, None], ["A", "I cannot say", "B or C"], [1, 2, 3]]
)
def test_the_same_in_other_words_and_what_is_not_known_contradict_nothing(original):
    check(original_correct=[1, 0, 0], original_answer=original)


def test_logs_without_frozen_answers_contradict_nothing():
    other = {"original_correct": [1, 0, 0], "original_answer": ["D", "D", "D"]}
    refuse(**other)
    check(keep=["answer", "reference_answer"], **other)
    check([w.record("q9", "SHAM", 0, "A")], **other)
    counted = {"sham_flips": 1, "sham_replays": 3, "destroy_flips": 2, "destroy_replays": 3}
    check([{"question_id": "q1", **counted}], **other)


def test_only_the_run_that_is_read_is_looked_at():
    table = pandas.DataFrame(
        {"question_id": QUESTIONS, "original_correct": 1, "original_answer": list("ABC")}
    )
    log = [r if r["run"] == "one" else r | {"reference_answer": "D", "flip": 1} for r in LOG]
    outcomes = read_outcomes(table)
    check_frozen_answers(pandas.DataFrame(log), outcomes, table, run="one")
    for run in ("two", None):
        with pytest.raises(InputError, match="question 'q1': its frozen answer is 'd'"):
            check_frozen_answers(pandas.DataFrame(log), outcomes, table, run=run)
