"""Every method in one table against plain Python, enumeration and the published table."""

import itertools
import math
import re

import numpy as np
import pytest
from routing_cases import clustered_se, published_log, random_log
from scipy.special import stdtrit
from stopped_replays import draw_outcomes, full_counts, ids, make_plan, stopped_counts

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer, Outcomes
from carve_stats.routing.methods import compare_methods
from carve_stats.routing.rules.always import Always


def with_changes(original, repairs, harms):
    """Answers that repair the first so many wrong ones and harm the first so many right ones."""
    answers = original.copy()
    answers[np.flatnonzero(original == 0)[:repairs]] = 1
    answers[np.flatnonzero(original == 1)[:harms]] = 0
    return answers


def several(rng, *, n=120, unknown=0.1):
    """A log with three alternatives, some of whose outcomes are not known, and costs."""
    counts, outcomes = random_log(rng, n=n, clusters=12)

    def column():
        values = rng.binomial(1, 0.55, n).astype(float)
        values[rng.random(n) < unknown] = np.nan
        return values

    costs = {
        f"original_{what}": rng.integers(1, 9, n).astype(float) for what in ("tokens", "tools")
    }
    return counts, Outcomes(
        outcomes.question,
        column(),
        {
            "strong": Answerer(column(), rng.integers(5, 50, n) * 1.0, rng.integers(1, 5, n) * 1.0),
            "look_more": column(),
            "judge": column(),
        },
        cluster=counts.cluster,
        covariates={"confidence": rng.random(n)},
        **costs,
    )


def test_the_published_table():
    counts, outcomes = published_log()
    original = outcomes.original_correct
    changed = {"judge_grounding": (3, 3), "look_more": (2, 7), "self_consistency": (32, 57)}
    table = compare_methods(
        Outcomes(
            outcomes.question,
            original,
            {
                "strong": outcomes.alternatives["strong"],
                **{name: with_changes(original, *pair) for name, pair in changed.items()},
            },
        ),
        counts,
        fallback="strong",
    )
    figures = {
        row.method: (
            round(100 * row.accuracy.estimate, 2),
            round(row.change_points.estimate, 2),
            row.repairs,
            row.harms,
        )
        for row in table.rows
    }
    assert figures["original"] == (45.47, 0.0, 0, 0)
    assert figures["judge_grounding"] == (45.47, 0.0, 3, 3)
    assert figures["look_more"] == (45.07, -0.40, 2, 7)
    assert figures["self_consistency"] == (43.48, -1.99, 32, 57)
    assert figures["score <= 0"] == (48.73, 3.26, 98, 57)
    chance = table["random 538"].change_points
    assert [round(x, 2) for x in (chance.estimate, chance.low, chance.high)] == [2.18, 0.95, 3.42]
    assert {row.n for row in table.rows} == {1258}


@pytest.mark.parametrize("method", ["strong", "look_more", "judge"])
def test_an_answerer_is_the_paired_difference_in_plain_python(rng, method):
    counts, outcomes = several(rng)
    row = compare_methods(outcomes, counts, fallback="strong", level=0.9)[method]
    pairs = [
        (a, b, video)
        for a, b, video in zip(
            outcomes.original_correct.tolist(),
            outcomes.alternatives[method].correct.tolist(),
            outcomes.cluster.tolist(),
            strict=True,
        )
        if not math.isnan(a) and not math.isnan(b)
    ]
    n = len(pairs)
    change = math.fsum(b - a for a, b, _ in pairs) / n
    videos = [video for *_, video in pairs]
    half = stdtrit(len(set(videos)) - 1, 0.95) * clustered_se(
        [b - a - change for a, b, _ in pairs], videos
    )
    assert row.n == n < len(outcomes)
    assert row.clusters == len(set(videos))
    assert row.accuracy.estimate == pytest.approx(sum(b for _, b, _ in pairs) / n)
    assert row.accuracy_before == pytest.approx(sum(a for a, *_ in pairs) / n)
    assert row.change_points.estimate == pytest.approx(100 * change)
    assert row.change_points.low == pytest.approx(100 * (change - half))
    assert row.change_points.high == pytest.approx(100 * (change + half))
    assert row.repairs == sum(b > a for a, b, _ in pairs)
    assert row.harms == sum(a > b for a, b, _ in pairs)


def test_the_original_row_is_of_all_questions_whose_original_outcome_is_known(rng):
    counts, outcomes = several(rng)
    row = compare_methods(outcomes, counts, fallback="strong")["original"]
    known = outcomes.original_correct[~np.isnan(outcomes.original_correct)].tolist()
    assert (row.n, row.selected, row.repairs, row.harms) == (len(known), 0, 0, 0)
    assert row.accuracy.estimate == pytest.approx(sum(known) / len(known))
    assert row.accuracy.low < row.accuracy.estimate < row.accuracy.high
    assert row.change_points.low is None
    assert row.tools == pytest.approx(
        np.mean(outcomes.original.tools[~np.isnan(outcomes.original_correct)])
    )


