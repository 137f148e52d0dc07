"""Rules chosen on half of the videos: brute force over all halves, and what is not defined."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing_cases import published_log, random_log

import carve_stats.routing.video_splits as video_splits
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.transfer import (
    FEW,
    NO_COMMON,
    NO_GAIN,
    RULES,
    SAME,
    SPREAD,
    rule_transfer,
)
from carve_stats.routing.video_splits import SideSums


def selects(rule, x, k_x, y, k_y):
    """What the default rules say of a question, in fractions."""
    if not k_x or not k_y:
        return False
    score = Fraction(int(y), int(k_y)) - Fraction(int(x), int(k_x))
    return {"score < 0": score < 0, "score = 0": score == 0, "score <= 0": score <= 0}.get(
        rule, False
    )


def questions_of(counts, outcomes):
    """(video, value of deferring, what each rule says) of every question."""
    flips = zip(
        counts.sham_flips, counts.sham_replays, counts.destroy_flips, counts.destroy_replays,
        strict=True,
    )  # fmt: skip
    values = outcomes.alternatives["strong"].correct - outcomes.original_correct
    return [
        (str(video), int(value), [selects(rule, *replays) for rule in RULES])
        for video, value, replays in zip(counts.cluster, values, flips, strict=True)
    ]


def gain_of(questions, videos, rule):
    """100·net/questions on some videos; None where they have no question."""
    there = [(value, says[rule]) for video, value, says in questions if video in videos]
    if not there:
        return None
    return Fraction(100 * sum(value for value, deferred in there if deferred), len(there))


def rule_on(questions, videos):
    """Largest net, then fewest calls, then ``never``, then the first."""
    there = [(value, says) for video, value, says in questions if video in videos]
    net = [sum(v for v, says in there if says[i]) for i in range(len(RULES))]
    calls = [sum(says[i] for _, says in there) for i in range(len(RULES))]
    return max(range(len(RULES)), key=lambda i: (net[i], -calls[i], RULES[i] == "never", -i))


def mean_over_all_halves(source, target):
    """Means, and how often each rule is chosen, over every split; in fractions."""
    source_videos = sorted({q[0] for q in source})
    target_videos = {q[0] for q in target}
    alone = sorted(target_videos - set(source_videos))
    own_halves = list(itertools.combinations(alone, (len(alone) + 1) // 2))
    gains, chosen = ([], []), [0] * len(RULES)
    for half in itertools.combinations(source_videos, len(source_videos) // 2):
        rule = rule_on(source, set(half))
        chosen[rule] += 1
        rest = set(source_videos) - set(half)
        gains[0].append(gain_of(source, rest, rule))
        gains[1].extend(gain_of(target, rest | set(own), rule) for own in own_halves)
    means = [
        sum(known) / len(known) if (known := [g for g in one if g is not None]) else None
        for one in gains
    ]
    deviations = [float(np.std([float(g) for g in one if g is not None])) for one in gains]
    return means, deviations, [Fraction(n, sum(chosen)) for n in chosen]


def small_log(rng, videos, n=40):
    """A log in the given videos, some questions without a score."""
    replays = rng.choice([0, 2, 2, 2], (2, n))
    ids = [f"q{i:03d}" for i in range(n)]
    of = [videos[i % len(videos)] for i in range(n)]
    ids = [f"{video}-{i}" for video, i in zip(of, ids, strict=True)]
    flips = rng.binomial(replays, [[0.5], [0.5]])
    counts = ReplayCounts(ids, flips[0], replays[0], flips[1], replays[1], cluster=of)
    original, fallback = rng.binomial(1, [[0.45], [0.6]], (2, n))
    return counts, Outcomes(ids, original, {"strong": fallback})


@pytest.mark.parametrize(
    ("source_videos", "target_videos"),
    [("abcdef", "abcdef"), ("abcde", "abcde"), ("abcdef", "defghi"), ("abcd", "vwxyz")],
)
def test_many_splits_come_to_the_mean_over_all_halves(rng, source_videos, target_videos):
    source, target = small_log(rng, source_videos), small_log(rng, target_videos)
    means, deviations, chosen = mean_over_all_halves(questions_of(*source), questions_of(*target))
    splits = 20_000
    result = rule_transfer(*source, *target, rng=3, splits=splits)
    for gain, mean, deviation in zip(
        (result.source_gain, result.transfer_gain), means, deviations, strict=True
    ):
        assert gain.mean == pytest.approx(float(mean), abs=5 * deviation / math.sqrt(splits))
        assert gain.sd == pytest.approx(deviation, rel=0.05)
        assert gain.splits == splits
    for rule, share in zip(result.rules, chosen, strict=True):
        noise = 5 * math.sqrt(float(share * (1 - share)) / splits)
        assert rule.chosen == pytest.approx(float(share), abs=noise)


def target_log(rng, **options):
    """A random log of other questions, in videos of the same names."""
    counts, outcomes = random_log(rng, **options)
    ids = np.char.add("t", counts.question)
    return (
        ReplayCounts(**(counts.to_dict() | {"question": ids})),
        Outcomes(
            ids,
            outcomes.original_correct,
            {"strong": outcomes.alternatives["strong"].correct},
        ),
    )


def test_each_split_by_hand(rng, monkeypatch):
    source, target = small_log(rng, "abcdefg"), small_log(rng, "efghijk")
    halves = []
    whole = video_splits._halves

    def recorded(*arguments):
        for block in whole(*arguments):
            halves.append(block)
            yield block

    monkeypatch.setattr(video_splits, "_halves", recorded)
    result = rule_transfer(*source, *target, rng=8, splits=60)
    chosen_on, source_rest, target_rest = (np.concatenate(p) for p in zip(*halves, strict=True))
    names = np.array(list("abcdefghijk"))
    of_source, of_target = questions_of(*source), questions_of(*target)
    gains, times = [], [0] * len(RULES)
    for on, rest, other in zip(chosen_on, source_rest, target_rest, strict=True):
        first, second, third = (set(names[half > 0]) for half in (on, rest, other))
        # Every second of the source's seven videos, none twice, and none chosen on in the target's.
        assert len(first) == 3
        assert first | second == set("abcdefg")
        assert not first & second
        assert not first & third
        assert third & set("efg") == second & set("efg")
        assert len(third & set("hijk")) == 2
        rule = rule_on(of_source, first)
        times[rule] += 1
        gains.append((gain_of(of_source, second, rule), gain_of(of_target, third, rule)))
    table = np.array(gains, float)
    assert [rule.chosen for rule in result.rules] == [n / 60 for n in times]
    for gain, column in zip((result.source_gain, result.transfer_gain), table.T, strict=True):
        assert gain.mean == pytest.approx(column.mean(), abs=1e-12)
        assert gain.sd == pytest.approx(column.std(ddof=1), abs=1e-12)
        assert gain.low == pytest.approx(np.quantile(column, 0.025), abs=1e-12)


def test_on_all_questions_each_rule_is_its_own_evaluation(rng):
    source, target = random_log(rng, ragged=True), target_log(rng, n=150, clusters=20)
    result = rule_transfer(*source, *target, rng=1, splits=10, level=0.9)
    for rule in result.rules:
        for side, log in (("source", source), ("target", target)):
            value = evaluate_rule(*log, rule.rule, level=0.9).value
            assert getattr(rule, side).to_dict() == value.to_dict()
    gains = [rule.source.gain_points.estimate for rule in result.rules]
    assert result.best_source == result.rules[int(np.argmax(gains))].rule
    gains = [rule.target.gain_points.estimate for rule in result.rules]
    assert result.best_target == result.rules[int(np.argmax(gains))].rule


def test_the_published_figures_give_the_published_rule():
    log = published_log()
    result = rule_transfer(*log, *log, rng=1)
    assert result.splits == 400
    assert result.best_source == result.best_target == "score <= 0"
    assert sum(rule.chosen for rule in result.rules) == pytest.approx(1)
    of_rule = {rule.rule: rule for rule in result.rules}
    assert of_rule["score <= 0"].chosen > 0.9
    assert round(of_rule["score <= 0"].source.gain_points.estimate, 2) == 3.26
    # The same log on both sides: its held-out half is the same, video for video.
    assert result.transfer_gain == result.source_gain
    assert 0 < result.source_gain.mean < 3.3


def test_blocks_change_no_split(rng, monkeypatch):
    source, target = random_log(rng), target_log(rng, n=90, clusters=30)
    options = {"rng": 5, "splits": 50, "rules": [*RULES, "lowest 33", "random 20"]}
    result = rule_transfer(*source, *target, **options).to_dict()
    monkeypatch.setattr(video_splits, "_ENTRIES", 200)
    again = rule_transfer(*source, *target, **options).to_dict()
    for name in ("source_gain", "transfer_gain"):
        assert again[name] == pytest.approx(result.pop(name), abs=1e-12)
        again.pop(name)
    assert again == result


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_row_order_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    logs = random_log(rng, n=60, clusters=7, ragged=True), target_log(rng, n=50, clusters=9)
    result = rule_transfer(*logs[0], *logs[1], rng=2, splits=20)
    shuffled = []
    for counts, outcomes in logs:
        order = rng.permutation(len(counts))
        columns = {n: np.array(c)[order] for n, c in counts.to_dict().items()}
        other = rng.permutation(len(outcomes))
        shuffled += [
            ReplayCounts(**columns),
            Outcomes(
                outcomes.question[other],
                outcomes.original_correct[other],
                {"strong": outcomes.alternatives["strong"].correct[other]},
            ),
        ]
    assert rule_transfer(*shuffled, rng=2, splits=20).to_dict() == result.to_dict()


def one_question_a_video(scores, values, videos=None):
    """Questions with scores of the given signs and deferrals of the given values."""
    n = len(scores)
    ids = [f"q{i}" for i in range(n)]
    videos = [f"v{i}" for i in range(n)] if videos is None else videos
    x = [1 if s < 0 else 0 for s in scores]
    y = [1 if s > 0 else 0 for s in scores]
    counts = ReplayCounts(ids, x, [1] * n, y, [1] * n, cluster=videos)
    original = [1 if v < 0 else 0 for v in values]
    fallback = [1 if v > 0 else 0 for v in values]
    return counts, Outcomes(ids, original, {"strong": fallback})


def test_of_equal_rules_the_one_with_fewer_calls_then_the_first():
    # Ties are worth nothing: "<= 0" gains what "< 0" does, with more calls.
    log = one_question_a_video([-1] * 6 + [0] * 6, [1] * 6 + [0] * 6)
    rules = ["score <= 0", "always", "score < 1/2", "score < 0"]
    result = rule_transfer(*log, *log, rng=1, rules=rules, splits=30)
    # A half of ties only leaves every rule without gain; it is drawn with probability 1/924.
    assert [rule.chosen for rule in result.rules] == [0, 0, 0, 1]
    # Two rules that say the same: the first.
    result = rule_transfer(*log, *log, rng=1, rules=["score < 1/2", "score <= 0"], splits=30)
    assert [rule.chosen for rule in result.rules] == [1, 0]


def test_rounding_of_propensities_decides_no_tie():
    tenths = 0.1 + 0.2  # 0.30000000000000004, which is more than 0.3 to a computer only

    def choose(net, calls):
        return video_splits.choose_rule(np.array([net]), np.array([calls]), np.arange(2))

    assert choose([0.3, tenths], [1.0, 2.0]) == [0]
    assert choose([1.0, 1.0], [tenths, 0.3]) == [0]
    assert choose([0.3, 0.4], [1.0, 2.0]) == [1]


def test_no_gain_anywhere_chooses_never(rng):
    log = one_question_a_video(rng.integers(-1, 2, 20), [-1] * 20)
    result = rule_transfer(*log, *log, rng=1, splits=40)
    assert {rule.rule: rule.chosen for rule in result.rules if rule.chosen} == {"never": 1.0}
    assert result.source_gain.mean == result.transfer_gain.mean == 0.0
    assert result.best_source == "never"
    assert NO_GAIN in result.notes
    # Without "never" among the rules the least bad one is taken, and said to be.
    forced = rule_transfer(*log, *log, rng=1, splits=40, rules=["always"])
    assert forced.source_gain.mean == -100.0
    assert NO_GAIN in forced.notes


@pytest.mark.parametrize("rules", list(itertools.permutations(RULES)), ids="; ".join)
def test_a_rule_that_selects_nothing_is_never_chosen_over_never(rules):
    """Only positive scores in the source: the rules defer none of it, and all of the target."""
    source = one_question_a_video([1] * 6, [1] * 6)
    target = one_question_a_video([-1] * 6, [1] * 6)
    result = rule_transfer(*source, *target, rng=1, splits=20, rules=rules)
    assert {rule.rule: rule.chosen for rule in result.rules if rule.chosen} == {"never": 1.0}
    assert result.best_source == "never"
    assert result.transfer_gain.mean == 0.0
    # Nor where every answer is right, so that no rule gains.
    source = one_question_a_video([-1, 0, 1] * 3, [0] * 9)
    result = rule_transfer(*source, *target, rng=1, splits=20, rules=rules)
    assert result.transfer_gain.mean == 0.0


@pytest.mark.parametrize("seed", range(12))
def test_the_choice_is_that_of_brute_force_with_many_ties(seed):
    rng = np.random.default_rng(seed)
    net, calls = rng.integers(0, 2, (2, 50, 4)).astype(float)
    never = int(rng.integers(4))
    net[:, never] = calls[:, never] = 0
    order = np.array([never, *(i for i in range(4) if i != never)])
    found = video_splits.choose_rule(net, calls, order)
    for row, chosen in enumerate(found.tolist()):
        keys = [(net[row, i], -calls[row, i], i == never, -i) for i in range(4)]
        assert keys[chosen] == max(keys)


def test_a_side_without_scores_is_refused_where_a_rule_needs_them(rng):
    log = one_question_a_video(rng.integers(-1, 2, 20), rng.integers(-1, 2, 20))
    ids, zero = log[0].question, np.zeros(20, int)
    none = ReplayCounts(ids, zero, zero, zero, zero, cluster=log[0].cluster)
    for sides, name in (((none, log[0]), "source"), ((log[0], none), "target")):
        with pytest.raises(InputError, match=f"^{name}: no question has a score .*'score < 0'"):
            rule_transfer(sides[0], log[1], sides[1], log[1], rng=1)
    # Rules that look at no replay need none.
    sure = Outcomes(
        ids, log[1].original_correct, dict(log[1].alternatives),
        covariates={"sure": rng.random(20)},
    )  # fmt: skip
    result = rule_transfer(none, sure, none, sure, rng=1, rules=["sure < 1/2", "always", "never"])
    with_scores = rule_transfer(
        log[0], sure, log[0], sure, rng=1, rules=["sure < 1/2", "always", "never"]
    )
    assert result.transfer_gain == with_scores.transfer_gain


def test_without_a_common_video_the_target_is_halved(rng):
    source = random_log(rng)
    target = one_question_a_video([-1, 0, 1, -1, 0], [1, 1, 0, 0, -1], list("ABCDE"))
    result = rule_transfer(*source, *target, rng=1, splits=30)
    assert result.videos == {"source": 20, "target": 5, "common": 0}
    assert NO_COMMON in result.notes
    # Three videos of one question each: the gain of one split is a multiple of 100/3.
    gains = {
        rule_transfer(*source, *target, rng=seed, splits=1).transfer_gain.mean for seed in range(20)
    }
    assert len(gains) > 1
    for gain in gains:
        assert gain * 3 / 100 == pytest.approx(round(gain * 3 / 100), abs=1e-12)


@pytest.mark.parametrize("videos", [1, 2, 3, 4, 5])
def test_of_either_side_the_larger_half_is_evaluated(videos, rng):
    """As many of the target's own videos as are left of a source of as many."""
    source = one_question_a_video([-1] * max(videos, 2), [1] * max(videos, 2))
    target = one_question_a_video([-1] * videos, [1] * videos, [f"t{i}" for i in range(videos)])
    sums = []
    for side in (source, target):
        names = np.unique(np.concatenate([source[0].cluster, target[0].cluster]))
        here = np.isin(names, side[0].cluster).astype(float)
        sums.append(SideSums(here, here[:, None], here[:, None]))
    for chosen_on, of_source, of_target in video_splits._halves(*sums, 50, rng):
        half = len(source[0]) // 2
        assert (chosen_on.sum(axis=1) == half).all()
        assert (of_source.sum(axis=1) == len(source[0]) - half).all()
        assert (of_target.sum(axis=1) == math.ceil(videos / 2)).all()
        assert not (of_target * (sums[0].questions > 0)).any()
    result = rule_transfer(*source, *target, rng=1, splits=20)
    assert result.transfer_gain.splits == 20
    assert result.transfer_gain.mean == 100.0


