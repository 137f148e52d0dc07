"""Intervals against published numbers, exact coverage and inversions that are made anew."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import size

from carve_stats._kernels.intervals import score_statistic
from carve_stats.errors import InputError
from carve_stats.law.exact_tests import exact_test
from carve_stats.law.intervals import INTERVALS, interval_table, score_intervals

EXACT = ("agresti-min", "chan-zhang", "santner-snell")
APPROXIMATE = ("miettinen-nurminen", "newcombe", "agresti-caffo")

# Without machine code a table at k = 3 takes half a second.
small = st.integers(1, size(compiled=6, plain=2))
levels = st.sampled_from([0.01, 0.5, 0.8, 0.95, 0.999])
cases = st.one_of(
    st.tuples(st.sampled_from(EXACT), small, small),
    st.tuples(st.sampled_from(APPROXIMATE), st.integers(1, 12), st.integers(1, 12)),
)


def binomial(k, p):
    """b_k(j; p), shape (k + 1, p.size)."""
    p = np.asarray(p, float)
    return np.array([math.comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(k + 1)])


def scores(k_sham, k_destroy):
    """The difference of each table, from whole numbers."""
    x, y = np.indices((k_sham + 1, k_destroy + 1))
    return (y * k_sham - x * k_destroy) / (k_sham * k_destroy)


def statistics(k_sham, k_destroy, delta):
    """Z of every table at one difference; the most likely rates by bisection of the slope."""
    x, y = np.indices((k_sham + 1, k_destroy + 1))
    low = np.full(x.shape, max(0.0, -delta))
    high = np.full(x.shape, min(1.0, 1.0 - delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(60):
            p = (low + high) / 2
            slope = (
                np.where(x > 0, x / p, 0.0)
                - np.where(x < k_sham, (k_sham - x) / (1 - p), 0.0)
                + np.where(y > 0, y / (p + delta), 0.0)
                - np.where(y < k_destroy, (k_destroy - y) / (1 - p - delta), 0.0)
            )
            low, high = np.where(slope > 0, p, low), np.where(slope > 0, high, p)
        p = (low + high) / 2
        variance = p * (1 - p) / k_sham + (p + delta) * (1 - p - delta) / k_destroy
        return (scores(k_sham, k_destroy) - delta) / np.sqrt(variance)


def largest_tail(extreme, delta, points):
    """The largest probability of the tables on a grid of rates that differ by delta."""
    k_sham, k_destroy = np.array(extreme.shape) - 1
    p = np.linspace(max(0.0, -delta), min(1.0, 1.0 - delta), points)
    sham, destroy = binomial(k_sham, p), binomial(k_destroy, np.clip(p + delta, 0, 1))
    return (sham * (extreme.astype(float) @ destroy)).sum(axis=0).max()


def p_value(interval, k_sham, k_destroy, x, y, delta, slack=0.0, points=401):
    """What is compared with 1 − level for the lower limit; at most the exact one."""
    if interval == "santner-snell":
        table = scores(k_sham, k_destroy)
        return 2 * largest_tail(table > table[x, y] - 1e-9, delta, points)
    z = statistics(k_sham, k_destroy, delta)
    if interval == "chan-zhang":
        return 2 * largest_tail(z >= z[x, y] - slack, delta, points)
    return largest_tail(np.abs(z) >= np.abs(z[x, y]) - slack, delta, points)


def coverage(table, p_sham, p_destroy, delta):
    """P(low <= delta <= high), for rates of one shape."""
    k_sham, k_destroy = np.array(table.low.shape) - 1
    sham, destroy = binomial(k_sham, p_sham), binomial(k_destroy, p_destroy)
    total = np.zeros(np.shape(p_sham))
    for x in range(k_sham + 1):
        for y in range(k_destroy + 1):
            inside = (table.low[x, y] <= delta) & (delta <= table.high[x, y])
            total += sham[x] * destroy[y] * inside
    return total


def grid_coverage(interval, k_sham, k_destroy, level, points):
    at = np.arange(points)
    difference = (at - at[:, None]) / (points - 1)
    p_sham, p_destroy = np.broadcast_arrays(at[:, None] / (points - 1), at / (points - 1))
    table = interval_table(k_sham, k_destroy, interval=interval, level=level)
    return coverage(table, p_sham, p_destroy, difference)


class TestReferenceValues:
    """The project's METHODS, and statsmodels 0.15.0 `confint_proportions_2indep`, by hand."""

    def test_miettinen_nurminen(self):
        limits = score_intervals(0, 20, 0, 10, interval="miettinen-nurminen")
        assert limits == pytest.approx((-0.1657602275, 0.2843813395), abs=5e-11)

    @pytest.mark.parametrize(
        ("table", "level", "newcombe", "agresti_caffo"),
        [
            # The first is METHODS' too, with 63/93 against 38/92.
            ((38, 92, 63, 93), 0.95, (0.1211604416, 0.3928557330), (0.1216412794, 0.3959399076)),
            ((2, 12, 7, 10), 0.95, (0.1196797314, 0.7597679858), (0.1098368991, 0.7949250057)),
            ((1, 3, 3, 3), 0.95, (-0.0585687456, 0.9385080553), (-0.1543615297, 0.9543615297)),
            # Limits of Agresti and Caffo's end at 1, which statsmodels leaves to its users.
            ((0, 4, 5, 6), 0.95, (0.2028795555, 0.9699466303), (0.1603004162, 1.0)),
            ((12, 15, 7, 15), 0.95, (-0.5874002864, 0.0092021959), (-0.6054939455, 0.0172586514)),
            ((12, 15, 7, 15), 0.8, (-0.5162293339, -0.1079407012), None),
        ],
    )
    def test_newcombe_and_agresti_caffo(self, table, level, newcombe, agresti_caffo):
        limits = score_intervals(*table, interval="newcombe", level=level)
        assert limits == pytest.approx(newcombe, abs=1e-10)
        if agresti_caffo:
            limits = score_intervals(*table, interval="agresti-caffo", level=level)
            assert limits == pytest.approx(agresti_caffo, abs=1e-10)

    @pytest.mark.parametrize(
        ("x", "y", "limits"), [(0, 3, (0.081484, 1.0)), (0, 1, (-0.554444, 0.913456))]
    )
    def test_santner_snell(self, x, y, limits):
        table = interval_table(3, 3, interval="santner-snell")
        assert (table.low[x, y], table.high[x, y]) == pytest.approx(limits, abs=1e-6)

    def test_mean_lengths_of_the_exact_intervals(self):
        lengths = {}
        for interval in EXACT:
            low, high = interval_table(3, 3, interval=interval)
            lengths[interval] = np.mean(high - low)
        assert lengths["agresti-min"] == pytest.approx(1.195, abs=5e-4)
        assert lengths["chan-zhang"] >= 1.325
        assert lengths["santner-snell"] >= lengths["chan-zhang"]


