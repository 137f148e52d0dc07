"""`read_intervals`: every form of a table, joined to outcomes, and what is refused or told."""

import json

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import read_benchmark
from carve_stats.logs.evidence_intervals import read_intervals
from carve_stats.logs.intervals import Intervals
from carve_stats.outcomes import Outcomes

ROWS = {
    "question_id": ["q2", "q1", "q3"],
    "retrieved": ["0-10; 40-50", "[]", None],
    "gold": ["5-20", "3-4", "1-2"],
}
FRAMES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}


def write(path, rows):
    frame = pandas.DataFrame(rows)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=path.suffix == ".jsonl")
    return path


def table(retrieved, gold="0-1"):
    return pandas.DataFrame({"question_id": ["q"], "retrieved": [retrieved], "gold": [gold]})


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet", *FRAMES])
def test_a_table_in_every_form(tmp_path, name):
    source = FRAMES[name](ROWS) if name in FRAMES else write(tmp_path / name, ROWS)
    intervals = read_intervals(source, format="seconds")
    assert intervals.question.tolist() == ["q1", "q2", "q3"]
    assert intervals.retrieved == ((), ((0, 10), (40, 50)), None)
    assert intervals.gold == (((3, 4),), ((5, 20),), ((1, 2),))
    found = intervals.overlap()
    assert found["covered"] == [False, True, None]
    np.testing.assert_array_equal(found["recall"], [0, 1 / 3, np.nan])
    np.testing.assert_array_equal(found["iou"], [0, 1 / 6, np.nan])
    assert intervals.ledger.to_dict() == {"read": 3, "used": 3, "left_out": {}}
    assert intervals.ledger.notes == (
        "1 question ('q3'): retrieved intervals that are not known, and so neither is the overlap"
        " ([] says that nothing was retrieved)",
    )
    assert repr(intervals) == "<Intervals: 3 questions, 2 with retrieved and annotated intervals>"


LISTS = [[[0.0, 2.5], [3.0, None]], [[4.0, 5.0]]]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet", *FRAMES])
def test_pairs_are_lists_in_every_form(tmp_path, name):
    rows = {"question_id": ["a", "b"], "retrieved": LISTS, "gold": LISTS[::-1]}
    source = FRAMES[name](rows) if name in FRAMES else write(tmp_path / name, rows)
    intervals = read_intervals(source, format="pairs")
    assert intervals.retrieved == (((0, 2.5), (3, None)), ((4, 5),))
    assert intervals.overlap()["covered"] == [True, True]


@given(st.permutations(range(3)))
def test_the_order_of_rows_changes_nothing(order):
    one, other = (
        read_intervals(pandas.DataFrame(ROWS).iloc[list(rows)], format="seconds")
        for rows in (range(3), order)
    )
    assert other.to_dict() == one.to_dict()
    assert other.ledger.notes == one.ledger.notes


def test_the_format_decides_what_a_text_means():
    source = table("12:30", "10:40")
    seconds, clock = (read_intervals(source, format=one) for one in ("seconds", "clock"))
    assert (seconds.retrieved, seconds.gold) == ((((12, 30),),), (((10, 40),),))
    assert (clock.retrieved, clock.gold) == ((((750, 750),),), (((640, 640),),))


def test_each_side_may_have_its_own_format():
    source = pandas.DataFrame(
        {"qid": ["q"], "retrieved": ["[[10, 20]]"], "time_reference": ["00:15-00:25"]}
    )
    intervals = read_intervals(
        source, format={"retrieved": "pairs", "gold": "clock"}, columns={"question_id": "qid"}
    )
    assert intervals.overlaps() == [(True, 0.5, pytest.approx(1 / 3))]


def test_columns_by_other_names():
    source = pandas.DataFrame(
        {"question_id": ["q"], "clips": ["0-4"], "truth": ["2-6"], "gold": ["x"]}
    )
    intervals = read_intervals(
        source, format="seconds", columns={"retrieved": "clips", "gold": "truth"}
    )
    assert intervals.overlaps()[0].recall == 0.5


