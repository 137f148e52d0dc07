r"""Ties and wrong signs fall geometrically: the Bhattacharyya coefficient

Let SHAM and DESTROY flip independently $k$ times each, $D = Y - X$, $q = 1 - p$, and
$\beta = \sqrt{p_s p_d} + \sqrt{q_s q_d}$, the Bhattacharyya coefficient of the two arms. The
probability of a tie $t_k = \mathrm{P}(D = 0)$ has the bound and, for $0 < p_s, p_d < 1$, the limit

[[bound]]

[[limit]]

The law of $D$ is a symmetric one that is tilted: for $d = 0, \dots, k$

[[tilt]]

The sign that $p_d - p_s$ has not, the wrong one, has at most the probability

[[wrong]]

with equality at $p_s = p_d$, and the right sign at least it.

Proof

1. With $m = 4\sqrt{ab}/\beta^2$, $a = p_s p_d$, $b = q_s q_d$, the base of Laplace's integral
   (thm_tie_closed_forms) is $a + b + 2\sqrt{ab}\cos\theta = \beta^2\left(1 -
   m\sin^2\frac\theta2\right)$. So $t_k = \beta^{2k}\,\frac2\pi\int_0^{\pi/2}(1 -
   m\sin^2\varphi)^k\,d\varphi$, and as $0 \le m \le 1$ the integral is at most $\frac\pi2$: the
   bound.
2. With $\varphi = v/\sqrt k$ the factor of $\beta^{2k}$ is
   $\frac{2}{\pi\sqrt k}\int (1 - m\sin^2(v/\sqrt k))^k\,dv$, from 0 to $\frac\pi2\sqrt k$. Its
   integrand tends to $e^{-mv^2}$, and is at most $e^{-4mv^2/\pi^2}$, because $1 - x \le e^{-x}$ and
   $\sin\varphi \ge 2\varphi/\pi$ (Jordan: $\sin\varphi/\varphi$ falls). By dominated convergence
   the integral tends to $\frac12\sqrt{\pi/m}$, and $\sqrt k\,t_k/\beta^{2k} \to 1/\sqrt{\pi m}$,
   which is the limit.
3. $\mathrm{P}(D = d) = \sum_j \binom kj \binom k{j+d} p_s^j q_s^{k-j} p_d^{j+d} q_d^{k-j-d}$, and
   in $\mathrm{P}(D = -d)$ the exponents of the two arms are exchanged. Each term of the former is
   $\left(\frac{p_d q_s}{p_s q_d}\right)^d$ times the same term of the latter: the tilt.
4. Let $\rho^2 = \frac{p_d q_s}{p_s q_d}$. Then $c_d = \mathrm{P}(D = d)\rho^{-d}$ is symmetric in
   $d$, and $\sum_d c_d = \mathrm{E}\,\rho^{-D} = (p_d q_s\rho^{-1} + p_s p_d + q_s q_d + p_s
   q_d\rho)^k = \beta^{2k}$, a factor for each pair of replays. So
   $\sum_{d \ge 1} c_d = (\beta^{2k} - t_k)/2$.
5. If $p_d \ge p_s$ then $\rho \ge 1$, since $p_d q_s - p_s q_d = p_d - p_s$, and $\mathrm{P}(D <
   0) = \sum_{d \ge 1} c_d\,\rho^{-d} \le \sum_{d \ge 1} c_d \le \sum_{d \ge 1} c_d\,\rho^d =
   \mathrm{P}(D > 0)$, with equality where $\rho = 1$. If $p_d < p_s$ the arms are exchanged. Rates
   of 0 and 1 are limits of others.

References

- Bhattacharyya, *On a measure of divergence between two statistical populations defined by their
  probability distributions*, Bulletin of the Calcutta Mathematical Society 35 (1943) 99–109.
- Olver, *Asymptotics and Special Functions* (Academic Press, 1974), chapter 3, §7: Laplace's
  method.
- Cramér's tilt: Dembo and Zeitouni, *Large Deviations Techniques and Applications*, section 2.2.
"""

import math
from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, IndexedBase, Le, Limit, binomial, cos, oo, pi, sin, sqrt

import carve_stats as cs

p_s, p_d, q_s, q_d, beta, theta, v, m = sympy.symbols(
    "p_s p_d q_s q_d beta theta v m", positive=True
)
k, j, d = sympy.symbols("k j d", integer=True, nonnegative=True)
t = IndexedBase("t")
PLUS, MINUS, WRONG = sympy.symbols(
    r"\mathrm{P}(D=d) \mathrm{P}(D=-d) \mathrm{P}(\mathrm{wrong})", positive=True
)

