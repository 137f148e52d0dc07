"""The law against exact fractions, other packages and the project's reference values."""

import csv
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import relative_error
from oracles import score_cdf as exact_cdf
from oracles import score_pmf as exact_pmf
from oracles import signs as exact_signs
from oracles import signs_gradient as exact_gradient
from sizes import size

from carve_stats.errors import InputError
from carve_stats.law.finite_replay import FiniteReplayLaw

PUBLISHED = Path(__file__).parents[1] / "data" / "published"

EXTREME = (0.0, 1e-300, 1e-16, 2.0**-53, 1e-3, 0.5, 0.75, 1 - 1e-16, 1.0)
probabilities = st.one_of(
    st.sampled_from(EXTREME),
    st.floats(0, 1, allow_subnormal=False),
    st.floats(1e-17, 1).map(lambda p: 1 - p),
)
budgets = st.one_of(
    st.integers(1, 12).map(lambda k: (k, k)),
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(30, 100).map(lambda k: (k, k)),
    st.tuples(st.integers(1, 100), st.integers(1, 100)),
)
small_budgets = st.tuples(st.integers(1, 9), st.integers(1, 9)) | st.integers(1, 9).map(
    lambda k: (k, k)
)


def make(k_sham, k_destroy, p_sham, p_destroy):
    return FiniteReplayLaw(p_sham, p_destroy, k_sham=k_sham, k_destroy=k_destroy)


def close(value, exact, tolerance=1e-13):
    # Below the normal range a double has fewer digits than the tolerance asks for.
    if 0 < abs(exact) < Fraction(1, 10**290):
        return abs(value) < 1e-289
    return relative_error(value, exact) <= tolerance


class TestReferenceValues:
    """The project's METHODS reference values: fractions where they are given as fractions."""

    def test_three_replays(self):
        signs = FiniteReplayLaw(1 / 4, 3 / 8, k=3).signs()
        assert signs == (3505 / 16384, 2673 / 8192, 7533 / 16384)

    def test_three_against_five(self):
        law = FiniteReplayLaw(1 / 4, 3 / 8, k_sham=3, k_destroy=5)
        assert law.tie() == pytest.approx(42309 / 1048576, rel=1e-15)
        assert law.positive() == pytest.approx(1368009 / 2097152, rel=1e-15)

    @pytest.mark.parametrize(
        ("k", "tie"), [(1, "4/9"), (2, "8/27"), (3, "160/729"), (10, "189190144/3486784401")]
    )
    def test_a_third_against_two_thirds(self, k, tie):
        assert relative_error(FiniteReplayLaw(1 / 3, 2 / 3, k).tie(), Fraction(tie)) < 1e-15

    @pytest.mark.parametrize(
        ("k", "p_sham", "p_destroy", "tie"),
        [
            (1000, 5 / 16, 11 / 32, "0.0062729485715993574666"),
            (100_000, 1 / 4, 1025 / 4096, "0.0020434935207058273159"),
        ],
    )
    def test_many_replays(self, k, p_sham, p_destroy, tie):
        law = FiniteReplayLaw(p_sham, p_destroy, k)
        assert relative_error(law.tie(), Fraction(tie)) < 1e-14

    def test_a_tie_far_below_the_smallest_float_has_a_logarithm(self):
        law = FiniteReplayLaw(1 / 4, 3 / 4, k=1000)
        assert np.log(law.tie()) == pytest.approx(-291.70844003419148772, rel=1e-15)

    def test_gradient_at_the_published_rates(self):
        by_sham, by_destroy = FiniteReplayLaw(0.3436525, 0.6417726, k=3).signs_gradient()
        assert by_sham.zero == pytest.approx(0.461385, abs=5e-7)
        assert by_destroy.zero == pytest.approx(-0.466922, abs=5e-7)

    @pytest.mark.parametrize("k", [3, 10])
    def test_homogeneous_rows_of_table_a2_follow_from_table_a3(self, k):
        with open(PUBLISHED / "a3_components.csv") as file:
            strata = [row for row in csv.DictReader(file) if row["k"] == "3"]
        n = np.array([float(row["n"]) for row in strata])
        rates = [n @ [float(row[arm]) for row in strata] / n.sum() for arm in ("sham", "destroy")]
        with open(PUBLISHED / "a2_tie_excess.csv") as file:
            (printed,) = (
                row
                for row in csv.DictReader(file)
                if row["k"] == str(k) and row["distribution"] == "homogeneous"
            )
        signs = FiniteReplayLaw(*rates, k)
        for share, name in zip(signs.signs(), ("negative", "zero", "positive"), strict=True):
            assert share == pytest.approx(float(printed[name]), abs=0.003)


