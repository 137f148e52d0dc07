"""What records say, and what happens when they say it twice or wrongly."""

import log_writers as w
import pandas
import pytest
from log_writers import record, without

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.reader import read_replays


def read(path, *records, **options):
    return read_replays(w.write_jsonl(path / "log.jsonl", records), **options)


def cell(counts, arm="sham"):
    return [int(getattr(counts, f"{arm}_{what}")[0]) for what in ("flips", "replays", "invalid")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"flip": 1}, [1, 1, 0]),
        ({"flip": True}, [1, 1, 0]),
        ({"flip": "1"}, [1, 1, 0]),
        ({"flip": "TRUE"}, [1, 1, 0]),
        ({"flip": 1.0}, [1, 1, 0]),
        ({"flip": False}, [0, 1, 0]),
        ({"flip": "0"}, [0, 1, 0]),
        ({"flip": None}, [0, 0, 1]),
        ({"flip": ""}, [0, 0, 1]),
        ({"flip": float("nan")}, [0, 0, 1]),
        ({"flip": 1, "valid": False}, [0, 0, 1]),
        ({"flip": None, "valid": False, "answer": "I think", "reference_answer": "A"}, [0, 0, 1]),
        ({"flip": None, "answer": "B", "reference_answer": "A"}, [1, 1, 0]),
        ({"answer": "B", "reference_answer": "A"}, [1, 1, 0]),
        ({"answer": " Ａ\n", "reference_answer": "a"}, [0, 1, 0]),
        ({"answer": "STRASSE", "reference_answer": "straße"}, [0, 1, 0]),
        ({"answer": None, "reference_answer": "A"}, [0, 0, 1]),
        ({"answer": " ", "reference_answer": "A"}, [0, 0, 1]),
        ({"answer": "B", "reference_answer": "A", "valid": False}, [0, 0, 1]),
        ({"answer": 2, "reference_answer": 2}, [0, 1, 0]),
        ({"answer": 1.0, "reference_answer": 1}, [0, 1, 0]),
        ({"answer": " -12.00", "reference_answer": "-12"}, [0, 1, 0]),
        ({"answer": "１.0", "reference_answer": "1"}, [0, 1, 0]),
        ({"answer": "10", "reference_answer": "1"}, [1, 1, 0]),
        ({"answer": 1.5, "reference_answer": 1}, [1, 1, 0]),
        ({"answer": float("nan"), "reference_answer": "A"}, [0, 0, 1]),
        ({"answer": "nan", "reference_answer": "A"}, [0, 0, 1]),
        ({"answer": "none", "reference_answer": "A"}, [1, 1, 0]),
        ({"answer": "B", "flip": 1}, [1, 1, 0]),
        ({"reference_answer": "A", "flip": 1}, [1, 1, 0]),
        ({"answer": None, "reference_answer": None, "flip": 1}, [1, 1, 0]),
        (
            {"answer": "Failed to obtain answer via API.", "reference_answer": "A", "flip": 1},
            [0, 0, 1],
        ),
        (
            {
                "answer": "[LMMS_EVAL_REQUEST_FAILED after 5 retries] 503",
                "reference_answer": "A",
                "valid": True,
            },
            [0, 0, 1],
        ),
    ],
)
def test_what_counts_as_a_flip(tmp_path, fields, expected):
    fixed = {"question_id": "q", "condition": "sham", "repetition": 0}
    assert cell(read(tmp_path, fixed | fields)) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "A", "reference_answer": None},
        {"answer": "A", "reference_answer": "Failed to obtain answer via API."},
        {"answer": "A", "reference_answer": "Failed to obtain answer via API.", "flip": 1},
        {"answer": "A", "reference_answer": "", "flip": None},
    ],
)
def test_a_frozen_answer_that_is_none_leaves_the_record_out(tmp_path, fields):
    fixed = {"question_id": "q", "condition": "sham", "repetition": 0}
    counts = read(tmp_path, fixed | fields)
    assert cell(counts) == [0, 0, 0]
    assert counts.ledger.left_out == {"unparsed reference": 1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question_id": None}, "there is no question_id"),
        ({"question_id": ""}, "there is no question_id"),
        ({"condition": "RANDOM"}, "unknown condition 'RANDOM': .* self, sham, destroy, phase"),
        ({"condition": None}, "unknown condition 'null'"),
        ({"repetition": 1.5}, "repetition=1.5 must be a whole number"),
        ({"repetition": "x"}, "repetition=x must be a whole number"),
        ({"repetition": -1}, "repetition=-1 must be a whole number"),
        ({"repetition": None}, "repetition=null must be a whole number"),
        ({"attempt": "second"}, "attempt=second must be a whole number"),
        ({"flip": 2}, "flip=2 must be 0, 1, true, false or null"),
        ({"flip": "yes"}, "flip=yes must be"),
        ({"valid": "ok"}, "valid=ok must be true, false or null"),
        ({"flip": 0}, "flip=0 disagrees with answer=B and reference_answer=A"),
        ({"answer": "a ", "flip": 1}, "flip=1 disagrees with answer=a and"),
        (
            {"answer": "two\nlines " + "x" * 80, "flip": 0, "reference_answer": "A"},
            "flip=0 disagrees with answer=two lines … and reference_answer=A",
        ),
        (
            {"flip": None, "valid": True, "answer": None, "reference_answer": None},
            "valid is true and flip is null",
        ),
        ({"question_id": float("nan")}, "there is no question_id"),
        (
            {"reference_answer": "B", "flip": 0},
            "question 'q' has the reference_answer 'B', and"
            r" 'A' at .*log\.jsonl line 1: a question has one in a run",
        ),
        ({"answer": None, "flip": 1, "valid": None}, "flip=1 without an answer"),
    ],
)
def test_a_record_that_is_wrong_is_refused_with_its_place(tmp_path, fields, message):
    bad = record("q", "SHAM", 1, "B") | fields
    with pytest.raises(RecordError, match=rf"log\.jsonl line 2: {message}") as raised:
        read(tmp_path, record("q", "SHAM", 0), bad, record("q", "SHAM", 2))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint16", "Int64", "float64", "bool", "object"])
