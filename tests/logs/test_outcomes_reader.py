import gzip
import json
from collections import Counter

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import read_benchmark
from carve_stats.logs.outcomes import read_outcomes
from carve_stats.replay.parsing import parse_answer

ROWS = {
    "question_id": ["q2", "q1", "q3"],
    "video_id": ["v", "v", "007"],
    "original_correct": [True, False, None],
    "strong_correct": [0, 1, 1],
    "strong_tokens": [120.0, None, 3.5],
    "kind": ["count, all", 'say "x"', None],
    "confidence": [0.25, 1.0, None],
    "covered": [True, False, True],
}
FRAMES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}


def write(path, rows):
    frame = pandas.DataFrame(rows)
    if ".csv" in path.suffixes:
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=".jsonl" in path.suffixes)
    return path


def lvbench(tmp_path, answers, videos=None):
    """A file of questions q1, q2, …, each with these options."""
    path = tmp_path / "video_info.meta.jsonl"
    lines = []
    for i, answer in enumerate(answers, 1):
        text = "What?\n(A) a red kite\n(B) the gull\n(C) rain"
        qa = {"uid": f"q{i}", "question": text, "answer": answer}
        lines.append(json.dumps({"key": videos[i - 1] if videos else "v", "qa": [qa]}))
    path.write_text("\n".join(lines))
    return path


def equal(column, expected):
    np.testing.assert_array_equal(column, expected)


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.jsonl", "t.jsonl.gz", "t.json", "t.parquet", *FRAMES]
)
def test_a_table_in_every_form(tmp_path, name):
    source = FRAMES[name](ROWS) if name in FRAMES else write(tmp_path / name, ROWS)
    outcomes = read_outcomes(source)
    assert outcomes.question.tolist() == ["q1", "q2", "q3"]
    assert outcomes.cluster.tolist() == ["v", "v", "007"]
    equal(outcomes.original_correct, [0, 1, np.nan])
    equal(outcomes.alternatives["strong"].correct, [1, 0, 1])
    equal(outcomes.alternatives["strong"].tokens, [np.nan, 120, 3.5])
    assert outcomes.alternatives["strong"].tools is None
    assert set(outcomes.covariates) == {"kind", "confidence", "covered"}
    assert outcomes.covariates["kind"].tolist() == ['say "x"', "count, all", ""]
    equal(outcomes.covariates["confidence"], [1, 0.25, np.nan])
    assert outcomes.covariates["covered"].tolist() == ["false", "true", "true"]
    assert outcomes.ledger.to_dict() == {"read": 3, "used": 3, "left_out": {}}
    assert outcomes.ledger.notes == ("original: 1 of 3 outcomes are not known (1 not given)",)


@given(st.permutations(range(3)))
def test_the_order_of_rows_changes_nothing(order):
    table = pandas.DataFrame(ROWS)
    assert read_outcomes(table.iloc[order]).to_dict() == read_outcomes(table).to_dict()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "0", ""], [1, 0, np.nan]),
        (["True", "FALSE", "null"], [1, 0, np.nan]),
        (["1.0", "0.0", "NaN"], [1, 0, np.nan]),
    ],
)
def test_spellings_of_an_outcome(tmp_path, texts, expected):
    path = write(tmp_path / "t.csv", {"question_id": list("abc"), "original_correct": texts})
    equal(read_outcomes(path).original_correct, expected)


# --- answers and gold answers --------------------------------------------------------------------


def test_labels_are_compared_without_a_benchmark():
    table = pandas.DataFrame({
        "question_id": [f"q{i}" for i in range(9)],
        "gold_answer": ["A", "b", "C", "(D)", "A", "", "A", "A", "2"],
        "original_answer": ["A", "B.", "(a)", " d ", "It must be A", "A", None,
                            "Failed to obtain answer via API.", "B"],
    })  # fmt: skip
    outcomes = read_outcomes(table)
    # Free text, no gold, no answer, a failure text, and a letter for a number: not known.
    equal(outcomes.original_correct, [1, 1, 0, 1, *[np.nan] * 5])
    (note,) = outcomes.ledger.notes
    assert note.startswith("original: 5 of 9 outcomes are not known (")
    for reason in (
        "1 no gold answer", "1 no answer", "1 transport_error",
        "1 not a label, and no options to read it with", "1 a letter and a number cannot be comp",
    ):  # fmt: skip
        assert reason in note


