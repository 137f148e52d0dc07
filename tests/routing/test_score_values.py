"""`score_values`: equal to the enumeration of all choices of replays."""

import itertools
import json
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from routing_cases import published_log

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.score_values import score_values


def enumerated(flips, replays, k):
    """Probability of each number of flips among k of the replays, by listing all choices."""
    outcomes = [1] * flips + [0] * (replays - flips)
    chosen = [sum(some) for some in itertools.combinations(outcomes, k)]
    return {x: Fraction(chosen.count(x), len(chosen)) for x in set(chosen)}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_expected_questions_equal_enumeration(rng, k):
    n = 40
    sham, destroy = rng.integers(0, 4, (2, n)).tolist()
    before, after = rng.integers(0, 2, (2, n)).tolist()
    ids = [f"q{i}" for i in range(n + 1)]
    # The last has no replay, and so no score.
    counts = ReplayCounts(ids, [*sham, 0], [3] * n + [0], [*destroy, 0], [3] * n + [0])
    outcomes = Outcomes(ids, [*before, 0], {"strong": [*after, 1]})
    expected = defaultdict(Fraction)
    for x, y, o, f in zip(sham, destroy, before, after, strict=True):
        for (a, p), (b, q) in itertools.product(
            enumerated(x, 3, k).items(), enumerated(y, 3, k).items()
        ):
            expected[b - a, f - o] += p * q
    values = score_values(counts, outcomes, k=k)
    steps = range(-k, k + 1)
    assert values.score.tolist() == pytest.approx([step / k for step in steps])
    for name, value in (("repairs", 1), ("harms", -1), ("neither", 0)):
        wanted = [float(expected[step, value]) for step in steps]
        assert getattr(values, name) == pytest.approx(wanted)
    assert (values.k, values.made_k, values.unscored) == (k, 3, 1)


def test_published_log_at_its_own_k():
    values = score_values(*published_log())
    below, above = values.score < 0, values.score > 0
    tied = ~(below | above)
    for mask, repairs, harms, questions in (
        (below, 33, 19, 166), (tied, 65, 38, 372), (above, 64, 41, 711),
    ):  # fmt: skip
        assert values.repairs[mask].sum() == repairs
        assert values.harms[mask].sum() == harms
        total = values.repairs + values.harms + values.neither
        assert total[mask].sum() == questions
    assert values.unscored == 9


def test_questions_with_fewer_replays_are_left_out_and_order_never_matters(rng):
    n = 60
    replays = np.where(np.arange(n) % 6, 3, 2)
    flips = rng.binomial(replays, [[0.4], [0.6]])
    ids = np.array([f"q{i:02d}" for i in range(n)])
    before, after = rng.integers(0, 2, (2, n))

    def values(order):
        counts = ReplayCounts(ids[order], flips[0][order], replays[order], flips[1][order],
                              replays[order])  # fmt: skip
        outcomes = Outcomes(ids[order[::-1]], before[order[::-1]], {"s": after[order[::-1]]})
        return score_values(counts, outcomes).to_dict()

    first = values(np.arange(n))
    assert values(rng.permutation(n)) == first
    assert first["made_k"] == 3
    total = sum(row[name] for row in first["scores"] for name in ("repairs", "harms", "neither"))
    assert total == (replays == 3).sum()


def test_text_html_and_json():
    values = score_values(*published_log(), k=2)
    assert "of 3 by subsampling" in str(values)
    assert "net per 100" in str(values)
    assert "<th" in values._repr_html_()
    assert len(json.loads(json.dumps(values.to_dict(), allow_nan=False))["scores"]) == 5


def test_wrong_input():
    counts, outcomes = published_log()
    for k, word in ((4, "at most 3"), (0, "k"), (1.5, "k"), ("2", "k")):
        with pytest.raises(InputError, match=word):
            score_values(counts, outcomes, k=k)
    nothing = ReplayCounts(["a"], [0], [0], [0], [0])
    with pytest.raises(InputError, match="there is no score"):
        score_values(nothing, Outcomes(["a"], [0], {"strong": [1]}))
