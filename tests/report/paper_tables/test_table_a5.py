"""Table A5: a rule chosen with one backbone, used with another."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from paper_table_cases import N, columns, scores

import carve_stats as cs
from carve_stats.report.paper_tables import build_tables


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
        best = max(range(4), key=lambda r: (sums[r][0], -sums[r][1], r == 3, -r))
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


def test_transfer_names_its_runs(inputs):
    (table,) = build_tables(replace(inputs, second=replace(inputs.second, which="run 'x'")), ["A5"])
    assert any(note.startswith("7B: run 'seed 1', one of 4") for note in table.notes)
    assert "32B: run 'x'" in table.notes
    assert not any("one run, not two" in note for note in table.notes)
    itself = replace(inputs.second, counts=inputs.runs["seed 1"])
    (table,) = build_tables(replace(inputs, second=itself), ["A5"])
    assert any("one run, not two" in note for note in table.notes)
    same = replace(itself, outcomes=inputs.outcomes)
    (table,) = build_tables(replace(inputs, second=same), ["A5"])
    assert sum("the same replays" in note for note in table.notes) == 1


def test_questions_left_out_of_either_backbone_are_counted(inputs):
    keep = np.arange(N)
    given = replace(
        inputs,
        outcomes=inputs.outcomes.select(keep > 4),
        second=replace(inputs.second, counts=inputs.second.counts.select(keep > 8)),
        allow_mismatch=True,
    )
    notes = build_tables(given, ["A5"])[0].notes
    assert f"7B: left out of {N} questions: 5 (replays without outcome)" in notes
    # Questions without replays are not left out: they keep their answers, whatever the rule.
    assert not any(note.startswith("32B: left out of") for note in notes)
    assert not any("left out of" in n for n in build_tables(inputs, ["A5"])[0].notes)


def test_sides_have_the_names_of_the_backbones(inputs):
    def lose(counts, n):
        lost = {f"sham_{what}": getattr(counts, f"sham_{what}") * (np.arange(N) >= n)
                for what in ("flips", "replays")}  # fmt: skip
        return cs.ReplayCounts(**{**counts.to_dict(), **lost})

    said = "{} questions have no score and keep the original answer"
    runs = {"": lose(inputs.runs["seed 1"], 3)}
    for n, told in (
        (4, [f"7B: {said.format(3)}", f"32B: {said.format(4)}"]),
        (3, [said.format(3)]),
    ):
        second = replace(inputs.second, counts=lose(inputs.second.counts, n))
        (table,) = build_tables(replace(inputs, runs=runs, second=second), ["A5"])
        assert [note for note in table.notes if "no score" in note] == told