FORMULAS = {
    "bound": Le(t[k], beta ** (2 * k)),
    "limit": Eq(
        Limit(sqrt(k) * t[k] / beta ** (2 * k), k, oo, "-"),
        beta / (2 * sqrt(pi) * (p_s * q_s * p_d * q_d) ** sympy.Rational(1, 4)),
    ),
    "tilt": Eq(PLUS, MINUS * (p_d * q_s / (p_s * q_d)) ** d),
    "wrong": Le(WRONG, (beta ** (2 * k) - t[k]) / 2),
}
USED_BY = ("FiniteReplayLaw.tie", "FiniteReplayLaw.pmf", "FiniteReplayLaw.wrong_sign")
A, B = p_s * p_d, q_s * q_d
COEFFICIENT = sqrt(A) + sqrt(B)


def test_step_1():
    base = A + B + 2 * sqrt(A * B) * cos(theta)
    share = 4 * sqrt(A * B) / COEFFICIENT**2
    factored = COEFFICIENT**2 * (1 - share * (1 - cos(theta)) / 2)  # of sin²(θ/2)
    assert sympy.simplify(sympy.expand(base - factored)) == 0
    assert sympy.simplify((1 - cos(theta)) / 2 - sin(theta / 2) ** 2) == 0
    # m ≤ 1: it falls short by a square.
    short = sympy.expand(COEFFICIENT**2 - 4 * sqrt(A * B))
    assert sympy.expand(short - (sqrt(A) - sqrt(B)) ** 2) == 0
    said = FORMULAS["bound"]
    assert said.rel_op == "<="
    assert said.lhs == t[k]
    assert sympy.simplify(said.rhs / (beta**2) ** k) == 1


def test_step_2():
    near, rate = sympy.symbols("near rate", positive=True)  # near is 1/√k
    logarithm = sympy.log(1 - m * sin(v * near) ** 2) / near**2
    assert sympy.limit(logarithm, near, 0) == -m * v**2
    # 1 − x ≤ exp(−x): −x − log(1 − x) is 0 at 0, and rises.
    rise = sympy.diff(-rate - sympy.log(1 - rate), rate)
    assert sympy.simplify(rise - rate / (1 - rate)) == 0
    # Jordan: the slope of sin φ/φ has the sign of φ cos φ − sin φ, which is 0 at 0, and falls.
    slope = sympy.diff(sin(theta) / theta, theta) * theta**2
    assert sympy.simplify(slope - (theta * cos(theta) - sin(theta))) == 0
    assert slope.simplify().subs(theta, 0) == 0
    assert sympy.simplify(sympy.diff(theta * cos(theta) - sin(theta), theta)) == -theta * sin(theta)
    assert (sin(theta) / theta).subs(theta, pi / 2) == 2 / pi
    integral = sympy.integrate(sympy.exp(-m * v**2), (v, 0, oo))
    found = (2 / pi * integral).subs(m, 4 * sqrt(A * B) / beta**2)
    said = FORMULAS["limit"]
    assert sympy.simplify(found / said.rhs) == 1
    assert sympy.simplify(said.lhs.args[0] * beta ** (2 * k) / t[k]) == sqrt(k)


def term(up, down):
    """The summand with j + up SHAM and j + down DESTROY flips."""
    sham = binomial(k, j + up) * p_s ** (j + up) * q_s ** (k - j - up)
    return sham * binomial(k, j + down) * p_d ** (j + down) * q_d ** (k - j - down)


def test_step_3():
    said = FORMULAS["tilt"]
    assert said.lhs == PLUS
    factor = said.rhs / MINUS
    ratio = sympy.powsimp(sympy.expand_power_base(term(0, d) / term(d, 0) / factor, force=True))
    assert sympy.simplify(ratio) == 1


def test_step_4():
    rho = sqrt(p_d * q_s / (p_s * q_d))
    factor = FORMULAS["tilt"].rhs / MINUS
    assert sympy.simplify(sympy.powdenest(factor / rho ** (2 * d), force=True)) == 1
    pair = p_d * q_s / rho + A + B + p_s * q_d * rho
    assert sympy.simplify(pair - sympy.expand(COEFFICIENT**2)) == 0
    # The symmetric c_d: twice what is wanted, and c_0 = t_k, are β^(2k).
    said = FORMULAS["wrong"]
    assert said.rel_op == "<="
    assert sympy.simplify(2 * said.rhs + t[k] - beta ** (2 * k)) == 0