def test_the_source_as_its_own_target_is_said(rng):
    log = random_log(rng)
    result = rule_transfer(*log, *log, rng=1, splits=50)
    assert result.source_gain == result.transfer_gain
    assert result.notes.count(SAME) == 1
    counts, outcomes = log
    again = rule_transfer(*log, counts.select(np.ones(len(counts), bool)), outcomes, rng=1)
    assert SAME in again.notes  # by what is in them, not by which objects they are
    others = outcomes.alternatives | {"weak": 1 - outcomes.original_correct}
    two = Outcomes(outcomes.question, outcomes.original_correct, others)
    one_flip = counts.to_dict() | {
        "sham_flips": [*counts.sham_flips[:-1], 3 - counts.sham_flips[-1]]
    }
    for other in (
        rule_transfer(counts, two, counts, two, rng=1, fallback="strong", target_fallback="weak"),
        rule_transfer(*log, ReplayCounts(**one_flip), outcomes, rng=1),
    ):
        assert SAME not in other.notes


def test_splits_that_leave_nothing_of_the_target_are_not_counted():
    source = one_question_a_video([-1] * 4, [1] * 4)
    target = one_question_a_video([-1], [1], ["v0"])
    result = rule_transfer(*source, *target, rng=1, splits=100)
    assert 20 < result.transfer_gain.splits < 80
    missing = 100 - result.transfer_gain.splits
    assert any(
        f"{missing} of 100 splits leave no question of the target" in n for n in result.notes
    )
    assert result.transfer_gain.mean == 100.0
    none = [rule_transfer(*source, *target, rng=seed, splits=1) for seed in range(30)]
    empty = [r for r in none if not r.transfer_gain.splits]
    assert empty
    assert math.isnan(empty[0].transfer_gain.mean)
    assert empty[0].to_dict()["transfer_gain"]["mean"] is None
    assert "no split leaves a question of the target to evaluate" in empty[0].notes
    assert all(r.source_gain.sd is None for r in none)