class TestCoverage:
    @pytest.mark.parametrize("interval", EXACT)
    def test_exact_intervals_hold_the_level(self, interval):
        covered = grid_coverage(interval, 3, 3, 0.95, 401)
        assert covered.min() >= 0.95

    @pytest.mark.parametrize("interval", EXACT)
    @pytest.mark.parametrize(("k_sham", "k_destroy"), [(1, 4), (2, 3)])
    @pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
    def test_with_unequal_budgets(self, interval, k_sham, k_destroy, level):
        assert grid_coverage(interval, k_sham, k_destroy, level, 101).min() >= level

    @pytest.mark.parametrize(
        ("interval", "least"), [("miettinen-nurminen", 0.847), ("newcombe", 0.827)]
    )
    def test_infimum_of_the_approximate_ones(self, interval, least):
        # Coverage falls where delta steps out of an interval: look just outside every limit.
        table = interval_table(3, 3, interval=interval)
        limits = np.unique(np.concatenate([table.low.ravel() - 1e-9, table.high.ravel() + 1e-9]))
        infimum = 1.0
        for delta in limits[np.abs(limits) < 1]:
            p = np.linspace(max(0.0, -delta), min(1.0, 1.0 - delta), 4001)
            covered = coverage(table, p, np.clip(p + delta, 0, 1), delta)
            infimum = min(infimum, covered.min())
        assert infimum == pytest.approx(least, abs=5e-4)


