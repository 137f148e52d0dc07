"""Several runs in one table: against fractions, numeric derivatives and the figures of one run."""

import json
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
import stopped_replays as stopped
from run_cases import clustered_mean, drawn_questions, ragged, rows_of, shuffled
from scipy.stats import t as student

from carve_stats.counts import Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.rates import flip_rates, mean_score
from carve_stats.inference.run_summary import MEANING, NO_SELF, ONE_RUN, SPREAD, summarize_runs

DRAWN = drawn_questions()
RUNS = {f"seed {seed}": DRAWN.replay(k=3, p_self=0.2, rng=seed) for seed in (1, 2, 3)}


def brute(counts, figure):
    """Question to value in fractions."""
    values = {}
    for question, (_, arms) in rows_of(counts).items():
        rates = {arm: Fraction(x, k) for arm, (x, k) in arms.items() if k}
        if figure == "self":
            if "self" in rates:
                values[question] = rates["self"]
        elif "sham" in rates and "destroy" in rates:
            rates["score"] = rates["destroy"] - rates["sham"]
            values[question] = rates[figure]
    return values


def figures(result):
    return {
        "self": result.self_, "sham": result.sham, "destroy": result.destroy,
        "score": result.mean_score,
    }  # fmt: skip


def test_runs_over_the_same_questions_are_means_of_question_means():
    result = summarize_runs(RUNS, level=0.9)
    clusters = dict(zip(map(str, DRAWN.question), map(str, DRAWN.cluster), strict=True))
    for name, row in figures(result).items():
        values = [brute(counts, name) for counts in RUNS.values()]
        means = [sum(v.values()) / len(v) for v in values]
        assert row.values == pytest.approx(tuple(map(float, means)), abs=1e-14)
        pooled = {q: sum(v[q] for v in values) / 3 for q in values[0]}
        mean, se, low, high, _ = clustered_mean(pooled, clusters, 0.9)
        assert row.estimate == pytest.approx(mean, abs=1e-14)
        assert (row.se, row.low, row.high) == pytest.approx((se, low, high), rel=1e-9)
        spread = sum((m - sum(means) / 3) ** 2 for m in means) / 2
        assert row.sd == pytest.approx(math.sqrt(spread), rel=1e-9)
        assert (row.questions, row.clusters) == (40, 9)
    assert result.scored == {"any": 40, "every": 40}
    assert result.k == {run: {"sham": 3, "destroy": 3} for run in RUNS}
    assert result.notes == (MEANING,)


@pytest.mark.parametrize("seed", range(2))
def test_runs_over_different_questions_by_numeric_derivatives(seed):
    drawn = drawn_questions(seed)
    rng = np.random.default_rng(seed)
    runs = {
        name: ragged(drawn, 10 * seed + place).select(rng.random(40) < 0.7)
        for place, name in enumerate("abc")
    }
    result = summarize_runs(runs)
    cluster_of = dict(zip(map(str, drawn.question), map(str, drawn.cluster), strict=True))
    for name, row in figures(result).items():
        values = [brute(counts, name) for counts in runs.values()]
        videos = sorted({cluster_of[q] for v in values for q in v})

        def mean_over_runs(weights, values=values):
            means = [
                sum(weights[cluster_of[q]] * float(x) for q, x in v.items())
                / sum(weights[cluster_of[q]] for q in v)
                for v in values
            ]
            return sum(means) / len(means)

        ones = dict.fromkeys(videos, 1.0)
        slopes = [
            (mean_over_runs(ones | {v: 1 + 1e-5}) - mean_over_runs(ones | {v: 1 - 1e-5})) / 2e-5
            for v in videos
        ]
        count = len(videos)
        se = math.sqrt(count / (count - 1) * sum(s * s for s in slopes))
        assert row.estimate == pytest.approx(mean_over_runs(ones), abs=1e-13)
        assert row.se == pytest.approx(se, rel=1e-6)
        half = student.ppf(0.975, count - 1) * row.se
        assert row.high == pytest.approx(row.estimate + half, rel=1e-9)
        assert row.questions == len({q for v in values for q in v})
        assert row.sd == pytest.approx(statistics.stdev(row.values), rel=1e-12)
    every = set.intersection(*(set(brute(c, "sham")) for c in runs.values()))
    either = set.union(*(set(brute(c, "sham")) for c in runs.values()))
    assert result.scored == {"any": len(either), "every": len(every)}
    assert any(f"({len(every)} of {len(either)} are scored" in note for note in result.notes)