class TestExactly:
    @given(budgets, probabilities, probabilities)
    @example((100, 100), 1e-300, 1 - 1e-16)
    @example((32, 32), 0.3, 1 - 1e-16)
    @example((33, 33), 1.0, 1.0)
    @example((40, 7), 0.0, 1.0)
    def test_signs(self, budget, p_sham, p_destroy):
        law = make(*budget, p_sham, p_destroy)
        exact = exact_signs(*budget, p_sham, p_destroy)
        for share, expected in zip(law.signs(), exact, strict=True):
            assert close(share, expected)
        assert close(law.tie(), exact[1])
        assert (law.negative(), law.tie(), law.positive()) == law.signs()

    @given(small_budgets, probabilities, probabilities)
    def test_lattice_and_pmf(self, budget, p_sham, p_destroy):
        law = make(*budget, p_sham, p_destroy)
        exact = exact_pmf(*budget, p_sham, p_destroy)
        numerators, denominator = law.lattice()
        assert [Fraction(int(n), denominator) for n in numerators] == list(exact)
        assert law.support().tolist() == [float(s) for s in exact]
        assert all(map(close, law.pmf(), exact.values()))

    @pytest.mark.parametrize("budget", [(40, 40), (33, 12)])
    @pytest.mark.parametrize("p_sham", [0.0, 0.03, 0.9999])
    def test_pmf_of_many_replays(self, budget, p_sham):
        exact = exact_pmf(*budget, p_sham, 0.375)
        assert all(map(close, make(*budget, p_sham, 0.375).pmf(), exact.values()))

    @given(small_budgets, probabilities, probabilities, st.fractions(-1, 1, max_denominator=90))
    @example((3, 3), 0.25, 0.375, Fraction(-1, 3))
    @example((2, 3), 0.25, 0.375, Fraction(1, 6))
    def test_cdf(self, budget, p_sham, p_destroy, theta):
        law = make(*budget, p_sham, p_destroy)
        assert close(law.cdf(theta), exact_cdf(*budget, p_sham, p_destroy, theta))
        assert law.cdf(str(theta)) == law.cdf(theta)

    @given(budgets, probabilities, probabilities)
    def test_mean_and_variance(self, budget, p_sham, p_destroy):
        law = make(*budget, p_sham, p_destroy)
        a, b = Fraction(p_sham), Fraction(p_destroy)
        assert close(law.mean(), b - a)
        assert close(law.var(), a * (1 - a) / budget[0] + b * (1 - b) / budget[1])

    @given(small_budgets, st.floats(0, 1, allow_subnormal=False), st.floats(0, 1))
    @example((1, 1), 0.0, 1.0)
    @example((6, 3), 1e-300, 0.5)
    def test_gradient(self, budget, p_sham, p_destroy):
        gradient = make(*budget, p_sham, p_destroy).signs_gradient()
        exact = exact_gradient(*budget, p_sham, p_destroy)
        for arm in (0, 1):
            assert close(gradient[arm].negative, exact[arm][0])
            assert close(gradient[arm].positive, exact[arm][2])
            # The slope of the ties is the difference of the other two, and can vanish.
            assert abs(gradient[arm].zero - exact[arm][1]) <= 1e-14 * max(map(abs, exact[arm]))

    def test_gradient_of_many_replays(self):
        gradient = make(35, 34, 0.3, 0.4).signs_gradient()
        exact = exact_gradient(35, 34, 0.3, 0.4)
        assert gradient[0].negative == pytest.approx(float(exact[0][0]), rel=1e-13)
        assert gradient[1].zero == pytest.approx(float(exact[1][1]), rel=1e-13)

    @pytest.mark.parametrize("k", [33, 250, 1000])
    @pytest.mark.parametrize(
        ("p_sham", "p_destroy"),
        [(0.3, 0.31), (0.2, 0.8), (1e-5, 2e-5), (1 - 1e-9, 1 - 3e-9), (1e-300, 0.1), (0.1, 0.999)],
    )
    def test_ties_of_many_replays_agree_with_mpmath(self, k, p_sham, p_destroy):
        with mpmath.workdps(60):
            a, b = mpmath.mpf(p_sham), mpmath.mpf(p_destroy)
            exact = mpmath.fsum(
                mpmath.binomial(k, j) ** 2 * (a * b) ** j * ((1 - a) * (1 - b)) ** (k - j)
                for j in range(k + 1)
            )
            tie = FiniteReplayLaw(p_sham, p_destroy, k).tie()
            assert exact < 1e-300 or abs(tie / exact - 1) < 1e-13

    def test_logpmf_goes_on_below_the_smallest_float(self):
        law = FiniteReplayLaw(1e-300, 1e-200, k=3)
        assert law.pmf()[[0, -1]].tolist() == [0.0, 0.0]
        with mpmath.workdps(30):
            exact = [
                float(mpmath.log(mpmath.mpf(p.numerator)) - mpmath.log(mpmath.mpf(p.denominator)))
                for p in exact_pmf(3, 3, 1e-300, 1e-200).values()
            ]
        assert law.logpmf() == pytest.approx(exact, rel=1e-14)

    def test_logpmf_is_the_logarithm_of_the_pmf(self):
        law = FiniteReplayLaw([0.3, 0.0], 0.9, k_sham=40, k_destroy=35)
        with np.errstate(divide="ignore"):
            expected = np.log(law.pmf())
        assert np.allclose(law.logpmf(), expected, rtol=1e-13, atol=0)
        assert np.isneginf(law.logpmf()[1, 0])