def test_two_benchmarks_may_number_their_questions_alike():
    source = one_question_a_video([-1] * 4, [1] * 4)
    target = one_question_a_video([-1] * 3, [1] * 3, ["A", "B", "C"])
    result = rule_transfer(*source, *target, rng=1, splits=5)
    assert any(note.startswith("3 ids of questions in common, each of") for note in result.notes)


def test_few_videos_are_said_to_be_few():
    log = one_question_a_video([-1, 1], [1, 0])
    result = rule_transfer(*log, *log, rng=1, splits=20)
    assert FEW.format(n="2 videos") in result.notes
    assert result.source_gain.splits == 20


def test_fallbacks_of_either_side(rng):
    counts, outcomes = random_log(rng)
    renamed = Outcomes(
        outcomes.question,
        outcomes.original_correct,
        {"big": outcomes.alternatives["strong"].correct},
    )
    result = rule_transfer(
        counts, outcomes, counts, renamed, rng=1, fallback="strong", target_fallback="big"
    )
    assert result.fallback == {"source": "strong", "target": "big"}
    assert result.transfer_gain == result.source_gain
    with pytest.raises(InputError, match="strong"):
        rule_transfer(counts, outcomes, counts, renamed, rng=1, fallback="strong")


def test_notes_name_their_side(rng):
    source, target = random_log(rng, ragged=True), target_log(rng)
    result = rule_transfer(*source, *target, rng=1, splits=5)
    unscored = 200 - evaluate_rule(*source).scored
    assert (
        f"source: {unscored} questions have no score and keep the original answer" in result.notes
    )
    assert not any(note.startswith("target: ") for note in result.notes)
    assert SPREAD in result.notes