def test_joined_to_outcomes():
    outcomes = Outcomes(["q1", "q2", "q3"], [1, 0, 1], {}, covariates={"kind": ["a", "b", "a"]})
    intervals = read_intervals(pandas.DataFrame(ROWS), format="seconds")
    joined = outcomes.with_covariates(intervals.question, intervals.overlap())
    assert joined.covariates["covered"].tolist() == ["false", "true", ""]
    np.testing.assert_array_equal(joined.covariates["recall"], [0, 1 / 3, np.nan])
    assert joined.covariates["kind"].tolist() == ["a", "b", "a"]


class TestDurations:
    SOURCE = pandas.DataFrame(
        {"question_id": ["a", "b"], "retrieved": ["10-", "10-"], "gold": ["0-20", "0-20"]}
    )

    def test_a_mapping(self):
        intervals = read_intervals(self.SOURCE, format="seconds", durations={"a": 40, "other": 7})
        assert intervals.overlaps() == [(True, 0.5, 0.25), (True, 0.5, None)]
        assert intervals.ledger.notes == (
            "1 question ('b'): open intervals in a video of unknown duration; IoU, and recall where"
            " the annotation is open, are not known without durations=",
        )
        assert intervals.to_dict()["duration"] == [40.0, None]

    @pytest.mark.parametrize("form", ["frame", "csv"])
    def test_a_table(self, tmp_path, form):
        rows = {"question_id": ["b", "a"], "duration": [None, 40.0]}
        given = pandas.DataFrame(rows) if form == "frame" else write(tmp_path / "d.csv", rows)
        intervals = read_intervals(self.SOURCE, format="seconds", durations=given)
        assert [one.iou for one in intervals.overlaps()] == [0.25, None]

    @pytest.mark.parametrize(
        ("durations", "said"),
        [
            ({"a": "long"}, "durations\\['a'\\]='long' must be a number of seconds above 0"),
            ({"x": 4}, "no question in common with data frame: ids are such as 'x' here and 'a'"),
            (pandas.DataFrame({"question_id": ["a"], "length": [3]}), "no column duration"),
            (
                pandas.DataFrame({"question_id": ["a"], "duration": ["short"]}),
                "record 1: duration='short' must be a number of seconds",
            ),
            (
                {"a": 5},
                "^data frame record 1: retrieved of question 'a'.*not start after the video's end"
                " at 5 s",
            ),
            ({1: 40, "1": 50}, "durations: question '1' is there twice"),
            *[
                (
                    pandas.DataFrame({"question_id": ["b", "a"], "duration": ["9", text]}),
                    "durations, a data frame record 2: duration=.* must be a number of seconds",
                )
                for text in ("inf", "1e400", "-5", "0", "1_0", "٦٠", "01:00")
            ],
        ],
    )
    def test_refused(self, durations, said):
        with pytest.raises(InputError, match=said):
            read_intervals(self.SOURCE, format="seconds", durations=durations)

    @pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA])
    def test_one_that_is_missing_is_not_known(self, missing):
        given = {"a": 40, "b": missing}
        intervals = read_intervals(self.SOURCE, format="seconds", durations=given)
        assert [one.iou for one in intervals.overlaps()] == [0.25, None]

    def test_what_is_past_the_end_does_not_count_and_is_told(self):
        source = pandas.DataFrame(
            {
                "question_id": ["a", "b", "c"],
                "retrieved": ["50-61; 3-4", "0-10", "60.5"],
                "gold": ["50-60", "5-62.5", "9-10"],
            }
        )
        durations = dict.fromkeys("abc", 60)
        intervals = read_intervals(source, format="seconds", durations=durations)
        assert intervals.retrieved[0] == ((50, 61), (3, 4))  # as it is given
        assert intervals.overlaps() == [
            (True, 1.0, pytest.approx(10 / 11)),
            (True, pytest.approx(5 / 55), pytest.approx(5 / 60)),
            (False, 0.0, 0.0),
        ]
        past = "what is past it does not count"
        assert intervals.ledger.notes[-2:] == (
            "2 questions (the first 'a'): retrieved intervals that reach past the end of their"
            f" video, by up to 1 s; {past}",
            "1 question ('b'): gold intervals that reach past the end of their video, by up to"
            f" 2.5 s; {past}",
        )
        inside = source.replace({"50-60": "50-59.9"}).replace({"50-61; 3-4": "1-60"})
        told = read_intervals(inside, format="seconds", durations=durations).ledger.notes
        assert sum(past in note for note in told) == 2  # of c and of b
        assert "1 question ('c'): retrieved intervals that reach past" in " ".join(told)


