"""Slow exact references, in whole numbers and fractions, that share no code with the package.

A float given as a probability is taken for the binary fraction that it is.
"""

from fractions import Fraction
from itertools import combinations
from math import comb


def sign(number):
    """−1, 0 or 1."""
    return (number > 0) - (number < 0)


def binomial(k, p):
    """The k + 1 binomial probabilities, as numerators over ``denominator(p)**k``."""
    p = Fraction(p)
    n, d = p.numerator, p.denominator
    return [comb(k, j) * n**j * (d - n) ** (k - j) for j in range(k + 1)], d**k


def score_pmf(k_sham, k_destroy, p_sham, p_destroy):
    """Probability of each score, by running through all the tables; scores ascending."""
    a, a_scale = binomial(k_sham, p_sham)
    b, b_scale = binomial(k_destroy, p_destroy)
    weights = {}
    for x in range(k_sham + 1):
        for y in range(k_destroy + 1):
            score = Fraction(y, k_destroy) - Fraction(x, k_sham)
            weights[score] = weights.get(score, 0) + a[x] * b[y]
    return {s: Fraction(weights[s], a_scale * b_scale) for s in sorted(weights)}


def score_cdf(k_sham, k_destroy, p_sham, p_destroy, theta):
    """P(score <= theta) for a rational theta."""
    pmf = score_pmf(k_sham, k_destroy, p_sham, p_destroy)
    return sum((probability for score, probability in pmf.items() if score <= theta), Fraction(0))


def signs(k_sham, k_destroy, p_sham, p_destroy):
    """P(score < 0), P(score = 0) and P(score > 0); quick enough for k = 100 and any float p."""
    a, a_scale = binomial(k_sham, p_sham)
    b, b_scale = binomial(k_destroy, p_destroy)
    at_most = [0]  # cumulative sums of b, so that each x takes one multiplication a sign
    for weight in b:
        at_most.append(at_most[-1] + weight)
    shares = {-1: 0, 0: 0, 1: 0}
    for x in range(k_sham + 1):
        below = sum(1 for y in range(k_destroy + 1) if y * k_sham < x * k_destroy)
        upto = sum(1 for y in range(k_destroy + 1) if y * k_sham <= x * k_destroy)
        shares[-1] += a[x] * at_most[below]
        shares[0] += a[x] * (at_most[upto] - at_most[below])
        shares[1] += a[x] * (at_most[-1] - at_most[upto])
    return tuple(Fraction(shares[s], a_scale * b_scale) for s in (-1, 0, 1))


def tie(k_sham, k_destroy, p_sham, p_destroy):
    """P(score = 0)."""
    return signs(k_sham, k_destroy, p_sham, p_destroy)[1]


def signs_gradient(k_sham, k_destroy, p_sham, p_destroy):
    """Derivatives of the three signs by p_sham, then by p_destroy.

    By the product rule on C(k,j) p^j (1−p)^(k−j), which is not the identity the package uses.
    """

    def slopes(k, p):
        p = Fraction(p)
        return [
            comb(k, j)
            * (
                (j * p ** (j - 1) * (1 - p) ** (k - j) if j else 0)
                - ((k - j) * p**j * (1 - p) ** (k - j - 1) if j < k else 0)
            )
            for j in range(k + 1)
        ]

    def values(k, p):
        numerators, scale = binomial(k, p)
        return [Fraction(n, scale) for n in numerators]

    def summed(a, b):
        shares = {-1: Fraction(0), 0: Fraction(0), 1: Fraction(0)}
        for x, first in enumerate(a):
            for y, second in enumerate(b):
                shares[sign(y * k_sham - x * k_destroy)] += first * second
        return tuple(shares[s] for s in (-1, 0, 1))

    return (
        summed(slopes(k_sham, p_sham), values(k_destroy, p_destroy)),
        summed(values(k_sham, p_sham), slopes(k_destroy, p_destroy)),
    )


def subsampled_signs(x, y, k_sham, k_destroy, to_k_sham, to_k_destroy):
    """Share of each sign over every way to keep some of the replays, x and y of which flipped."""
    sham = [1] * x + [0] * (k_sham - x)
    destroy = [1] * y + [0] * (k_destroy - y)
    shares = {-1: 0, 0: 0, 1: 0}
    for kept_sham in combinations(sham, to_k_sham):
        for kept_destroy in combinations(destroy, to_k_destroy):
            shares[sign(sum(kept_destroy) * to_k_sham - sum(kept_sham) * to_k_destroy)] += 1
    return tuple(Fraction(shares[s], sum(shares.values())) for s in (-1, 0, 1))


def relative_error(value, exact):
    """|value − exact| / |exact|, exactly; 0 where both are 0, and infinite where one is."""
    value, exact = Fraction(float(value)), Fraction(exact)
    if exact == 0:
        return 0.0 if value == 0 else float("inf")
    return float(abs(value - exact) / abs(exact))
