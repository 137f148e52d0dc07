"""Theorem: at k = 1 the tie excess is 2·Cov(X, Y), and the other two excesses are −Cov(X, Y).

Statement. For any data with one SHAM and one DESTROY replay a question, with x̄, ȳ the flip
rates and Cov the covariance with 1/n,

    τ̂ = T̄ − [x̄ȳ + (1−x̄)(1−ȳ)] = 2·Cov(X, Y),

and the excess of the negative share, mean of X(1−Y), and of the positive one are −Cov(X, Y).

Proof. X and Y are 0 or 1, so the tie indicator is XY + (1−X)(1−Y) = 1 − X − Y + 2XY. Its mean is
1 − x̄ − ȳ + 2·mean(XY), and the prediction is 1 − x̄ − ȳ + 2x̄ȳ. The difference is
2(mean(XY) − x̄ȳ) = 2·Cov. For the negative share mean(X(1−Y)) − x̄(1−ȳ) = −(mean(XY) − x̄ȳ),
and for the positive share, with X and Y exchanged, the same.  ∎

Used by `tie_excess`: at k = 1 its figure is a covariance across questions and nothing else.
"""

import itertools

import pytest
import sympy

import carve_stats as cs


def test_symbolic_steps():
    x, y, mean_xy = sympy.symbols("x y mean_xy")
    tie = 1 - x - y + 2 * mean_xy
    predicted = x * y + (1 - x) * (1 - y)
    assert sympy.expand(tie - predicted - 2 * (mean_xy - x * y)) == 0
    assert sympy.expand((x - mean_xy) - x * (1 - y) + (mean_xy - x * y)) == 0
    assert sympy.expand((y - mean_xy) - y * (1 - x) + (mean_xy - x * y)) == 0
    for u, v in itertools.product((0, 1), repeat=2):
        assert 1 - u - v + 2 * u * v == (u == v)


def test_implementation():
    # Every assignment of four questions to the four tables of k = 1.
    for tables in itertools.product(itertools.product((0, 1), repeat=2), repeat=4):
        flips = list(zip(*tables, strict=True))
        counts = cs.ReplayCounts(list("abcd"), flips[0], [1] * 4, flips[1], [1] * 4)
        x, y = (sum(f) / 4 for f in flips)
        covariance = sum(u * v for u, v in tables) / 4 - x * y
        excess = cs.tie_excess(counts).excess
        assert excess.zero.estimate == pytest.approx(2 * covariance, abs=1e-15)
        assert excess.negative.estimate == pytest.approx(-covariance, abs=1e-15)
        assert excess.positive.estimate == pytest.approx(-covariance, abs=1e-15)
