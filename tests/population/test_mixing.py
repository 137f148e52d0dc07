"""Populations against the project's reference values, the exact law and enumeration."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import score_pmf as exact_pmf

from carve_stats.errors import InputError
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.population.mixing import Population

# METHODS, population B: negative, zero and positive shares.
PAPER_SIGNS = {
    1: (0.08164, 0.53860, 0.37976),
    3: (0.13042, 0.29219, 0.57739),
    5: (0.14832, 0.20566, 0.64601),
    10: (0.16548, 0.12417, 0.71036),
    20: (0.17625, 0.07487, 0.74888),
}

populations = st.integers(1, 5).flatmap(
    lambda m: st.tuples(
        st.lists(st.floats(0, 1), min_size=m, max_size=m),
        st.lists(st.floats(0, 1), min_size=m, max_size=m),
        st.lists(st.floats(0.01, 1), min_size=m, max_size=m),
    )
)


def scores(counts):
    return np.sign(counts.score_numerator)


class TestPaper:
    @pytest.mark.parametrize("k", PAPER_SIGNS)
    def test_signs(self, k):
        assert Population.paper().signs(k) == pytest.approx(PAPER_SIGNS[k], abs=2e-5)

    def test_reliability_is_that_of_the_published_runs(self):
        # Table A1: Pearson r .586, .548 and .547 between runs at k = 3.
        assert Population.paper().reliability(3) == pytest.approx(0.560, abs=0.001)

    @pytest.mark.parametrize(("icc", "clusters"), [(0.0, None), (0.1, 20_000)])
    def test_a_sample_has_the_exact_sign_shares(self, icc, clusters):
        n = 40_000
        drawn = Population.paper().sample(n, 10, clusters=clusters, icc=icc, rng=11)
        sign = scores(drawn)
        for value, share in zip((-1, 0, 1), PAPER_SIGNS[10], strict=True):
            # Three questions a video hardly widen the binomial standard error.
            error = math.sqrt(share * (1 - share) / n)
            assert abs((sign == value).mean() - share) < 4 * error

    def test_every_draw_of_one_video_shares_its_effect(self):
        drawn = Population.paper().draw(50_000, clusters=5_000, icc=0.3, rng=4)
        video = np.unique(drawn.cluster, return_inverse=True)[1]

        def between(values):
            # One-way analysis of variance: the share of the variance that is the videos'.
            sizes = np.bincount(video)
            means = np.bincount(video, values) / sizes
            within = ((values - means[video]) ** 2).sum() / (values.size - sizes.size)
            return 1 - within / values.var()

        # The latents' share is .3; margins, strata and insensitive questions bend it. The tests
        # of the family have the exact figures.
        assert 0.1 < between(drawn.p_sham) < 0.4
        assert 0.1 < between(drawn.p_destroy) < 0.4
        unrelated = Population.paper().draw(50_000, clusters=5_000, rng=4)
        video = np.unique(unrelated.cluster, return_inverse=True)[1]
        assert between(unrelated.p_sham) == pytest.approx(0.0, abs=0.01)

    def test_strata(self):
        drawn = Population.paper().draw(50_000, rng=2)
        names, counts = np.unique(drawn.stratum, return_counts=True)
        shares = dict(zip(names.tolist(), counts / 50_000, strict=True))
        assert shares["uncovered_incorrect"] == pytest.approx(436 / 1249, abs=0.01)
        assert len(shares) == 4
        correct = drawn.p_sham[drawn.stratum == "covered_correct"].mean()
        assert correct == pytest.approx(0.215, abs=0.01)

    def test_a_fifth_is_insensitive(self):
        drawn = Population.paper().draw(50_000, clusters=5_000, icc=0.1, rng=3)
        assert (drawn.p_sham == drawn.p_destroy).mean() == pytest.approx(0.221, abs=0.01)


class TestExactly:
    @given(populations, st.integers(1, 6), st.integers(1, 6))
    @settings(max_examples=40)
    def test_signs_are_the_weighted_law(self, atoms, k_sham, k_destroy):
        p_sham, p_destroy, weights = atoms
        signs = Population(*atoms).signs(k_sham=k_sham, k_destroy=k_destroy)
        expected = {-1: Fraction(0), 0: Fraction(0), 1: Fraction(0)}
        for a, b, w in zip(p_sham, p_destroy, weights, strict=True):
            for score, chance in exact_pmf(k_sham, k_destroy, a, b).items():
                expected[(score > 0) - (score < 0)] += chance * Fraction(w)
        total = sum(map(Fraction, weights))
        assert signs == pytest.approx([float(expected[s] / total) for s in (-1, 0, 1)], abs=1e-14)

    @given(populations, st.integers(1, 5))
    @settings(max_examples=40)
    def test_reliability_is_the_correlation_of_two_runs(self, atoms, k):
        # Both runs share the atom and nothing else: moments by enumeration of their scores.
        p_sham, p_destroy, weights = atoms
        total = sum(map(Fraction, weights))
        first = second = product = Fraction(0)
        for a, b, w in zip(p_sham, p_destroy, weights, strict=True):
            pmf = exact_pmf(k, k, a, b)
            mean = sum(s * chance for s, chance in pmf.items())
            first += Fraction(w) / total * mean
            second += Fraction(w) / total * sum(s * s * chance for s, chance in pmf.items())
            product += Fraction(w) / total * mean * mean
        variance = second - first * first
        reliability = Population(*atoms).reliability(k)
        if variance == 0:
            assert math.isnan(reliability)
        elif variance > 1e-6:
            assert reliability == pytest.approx(
                float((product - first * first) / variance), abs=1e-8
            )

    def test_spearman_and_brown(self):
        # METHODS: r_3 = .560 gives r_10 = .809; r >= .9 needs k = 22. The atoms have r_3 = .56:
        # Var Δ = d², E pq = ½ with all four probabilities equal to ½ ± d/2.
        d2 = 0.56 * 0.5 / 3 / (1 - 0.56 + 0.56 / 6)
        d = math.sqrt(d2)
        population = Population([0.5 + d / 2, 0.5 - d / 2], [0.5 - d / 2, 0.5 + d / 2])
        assert population.reliability(3) == pytest.approx(0.560, abs=1e-12)
        assert population.reliability(10) == pytest.approx(0.809, abs=5e-4)
        assert population.reliability(21) < 0.9 <= population.reliability(22)

    @given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.2, 50), st.floats(0.2, 50))
    @settings(max_examples=15)
    def test_independent_betas_give_beta_binomial_shares(self, a, b, sham, destroy):
        # At k = 1 only the means matter; at k = 2 the second moments of the Beta laws do.
        population = Population.beta(a, sham, b, destroy)
        assert population.signs(1) == pytest.approx(
            (a * (1 - b), a * b + (1 - a) * (1 - b), b * (1 - a)), abs=2e-5
        )

        def two_flips(mean, concentration):
            both = mean * (mean * concentration + 1) / (concentration + 1)
            return (1 - 2 * mean + both, 2 * (mean - both), both)

        x, y = two_flips(a, sham), two_flips(b, destroy)
        tie = sum(first * second for first, second in zip(x, y, strict=True))
        assert population.signs(2).zero == pytest.approx(tie, abs=5e-5)

    def test_homogeneous(self):
        population = Population.homogeneous(0.344, 0.642)
        assert population.signs(3) == FiniteReplayLaw(0.344, 0.642, 3).signs()
        assert population.reliability(3) == 0.0
        assert math.isnan(Population.homogeneous(0, 1).reliability(3))


class TestSamples:
    def test_a_homogeneous_sample_follows_the_law(self):
        n, k = 20_000, 3
        counts = Population.homogeneous(0.3, 0.6).sample(n, k, rng=8)
        law = FiniteReplayLaw(0.3, 0.6, k)
        numerators, _ = law.lattice()
        observed = (counts.score_numerator[:, None] == numerators).sum(axis=0)
        expected = n * law.pmf()
        # The upper 1e-3 point of chi-square with 6 degrees of freedom is 22.46.
        assert ((observed - expected) ** 2 / expected).sum() < 22.46

    def test_ids_clusters_and_self(self):
        counts = Population.homogeneous(0.3, 0.6).sample(500, 4, clusters=40, p_self=0.2, rng=8)
        assert counts.question[17] == "q000017"
        assert set(counts.cluster.tolist()) == {f"v{i:03d}" for i in range(40)}
        assert (counts.sham_replays == 4).all()
        assert (counts.self_replays == 4).all()
        assert counts.self_flips.mean() / 4 == pytest.approx(0.2, abs=0.05)

    def test_without_clusters_or_self_replays(self):
        counts = Population.homogeneous(0.3, 0.6).sample(5, 2, rng=8)
        assert counts.cluster is None
        assert counts.self_replays.sum() == 0

    def test_atoms_are_drawn_by_weight_and_keep_their_stratum(self):
        population = Population([0.1, 0.2, 0.9], [0.3, 0.4, 0.5], [1, 2, 0], stratum=list("abc"))
        drawn = population.draw(9_000, rng=1)
        assert set(zip(drawn.p_sham.tolist(), drawn.stratum.tolist(), strict=True)) == {
            (0.1, "a"),
            (0.2, "b"),
        }
        assert (drawn.stratum == "a").mean() == pytest.approx(1 / 3, abs=0.02)

    @pytest.mark.parametrize("population", [Population.paper(), Population.beta(0.3, 2, 0.6, 2)])
    def test_the_seed_decides(self, population):
        first = population.sample(300, 3, clusters=9, icc=0.1, rng=6)
        again = population.sample(300, 3, clusters=9, icc=0.1, rng=np.random.default_rng(6))
        other = population.sample(300, 3, clusters=9, icc=0.1, rng=7)
        assert first.to_dict() == again.to_dict() != other.to_dict()

    def test_a_sample_replays_the_questions_that_draw_gives(self):
        population = Population([0.0, 1.0], [1.0, 0.0])
        counts = population.sample(50, 3, clusters=5, rng=9)
        drawn = population.draw(50, clusters=5, rng=9)
        assert np.array_equal(counts.sham_flips, 3 * drawn.p_sham)
        assert np.array_equal(counts.destroy_flips, 3 * drawn.p_destroy)
        assert np.array_equal(counts.cluster, drawn.cluster)


class TestTypes:
    def test_atoms_are_read_only_copies(self):
        p_sham = np.array([0.2, 0.3])
        population = Population(p_sham, [0.4, 0.5], stratum=["a", "b"])
        p_sham[0] = 0.9
        assert population.p_sham[0] == 0.2
        for column in (population.p_sham, population.weights, population.stratum):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = column[1]

    def test_text(self):
        assert repr(Population.homogeneous(0.3, 0.6)) == (
            "<Population: 1 atoms, mean p_sham 0.3000, mean p_destroy 0.6000>"
        )
        assert "of a continuous law, mean p_sham 0.34" in repr(Population.paper())

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda: Population([0.2], [1.2]),
                "p_destroy[0]=1.2 must be a probability, between 0 and 1",
            ),
            (
                lambda: Population([], []),
                "p_sham has shape (0,): give a list of at least one atom",
            ),
            (
                lambda: Population(0.3, 0.4),
                "p_sham has shape (): give a list of at least one atom",
            ),
            (
                lambda: Population([0.2, 0.3], [0.2]),
                "p_destroy has shape (1,) and p_sham (2,): give one an atom",
            ),
            (
                lambda: Population([0.2, 0.3], [0.2, 0.3], stratum=["a"]),
                "stratum has shape (1,) and p_sham (2,): give one an atom",
            ),
            (
                lambda: Population([0.2, 0.3], [0.2, 0.3], [1, -1]),
                "weights[1]=-1.0 must be a number of at least 0",
            ),
            (
                lambda: Population([0.2, 0.3], [0.2, 0.3], [0, 0]),
                "weights are all 0: at least one must be above 0",
            ),
            (
                lambda: Population.homogeneous(0.2, 0.3).sample(10, 0, rng=1),
                "k=0 must be a whole number of at least 1",
            ),
            (
                lambda: Population.homogeneous(0.2, 0.3).draw(0, rng=1),
                "n=0 must be a whole number of at least 1",
            ),
            (
                lambda: Population.homogeneous(0.2, 0.3).draw(5, clusters=6, rng=1),
                "clusters=6 must not exceed n=5: every cluster has a question",
            ),
            (
                lambda: Population.homogeneous(0.2, 0.3).draw(5, clusters=2, icc=0.1, rng=1),
                "icc=0.1 needs a continuous population, and this one is given as atoms: use"
                " icc=0, or Population.beta or Population.paper",
            ),
            (
                lambda: Population.paper().draw(5, icc=0.1, rng=1),
                "icc=0.1 needs clusters: give how many videos there are",
            ),
            (
                lambda: Population.paper().draw(5, clusters=2, icc=1.0, rng=1),
                "icc=1.0 must be at least 0 and below 1",
            ),
            (
                lambda: Population.homogeneous(0.2, 0.3).sample(5, 3, p_self=2, rng=1),
                "p_self=2.0 must be a probability, between 0 and 1",
            ),
        ],
    )
    def test_refusals(self, make, message):
        with pytest.raises(InputError) as refusal:
            make()
        assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Population([0.1], [0.2], ["x"]), "weights holds"),
        (lambda: Population([0.1], [0.2], [[1], [2, 3]]), "weights must be"),
        (lambda: Population.beta("a", 2, 0.5, 2), "mean_sham='a' must be a number"),
        (lambda: Population.beta([0.5], 2, 0.5, 2), "mean_sham is an array"),
        (lambda: Population.paper().sample(10, [3, 3], rng=1), "k is an array"),
        (lambda: Population.paper().sample(10, 3, icc="x", rng=1), "icc='x' must be a number"),
        (lambda: Population.paper().sample(10, 3, p_self=[0.1, 0.2], rng=1), "p_self is an array"),
        (lambda: Population.paper().sample(10, 3, clusters=[3], rng=1), "clusters is an array"),
    ],
)
def test_arguments_of_another_kind_are_refused_by_name(make, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make()


def test_huge_weights_keep_their_ratio():
    population = Population([0.1, 0.2], [0.2, 0.3], [1e308, 1e308])
    assert population.weights.tolist() == [0.5, 0.5]


def test_one_k_for_all_atoms():
    population = Population([0.1, 0.2], [0.2, 0.3])
    for call in (population.signs, population.reliability):
        with pytest.raises(InputError, match="k is an array"):
            call([3, 4])
