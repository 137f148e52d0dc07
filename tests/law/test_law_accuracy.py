"""How many digits of the law are right: random and extreme rates, up to 100,000 replays."""

from fractions import Fraction

import law_oracles
import mpmath
import numpy as np
import pytest
from oracles import relative_error
from oracles import score_pmf as exact_pmf

from carve_stats.law.finite_replay import FiniteReplayLaw


def some_rate(rng, k):
    """A rate from the middle, from near 0, from near 1, or of a few flips in all."""
    kind = rng.integers(4)
    if kind == 0:
        return float(rng.random())
    if kind == 1:
        return float(10.0 ** -rng.uniform(0, 8))
    if kind == 2:
        return float(1 - 10.0 ** -rng.uniform(0, 8))
    return float(min(rng.exponential(3) / k, 0.999))


def near(rate, rng, k):
    return float(np.clip(rate + rng.normal() * 0.5 / np.sqrt(k), 1e-9, 1 - 1e-9))


class TestTie:
    @pytest.mark.parametrize("k", [2, 10, 11, 33, 100, 128, 129, 1000, 5000])
    def test_to_fourteen_digits_down_to_e_to_the_minus_ten(self, k, rng):
        tried = 0
        for _ in range(40):
            p = some_rate(rng, k)
            u = near(p, rng, k) if rng.random() < 0.7 else some_rate(rng, k)
            exact = law_oracles.tie(k, Fraction(p), Fraction(u))
            if mpmath.log(exact) > -10:
                tried += 1
                for law in (FiniteReplayLaw(p, u, k), FiniteReplayLaw(q_sham=p, q_destroy=u, k=k)):
                    assert abs(law.tie() / exact - 1) <= 1e-14, (p, u)
        assert tried >= 10

    @pytest.mark.parametrize(("p", "u"), [(0.3, 0.302), (1e-5, 3e-5), (0.999, 0.9991)])
    def test_a_hundred_thousand_replays(self, p, u):
        exact = law_oracles.tie(100_000, Fraction(p), Fraction(u))
        assert abs(FiniteReplayLaw(p, u, 100_000).tie() / exact - 1) <= 1e-14


class TestPmf:
    @pytest.mark.parametrize(
        ("k", "p", "u", "tolerance"),
        [
            (17, 0.3, 0.2, 1e-13),
            (100, 0.01, 0.99, 1e-13),
            (300, 1e-300, 0.4, 1e-13),
            (1000, 0.3, 0.35, 1e-13),
            (1000, 0.1, 0.9, 1e-13),
            (1000, 1e-5, 2e-5, 1e-13),
            (1000, 1 / 3, 1 - 1e-12, 1e-13),
            (100_000, 0.3, 0.302, 1e-12),
            (100_000, 0.1, 0.9, 1e-12),
            (100_000, 1e-6, 0.3, 1e-12),
        ],
    )
    def test_entries_from_the_mode_to_the_far_tails(self, k, p, u, tolerance):
        law = FiniteReplayLaw(p, u, k)
        pmf, logpmf = law.pmf(), law.logpmf()
        assert pmf.sum() == pytest.approx(1, abs=1e-13)
        everywhere = np.linspace(0, 2 * k, 25 if k <= 1000 else 7).astype(int)
        around_the_mode = int(pmf.argmax()) + np.arange(-10, 11, 4) * max(1, int(k**0.5 / 4))
        compared = 0
        for place in np.unique(np.clip([*everywhere, *around_the_mode], 0, 2 * k)):
            exact = law_oracles.log_difference(k, Fraction(p), Fraction(u), int(place) - k)
            # A double near a large logarithm cannot say more than half a unit in its last place.
            assert abs(logpmf[place] - exact) <= 1e-12 + abs(exact) * 2.0**-52
            if exact > -700:
                assert abs(pmf[place] / mpmath.exp(exact) - 1) <= tolerance
                compared += 1
        assert compared >= 4

    @pytest.mark.parametrize("budget", [(6, 4), (40, 8), (33, 12), (1, 50)])
    def test_unequal_budgets(self, budget, rng):
        for _ in range(4):
            p, u = some_rate(rng, 20), some_rate(rng, 20)
            law = FiniteReplayLaw(p, u, k_sham=budget[0], k_destroy=budget[1])
            exact = exact_pmf(*budget, p, u)
            for value, log, share in zip(law.pmf(), law.logpmf(), exact.values(), strict=True):
                assert abs(log - law_oracles.logarithm(share)) <= 1e-12
                if share > Fraction(1, 10**290):
                    assert relative_error(value, share) <= 1e-13

    @pytest.mark.parametrize(
        ("p", "u", "support"),
        [(0, 0.3, range(5)), (1, 0.3, range(-4, 1)), (0.3, 0, range(-4, 1)), (0.3, 1, range(5)),
         (0, 1, [4]), (1, 0, [-4]), (0, 0, [0]), (1, 1, [0])],
    )  # fmt: skip
    def test_certain_arms(self, p, u, support):
        pmf = FiniteReplayLaw(p, u, 4).pmf()
        for d, value, share in zip(range(-4, 5), pmf, exact_pmf(4, 4, p, u).values(), strict=True):
            assert (value > 0) == (d in support)
            assert relative_error(value, share) <= 1e-15

    @pytest.mark.parametrize(
        ("p", "u"), [(1e-300, 1e-200), (1e-300, 1 - 2**-53), (2.0**-1022, 0.5), (1e-170, 1e-170)]
    )
    def test_rates_whose_products_are_no_floats(self, p, u):
        law = FiniteReplayLaw(p, u, 12)
        for log, share in zip(law.logpmf(), exact_pmf(12, 12, p, u).values(), strict=True):
            exact = law_oracles.logarithm(share)
            assert abs(log - exact) <= 1e-12 + abs(exact) * 2.0**-52

    @pytest.mark.parametrize(
        ("k", "p", "u"), [(129, 0.2, 0.98), (1000, 0.7, 0.2), (10_000, 0.5, 0.9), (40, 0.3, 1e-9)]
    )
    def test_no_entry_is_lost_that_a_float_can_hold(self, k, p, u):
        law = FiniteReplayLaw(p, u, k)
        pmf, logpmf = law.pmf(), law.logpmf()
        assert (pmf[logpmf > -744] > 0).all()
        normal = logpmf > -700
        assert np.log(pmf[normal]) == pytest.approx(logpmf[normal], abs=1e-11)

    @pytest.mark.parametrize(
        ("k", "p", "u", "place"),
        [(1000, 0.9357926558382951, 5.3241092193996096e-12, 2000), (124, 1e-300, 3e-299, 36)],
    )
    def test_logarithms_to_half_a_unit_in_the_last_place(self, k, p, u, place):
        exact = law_oracles.log_difference(k, Fraction(p), Fraction(u), place - k)
        log = FiniteReplayLaw(p, u, k).logpmf()[place]
        assert abs(log - exact) <= 0.55 * np.spacing(abs(log))

    # With 2**-129 the three parts of a ratio need another power of two each to be held.
    @pytest.mark.parametrize(("p", "v"), [(1e-300, 3e-300), (2.0**-129, 2.0**-129)])
    def test_almost_certain_to_differ_everywhere(self, p, v):
        law = FiniteReplayLaw(p_sham=p, q_destroy=v, k=12)
        exact = exact_pmf(12, 12, p, 1 - Fraction(v))
        for log, share in zip(law.logpmf(), exact.values(), strict=True):
            log_share = law_oracles.logarithm(share)
            assert abs(log - log_share) <= 1e-12 + abs(log_share) * 2.0**-52

    @pytest.mark.parametrize("k", [10, 100, 200])
    def test_ties_of_certain_arms(self, k):
        law = FiniteReplayLaw([0, 0, 1, 1, 0], [0, 1, 0, 1, 2**-10], k)
        assert law.tie().tolist() == [1, 0, 0, 1, pytest.approx((1 - 2**-10) ** k, rel=1e-14)]