class TestProperties:
    @given(st.integers(1, 40), probabilities, probabilities)
    @settings(max_examples=50)
    def test_signs_from_ties(self, k, p_sham, p_destroy):
        # METHODS, "Signs from ties": E sgn = (p_destroy − p_sham) Σ_{j<k} t_j, with t_0 = 1.
        signs = FiniteReplayLaw(p_sham, p_destroy, k).signs()
        ties = 1.0 + sum(FiniteReplayLaw(p_sham, p_destroy, j).tie() for j in range(1, k))
        assert signs.positive - signs.negative == pytest.approx(
            (p_destroy - p_sham) * ties, abs=1e-13
        )

    @given(budgets, probabilities, probabilities)
    def test_swapping_the_arms_swaps_the_signs(self, budget, p_sham, p_destroy):
        signs = make(*budget, p_sham, p_destroy).signs()
        swapped = make(*budget[::-1], p_destroy, p_sham).signs()
        assert swapped == (signs.positive, signs.zero, signs.negative)

    @given(probabilities, probabilities)
    @settings(max_examples=25)
    def test_ties_fall_with_k_and_ever_more_slowly(self, p_sham, p_destroy):
        # They are moments of a law on [0, 1]; k = 32 and 33 are computed in different ways.
        ties = FiniteReplayLaw(p_sham, p_destroy, np.arange(28, 38)).tie()
        assert (np.diff(ties) <= 1e-14 * ties[:-1]).all()
        assert (np.diff(ties, n=2) >= -1e-13 * ties[:-2]).all()

    @given(st.integers(1, 60), st.integers(1, 60))
    def test_number_of_possible_scores(self, k_sham, k_destroy):
        g = np.gcd(k_sham, k_destroy)
        points = (k_sham + 1) * (k_destroy + 1) - (k_sham + 1 - k_sham // g) * (
            k_destroy + 1 - k_destroy // g
        )
        numerators, _ = make(k_sham, k_destroy, 0.5, 0.5).lattice()
        assert numerators.size == points

    def test_drawn_scores_follow_the_law(self):
        law = FiniteReplayLaw(0.3, 0.6, k_sham=2, k_destroy=3)
        scores = law.rvs(20_000, rng=5)
        numerators, denominator = law.lattice()
        drawn = np.rint(scores * denominator).astype(int)
        assert np.array_equal(drawn / denominator, scores)
        observed = (drawn[:, None] == numerators).sum(axis=0)
        expected = 20_000 * law.pmf()
        chi_square = ((observed - expected) ** 2 / expected).sum()
        # The upper 1e-3 point of chi-square with 10 degrees of freedom is 29.59.
        assert numerators.size == 11
        assert chi_square < 29.59


