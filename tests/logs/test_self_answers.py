"""The SELF answers in a log against a slow count, in every form of log."""

import csv
import json
import unicodedata
from collections import Counter

import numpy as np
import pandas
import pytest
from log_writers import record, without, write_csv, write_jsonl, write_tree

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import read_benchmark
from carve_stats.logs.reader import read_replays
from carve_stats.logs.self_answers import read_self_answers
from carve_stats.outcomes import Outcomes
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory
from carve_stats.routing.self_consistency import self_consistency

FAILED = "Failed to obtain answer via API."


def several(rng, n=12, k=4):
    """Records of n questions: odd spellings, failures, invalid ones, and SHAM replays too."""
    spelled = ["A", "a ", "B", "b", "Ｂ", "C", None, FAILED]
    records = []
    for i in range(n):
        for condition in ("SELF", "SHAM", "self"):
            for repetition in range(k):
                answer = spelled[rng.integers(len(spelled))]
                place = repetition + 10 * (condition == "self")
                one = record(f"q{i:02d}", condition, place, answer,
                             reference="b ", video_id=f"v{i % 3}")  # fmt: skip
                folded = fold(answer)
                ok = folded is not None and not folded.startswith("failed")
                records.append(one | {"flip": int(folded != "b") if ok else None, "valid": ok})
    return records


def fold(text):
    return None if text is None else unicodedata.normalize("NFKC", text).strip().casefold()


def slowly(records):
    """Question to its answers, by plain Python."""
    answers = {r["question_id"]: Counter() for r in records}
    for r in records:
        if r["condition"].lower() == "self" and r["valid"]:
            answers[r["question_id"]][fold(r["answer"])] += 1
    return {question: dict(votes) for question, votes in answers.items()}


def as_read(said):
    return dict(zip(said.question.tolist(), said.answers, strict=True))


def test_every_form_of_log_says_the_same(rng, tmp_path):
    records = several(rng)
    upper = [r | {"condition": r["condition"].upper()} for r in records]
    frame = pandas.DataFrame(records)
    frame.to_parquet(tmp_path / "log.parquet")
    sources = [
        write_jsonl(tmp_path / "log.jsonl", records),
        write_csv(tmp_path / "log.csv", records),
        write_tree(tmp_path / "tree", upper),
        tmp_path / "log.parquet",
        frame,
    ]
    for source in sources:
        said = read_self_answers(source)
        assert as_read(said) == slowly(records)
        assert set(said.frozen) == {"b"}
        counts = read_replays(source)
        assert said.kept.tolist() == (counts.self_replays - counts.self_flips).tolist()
        assert said.judged.tolist() == said.replays.tolist() == counts.self_replays.tolist()
        assert said.cluster.tolist() == counts.cluster.tolist()
        used = sum(sum(votes.values()) for votes in slowly(records).values())
        assert said.ledger.to_dict() == {
            "read": len(records),
            "used": used,
            "left_out": {
                "SHAM or DESTROY": len(records) // 3,
                "invalid": 2 * len(records) // 3 - used,
            },
        }


def test_the_order_of_records_and_files_changes_nothing(rng, tmp_path):
    records = several(rng)
    shuffled = [records[i] for i in rng.permutation(len(records))]
    half = len(records) // 2
    parts = [
        write_jsonl(tmp_path / "b.jsonl", shuffled[:half]),
        write_jsonl(tmp_path / "a.jsonl", shuffled[half:]),
    ]
    whole = read_self_answers(write_jsonl(tmp_path / "whole.jsonl", records))
    for source in (parts, parts[::-1]):
        said = read_self_answers(source)
        assert said.to_dict() == whole.to_dict()
        assert said.ledger.to_dict() == whole.ledger.to_dict()


def test_attempts_and_repeated_records_count_once(tmp_path):
    records = [
        record(condition="SELF", answer=None, attempt=0),
        record(condition="SELF", answer="C", attempt=1),
        record(condition="SELF", answer="D", attempt=2),
        record(condition="SELF", answer="B", repetition=1, attempt=0),
        record(condition="SELF", answer="B", repetition=1, attempt=0),
    ]
    log = write_jsonl(tmp_path / "log.jsonl", records)
    first, valid = read_self_answers(log), read_self_answers(log, attempts="first-valid")
    assert first.answers == ({"b": 1},)
    assert first.ledger.to_dict()["left_out"] == {"later attempt": 2, "duplicate": 1, "invalid": 1}
    assert valid.answers == ({"b": 1, "c": 1},)
    assert valid.ledger.to_dict()["left_out"] == {
        "earlier attempt": 1,
        "later attempt": 1,
        "duplicate": 1,
    }