REPLIES = [
    "B", "b", "The answer is B.", "<think>A?</think> The gull", "(C)", "Either A or B",
    "I cannot tell.", "<think>hm", "", "E", "[LMMS_EVAL_REQUEST_FAILED after 5 retries] B",
]  # fmt: skip


def test_free_text_is_read_with_the_options_of_the_benchmark(tmp_path):
    gold = read_benchmark(lvbench(tmp_path, ["B"] * len(REPLIES)))
    ids = [f"q{i}" for i in range(1, len(REPLIES) + 1)]
    outcomes = read_outcomes(
        pandas.DataFrame({"question_id": ids, "original_answer": REPLIES}), gold=gold
    )
    known = dict(zip(outcomes.question.tolist(), outcomes.original_correct.tolist(), strict=True))
    assert [known[one] for one in ids[:5]] == [1, 1, 1, 1, 0]
    assert np.isnan([known[one] for one in ids[5:]]).all()
    # Whatever the parser says of a reply stands in the note, with its number.
    options = gold["q1"].options
    reasons = Counter(parse_answer(text, options).status for text in REPLIES[5:] if text)
    note = outcomes.ledger.notes[0]
    assert note.startswith("original: 6 of 11 outcomes are not known (")
    for reason, n in {**reasons, "no answer": 1}.items():
        assert f"{n} {reason}" in note
    assert set(reasons) >= {"ambiguous", "refusal", "truncated", "out_of_set", "transport_error"}


def test_each_text_is_parsed_once_for_its_options(tmp_path, monkeypatch):
    parsed = []

    def parse(text, options):
        parsed.append(text)
        return parse_answer(text, options)

    monkeypatch.setattr("carve_stats.logs.judging.parse_answer", parse)
    table = pandas.DataFrame(
        {
            "question_id": ["q1", "q2"],
            "a_answer": ["It is C", "It is C"],
            "original_correct": [1, 1],
        }
    )
    outcomes = read_outcomes(table, gold=lvbench(tmp_path, ["C", "A"]))
    equal(outcomes.alternatives["a"].correct, [1, 0])
    assert parsed == ["It is C"] * 2  # two questions, each with options of its own
    parsed.clear()
    table = pandas.DataFrame({"question_id": [f"x{i}" for i in range(99)], "gold_answer": "A"})
    outcomes = read_outcomes(table.assign(original_answer=["A", "B", "both"] * 33))
    assert Counter(outcomes.original_correct[outcomes.original.known]) == {0: 33, 1: 33}


def test_a_missing_gold_answer_is_neither_right_nor_wrong(tmp_path):
    path = lvbench(tmp_path, ["A", None])
    table = pandas.DataFrame({"question_id": ["q1", "q2", "q9"], "original_answer": ["A"] * 3})
    outcomes = read_outcomes(table, gold=path)
    equal(outcomes.original_correct, [1, np.nan, np.nan])
    assert outcomes.ledger.notes == (
        "1 questions, the first 'q9', are not in lvbench",
        "original: 2 of 3 outcomes are not known (2 no gold answer)",
        "the videos of lvbench are not taken, since it has none for question 'q9': give videos=, or"
        " a column video_id",
    )
    assert outcomes.cluster is None
    assert outcomes.ledger.inputs == ("data frame", str(path))


def test_ids_of_another_kind_than_the_benchmarks(tmp_path):
    table = pandas.DataFrame({"question_id": ["v_1"], "uid": ["q1"], "original_answer": ["A"]})
    path = lvbench(tmp_path, ["A"])
    with pytest.raises(InputError) as error:
        read_outcomes(table, gold=path)
    assert str(error.value) == (
        "data frame: none of its questions is in lvbench: ids are such as 'v_1' here and 'q1'"
        " there; name the column that holds the benchmark's with columns={'question_id': …}"
        " (--outcome-map question_id=…)"
    )
    outcomes = read_outcomes(table, gold=path, columns={"question_id": "uid"})
    equal(outcomes.original_correct, [1])
    assert (
        "the column 'question_id' is not read, since columns= (--outcome-map) names 'uid'"
        in str(outcomes.ledger.notes)
    )