def test_another_k_is_told():
    result = summarize_runs({"k3": RUNS["seed 1"], "k10": DRAWN.replay(k=10, rng=4)})
    assert result.k["k10"] == {"sham": 10, "destroy": 10}
    assert any("numbers of valid replays differ" in note for note in result.notes)


def test_one_run_is_its_own_summary():
    counts = ragged(DRAWN, 7)
    result = summarize_runs({"only": counts})
    rates, mean = flip_rates(counts), mean_score(counts)
    for row, alone in (
        (result.self_, rates.self_), (result.sham, rates.sham), (result.destroy, rates.destroy),
        (result.mean_score, mean),
    ):  # fmt: skip
        assert (row.estimate, row.values) == (alone.estimate, (alone.estimate,))
        assert (row.se, row.low, row.high) == pytest.approx((alone.se, alone.low, alone.high))
        assert row.sd is None
        assert row.questions == alone.questions
    assert ONE_RUN in result.notes
    assert MEANING not in result.notes


def test_order_of_runs_and_rows_changes_nothing():
    runs = {name: ragged(DRAWN, seed) for seed, name in enumerate(("b", "a", "c"))}
    mixed = {name: shuffled(runs[name], 3) for name in ("c", "b", "a")}
    assert summarize_runs(mixed).to_dict() == summarize_runs(runs).to_dict()
    assert summarize_runs(mixed).runs == ("a", "b", "c")


def test_a_run_without_self_replays_has_no_part_in_their_mean():
    runs = RUNS | {"seed 2": DRAWN.replay(k=3, rng=2)}
    result, without = (
        summarize_runs(runs),
        summarize_runs({"1": RUNS["seed 1"], "3": RUNS["seed 3"]}),
    )
    assert math.isnan(result.self_.values[1])
    assert (result.self_.estimate, result.self_.sd, result.self_.low) == (
        without.self_.estimate, without.self_.sd, without.self_.low
    )  # fmt: skip
    assert "SELF: run 'seed 2' has no value and no part in the mean" in result.notes
    assert result.to_dict()["self"]["values"][1] is None
    none = summarize_runs({str(seed): DRAWN.replay(k=3, rng=seed) for seed in (1, 2)})
    assert f"SELF: {NO_SELF}" in none.notes
    assert (none.self_.sd, none.self_.low, none.self_.questions) == (None, None, 0)
    json.dumps(none.to_dict(), allow_nan=False)


def test_copies_have_no_spread_and_are_named():
    result = summarize_runs({"x": RUNS["seed 1"], "y": RUNS["seed 1"], "z": RUNS["seed 1"]})
    assert [row.sd for row in figures(result).values()] == [0.0] * 4
    assert sum("have the same flips and replays" in note for note in result.notes) == 2
    for name in "yz":
        assert any(f"runs 'x' and '{name}' have" in note for note in result.notes)
    two = summarize_runs({"x": RUNS["seed 1"], "y": RUNS["seed 2"], "z": RUNS["seed 1"]})
    assert [note for note in two.notes if "runs 'x' and 'z' have" in note]
    assert not [note for note in two.notes if "'y'" in note]


