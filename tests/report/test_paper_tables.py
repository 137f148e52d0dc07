"""Tables of the paper from synthetic logs: the published shape, figures by brute force, formats."""

import csv
import io
import json
import math
import re
import statistics
from collections import defaultdict
from dataclasses import replace
from html import unescape
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from markdown_it import MarkdownIt
from scipy.special import stdtrit

import carve_stats as cs
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer
from carve_stats.report import paper_tables
from carve_stats.report.paper_tables import build_tables, table_names
from carve_stats.report.paper_tables.formats import FORMATS, as_csv, as_latex, as_markdown, as_text
from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row

N, VIDEOS = 120, 15
PUBLISHED = {
    "1": "table1_flip_rates", "2": "table2_strata", "3": "table3_policies",
    "4": "table4_accuracy", "A1": "a1_reproducibility", "A2": "a2_tie_excess",
    "A3": "a3_components", "A4": "a4_selective", "A5": "a5_transfer",
}  # fmt: skip


def draw_backbone(seed):
    """Three runs over the same questions, an extension of the first, and their outcomes."""
    drawn = cs.Population.paper().draw(N, clusters=VIDEOS, rng=7)
    rng = np.random.default_rng(seed)
    runs = {
        name: drawn.replay(k=3, p_self=0.2, rng=int(rng.integers(10**9)))
        for name in ("seed 1", "seed 2", "seed 3")
    }
    more = drawn.replay(k=7, p_self=0.2, rng=int(rng.integers(10**9)))
    runs["extended"] = runs["seed 1"].pool(more)
    counts = runs["seed 1"]
    original = rng.random(N) < 0.45
    strong = np.where(original, rng.random(N) < 0.7, rng.random(N) < 0.35)
    look_more = np.where(rng.random(N) < 0.05, ~original, original)
    outcomes = cs.Outcomes(
        counts.question,
        original,
        {
            "strong": Answerer(strong.astype(float), tokens=np.full(N, 9000.0)),
            "look_more": look_more,
        },
        cluster=counts.cluster,
        original_tokens=rng.integers(20_000, 40_000, N),
        covariates={
            "covered": rng.random(N) < 0.4,
            "confidence": rng.integers(0, 8, N).astype(float),
        },
    )
    return runs, outcomes


@pytest.fixture(scope="module")
def inputs():
    runs, outcomes = draw_backbone(1)
    theirs, judged = draw_backbone(2)
    return PaperInputs(
        runs=runs,
        outcomes=outcomes,
        fallback="strong",
        second=Backbone("32B", theirs["seed 1"], judged),
        name="7B",
        seed=5,
    )


@pytest.fixture(scope="module")
def made(inputs):
    return {table.name: table for table in build_tables(inputs)}


def published_rows(name):
    path = files(paper_tables) / "published" / f"{PUBLISHED[name]}.csv"
    return list(csv.DictReader(path.read_text().splitlines()))


def mean_interval(values, videos, level=0.95):
    """Mean and cluster t interval of plain lists, by the formula and in loops."""
    values, n = list(map(float, values)), len(values)
    mean = sum(values) / n
    sums = defaultdict(float)
    for value, video in zip(values, videos, strict=True):
        sums[video] += value - mean
    v = len(sums)
    se = math.sqrt(v / (v - 1) * sum(s * s for s in sums.values())) / n
    half = stdtrit(v - 1, (1 + level) / 2) * se
    return mean, mean - half, mean + half


def assert_figure(one, expected):
    assert (one.value, one.low, one.high) == pytest.approx(expected)


def columns(counts, outcomes):
    """Plain lists, in the order of the ids."""
    data = counts.to_dict()
    correct = [int(x) for x in outcomes.original_correct]
    strong = [int(x) for x in outcomes.alternatives["strong"].correct]
    return data, correct, strong


def rates(data, arm):
    pairs = zip(data[f"{arm}_flips"], data[f"{arm}_replays"], strict=True)
    return [flips / replays for flips, replays in pairs]


def scores(data):
    pairs = zip(rates(data, "destroy"), rates(data, "sham"), strict=True)
    return [round(destroy - sham, 9) for destroy, sham in pairs]


# Every table in the published shape.