def test_the_table_gives_gold_that_the_benchmark_does_not(tmp_path):
    table = pandas.DataFrame(
        {
            "question_id": ["q1", "q2"],
            "gold_answer": ["a", "C"],
            "original_answer": ["A", "The gull"],
        }
    )
    outcomes = read_outcomes(table, gold=lvbench(tmp_path, ["A", None]))
    equal(outcomes.original_correct, [1, 0])


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        ("B", "data frame record 1: gold_answer='B' of question 'q1' is not the gold answer of the"
              " benchmark, 'A': mend one"),
        ("a red kite", "record 1: gold_answer='a red kite' of question 'q1' is not the gold"),
    ],
)  # fmt: skip
def test_two_gold_answers_that_differ(tmp_path, mine, message):
    table = pandas.DataFrame(
        {"question_id": ["q1"], "gold_answer": [mine], "original_answer": ["A"]}
    )
    with pytest.raises(RecordError, match=message):
        read_outcomes(table, gold=lvbench(tmp_path, ["A"]))


def test_a_gold_answer_that_is_no_label(tmp_path):
    table = pandas.DataFrame(
        {"question_id": ["q1"], "gold_answer": ["two dogs"], "original_answer": ["two dogs"]}
    )
    with pytest.raises(RecordError, match=r"gold_answer='two dogs' of question .* must be the"):
        read_outcomes(table)
    table = table.assign(gold_answer="D")
    with pytest.raises(RecordError, match=r"must be the label .*: these are A, B, C"):
        read_outcomes(table, gold=lvbench(tmp_path, [None]))


def test_an_outcome_that_disagrees_with_the_answer(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("question_id,gold_answer,original_answer,original_correct\na,A,A,1\nb,A,B,1\n")
    with pytest.raises(RecordError) as error:
        read_outcomes(path)
    assert str(error.value) == (
        f"{path} line 3: original_correct=1 disagrees with original_answer='B', whose gold answer"
        " is 'A': mend one"
    )


def test_an_outcome_and_an_answer_fill_each_other():
    table = pandas.DataFrame({
        "question_id": list("abc"), "gold_answer": ["A", "A", None],
        "original_answer": ["A", "no idea", "B"], "original_correct": [None, 0, 1],
    })  # fmt: skip
    outcomes = read_outcomes(table)
    equal(outcomes.original_correct, [1, 0, 1])
    assert outcomes.ledger.notes == ()


def test_answers_that_have_nothing_to_be_compared_with():
    table = pandas.DataFrame({"question_id": ["a"], "original_answer": ["A"]})
    with pytest.raises(InputError, match="original_answer needs gold answers to be compared with"):
        read_outcomes(table)
    outcomes = read_outcomes(table.assign(original_correct=1))
    equal(outcomes.original_correct, [1])
    assert outcomes.ledger.notes == (
        "original: no gold answers that original_answer could be compared with",
    )


# --- names of columns ----------------------------------------------------------------------------


def test_columns_go_by_other_names():
    table = pandas.DataFrame(
        {"id": ["a", "b"], "clip": ["v", "w"], "base": [1, 0], "gpt ok": [1, 1], "x_tokens": [1, 2]}
    )
    outcomes = read_outcomes(
        table,
        columns={"question_id": "id", "video_id": "clip", "original_correct": "base",
                 "gpt_correct": "gpt ok"},
    )  # fmt: skip
    assert outcomes.cluster.tolist() == ["v", "w"]
    assert list(outcomes.alternatives) == ["gpt"]
    equal(outcomes.covariates["x_tokens"], [1, 2])  # of no answerer


def test_an_answerer_may_have_an_underscore():
    table = pandas.DataFrame(
        {
            "question_id": ["a"],
            "original_correct": [1],
            "gpt_4_o_correct": [0],
            "gpt_4_o_tools": [2],
        }
    )
    assert list(read_outcomes(table).alternatives) == ["gpt_4_o"]
    equal(read_outcomes(table).alternatives["gpt_4_o"].tools, [2])


@pytest.mark.parametrize("name", ["correct_answer", "reference_answer"])
def test_a_gold_answer_by_another_name_is_no_answerer(name):
    table = pandas.DataFrame({"question_id": ["a"], "original_correct": [1], name: ["A"]})
    with pytest.raises(InputError, match=f"a column '{name}': the (gold|frozen) answer is called"):
        read_outcomes(table)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ({"id": ["a"], "original_correct": [1]}, None,
         "no column question_id; it has id, original_correct: name yours with columns={'quest"),
        ({"question_id": ["a"], "strong_correct": [1]}, None,
         "no column original_correct or original_answer; it has question_id, strong_correct"),
        ({"question_id": ["a"], "original_correct": [1]}, {"video_id": "clip"},
         "no column 'clip', which columns= .--outcome-map. names for video_id; it has question_id"),
        ({"question_id": ["a"], "original_correct": [1]}, ["question_id"],
         "columns is a list: give a mapping"),
        ({"question_id": ["a"], "original_correct": [1]}, {"video_id": ["x"]},
         r"columns names \['x'\] for 'video_id': give texts"),
    ],
)  # fmt: skip
def test_a_column_that_is_not_there(rows, columns, message):
    with pytest.raises(InputError, match=message):
        read_outcomes(pandas.DataFrame(rows), columns=columns)


