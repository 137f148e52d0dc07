"""Cluster sizes and ids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.population.draws import DrawnQuestions, cluster_codes, numbered


@given(st.integers(1, 200), st.integers(0, 300), st.integers(0, 2**32))
def test_every_cluster_has_a_question(clusters, more, seed):
    codes = cluster_codes(clusters + more, clusters, np.random.default_rng(seed))
    assert codes.size == clusters + more
    assert np.array_equal(np.unique(codes), np.arange(clusters))
    assert (np.diff(codes) >= 0).all()


def test_sizes_vary_as_a_dirichlet_multinomial():
    # Var of one count of a symmetric Dirichlet-multinomial: n·(1/V)(1 − 1/V)(n + A)/(1 + A),
    # with A = 8·V.
    n, clusters = 10_000, 500
    sizes = np.bincount(cluster_codes(n + clusters, clusters, np.random.default_rng(3))) - 1
    total = 8 * clusters
    variance = n / clusters * (1 - 1 / clusters) * (n + total) / (1 + total)
    assert sizes.var() == pytest.approx(variance, rel=0.2)


@pytest.mark.parametrize("clusters", [0, 1.5])
def test_a_number_of_clusters_that_cannot_be(clusters):
    with pytest.raises(InputError, match=r"^clusters=.* must be a whole number of at least 1$"):
        cluster_codes(10, clusters, np.random.default_rng(1))


def test_ids_sort_as_their_numbers():
    assert numbered("q", np.array([0, 17]), width=6).tolist() == ["q000000", "q000017"]
    wide = numbered("v", np.arange(0, 2001, 250), width=3)
    assert wide[1] == "v0250"
    assert sorted(wide.tolist()) == wide.tolist()


def test_text():
    columns = dict(p_sham=np.zeros(2), p_destroy=np.zeros(2), stratum=None)
    drawn = DrawnQuestions(question=np.array(["a", "b"]), cluster=None, **columns)
    assert repr(drawn) == "<DrawnQuestions: 2 questions, no clusters>"
    drawn = DrawnQuestions(question=np.array(["a", "b"]), cluster=np.array(["v", "v"]), **columns)
    assert repr(drawn) == "<DrawnQuestions: 2 questions, 1 clusters>"
