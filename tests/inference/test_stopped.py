"""Figures from stopped replays: those of a full run in expectation, and honest intervals."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from excess_oracles import excess as enumerated_excess
from excess_oracles import homogeneous, sign, subsampled
from excess_oracles import influence as enumerated_influence
from hypothesis import given, settings
from hypothesis import strategies as st
from stopped_replays import (
    INVALID,
    ORDERS,
    counts_of,
    draw_outcomes,
    full_counts,
    make_plan,
    play,
    stopped_counts,
)

from carve_stats.counts import UNKNOWN_CLUSTERS, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.rates import flip_rates
from carve_stats.inference.stopped import (
    INEXACT,
    TOO_FEW,
    UNFINISHED,
    stopped_decisions,
    stopped_signs,
)
from carve_stats.inference.tie_excess import DESCRIPTOR, RATES_BY_T, tie_excess
from carve_stats.law.stopping import fixed_plan
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population

FLIP, KEEP = 1, 0

# Two kinds of questions: in SHAM and DESTROY each outcome of a call is as likely as the others.
VALID_KINDS = [([FLIP, KEEP, KEEP], [FLIP, FLIP, KEEP]), ([FLIP, FLIP, KEEP], [FLIP, KEEP, KEEP])]
INVALID_KINDS = [
    ([FLIP, KEEP, KEEP, INVALID], [FLIP, FLIP, KEEP, INVALID]),
    ([FLIP, FLIP, KEEP, INVALID], [FLIP, KEEP, INVALID, INVALID]),
]


def every_question(kinds, k):
    """Each sequence of outcomes as often as it is likely: their mean is the expectation."""
    arms = [], []
    for kind in kinds:
        sequences = [list(product(one, repeat=n)) for one, n in zip(kind, k, strict=True)]
        for sham, destroy in product(*sequences):
            arms[0].append(sham)
            arms[1].append(destroy)
    return np.array(arms[0]), np.array(arms[1])


def full_figures(sham, destroy, to):
    """What a full run finds whose questions keep their first valid replays, in fractions.

    Shares of negative, zero and positive scores, both rates, and the questions it is of.
    """
    first = []
    for outcomes, k in ((sham, to[0]), (destroy, to[1])):
        valid = outcomes != INVALID
        counted = valid & (np.cumsum(valid, axis=1) <= k)
        flips = ((outcomes == FLIP) & counted).sum(axis=1)
        first.append(np.where(counted.sum(axis=1) == k, flips, -1))
    u, v = first
    used = (u >= 0) & (v >= 0)
    n = int(used.sum())
    shares = [Fraction(0)] * 3
    for (a, b), count in zip(
        *np.unique(np.stack([u[used], v[used]], axis=1), axis=0, return_counts=True), strict=True
    ):
        shares[sign(int(a), to[0], int(b), to[1])] += Fraction(int(count), n)
    rates = [Fraction(int(w[used].sum()), n * k) for w, k in zip(first, to, strict=True)]
    return shares, rates, n


def check_expectation(plan, sham, destroy, to):
    found = stopped_signs(stopped_counts(plan, sham, destroy), k_sham=to[0], k_destroy=to[1])
    shares, (p_sham, p_destroy), n = full_figures(sham, destroy, to)
    expected = homogeneous(*to, p_sham, p_destroy)
    assert list(found.observed) == pytest.approx([float(s) for s in shares], abs=1e-12)
    assert found.flip_rates["sham"].estimate == pytest.approx(float(p_sham), abs=1e-12)
    assert found.flip_rates["destroy"].estimate == pytest.approx(float(p_destroy), abs=1e-12)
    assert found.mean_score.estimate == pytest.approx(float(p_destroy - p_sham), abs=1e-12)
    assert list(found.predicted) == pytest.approx([float(s) for s in expected], abs=1e-12)
    assert [e.estimate for e in found.excess] == pytest.approx(
        [float(s - e) for s, e in zip(shares, expected, strict=True)], abs=1e-12
    )
    assert found.k == {"sham": to[0], "destroy": to[1]}
    assert found.questions["scored"] == n
    left_out = {TOO_FEW.format(sham=to[0], destroy=to[1]): len(sham) - n} if n < len(sham) else {}
    assert found.questions["left_out"] == left_out


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", ["score <= 0", "sign", "score < 1/3"])
@pytest.mark.parametrize("minimum", [(1, 1), (2, 1), (1, 2)])
def test_every_figure_is_that_of_a_full_run_in_expectation(order, rule, minimum):
    plan = make_plan((3, 3), order, minimum, rule=rule)
    sham, destroy = every_question(VALID_KINDS, (3, 3))
    guaranteed = plan.guaranteed
    for to in product(range(1, guaranteed[0] + 1), range(1, guaranteed[1] + 1)):
        check_expectation(plan, sham, destroy, to)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("k", "rule", "minimum"),
    [((3, 3), "score <= 0", (1, 1)), ((3, 2), "sign", (2, 1)), ((2, 3), "score > -1/2", (1, 2))],
)
def test_every_figure_is_that_of_a_full_run_where_replays_are_invalid(order, k, rule, minimum):
    plan = make_plan(k, order, minimum, rule=rule)
    sham, destroy = every_question(INVALID_KINDS, k)
    for to in {(1, 1), minimum}:
        check_expectation(plan, sham, destroy, to)


@pytest.mark.parametrize(
    ("order", "invalid", "to"),
    [("optimal", 0.0, 3), ("optimal", 0.05, 3), ("alternate-destroy-first", 0.0, 5)],
)
def test_300_000_simulated_questions_have_the_figures_of_their_population(order, invalid, to, rng):
    n, k, population = 300_000, 10, Population.paper()
    atom = rng.choice(population.weights.size, n, p=population.weights)
    p_sham, p_destroy = population.p_sham[atom], population.p_destroy[atom]
    plan = stopping_plan(k, order=order, population=population)
    state = play(plan, *draw_outcomes(rng, p_sham, p_destroy, k, invalid=invalid))
    found = stopped_signs(counts_of(state, plan=plan, cluster=[f"{q}" for q in range(n)]))
    assert found.k == {"sham": to, "destroy": to}
    assert found.questions["scored"] == n
    rates = population.weights @ population.p_sham, population.weights @ population.p_destroy
    exact = population.signs(to)
    predicted = homogeneous(to, to, *rates)
    for name, share in exact._asdict().items():
        interval = getattr(found.observed_intervals, name)
        assert abs(interval.estimate - share) < 4 * interval.se
        # What is averaged over the paths varies less than the first replays themselves.
        assert interval.se < math.sqrt(share * (1 - share) / n)
    for name, share, expected in zip(exact._fields, exact, predicted, strict=True):
        excess = getattr(found.excess, name)
        assert abs(excess.estimate - (share - expected)) < 4 * excess.se
        assert 0 < excess.se < 1 / math.sqrt(n)
        # The slope of a binomial probability by its rate is at most k.
        error = to * (found.flip_rates["sham"].se + found.flip_rates["destroy"].se)
        assert abs(getattr(found.predicted, name) - expected) < 4 * error
    for arm, rate in zip(("sham", "destroy"), rates, strict=True):
        estimate = found.flip_rates[arm]
        assert abs(estimate.estimate - rate) < 4 * estimate.se
        assert estimate.se < 0.5 / math.sqrt(n)
    assert abs(found.mean_score.estimate - (rates[1] - rates[0])) < 4 * found.mean_score.se
    # Taken as they were made they are off, and more questions do not help.
    i, x, j, y, *_ = state
    assert abs(np.mean(y * i == x * j) - population.signs(k).zero) > 0.03
    assert abs(np.mean(y / j - x / i) - (rates[1] - rates[0])) > 3 * found.mean_score.se
    if order != "optimal":  # in which the bias of pooled rates happens to be small here
        assert abs(x.sum() / i.sum() - rates[0]) > 10 * found.flip_rates["sham"].se
        assert abs(y.sum() / j.sum() - rates[1]) > 10 * found.flip_rates["destroy"].se


def test_intervals_cover_as_often_as_they_say(rng):
    population, videos = Population.paper(), 60
    plan = make_plan((5, 5), minimum=(2, 2))
    exact = population.signs(2)
    p_sham, p_destroy = (
        float(population.weights @ p) for p in (population.p_sham, population.p_destroy)
    )
    mean = p_destroy - p_sham
    excess = exact.zero - homogeneous(2, 2, p_sham, p_destroy)[1]
    runs = 300
    covered = np.zeros(2, int)
    naive = 0
    for _ in range(runs):
        drawn = population.draw(300, clusters=videos, icc=0.3, rng=rng)
        sham, destroy = draw_outcomes(rng, drawn.p_sham, drawn.p_destroy, 5)
        counts = stopped_counts(plan, sham, destroy, cluster=drawn.cluster)
        found = stopped_signs(counts)
        for place, (estimate, truth) in enumerate(
            [(found.excess.zero, excess), (found.mean_score, mean)]
        ):
            covered[place] += estimate.low <= truth <= estimate.high
        alone = stopped_signs(
            stopped_counts(plan, sham, destroy, cluster=[f"{q}" for q in range(300)])
        ).mean_score
        naive += alone.low <= mean <= alone.high
    # Within three Monte-Carlo errors of .95; videos that are not respected are not enough.
    assert (np.abs(covered / runs - 0.95) < 3 * math.sqrt(0.95 * 0.05 / runs)).all()
    assert naive < covered[1]


@pytest.fixture
def nothing_saved(rng):
    """80 questions whose plan asks for all replays before any stop: their calls, and the plan."""
    p_sham, p_destroy = rng.beta(1, 2, 80), rng.beta(2, 1, 80)
    plan = make_plan((4, 4), "alternate", (4, 4))
    return draw_outcomes(rng, p_sham, p_destroy, 4), plan, [f"v{q % 11}" for q in range(80)]


def agree(found, full):
    """The figures are those of a full run, of which more may be known."""
    for name, figure in found.items():
        if isinstance(figure, float):
            assert figure == pytest.approx(full[name], rel=1e-12, abs=1e-12)
        else:
            assert figure == full[name]


@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "rng": 4, "resamples": 500}])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_without_a_stop_it_is_the_tie_excess(nothing_saved, options, level):
    (sham, destroy), plan, cluster = nothing_saved
    more = {"cluster": cluster, "self_flips": [1] * 80, "self_replays": [3] * 80}
    full = tie_excess(full_counts(sham, destroy, **more), level=level, **options).to_dict()
    found = stopped_signs(
        stopped_counts(plan, sham, destroy, **more), level=level, **options
    ).to_dict()
    for name in ("questions", "records", "clusters", "k", "interval"):
        assert found[name] == full[name]
    for name in ("observed", "predicted"):
        agree(found[name], full[name])
    for name in ("excess", "observed_intervals", "flip_rates"):
        assert found[name].keys() == full[name].keys()
        for part, entry in found[name].items():
            agree(entry, full[name][part])
    assert set(found["mean_score"]) >= {"estimate", "se", "low", "high", "p_value"}
    agree(found["mean_score"], full["mean_score"])
    assert found["excess"]["zero"]["low"] is not None
    assert found["mean_score"]["p_value"] is not None


def test_without_a_stop_fewer_replays_are_every_choice_of_them(nothing_saved):
    (sham, destroy), plan, cluster = nothing_saved
    found = stopped_signs(
        stopped_counts(plan, sham, destroy, cluster=cluster), k_sham=3, k_destroy=2
    )
    rows = [(x, 4, y, 4) for x, y in zip(sham.sum(axis=1), destroy.sum(axis=1), strict=True)]
    rows = [tuple(int(value) for value in row) for row in rows]
    shares = np.mean([[float(s) for s in subsampled(*row, 3, 2)] for row in rows], axis=0)
    assert list(found.observed) == pytest.approx(shares.tolist(), abs=1e-12)
    expected = [float(e) for e in enumerated_excess(rows, at=(3, 2))]
    assert [e.estimate for e in found.excess] == pytest.approx(expected, abs=1e-12)
    totals = {}
    for row, video in zip(enumerated_influence(rows, at=(3, 2)), cluster, strict=True):
        totals[video] = totals.get(video, 0.0) + np.array(row)
    se = np.sqrt(11 / 10 * sum(t**2 for t in totals.values())) / 80
    assert [e.se for e in found.excess] == pytest.approx(se.tolist(), rel=1e-10)


@settings(max_examples=20)
@given(st.permutations(range(12)))
def test_row_order_changes_nothing(order):
    plan = fixed_plan(3, 3, "score <= 0", "alternate", (1, 1))
    rng = np.random.default_rng(3)
    sham, destroy = draw_outcomes(rng, np.full(12, 0.4), np.full(12, 0.6), 3, invalid=0.1)
    i, x, j, y, a, b = play(plan, sham, destroy)
    columns = dict(
        question=np.array([f"q{q}" for q in range(12)]), sham_flips=x, sham_replays=i,
        destroy_flips=y, destroy_replays=j, sham_invalid=a, destroy_invalid=b,
        cluster=np.array([f"v{q % 4}" for q in range(12)]),
    )  # fmt: skip
    rows = np.array(order)
    shuffled = ReplayCounts(**{n: c[rows] for n, c in columns.items()}, stopping=plan)
    sorted_ = ReplayCounts(**columns, stopping=plan)
    assert stopped_signs(shuffled).to_dict() == stopped_signs(sorted_).to_dict()
    options = {"interval": "bootstrap", "resamples": 100, "rng": 1}
    assert stopped_signs(shuffled, **options).to_dict() == (
        stopped_signs(sorted_, **options).to_dict()
    )


ALTERNATE = fixed_plan(3, 3, "score <= 0", "alternate", (1, 1))

# Stopped: 2 of 3 SHAM flipped and a DESTROY kept, so that 2 of 3 cannot exceed them; none of two
# SHAM and two of two DESTROY flipped, which one SHAM flip to come cannot reach.
DONE = (2, 2, 1, 0, 0, 0), (2, 0, 2, 2, 0, 0)


def by_hand(*states, **more):
    return counts_of(np.array(states, int).reshape(-1, 6).T, plan=ALTERNATE, **more)


def test_figures_by_hand():
    counts = by_hand(*DONE, cluster=["v", "w"], self_flips=[0, 1], self_replays=[2, 2])
    found = stopped_signs(counts)
    assert found.k == {"sham": 1, "destroy": 1}
    # First replays: (1, 0) and (0, 1).
    assert list(found.observed) == [0.5, 0.0, 0.5]
    assert [found.flip_rates[arm].estimate for arm in ("sham", "destroy")] == [0.5, 0.5]
    assert found.flip_rates["self"].estimate == 0.25
    assert list(found.predicted) == pytest.approx([0.25, 0.5, 0.25])
    assert [e.estimate for e in found.excess] == pytest.approx([0.25, -0.5, 0.25])
    assert found.mean_score.estimate == 0.0
    assert found.p_value == 1.0
    assert found.clusters == 2
    # Two SHAM replays: 2 flips to 0, and 0 to 1 of one.
    assert list(stopped_signs(counts, k_sham=2, k_destroy=1).observed) == [0.5, 0.0, 0.5]
    assert stopped_decisions(counts).tolist() == [1.0, 0.0]


def test_self_rates_are_those_that_were_made(rng):
    # SELF replays decide nothing: they are all made, and lean nowhere.
    sham, destroy = draw_outcomes(rng, np.full(40, 0.4), np.full(40, 0.6), 3)
    more = {"cluster": [f"v{q % 8}" for q in range(40)], "self_replays": [3] * 40,
            "self_flips": rng.integers(0, 4, 40)}  # fmt: skip
    found = stopped_signs(stopped_counts(ALTERNATE, sham, destroy, **more))
    assert found.flip_rates["self"] == flip_rates(full_counts(sham, destroy, **more)).self_
    assert not any("SELF" in note for note in found.notes)


def test_no_self_replay_is_nothing_missing():
    found = stopped_signs(by_hand(*DONE, cluster=["v", "w"]))
    assert math.isnan(found.flip_rates["self"].estimate)
    assert found.to_dict()["flip_rates"]["self"]["estimate"] is None
    assert not any("SELF" in note for note in found.notes)


def test_unknown_clusters_leave_the_estimates():
    ledger = Ledger(8, 7, {"invalid": 1}, ("a note", UNKNOWN_CLUSTERS))
    known = stopped_signs(by_hand(*DONE, cluster=["v", "w"]))
    found = stopped_signs(by_hand(*DONE, ledger=ledger))
    assert found.clusters is None
    assert found.observed == known.observed
    for estimate in (*found.excess, *found.observed_intervals, found.mean_score):
        assert estimate.se is estimate.low is estimate.high is None
    assert found.p_value is None
    assert found.interval.df is None
    assert found.records == {"read": 8, "used": 7, "left_out": {"invalid": 1}}
    assert found.notes[0] == "a note"
    assert sum("--videos" in note for note in found.notes) == 1
    assert "unknown clusters" in str(found)


@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "rng": 1, "resamples": 100}])
def test_one_cluster_has_no_interval(options):
    found = stopped_signs(by_hand(*DONE, cluster=["v", "v"]), **options)
    assert found.clusters == 1
    assert found.excess.zero.estimate == pytest.approx(-0.5)
    assert found.excess.zero.low is None
    assert found.p_value is None
    assert any("one cluster" in note or "two clusters" in note for note in found.notes)


def test_a_share_without_variation_has_no_excess_interval(rng):
    counts = by_hand(*DONE[:1] * 3, cluster=["u", "v", "w"])
    found = stopped_signs(counts)
    assert list(found.observed) == [1.0, 0.0, 0.0]
    assert all(e.low is None and e.se is None for e in found.excess)


GOES_ON = (1, 1, 1, 1, 0, 0), (0, 0, 0, 0, 0, 0)


def test_unfinished_questions_are_counted_and_left_out():
    alone = stopped_signs(by_hand(*DONE, cluster=["v", "w"]))
    found = stopped_signs(by_hand(*DONE, *GOES_ON, cluster=["v", "w", "x", "y"]))
    assert found.questions == {"read": 4, "scored": 2, "left_out": {UNFINISHED: 2}}
    assert found.clusters == 2
    assert found.interval == alone.interval
    assert (found.observed, found.excess, found.mean_score, found.p_value) == (
        alone.observed, alone.excess, alone.mean_score, alone.p_value,
    )  # fmt: skip
    assert any(note.startswith("2 questions not finished") for note in found.notes)
    assert (
        np.isnan(stopped_decisions(by_hand(*DONE, *GOES_ON))).tolist() == [False] * 2 + [True] * 2
    )


@pytest.mark.parametrize("states", [(), GOES_ON])
@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "rng": 1, "resamples": 100}])
def test_without_a_finished_question_nothing_is_estimated(states, options):
    found = stopped_signs(by_hand(*states, cluster=["v"] * len(states)), **options)
    assert found.questions["scored"] == 0
    assert found.k == {"sham": 1, "destroy": 1}
    assert all(math.isnan(s) for s in (*found.observed, *found.predicted))
    record = found.to_dict()
    assert record["observed"] == dict.fromkeys(("negative", "zero", "positive"))
    assert record["excess"]["zero"]["estimate"] is record["excess"]["zero"]["low"] is None
    assert record["mean_score"]["estimate"] is record["mean_score"]["p_value"] is None
    assert found.notes
    assert str(found)
    assert found._repr_html_().startswith("<")


def test_too_many_invalid_replays_are_counted_and_left_out():
    # After two invalid SHAM replays one is left, which is 1 of 1 or 0 of 1 in the end.
    few = (1, 1, 1, 0, 2, 0)
    none_left = (0, 0, 0, 0, 3, 0)
    found = stopped_signs(by_hand(*DONE, few, none_left, cluster=["u", "v", "w", "x"]))
    assert found.k == {"sham": 1, "destroy": 1}
    assert found.questions["left_out"] == {TOO_FEW.format(sham=1, destroy=1): 1}
    assert found.questions["scored"] == 3
    assert found.clusters == 3
    assert list(found.observed) == pytest.approx([2 / 3, 0, 1 / 3])
    assert any(note.startswith("5 invalid SHAM and DESTROY replays were") for note in found.notes)
    decisions = stopped_decisions(by_hand(*DONE, few, none_left))
    assert decisions[:3].tolist() == [1.0, 0.0, 1.0]
    assert math.isnan(decisions[3])


def test_a_budget_may_be_chosen_up_to_what_every_question_gets():
    counts = by_hand(*DONE)
    assert counts.stopping.guaranteed == (2, 1)
    assert stopped_signs(counts).k == {"sham": 1, "destroy": 1}
    assert stopped_signs(counts, k_sham=2, k_destroy=1).k == {"sham": 2, "destroy": 1}
    for k_sham, k_destroy in ((3, 1), (2, 2)):
        with pytest.raises(InputError, match=r"must not exceed \(2, 1\), .*larger minimum") as told:
            stopped_signs(counts, k_sham=k_sham, k_destroy=k_destroy)
        assert "\n" not in str(told.value)
    for wrong in ({"k_sham": 1}, {"k_destroy": 1}, {"k_sham": 0, "k_destroy": 1}):
        with pytest.raises(InputError, match=r"k_sham|k_destroy") as told:
            stopped_signs(counts, **wrong)
        assert "\n" not in str(told.value)


RARELY_SHAM = Population.homogeneous(0.02, 0.5)


@pytest.mark.parametrize(
    ("plan", "state", "arm"),
    [
        # Three DESTROY replays kept: nothing is below 0 of 3.
        (make_plan((3, 3), "destroy-first", (0, 0)), (0, 0, 3, 0), "SHAM"),
        (make_plan((3, 3), "optimal", (0, 0)), (0, 0, 3, 0), "SHAM"),
        # Three SHAM replays kept: everything is at least 0 of 3.
        (
            stopping_plan(3, rule="score >= 0", population=RARELY_SHAM, minimum=(0, 0)),
            (3, 0, 0, 0),
            "DESTROY",
        ),
    ],
)
def test_an_arm_that_some_questions_lack_is_named(plan, state, arm):
    assert plan.guaranteed[arm == "DESTROY"] == 0
    counts = counts_of(np.array([(*state, 0, 0)]).T, plan=plan)
    words = f"order {plan.order}.* get no {arm} replay at all.* minimum in each arm"
    with pytest.raises(InputError, match=words) as told:
        stopped_signs(counts)
    assert "\n" not in str(told.value)
    assert stopped_decisions(counts).tolist() == [1.0]


def test_counts_without_a_plan_are_those_of_tie_excess():
    counts = ReplayCounts(["a"], [1], [3], [2], [3])
    for function in (stopped_signs, stopped_decisions):
        with pytest.raises(InputError, match=r"not stopped early: use tie_excess\(counts\)"):
            function(counts)
        with pytest.raises(InputError, match="counts is a str: it must be ReplayCounts"):
            function("run/")


def test_counts_of_another_plan_are_refused_by_question():
    # No plan of this rule goes on after two SHAM flips and no DESTROY flip of one.
    counts = by_hand(*DONE, (3, 3, 3, 3, 0, 0))
    for function in (stopped_signs, stopped_decisions):
        with pytest.raises(
            InputError, match=r"question='q000002': 3 of 3 SHAM .*are of another plan"
        ) as told:
            function(counts)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "bootstrap"}, "rng"),
        ({"interval": "normal"}, "interval"),
        ({"level": 95}, "level"),
        ({"interval": "bootstrap", "rng": 1, "resamples": 1}, "resamples"),
    ],
)
def test_wrong_options_are_refused_as_tie_excess_refuses_them(options, message):
    stopped = by_hand(*DONE, cluster=["v", "w"])
    full = ReplayCounts(["a", "b"], [1, 0], [3, 3], [2, 1], [3, 3], cluster=["v", "w"])
    with pytest.raises(InputError, match=message) as told:
        stopped_signs(stopped, **options)
    with pytest.raises(InputError) as expected:
        tie_excess(full, **options)
    assert str(told.value) == str(expected.value)


def test_what_is_shown_says_what_it_is():
    counts = by_hand(*DONE, cluster=["v", "w"])
    found = stopped_signs(counts)
    text = str(found)
    assert text.startswith("Tie excess: k_sham = 1, k_destroy = 1 (2 questions, 2 clusters;")
    assert "from replays stopped early by score <= 0\n" in text
    assert repr(found) == text
    assert max(map(len, text.splitlines())) <= 120
    html = found._repr_html_()
    assert "stopped early by score &lt;= 0" in html
    assert found.notes[0].startswith(
        "every figure is that of a full run with 1 SHAM and 1 DESTROY replays"
    )
    assert found.notes[-1] == DESCRIPTOR
    assert INEXACT not in found.notes
    record = found.to_dict()
    assert record["stopping"] == {
        "rule": "score <= 0", "order": "alternate", "k": {"sham": 3, "destroy": 3},
        "guaranteed": {"sham": 2, "destroy": 1}, "sha256": ALTERNATE.sha256,
    }  # fmt: skip
    bootstrap = stopped_signs(counts, interval="bootstrap", rng=1, resamples=100)
    assert RATES_BY_T in bootstrap.notes


def test_a_plan_that_changes_decisions_keeps_figures_unbiased_and_says_so():
    plan = stopping_plan(3, population=Population.paper(), minimum=(1, 1), changed=0.05)
    assert not plan.exact
    sham, destroy = every_question(VALID_KINDS, (3, 3))
    check_expectation(plan, sham, destroy, (1, 1))
    assert INEXACT in stopped_signs(stopped_counts(plan, sham, destroy)).notes


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", ["score <= 0", "score > 1/4", "sign"])
def test_decisions_are_those_of_the_full_replays(order, rule):
    plan = make_plan((3, 3), order, (1, 1), rule=rule)
    sham, destroy = every_question(INVALID_KINDS[:1], (3, 3))
    full = full_counts(sham, destroy)
    if rule == "sign":
        expected = np.sign(full.score_numerator).astype(float)
    else:
        denominator = full.sham_replays * full.destroy_replays
        expected = plan.rule.selects(full.score_numerator, denominator).astype(float)
    expected[~full.scored] = np.nan
    decisions = stopped_decisions(stopped_counts(plan, sham, destroy))
    np.testing.assert_array_equal(decisions, expected)
