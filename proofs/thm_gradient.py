r"""Derivatives of the law, of its signs and of its ties by the flip rates

For $X \sim \mathrm{Bin}(k, p)$ and $b_k(x) = \mathrm{P}(X = x)$

[[pmf]]

so that for any function $h$ of the flips, with $Z \sim \mathrm{Bin}(k - 1, p)$,

[[expectation]]

For the score $\hat\Delta = Y/k_d - X/k_s$ of independent arms with any budgets this makes the
derivatives $\mathrm{P}'_-$, $\mathrm{P}'_+$ and $\mathrm{P}'_0$ of the three signs by $p_s$ sums of
terms of one sign, but for the tie: with $Z \sim \mathrm{Bin}(k_s - 1, p_s)$

[[negative]]

[[positive]]

[[zero]]

and by $p_d$ the same with the arms and the two signs exchanged. At one $k$ in both arms the tie
probabilities $t_k$ have derivatives by $p_s$, $t'_k$, that follow, with
$\sigma = p_s p_d + q_s q_d$, $q = 1 - p$ and $r = 1 - p_s - p_d$, from the recurrence

[[sequence]]

and those by $p_d$ likewise, with $p_s$ and $p_d$ exchanged.

Proof

1. $\frac{d}{dp}\,p^x(1-p)^{k-x} = x\,p^{x-1}(1-p)^{k-x} - (k-x)\,p^x(1-p)^{k-x-1}$, and
   $x\binom kx = k\binom{k-1}{x-1}$, $(k-x)\binom kx = k\binom{k-1}{x}$.
2. In $\sum_x h(x)\,\frac{d}{dp}b_k(x)$ the value $h(x)$ has the factor
   $k\,[b_{k-1}(x-1) - b_{k-1}(x)]$. The sum $k\sum_x [h(x+1) - h(x)]\,b_{k-1}(x)$ gives it the
   same.
3. For a given $Y = y$ let $h(x)$ be 1 if the score has the sign in question, and else 0, which
   depends on the side of $xk_d$ on which $yk_s$ is. It is on either side of both $xk_d$ and
   $(x+1)k_d$, between them, or equal to one. In these five cases $h(x+1) - h(x)$ is what the three
   formulas count.
4. The recurrence is that of thm_tie_closed_forms,
   $(k+1)t_{k+1} = (2k+1)\sigma t_k - k r^2 t_{k-1}$, differentiated by the rule for products; by
   $p_s$ the derivative of $\sigma$ is $2p_d - 1$, and that of $r$ is $-1$. Both are symmetric in
   $p_s$ and $p_d$.

References

- Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, 3rd edition (Wiley, 2005), chapter 3:
  the binomial law and its derivatives by $p$.
- Lehmann and Romano, *Testing Statistical Hypotheses*, section 3.4: why the signs are monotone in
  the rates.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import And, Derivative, Eq, Function, IndexedBase, Le, Lt, Sum, Symbol, binomial

import carve_stats as cs

p, p_s, p_d, sigma = sympy.symbols("p p_s p_d sigma", positive=True)
root = Symbol("r", real=True)
k = Symbol("k", integer=True, positive=True)
x = Symbol("x", integer=True, nonnegative=True)
t, slope, h = IndexedBase("t"), IndexedBase("t'"), IndexedBase("h")


def pmf(trials, flips):
    """The binomial probability."""
    return binomial(trials, flips) * p**flips * (1 - p) ** (trials - flips)


k_s, k_d = sympy.symbols("k_s k_d", integer=True, positive=True)
Z, Y = sympy.symbols("Z Y", integer=True, nonnegative=True)
P = Function(r"\mathrm{P}")
AT, NEXT = Z * k_d, (Z + 1) * k_d  # where Y·k_s makes a tie with Z flips, and with one more

FORMULAS = {
    "negative": Eq(Symbol("P'_-"), k_s * P(And(Le(AT, Y * k_s), Lt(Y * k_s, NEXT)))),
    "positive": Eq(Symbol("P'_+"), -k_s * P(And(Lt(AT, Y * k_s), Le(Y * k_s, NEXT)))),
    "zero": Eq(
        Symbol("P'_0"),
        k_s * (P(Eq(Y * k_s, NEXT, evaluate=False)) - P(Eq(Y * k_s, AT, evaluate=False))),
    ),
    "pmf": Eq(Derivative(pmf(k, x), p), k * (pmf(k - 1, x - 1) - pmf(k - 1, x))),
    "expectation": Eq(
        Derivative(Sum(h[x] * pmf(k, x), (x, 0, k)), p),
        k * Sum((h[x + 1] - h[x]) * pmf(k - 1, x), (x, 0, k - 1)),
    ),
    "sequence": Eq(
        (k + 1) * slope[k + 1],
        (2 * k + 1) * ((2 * p_d - 1) * t[k] + sigma * slope[k])
        + k * root * (2 * t[k - 1] - root * slope[k - 1]),
    ),
}
USED_BY = ("FiniteReplayLaw.signs_gradient", "FiniteReplayLaw.tie_sequence_gradient")


def test_step_1():
    said = FORMULAS["pmf"]
    shares = sympy.expand((said.lhs.doit() - said.rhs) / pmf(k, x)).args
    reduced = [
        sympy.simplify(sympy.powsimp(sympy.combsimp(share.rewrite(sympy.factorial)), force=True))
        for share in shares
    ]
    assert sympy.simplify(sum(reduced)) == 0


def test_step_2():
    said = FORMULAS["expectation"]
    (by_parts,) = said.rhs.atoms(Sum)
    assert said.rhs == k * by_parts
    (whole,) = said.lhs.atoms(Sum)
    assert said.lhs == Derivative(whole, p)
    assert whole.limits == ((x, 0, k),)
    assert whole.function == h[x] * pmf(k, x)
    assert by_parts.limits == ((x, 0, k - 1),)
    summand = sympy.expand(by_parts.function)
    # h(x) stands there as the h(x + 1) of x − 1, and as itself.
    factor = k * (summand.coeff(h[x + 1]).subs(x, x - 1) + summand.coeff(h[x]))
    assert sympy.expand(factor - FORMULAS["pmf"].rhs) == 0
    assert summand.coeff(h[x]).subs(x, k) == 0  # no h(k) by itself,
    assert summand.coeff(h[x + 1]).subs(x, -1) == 0  # and no h(0) of −1


def test_step_3():
    first, gap, beyond = sympy.symbols("first gap beyond", positive=True)
    share = Symbol("share", positive=True)
    here, there = first, first + gap  # x·k_d and (x + 1)·k_d
    between = first + gap * share / (1 + share)
    places = (first - beyond, here, between, there, there + beyond)

    def sign(height, at):
        """Of y·k_s − x·k_d, for y·k_s at one of the places."""
        return int(sympy.sign(sympy.factor(height - at)))

    changes = {
        which: [
            int(sign(height, there) == which) - int(sign(height, here) == which)
            for height in places
        ]
        for which in (-1, 0, 1)
    }
    orders = [(sign(height, here), sign(height, there)) for height in places]
    assert orders == [(-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)]
    for name, which in (("negative", -1), ("positive", 1), ("zero", 0)):
        inside = sympy.expand(FORMULAS[name].rhs / k_s)
        assert not inside.replace(P, lambda event: sympy.Integer(1)).has(k_s)
        # The five orders with the least whole numbers: here is 0, and there is 2.
        counted = [
            inside.subs({Z: 0, k_d: 2, k_s: 1, Y: height}).replace(
                P, lambda event: sympy.Integer(1 if event == sympy.true else 0)
            )
            for height in (-1, 0, 1, 2, 3)
        ]
        assert counted == changes[which]


def test_step_4():
    small = Symbol("small")

    def moved(value):
        """The recurrence's right side less its left, at p_s + small."""
        return value.subs(p_s, p_s + small)

    both = p_s * p_d + (1 - p_s) * (1 - p_d)
    square = (1 - p_s - p_d) ** 2
    ties = {at: t[at] + small * slope[at] for at in (k - 1, k, k + 1)}
    whole = (
        (2 * k + 1) * moved(both) * ties[k]
        - k * moved(square) * ties[k - 1]
        - (k + 1) * ties[k + 1]
    )
    linear = sympy.expand(whole).coeff(small, 1)
    said = FORMULAS["sequence"]
    right = said.rhs.subs({sigma: both, root: 1 - p_s - p_d})
    assert sympy.expand(linear - (right - said.lhs)) == 0
    exchange = {p_s: p_d, p_d: p_s}
    for symmetric in (both, square):
        assert sympy.expand(symmetric.subs(exchange, simultaneous=True) - symmetric) == 0