class TestShapes:
    def test_questions_of_mixed_budgets(self):
        p_sham, p_destroy = np.array([0.1, 0.5, 0.9, 0.5]), np.array([[0.3], [0.7]])
        k_sham, k_destroy = np.array([3, 10, 3, 40]), 3
        law = FiniteReplayLaw(p_sham, p_destroy, k_sham=k_sham, k_destroy=k_destroy)
        assert law.shape == (2, 4)
        for row in range(2):
            for column in range(4):
                one = FiniteReplayLaw(
                    p_sham[column],
                    p_destroy[row, 0],
                    k_sham=k_sham[column],
                    k_destroy=k_destroy,
                )
                here = (row, column)
                assert law.tie()[here] == one.tie()
                assert [s[here] for s in law.signs()] == list(one.signs())
                assert law.cdf(0.25)[here] == one.cdf(0.25)
                assert law.mean()[here] == one.mean()
                assert law.var()[here] == one.var()
                for whole, single in zip(law.signs_gradient(), one.signs_gradient(), strict=True):
                    assert [s[here] for s in whole] == list(single)

    @pytest.mark.parametrize("k", [1, 3, 6, 7])
    def test_every_one_of_many_questions(self, k, rng):
        # Ties are computed a block of questions at a time: none may fall between two blocks.
        p_sham, p_destroy = rng.random(1300), rng.random(1300)
        tie = FiniteReplayLaw(p_sham, p_destroy, k).tie()
        for i in (0, 1, 510, 511, 512, 513, 1023, 1024, 1298, 1299):
            assert close(tie[i], exact_signs(k, k, p_sham[i], p_destroy[i])[1])
        assert tie == pytest.approx(FiniteReplayLaw(p_destroy[::-1], p_sham[::-1], k).tie()[::-1])

    def test_no_questions(self):
        law = FiniteReplayLaw([], [], k=[])
        assert law.tie().shape == law.mean().shape == (0,)
        assert FiniteReplayLaw([], [], k=3).pmf().shape == (0, 7)

    def test_one_question_gives_plain_floats(self):
        law = FiniteReplayLaw(0.2, 0.4, k=np.int64(3))
        values = [law.tie(), law.negative(), law.mean(), law.var(), law.cdf(0), law.rvs(rng=1)]
        assert {type(v) for v in values} == {float}

    def test_the_last_axis_of_the_pmf_is_the_lattice(self):
        pmf = FiniteReplayLaw([[0.2], [0.3]], [0.4, 0.5, 0.6], k=2).pmf()
        assert pmf.shape == (2, 3, 5)
        assert np.array_equal(pmf[1, 2], FiniteReplayLaw(0.3, 0.6, k=2).pmf())

    def test_draws_broadcast_and_repeat_with_the_seed(self):
        law = FiniteReplayLaw([0.2, 1.0], 1.0, k=4)
        assert law.rvs(rng=3).shape == (2,)
        scores = law.rvs((500, 2), rng=3)
        assert np.array_equal(scores, law.rvs((500, 2), rng=np.random.default_rng(3)))
        assert (scores[:, 1] == 0).all()
        assert scores[:, 0].mean() == pytest.approx(0.8, abs=0.05)

    def test_the_law_keeps_its_own_parameters(self):
        p_sham = np.array([0.2, 0.3])
        law = FiniteReplayLaw(p_sham, 0.5, k=3)
        before = law.tie().copy()
        p_sham[:] = 1.0
        assert np.array_equal(law.tie(), before)
        with pytest.raises(ValueError, match="read-only"):
            law.p_sham[0] = 1.0

    def test_text(self):
        one = FiniteReplayLaw(0.25, 0.5, k_sham=3, k_destroy=5)
        assert repr(one) == "FiniteReplayLaw(p_sham=0.25, p_destroy=0.5, k_sham=3, k_destroy=5)"
        assert repr(FiniteReplayLaw([0.25], 0.5, k=3)) == "<FiniteReplayLaw of shape (1,)>"