def test_every_table_of_the_paper_is_there():
    assert table_names() == list(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_columns_and_row_keys_are_the_published_ones(made, name):
    written = list(csv.DictReader(io.StringIO(as_csv(made[name]))))
    theirs = published_rows(name)
    assert set(theirs[0]) <= set(written[0])
    labels = [label for label, _ in made[name].labels]
    ours = {tuple(row[label] for label in labels) for row in written}
    missing = {tuple(row[label] for label in labels) for row in theirs} - ours
    assert missing == ({("judge_grounding",), ("self_consistency",)} if name == "4" else set())


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures_stand_beside_as_published(inputs, name):
    (table,) = build_tables(inputs, [name], published=True)
    written = csv.DictReader(io.StringIO(as_csv(table)))
    shown = [row for row in written if row.pop("origin") == "published"]
    theirs = published_rows(name)
    assert len(shown) == len(theirs)
    by_key = {tuple(row[label] for label, _ in table.labels): row for row in shown}
    for row in theirs:
        mine = by_key[tuple(row[label] for label, _ in table.labels)]
        for column, text in row.items():
            if column in dict(table.labels) or not text:
                assert mine[column] == text
            else:
                assert float(mine[column]) == float(text)
    own = [row for row in table.rows if row.source == "here"]
    assert tuple(own) == build_tables(inputs, [name])[0].rows


# Every figure by brute force.


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


def in_strata(values, data, outcomes):
    covered = outcomes.covariates["covered"].tolist()
    cells = defaultdict(lambda: ([], []))
    rows = zip(values, data["cluster"], covered, outcomes.original_correct, strict=True)
    for value, video, cover, right in rows:
        cell = cells["yes" if cover == "true" else "no", "yes" if right else "no"]
        cell[0].append(value)
        cell[1].append(video)
    return cells


def test_table_2(inputs, made):
    data = inputs.runs["seed 1"].to_dict()
    cells = in_strata(scores(data), data, inputs.outcomes)
    assert [row.key for row in made["2"].rows] == [
        ("yes", "yes"), ("no", "yes"), ("yes", "no"), ("no", "no"),
    ]  # fmt: skip
    for key, (values, videos) in cells.items():
        assert made["2"].figure("n", *key).value == len(values)
        assert_figure(made["2"].figure("mean_delta", *key), mean_interval(values, videos))
    covered = [(s, c == "true") for s, c in zip(
        scores(data), inputs.outcomes.covariates["covered"].tolist(), strict=True)]  # fmt: skip
    pairs = [(a, b) for a, yes in covered if yes for b, other in covered if not other]
    auc = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    assert f"ROC-AUC of the score for gold coverage: {auc:.3f} [" in " ".join(made["2"].notes)


def test_table_a3(inputs, made):
    words = {"yes": ("covered", "correct"), "no": ("uncovered", "incorrect")}
    for k, run in (("3", "seed 1"), ("10", "extended")):
        data = inputs.runs[run].to_dict()
        for arm in ("sham", "destroy"):
            for (cover, right), cell in in_strata(rates(data, arm), data, inputs.outcomes).items():
                stratum = f"{words[cover][0]}_{words[right][1]}"
                assert_figure(made["A3"].figure(arm, k, stratum), mean_interval(*cell))
                assert made["A3"].figure("n", k, stratum).value == len(cell[0])


def test_table_3(inputs, made):
    data, correct, strong = columns(inputs.runs["seed 1"], inputs.outcomes)
    value = [after - before for before, after in zip(correct, strong, strict=True)]
    score = scores(data)
    rules = {
        "delta<0": [s < 0 for s in score],
        "delta=0": [s == 0 for s in score],
        "delta<=0": [s <= 0 for s in score],
        "always": [True] * N,
    }
    table = made["3"]
    for key, chosen in rules.items():
        of_chosen = [v for v, yes in zip(value, chosen, strict=True) if yes]
        assert table.figure("selected", key).value == len(of_chosen)
        assert table.figure("repairs", key).value == of_chosen.count(1)
        assert table.figure("harms", key).value == of_chosen.count(-1)
        per_100 = table.figure("yield_per_100", key)
        assert per_100.value == pytest.approx(100 * sum(of_chosen) / len(of_chosen))
        assert per_100.low < per_100.value < per_100.high
    strata = {
        "plain_random": [""] * N,
        "video_balanced_random": data["cluster"],
        "evidence_matched_random": inputs.outcomes.covariates["covered"].tolist(),
    }
    chosen = rules["delta<=0"]
    for key, column in strata.items():
        net = 0.0
        for stratum in set(column):
            inside = [i for i in range(N) if column[i] == stratum]
            net += sum(chosen[i] for i in inside) * sum(value[i] for i in inside) / len(inside)
        per_100 = table.figure("yield_per_100", key).value
        assert per_100 == pytest.approx(100 * net / sum(chosen))
        assert table.figure("selected", key).value == sum(chosen)


def test_table_4(inputs, made):
    data, correct, strong = columns(inputs.runs["seed 1"], inputs.outcomes)
    look_more = [int(x) for x in inputs.outcomes.alternatives["look_more"].correct]
    tokens = inputs.outcomes.original.tokens.tolist()
    chosen = [s <= 0 for s in scores(data)]
    after_rule = [b if yes else a for a, b, yes in zip(correct, strong, chosen, strict=True)]
    table = made["4"]
    for key, after in (("strong", strong), ("look_more", look_more), ("carve_le0_k3", after_rule)):
        change = [b - a for a, b in zip(correct, after, strict=True)]
        assert_figure(
            table.figure("delta_accuracy", key),
            [100 * x for x in mean_interval(change, data["cluster"])],
        )
        assert table.figure("accuracy_pct", key).value == pytest.approx(100 * sum(after) / N)
        assert table.figure("repairs", key).value == change.count(1)
        assert table.figure("harms", key).value == change.count(-1)
    assert table.figure("accuracy_pct", "vanilla").value == pytest.approx(100 * sum(correct) / N)
    assert table.figure("tokens_k", "vanilla").value == pytest.approx(sum(tokens) / N / 1000)
    spent = sum(t + 9000 * yes for t, yes in zip(tokens, chosen, strict=True))
    assert table.figure("tokens_k", "carve_le0_k3").value == pytest.approx(spent / N / 1000)
    net = sum(strong) - sum(correct)
    gain = table.figure("delta_accuracy", "random_deferral").value
    assert gain == pytest.approx(100 * sum(chosen) * net / N / N)


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


def expected_risks(score, correct):
    """Expected share of errors among the first t, ties in random order, for every t."""
    groups = defaultdict(list)
    for s, right in zip(score, correct, strict=True):
        groups[s].append(1 - right)
    risks, before, errors = [], 0, 0.0
    for s in sorted(groups, reverse=True):
        m, e = len(groups[s]), sum(groups[s])
        risks += [(errors + e * t / m) / (before + t) for t in range(1, m + 1)]
        before, errors = before + m, errors + e
    return risks


def test_table_a4(inputs, made):
    data, correct, _ = columns(inputs.runs["seed 1"], inputs.outcomes)
    confidence = inputs.outcomes.covariates["confidence"].tolist()
    for column, score in (("delta", scores(data)), ("confidence", confidence)):
        risks = expected_risks(score, correct)
        expected = {
            "accuracy_at_100": 1 - risks[N - 1],
            "accuracy_at_90": 1 - risks[108 - 1],
            "accuracy_at_70": 1 - risks[84 - 1],
            "partial_risk_auc_70_100": sum(risks[84:]) / 36,  # coverage from 84/120 to 1
            "aurc": sum(risks) / N,
        }
        for key, value in expected.items():
            assert made["A4"].figure(column, key).value == pytest.approx(value)
    difference = made["A4"].figure("difference", "aurc")
    pair = [made["A4"].figure(name, "aurc").value for name in ("delta", "confidence")]
    assert difference.value == pytest.approx(pair[0] - pair[1])
    assert difference.low < difference.value < difference.high


def test_table_a4_by_self_replays(inputs):
    outcomes = inputs.outcomes
    without = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {}, cluster=outcomes.cluster
    )
    (table,) = build_tables(replace(inputs, outcomes=without, fallback=None), ["A4"])
    data, correct, _ = columns(inputs.runs["seed 1"], outcomes)
    risks = expected_risks([-round(x, 9) for x in rates(data, "self")], correct)
    assert table.figure("confidence", "aurc").value == pytest.approx(sum(risks) / N)
    assert any("SELF replays that keep" in note for note in table.notes)