class TestInversion:
    @pytest.mark.parametrize(
        ("interval", "table", "level"),
        [
            ("agresti-min", (0, 3, 3, 3), 0.95),
            ("agresti-min", (1, 3, 1, 3), 0.95),
            ("agresti-min", (0, 2, 3, 4), 0.8),
            ("chan-zhang", (1, 3, 3, 3), 0.95),
            ("chan-zhang", (2, 4, 1, 2), 0.8),
            ("santner-snell", (0, 3, 1, 3), 0.95),
            ("santner-snell", (1, 2, 3, 3), 0.9),
        ],
    )
    def test_a_scan_of_differences_finds_the_same_limit(self, interval, table, level):
        x, k_sham, y, k_destroy = table
        low = score_intervals(*table, interval=interval, level=level).low

        def p(delta, slack, points=401):
            return p_value(interval, k_sham, k_destroy, x, y, delta, slack, points)

        # Nothing below the limit may be possible, and something just above it must be.
        below = low - np.concatenate([[1e-9, 1e-6], np.linspace(1e-4, low + 0.9999, 60)])
        assert max(p(delta, -1e-9) for delta in below) <= 1 - level
        assert p(low + 1e-6, 1e-9, points=20_001) > 1 - level

    def test_a_limit_where_the_order_changes(self):
        # There 1/7 against 10/10 becomes as extreme as 0/7 against 9/10.
        low = score_intervals(0, 7, 9, 10, interval="chan-zhang", level=0.99).low
        assert p_value("chan-zhang", 7, 10, 0, 9, low - 1e-10) < 0.01
        assert p_value("chan-zhang", 7, 10, 0, 9, low + 1e-10) > 0.01

    def test_miettinen_nurminen_solves_its_equation(self):
        low, high = interval_table(4, 7, interval="miettinen-nurminen", level=0.9)
        for x, y in np.ndindex(low.shape):
            for limit, z in ((low[x, y], 1.6448536269514722), (high[x, y], -1.6448536269514722)):
                if abs(limit) < 1.0:
                    solved = statistics(4, 7, limit)[x, y] * math.sqrt(10 / 11)
                    assert solved == pytest.approx(z, abs=1e-11)
        assert (low == -1).sum() == (high == 1).sum() == 1

    def test_a_difference_beyond_a_gap_stays_in_the_interval(self):
        # 0/1 against 8/9: the test rejects 0, but not all of the negative differences.
        limits = score_intervals(0, 1, 8, 9, level=0.9)
        assert exact_test(1, 9).p_values[0, 8] < 0.1
        assert limits.low < 0 < limits.high
        assert p_value("agresti-min", 1, 9, 0, 8, limits.low + 1e-4) > 0.1
        assert p_value("agresti-min", 1, 9, 0, 8, 0.01, -1e-9) < 0.1


class TestScoreStatistic:
    def test_it_falls_in_the_difference(self):
        # Seen on a grid of 513 differences too, which is too slow to repeat without machine code.
        differences = np.linspace(-1, 1, 17)
        for m in range(1, 13):
            for n in range(m, 13):
                for x, y in np.ndindex(m + 1, n + 1):
                    z = [score_statistic(x, m, y, n, delta) for delta in differences]
                    assert all(a >= b for a, b in pairwise(z))

    @given(st.integers(1, 12), st.integers(1, 12), st.floats(-0.999, 0.999, allow_subnormal=False))
    def test_against_bisection(self, m, n, delta):
        expected = statistics(m, n, delta)
        for x, y in np.ndindex(m + 1, n + 1):
            if abs(delta) > 1e-12 or 0 < x + y < m + n:  # else bisection ends too far from 0
                z = score_statistic(x, m, y, n, delta)
                assert z == pytest.approx(expected[x, y], rel=1e-9, abs=1e-9)

    @given(st.integers(1, 30), st.integers(1, 30), st.floats(-1, 1), st.data())
    def test_exchanges_turn_its_sign(self, m, n, delta, data):
        x, y = data.draw(st.integers(0, m)), data.draw(st.integers(0, n))
        z = score_statistic(x, m, y, n, delta)
        assert score_statistic(y, n, x, m, -delta) == -z
        assert score_statistic(m - x, m, n - y, n, -delta) == -z

    def test_without_variance(self):
        assert score_statistic(0, 3, 0, 5, 0.0) == 0.0
        assert score_statistic(3, 3, 0, 5, -1.0) == 0.0
        assert score_statistic(2, 3, 0, 5, -1.0) == math.inf
        assert score_statistic(0, 3, 4, 5, 1.0) == -math.inf


