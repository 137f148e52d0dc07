"""Adjusted p-values against the procedures' definitions in exact fractions, and published cases."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from carve_stats.errors import InputError
from carve_stats.inference.multiplicity import ADJUSTMENTS, adjust_p_values

# Y. Benjamini and Y. Hochberg, JRSS B 57 (1995), section 4: 15 hypotheses of a trial of
# thrombolysis. At .05 their procedure rejects four; Bonferroni's, and so Holm's here, three.
THROMBOLYSIS = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
]  # fmt: skip


@pytest.mark.parametrize(("adjust", "rejected"), [("benjamini-hochberg", 4), ("holm", 3)])
def test_the_published_example(adjust, rejected):
    adjusted = adjust_p_values(THROMBOLYSIS, adjust)
    assert (adjusted <= 0.05).tolist() == [True] * rejected + [False] * (15 - rejected)


def holm_rejects(p, level):
    """Step down: from the smallest on, as long as p_(i) ≤ level/(n − i + 1)."""
    rejected = set()
    for place, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if p[i] > level / (len(p) - place):
            break
        rejected.add(i)
    return rejected


def benjamini_hochberg_rejects(p, level):
    """Step up: all up to the largest i with p_(i) ≤ level·i/n."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    last = max((r for r, i in enumerate(order, 1) if p[i] <= level * r / len(p)), default=0)
    return set(order[:last])


def smallest_levels(rejects, p, candidates):
    """The adjusted p-value by its definition: the smallest level at which each is rejected."""
    levels = sorted({min(level, Fraction(1)) for level in candidates} | {Fraction(1)})
    found = [rejects(p, level) for level in levels]
    return [
        next((level for level, r in zip(levels, found, strict=True) if i in r), Fraction(1))
        for i in range(len(p))
    ]


# Few different values, so that ties are common; each is exact in binary.
P_VALUES = st.lists(
    st.integers(0, 32).map(lambda i: Fraction(i, 32)) | st.just(Fraction(1, 1024)), max_size=9
)


@given(P_VALUES)
def test_holm_is_the_step_down_procedure(p):
    n = len(p)
    expected = smallest_levels(holm_rejects, p, [m * x for x in p for m in range(1, n + 1)])
    adjusted = adjust_p_values(np.array(p, float), "holm")
    assert adjusted.tolist() == [float(x) for x in expected]  # products of these are exact


@given(P_VALUES)
def test_benjamini_hochberg_is_the_step_up_procedure(p):
    n = len(p)
    levels = [n * x / r for x in p for r in range(1, n + 1)]
    expected = smallest_levels(benjamini_hochberg_rejects, p, levels)
    adjusted = adjust_p_values(np.array(p, float), "benjamini-hochberg")
    np.testing.assert_allclose(adjusted, [float(x) for x in expected], rtol=1e-15)


def test_benjamini_hochberg_is_that_of_scipy(rng):
    p = rng.random(1000) ** 3
    adjusted = adjust_p_values(p, "benjamini-hochberg")
    np.testing.assert_allclose(adjusted, false_discovery_control(p), rtol=1e-14)


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
@given(p=st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.03, 0.4, 1.0]), max_size=30), data=st.data())
def test_order_is_kept_ties_share_a_value_and_rows_may_be_permuted(adjust, p, data):
    p = np.array(p, float)
    adjusted = adjust_p_values(p, adjust)
    assert ((adjusted >= p) & (adjusted <= 1.0)).all()
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()
    assert all(np.unique(adjusted[p == value]).size == 1 for value in set(p.tolist()))
    shuffled = np.array(data.draw(st.permutations(range(p.size))), int)
    np.testing.assert_array_equal(adjust_p_values(p[shuffled], adjust), adjusted[shuffled])


def test_none_leaves_them_as_they_are_and_copies():
    p = np.array([0.2, 0.01])
    adjusted = adjust_p_values(p, "none")
    adjusted[0] = 0.5
    assert p.tolist() == [0.2, 0.01]


@pytest.mark.parametrize("p", [[0.1, 1.1], [-0.1], [np.nan], [[0.1]], ["x"]])
def test_what_are_no_p_values_is_refused(p):
    with pytest.raises(InputError, match="p_values"):
        adjust_p_values(p, "holm")


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="did you mean 'holm'"):
        adjust_p_values([0.1], "holms")
