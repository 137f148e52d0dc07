"""Tables 3 and 4: rules, answerers, and chance."""

from dataclasses import replace

import pytest
from paper_table_cases import N, assert_figure, columns, mean_interval, scores

from carve_stats.report.paper_tables import build_tables


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


def test_several_answerers_and_no_fallback(inputs):
    tables = build_tables(replace(inputs, fallback=None), ["3", "4"])
    assert "--fallback look_more or strong" in tables[0].missing
    assert [row.key for row in tables[1].rows] == [("vanilla",), ("look_more",), ("strong",)]


def test_notes_call_rows_by_their_labels(inputs, made):
    random, rule = (row.labels[0] for row in made["4"].rows[-2:])
    assert (random, rule) == ("at random, as many as Δ̂ ≤ 0", "Δ̂ ≤ 0, k = 3")
    assert any(note.startswith(f"{random}: ") for note in made["4"].notes)
    assert any(note.startswith("every question: ") for note in made["3"].notes)
    assert any("as many questions as Δ̂ ≤ 0 defers" in note for note in made["3"].notes)
    for table in made.values():
        for name in ("score <= 0", "random 4", "random 5", "always: ", "predicted: ", "source: "):
            assert not any(name in note for note in table.notes)