def test_columns_that_differ_in_case_only(tmp_path):
    rows = {"question_id": ["a"], "original_correct": [1], "Kind": ["x"], "kind": ["y"]}
    for name in ("t.csv", "t.jsonl", "t.json", "t.parquet"):
        with pytest.raises(InputError, match="'Kind' and 'kind' differ only in case: rename one"):
            read_outcomes(write(tmp_path / name, rows))
    with pytest.raises(InputError, match="data frame: the columns 'Kind' and 'kind' differ only"):
        read_outcomes(pandas.DataFrame(rows))


def test_names_of_columns_are_taken_as_they_are():
    name = 'a "b" row; DROP'
    table = pandas.DataFrame(
        {"question_id": ["q"], "original_correct": [1], "row": ["r"], "source": [2], name: ["x"]}
    )
    covariates = read_outcomes(table).covariates
    assert covariates["row"].tolist() == ["r"]
    assert covariates[name].tolist() == ["x"]
    equal(covariates["source"], [2])


def test_a_covariate_is_numbers_only_if_every_value_is_one():
    table = pandas.DataFrame({
        "question_id": list("ab"), "original_correct": [1, 0], "mixed": ["1", "x"],
        "digits": ["01", "2e3"], "infinite": ["1", "inf"], "flags": ["True", "false"],
        "some flags": ["True", "no"], "nothing": [None, None],
    })  # fmt: skip
    covariates = read_outcomes(table).covariates
    assert covariates["mixed"].tolist() == ["1", "x"]
    equal(covariates["digits"], [1, 2000])
    assert covariates["infinite"].tolist() == ["1", "inf"]
    assert covariates["flags"].tolist() == ["true", "false"]
    assert covariates["some flags"].tolist() == ["True", "no"]
    assert covariates["nothing"].tolist() == ["", ""]


# --- rows ----------------------------------------------------------------------------------------


def test_a_row_twice_counts_once(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("question_id,original_correct,kind\na,1,x\nb,,y\na,1,x\nb,,y\n")
    outcomes = read_outcomes(path)
    equal(outcomes.original_correct, [1, np.nan])
    assert outcomes.ledger.to_dict() == {"read": 4, "used": 2, "left_out": {"duplicate": 2}}
    assert "2 rows repeat another word for word: the first of each is kept" in outcomes.ledger.notes


@pytest.mark.parametrize("other", ["0,x", "1,z", ",x"])
def test_two_rows_that_differ(tmp_path, other):
    path = tmp_path / "t.csv"
    path.write_text(f"question_id,original_correct,kind\na,1,x\nb,1,y\na,{other}\n")
    message = f"{path} line 4: question 'a' differs from its row at {path} line 2: keep one"
    with pytest.raises(RecordError, match=message):
        read_outcomes(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question_id,original_correct\na,1\n,0\n", "line 3: there is no question_id"),
        ("question_id,original_correct\na,1\nb,yes\n", "line 3: original_correct='yes' must be"),
        ("question_id,original_correct\na,0.5\n", "line 2: original_correct='0.5' must be 1, 0,"),
        ("question_id,original_correct,original_tokens\na,1,-3\n", "original_tokens='-3' must be"),
        ("question_id,original_correct,original_tools\na,1,inf\n", "original_tools='inf' must be"),
        ("question_id,original_correct\na,1\nb,0,2\n", "line 3: 3 fields, and the header has 2"),
        ("question_id,original_correct\n", "t.csv: no rows: a table needs one for each question"),
        ("", "t.csv: the file is empty"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_outcomes(path)
    assert "\n" not in str(error.value)


def test_a_wrong_line_is_named(tmp_path):
    path = tmp_path / "t.jsonl"
    good = '{"question_id": "a", "original_correct": 1}\n'
    for bad, message in (
        ('{"question_id": ', r"line 3: not JSON \("),
        ("[1]", "line 3: not a JSON object: a record has named values"),
        ('{"original_correct": 1}', "line 3: there is no question_id"),
        ('{"question_id": "b", "original_correct": "x"}', "line 3: original_correct='x' must be"),
    ):
        path.write_text(f"{good}\n{bad}\n")
        with pytest.raises(RecordError, match=message):
            read_outcomes(path)


def test_a_wrong_record_of_a_list_is_named(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"question_id": "a", "original_correct": 1}, {"question_id": "b\\u0000"}]')
    with pytest.raises(RecordError, match=r"record 2: question_id='b.*' ends in the character NUL"):
        read_outcomes(path)


def test_a_json_file_of_one_record(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"question_id": "a", "original_correct": "x"}')
    with pytest.raises(RecordError, match=r"t\.json: original_correct='x' must be 1, 0, true"):
        read_outcomes(path)
    path.write_text("[1]")
    with pytest.raises(RecordError, match=r"t\.json record 1: not a JSON object"):
        read_outcomes(path)


def test_a_column_may_begin_far_down(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [{"question_id": str(i), "original_correct": 1} for i in range(500)]
    lines[-1]["late"] = float("nan")  # JSON has no such number, and Python writes it
    lines[-2]["late"] = "x"
    path.write_text("\n".join(map(json.dumps, lines)))
    late = read_outcomes(path).covariates["late"]
    assert Counter(late.tolist()) == {"": 499, "x": 1}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.csv", "source='none.csv': no such file"),
        ("", "source='': no such file"),
        (
            3,
            "source is a int: give the path of a CSV, JSONL, JSON or Parquet file, or a data frame",
        ),
    ],
)
def test_what_is_no_table(source, message):
    with pytest.raises(InputError, match=message):
        read_outcomes(source)


def test_files_that_are_no_table(tmp_path):
    with pytest.raises(InputError, match=r"not a table: expected a file ending in \.jsonl"):
        read_outcomes(tmp_path)
    path = tmp_path / "t.parquet"
    path.write_bytes(b"not Parquet")
    with pytest.raises(InputError, match=r"t\.parquet: cannot be read: "):
        read_outcomes(path)
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"question_id": "a"}\n' * 999)[:-20])
    with pytest.raises(InputError, match="the compressed file breaks off"):
        read_outcomes(path)


