"""Theorem: at k = 3 the tie probability is s(s² + 6ab), with a = p_s p_d, b = q_s q_d, s = a + b.

Proof. A tie is X = Y = j for some j; X and Y are independent, so

    t_k = Σ_j C(k,j)² (p_s p_d)^j (q_s q_d)^(k−j) = Σ_j C(k,j)² a^j b^(k−j).

At k = 3 the squared binomials are 1, 9, 9, 1, and
a³ + 9a²b + 9ab² + b³ = (a³ + 3a²b + 3ab² + b³) + 6ab(a + b) = s³ + 6ab·s.  ∎

Used by `FiniteReplayLaw.tie`, which at k = 3 is this polynomial.
"""

import itertools

import pytest
import sympy

import carve_stats as cs

a, b, p_s, p_d = sympy.symbols("a b p_s p_d", positive=True)


def test_symbolic_steps():
    ties = sum(sympy.binomial(3, j) ** 2 * a**j * b ** (3 - j) for j in range(4))
    s = a + b
    assert sympy.expand(ties - s * (s**2 + 6 * a * b)) == 0

    # a and b are what they are said to be: the law by enumeration of (X, Y).
    def pmf(j, p):
        return sympy.binomial(3, j) * p**j * (1 - p) ** (3 - j)

    enumerated = sum(pmf(j, p_s) * pmf(j, p_d) for j in range(4))
    substituted = ties.subs({a: p_s * p_d, b: (1 - p_s) * (1 - p_d)})
    assert sympy.expand(enumerated - substituted) == 0


def test_implementation():
    eighths = [sympy.Rational(i, 8) for i in range(9)]  # doubles, so that nothing is rounded
    for x, y in itertools.product(eighths, repeat=2):
        s = x * y + (1 - x) * (1 - y)
        exact = s * (s**2 + 6 * x * y * (1 - x) * (1 - y))
        tie = cs.FiniteReplayLaw(float(x), float(y), k=3).tie()
        assert tie == pytest.approx(float(exact), rel=1e-15, abs=0)