EIGHTHS = [Fraction(i, 8) for i in range(9)]  # doubles, so that nothing is rounded


def exact_binomial(trials, rate):
    return [comb(trials, i) * rate**i * (1 - rate) ** (trials - i) for i in range(trials + 1)]


def exact_slopes(trials, rate):
    """Derivatives of the binomial probabilities, each a polynomial's."""
    slopes = []
    for flips in range(trials + 1):
        rise, fall = Fraction(0), Fraction(0)
        if flips:
            rise = flips * rate ** (flips - 1) * (1 - rate) ** (trials - flips)
        if flips < trials:
            fall = (trials - flips) * rate**flips * (1 - rate) ** (trials - flips - 1)
        slopes.append(comb(trials, flips) * (rise - fall))
    return slopes


def by_sign(sham, destroy):
    """Sums over the outcomes with a negative, zero and positive score, and of their absolutes."""
    sums, sizes = [Fraction(0)] * 3, [Fraction(0)] * 3
    for (i, one), (j, other) in product(enumerate(sham), enumerate(destroy)):
        numerator = j * (len(sham) - 1) - i * (len(destroy) - 1)
        which = (numerator > 0) - (numerator < 0) + 1
        sums[which] += one * other
        sizes[which] += abs(one * other)
    return sums, sizes