# --- answerers in files of their own -------------------------------------------------------------


def test_answerers_in_files_of_their_own(tmp_path):
    path = write(tmp_path / "strong.csv", {
        "question_id": ["q3", "q1", "x", "q1"], "answer": ["C", "the gull", "A", "the gull"],
        "tokens": [7, None, 1, None], "note": ["", "", "", ""],
    })  # fmt: skip
    weak = pandas.DataFrame({"question_id": ["q1", "q2", "q3"], "correct": [0, None, 1]})
    outcomes = read_outcomes(
        pandas.DataFrame(ROWS).drop(columns=["strong_correct", "strong_tokens"]),
        answers={"strong": path, "weak": weak},
        gold=lvbench(tmp_path, ["B", "A", "A"], videos=["v", "v", "other"]),
    )
    equal(outcomes.alternatives["strong"].correct, [1, np.nan, 0])
    equal(outcomes.alternatives["strong"].tokens, [np.nan, np.nan, 7])
    equal(outcomes.alternatives["weak"].correct, [0, np.nan, 1])
    assert outcomes.cluster.tolist() == ["v", "v", "007"]
    assert outcomes.ledger.to_dict() == {
        "read": 10,
        "used": 8,
        "left_out": {"duplicate": 1, "question not among the outcomes": 1},
    }
    assert outcomes.ledger.notes == (
        "original: 1 of 3 outcomes are not known (1 not given)",
        f"strong: 1 of 3 outcomes are not known (1 not in {path})",
        "weak: 1 of 3 outcomes are not known (1 not given)",
        "1 questions, the first 'q3', have another video in lvbench than in data frame, whose is"
        " taken",
        "1 rows repeat another word for word: the first of each is kept",
    )
    assert outcomes.ledger.inputs[:3] == ("data frame", str(path), "answers['weak'], a data frame")


