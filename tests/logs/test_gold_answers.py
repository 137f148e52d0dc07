"""`read_gold`: what is a label, what is not known, and what is refused, with its line."""

from decimal import Decimal

import numpy as np
import pandas
import pytest

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.gold_answers import read_gold


def labels(gold):
    return {question: answer.label for question, answer in read_gold(gold).items()}


def test_labels_are_texts():
    given = {"q1": "C", "q2": " (b). ", 3: "2", "q4": np.str_("A")}
    assert labels(given) == {"q1": "c", "q2": "b", "3": "2", "q4": "a"}


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pandas.NA, pandas.NaT, ""])
def test_what_is_missing_is_not_known(missing):
    assert labels({"q1": missing, "q2": "B"}) == {"q1": None, "q2": "b"}


@pytest.mark.parametrize(
    "wrong", [0, 1, True, 1.0, np.int64(2), Decimal(1), b"A", ["A"], np.array(["A", "B"])]
)
def test_positions_and_other_values_are_refused(wrong):
    kind = type(wrong).__name__
    said = rf"^gold: the gold answer .* of question 'q2' is a {kind}, and positions may count from"
    with pytest.raises(RecordError, match=f"{said}.* as a text, such as 'C'$") as error:
        read_gold({"q1": "A", "q2": wrong})
    assert "\n" not in str(error.value)


def test_a_question_with_two_keys():
    assert labels({1: "A", "1": "A"}) == {"1": "a"}
    with pytest.raises(RecordError, match="gold: question '1' is there twice"):
        read_gold({1: "A", "1": "B"})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.csv", 'question_id,gold_answer,"a\nb"\nq,A,\nr,egg,\n', "line 4: the gold answer 'egg"),
        ("g.csv", "question_id,gold_answer\nq,A\nr,A,3\n", "line 3: 3 fields, and the header has"),
        ("g.csv", "question_id,answer\nq,A\n", "no column gold_answer; it has question_id, answer"),
        ("g.jsonl", '\n{"question_id": "q", "gold_answer": "gull"}\n', "line 2: the gold answer"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_says_where(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=f"{name}:? {said}") as error:
        read_gold(path)
    assert "\n" not in str(error.value)


def test_a_frame_that_is_wrong_says_its_record():
    frame = pandas.DataFrame({"question_id": ["q", "r"], "gold_answer": ["A", "x" * 10**6]})
    with pytest.raises(RecordError, match=r"^gold, a data frame record 2: .*'x+…x+'") as error:
        read_gold(frame)
    assert len(str(error.value)) < 300