class TestRatesNearOne:
    """A p that a float cannot tell from 1 is given as q, or as a logit."""

    @pytest.mark.parametrize("k", [3, 20, 40, 130])
    @pytest.mark.parametrize(("q", "v"), [(1e-20, 3e-20), (1e-300, 0.25), (0.75, 1e-18)])
    def test_complements(self, k, q, v):
        law = FiniteReplayLaw(q_sham=q, q_destroy=v, k=k)
        mirror = FiniteReplayLaw(p_sham=q, p_destroy=v, k=k)  # flips for non-flips
        negative, zero, positive = law.signs()
        for share, other in zip((positive, zero, negative), mirror.signs(), strict=True):
            assert share == pytest.approx(other, rel=1e-13)
        assert law.pmf()[::-1] == pytest.approx(mirror.pmf(), rel=1e-13)
        assert law.mean() == -mirror.mean()
        assert law.var() == mirror.var()
        assert law.cdf(0) == pytest.approx(mirror.sf(0) + mirror.tie(), rel=1e-13)
        by_sham, by_destroy = law.signs_gradient()
        other_sham, other_destroy = mirror.signs_gradient()
        assert by_sham.positive == pytest.approx(-other_sham.negative, rel=1e-12)
        assert by_destroy.zero == pytest.approx(-other_destroy.zero, rel=1e-12)

    def test_one_arm_by_p_and_the_other_by_q(self):
        law = FiniteReplayLaw(p_sham=0.25, q_destroy=[1e-30, 0.625], k=3)
        assert law.signs().negative[1] == 3505 / 16384
        # With a destroy replay that always flips a score is below 0 only if it did not: 3 v sham.
        assert law.signs().negative[0] == pytest.approx(3e-30 * 0.25**3, rel=1e-14)
        assert law.p_destroy.tolist() == [1.0, 0.375]
        assert law.q_destroy.tolist() == [1e-30, 0.625]

    def test_a_complement_says_the_same_as_its_probability(self):
        by_p = FiniteReplayLaw(0.7, 0.6, k_sham=5, k_destroy=4)
        by_q = FiniteReplayLaw(q_sham=1 - 0.7, q_destroy=1 - 0.6, k_sham=5, k_destroy=4)
        assert by_p.signs() == by_q.signs()

    @pytest.mark.parametrize("logit", [-800.0, -50.0, -2.0, 0.0, 0.3, 40.0, 700.0])
    def test_logits(self, logit):
        law = FiniteReplayLaw(logit_sham=logit, p_destroy=0.5, k=2)
        p = law_oracles.expit(logit)
        assert relative_error(law.p_sham, p) <= 3e-16 or p < Fraction(1, 10**307)
        q = law_oracles.expit(-logit)
        assert relative_error(law.q_sham, q) <= 3e-16 or q < Fraction(1, 10**307)

    def test_infinite_logits(self):
        law = FiniteReplayLaw(logit_sham=-np.inf, logit_destroy=np.inf, k=2)
        assert law.signs() == (0.0, 0.0, 1.0)