def check(found, exact):
    for one, value, size in zip(found, *exact, strict=True):
        assert abs(Fraction(float(one)) - value) <= size * Fraction(32, 2**52)


def test_implementation_signs_gradient():
    for (i, j), rate_s, rate_d in product(
        [(1, 1), (3, 3), (9, 9), (2, 3), (4, 6), (5, 1)], EIGHTHS[::2] + EIGHTHS[3:4], EIGHTHS
    ):
        law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=i, k_destroy=j)
        by_sham, by_destroy = law.signs_gradient()
        sham, destroy = exact_binomial(i, rate_s), exact_binomial(j, rate_d)
        check(by_sham, by_sign(exact_slopes(i, rate_s), destroy))
        check(by_destroy, by_sign(sham, exact_slopes(j, rate_d)))


def test_implementation_tie_sequence_gradient():
    largest = 9
    for rate_s, rate_d in product(EIGHTHS[::2] + EIGHTHS[3:4], EIGHTHS):
        law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=largest)
        by_sham, by_destroy = law.tie_sequence_gradient()
        assert by_sham[0] == by_destroy[0] == 0
        for trials in range(1, largest + 1):
            sham, destroy = exact_binomial(trials, rate_s), exact_binomial(trials, rate_d)
            for found, one, other in (
                (by_sham, exact_slopes(trials, rate_s), destroy),
                (by_destroy, sham, exact_slopes(trials, rate_d)),
            ):
                exact = sum(x_ * y_ for x_, y_ in zip(one, other, strict=True))
                size = sum(abs(x_ * y_) for x_, y_ in zip(one, other, strict=True))
                assert abs(Fraction(float(found[trials])) - exact) <= size * Fraction(4, 2**52)