def transfer_by_splitting(source, target, splits, rng):
    """Gains of the rule chosen on half of the videos, on the other half of either side."""

    def by_video(side):
        data, correct, strong = columns(*side)
        rows = defaultdict(list)
        for s, a, b, video in zip(scores(data), correct, strong, data["cluster"], strict=True):
            rows[video].append((s, b - a))
        return rows

    rules = [lambda s: s < 0, lambda s: s == 0, lambda s: s <= 0, lambda s: False]
    source, target = by_video(source), by_video(target)
    videos, gains, chosen = sorted(source), [], []
    for _ in range(splits):
        half = set(rng.permutation(videos)[: len(videos) // 2].tolist())

        def net(side, rule, inside, half=half):
            rows = [row for video in videos if (video in half) == inside for row in side[video]]
            return sum(v for s, v in rows if rule(s)), sum(rule(s) for s, _ in rows), len(rows)

        sums = [net(source, rule, True) for rule in rules]
        best = max(range(4), key=lambda r: (sums[r][0], -sums[r][1], -r))
        chosen.append(best)
        others = (net(side, rules[best], False) for side in (source, target))
        gains.append([100 * total / n for total, _, n in others])
    return np.array(gains), np.bincount(chosen, minlength=4) / splits


def test_table_a5(inputs, made):
    sides = {
        "7B": (inputs.runs["seed 1"], inputs.outcomes),
        "32B": (inputs.second.counts, inputs.second.outcomes),
    }
    rng = np.random.default_rng(3)
    for name, other in (("7B", "32B"), ("32B", "7B")):
        gains, chosen = transfer_by_splitting(sides[name], sides[other], 400, rng)
        for i, kind in enumerate(("source", "transfer")):
            sd = made["A5"].figure(f"{kind}_gain_sd", name).value
            mean = made["A5"].figure(f"{kind}_gain_mean", name).value
            # Two independent sets of 400 splits: five standard errors of their difference.
            assert abs(mean - gains[:, i].mean()) < 5 * math.hypot(sd, gains[:, i].std()) / 20
            assert sd == pytest.approx(gains[:, i].std(), rel=0.2)
        share = made["A5"].figure("rule_selected_pct", name).value
        assert abs(share - 100 * chosen.max()) < 5 * math.sqrt(2 * 0.25 / 400) * 100


# What is given, and what is not.


def test_order_of_runs_changes_nothing(inputs, made):
    backwards = dict(reversed(inputs.runs.items()))
    for table in build_tables(replace(inputs, runs=backwards), ["1", "2", "A1", "A2", "A3"]):
        assert table == made[table.name]


def test_missing_inputs_are_named_in_one_line(inputs):
    bare = PaperInputs(runs={"": inputs.runs["seed 1"]})
    tables = {table.name: table for table in build_tables(bare, published=True)}
    assert [name for name, table in tables.items() if table.missing is None] == ["1", "A2"]
    needed = {"2": "outcomes", "3": "outcomes", "4": "outcomes", "A1": "a second run",
              "A3": "outcomes", "A4": "outcomes", "A5": "second backbone"}  # fmt: skip
    for name, what in needed.items():
        assert what in tables[name].missing
        for form in FORMATS.values():
            if form.ending != "csv":
                assert "\n" not in form.write(tables[name])


def test_several_answerers_and_no_fallback(inputs):
    tables = build_tables(replace(inputs, fallback=None), ["3", "4"])
    assert "--fallback look_more or strong" in tables[0].missing
    assert [row.key for row in tables[1].rows] == [("vanilla",), ("look_more",), ("strong",)]


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


def test_transfer_names_its_runs(inputs):
    (table,) = build_tables(replace(inputs, second=replace(inputs.second, which="run 'x'")), ["A5"])
    assert any(note.startswith("7B: run 'seed 1', one of 4") for note in table.notes)
    assert "32B: run 'x'" in table.notes
    assert not any("one run, not two" in note for note in table.notes)
    itself = replace(inputs.second, counts=inputs.runs["seed 1"])
    (table,) = build_tables(replace(inputs, second=itself), ["A5"])
    assert any("one run, not two" in note for note in table.notes)


def test_names_of_runs_and_whole_numbers_in_csv(inputs):
    three, four, a1 = build_tables(inputs, ["3", "4", "A1"], published=True)
    rows = list(csv.DictReader(io.StringIO(as_csv(a1))))
    own = [row for row in rows if row["origin"] == "here"]
    assert (own[1]["run_a_name"], own[1]["run_b_name"]) == ("seed 1", "seed 3")
    assert {row["run_a_name"] for row in rows if row["origin"] == "published"} == {""}
    assert three.to_dict()["rows"][0]["selected"] == three.rows[0].figures["selected"].value
    for row in csv.DictReader(io.StringIO(as_csv(three))):
        assert row["selected"].isdigit()
    heading = as_csv(four).splitlines()[0].split(",")
    theirs = list(published_rows("4")[0])
    assert [name for name in heading if name in theirs] == theirs


def test_published_rows_are_called_as_ones_own(inputs):
    tables = build_tables(inputs, published=True)
    for table in tables:
        assert any(note.startswith("published: the CARVE paper") for note in table.notes)
    a3 = next(table for table in tables if table.name == "A3")
    shown = {row.shown[1] for row in a3.rows}
    assert shown == {
        f"{a}, {b}" for a in ("covered", "uncovered") for b in ("correct", "incorrect")
    }
    assert "n = 1,258" in tables[3].notes[-1]


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


@pytest.mark.parametrize("right", [0, 1])
def test_all_right_and_all_wrong(inputs, right):
    outcomes = inputs.outcomes
    same = np.full(N, right)
    all_same = cs.Outcomes(
        outcomes.question, same, {"strong": same}, cluster=outcomes.cluster,
        covariates=outcomes.covariates,
    )  # fmt: skip
    tables = build_tables(replace(inputs, outcomes=all_same))
    for table in tables:
        assert table.missing is None
        json.dumps(table.to_dict(), allow_nan=False)
        for form in FORMATS.values():
            assert "nan" not in form.write(table)
    by_name = {table.name: table for table in tables}
    assert by_name["2"].figure("n", "yes", "no" if right else "yes").value == 0
    assert by_name["2"].figure("mean_delta", "yes", "no" if right else "yes") == Figure()
    assert by_name["3"].figure("repairs", "delta<=0").value == 0
    assert by_name["A4"].figure("delta", "aurc").value == pytest.approx(1 - right)


def test_one_video_has_no_intervals(inputs):
    def in_one(counts):
        data = {k: v for k, v in counts.to_dict().items() if k not in ("question", "cluster")}
        return cs.ReplayCounts(counts.question, **data, cluster=["v"] * N)

    outcomes = inputs.outcomes
    judged = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {"strong": outcomes.alternatives["strong"]},
        cluster=["v"] * N, covariates=outcomes.covariates,
    )  # fmt: skip
    runs = {name: in_one(inputs.runs[name]) for name in ("seed 1", "seed 2")}
    second = Backbone("other", runs["seed 2"], judged)
    *tables, a5 = build_tables(PaperInputs(runs=runs, outcomes=judged, second=second))
    for table in tables:
        assert table.missing is None
        assert not [row for row in table.rows if "random" not in row.key[0]
                    and any(one.low is not None for one in row.figures.values())]  # fmt: skip
        assert any("one cluster" in note for note in table.notes)
    assert "at least two videos" in a5.missing


@pytest.mark.parametrize("words", [("yes", "no"), ("True", "False"), (1, 0)])
def test_coverage_in_other_words(inputs, made, words):
    outcomes = inputs.outcomes
    covered = [words[text == "false"] for text in outcomes.covariates["covered"].tolist()]
    judged = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {}, covariates={"covered": covered}
    )
    for table in build_tables(replace(inputs, outcomes=judged, fallback=None), ["2", "A3"]):
        assert table == made[table.name]