def test_a_run_directory_is_read(tmp_path):
    plan = RunPlan(
        seed=1, conditions=("self",), attempts=1, agent={"name": "mine"}, operator=None,
        encoder=None, crop=None, parser_version="1",
    )  # fmt: skip
    question = Trajectory(question_id="q", answer="A")
    with RunStore.open(tmp_path, plan, k={"self": 3}, trajectories=[question]) as store:
        for repetition, answer in enumerate("BAB"):
            store.append(
                Replay(
                    run=store.run_id, question_id="q", video_id="v", condition="self",
                    repetition=repetition, attempt=0, text="", answer=answer, reference_answer="A",
                    status="ok", rule="none", flip=int(answer != "A"), seed=1, started_at=0.0,
                )
            )  # fmt: skip
    said = read_self_answers(tmp_path)
    assert (said.answers, said.frozen) == (({"a": 1, "b": 2},), ("a",))
    assert said.majority(0).label == "b"


def test_answers_without_a_frozen_one_still_count(tmp_path):
    records = [
        without(record(condition="SELF", repetition=i, answer=a, reference=None), "flip")
        for i, a in enumerate(["C", "B", "C", FAILED, None])
    ]
    said = read_self_answers(write_jsonl(tmp_path / "log.jsonl", records), gold={"q1": "C"})
    assert (said.answers, said.frozen) == (({"b": 1, "c": 2},), (None,))
    assert np.isnan(said.agreement).tolist() == [True]
    result = self_consistency(said, Outcomes(["q1"], [0], {}))
    assert result.answerer.correct.tolist() == [1.0]


def test_a_frozen_answer_of_another_record_is_the_questions(tmp_path):
    records = [
        record(condition="SHAM", answer="A"),
        without(record(condition="SELF", answer="A", reference=None), "flip"),
        without(record(condition="SELF", answer="B", reference=None, repetition=1), "flip"),
    ]
    said = read_self_answers(write_jsonl(tmp_path / "log.jsonl", records))
    assert (said.frozen, said.kept.tolist(), said.judged.tolist()) == (("a",), [1], [2])


def test_flips_without_answers_say_what_they_can(tmp_path):
    """Two of three keep the frozen answer: it is the majority, whatever the third said."""
    rows = [("q1", [0, 0, 1]), ("q2", [1, 1, 0]), ("q3", [1, 1, 1])]
    frame = pandas.DataFrame(
        [
            {"question_id": q, "condition": "SELF", "repetition": i, "flip": flip}
            for q, flips in rows
            for i, flip in enumerate(flips)
        ]
    )
    said = read_self_answers(frame)
    assert said.agreement.tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    assert [said.majority(i).kept for i in range(3)] == [True, None, False]
    assert said.unnamed.tolist() == [1, 2, 3]
    assert any("say flip and no answer" in note for note in said.ledger.notes)
    result = self_consistency(said, Outcomes(["q1", "q2", "q3"], [1, 1, 1], {}))
    kept = {"questions": 1, "right": 1, "wrong": 0, "not known": 0}
    assert result.questions["kept"] == kept
    assert result.to_dict()["correct"] == [None] * 3  # the two that differ could only be harms


def test_a_replay_that_keeps_it_tells_the_frozen_answer():
    frame = pandas.DataFrame(
        {
            "question_id": "q", "condition": "SELF", "repetition": [0, 1, 2],
            "answer": ["B", "C", "C"], "flip": [0, 1, 1],
        }
    )  # fmt: skip
    said = read_self_answers(frame.assign(reference_answer=None))
    assert (said.frozen, said.agreement.tolist()) == (("b",), pytest.approx([1 / 3]))
    assert (said.majority(0).label, said.majority(0).kept) == ("c", False)


def test_runs_are_read_apart_or_pooled(tmp_path):
    records = [
        record(condition="SELF", answer=answer, run=run, repetition=i)
        for run, answers in (("one", "AAB"), ("two", "BBB"))
        for i, answer in enumerate(answers)
    ]
    log = write_jsonl(tmp_path / "log.jsonl", records)
    with pytest.raises(InputError, match="hold 2 runs"):
        read_self_answers(log)
    one = read_self_answers(log, run="one")
    assert one.answers == ({"a": 2, "b": 1},)
    assert one.ledger.to_dict()["left_out"] == {"other run": 3}
    assert read_self_answers(log, pool_runs=True).answers == ({"a": 2, "b": 4},)
    with pytest.raises(InputError, match="give one of the two"):
        read_self_answers(log, run="one", pool_runs=True)