def test_columns_of_numbers_say_what_texts_say(kind):
    log = pandas.DataFrame([record("q", "SHAM", i, "AB"[i]) for i in range(2)])
    log["flip"] = log["flip"].astype(kind)
    log["valid"] = log["valid"].astype(kind)
    if kind != "bool":
        log["repetition"] = log["repetition"].astype(kind)
    assert cell(read_replays(log)) == [1, 2, 0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"flip": 2}, "flip=2 must be"), ({"repetition": -1}, "repetition=-1 must be"),
     ({"repetition": 2**40}, "repetition=1099511627776 must be"), ({"valid": 3}, "valid=3 must")],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(changed, message):
    log = pandas.DataFrame([record("q", "SHAM", 0, valid=1), record("q", valid=1) | changed])
    with pytest.raises(RecordError, match=rf"data frame record 2: {message}"):
        read_replays(log.astype(dict.fromkeys(changed, "int64")))


def test_conditions_and_modes_in_any_case(tmp_path):
    counts = read(
        tmp_path,
        *(record("q", c, i) for i, c in enumerate(["sham", "SHAM", "Sham ", "self", "SELF"])),
        *(record("q", c, i) for i, c in enumerate(["phase", "PHASE", "Destroy"])),
    )
    assert [cell(counts, arm)[1] for arm in w.ARMS] == [2, 3, 3]


def test_the_same_replay_in_two_spellings_of_a_condition_is_a_duplicate(tmp_path):
    counts = read(tmp_path, record("q", "sham"), record("q", "SHAM"))
    assert cell(counts) == [0, 1, 0]
    assert counts.ledger.to_dict() == {"read": 2, "used": 1, "left_out": {"duplicate": 1}}
    assert "1 records repeat another" in counts.ledger.notes[0]


