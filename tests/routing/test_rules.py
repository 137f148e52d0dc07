"""Routing rules: texts, exact ranks, propensities, and rules of the user's own."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.posterior import question_posteriors
from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population
from carve_stats.routing.rules.always import Always
from carve_stats.routing.rules.base import RuleInput, rule_notes, rule_propensities
from carve_stats.routing.rules.covariate_comparison import CovariateComparison
from carve_stats.routing.rules.lowest_covariate import LowestCovariate
from carve_stats.routing.rules.lowest_scores import LowestScores
from carve_stats.routing.rules.never import Never
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.rules.posterior import PosteriorRule
from carve_stats.routing.rules.random_deferral import RandomDeferral
from carve_stats.routing.rules.ranking import score_ranks
from carve_stats.routing.rules.score_comparison import ScoreComparison

arms = st.integers(0, 12).flatmap(lambda k: st.tuples(st.integers(0, k), st.just(k)))
logs = st.lists(st.tuples(arms, arms), min_size=1, max_size=25)


def questions_of(rows, **covariates):
    sham, destroy = zip(*rows, strict=True)
    names = [f"q{i:03d}" for i in range(len(rows))]
    counts = ReplayCounts(names, *zip(*sham, strict=True), *zip(*destroy, strict=True))
    return RuleInput(counts, {name: np.array(column) for name, column in covariates.items()})


def exact_score(row):
    (x, k_sham), (y, k_destroy) = row
    return Fraction(y, k_destroy) - Fraction(x, k_sham) if k_sham and k_destroy else None


THREE = [((0, 3), (3, 3)), ((2, 3), (1, 3)), ((1, 3), (0, 0))]  # scores 1, −1/3, none


@pytest.mark.parametrize(
    ("text", "rule", "shown"),
    [
        ("score <= 0", ScoreComparison(ScoreRule("<=", 0)), "score <= 0"),
        ("Δ̂<1/3", ScoreComparison(ScoreRule("<", "1/3")), "score < 1/3"),
        (" lowest  538 ", LowestScores(538), "lowest 538"),
        ("lowest 538 score", LowestScores(538), "lowest 538"),
        ("lowest 9 log odds", LowestCovariate(9, "log odds"), "lowest 9 log odds"),
        ("posterior mean ≤ 0", PosteriorRule("mean", "<=", 0.0), "posterior mean <= 0"),
        (
            "posterior  probability>=.1",
            PosteriorRule("probability", ">=", 0.1),
            "posterior probability >= 0.1",
        ),
        ("confidence < 0.5", CovariateComparison("confidence", "<", 0.5), "confidence < 0.5"),
        ("log odds == -1e-9", CovariateComparison("log odds", "=", -1e-9), "log odds = -1e-09"),
        ("p > 1/3", CovariateComparison("p", ">", 1 / 3), "p > 0.3333333333333333"),
        ("always", Always(), "always"),
        ("never", Never(), "never"),
        ("random 538", RandomDeferral(538), "random 538"),
    ],
)
def test_texts(text, rule, shown):
    assert as_routing_rule(text) == rule
    assert str(rule) == shown
    assert as_routing_rule(shown) == rule


def test_a_rule_object_is_itself_and_a_score_rule_becomes_one():
    rule = Always()
    assert as_routing_rule(rule) is rule
    assert str(as_routing_rule(ScoreRule("<", Fraction(1, 3)))) == "score < 1/3"


@pytest.mark.parametrize(
    "text", ["", "lowest", "lowest -1", "sometimes", "random", "score", "<= 0", "a < b < 1"]
)
def test_unknown_texts_list_what_exists(text):
    with pytest.raises(InputError) as refusal:
        as_routing_rule(text)
    for known in ("score <= 0", "lowest 538", "posterior mean <= 0", "random 538", "never"):
        assert repr(known) in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("confidence < much", "threshold='much' must be a number"),
        ("confidence < 1e400", "threshold='1e400' is too large"),
        ("score <= x", "threshold='x' must be a number"),
        ("score != 0", "rule='score != 0': a rule compares with one of <, <=, =, >=, >, such as"),
        ("confidence ≠ 1", "rule='confidence ≠ 1': a rule compares with one of"),
        ("score <> 0", "rule='score <> 0': a rule compares with one of"),
        ("score <= ", "rule='score <=' lacks a number at its end"),
        ("confidence>", "rule='confidence>' lacks a number at its end"),
        ("0 >= score", "has its number first: write 'score <= 0'"),
        ("1/3>confidence", "has its number first: write 'confidence < 1/3'"),
        (".5 == p", "has its number first: write 'p = .5'"),
    ],
)
def test_thresholds_that_are_none(text, message):
    with pytest.raises(InputError, match=message):
        as_routing_rule(text)


@pytest.mark.parametrize("name", ["score", "confidence"])
def test_a_very_long_threshold_is_cut_in_the_message(name):
    with pytest.raises(InputError, match="9…' must be a number") as error:
        as_routing_rule(f"{name} < {'9' * 9000}x")
    assert len(str(error.value)) < 150


def test_more_questions_than_there_are_is_a_note():
    questions = questions_of(THREE[:1], confidence=[0.1])
    assert LowestScores(99).notes(questions) == [
        "rule 'lowest 99': only 1 question has a score, and all are deferred"
    ]
    assert LowestCovariate(99, "confidence").notes(questions) == [
        "rule 'lowest 99 confidence': only 1 question has a confidence, and all are deferred"
    ]
    with pytest.raises(InputError, match="there is only 1 question to choose from"):
        RandomDeferral(2).propensities(questions)


@pytest.mark.parametrize("wrong", [None, 3, np.ones(3), Always])
def test_other_objects_are_refused(wrong):
    with pytest.raises(InputError, match="a method propensities"):
        as_routing_rule(wrong)


def test_a_score_of_an_unknown_name_lists_the_known_ones():
    questions = questions_of(THREE, confidence=[0.1, 0.2, 0.3], covered=["yes", "no", ""])
    for text in ("confidance < 0.5", "lowest 2 confidance"):
        with pytest.raises(InputError) as error:
            as_routing_rule(text).propensities(questions)
        assert str(error.value) == (
            "unknown score 'confidance': the known ones are score, posterior mean, posterior"
            " probability, confidence; did you mean 'confidence'?"
        )
    said = "covariate 'covered' holds texts, such as 'yes' of question .*: a rule compares finite"
    with pytest.raises(InputError, match=said):
        as_routing_rule("covered < 0.5").propensities(questions)
    with pytest.raises(InputError, match="unknown score 'posterior median'"):
        as_routing_rule("posterior median < 0.5").propensities(questions)


@given(logs)
def test_ranks_are_those_of_the_fractions(rows):
    scores = [exact_score(row) for row in rows]
    distinct = sorted({score for score in scores if score is not None})
    expected = [-1 if score is None else distinct.index(score) for score in scores]
    assert score_ranks(questions_of(rows).counts).tolist() == expected


def test_ranks_of_scores_that_floats_cannot_tell_apart():
    # (d − 1)/d and (d − 2)/(d − 1) at d = 2^31 − 1 differ by 2e-19.
    d = 2**31 - 1
    rows = [((0, 1), (d - 1, d)), ((0, 1), (d - 2, d - 1)), ((0, 1), (d, d))]
    assert score_ranks(questions_of(rows).counts).tolist() == [1, 0, 2]


@given(logs, st.integers(0, 30))
def test_lowest_scores(rows, m):
    scores = [exact_score(row) for row in rows]
    known = sorted(score for score in scores if score is not None)
    expected = []
    for score in scores:
        below = sum(s < score for s in known) if score is not None else len(known)
        tied = known.count(score)
        expected.append(min(max(Fraction(m - below, tied), 0), 1) if tied else 0)
    given_ = rule_propensities(LowestScores(m), questions_of(rows))
    assert given_.tolist() == [float(e) for e in expected]
    assert sum(expected) == min(m, len(known))
    notes = rule_notes(LowestScores(m), questions_of(rows))
    assert (len(notes) == 1) == (len(known) < m)


@given(logs, st.sampled_from(["<", "<=", "=", ">=", ">"]), st.fractions(-1, 1, max_denominator=9))
def test_score_comparisons(rows, comparison, threshold):
    holds = {
        "<": lambda s: s < threshold,
        "<=": lambda s: s <= threshold,
        "=": lambda s: s == threshold,
        ">=": lambda s: s >= threshold,
        ">": lambda s: s > threshold,
    }[comparison]
    scores = [exact_score(row) for row in rows]
    expected = [float(score is not None and holds(score)) for score in scores]
    rule = as_routing_rule(f"score {comparison} {threshold}")
    assert rule_propensities(rule, questions_of(rows)).tolist() == expected


def test_missing_covariates_are_never_selected_and_counted():
    questions = questions_of([THREE[0]] * 4, confidence=[0.5, np.nan, 0.2, np.nan])
    for text, expected in {
        "confidence < 0.5": [0, 0, 1, 0],
        "confidence <= 0.5": [1, 0, 1, 0],
        "confidence = 0.5": [1, 0, 0, 0],
        "confidence >= 0.2": [1, 0, 1, 0],
        "confidence > 0.2": [1, 0, 0, 0],
        "lowest 1 confidence": [0, 0, 1, 0],
        "lowest 2 confidence": [1, 0, 1, 0],
    }.items():
        rule = as_routing_rule(text)
        assert rule_propensities(rule, questions).tolist() == expected, text
        assert rule_notes(rule, questions) == [
            f"rule '{text}': 2 questions have no confidence and keep the original answer"
        ]


def test_lowest_of_a_covariate_splits_ties_and_says_if_there_are_too_few():
    questions = questions_of([THREE[0]] * 4, confidence=[0.5, 0.5, 0.2, 0.5])
    rule = LowestCovariate(2, "confidence")
    assert rule_propensities(rule, questions).tolist() == pytest.approx([1 / 3, 1 / 3, 1, 1 / 3])
    assert rule_notes(rule, questions) == []
    assert rule_notes(LowestCovariate(5, "confidence"), questions) == [
        "rule 'lowest 5 confidence': only 4 questions have a confidence, and all are deferred"
    ]


def test_always_never_and_random_look_at_nothing():
    questions = questions_of(THREE)
    assert rule_propensities(Always(), questions).tolist() == [1, 1, 1]
    assert rule_propensities(Never(), questions).tolist() == [0, 0, 0]
    assert rule_propensities(RandomDeferral(2), questions).tolist() == [2 / 3] * 3
    with pytest.raises(InputError, match="rule 'random 4': there are only 3 questions"):
        RandomDeferral(4).propensities(questions)


@pytest.mark.parametrize(
    ("figure", "column"), [("mean", "mean_difference"), ("probability", "probability_not_above")]
)
def test_posterior_rules(figure, column):
    population = Population([0.2, 0.5, 0.6], [0.8, 0.5, 0.4])
    questions = questions_of([*THREE, ((3, 3), (0, 3)), ((1, 3), (1, 3))])
    values = getattr(question_posteriors(questions.counts, population), column)
    threshold = float(np.median(values))
    rule = PosteriorRule(figure, ">=", threshold, population)
    expected = [1.0 if v >= threshold else 0.0 for v in values]
    expected[2] = 0.0  # no score
    assert rule_propensities(rule, questions).tolist() == expected
    assert 0 < sum(expected) < 4


def test_a_posterior_without_population_fits_one(rng):
    counts = Population.paper().sample(300, 3, rng=rng)
    given_ = PosteriorRule("mean", "<=", 0.1, fit_population(counts))
    fitted = PosteriorRule("mean", "<=", 0.1)
    questions = RuleInput(counts, {})
    propensities = fitted.propensities(questions)
    assert propensities.tolist() == given_.propensities(questions).tolist()
    assert 0 < propensities.sum() < 300
    assert any("fitted to these questions" in note for note in rule_notes(fitted, questions))
    assert not any("fitted" in note.split(";")[0] for note in rule_notes(given_, questions)[:-1])


def test_a_posterior_that_the_population_cannot_give_is_not_selected():
    rule = PosteriorRule("mean", "<=", 1.0, Population([0.0], [1.0]))
    assert rule.propensities(questions_of(THREE)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PosteriorRule("median", "<", 0), "unknown figure 'median'"),
        (lambda: PosteriorRule("mean", "~", 0), "unknown comparison '~'"),
        (lambda: PosteriorRule("mean", "<", 0, "paper"), "population is a str"),
        (lambda: CovariateComparison("c", "~", 0), "unknown comparison '~'"),
        (lambda: LowestScores(-1), "m=-1 must be a whole number"),
        (lambda: LowestCovariate(1.5, "c"), "m=1.5 must be a whole number"),
        (lambda: RandomDeferral(-2), "m=-2 must be a whole number"),
    ],
)
def test_impossible_rules(make, message):
    with pytest.raises(InputError, match=message):
        make()


class OwnRule:
    def __init__(self, values):
        self.values = values

    def propensities(self, questions):
        return self.values

    def __str__(self):
        return "my rule"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 0.0], r"shape \(2,\) and must have \(3,\)"),
        (0.5, r"shape \(\) and must have"),
        ([0.0, 1.5, 1.0], "propensity 1.5 of question 'q001'"),
        ([0.0, -0.1, 1.0], "propensity -0.1 of question 'q001'"),
        ([0.0, 1.0, np.nan], "propensity nan of question 'q002'"),
        (["a", "b", "c"], "must be 3 numbers"),
        (None, "must"),
        ([[1], [1, 2]], "must be 3 numbers"),
    ],
)
def test_propensities_of_a_users_rule_are_checked(values, message):
    with pytest.raises(InputError, match=f"rule 'my rule'.*{message}"):
        rule_propensities(as_routing_rule(OwnRule(values)), questions_of(THREE))


def test_a_users_rule_may_give_whole_numbers_or_truth_values():
    assert rule_propensities(OwnRule([True, False, True]), questions_of(THREE)).tolist() == [
        1,
        0,
        1,
    ]
    mine = np.array([0.25, 0.5, 1.0])
    given_ = rule_propensities(OwnRule(mine), questions_of(THREE))
    given_[0] = 0.0
    assert mine[0] == 0.25


def test_the_errors_of_a_users_rule_stay_theirs():
    class Broken(OwnRule):
        def propensities(self, questions):
            raise ValueError("model file is missing")

    with pytest.raises(ValueError, match=r"^model file is missing$"):
        rule_propensities(Broken(None), questions_of(THREE))