class TestNotes:
    def test_frames_are_moments(self):
        intervals = read_intervals(table("3; 4.5", "0-10"), format="seconds")
        assert intervals.overlaps() == [(True, 0.0, 0.0)]
        assert intervals.ledger.notes[0].startswith("1 question ('q'): retrieved moments only")

    def test_annotated_moments(self):
        intervals = read_intervals(table("3-5", "4; 9"), format="seconds")
        assert intervals.overlaps() == [(True, 0.5, 0.0)]
        assert intervals.ledger.notes[0].startswith("1 question ('q'): annotated moments only")

    def test_a_row_that_repeats_another_counts_once(self):
        intervals = read_intervals(pandas.concat([table("1-2")] * 3), format="seconds")
        assert len(intervals) == 1
        assert intervals.ledger.to_dict() == {"read": 3, "used": 1, "left_out": {"duplicate": 2}}
        assert "2 rows repeat another" in intervals.ledger.notes[0]

    def test_nothing_to_tell(self):
        assert read_intervals(table("1-2"), format="seconds").ledger.notes == ()


class TestRefused:
    def test_a_bad_interval_names_file_line_and_question(self, tmp_path):
        path = write(tmp_path / "t.jsonl", ROWS | {"gold": ["5-20", "9-4", "1-2"]})
        with pytest.raises(RecordError, match="line 2: gold of question 'q1': '9-4' is reversed"):
            read_intervals(path, format="seconds")

    @pytest.mark.parametrize(
        ("name", "text", "place"),
        [
            ("t.csv", 'question_id,retrieved,gold,"n\n"\nq,1-2,3,"a\n\nb"\n\nr,9-1,1,\n', "line 7"),
            ("t.csv", "\ufeffquestion_id,retrieved,gold\r\nq,1-2,3-4\r\nr,9-1,1\r\n", "line 3"),
            ("t.tsv", "question_id\tretrieved\tgold\nr\t9-1\t1\n", "line 2"),
            (
                "t.jsonl",
                '\ufeff{"question_id": "q", "retrieved": "1", "gold": "1"}\r\n\r\n'
                '{"question_id": "r", "retrieved": "9-1", "gold": "1"}\r\n',
                "line 3",
            ),
            ("t.json", '[{"question_id": "r", "retrieved": "9-1", "gold": "1"}]', "record 1"),
        ],
    )  # fmt: skip
    def test_where_it_stands(self, tmp_path, name, text, place):
        path = tmp_path / name
        path.write_bytes(text.encode())
        said = f"^{path} {place}: retrieved of question 'r': '9-1' is reversed"
        with pytest.raises(RecordError, match=said):
            read_intervals(path, format="seconds")

    def test_rows_of_parquet_and_data_frames_are_records(self, tmp_path):
        frame = pandas.DataFrame(
            {"question_id": ["q", "r"], "retrieved": ["1-2", "9-1"], "gold": "1"}
        )
        path = write(tmp_path / "t.parquet", frame)
        for source, place in ((path, path), (frame, "data frame")):
            with pytest.raises(RecordError, match=f"^{place} record 2: retrieved of question 'r'"):
                read_intervals(source, format="seconds")

    def test_a_name_with_a_line_break(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text('"question\n_id",retrieved,gold\nq,1-2,2-3\n')
        named = {"question_id": "question\n_id"}
        assert len(read_intervals(path, format="seconds", columns=named)) == 1
        with pytest.raises(InputError, match=r"it has question\\n_id, retrieved, gold") as error:
            read_intervals(path, format="seconds")
        assert "\n" not in str(error.value)

    def test_a_start_past_the_end_names_the_line(self, tmp_path):
        path = write(tmp_path / "t.csv", ROWS | {"gold": ["5-20", "70-80", "1-2"]})
        said = "^.*t.csv line 3: gold of question 'q1': .* must not start after the video's end"
        with pytest.raises(RecordError, match=said):
            read_intervals(path, format="seconds", durations={"q1": 60})

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"format": "second"}, "unknown format 'second'.*did you mean 'seconds'"),
            ({"format": {"gold": "clock"}}, "does not say that of 'retrieved'"),
            ({"format": {"gold": "clock", "found": "pairs"}}, "unknown side of format 'found'"),
            ({"format": "trajectories"}, "give gold="),
            ({"format": "seconds", "columns": {"gold": "x"}}, "no column x; it has question_id"),
            ({"format": "seconds", "columns": {"video": "x"}}, "unknown column 'video'"),
            ({"format": "seconds", "columns": "gold"}, "columns is a str"),
        ],
    )
    def test_options(self, options, said):
        with pytest.raises(InputError, match=said) as error:
            read_intervals(table("1-2"), **options)
        assert "\n" not in str(error.value)

    def test_a_missing_column(self):
        with pytest.raises(InputError, match=r"no column gold or time_reference; it has .*gold="):
            read_intervals(table("1-2").drop(columns="gold"), format="seconds")

    def test_two_rows_of_a_question(self):
        both = pandas.concat([table("1-2"), table("1-3")])
        with pytest.raises(RecordError, match="question 'q' differs from its row"):
            read_intervals(both, format="seconds")

    def test_no_format(self):
        with pytest.raises(TypeError, match="format"):
            read_intervals(table("1-2"))


