"""The continuous family: its quadrature, its margins and its latent normals."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from carve_stats.errors import InputError
from carve_stats.population.families import PAPER_STRATA, BetaCopula, paper_family

PUBLISHED = Path(__file__).parents[1] / "data" / "published"


def family(**changes):
    arguments = dict(
        mean_sham=(0.3,), mean_destroy=(0.6,), concentration_sham=2.0, concentration_destroy=3.0
    )
    return BetaCopula(**{**arguments, **changes})


def test_the_papers_strata_are_those_of_table_a3():
    with open(PUBLISHED / "a3_components.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["k"] == "3"]
    printed = {r["stratum"]: (int(r["n"]), float(r["sham"]), float(r["destroy"])) for r in rows}
    assert printed == PAPER_STRATA


def test_the_papers_atoms_keep_the_rates_of_each_stratum():
    p_sham, p_destroy, weights, stratum = paper_family().atoms()
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    for i, (n, sham, destroy) in enumerate(PAPER_STRATA.values()):
        here = stratum == i
        assert weights[here].sum() == pytest.approx(n / 1249, abs=1e-12)
        assert np.average(p_sham[here], weights=weights[here]) == pytest.approx(sham, abs=1e-9)
        assert np.average(p_destroy[here], weights=weights[here]) == pytest.approx(
            destroy, abs=1e-9
        )


@given(st.floats(0.02, 0.98), st.floats(0.2, 100), st.floats(0.02, 0.98), st.floats(-0.95, 0.95))
@settings(max_examples=15)
def test_atoms_have_the_moments_of_beta_laws(mean, concentration, other, correlation):
    law = family(
        mean_sham=(mean,),
        concentration_sham=concentration,
        mean_destroy=(other,),
        concentration_destroy=concentration,
        correlation=correlation,
    )
    p_sham, p_destroy, weights, _ = law.atoms()
    assert weights @ p_sham == pytest.approx(mean, abs=2e-5)
    assert weights @ p_destroy == pytest.approx(other, abs=2e-5)
    variance = mean * (1 - mean) / (concentration + 1)
    assert weights @ (p_sham - mean) ** 2 == pytest.approx(variance, abs=2e-5)


@pytest.mark.parametrize("icc", [0.0, 0.2])
def test_drawn_margins_are_beta_at_any_icc(icc):
    n = 20_000
    p_sham, p_destroy, _ = family(correlation=0.5).draw(
        n, np.arange(n) // 2, icc, np.random.default_rng(5)
    )
    # Kolmogorov-Smirnov: a p-value of 1e-4 is what pairs and chance are allowed.
    assert stats.kstest(p_sham, stats.beta(0.6, 1.4).cdf).pvalue > 1e-4
    assert stats.kstest(p_destroy, stats.beta(1.8, 1.2).cdf).pvalue > 1e-4
    # Kendall's τ of a Gaussian copula is (2/π) asin ρ, whatever the margins.
    tau = stats.kendalltau(p_sham, p_destroy).statistic
    assert tau == pytest.approx(2 / math.pi * math.asin(0.5), abs=0.02)


def test_one_effect_a_video_is_shared_by_both_arms():
    # Kendall's τ between the SHAM of one question and the DESTROY of another of its video is
    # (2/π) asin icc: the same effect enters both.
    n, icc = 20_000, 0.3
    p_sham, p_destroy, _ = family(correlation=0.5).draw(
        n, np.arange(n) // 2, icc, np.random.default_rng(6)
    )
    expected = 2 / math.pi * math.asin(icc)
    for first in (p_sham, p_destroy):
        for second in (p_sham, p_destroy):
            tau = stats.kendalltau(first[::2], second[1::2]).statistic
            assert tau == pytest.approx(expected, abs=0.025)


def test_insensitive_questions_share_the_effect_and_stay_independent_of_their_rates():
    n = 40_000
    law = family(insensitive=0.4, insensitive_mean=0.3, insensitive_concentration=2.0)
    p_sham, p_destroy, _ = law.draw(n, np.arange(n) // 2, 0.25, np.random.default_rng(7))
    alike = p_sham == p_destroy
    assert alike.mean() == pytest.approx(0.4, abs=0.01)
    # Both kinds have the SHAM law Beta(.6, 1.4) here, so that p_sham must not tell them apart.
    assert p_sham[alike].mean() == pytest.approx(p_sham[~alike].mean(), abs=0.01)
    # Two questions of a video are insensitive together more often than .4²; from tables of the
    # bivariate normal with correlation .25.
    together = (alike[::2] & alike[1::2]).mean()
    orthant = stats.multivariate_normal([0, 0], [[1, 0.25], [0.25, 1]]).cdf(
        [stats.norm.ppf(0.4)] * 2
    )
    assert together == pytest.approx(orthant, abs=0.01)


@given(st.floats(0.001, 0.999), st.floats(0.05, 1e4))
@settings(max_examples=60)
def test_quantiles_are_probabilities_however_far_the_latent(mean, concentration):
    latent = np.array([-40.0, -8.3, -8.0, -1.0, 0.0, 1.0, 8.0, 8.3, 40.0])
    law = family(insensitive_mean=mean, insensitive_concentration=concentration)
    values = law.insensitive_p(latent)
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mean_sham": (0.0,)},
            "mean_sham=0.0 must be inside (0, 1); for a single probability of 0 or 1 use"
            " Population.homogeneous",
        ),
        (
            {"concentration_destroy": 0.01},
            "concentration_destroy=0.01 must be a number of at least 0.05; below it nearly every"
            " flip probability is 0 or 1: give those as atoms",
        ),
        (
            {"concentration_sham": float("nan")},
            "concentration_sham=nan must be a number of at least 0.05; below it nearly every flip"
            " probability is 0 or 1: give those as atoms",
        ),
        ({"correlation": 1.0}, "correlation=1.0 must be inside (-1, 1)"),
        ({"insensitive": 1.0}, "insensitive=1.0 must be at least 0 and below 1"),
        (
            {"strata": ("a", "b")},
            "strata need one entry each in all of {'mean_sham': 1, 'mean_destroy': 1,"
            " 'stratum_weights': 1, 'strata': 2}",
        ),
        ({"stratum_weights": (0.5,)}, "stratum_weights=(0.5,) must be shares that sum to 1"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(InputError) as refusal:
        family(**changes)
    assert str(refusal.value) == message


def test_a_nearly_discrete_law_still_has_its_moments():
    p_sham, _, weights, _ = family(concentration_sham=0.05, concentration_destroy=0.05).atoms()
    assert weights @ p_sham == pytest.approx(0.3, abs=2e-5)
    assert weights @ (p_sham - 0.3) ** 2 == pytest.approx(0.21 / 1.05, abs=2e-5)


def test_an_icc_that_the_correlation_does_not_allow():
    law = family(correlation=-0.5)
    with pytest.raises(InputError, match=r"^icc=0.3 must be below 0.250: "):
        law.draw(10, np.zeros(10, int), 0.3, np.random.default_rng(1))
