"""Tables 1, A1 and A2, and which runs they are of."""

import math
import re
import statistics
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from paper_table_cases import VIDEOS, N, assert_figure, mean_interval, rates, scores

import carve_stats as cs
from carve_stats.errors import InputError
from carve_stats.report.paper_tables import build_tables
from carve_stats.report.paper_tables.inputs import PaperInputs


def test_table_1(inputs, made):
    runs = [inputs.runs[f"seed {i}"].to_dict() for i in (1, 2, 3)]
    videos = runs[0]["cluster"]
    of_run = {
        "self_flip_rate": [rates(run, "self") for run in runs],
        "sham_flip_rate": [rates(run, "sham") for run in runs],
        "destroy_flip_rate": [rates(run, "destroy") for run in runs],
        "mean_delta": [scores(run) for run in runs],
    }
    for key, values in of_run.items():
        over_runs = [sum(question) / 3 for question in zip(*values, strict=True)]
        assert_figure(made["1"].figure("mean", key), mean_interval(over_runs, videos))
        sd = statistics.stdev(sum(run) / N for run in values)
        assert made["1"].figure("seed_sd", key).value == pytest.approx(sd)


def test_table_a1(inputs, made):
    for i, j in combinations((1, 2, 3), 2):
        a, b = (scores(inputs.runs[f"seed {run}"].to_dict()) for run in (i, j))
        key = str(i), str(j)
        r = made["A1"].figure("pearson_r", *key)
        assert r.value == pytest.approx(np.corrcoef(a, b)[0, 1])
        assert r.low < r.value < r.high
        same = [np.sign(x) == np.sign(y) for x, y in zip(a, b, strict=True)]
        videos = inputs.runs["seed 1"].cluster.tolist()
        assert_figure(made["A1"].figure("sign_agreement", *key), mean_interval(same, videos))
        below = [{q for q, s in enumerate(x) if s < 0} for x in (a, b)]
        jaccard = len(below[0] & below[1]) / len(below[0] | below[1])
        assert made["A1"].figure("trigger_jaccard", *key).value == pytest.approx(jaccard)


def test_table_a2(inputs, made):
    for k, run in ((3, "seed 1"), (10, "extended")):
        data = inputs.runs[run].to_dict()
        score, videos = scores(data), data["cluster"]
        p, q = (sum(rates(data, arm)) / N for arm in ("sham", "destroy"))
        shares = dict.fromkeys(("negative", "zero", "positive"), 0.0)
        for x in range(k + 1):
            for y in range(k + 1):
                sign = ("zero", "positive", "negative")[(y > x) - (y < x)]
                shares[sign] += (
                    math.comb(k, x) * p**x * (1 - p) ** (k - x)
                    * math.comb(k, y) * q**y * (1 - q) ** (k - y)
                )  # fmt: skip
        signs = {"negative": -1, "zero": 0, "positive": 1}
        for name, sign in signs.items():
            hit = [float(np.sign(s) == sign) for s in score]
            predicted = made["A2"].figure(name, str(k), "homogeneous").value
            assert predicted == pytest.approx(shares[name])
            observed = made["A2"].figure(name, str(k), "observed")
            assert_figure(observed, mean_interval(hit, videos))
        ties = score.count(0) / N - shares["zero"]
        excess = made["A2"].figure("tie_excess", str(k), "observed")
        assert excess.value == pytest.approx(ties)
        assert excess.low < ties < excess.high


def test_order_of_runs_changes_nothing(inputs, made):
    backwards = dict(reversed(inputs.runs.items()))
    for table in build_tables(replace(inputs, runs=backwards), ["1", "2", "A1", "A2", "A3"]):
        assert table == made[table.name]


def test_an_extension_is_no_second_run(inputs):
    runs = {name: inputs.runs[name] for name in ("extended", "seed 1")}
    table_1, a1 = build_tables(PaperInputs(runs=runs), ["1", "A1"])
    assert "(1 run)" in table_1.caption
    said = "'extended' (k = 10) holds all replays of run 'seed 1'"
    assert any(said in note for note in table_1.notes)
    assert said in a1.missing
    # A chain of extensions is one run.
    longer = {**runs, "more": inputs.runs["extended"].pool(inputs.runs["seed 2"])}
    (table,) = build_tables(PaperInputs(runs=longer), ["1"])
    assert "(1 run)" in table.caption
    # Where most runs are as long as the extension, what it extends is left out.
    other = cs.Population.paper().draw(N, clusters=VIDEOS, rng=7).replay(k=10, p_self=0.2, rng=9)
    (table,) = build_tables(PaperInputs(runs={**runs, "other": other}), ["1"])
    assert "(2 runs)" in table.caption
    assert any("run 'seed 1' (k = 3) is held by run 'extended'" in note for note in table.notes)