def test_clusters():
    def bare(c):
        return ReplayCounts(
            c.question, c.sham_flips, c.sham_replays, c.destroy_flips, c.sham_replays
        )

    one = RUNS["seed 1"]
    with pytest.raises(InputError, match=r"run 'a' names the clusters .* and run 'b' does not"):
        summarize_runs({"b": bare(one), "a": one})
    unknown = summarize_runs({name: bare(c) for name, c in RUNS.items()})
    assert unknown.clusters is None
    assert unknown.sham.low is None
    assert unknown.sham.sd == summarize_runs(RUNS).sham.sd
    moved = ReplayCounts(["q000005"], [0], [3], [0], [3], cluster=["elsewhere"])
    with pytest.raises(InputError, match=r"'q000005' is in cluster .* 'elsewhere' in run 'z'"):
        summarize_runs({"z": moved, "a": one})
    video = DRAWN.cluster == DRAWN.cluster[0]
    single = summarize_runs({name: c.select(video) for name, c in RUNS.items()})
    assert single.sham.sd is not None
    assert single.sham.low is None
    assert any("belong to one cluster" in note for note in single.notes)


def test_wrong_input():
    plan = stopped.make_plan((3, 3))
    early = ReplayCounts(["q"], [0], [3], [0], [3], cluster=["v"], stopping=plan)
    for runs, words in (
        ({}, "runs is empty"),
        ([RUNS["seed 1"]], "runs is a list: it must map names"),
        ({1: RUNS["seed 1"]}, "the name 1 must be a text"),
        ({"x": "log.jsonl"}, "run 'x': counts is a str"),
        ({"a": RUNS["seed 1"], "x": early}, "run 'x': the replays were stopped early"),
    ):
        with pytest.raises(InputError, match=words):
            summarize_runs(runs)
    with pytest.raises(InputError, match="level=95"):
        summarize_runs(RUNS, level=95)


def test_what_readers_said_is_told_once():
    def said(counts, *notes):
        return ReplayCounts(
            counts.question, counts.sham_flips, counts.sham_replays, counts.destroy_flips,
            counts.destroy_replays, sham_invalid=[1] * len(counts), cluster=counts.cluster,
            ledger=Ledger(0, 0, {}, notes),
        )  # fmt: skip

    one, two = (said(RUNS[f"seed {i}"], "both", f"word {i}") for i in (1, 2))
    notes = summarize_runs({"x": one, "y": two}).notes
    assert notes[:3] == ("both", "run 'x': word 1", "run 'y': word 2")
    (invalid,) = [note for note in notes if "no valid answer" in note]
    assert "40 of 280 replays in run 'x', 40 of 280 replays in run 'y'" in invalid


def test_how_it_looks():
    result = summarize_runs(RUNS | {"": DRAWN.replay(k=3, p_self=0.2, rng=8)})
    plain = result.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    text = str(result)
    assert text.splitlines()[0].startswith("4 runs (40 questions scored, 9 clusters; 95 % cluster")
    assert "(no run)" in text.splitlines()[2]
    assert "seed 3" in result._repr_html_()
    many = {f"{seed:02d}": DRAWN.replay(k=1, rng=seed) for seed in range(7)}
    wide = str(summarize_runs(many))
    assert "the values of each: .rows()" in wide
    assert "05" not in wide.splitlines()[2]


def test_runs_of_equal_rates_have_no_spread_whichever_questions_flipped():
    rng = np.random.default_rng(3)
    k = rng.integers(1, 12, 300)
    flips = rng.binomial(k, 0.4)
    question = [f"q{i}" for i in range(300)]
    runs = {}
    for name in ("one", "two", "three"):
        order = rng.permutation(300)  # the same replays, of other questions
        runs[name] = ReplayCounts(
            question, flips[order], k[order], k[order] - flips[order], k[order],
            self_flips=flips[order], self_replays=k[order],
        )  # fmt: skip
    result = summarize_runs(runs)
    for row in result.rows().values():
        assert row.sd == 0.0
        assert len(set(row.values)) == 1
    assert MEANING not in result.notes  # it speaks of intervals: no question names its video
    assert SPREAD in result.notes