class TestSymmetries:
    @given(cases, levels)
    def test_exchanging_the_arms_turns_the_interval_round(self, case, level):
        interval, m, n = case
        one = interval_table(m, n, interval=interval, level=level)
        other = interval_table(n, m, interval=interval, level=level)
        assert np.array_equal(one.low, -other.high.T)
        assert np.array_equal(one.high, -other.low.T)

    @given(cases, levels)
    def test_exchanging_flips_with_the_rest_turns_the_interval_round(self, case, level):
        interval, m, n = case
        low, high = interval_table(m, n, interval=interval, level=level)
        assert np.array_equal(low, -high[::-1, ::-1])

    @given(cases)
    def test_equal_differences_have_equal_santner_snell_intervals(self, case):
        _, m, n = case
        m, n = min(m, 4), min(n, 4)
        low, high = interval_table(m, n, interval="santner-snell")
        x, y = np.indices(low.shape)
        numerators = y * m - x * n
        for numerator in np.unique(numerators):
            assert np.ptp(low[numerators == numerator]) == 0.0
            assert np.ptp(high[numerators == numerator]) == 0.0


class TestOrder:
    @given(cases, levels)
    def test_limits_hold_the_score_and_stay_in_range(self, case, level):
        interval, m, n = case
        low, high = interval_table(m, n, interval=interval, level=level)
        assert np.isfinite(low).all()
        assert (low >= -1).all()
        assert (high <= 1).all()
        if interval != "agresti-caffo":  # whose centre is shrunk
            assert (low <= scores(m, n)).all()
            assert (high >= scores(m, n)).all()
            assert (low[m, 0], high[0, n]) == (-1.0, 1.0)

    @given(cases, levels, levels)
    def test_a_higher_level_holds_a_lower_one(self, case, one, other):
        interval, m, n = case
        narrow = interval_table(m, n, interval=interval, level=min(one, other))
        wide = interval_table(m, n, interval=interval, level=max(one, other))
        tolerance = 1e-10 if interval in EXACT else 1e-15
        assert (wide.low <= narrow.low + tolerance).all()
        assert (wide.high >= narrow.high - tolerance).all()


class TestAgreementWithTheTests:
    TESTS = (("agresti-min", "statistic"), ("chan-zhang", "doubling"))

    @pytest.mark.parametrize(("interval", "two_sided"), TESTS)
    @given(k=small, level=levels | st.sampled_from([1 - 2.0**-n for n in range(1, 9)]))
    def test_zero_is_outside_exactly_when_the_test_rejects(self, interval, two_sided, k, level):
        low, high = interval_table(k, k, interval=interval, level=level)
        error = float(f"{1 - level:.12g}")
        rejects = exact_test(k, k, two_sided=two_sided).rejects(error)
        assert np.array_equal((low > 0) | (high < 0), rejects)

    @pytest.mark.parametrize(("interval", "two_sided"), TESTS)
    @given(m=small, n=small, level=levels)
    def test_zero_is_outside_only_when_the_test_rejects(self, interval, two_sided, m, n, level):
        low, high = interval_table(m, n, interval=interval, level=level)
        rejects = exact_test(m, n, two_sided=two_sided).rejects(float(f"{1 - level:.12g}"))
        assert not (((low > 0) | (high < 0)) & ~rejects).any()

    def test_a_limit_that_falls_on_zero(self):
        # The p-value of 0/3 against 3/3 is exactly 1/32: rejected at 1/32, and not below.
        assert score_intervals(0, 3, 3, 3, level=1 - 1 / 32).low == np.nextafter(0.0, 1.0)
        assert score_intervals(3, 3, 0, 3, level=1 - 1 / 32).high == np.nextafter(0.0, -1.0)
        limits = score_intervals(0, 3, 3, 3, level=1 - 1 / 33)
        assert -1e-2 < limits.low <= 0