class TestBenchmark:
    @pytest.fixture
    def benchmark(self, tmp_path):
        path = tmp_path / "video_info.meta.jsonl"
        qa = [
            {"uid": uid, "question": "What?\n(A) a\n(B) b", "answer": "A", "time_reference": when}
            for uid, when in (("q1", "00:10-00:20"), ("q2", "01:00-01:10"), ("q3", None))
        ]
        path.write_text(json.dumps({"key": "v", "qa": qa}))
        return path

    def test_annotations_of_the_benchmark(self, benchmark):
        source = pandas.DataFrame({"question_id": ["q2", "q1", "q3"], "retrieved": ["65-75"] * 3})
        for gold in (benchmark, read_benchmark(benchmark)):
            intervals = read_intervals(source, format="seconds", gold=gold)
            assert intervals.overlap()["covered"] == [False, True, None]
            assert intervals.ledger.inputs == ("data frame", str(benchmark))
        assert "1 question ('q3'): gold intervals that are not known" in intervals.ledger.notes[0]

    def test_a_column_that_is_not_read_is_told(self, benchmark):
        source = pandas.DataFrame({"question_id": ["q1"], "retrieved": ["0-9"], "gold": ["0-9"]})
        intervals = read_intervals(source, format={"retrieved": "seconds"}, gold=benchmark)
        assert intervals.gold == (((10, 20),),)
        assert intervals.ledger.notes == (
            "data frame: the column 'gold' is not read, since gold= is given",
        )

    def test_of_trajectories(self, benchmark, tmp_path):
        path = tmp_path / "trajectories.jsonl"
        evidence = {
            "q1": [{"text": "a fox", "start": 15.0, "end": 30.0}],
            "q2": [{"frames": ["a.jpg", "b.jpg"], "times": [65.0, 90.0]}],
            "q9": [{"text": "no times", "start": 3.0}],
        }
        path.write_text(
            "\n".join(
                json.dumps({"question_id": q, "answer": "A", "evidence": items})
                for q, items in evidence.items()
            )
        )
        intervals = read_intervals(path, format="trajectories", gold=benchmark)
        assert intervals.retrieved == (((15, 30),), ((65, 65), (90, 90)), None)
        assert intervals.overlaps()[:2] == [(True, 0.5, 0.25), (True, 0.0, 0.0)]
        notes = " | ".join(intervals.ledger.notes)
        assert "1 question ('q9'): evidence that does not say when it is" in notes
        assert "1 question ('q9'): not in lvbench" in notes
        with pytest.raises(InputError, match="columns= names columns of a table"):
            read_intervals(path, format="trajectories", gold=benchmark, columns={})
        with pytest.raises(InputError, match="source is a DataFrame: format='trajectories' needs"):
            read_intervals(table("1-2"), format="trajectories", gold=benchmark)

    def test_trajectories_past_the_end_of_the_video(self, benchmark, tmp_path):
        path = tmp_path / "trajectories.jsonl"
        items = {"frames": ["a.jpg", "b.jpg"], "times": [12.0, 18.4]}
        path.write_text(json.dumps({"question_id": "q1", "answer": "A", "evidence": [items]}))
        options = {"format": "trajectories", "gold": benchmark}
        intervals = read_intervals(path, **options, durations={"q1": 18})
        told = (
            "1 question ('q1'): {} intervals that reach past the end of their video, by up to {} s"
        )
        assert [note.split(";")[0] for note in intervals.ledger.notes[-2:]] == [
            told.format("retrieved", 0.4),
            told.format("gold", 2),
        ]
        said = rf"^{path}, {benchmark}: retrieved of question 'q1'\[1\]=\(18.4, 18.4\) must not"
        with pytest.raises(RecordError, match=said):
            read_intervals(path, **options, durations={"q1": 17})

    def test_refused(self, benchmark):
        with pytest.raises(InputError, match=r"none of its questions is in lvbench.*'q'.*'q1'"):
            read_intervals(table("1-2"), format="seconds", gold=benchmark)
        with pytest.raises(InputError, match="gold= gives the annotated intervals: keep one"):
            read_intervals(table("1-2"), format="seconds", gold=benchmark, columns={"gold": "gold"})