def test_a_rule_takes_the_fallbacks_answers_where_the_score_says_so(rng):
    counts, outcomes = several(rng, unknown=0.0)
    row = compare_methods(outcomes, counts, rules="score < 0", fallback="strong")["score < 0"]
    strong = outcomes.alternatives["strong"]
    deferred = counts.sham_flips * 3 > counts.destroy_flips * 3
    answers = np.where(deferred, strong.correct, outcomes.original_correct)
    assert row.selected == deferred.sum()
    assert row.accuracy.estimate == pytest.approx(answers.mean())
    for what in ("tokens", "tools"):
        spent = getattr(outcomes.original, what) + np.where(deferred, getattr(strong, what), 0)
        assert getattr(row, what) == pytest.approx(spent.mean())


def test_an_answerer_has_its_own_costs_alone(rng):
    counts, outcomes = several(rng, unknown=0.0)
    table = compare_methods(outcomes, counts, rules=[Always()], fallback="strong")
    strong, always = table["strong"], table["always"]
    tokens = outcomes.alternatives["strong"].tokens
    assert strong.tokens == pytest.approx(tokens.mean())
    assert always.tokens == pytest.approx((tokens + outcomes.original.tokens).mean())
    assert table["look_more"].tokens is None
    assert strong.change_points == always.change_points


def test_chance_is_the_mean_and_the_range_over_all_choices():
    original, fallback = [0, 0, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1]
    names = [f"q{i}" for i in range(7)]
    counts = ReplayCounts(
        names, [2, 2, 2, 0, 0, 0, 0], [3] * 7, [1] * 7, [3] * 7, cluster=list("vvwwxxy")
    )
    outcomes = Outcomes(names, original, {"strong": fallback})
    row = compare_methods(outcomes, counts, level=0.8)["random 3"]
    value = [b - a for a, b in zip(original, fallback, strict=True)]
    nets = sorted(sum(value[i] for i in chosen) for chosen in itertools.combinations(range(7), 3))
    low = next(x for x in nets if sum(y <= x for y in nets) >= 0.1 * len(nets))
    high = next(x for x in nets if sum(y <= x for y in nets) >= 0.9 * len(nets))
    mean = sum(nets) / len(nets)
    change = row.change_points
    assert change.estimate == pytest.approx(100 * mean / 7)
    assert (change.low, change.high) == pytest.approx((100 * low / 7, 100 * high / 7))
    assert change.se == pytest.approx(100 * np.std(nets) / 7)
    assert row.accuracy.estimate == pytest.approx((sum(original) + mean) / 7)
    assert row.repairs == pytest.approx(3 * value.count(1) / 7)
    assert row.harms == pytest.approx(3 * value.count(-1) / 7)


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
def test_the_order_of_the_rows_changes_nothing(rng, interval):
    counts, outcomes = several(rng, n=60)
    shuffled = rng.permutation(60)
    columns = {
        name: getattr(counts, name)[shuffled]
        for name in ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays", "cluster")
    }
    other = Outcomes(
        outcomes.question[shuffled],
        outcomes.original_correct[shuffled],
        {
            name: Answerer(
                *(None if x is None else x[shuffled] for x in (a.correct, a.tokens, a.tools))
            )
            for name, a in reversed(outcomes.alternatives.items())
        },
        cluster=outcomes.cluster[shuffled],
        original_tokens=outcomes.original.tokens[shuffled],
        original_tools=outcomes.original.tools[shuffled],
        covariates={"confidence": outcomes.covariates["confidence"][shuffled]},
    )
    told = {"fallback": "strong", "interval": interval, "rng": 7, "resamples": 200}
    first = compare_methods(outcomes, counts, **told)
    second = compare_methods(other, ReplayCounts(counts.question[shuffled], **columns), **told)
    assert first.to_dict() == second.to_dict()


def test_no_row_depends_on_which_others_there_are(rng):
    counts, outcomes = several(rng, n=60)
    fewer = Outcomes(
        outcomes.question,
        outcomes.original_correct,
        {name: outcomes.alternatives[name] for name in ("judge", "strong")},
        cluster=outcomes.cluster,
    )
    told = {"fallback": "strong", "interval": "bootstrap", "rng": 3, "resamples": 200}
    many = compare_methods(outcomes, counts, rules=["score < 0", "score <= 0"], **told)
    few = compare_methods(fewer, counts, rules=["score <= 0"], **told)
    for method in ("judge", "score <= 0"):
        assert many[method].change_points == few[method].change_points
        assert many[method].accuracy == few[method].accuracy