class TestGathering:
    @given(st.data())
    def test_mixed_budgets(self, data):
        interval = data.draw(st.sampled_from(INTERVALS))
        budget = st.integers(0, size(compiled=4, plain=2))
        rows = data.draw(st.lists(st.tuples(budget, budget), max_size=30))
        k_sham, k_destroy = (np.array([row[i] for row in rows], int) for i in range(2))
        x = np.array([data.draw(st.integers(0, k)) for k in k_sham], int)
        y = np.array([data.draw(st.integers(0, k)) for k in k_destroy], int)
        low, high = score_intervals(x, k_sham, y, k_destroy, interval=interval)
        assert low.shape == high.shape == (len(rows),)
        for i, (m, n) in enumerate(rows):
            table = interval_table(m, n, interval=interval)
            assert (low[i], high[i]) == (table.low[x[i], y[i]], table.high[x[i], y[i]])

    def test_shapes(self):
        low, high = score_intervals([[0], [1]], 3, [0, 2, 3], 3)
        assert low.shape == high.shape == (2, 3)
        limits = score_intervals(0, 3, 3, 3)
        assert isinstance(limits.low, float)
        assert limits == (low[0, 2], high[0, 2])

    def test_large_budgets_need_no_table(self):
        for interval in APPROXIMATE:
            low, high = score_intervals(500_000, 10**6, 510_000, 10**6, interval=interval)
            normal = 1.959963984540054 * math.sqrt((0.25 + 0.51 * 0.49) / 10**6)
            assert (low, high) == pytest.approx((0.01 - normal, 0.01 + normal), abs=1e-7)

    @pytest.mark.parametrize("interval", INTERVALS)
    def test_an_arm_without_replays(self, interval):
        assert score_intervals(0, 0, 2, 3, interval=interval) == (-1.0, 1.0)
        low, high = interval_table(2, 0, interval=interval)
        assert low.shape == high.shape == (3, 1)
        assert (low == -1).all()
        assert (high == 1).all()

    def test_tables_are_kept_and_read_only(self):
        table = interval_table(2, 3)
        assert interval_table(np.int64(2), 3.0, interval="agresti-min", level=0.95) is table
        for limit in table:
            with pytest.raises(ValueError, match="read-only"):
                limit[0, 0] = 0.0


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            (
                (3, 3),
                {"interval": "agresti"},
                r"unknown interval 'agresti': .*did you mean 'agresti-",
            ),
            ((3, 3), {"interval": None}, "unknown interval None"),
            (
                (3, 3),
                {"level": 1.0},
                "level=1.0 must lie between 0 and 1, by more",
            ),
            ((3, 3), {"level": 0.0}, "level=0.0 must lie"),
            ((3, 3), {"level": 95}, "level=95 must lie"),
            ((3, 3), {"level": math.nan}, "level=nan must lie"),
            ((3, 3), {"level": "0.95"}, "level='0.95' must be a number"),
            ((3, 3), {"level": [0.9, 0.95]}, "level is an array"),
            ((-1, 3), {}, "k_sham=-1 must be a whole number of at least 0"),
            ((3, 2.5), {}, "k_destroy=2.5 must be a whole number"),
            ((3, [3, 4]), {}, "k_destroy is an array"),
        ],
    )
    def test_tables(self, arguments, options, message):
        with pytest.raises(InputError, match=message) as refusal:
            interval_table(*arguments, **options)
        assert "\n" not in str(refusal.value)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            (([1, 4], 3, 1, 3), r"sham_flips=4 of question 1 must not exceed sham_replays=3"),
            ((0, 3, [0, 1, 2], [3, 3, 1]), r"destroy_flips=2 of question 2 must not exceed"),
            (([0, -1], 3, 1, 3), r"sham_flips\[1\]=-1 must be a whole number of at least 0"),
            (([0, 1], 3, [0, 1, 2], 3), r"shapes do not broadcast together: sham_flips \(2,\)"),
            (("a", 3, 1, 3), "sham_flips='a' must be a whole number"),
            ((0, 3, math.nan, 3), "destroy_flips=nan must be a whole number"),
        ],
    )
    def test_questions(self, columns, message):
        with pytest.raises(InputError, match=message) as refusal:
            score_intervals(*columns)
        assert "\n" not in str(refusal.value)


def test_exact_intervals_for_very_many_replays_are_refused_at_once():
    for call in (lambda: interval_table(150, 60), lambda: score_intervals(3, 150, 2, 60)):
        with pytest.raises(
            InputError, match=r"k_sham=150 and k_destroy=60: .*'miettinen-nurminen'"
        ):
            call()
    assert score_intervals(3, 150, 2, 60, interval="miettinen-nurminen").low < 2 / 60 - 3 / 150


@pytest.mark.parametrize("interval", INTERVALS)
def test_the_tables_that_are_kept_cannot_be_written_to(interval):
    for limit in interval_table(2, 3, interval=interval):
        with pytest.raises(ValueError, match="WRITEABLE"):
            limit.flags.writeable = True
