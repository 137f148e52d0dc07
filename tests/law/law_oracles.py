"""References for large budgets, by mpmath; none shares a formula with the package."""

import math
from fractions import Fraction

import mpmath


def log_difference(k, p, u, d):
    """Log of P(Y − X = d): the convolution's terms, from the largest one down on both sides."""
    with mpmath.workdps(60):
        p, u = (mpmath.mpf(rate.numerator) / rate.denominator for rate in (p, u))
        odds = p * u / ((1 - p) * (1 - u))
        low, high = max(0, -d), min(k, k - d)

        def step(x):
            """The term at x + 1 over the term at x, which falls with x."""
            return odds * (k - x) * (k - x - d) / (mpmath.mpf(x + 1) * (x + d + 1))

        left, right = low, high
        while left < right:
            middle = (left + right) // 2
            left, right = (middle + 1, right) if step(middle) > 1 else (left, middle)
        mode = left
        total = term = mpmath.mpf(1)
        for x in range(mode, high):
            term *= step(x)
            total += term
            if term < 1e-25:
                break
        term = mpmath.mpf(1)
        for x in range(mode - 1, low - 1, -1):
            term /= step(x)
            total += term
            if term < 1e-25:
                break

        def log_binomial(j, rate):
            choose = mpmath.loggamma(k + 1) - mpmath.loggamma(j + 1) - mpmath.loggamma(k - j + 1)
            return choose + j * mpmath.log(rate) + (k - j) * mpmath.log(1 - rate)

        return mpmath.log(total) + log_binomial(mode, p) + log_binomial(mode + d, u)


def tie(k, p, u, digits=40):
    """Σ_j C(k,j)² (pu)^j ((1−p)(1−u))^(k−j) by its terms' ratios; p and u are fractions."""
    with mpmath.workdps(digits):
        p, u = (mpmath.mpf(r.numerator) / r.denominator for r in (p, u))
        odds = p * u / ((1 - p) * (1 - u))
        term = total = mpmath.mpf(1)
        for j in range(k):
            term *= odds * (mpmath.mpf(k - j) / (j + 1)) ** 2
            total += term
        return total * ((1 - p) * (1 - u)) ** k


def logarithm(fraction):
    """Natural logarithm of a positive fraction, to 30 digits."""
    with mpmath.workdps(30):
        return mpmath.log(fraction.numerator) - mpmath.log(fraction.denominator)


def expit(logit):
    """1 / (1 + exp(−logit)) as a fraction, to 60 digits."""
    with mpmath.workdps(60):
        value = 1 / (1 + mpmath.exp(-mpmath.mpf(logit)))
        scale = 10 ** (60 + max(0, math.ceil(-logit / 2.3)))
        return Fraction(int(mpmath.floor(value * scale)), scale)