def test_a_run_of_its_own_counts_whatever_its_k(inputs):
    drawn = cs.Population.paper().draw(N, clusters=VIDEOS, rng=7)
    other = drawn.replay(k=10, p_self=0.2, rng=99)
    runs = {name: inputs.runs[name] for name in ("seed 1", "seed 2")} | {"ten": other}
    table_1, a1 = build_tables(PaperInputs(runs=runs), ["1", "A1"])
    means = [sum(rates(one.to_dict(), "destroy")) / N for one in runs.values()]
    of_runs = table_1.figure("mean", "destroy_flip_rate").value
    assert of_runs == pytest.approx(sum(means) / 3)
    spread = table_1.figure("seed_sd", "destroy_flip_rate").value
    assert spread == pytest.approx(statistics.stdev(means))
    assert [row.labels for row in a1.rows][1:] == [("seed 1", "ten"), ("seed 2", "ten")]
    for table in (table_1, a1):
        assert any("k is 3 in run 'seed 1'" in note and "10 in run 'ten'" in note
                   for note in table.notes)  # fmt: skip
    a, b = scores(runs["seed 2"].to_dict()), scores(other.to_dict())
    assert a1.figure("pearson_r", "2", "3").value == pytest.approx(np.corrcoef(a, b)[0, 1])


def test_runs_are_called_by_the_k_that_was_planned(inputs):
    counts = inputs.runs["extended"]
    lost = np.zeros(N, int)
    lost[::9] = 1
    data = counts.to_dict()
    some = {"sham_invalid": lost, "sham_replays": counts.sham_replays - lost}
    some["sham_flips"] = np.minimum(counts.sham_flips, some["sham_replays"])
    ragged = cs.ReplayCounts(**{**data, **some})
    given = replace(inputs, runs={"r": ragged, "s": inputs.runs["seed 2"]})
    four, a2, a3 = build_tables(given, ["4", "A2", "A3"], published=True)
    keys = [(*row.key, row.source) for row in a3.rows]
    here = keys.index(("10", "covered_correct", "here"))
    assert keys[here + 1] == ("10", "covered_correct", "published")
    mine = a2.figure("zero", "10", "observed")
    assert mine.value == pytest.approx(cs.tie_excess(ragged).equal_k.observed.zero)
    assert any(row.labels == ("10 (at 9)", "observed") for row in a2.rows)
    assert any(note.startswith("run 'r': k = 10 was planned") for note in a2.notes)
    (alone,) = build_tables(replace(given, run="r"), ["4"])
    assert alone.rows[-1].key == ("carve_le0_k10",)
    assert four.figure("n", "vanilla").value == N


def test_three_of_ten_replays_are_subsampled_for_table_a2(inputs):
    data = inputs.runs["extended"].to_dict()
    shares = dict.fromkeys((-1, 0, 1), 0.0)
    for sham, destroy in zip(data["sham_flips"], data["destroy_flips"], strict=True):
        for x in range(4):
            for y in range(4):
                ways = math.comb(sham, x) * math.comb(10 - sham, 3 - x)
                ways *= math.comb(destroy, y) * math.comb(10 - destroy, 3 - y)
                shares[(y > x) - (y < x)] += ways / math.comb(10, 3) ** 2 / N
    alone = {"one": inputs.runs["extended"]}
    (table,) = build_tables(PaperInputs(runs=alone), ["A2"], published=True)
    for sign, name in ((-1, "negative"), (0, "zero"), (1, "positive")):
        observed = table.figure(name, "3", "observed")
        assert observed.value == pytest.approx(shares[sign])
        assert observed.low < observed.value < observed.high
    p, q = (sum(rates(data, arm)) / N for arm in ("sham", "destroy"))
    same = sum(
        math.comb(3, x) ** 2 * (p * q) ** x * ((1 - p) * (1 - q)) ** (3 - x) for x in range(4)
    )
    assert table.figure("zero", "3", "homogeneous").value == pytest.approx(same)
    excess = table.figure("tie_excess", "3", "observed").value
    assert excess == pytest.approx(shares[0] - same)
    assert [row.key[0] for row in table.rows] == ["3"] * 4 + ["10"] * 4
    assert any(f"over {N} questions" in note for note in table.notes)


