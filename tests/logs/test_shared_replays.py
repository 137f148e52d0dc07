"""Runs that hold each other's replays: an extension is told, independent runs are not."""

import random

import log_writers as w
import pandas
import pytest

from carve_stats.errors import InputError
from carve_stats.logs.reader import read_replays
from carve_stats.logs.runs import read_runs

FIELDS = (*w.FIELDS, "run")


def make(run, seed, k, questions=40, chance=0.4, answers="AB"):
    """A run of k replays a condition; of one seed, the first replays are the same for every k."""
    records = []
    for question in range(questions):
        for condition in ("SHAM", "DESTROY"):
            rng = random.Random(f"{seed} {question} {condition}")
            for i in range(k):
                answer = rng.choice(answers[1:]) if rng.random() < chance else "A"
                records.append(w.record(f"q{question}", condition, i, answer, run=run))
    return records


def notes_of(counts):
    return [note for note in counts.ledger.notes if "count twice" in note]


def pool(records, **options):
    return read_replays(pandas.DataFrame(records), pool_runs=True, **options)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("form", ["frame", "jsonl", "csv"])
def test_a_run_and_its_extension_are_not_added_up(tmp_path, form, order):
    records = (make("seed1", 1, 3) + make("seed1-k10", 1, 10) + make("seed2", 2, 3))[::order]
    source = {
        "frame": lambda: pandas.DataFrame(records),
        "jsonl": lambda: w.write_jsonl(tmp_path / "log.jsonl", records),
        "csv": lambda: w.write_csv(tmp_path / "log.csv", records, FIELDS),
    }[form]()
    with pytest.raises(InputError) as refused:
        read_replays(source, pool_runs=True)
    assert str(refused.value) == (
        "the replays of run 'seed1' are in run 'seed1-k10' as well, word for word, for 40 of its"
        " 40 questions: added up they would count twice; read one of the two with run= (--run)"
    )
    assert read_replays(source, run="seed1").sham_replays.sum() == 120


def test_most_questions_are_told_and_some_are_not():
    longer = make("b", 1, 10)
    for changed, told in ((1, 39), (15, 25), (30, None)):
        shorter = make("a", 1, 3)
        for r in shorter:
            if int(r["question_id"][1:]) < changed and r["repetition"] == 1:
                r["answer"] = "A" if r["flip"] else "B"
                r["flip"] = 1 - r["flip"]
        counts = pool(shorter + longer)
        assert counts.sham_replays.sum() == 40 * 13
        if told is None:
            assert notes_of(counts) == []
        else:
            assert notes_of(counts) == [
                f"the replays of run 'a' are in run 'b' as well, word for word, for {told} of its"
                " 40 questions: these runs are not independent, and added up those replays count"
                " twice; leave one of the two out"
            ]


def test_another_answer_with_the_same_flip_is_another_replay():
    records = make("a", 1, 3) + [
        r | {"answer": r["answer"].replace("B", "C")} for r in make("b", 1, 3)
    ]
    assert notes_of(pool(records)) == []
    with pytest.raises(InputError, match="run 'a' are in run 'b'"):
        pool(make("a", 1, 3) + make("b", 1, 3))


@pytest.mark.parametrize("chance", [0.0, 0.02, 0.4, 1.0])
def test_independent_runs_of_a_steady_agent_are_none_of_each_other(chance):
    """At 0 and 1 all records agree, by steadiness: nothing tells these runs from independent."""
    records = make("a", 1, 3, chance=chance) + make("b", 2, 3, chance=chance)
    records += make("c", 3, 10, chance=chance)
    assert notes_of(pool(records)) == []
    assert all(notes_of(counts) == [] for counts in read_runs(pandas.DataFrame(records)).values())


def test_runs_read_apart_say_it_of_both():
    records = make("seed1", 1, 3) + make("seed1-k10", 1, 10) + make("seed2", 2, 3)
    runs = read_runs(pandas.DataFrame(records))
    assert [len(notes_of(counts)) for counts in runs.values()] == [1, 1, 0]
    assert notes_of(runs["seed1"]) == notes_of(runs["seed1-k10"])
    assert notes_of(runs["seed1"].pool(runs["seed2"])) == notes_of(runs["seed1"])


def test_sources_that_name_no_run_are_compared_too(tmp_path):
    paths = [
        w.write_jsonl(tmp_path / name, [w.without(r, "run") for r in make("", 1, k)])
        for name, k in (("short.jsonl", 3), ("long.jsonl", 10))
    ]
    with pytest.raises(InputError, match=r"short\.jsonl' are in run '.*long\.jsonl'"):
        read_replays(paths, pool_runs=True)


def test_flips_without_answers_are_compared():
    records = [
        w.without(r, "answer", "reference_answer") for r in make("a", 1, 3) + make("b", 1, 5)
    ]
    with pytest.raises(InputError, match="run 'a' are in run 'b'"):
        pool(records)


def test_counted_tables_have_no_records_to_compare():
    rows = [
        {"run": run, "question_id": f"q{i}", "sham_flips": 1, "sham_replays": 3,
         "destroy_flips": 2, "destroy_replays": 3}
        for run in "ab" for i in range(40)
    ]  # fmt: skip
    assert pool(rows).sham_replays.tolist() == [6] * 40


def with_self(records):
    """The same run, that logs SELF too: a SELF replay for each of its SHAM replays."""
    return records + [r | {"condition": "SELF"} for r in records if r["condition"] == "SHAM"]


@pytest.mark.parametrize("k", [4, 10])
def test_an_extension_that_logs_no_self_is_one(k):
    """At k = 4 it has fewer records in all than the run that it extends."""
    records = with_self(make("seed1", 1, 3)) + make("seed1-more", 1, k)
    with pytest.raises(InputError, match=r"run 'seed1' are in run 'seed1-more' .* 40 of its 40"):
        pool(records)
    runs = read_runs(pandas.DataFrame(records + make("seed2", 2, 3)))
    held = {name: counts.ledger.held_by for name, counts in runs.items()}
    assert held == {"seed1": ("seed1-more",), "seed1-more": (), "seed2": ()}
    assert runs["seed1"].ledger.shared == {"seed1-more": notes_of(runs["seed1"])[0]}
    # Where both log SELF it is compared.
    changed = [r | {"answer": "Z", "flip": 1} for r in with_self(make("seed1-more", 1, k))
               if r["condition"] == "SELF"]  # fmt: skip
    assert notes_of(pool(records + changed)) == []


def test_the_same_self_replays_make_no_runs_the_same():
    own = [r for r in with_self(make("a", 1, 3)) if r["condition"] == "SELF"]
    both = [r | {"run": "b"} for r in own]
    assert notes_of(pool(own + make("a", 2, 3) + both + make("b", 3, 3))) == []