def test_the_original_in_a_file_of_its_own():
    outcomes = read_outcomes(
        pandas.DataFrame({"question_id": ["a"], "strong_correct": [1]}),
        answers={"original": pandas.DataFrame({"question_id": ["a"], "correct": [0]})},
    )
    equal(outcomes.original_correct, [0])
    assert list(outcomes.alternatives) == ["strong"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"strong": {"question_id": ["a"], "correct": [1]}}, "answers='strong': data frame has"),
        ({"b": {"question_id": ["x"], "correct": [1]}},
         r"answers\['b'\], a data frame: no question in common with data frame: ids are such as 'x'"
         " here and 'a' there"),
        ({"b": {"question_id": ["a"]}}, "no column correct or answer; it has question_id"),
        ({"b": {"question_id": ["a"], "answer": ["A"]}}, "answer needs gold answers"),
        ({"b": {"question_id": ["a", "a"], "correct": [1, 0]}}, "'a' differs from its row"),
    ],
)  # fmt: skip
def test_a_file_of_answers_that_cannot_be_right(answers, message):
    table = pandas.DataFrame({"question_id": ["a"], "original_correct": [1], "strong_correct": [1]})
    given_answers = {name: pandas.DataFrame(rows) for name, rows in answers.items()}
    with pytest.raises(InputError, match=message):
        read_outcomes(table, answers=given_answers)


def test_answers_must_be_a_mapping():
    with pytest.raises(InputError, match="answers is a str: give a mapping from names to tables"):
        read_outcomes("t.csv", answers="strong.csv")


# --- videos --------------------------------------------------------------------------------------


def test_videos_of_the_benchmark_or_a_mapping(tmp_path):
    table = pandas.DataFrame({"question_id": ["q1", "q2"], "original_correct": [1, 0]})
    assert read_outcomes(table).cluster is None
    path = lvbench(tmp_path, ["A", "B"], videos=["v1", "v2"])
    assert read_outcomes(table, gold=path).cluster.tolist() == ["v1", "v2"]
    mapping = {"q1": "m", "q2": "m"}
    assert read_outcomes(table, gold=path, videos=mapping).cluster.tolist() == ["m", "m"]
    outcomes = read_outcomes(table.assign(video_id=["v1", "v2"]), gold=path)
    assert outcomes.cluster.tolist() == ["v1", "v2"]
    assert outcomes.ledger.notes == ()
    path = lvbench(tmp_path, ["A"], videos=["v1"])  # q2 is in no video that is known
    with pytest.raises(InputError, match="question 'q2' has no video_id in lvbench"):
        read_outcomes(table, gold=path)


def test_videos_that_contradict_each_other():
    table = pandas.DataFrame({"question_id": ["a"], "original_correct": [1], "video_id": ["v"]})
    with pytest.raises(RecordError, match="question 'a' is in video 'v' by its records and in 'w'"):
        read_outcomes(table, videos={"a": "w"})
    table = pandas.DataFrame(
        {"question_id": list("ab"), "original_correct": [1, 1], "video_id": ["v", None]}
    )
    with pytest.raises(InputError, match="question 'b' has no video_id and others have"):
        read_outcomes(table)


def test_a_gap_in_the_benchmarks_videos_is_refused(tmp_path):
    path = lvbench(tmp_path, ["A", "B"], videos=["v", "w"])
    table = pandas.DataFrame({"question_id": ["q1", "q2", "q9"], "original_correct": [1, 0, 1]})
    with pytest.raises(InputError, match=r"question 'q9' has no video_id in lvbench .*--videos"):
        read_outcomes(table.assign(strong_correct=[1, 1, 0]), gold=path)
    videos = {"q1": "v", "q2": "w", "q9": "x"}
    outcomes = read_outcomes(table.assign(strong_correct=[1, 1, 0]), gold=path, videos=videos)
    assert outcomes.cluster.tolist() == ["v", "w", "x"]
    left_out = read_outcomes(table.assign(strong_correct=[1, 1, None]), gold=path)
    assert any("'q9': give videos=" in note for note in left_out.ledger.notes)


@pytest.mark.parametrize("name", ["score", "Δ", "cluster", "posterior mean"])
def test_a_column_of_a_built_in_name_is_refused_and_can_be_named_anew(name):
    table = pandas.DataFrame({"question_id": ["a"], "original_correct": [1], name: [0.5]})
    with pytest.raises(InputError, match=rf"data frame: .* called '{name}'.*\(--outcome-map\)"):
        read_outcomes(table)
    assert list(read_outcomes(table, columns={"mine": name}).covariates) == ["mine"]


def test_free_text_without_options_says_what_has_them():
    table = pandas.DataFrame(
        {"question_id": ["a", "b"], "gold_answer": "A", "original_answer": ["A", "the gull"]}
    )
    (note,) = read_outcomes(table).ledger.notes
    assert note == (
        "original: 1 of 2 outcomes are not known (1 not a label, and no options to read it with);"
        " gold= (--gold), the benchmark's file, has them"
    )
