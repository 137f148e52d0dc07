"""What is asked of a law: tails, quantiles, rules, tables of outcomes, sequences over k."""

from fractions import Fraction

import law_oracles
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import relative_error
from oracles import score_cdf as exact_cdf
from oracles import score_pmf as exact_pmf
from oracles import signs_gradient as exact_gradient
from oracles import tie as exact_tie

from carve_stats._kernels import small
from carve_stats.errors import InputError
from carve_stats.law.exact_tests import exact_test
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.law.score_rule import COMPARISONS, ScoreRule

rates = st.sampled_from([0.0, 1e-9, 0.25, 1 / 3, 0.5, 0.9, 1.0]) | st.floats(
    0, 1, allow_subnormal=False
)
budgets = st.tuples(st.integers(1, 8), st.integers(1, 8)) | st.integers(1, 8).map(lambda k: (k, k))
thresholds = st.fractions(-1, 1, max_denominator=60)


def make(budget, p, u):
    return FiniteReplayLaw(p, u, k_sham=budget[0], k_destroy=budget[1])


def close(value, exact, tolerance=1e-13):
    return relative_error(value, exact) <= tolerance or 0 < abs(exact) < Fraction(1, 10**290)


class TestTails:
    @given(budgets, rates, rates, thresholds)
    def test_the_upper_tail_is_a_sum_of_its_own(self, budget, p, u, theta):
        pmf = exact_pmf(*budget, p, u)
        above = sum((share for score, share in pmf.items() if score > theta), Fraction(0))
        assert close(make(budget, p, u).sf(theta), above)

    @given(budgets, rates, rates, st.floats(0, 1))
    def test_quantile(self, budget, p, u, level):
        score = Fraction(make(budget, p, u).quantile(level)).limit_denominator(64)
        pmf = exact_pmf(*budget, p, u)
        assert score in pmf
        upto = exact_cdf(*budget, p, u, score)
        # Where the two agree to rounding either neighbour may be given.
        assert upto >= Fraction(level) - Fraction(1, 10**13)
        assert upto - pmf[score] <= Fraction(level) + Fraction(1, 10**13)

    def test_quantiles_at_the_ends(self):
        law = FiniteReplayLaw(0.0, 0.5, k=3)
        assert law.quantile(0) == 0.0  # lower scores are possible for other rates only
        assert law.quantile(1) == 1.0
        # Scores near 1 add nothing to cdf in floats; the upper tail still tells them apart.
        many = FiniteReplayLaw(0.5, 0.5, k=60)
        assert many.cdf("18/20") == many.cdf("19/20")
        assert many.quantile(1) == 1.0

    def test_cdf_at_a_quantile_is_the_cdf_of_that_score(self):
        law = FiniteReplayLaw([0.3, 0.4], 0.5, k_sham=7, k_destroy=9)
        median = law.quantile(0.5)
        for i, score in enumerate(median):
            assert law.cdf(score)[i] >= 0.5
            assert law.cdf(np.nextafter(score, -1))[i] < 0.5

    @pytest.mark.parametrize("level", [-0.1, 1.1, float("nan"), "a", [0.5, 0.6]])
    def test_a_level_must_be_a_probability(self, level):
        with pytest.raises(InputError, match="level"):
            FiniteReplayLaw(0.3, 0.5, k=3).quantile(level)