def test_one_run_or_all_added_up_in_every_table(inputs):
    given = replace(inputs, run="seed 2")
    own = PaperInputs(runs={"seed 2": inputs.runs["seed 2"]})
    for mine, alone in zip(
        build_tables(given, ["1", "A2"]), build_tables(own, ["1", "A2"]), strict=True
    ):
        assert mine.rows == alone.rows
    assert {row.key[0] for row in build_tables(given, ["A3"])[0].rows} == {"3"}
    assert build_tables(given, ["A1"])[0].missing.startswith("a second run")
    pooled = inputs.runs["seed 1"].pool(inputs.runs["extended"])
    twice = {name: inputs.runs[name] for name in ("seed 1", "extended")}
    added = replace(inputs, runs=twice, pooled=pooled)
    (table_1, a2) = build_tables(added, ["1", "A2"])
    assert table_1.rows == build_tables(PaperInputs(runs={"": pooled}), ["1"])[0].rows
    assert {row.key[0] for row in a2.rows} == {"13"}
    for table in (table_1, a2):
        assert any("counted twice" in note for note in table.notes)


def test_a_chosen_run_and_pooled_runs(inputs):
    (chosen,) = build_tables(replace(inputs, run="seed 2"), ["2"])
    expected = cs.mean_score(inputs.runs["seed 2"]).estimate
    n = sum(row.figures["n"].value for row in chosen.rows)
    total = sum(row.figures["n"].value * row.figures["mean_delta"].value for row in chosen.rows)
    assert total / n == pytest.approx(expected)
    pooled = inputs.runs["seed 1"].pool(inputs.runs["seed 2"])
    (table,) = build_tables(replace(inputs, pooled=pooled), ["A2"])
    observed = cs.tie_excess(pooled).observed.zero
    assert table.figure("zero", "6", "observed").value == pytest.approx(observed)
    with pytest.raises(InputError, match="seed 9"):
        replace(inputs, run="seed 9")


def test_runs_over_other_questions(inputs):
    first, second = inputs.runs["seed 1"], inputs.runs["seed 2"]
    runs = {"a": first, "b": second.select(second.question != second.question[3])}
    with pytest.raises(InputError, match=re.escape(repr(str(first.question[3])))):
        build_tables(PaperInputs(runs=runs), ["A1"])
    (table,) = build_tables(PaperInputs(runs=runs, allow_mismatch=True), ["A1"])
    assert table.figure("pearson_r", "1", "2").value is not None


def test_questions_that_only_one_run_has_are_counted(inputs):
    first, second, third = (inputs.runs[f"seed {i}"] for i in (1, 2, 3))
    lost = {**second.to_dict(), "sham_flips": second.sham_flips * (np.arange(N) > 2)}
    lost["sham_replays"] = second.sham_replays * (np.arange(N) > 2)
    some = cs.ReplayCounts(**lost)  # three questions without a score
    runs = {
        "a": first.select(np.arange(N) < N - 4),
        "b": some.select(np.arange(N) > 9),
        "c": third,
        "d": some,
    }
    (table,) = build_tables(PaperInputs(runs=runs, allow_mismatch=True), ["A1"])
    told = [note for note in table.notes if "left out of" in note]
    none = "no replays in run"
    assert told == [
        f"run 'a', run 'b': left out of {N} questions: 4 ({none} 'a'), 10 ({none} 'b')",
        f"run 'a', run 'c': left out of {N} questions: 4 ({none} 'a')",
        f"run 'a', run 'd': left out of {N} questions: 4 ({none} 'a'), 3 (no score in run 'd')",
        f"run 'b', run 'c': left out of {N} questions: 10 ({none} 'b')",
        f"run 'b', run 'd': left out of {N} questions: 10 ({none} 'b')",
        f"run 'c', run 'd': left out of {N} questions: 3 (no score in run 'd')",
    ]
    with pytest.raises(InputError, match=r"run 'b' has no replays of question .*, which run 'a'"):
        build_tables(PaperInputs(runs={"a": first, "b": runs["b"]}), ["A1"])
    apart = {"a": first.select(np.arange(N) < 9), "b": second.select(np.arange(N) > 9)}
    with pytest.raises(InputError, match="run 'a' and run 'b' have no question id in common"):
        build_tables(PaperInputs(runs=apart, allow_mismatch=True), ["A1"])