class TestThresholds:
    def test_a_float_means_the_score_that_it_rounds_to(self):
        # 3/10 as a float is a little less than 3/10, and means that score all the same.
        law = FiniteReplayLaw(0.4, 0.5, k=10)
        assert Fraction(0.3) < Fraction(3, 10)
        assert law.cdf(0.3) == law.cdf(np.float32(0.3)) == law.cdf("3/10")
        assert law.cdf(np.nextafter(0.3, 0)) == law.cdf("2/10") < law.cdf("3/10")

    @pytest.mark.parametrize("k", [7, 10, 49])
    def test_every_point_of_the_support_includes_itself(self, k):
        law = FiniteReplayLaw(0.4, 0.5, k=k)
        cumulative = np.cumsum(law.pmf())
        assert np.allclose([law.cdf(s) for s in law.support()], cumulative, rtol=1e-13)

    @pytest.mark.parametrize(
        ("theta", "probability"), [(-float("inf"), 0.0), (-1.01, 0.0), (1, 1.0), ("9", 1.0)]
    )
    def test_outside_the_support(self, theta, probability):
        assert FiniteReplayLaw(0.4, 0.5, k=3).cdf(theta) == pytest.approx(probability, abs=1e-15)

    def test_infinity_is_above_every_score(self):
        assert FiniteReplayLaw(0.4, 0.5, k=1).cdf(np.inf) == 1.0


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (dict(p_sham=0.2, p_destroy=0.2, k=0), "k=0 must be a whole number of at least 1"),
            (dict(p_sham=0.2, p_destroy=0.2, k=2.5), "k=2.5 must be a whole number of at least 1"),
            (
                dict(p_sham=0.2, p_destroy=0.2, k=float("nan")),
                "k=nan must be a whole number of at least 1",
            ),
            (
                dict(p_sham=0.2, p_destroy=0.2, k=[3, 0]),
                "k[1]=0 must be a whole number of at least 1",
            ),
            (
                dict(p_sham=0.2, p_destroy=0.2, k=10**12),
                "k=1000000000000 must be a whole number of at most 2147483647",
            ),
            (
                dict(p_sham=0.2, p_destroy=0.2, k="3"),
                "k='3' must be a whole number of at least 1",
            ),
            (
                dict(p_sham=1.2, p_destroy=0.2, k=3),
                "p_sham=1.2 must be a probability, between 0 and 1",
            ),
            (
                dict(p_sham=0.2, p_destroy=[[0.1, float("nan")]], k=3),
                "p_destroy[0, 1]=nan must be a probability, between 0 and 1",
            ),
            (
                dict(p_sham=[[0.1], [0.1, 0.2]], p_destroy=0.2, k=3),
                "p_sham must be a probability, between 0 and 1, or an array of one shape",
            ),
            (
                dict(p_sham=0.2, p_destroy=0.2, k=3, k_sham=3),
                "k and k_sham or k_destroy together: give k, or the other two",
            ),
            (
                dict(p_sham=0.2, p_destroy=0.2, k_sham=3),
                "replays a question: give k, or both k_sham and k_destroy",
            ),
            (
                dict(p_sham=[0.2, 0.3], p_destroy=[0.1, 0.2, 0.3], k=3),
                "the shapes do not broadcast together: p_sham (2,), p_destroy (3,), k_sham (),"
                " k_destroy ()",
            ),
        ],
    )
    def test_parameters(self, arguments, message):
        with pytest.raises(InputError) as refusal:
            FiniteReplayLaw(**arguments)
        assert str(refusal.value) == message

    @pytest.mark.parametrize("theta", ["a third", float("nan"), "1/0", None])
    def test_thresholds(self, theta):
        with pytest.raises(InputError, match=r"^theta=.* must be a number, such as 0 or '1/3'$"):
            FiniteReplayLaw(0.2, 0.4, k=3).cdf(theta)

    def test_a_lattice_of_several_budgets(self):
        law = FiniteReplayLaw(0.2, 0.4, k=[3, 4])
        for method in (law.lattice, law.support, law.pmf, law.logpmf):
            with pytest.raises(InputError, match="each budget has its own lattice"):
                method()

    def test_draws(self):
        law = FiniteReplayLaw([0.2, 0.4], 0.4, k=3)
        with pytest.raises(InputError, match=r"size=3 does not hold the law's shape \(2,\)"):
            law.rvs(3, rng=1)
        for rng in (None, -1, True, "seed"):
            with pytest.raises(InputError, match=r"must be a numpy.random.Generator or a seed"):
                law.rvs(rng=rng)


def test_scipys_distributions_are_not_imported():
    # They would cost every command more than half a second.
    program = (
        "import sys, carve_stats.law.finite_replay, carve_stats.population.mixing;"
        "sys.exit('scipy.stats' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_no_probability_is_above_one():
    assert FiniteReplayLaw(0.1, 1 / 3, k=32).cdf(1) == 1.0
    assert 1 - 1e-14 < FiniteReplayLaw(1e-12, 1 - 1e-12, k=20).positive() <= 1.0
    p = np.concatenate(
        [np.linspace(0, 1, size(compiled=60, plain=10)), [1e-300, 1e-16, 1 - 2**-53]]
    )
    for k in (1, 2, 3, 7, 20, 32, 40):
        for law in (FiniteReplayLaw(p[:, None], p, k=k),
                    FiniteReplayLaw(p[:, None], p, k_sham=k, k_destroy=k + 1)):  # fmt: skip
            for share in (*law.signs(), law.tie(), law.cdf(0), law.cdf(1)):
                assert share.max() <= 1.0


@pytest.mark.parametrize(
    ("theta", "expected"), [(1e308, 1.0), (1e17, 1.0), (-1e30, 0.0), (1.5, 1.0)]
)
def test_thresholds_far_away_are_answered_at_once(theta, expected):
    assert FiniteReplayLaw(0.3, 0.6, k=3).cdf(theta) == expected