@pytest.mark.parametrize(
    "other",
    [{"answer": "B", "flip": 1}, {"video_id": None}, {"flip": None, "valid": False}],
)
def test_two_different_records_for_one_replay_are_refused_with_both_places(tmp_path, other):
    different = record("q", "sham", 3) | other
    message = (
        r"log\.jsonl line 4: question 'q', sham, repetition 3, attempt 0 differs from the record"
        r" of the same replay at .*log\.jsonl line 1: keep one; .*pool_runs=True"
    )
    with pytest.raises(RecordError, match=message):
        read(
            tmp_path, record("q", "SHAM", 3), record("q", "SHAM", 2), record("q", "SHAM", 3),
            different,
        )  # fmt: skip


def test_attempts(tmp_path):
    attempts = [
        record("q", "SHAM", 0, None, attempt=0),
        record("q", "SHAM", 0, "B", attempt=1),
        record("q", "SHAM", 0, "A", attempt=2),
        record("q", "SHAM", 1, "A", attempt=0),
    ]
    first = read(tmp_path, *attempts)
    assert cell(first) == [0, 1, 1]
    assert first.ledger.left_out == {"invalid": 1, "later attempt": 2}
    first_valid = read(tmp_path, *attempts, attempts="first-valid")
    assert cell(first_valid) == [1, 2, 0]
    assert first_valid.ledger.left_out == {"earlier attempt": 1, "later attempt": 1}


def test_questions_without_a_valid_replay_are_kept_and_unscored(tmp_path):
    counts = read(
        tmp_path, record("lost", "SHAM", 0, None), record("lost", "DESTROY", 0, None),
        record("solo", "SHAM", 0), record("whole", "SHAM", 0), record("whole", "DESTROY", 0),
    )  # fmt: skip
    assert counts.question.tolist() == ["lost", "solo", "whole"]
    assert counts.scored.tolist() == [False, False, True]
    assert counts.sham_invalid.tolist() == [1, 0, 0]
    assert counts.destroy_invalid.tolist() == [1, 0, 0]


def test_late_columns_of_jsonl_are_not_missed(tmp_path):
    early = [without(record("q", "SHAM", i), "valid") for i in range(150)]
    late = record("q", "SHAM", 0, "B", attempt=1, valid=True)
    counts = read(tmp_path, *early, late)
    assert counts.ledger.left_out == {"later attempt": 1}


RUNS = [
    record("q", "SHAM", 0, "B", run="one"),
    record("q", "DESTROY", 0, "B", run="one"),
    record("q", "SHAM", 0, "A", run="two"),
    record("p", "SHAM", 0, "A", run="two"),
]


@pytest.mark.parametrize("name", ["run", "run_id"])
def test_runs_are_read_apart_and_pooled_on_request(tmp_path, name):
    records = [without(r, "run") | {name: r["run"]} for r in RUNS]
    with pytest.raises(InputError, match=r"hold 2 runs \('one', 'two'\): name one with run="):
        read(tmp_path, *records)
    one = read(tmp_path, *records, run="one")
    assert one.question.tolist() == ["q"]
    assert one.ledger.to_dict() == {"read": 4, "used": 2, "left_out": {"other run": 2}}
    assert "read run 'one', one of 2" in one.ledger.notes
    pooled = read(tmp_path, *records, pool_runs=True)
    assert pooled.question.tolist() == ["p", "q"]
    assert pooled.sham_flips.tolist() == [0, 1]
    assert pooled.sham_replays.tolist() == [1, 2]
    assert "pooled 2 runs: 'one', 'two'" in pooled.ledger.notes
    with pytest.raises(InputError, match="unknown run 'three': the known ones are one, two"):
        read(tmp_path, *records, run="three")


def test_records_of_another_run_are_not_looked_at(tmp_path):
    other = record("q", "NOISE", 0, run="two")
    assert read(tmp_path, RUNS[0], other, run="one").ledger.used == 1
    with pytest.raises(RecordError, match="line 2: unknown condition 'NOISE'"):
        read(tmp_path, RUNS[0], other, run="two")