def test_without_replays_there_are_answerers_and_rules_on_covariates(rng):
    _, outcomes = several(rng, unknown=0.0)
    table = compare_methods(outcomes)
    assert [row.method for row in table.rows] == ["original", "judge", "look_more", "strong"]
    assert any("need replays" in note for note in table.notes)
    deferred = outcomes.covariates["confidence"] < 0.5
    by_confidence = compare_methods(outcomes, rules=["confidence < 0.5"], fallback="judge")
    assert not any("no score" in note for note in by_confidence.notes)
    row = by_confidence["confidence < 0.5"]
    answers = np.where(deferred, outcomes.alternatives["judge"].correct, outcomes.original_correct)
    assert row.accuracy.estimate == pytest.approx(answers.mean())
    assert row.change_points.low < row.change_points.high


@pytest.mark.parametrize("rule", ["score <= 0", "lowest 3", "posterior mean <= 0"])
def test_rules_on_scores_need_replays(rng, rule):
    _, outcomes = several(rng)
    with pytest.raises(InputError, match="needs replays: give counts="):
        compare_methods(outcomes, rules=[rule], fallback="strong")


def test_outcomes_without_an_alternative_are_one_row():
    table = compare_methods(Outcomes(["a", "b"], [1, 0], {}, cluster=["v", "w"]))
    assert [(row.method, row.accuracy.estimate) for row in table.rows] == [("original", 0.5)]
    assert table.notes == ()


def test_several_alternatives_need_the_name_of_the_fallback(rng):
    counts, outcomes = several(rng)
    with pytest.raises(InputError, match="say which one is the fallback"):
        compare_methods(outcomes, counts)
    with pytest.raises(InputError, match="unknown fallback 'weak'"):
        compare_methods(outcomes, fallback="weak")
    assert len(compare_methods(outcomes, counts, rules=()).rows) == 4


def test_rows_over_different_questions_say_so(rng):
    counts, outcomes = several(rng)
    table = compare_methods(outcomes, counts, fallback="strong")
    assert len({row.n for row in table.rows}) > 1
    assert any("compare their changes" in note for note in table.notes)
    unknown = np.isnan(outcomes.alternatives["judge"].correct)
    without_original = np.isnan(outcomes.original_correct)
    note = next(note for note in table.notes if note.startswith("judge:"))
    assert f"{(unknown | without_original).sum()} questions left out" in note
    assert f"{(unknown & ~without_original).sum()} judge outcome not known" in note


def test_the_clusters_of_the_replays_count_for_every_row(rng):
    counts, outcomes = several(rng)
    bare = Outcomes(outcomes.question, outcomes.original_correct, dict(outcomes.alternatives))
    first = compare_methods(outcomes, counts, fallback="strong")
    second = compare_methods(bare, counts, fallback="strong")
    assert [row.change_points for row in first.rows] == [row.change_points for row in second.rows]


def test_one_video_has_figures_and_no_intervals():
    counts = ReplayCounts(["a", "b"], [2, 0], [3, 3], [1, 3], [3, 3], cluster=["v", "v"])
    table = compare_methods(Outcomes(["a", "b"], [0, 1], {"strong": [1, 1]}), counts)
    assert table["strong"].change_points.estimate == 50.0
    assert table["strong"].change_points.low is None
    assert any("one cluster" in note for note in table.notes)


@pytest.mark.parametrize("right", [0, 1])
def test_all_wrong_and_all_right_are_clear(right):
    counts = ReplayCounts(
        ["a", "b", "c"], [2, 0, 1], [3] * 3, [1, 3, 1], [3] * 3, cluster=["v", "w", "x"]
    )
    table = compare_methods(Outcomes(["a", "b", "c"], [right] * 3, {"strong": [right] * 3}), counts)
    assert {row.accuracy.estimate for row in table.rows} == {right}
    assert {row.change_points.estimate for row in table.rows} == {0.0}
    assert all(row.repairs == row.harms == 0 for row in table.rows)
    assert table["strong"].change_points.low is None
    assert any("do not differ at all" in note for note in table.notes)


def test_questions_of_which_nothing_is_known_give_nothing():
    outcomes = Outcomes(["a", "b"], [None, None], {"strong": [1, None]}, cluster=["v", "w"])
    counts = ReplayCounts(["a", "b"], [2, 0], [3, 3], [1, 3], [3, 3])
    table = compare_methods(outcomes, counts)
    assert all(row.n == 0 for row in table.rows)
    shown = table.to_dict()
    assert [row["method"] for row in shown["rows"]] == [
        "original", "strong", "random", "score <= 0",
    ]  # fmt: skip
    for row, plain in zip(table.rows, shown["rows"], strict=True):
        for name in ("selected", "repairs", "harms", "net"):
            assert getattr(row, name) is None
            assert plain[name] is None
    for line in str(table).splitlines()[4:8]:
        assert line.split()[-4:] == ["–", "–", "–", "0"]
    assert all(row["accuracy"]["estimate"] is None for row in shown["rows"])
    assert shown["questions"]["left_out"] == {
        "original outcome not known": 1,
        "neither outcome known": 1,
    }


