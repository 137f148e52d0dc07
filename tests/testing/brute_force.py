"""The smallest failure of each property by a search of the tests' own, in fractions.

Nothing here is shared with the package: sequences, their order, the score and each property are
written again, as plainly as they can be.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from fractions import Fraction

import numpy as np

__all__ = ["counterexample_in", "smallest"]

FAR = Fraction(1, 10**12)  # what no rounding of doubles reaches
SELF = [(), (1,), (None,), (0, 1), (1, 1)]


def call(function, sham, destroy, own=(0,)):
    """What a function says: a Fraction, None where undefined, or "raised"."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    arrays = "ndarray" in str(function.__annotations__)
    extra = {"self_flips": list(own), "k": max(len(sham), len(destroy))}
    arms = [
        np.array([math.nan if f is None else f for f in arm]) if arrays else list(arm)
        for arm in (sham, destroy)
    ]
    try:
        with np.errstate(all="ignore"):
            value = function(*arms, **{name: extra[name] for name in names[2:] if name in extra})
    except Exception:
        return "raised"
    if value is None or math.isnan(value):
        return None
    return float(value) if isinstance(value, np.floating) else value


def score(sham, destroy):
    sham, destroy = ([f for f in arm if f is not None] for arm in (sham, destroy))
    if not (sham and destroy):
        return None
    return Fraction(sum(destroy), len(destroy)) - Fraction(sum(sham), len(sham))


def differ(a, b):
    if a is None or b is None:
        return a is not b
    return abs(Fraction(a) - Fraction(b)) > FAR


def is_number(*values):
    return all(v is not None and not isinstance(v, str) for v in values)


def fails(name, f, sham, destroy):
    """Whether the property fails at these sequences."""
    value, right = call(f, sham, destroy), score(sham, destroy)
    has_invalid = None in sham + destroy
    if name == "undefined":
        return right is None and is_number(value)
    if name == "invalid replays":
        kept = [[x for x in arm if x is not None] for arm in (sham, destroy)]
        without = call(f, *kept)
        if not has_invalid or without == "raised":
            return False
        return value == "raised" or differ(value, without)
    if name == "repeatable":
        return len({call(f, sham, destroy) for _ in range(3)} | {value}) > 1
    if name == "input":
        arms = list(sham), list(destroy)
        f(*arms)
        return arms != (list(sham), list(destroy))
    if has_invalid:
        return False
    if name == "runs":
        return value == "raised"
    if right is None or value == "raised":
        return False
    if name == "value":
        return differ(value, right)
    if name == "self":
        others = [call(f, sham, destroy, own) for own in SELF]
        return any(other == "raised" or differ(other, value) for other in others)
    if name == "order":
        in_order = call(f, sorted(sham), sorted(destroy))
        return differ(in_order, value)
    if name in ("arm swap", "relabelling"):
        turned = [1 - x for x in sham], [1 - x for x in destroy]
        other = call(f, *(turned if name == "relabelling" else (destroy, sham)))
        return differ(other, None if value is None else -value)
    if value is None:
        return False
    if name == "sign":
        return (value > 0, value < 0) != (right > 0, right < 0)
    if name == "support":
        points = itertools.product(range(len(sham) + 1), range(len(destroy) + 1))
        lattice = [Fraction(y, len(destroy)) - Fraction(x, len(sham)) for x, y in points]
        return all(differ(value, point) for point in lattice)
    assert name == "thresholds"
    # Every threshold of the lattice, and both comparisons, as a user would write them.
    for x, y in itertools.product(range(len(sham) + 1), range(len(destroy) + 1)):
        theta = Fraction(y, len(destroy)) - Fraction(x, len(sham))
        written = theta if isinstance(value, int | Fraction) else float(theta)
        if (value <= written) != (right <= theta) or (value < written) != (right < theta):
            return True
    return False


def budget_fails(name, f, k_sham, k_destroy):
    """Whether expectation or law are wrong at some rates of a grid that tells polynomials apart."""
    values = {}
    for sham in itertools.product((0, 1), repeat=k_sham):
        for destroy in itertools.product((0, 1), repeat=k_destroy):
            values[sham, destroy] = call(f, sham, destroy)
    if "raised" in values.values():
        return False
    if name == "unbiased" and None in values.values():
        return True
    grid = [Fraction(i, 5) for i in range(1, 5)]  # four points fix a polynomial of degree 3
    for p, q in itertools.product(grid, repeat=2):
        law: dict = {}
        mean = Fraction(0)
        for (sham, destroy), value in values.items():
            weight = math.prod([p if x else 1 - p for x in sham])
            weight *= math.prod([q if y else 1 - q for y in destroy])
            right = score(sham, destroy)
            said = right if not differ(value, right) else value
            law[said] = law.get(said, 0) + weight
            law[right] = law.get(right, 0) - weight
            mean += 0 if value is None else weight * Fraction(value)
        if name == "unbiased" and abs(mean - (q - p)) > FAR:
            return True
        if name == "distribution" and any(law.values()):
            return True
    return False


@functools.cache
def sequences(largest):
    arms = [arm for k in range(largest + 1) for arm in itertools.product((0, 1, None), repeat=k)]

    def order(pair):
        both = pair[0] + pair[1]
        return len(both), both.count(1), *([2 if x is None else x for x in arm] for arm in pair)

    return sorted(itertools.product(arms, repeat=2), key=order)


def smallest(name, function, largest=3):
    """The smallest pair of sequences, or of budgets, at which a property fails."""
    if name in ("unbiased", "distribution"):
        budgets = itertools.product(range(1, largest + 1), repeat=2)
        ordered = sorted(budgets, key=lambda pair: (sum(pair), pair))
        return next((pair for pair in ordered if budget_fails(name, function, *pair)), None)
    return next((pair for pair in sequences(largest) if fails(name, function, *pair)), None)


def counterexample_in(name, words):
    """The sequences, or the budgets, that a counterexample in words speaks of."""
    if name == "unbiased" and "SHAM and" not in words.split(":")[0]:
        name = "undefined"  # one sequence without a value
    if name in ("unbiased", "distribution"):
        return tuple(map(int, re.match(r"(\d+) SHAM and (\d+) DESTROY", words).groups()))
    if name == "order":  # of two arrangements it names the one in order first
        words = words.partition("; of ")[2]
    arms = re.match(r"SHAM [^(]*\(([^)]*)\), DESTROY [^(]*\(([^)]*)\)", words).groups()
    codes = {"0": 0, "1": 1, "invalid": None}
    return tuple(tuple(codes[x] for x in arm.split(", ") if x) for arm in arms)