def test_questions_left_out_are_told(inputs):
    covered = inputs.outcomes.covariates["covered"].astype("U9")
    covered[:7] = ""
    outcomes = inputs.outcomes
    judged = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {}, covariates={"covered": covered}
    )
    given = replace(inputs, outcomes=judged, fallback=None)
    for table in build_tables(given, ["2", "A3"]):
        assert f"left out of {N} questions: 7 (covered not known)" in table.notes


def test_no_self_replays(inputs):
    def without(counts):
        data = {k: v for k, v in counts.to_dict().items() if not k.startswith("self")}
        return cs.ReplayCounts(**data)

    outcomes = inputs.outcomes
    judged = cs.Outcomes(outcomes.question, outcomes.original_correct, {})
    given = PaperInputs(runs={"a": without(inputs.runs["seed 1"])}, outcomes=judged)
    table_1, a4 = build_tables(given, ["1", "A4"])
    assert table_1.figure("mean", "self_flip_rate") == Figure()
    assert any(note.startswith("SELF") for note in table_1.notes)
    assert "--confidence" in a4.missing
    assert "SELF" in a4.missing


def test_no_scores(inputs):
    counts = inputs.runs["seed 1"]
    zero = np.zeros(N, int)
    none = cs.ReplayCounts(counts.question, zero, zero, zero, zero, cluster=counts.cluster)
    tables = build_tables(replace(inputs, runs={"": none}))
    missing = {table.name for table in tables if table.missing is not None}
    assert missing == {"2", "3", "A1", "A2", "A3", "A4"}


