r"""More replays: the right sign gains at every k, the wrong one rises before it falls

Let $p_d > p_s$, let SHAM and DESTROY flip independently $k$ times each, $\Delta = p_d - p_s$, and
let $t_k$, $R_k$ and $W_k$ be the probabilities of a tie, of the right sign $\hat\Delta > 0$ and of
the wrong one $\hat\Delta < 0$. Then

[[right]]

[[wrong]]

So $R_k$ increases with every $k$. For $0 < p_s$ and $p_d < 1$ the wrong sign first becomes
likelier, as long as $t_{k+1}/t_k < 1 - \Delta$, and from then on never again: $W_k$ is unimodal,
because for $k \ge 1$

[[ratio]]

[[affinity]]

with $\beta = \sqrt{p_s p_d} + \sqrt{q_s q_d}$, $q = 1 - p$, and because $t_{k+1}/t_k$ rises to
$\beta^2$. If $p_s = 0$ or $p_d = 1$ there is no wrong sign. A rule that waits for $\hat\Delta < 0$
thus selects a question with $\Delta > 0$ more often before it selects it less often; the rule
$\hat\Delta \le 0$ selects it less often with every replay. For $p_d < p_s$ all holds with the arms
exchanged.

Proof

1. By thm_expected_sign $R_k = (1 - t_k + s_k)/2$ and $W_k = (1 - t_k - s_k)/2$ with
   $s_{k+1} - s_k = \Delta t_k$. The differences are the first two formulas.
2. $t_{k+1} \le t_k$, since $t_k = \mathrm{E}\,U^k$ with $0 \le U \le 1$ (thm_tie_moments). So
   $R_{k+1} - R_k \ge \Delta t_k/2$, which is positive: $t_k > 0$ unless $p_s = 0$ and $p_d = 1$,
   where $R_k = 1$ from $k = 1$ on.
3. $\mathrm{E}\,U^{k-1}(U - c)^2 \ge 0$ at $c = t_k/t_{k-1}$ says that the ratio $t_{k+1}/t_k$ does
   not fall. The difference of $W$ has the sign of $1 - \Delta - t_{k+1}/t_k$, so it changes from
   plus to minus once at most.
4. It begins with plus: $W_0 = 0$, and $1 - \Delta - t_1/t_0 = 2 p_s q_d > 0$.
5. It ends with minus: the ratio tends to $\beta^2$, by the limit in thm_tie_decay, and with
   $C = p_d q_s$, $A = p_s q_d$, $\Delta = C - A$ is $\beta^2 - (1 - \Delta) = (\sqrt C - \sqrt
   A)(\sqrt C + \sqrt A) - (\sqrt C - \sqrt A)^2 = 2\sqrt A(\sqrt C - \sqrt A)$, which is at least
   0, and positive for $p_s > 0$, $p_d < 1$.

References

- Le Cam and Yang, *Asymptotics in Statistics* (Springer), chapter 3: the affinity of two laws and
  their distance in variation, of which the last inequality is a sharper form for two of two points.
- thm_expected_sign, thm_tie_moments and thm_tie_decay.
"""

from fractions import Fraction
from itertools import pairwise, product
from math import comb

import sympy
from sympy import Eq, Ge, IndexedBase, sqrt

import carve_stats as cs

p_s, p_d, q_s, q_d, delta = sympy.symbols("p_s p_d q_s q_d Delta", positive=True)
k = sympy.Symbol("k", integer=True, positive=True)
R, W, s, t = IndexedBase("R"), IndexedBase("W"), IndexedBase("s"), IndexedBase("t")

FORMULAS = {
    "right": Eq(R[k + 1] - R[k], ((1 + delta) * t[k] - t[k + 1]) / 2),
    "wrong": Eq(W[k + 1] - W[k], ((1 - delta) * t[k] - t[k + 1]) / 2),
    "ratio": Ge(t[k + 1] / t[k], t[k] / t[k - 1]),
    "affinity": Ge((sqrt(p_s * p_d) + sqrt(q_s * q_d)) ** 2, 1 - (p_d - p_s)),
}
USED_BY = ("FiniteReplayLaw.signs", "FiniteReplayLaw.wrong_sign", "plan_budget")
RATES = {q_s: 1 - p_s, q_d: 1 - p_d}


def test_step_1():
    def signs(at):
        return (1 - t[at] + s[at]) / 2, (1 - t[at] - s[at]) / 2

    (right_now, wrong_now), (right_next, wrong_next) = signs(k), signs(k + 1)
    grown = {s[k + 1]: s[k] + delta * t[k]}
    assert FORMULAS["right"].lhs == R[k + 1] - R[k]
    assert FORMULAS["wrong"].lhs == W[k + 1] - W[k]
    assert sympy.expand((right_next - right_now).subs(grown) - FORMULAS["right"].rhs) == 0
    assert sympy.expand((wrong_next - wrong_now).subs(grown) - FORMULAS["wrong"].rhs) == 0


def test_step_2():
    fall, tie = sympy.symbols("fall tie", nonnegative=True)  # t_k − t_{k+1}, and t_k
    gain = FORMULAS["right"].rhs.subs(t[k + 1], t[k] - fall).subs(t[k], tie)
    assert sympy.expand(gain - delta * tie / 2).is_nonnegative
    u = sympy.Symbol("u", positive=True)
    assert sympy.expand(u**k - u ** (k + 1) - u**k * (1 - u)) == 0  # at least 0 for u ≤ 1
    everyone = (p_s * p_d + q_s * q_d) ** k
    assert everyone.subs({p_s: 0, q_d: 0}) == 0