def test_files_of_several_runs_are_pooled_by_source(tmp_path):
    paths = [
        write_jsonl(tmp_path / f"{name}.jsonl", [record(condition="SELF", answer=name)])
        for name in "BC"
    ]
    assert read_self_answers(paths, pool_runs=True).answers == ({"b": 1, "c": 1},)


def test_pooled_runs_with_several_frozen_answers_are_refused(tmp_path):
    records = [
        record(condition="SELF", answer="A", reference=reference, run=reference)
        for reference in "AB"
    ]
    log = write_jsonl(tmp_path / "log.jsonl", records)
    with pytest.raises(
        InputError, match="'q1' has the frozen answers 'a' and 'b' in different runs"
    ):
        read_self_answers(log, pool_runs=True)


def test_logs_without_self_replays_are_told(tmp_path):
    said = read_self_answers(write_jsonl(tmp_path / "log.jsonl", [record(), record(repetition=1)]))
    assert (said.question.tolist(), said.answers) == (["q1"], ({},))
    assert any("no SELF replays in these logs" in note for note in said.ledger.notes)
    with pytest.raises(InputError, match="no valid SELF replay"):
        self_consistency(said, Outcomes(["q1"], [1], {}))


def test_counted_tables_hold_no_answers(tmp_path):
    counted = {"sham_flips": 1, "sham_replays": 3, "destroy_flips": 1, "destroy_replays": 3}
    path = tmp_path / "counts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["question_id", *counted], ["q1", *counted.values()]])
    with pytest.raises(
        InputError, match=r"counts\.csv: a table already counted: it holds no answers"
    ):
        read_self_answers(path)
    compact = {
        "question_id": "q1",
        "sham_flips": [0, 1],
        "destroy_flips": [1, 1],
        "self_flips": [0],
    }
    log = tmp_path / "compact.jsonl"
    log.write_text(json.dumps(compact) + "\n")
    with pytest.raises(InputError, match="it holds no answers"):
        read_self_answers(log)


def test_gold_answers_come_in_every_form(tmp_path):
    log = write_jsonl(
        tmp_path / "log.jsonl",
        [
            record("7", "SELF", 0, answer="a gull", reference="A"),
            record("7", "SELF", 1, answer="B", reference="A"),
            record("7", "SELF", 2, answer="I do not know", reference="A"),
        ],
    )
    benchmark = tmp_path / "video_info.meta.jsonl"
    video = {"key": "v1", "qa": [{
        "uid": "7", "question": "What flies?\n(A) A kite\n(B) A gull", "answer": "B",
        "question_type": [], "time_reference": "01:05-01:19"}]}  # fmt: skip
    benchmark.write_text(json.dumps(video))
    table = tmp_path / "gold.csv"
    table.write_text("question_id,gold_answer\n7,B\n")
    lines = tmp_path / "gold.jsonl"
    lines.write_text('{"question_id": "7", "gold_answer": "(B)"}\n')
    with_options = {"a": 0.0, "a gull": 1.0, "b": 1.0, "i do not know": None}
    labels_alone = {"a": 0.0, "a gull": None, "b": 1.0, "i do not know": None}
    for gold, expected in [
        (benchmark, with_options),
        (read_benchmark(benchmark), with_options),
        ({"7": "B"}, labels_alone),
        (table, labels_alone),
        (lines, labels_alone),
        (pandas.DataFrame({"question_id": ["7"], "gold_answer": ["b"]}), labels_alone),
    ]:
        (correct,) = read_self_answers(log, gold=gold).correct
        assert {label: None if x != x else x for label, x in correct.items()} == expected


def test_gold_answers_that_cannot_be_are_refused(tmp_path):
    log = write_jsonl(tmp_path / "log.jsonl", [record(condition="SELF")])
    for gold, message in [
        ({"q1": "the gull"}, "gold: the gold answer 'the gull' of question 'q1' must be the label"),
        ({"q9": "B"}, "none of the logs' questions is in it: ids are such as 'q1' here and 'q9'"),
        (7, "gold is a int"),
        (tmp_path / "none.json", "no such file"),
    ]:
        with pytest.raises(InputError, match=message):
            read_self_answers(log, gold=gold)


def test_a_wrong_record_is_named(tmp_path):
    records = [record(condition="SELF"), record(condition="SELF", repetition=1, flip=1)]
    with pytest.raises(RecordError, match=r"log.jsonl line 2: flip=1 disagrees"):
        read_self_answers(write_jsonl(tmp_path / "log.jsonl", records))