def test_unknown_names_are_refused(inputs):
    with pytest.raises(InputError, match="A9"):
        build_tables(inputs, ["A9"])
    with pytest.raises(InputError, match="confidnce"):
        replace(inputs, confidence="confidnce")
    with pytest.raises(InputError, match="numbers"):
        build_tables(replace(inputs, confidence="covered"), ["A4"])


# Formats.


HOSTILE = "[a&b_c%d] {e}\\f^~#$|<i>*Δ̂ ≤ 0*`g`\nnext _x_ __y__ &amp; a\\| <!-- [k](l)"


@pytest.fixture
def hostile():
    return PaperTable(
        name="9",
        caption=HOSTILE,
        labels=(("run", HOSTILE),),
        columns=(Column("x", HOSTILE, 2, True, ends=("low", "high")), Column("n", "n", 0)),
        rows=(
            Row((HOSTILE,), {"x": Figure(-0.5, -1.0, 0.25), "n": Figure(3)}),
            Row(("*",), {"x": Figure()}),
        ),
        notes=(HOSTILE, "--run"),
    )


def assert_latex_shape(text):
    bare = re.sub(r"\\[\\&%$#_{}]", "", text.replace("\\\\", ""))
    bare = "\n".join(line for line in bare.splitlines() if not line.startswith("%"))
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[%#]", bare)
    spec = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]
    body = text[text.index("\\toprule") : text.index("\\bottomrule")]
    lines = [line for line in body.splitlines() if line.endswith("\\\\")]
    assert len(lines) >= 2
    for line in lines:
        assert len(re.findall(r"(?<!\\)&", line)) == len(spec) - 1
        assert not line.startswith(("[", "*"))
    assert text.isprintable() or "\n" in text