def test_an_answerer_of_which_nothing_is_known_is_blank_beside_others():
    outcomes = Outcomes(["a", "b"], [1, 0], {"strong": [None] * 2, "weak": [0, 0]})
    table = compare_methods(outcomes)
    blank, known = table["strong"], table["weak"]
    assert (blank.n, blank.repairs, blank.harms, blank.net) == (0, None, None, None)
    assert (known.n, known.repairs, known.harms, known.net) == (2, 0, 1, -1)


@pytest.mark.parametrize("name", ["always", "Score <=  0", "random 3", "confidence < 0.5", "never"])
def test_an_answerer_that_is_called_like_a_rule_is_refused(name):
    outcomes = Outcomes(["a", "b"], [1, 0], {name: [1, 1], "strong": [0, 1]})
    with pytest.raises(InputError, match=re.escape(f"answerer {name!r} is called like a rule")):
        compare_methods(outcomes)


def test_an_answerer_that_is_called_like_an_own_rule_is_refused():
    class Own:
        def propensities(self, data):
            return np.ones(len(data.counts))

        def __str__(self):
            return "my rule"

    outcomes = Outcomes(["a", "b"], [1, 0], {"My rule": [1, 1]})
    with pytest.raises(InputError, match="answerer 'My rule' is called like another row"):
        compare_methods(outcomes, rules=[Own()])
    assert compare_methods(outcomes).rows[1].method == "My rule"


def test_a_rule_twice_is_refused(rng):
    counts, outcomes = several(rng)
    with pytest.raises(InputError, match="'score <= 0' is there 2 times"):
        compare_methods(outcomes, counts, rules=["score<=0", "delta <= 0"], fallback="strong")


def test_the_table_shows_what_it_holds(rng):
    counts, outcomes = several(rng, unknown=0.0)
    table = compare_methods(outcomes, counts, fallback="strong")
    shown = str(table)
    assert "rules defer to strong" in shown
    assert "exact mean and central range" in " ".join(shown.split())
    assert f"{100 * table['judge'].accuracy.estimate:.2f}" in shown
    assert "<table>" in table._repr_html_()
    with pytest.raises(InputError, match="no method 'vanilla' in the table"):
        table["vanilla"]


def test_replays_that_were_stopped_early_decide_by_their_rule_as_all_of_them(rng):
    n, k = 120, 4
    sham, destroy = draw_outcomes(rng, rng.beta(1, 2, n), rng.beta(2, 1, n), k, invalid=0.1)
    videos = [f"v{q % 11}" for q in range(n)]
    plan = make_plan((k, k))
    stopped = stopped_counts(plan, sham, destroy, cluster=videos)
    whole = full_counts(sham, destroy, cluster=videos)
    outcomes = Outcomes(ids(n), rng.integers(0, 2, n), {"strong": rng.integers(0, 2, n)})
    some, every = (compare_methods(outcomes, counts) for counts in (stopped, whole))
    assert [row.to_dict() for row in some.rows] == [row.to_dict() for row in every.rows]
    assert any("stopped early" in note for note in some.notes)
    with pytest.raises(InputError, match="'score < 0' is not known of all questions"):
        compare_methods(outcomes, stopped, rules=["score < 0"])


def test_the_replays_of_each_rule_come_on_top(rng):
    counts, outcomes = several(rng, unknown=0)
    n = len(counts)
    made = {"self_flips": rng.integers(0, 4, n), "self_replays": np.full(n, 3)}
    counts = ReplayCounts(**(counts.to_dict() | made))
    outcomes = outcomes.with_covariates(
        outcomes.question, {"self_agreement": 1 - made["self_flips"] / 3}
    )

    def told(*rules, counts=counts):
        notes = compare_methods(outcomes, counts, rules=rules, fallback="strong").notes
        return [note for note in notes if "replays a question" in note]

    arms = ("sham_replays", "sham_invalid", "destroy_replays", "destroy_invalid")
    spent = sum(int(getattr(counts, one).sum()) for one in arms) / n
    scores = f": {spent:.4g} SHAM and DESTROY replays a question come on top, as logged"
    on_self = "self_agreement < 0.5: 3 SELF replays a question come on top, as logged"
    assert told("score <= 0", "lowest 9") == [f"rules{scores}"]
    assert told("score <= 0", "self_agreement < 0.5", "confidence < 0.5") == [
        f"score <= 0{scores}", on_self
    ]  # fmt: skip
    assert told("confidence < 0.5") == []