def test_wrong_input_is_one_line(rng):
    counts, outcomes = random_log(rng)
    log = counts, outcomes
    bare = ReplayCounts(**(counts.to_dict() | {"cluster": None}))
    one = ReplayCounts(**(counts.to_dict() | {"cluster": ["v"] * 200}))
    moved = counts.cluster.copy()
    moved[7] = "elsewhere"
    other = ReplayCounts(**(counts.to_dict() | {"cluster": moved}))
    unknown = Outcomes(outcomes.question, [None] * 200, {"strong": [1] * 200})
    shorter = outcomes.select(np.arange(200) > 2)
    for arguments, options, message in [
        ((bare, outcomes, *log), {}, "source: which questions share a video is not known"),
        ((*log, bare, outcomes), {}, "target: which questions share a video is not known"),
        ((one, outcomes, *log), {}, "source: all questions belong to one video"),
        ((*log, other, outcomes), {}, "question='q00007' is in cluster"),
        ((*log, counts, unknown), {}, "target: no question has a known outcome"),
        ((*log, counts, shorter), {}, "the first: 'q00000'"),
        ((*log, *log), {"rules": []}, "rules is empty"),
        ((*log, *log), {"rules": "never"}, "must be a list of rules"),
        ((*log, *log), {"rules": ["score <= 0", "score<=0"]}, "'score <= 0' is there twice"),
        ((*log, *log), {"splits": 0}, "splits=0"),
        ((*log, *log), {"level": 2}, "level=2 must lie between"),
        ((*log, *log), {"rng": None}, "rng=None"),
    ]:
        with pytest.raises(InputError, match=message) as raised:
            rule_transfer(*arguments, **({"rng": 1} | options))
        assert "\n" not in str(raised.value)


def test_one_video_of_the_target_is_enough(rng):
    source = random_log(rng)
    target = one_question_a_video([-1, 1], [1, 0], ["T", "T"])
    result = rule_transfer(*source, *target, rng=1, splits=20)
    assert result.transfer_gain.splits == 20
    assert result.rules[0].target.gain_points.low is None


def test_forms_of_the_result(rng):
    log = random_log(rng)
    result = rule_transfer(*log, *log, rng=1, splits=12)
    values = result.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    text = str(result)
    assert text.startswith(
        "Rule transfer: source 200 questions in 20 videos, target 200 questions in 20 videos, 20 in"
        " common; 12 splits\n"
    )
    assert repr(result) == text
    assert "<td>" in result._repr_html_()
    assert "score &lt;= 0" in result._repr_html_()
