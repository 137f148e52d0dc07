"""Slow references for the tie excess: every pair of flips enumerated, in plain Python."""

import math
from fractions import Fraction
from itertools import combinations


def pmf(k, p):
    return [math.comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(k + 1)]


def sign(x, k_sham, y, k_destroy):
    """0, 1 or 2: the score is negative, zero or positive."""
    score = Fraction(y, k_destroy) - Fraction(x, k_sham)
    return 1 + (score > 0) - (score < 0)


def homogeneous(k_sham, k_destroy, p_sham, p_destroy):
    """Sign probabilities; exact for Fractions, and analytic, so complex numbers work."""
    shares = [0, 0, 0]
    for x, a in enumerate(pmf(k_sham, p_sham)):
        for y, b in enumerate(pmf(k_destroy, p_destroy)):
            shares[sign(x, k_sham, y, k_destroy)] += a * b
    return shares


def subsampled(x, k_sham, y, k_destroy, to_sham, to_destroy):
    """Sign shares over every choice of the replays that are kept, as Fractions."""
    sham = [1] * x + [0] * (k_sham - x)
    destroy = [1] * y + [0] * (k_destroy - y)
    shares, choices = [0, 0, 0], 0
    for a in combinations(sham, to_sham):
        for b in combinations(destroy, to_destroy):
            shares[sign(sum(a), to_sham, sum(b), to_destroy)] += 1
            choices += 1
    return [Fraction(share, choices) for share in shares]


def excess(rows, weights=None, at=None):
    """Excess of the three signs; rows are (x, k_sham, y, k_destroy).

    With `at` every row is subsampled to that pair and predicted there.
    """
    weights = [1] * len(rows) if weights is None else weights
    total = sum(weights)
    p_sham = sum(w * Fraction(x, k) for w, (x, k, _, _) in zip(weights, rows, strict=True)) / total
    p_destroy = (
        sum(w * Fraction(y, k) for w, (_, _, y, k) in zip(weights, rows, strict=True)) / total
    )
    result = [0, 0, 0]
    for weight, (x, k_sham, y, k_destroy) in zip(weights, rows, strict=True):
        if at is None:
            seen = [0, 0, 0]
            seen[sign(x, k_sham, y, k_destroy)] = 1
            expected = homogeneous(k_sham, k_destroy, p_sham, p_destroy)
        else:
            seen = subsampled(x, k_sham, y, k_destroy, *at)
            expected = homogeneous(*at, p_sham, p_destroy)
        for s in range(3):
            result[s] += weight * (seen[s] - expected[s]) / total
    return result


def influence(rows, at=None):
    """n times the derivative of the excess by each question's weight, to full precision.

    A complex step: the excess is a rational function of the weights, so f(w + ih) = f + ih f′
    with an error of order h².
    """
    n, step = len(rows), 1e-30
    derivative = []
    for i in range(n):
        weights = [1.0 + 0j] * n
        weights[i] += step * 1j
        floats = [z.imag / step * n for z in _excess_of_floats(rows, weights, at)]
        derivative.append(floats)
    return derivative


def _excess_of_floats(rows, weights, at):
    total = sum(weights)
    p_sham = sum(w * (x / k) for w, (x, k, _, _) in zip(weights, rows, strict=True)) / total
    p_destroy = sum(w * (y / k) for w, (_, _, y, k) in zip(weights, rows, strict=True)) / total
    result = [0, 0, 0]
    for weight, (x, k_sham, y, k_destroy) in zip(weights, rows, strict=True):
        if at is None:
            seen = [0.0, 0.0, 0.0]
            seen[sign(x, k_sham, y, k_destroy)] = 1.0
            expected = homogeneous(k_sham, k_destroy, p_sham, p_destroy)
        else:
            seen = [float(share) for share in subsampled(x, k_sham, y, k_destroy, *at)]
            expected = homogeneous(*at, p_sham, p_destroy)
        for s in range(3):
            result[s] += weight * (seen[s] - expected[s]) / total
    return result


def null_variance(budgets, p_sham, p_destroy, at=None):
    """n Var of the three excesses when all questions have these rates, by enumeration.

    Each question's linear part, sign share − ḡ_sham·x/k − ḡ_destroy·y/k, is a function of its
    flips; the mean gradient ḡ is a complex step.
    """
    step, n = 1e-30, len(budgets)
    gradient = [[0.0, 0.0] for _ in range(3)]
    for k_sham, k_destroy in budgets:
        pair = (k_sham, k_destroy) if at is None else at
        by_sham = homogeneous(*pair, p_sham + step * 1j, p_destroy)
        by_destroy = homogeneous(*pair, p_sham, p_destroy + step * 1j)
        for s in range(3):
            gradient[s][0] += by_sham[s].imag / step / n
            gradient[s][1] += by_destroy[s].imag / step / n
    variance = [0.0, 0.0, 0.0]
    for k_sham, k_destroy in budgets:
        first, second = [0.0] * 3, [0.0] * 3
        for x, a in enumerate(pmf(k_sham, p_sham)):
            for y, b in enumerate(pmf(k_destroy, p_destroy)):
                if at is None:
                    seen = [float(sign(x, k_sham, y, k_destroy) == s) for s in range(3)]
                else:
                    seen = [float(f) for f in subsampled(x, k_sham, y, k_destroy, *at)]
                for s in range(3):
                    linear = seen[s] - gradient[s][0] * x / k_sham - gradient[s][1] * y / k_destroy
                    first[s] += a * b * linear
                    second[s] += a * b * linear**2
        for s in range(3):
            variance[s] += (second[s] - first[s] ** 2) / n
    return variance