@pytest.mark.parametrize("published", [False, True])
def test_latex_is_balanced_and_rectangular(inputs, published):
    for table in build_tables(inputs, published=published):
        assert_latex_shape(as_latex(table))


def test_names_are_no_markup(hostile):
    assert_latex_shape(as_latex(hostile))
    text = as_latex(hostile)
    assert r"\{e\}\textbackslash{}f\textasciicircum{}\textasciitilde{}\#\$" in text
    assert "[$-1.00$, $+0.25$]" in text
    assert "-{}-run" in text
    page = MarkdownIt("commonmark").enable("table").render(as_markdown(hostile))
    shown = " ".join(HOSTILE.split())
    cells = [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page)]
    assert cells[:4] == [shown, shown, "95 % interval", "n"]
    assert cells[4:] == [shown, "-0.50", "[-1.00, +0.25]", "3", "*", "–", "–", "–"]
    assert [unescape(note) for note in re.findall("<li>(.*?)</li>", page)] == [shown, "--run"]


def test_text_and_markdown_say_the_same(made):
    table = made["2"]
    text, markdown = as_text(table), as_markdown(table)
    for row in table.rows:
        one = row.figures["mean_delta"]
        shown = f"{one.value:+.3f}"
        ends = f"[{one.low:+.3f}, {one.high:+.3f}]"
        assert re.search(rf"{re.escape(shown)} +{re.escape(ends)}", text)
        assert f"| {shown} | {ends} |" in markdown
    assert "95 % interval" in text.splitlines()[2]


def test_csv_is_not_rounded(made):
    rows = list(csv.DictReader(io.StringIO(as_csv(made["A2"]))))
    assert float(rows[1]["zero"]) == made["A2"].figure("zero", "3", "observed").value
    assert rows[0]["tie_excess"] == ""