def test_step_3():
    now, before, after = sympy.symbols("now before after", positive=True)
    square = after - 2 * (now / before) * now + (now / before) ** 2 * before
    said = FORMULAS["ratio"]
    assert said.rel_op == ">="
    values = {t[k + 1]: after, t[k]: now, t[k - 1]: before}
    rise = (said.lhs - said.rhs).subs(values)
    assert sympy.simplify(rise - square / now) == 0  # of the sign of the square's mean
    wrong = FORMULAS["wrong"].rhs.subs(values)
    assert sympy.expand(wrong * 2 / now - (1 - delta - after / now)) == 0


def test_step_4():
    first = (p_s * p_d + q_s * q_d).subs(RATES)  # t_1, and t_0 is 1
    gain = 2 * FORMULAS["wrong"].rhs.subs({t[k]: 1, t[k + 1]: first, delta: p_d - p_s})
    assert sympy.expand(gain - 2 * p_s * (1 - p_d)) == 0


def test_step_5():
    said = FORMULAS["affinity"]
    assert said.rel_op == ">="
    root_c, root_a = sqrt(p_d * q_s), sqrt(p_s * q_d)
    excess = 2 * root_a * (root_c - root_a)
    # 1 is (p_s + q_s)(p_d + q_d), and Δ is C − A.
    one = (p_s + q_s) * (p_d + q_d)
    assert sympy.expand((root_c**2 - root_a**2).subs(RATES) - (p_d - p_s)) == 0
    in_squares = (said.lhs - said.rhs).subs(p_d - p_s, root_c**2 - root_a**2)
    difference = in_squares - (one - 1).subs(RATES) - excess
    assert sympy.simplify(difference.subs(RATES)) == 0
    # The ratio's limit: √k t_k/β^(2k) has a limit, so t_{k+1}/t_k has that of the rest.
    beta = sympy.Symbol("beta", positive=True)
    rest = beta ** (2 * k) / sqrt(k)
    ratio = sympy.simplify(rest.subs(k, k + 1) / rest)
    assert sympy.limit(ratio, k, sympy.oo) == beta**2


EIGHTHS = [Fraction(i, 8) for i in range(9)]  # doubles, so that nothing is rounded
LARGEST = 12


def exact_binomial(k_, rate):
    return [comb(k_, x) * rate**x * (1 - rate) ** (k_ - x) for x in range(k_ + 1)]


def exact_signs(rate_s, rate_d, k_):
    """P(Δ̂ < 0), P(Δ̂ = 0) and P(Δ̂ > 0), outcome by outcome."""
    shares = [Fraction(0)] * 3
    sham, destroy = exact_binomial(k_, rate_s), exact_binomial(k_, rate_d)
    for (x, one), (y, other) in product(enumerate(sham), enumerate(destroy)):
        shares[(y > x) - (y < x) + 1] += one * other
    return shares


def turns(values):
    """Whether the differences are first positive, then negative, each for some while."""
    rises = [other > one for one, other in pairwise(values)]
    return rises == sorted(rises, reverse=True)


def test_implementation_signs():
    for rate_s, rate_d in product(EIGHTHS[::2], EIGHTHS):
        if rate_d <= rate_s:
            continue
        exact = [exact_signs(rate_s, rate_d, k_) for k_ in range(LARGEST + 1)]
        wrong, ties, right = zip(*exact, strict=True)
        difference = rate_d - rate_s
        for k_ in range(LARGEST):
            gain = ((1 + difference) * ties[k_] - ties[k_ + 1]) / 2
            loss = ((1 - difference) * ties[k_] - ties[k_ + 1]) / 2
            assert (right[k_ + 1] - right[k_], wrong[k_ + 1] - wrong[k_]) == (gain, loss)
        assert turns(wrong)
        for k_ in range(1, LARGEST + 1):
            law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=k_)
            found = law.signs()
            for one, other in zip(found, exact[k_], strict=True):
                assert abs(Fraction(float(one)) - other) <= other * Fraction(16, 2**52)
            assert law.wrong_sign() == found.negative


def test_implementation_wrong_sign():
    budgets = range(1, 200)
    sham, destroy = 0.25, 0.375
    found = [cs.FiniteReplayLaw(sham, destroy, k=k_).wrong_sign() for k_ in budgets]
    ties = cs.FiniteReplayLaw(sham, destroy, k=200).tie_sequence()
    assert turns(found)
    # It is largest where the ratio of the ties reaches 1 − Δ.
    peak = next(k_ for k_ in budgets if ties[k_ + 1] / ties[k_] >= 1 - (destroy - sham))
    assert max(budgets, key=lambda k_: found[k_ - 1]) == peak
    exchanged = [cs.FiniteReplayLaw(destroy, sham, k=k_).wrong_sign() for k_ in budgets]
    assert all(abs(one - other) <= 1e-15 for one, other in zip(found, exchanged, strict=True))


def test_implementation_plan_budget():
    """One wrong sign in five at most: so at k = 1, then no longer, and again for good."""
    wrong = [exact_signs(Fraction(1, 4), Fraction(3, 8), k_)[0] for k_ in range(33)]
    plan = cs.plan_budget((1 / 4, 3 / 8), goal="wrong sign <= 0.2")
    for row in plan.rows:
        found = Fraction(row.value.point)
        assert abs(found - wrong[row.k]) <= wrong[row.k] * Fraction(16, 2**52)
    fails = [k_ for k_ in range(1, 33) if wrong[k_] > Fraction(1, 5)]
    assert fails == list(range(2, fails[-1] + 1))
    assert (plan.recommended.k, plan.recommended.stable_from_k) == (1, fails[-1] + 1)