def test_sources_without_run_ids_are_runs_when_pooled(tmp_path):
    a = w.write_jsonl(tmp_path / "a.jsonl", [record("q", "SHAM", 0, "B")])
    b = w.write_jsonl(tmp_path / "b.jsonl", [record("q", "SHAM", 0, "A")])
    with pytest.raises(RecordError, match=r"b\.jsonl line 1: .*at .*a\.jsonl line 1"):
        read_replays([a, b])
    assert cell(read_replays([a, b], pool_runs=True)) == [1, 2, 0]
    frames = [pandas.read_json(path, lines=True) for path in (a, b)]
    assert cell(read_replays(frames, pool_runs=True)) == [1, 2, 0]


def test_a_question_in_two_videos_is_refused_with_both_places(tmp_path):
    message = (
        r"log\.jsonl line 3: question 'q' is in video 'v2', and in 'v1' at .*line 1: a question"
    )
    with pytest.raises(RecordError, match=message):
        read(
            tmp_path, record("q", "SHAM", 0), record("p", "SHAM", 0),
            record("q", "DESTROY", 0, video_id="v2"),
        )  # fmt: skip


FIXED = {"question_id": "q", "condition": "sham"}
ANSWERED = [FIXED | {"repetition": i, "answer": "AB"[i % 2], "reference_answer": "A"}
            for i in range(120)]  # fmt: skip
FLIPPED = [FIXED | {"repetition": i, "flip": 1} for i in range(200, 203)]


def test_the_order_of_records_with_and_without_flips_changes_nothing(tmp_path):
    for records in (ANSWERED + FLIPPED, FLIPPED + ANSWERED):
        assert cell(read(tmp_path, *records)) == [63, 123, 0]
        assert cell(read_replays(pandas.DataFrame(records))) == [63, 123, 0]


def test_a_needed_column_may_first_appear_far_down(tmp_path):
    unanswered = [FIXED | {"repetition": i, "valid": False} for i in range(300, 420)]
    assert cell(read(tmp_path, *unanswered, *FLIPPED)) == [3, 3, 120]


def test_a_missing_frozen_answer_is_told_by_the_whole_log(tmp_path):
    doubtful = FIXED | {"repetition": 500, "answer": "A", "flip": 1}
    for more in ({}, {"reference_answer": None}):
        assert cell(read(tmp_path, doubtful | more)) == [1, 1, 0]
        for records in ([doubtful | more, *ANSWERED], [*ANSWERED, doubtful | more]):
            counts = read(tmp_path, *records)
            assert cell(counts) == [60, 120, 0]
            assert counts.ledger.left_out == {"unparsed reference": 1}
            assert cell(read_replays(pandas.DataFrame(records))) == [60, 120, 0]


def test_a_null_flip_beside_an_answer_is_invalid_in_a_log_of_flips(tmp_path):
    flips = [FIXED | {"repetition": i, "answer": "B", "flip": f} for i, f in enumerate([None, 1])]
    assert cell(read(tmp_path, *flips)) == [1, 1, 1]


def test_a_flip_without_an_answer_is_told_by_the_whole_log(tmp_path):
    flips = [FIXED | {"repetition": i, "reference_answer": "A", "flip": 1} for i in (500, 501)]
    assert cell(read(tmp_path, *flips)) == [2, 2, 0]
    with pytest.raises(RecordError, match="line 1: flip=1 without an answer"):
        read(tmp_path, *flips, *ANSWERED)


def test_what_one_source_says_does_not_decide_on_another(tmp_path):
    flips = [FIXED | {"repetition": 500, "answer": "A", "flip": 1}]
    sources = [
        w.write_jsonl(tmp_path / "a.jsonl", flips), w.write_jsonl(tmp_path / "b.jsonl", ANSWERED),
    ]  # fmt: skip
    assert cell(read_replays(sources)) == [61, 121, 0]


def test_run_stands_before_run_id_record_by_record(tmp_path):
    early = [r | {"run_id": "a"} for r in ANSWERED]
    late = [r | {"run": "b"} for r in ANSWERED]
    for records in (early + late, late + early):
        for log in (w.write_jsonl(tmp_path / "log.jsonl", records), pandas.DataFrame(records)):
            assert read_replays(log, run="a").ledger.left_out == {"other run": 120}
