"""Table A4: selective prediction."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from paper_table_cases import N, columns, rates, scores

import carve_stats as cs
from carve_stats.errors import InputError
from carve_stats.report.paper_tables import build_tables


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
    sizes = Counter(rates(data, "self")).values()
    tied = sum(size for size in sizes if size > 1)
    assert (
        f"the confidence has {len(sizes)} values: of {N} questions {tied} are tied with others, and"
        " it puts them in no order"
    ) in table.notes


def test_questions_of_one_side_are_counted(inputs):
    keep = np.arange(N)
    given = replace(
        inputs,
        runs={"one": inputs.runs["seed 1"].select(keep > 3)},
        outcomes=inputs.outcomes.select(keep < N - 7),
        second=None,
        allow_mismatch=True,
    )
    (table,) = build_tables(given, ["A4"])
    assert (
        f"left out of {N} questions: 7 (replays without outcome), 4 (outcome without replays)"
        in table.notes
    )
    assert not any("no score" in note for note in table.notes)
    both = (keep > 3) & (keep < N - 7)
    other = replace(
        given,
        runs={"one": inputs.runs["seed 1"].select(both)},
        outcomes=inputs.outcomes.select(both),
    )
    assert table.rows == build_tables(other, ["A4"])[0].rows


def test_a_confidence_must_be_a_column_of_outcomes(inputs):
    there = "they have confidence, covered$"
    for name in ("confidnce", "cluster"):
        said = f"confidence='{name}' .--confidence. is no column of the outcomes: {there}"
        with pytest.raises(InputError, match=said):
            replace(inputs, confidence=name)
    with pytest.raises(InputError, match=r"match='cover' .*: they have cluster, confidence, cov"):
        replace(inputs, match=("cover",))