def test_step_5():
    said = FORMULAS["wrong"]
    assert said.lhs == WRONG
    odds = FORMULAS["tilt"].rhs.subs(d, 1) / MINUS  # ρ², at least 1 if p_d ≥ p_s
    rates = {q_s: 1 - p_s, q_d: 1 - p_d}
    top, bottom = sympy.fraction(odds)
    assert sympy.expand((top - bottom).subs(rates) - (p_d - p_s)) == 0
    assert odds.subs(rates).subs(p_d, p_s) == 1
    # Then ρ = 1 + e, and ρ^d is at least 1, by induction: it begins with 1, and never falls.
    excess = sympy.Symbol("e", nonnegative=True)
    power = (1 + excess) ** d
    assert power.subs(d, 0) == 1
    growth = sympy.simplify(power.subs(d, d + 1) / power - 1)
    assert growth == excess
    assert growth.is_nonnegative


EIGHTHS = [Fraction(i, 8) for i in range(9)]  # doubles, so that nothing is rounded


def exact_law(rate_s, rate_d, n):
    """P(D = −n), …, P(D = n)."""
    law = [Fraction(0)] * (2 * n + 1)
    for i, one in product(range(n + 1), repeat=2):
        sham = comb(n, i) * rate_s**i * (1 - rate_s) ** (n - i)
        law[n + one - i] += sham * comb(n, one) * rate_d**one * (1 - rate_d) ** (n - one)
    return law


def exact_square(rate_s, rate_d):
    """A rational that is above β², by 1e-30 at most."""
    a_, b_ = rate_s * rate_d, (1 - rate_s) * (1 - rate_d)
    root = math.isqrt(int(a_ * b_ * 10**64)) + 1
    return a_ + b_ + Fraction(2 * root, 10**32)


def test_implementation_tie():
    for rate_s, rate_d in product(EIGHTHS, repeat=2):
        for n in (1, 3, 9, 100):
            found = Fraction(float(cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=n).tie()))
            bound = exact_square(rate_s, rate_d) ** n
            assert found <= bound * (1 + Fraction(8, 2**52))
    for rate_s, rate_d in ((0.25, 0.375), (0.5, 0.5), (0.125, 0.25)):
        n = 10**4
        stay_s, stay_d = 1 - rate_s, 1 - rate_d
        coefficient = math.sqrt(rate_s * rate_d) + math.sqrt(stay_s * stay_d)
        limit = coefficient / (2 * math.sqrt(math.pi) * (rate_s * stay_s * rate_d * stay_d) ** 0.25)
        tie = cs.FiniteReplayLaw(rate_s, rate_d, k=n).tie()
        found = math.sqrt(n) * tie / coefficient ** (2 * n)
        assert abs(found / limit - 1) <= 1 / n  # the next term of the expansion


def test_implementation_pmf():
    for rate_s, rate_d in product(EIGHTHS[1:-1], repeat=2):
        odds = rate_d * (1 - rate_s) / (rate_s * (1 - rate_d))
        for n in (1, 3, 9):
            exact = exact_law(rate_s, rate_d, n)
            found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=n).pmf()
            for step in range(n + 1):
                assert exact[n + step] == exact[n - step] * odds**step
                above, below = (Fraction(float(found[n + s])) for s in (step, -step))
                assert abs(above - below * odds**step) <= above * Fraction(40, 2**52)


def test_implementation_wrong_sign():
    for rate_s, rate_d in product(EIGHTHS, repeat=2):
        for n in (1, 3, 9):
            exact = exact_law(rate_s, rate_d, n)
            bound = (exact_square(rate_s, rate_d) ** n - exact[n]) / 2
            law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=n)
            if rate_s == rate_d:
                equal = (1 - exact[n]) / 2  # β is 1
                assert sum(exact[:n]) == equal
                assert abs(Fraction(law.negative()) - equal) <= equal * Fraction(8, 2**52)
                continue
            wrong = sum(exact[:n] if rate_d > rate_s else exact[n + 1 :])
            right = 1 - exact[n] - wrong
            assert wrong <= bound <= right + Fraction(1, 10**20)
            found = Fraction(float(law.wrong_sign()))
            assert abs(found - wrong) <= wrong * Fraction(16, 2**52)