class TestSelection:
    @given(budgets, rates, rates, st.sampled_from(COMPARISONS), thresholds)
    def test_wrong_sign_for_a_rule(self, budget, p, u, comparison, threshold):
        rule = ScoreRule(comparison, threshold)
        wrong = make(budget, p, u).wrong_sign(rule)
        if p == u:
            assert np.isnan(wrong)
            return
        holds = {
            "<": lambda s: s < threshold,
            "<=": lambda s: s <= threshold,
            "=": lambda s: s == threshold,
            ">=": lambda s: s >= threshold,
            ">": lambda s: s > threshold,
        }[comparison]
        against = 1 if u < p else -1
        exact = sum(
            (
                share
                for score, share in exact_pmf(*budget, p, u).items()
                if holds(score) and score * against > 0
            ),
            Fraction(0),
        )
        assert close(wrong, exact)

    def test_wrong_sign_of_many_questions(self):
        law = FiniteReplayLaw([0.2, 0.6, 0.4], [0.5, 0.3, 0.4], k=[3, 4, 5])
        signs = law.signs()
        wrong = law.wrong_sign()
        assert wrong[:2] == pytest.approx([signs.negative[0], signs.positive[1]], rel=1e-14)
        assert np.isnan(wrong[2])

    @given(st.integers(1, 30), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
    def test_wrong_sign_is_bounded_by_the_affinity(self, k, p, u):
        # METHODS, "Signs from ties": at most (BC^(2k) − t_k)/2.
        law = FiniteReplayLaw(p, u, k)
        affinity = np.sqrt(p * u) + np.sqrt((1 - p) * (1 - u))
        if p != u:
            assert law.wrong_sign() <= (affinity ** (2 * k) - law.tie()) / 2 + 1e-14

    @given(budgets, rates, rates, st.integers(0, 2**32 - 1))
    def test_any_set_of_outcomes(self, budget, p, u, seed):
        selected = np.random.default_rng(seed).random((budget[0] + 1, budget[1] + 1)) < 0.4
        a = exact_pmf(1, budget[0], 0, p)  # the score is then the flip rate of the other arm
        b = exact_pmf(1, budget[1], 0, u)
        sham, destroy = (
            [pmf[Fraction(x, k)] for x in range(k + 1)]
            for pmf, k in ((a, budget[0]), (b, budget[1]))
        )
        exact = sum((sham[x] * destroy[y] for x, y in np.argwhere(selected)), Fraction(0))
        assert close(make(budget, p, u).probability(selected), exact)

    @given(budgets, rates, rates)
    def test_a_test_that_decides_the_wrong_way(self, budget, p, u):
        rejected = exact_test(*budget).rejects(0.5)
        wrong = make(budget, p, u).wrong_sign(rejected)
        if p != u:
            table = np.array(
                [
                    [rejected[x, y] and (y * budget[0] - x * budget[1]) * (u - p) < 0
                     for y in range(budget[1] + 1)]
                    for x in range(budget[0] + 1)
                ]
            )  # fmt: skip
            assert wrong == make(budget, p, u).probability(table)

    def test_a_rule_may_be_a_text(self):
        law = FiniteReplayLaw(0.3, 0.5, k=4)
        rule = ScoreRule.parse("score >= 1/2")
        assert law.probability("score >= 1/2") == law.probability(rule)
        assert law.wrong_sign("score <= -1/2") == law.wrong_sign(ScoreRule("<=", "-1/2"))
        for method in (law.probability, law.wrong_sign):
            with pytest.raises(InputError, match="rule='scores'"):
                method("scores")

    def test_a_table_must_be_of_bools_and_of_the_budget(self):
        law = FiniteReplayLaw(0.3, 0.5, k_sham=2, k_destroy=3)
        assert law.probability(np.ones((3, 4), bool)) == pytest.approx(1, abs=1e-15)
        for table in (np.ones((4, 3), bool), np.ones((3, 4)), [True], [[True], [True, False]]):
            with pytest.raises(InputError, match=r"shape \(3, 4\)"):
                law.probability(table)
        with pytest.raises(InputError, match="k is an array"):
            FiniteReplayLaw(0.3, 0.5, k=[2, 3]).probability(np.ones((3, 3), bool))


class TestSequences:
    @given(rates, rates)
    def test_ties_at_every_k(self, p, u):
        law = FiniteReplayLaw(p, u, k=9)
        exact = [Fraction(1), *(exact_tie(k, k, p, u) for k in range(1, 10))]
        assert all(map(close, law.tie_sequence(), exact))

    @given(rates, rates)
    def test_their_gradients(self, p, u):
        by_sham, by_destroy = FiniteReplayLaw(p, u, k=6).tie_sequence_gradient()
        assert by_sham[0] == by_destroy[0] == 0
        for k in range(1, 7):
            exact = exact_gradient(k, k, p, u)
            for value, (_, slope, _) in zip((by_sham[k], by_destroy[k]), exact, strict=True):
                assert abs(value - slope) <= 1e-14 * k

    @pytest.mark.parametrize(
        ("p", "u"), [(1e-4, 2e-4), (0.5, 0.5), (0.3, 0.31), (0.999, 0.9985), (1e-300, 1e-3)]
    )
    def test_two_thousand_ties_to_fourteen_digits(self, p, u):
        ties = FiniteReplayLaw(p, u, k=2000).tie_sequence()
        for k in (1, 50, 700, 2000):
            exact = law_oracles.tie(k, Fraction(p), Fraction(u))
            assert abs(ties[k] / exact - 1) <= 1e-14

    def test_shape_and_agreement_with_the_law(self, rng):
        p, u = rng.random((2, 1)), rng.random(3)
        ties = FiniteReplayLaw(p, u, k=40).tie_sequence()
        assert ties.shape == (2, 3, 41)
        for k in (1, 10, 11, 40):
            assert ties[..., k] == pytest.approx(FiniteReplayLaw(p, u, k).tie(), rel=1e-14)
        gradient = FiniteReplayLaw(p, u, k=40).tie_sequence_gradient()
        by_arm = FiniteReplayLaw(p, u, k=40).signs_gradient()
        for sequence, at_k in zip(gradient, by_arm, strict=True):
            assert sequence.shape == (2, 3, 41)
            assert sequence[..., 40] == pytest.approx(at_k.zero, rel=1e-10, abs=1e-14)

    def test_one_k_for_both_arms(self):
        for method in ("tie_sequence", "tie_sequence_gradient"):
            with pytest.raises(InputError, match="one k for both"):
                getattr(FiniteReplayLaw(0.3, 0.5, k_sham=2, k_destroy=3), method)()


class TestParameters:
    @pytest.mark.parametrize(
        "given",
        [
            {"p_sham": 0.3},
            {"p_sham": 0.3, "q_sham": 0.7, "p_destroy": 0.2},
            {"p_destroy": 0.3, "logit_destroy": 0.0, "p_sham": 0.2},
        ],
    )
    def test_each_arm_is_given_once(self, given):
        with pytest.raises(InputError, match="exactly one"):
            FiniteReplayLaw(**given, k=3)

    def test_masked_entries_are_no_rates(self):
        with pytest.raises(InputError, match="p_sham has masked entries"):
            FiniteReplayLaw(np.ma.array([0.2, 0.9], mask=[False, True]), 0.3, k=3)

    def test_messages_are_one_line_however_much_is_wrong(self):
        for wrong in ([0.1] * 1000 + ["x"], np.full((50, 50), None), np.array([0.1, "x"])):
            with pytest.raises(InputError) as raised:
                FiniteReplayLaw(wrong, 0.3, k=3)
            assert len(str(raised.value)) < 200
            assert "\n" not in str(raised.value)

    def test_there_is_no_negative_zero(self):
        law = FiniteReplayLaw(q_sham=-0.0, p_destroy=-0.0, k=3)
        assert not np.signbit([*law.signs(), law.p_destroy, law.q_sham]).any()

    @pytest.mark.parametrize("size", [3.0, "a", (2, "b")])
    def test_a_size_is_whole_numbers(self, size):
        with pytest.raises(InputError, match="size="):
            FiniteReplayLaw(0.3, 0.4, k=3).rvs(size, rng=1)

    @pytest.mark.parametrize("logit", [float("nan"), "x", None])
    def test_a_logit_is_a_number(self, logit):
        with pytest.raises(InputError, match="logit_sham"):
            FiniteReplayLaw(logit_sham=logit, p_destroy=0.5, k=3)

    def test_a_lattice_too_long_to_list_is_refused_and_not_needed(self):
        law = FiniteReplayLaw(0.3, 0.302, k_sham=100_000, k_destroy=99_999)
        with pytest.raises(InputError, match="too long to list"):
            law.pmf()
        # Nearly the law at equal k, whose exact ties are 200 times as many as its neighbours'.
        equal = FiniteReplayLaw(0.3, 0.302, k=100_000)
        assert law.cdf("1/500") == pytest.approx(equal.cdf("1/500") - equal.tie() / 2, abs=0.01)


@pytest.mark.parametrize("make_kernel", [small.small_tie, small.small_differences])
def test_small_kernels_are_made_once_for_each_k(make_kernel):
    assert make_kernel(3) is make_kernel(3)
    assert make_kernel(3) is not make_kernel(4)
