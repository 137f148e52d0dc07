"""The order of the tables of one budget from the most extreme, decided on whole numbers.

A table is x of m SHAM flips and y of n DESTROY flips; s = x + y, N = m + n. Every function
answers for all tables, as nested lists with entry [x][y].
"""

from __future__ import annotations

from itertools import groupby
from math import comb

__all__ = ["Integers", "barnard_keys", "boschloo_keys", "fisher_tails", "half_expansion", "weights"]

Integers = list[list[int]]


def weights(m: int, n: int) -> Integers:
    """C(m, x) C(n, y)."""
    destroy = [comb(n, y) for y in range(n + 1)]
    return [[comb(m, x) * ways for ways in destroy] for x in range(m + 1)]


def half_expansion(degree: int) -> Integers:
    """Rows j = 1, 2 …: the coefficient of h^j in (1 + h)^s (1 − h)^(degree − s), for each s.

    With π = (1 + h)/2 they are, up to factors, the derivatives of π^s (1 − π)^(degree − s) at
    π = ½: Krawtchouk's polynomials, by their recurrence.
    """
    rows = [[1] * (degree + 1), [2 * s - degree for s in range(degree + 1)]]
    for j in range(1, degree):
        rows.append(
            [
                (rows[1][s] * rows[j][s] - (degree - j + 1) * rows[j - 1][s]) // (j + 1)
                for s in range(degree + 1)
            ]
        )
    return rows[1:]


def barnard_keys(m: int, n: int, *, pooled: bool) -> Integers:
    """Whole numbers in the order of z, the difference of the rates over its standard error.

    The order of z is that of sign(d)·d²/v with d = y·m − x·n and, up to factors that all
    tables share, v = s(N − s) pooled and v = x(m − x)n³ + y(n − y)m³ unpooled. Where v = 0
    and d is not, z is infinite.
    """

    def variance(x: int, y: int) -> int:
        if pooled:
            return (x + y) * (m + n - x - y)
        return x * (m - x) * n**3 + y * (n - y) * m**3

    beyond = (m * n) ** 2 + 1  # d² is less, and v at least 1
    bits = _enough_bits(max(variance(x, y) for x in range(m + 1) for y in range(n + 1)))

    def key(x: int, y: int) -> int:
        difference, v = y * m - x * n, variance(x, y)
        square = (difference**2 << bits) // v if v else beyond << bits
        return square if difference > 0 else -square if difference < 0 else 0

    return [[key(x, y) for y in range(n + 1)] for x in range(m + 1)]


def fisher_tails(m: int, n: int, *, two_sided: bool) -> Integers:
    """C(N, s) times Fisher's p-value: the chance, given s, of tables as extreme.

    As extreme are the tables of the same s with as many DESTROY flips or more; two-sided, all
    those that are no more probable.
    """
    ways = weights(m, n)
    tails = [[0] * (n + 1) for _ in range(m + 1)]

    def order(table: tuple[int, int]) -> int:
        x, y = table
        return ways[x][y] if two_sided else -y

    for s in range(m + n + 1):
        tables = sorted(((s - y, y) for y in range(max(s - m, 0), min(n, s) + 1)), key=order)
        total = 0
        for _, group in groupby(tables, key=order):
            equals = list(group)
            total += sum(ways[x][y] for x, y in equals)
            for x, y in equals:
                tails[x][y] = total
    return tails


def boschloo_keys(m: int, n: int, *, two_sided: bool) -> Integers:
    """Whole numbers in the order of Fisher's p-value, the smallest p-value last."""
    total = m + n
    bits = _enough_bits(comb(total, total // 2))
    return [
        [-((tail << bits) // comb(total, x + y)) for y, tail in enumerate(row)]
        for x, row in enumerate(fisher_tails(m, n, two_sided=two_sided))
    ]


def _enough_bits(largest: int) -> int:
    """Binary places that tell apart any two fractions with denominators up to the largest.

    They differ by at least 1/largest², so that floor(fraction·2**bits) is as good as the
    fraction for comparisons.
    """
    return 2 * largest.bit_length()