class TestIntervals:
    def test_rows_are_sorted_by_question(self):
        intervals = Intervals(
            ["b", "a"], [[(0, 1)], None], [[(0, None)], [(2, 3)]], durations=[2, None]
        )
        assert intervals.to_dict() == {
            "question": ["a", "b"],
            "retrieved": [None, [[0.0, 1.0]]],
            "gold": [[[2.0, 3.0]], [[0.0, None]]],
            "duration": [None, 2.0],
            "covered": [None, True],
            "recall": [None, 0.5],
            "iou": [None, 0.5],
        }
        json.dumps(intervals.to_dict(), allow_nan=False)
        assert not intervals.question.flags.writeable

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            ((["a", "a"], [None] * 2, [None] * 2), "question='a' stands in two rows"),
            ((["a"], [None] * 2, [None]), "retrieved has 2 rows and question has 1"),
            ((["a"], [[(2, 1)]], [None]), r"retrieved of question 'a'\[0\]=\(2, 1\) is reversed"),
        ],
    )
    def test_refused(self, columns, said):
        with pytest.raises(InputError, match=said):
            Intervals(*columns)

    def test_a_duration_is_a_number(self):
        with pytest.raises(InputError, match="durations of question 'a'='x' must be a number"):
            Intervals(["a"], [None], [None], durations=["x"])
