"""Which run extends another: what counts can tell, and what they cannot."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from paper_table_cases import N

import carve_stats as cs
from carve_stats.counts import Ledger
from carve_stats.report.paper_tables import build_tables
from carve_stats.report.paper_tables.extensions import extends, holding_chance
from carve_stats.report.paper_tables.inputs import PaperInputs

MAY = "run 'b' may extend run 'a' (its counts allow it; too few questions to tell)"


def by_enumeration(k, k_held, flips):
    """Of all ways to say which replays flip, those where the longer run holds the shorter's."""
    ways = [sum(i < k_held for i in chosen) for chosen in combinations(range(k + k_held), flips)]
    held = [x <= flips - x and k_held - x <= k - (flips - x) for x in ways]
    return Fraction(sum(held), len(held))


def test_the_chance_is_exact():
    cases = [(4, 2, 3), (4, 2, 2), (3, 1, 2), (5, 3, 4), (2, 1, 1), (3, 3, 2), (4, 2, 6), (3, 2, 0)]
    for sham, destroy in product(cases, repeat=2):
        arms = {}
        for arm, (k, k_held, flips) in (("sham", sham), ("destroy", destroy)):
            least = next(
                x for x in range(k_held + 1) if x <= flips - x and k_held - x <= k - (flips - x)
            )
            arms[arm] = (flips - least, k, least, k_held)
        a = cs.ReplayCounts(["q", "r"], *(2 * [arms[x][i]] for x in arms for i in (0, 1)))
        b = cs.ReplayCounts(["q", "r"], *(2 * [arms[x][i]] for x in arms for i in (2, 3)))
        chance = holding_chance(a, b)
        if sham[0] == sham[1] and destroy[0] == destroy[1]:
            assert chance is None
        else:
            expected = prod(by_enumeration(*one) for one in (sham, destroy)) ** 2
            assert chance == pytest.approx(float(expected), rel=1e-12)


def test_counts_that_no_extension_has():
    a = cs.ReplayCounts(["q"], [1], [5], [1], [5])
    assert holding_chance(a, cs.ReplayCounts(["q"], [2], [3], [1], [3])) is None  # a flip more
    assert (
        holding_chance(
            cs.ReplayCounts(["q"], [4], [5], [1], [5]), cs.ReplayCounts(["q"], [1], [3], [1], [3])
        )
        is None
    )  # fewer kept
    assert holding_chance(a, a) is None


@pytest.mark.parametrize("k", [(3, 10), (3, 4), (1, 8)])
def test_independent_runs_are_hardly_ever_taken_for_an_extension(k):
    population = cs.Population.paper()
    allowed = 0
    for n, seed in product((2, 4, 8, 16, 32, 60), range(60)):
        drawn = population.draw(n, rng=seed)
        runs = {
            name: drawn.replay(k=one, p_self=0.2, rng=1000 * seed + i)
            for i, (name, one) in enumerate(zip("ab", k, strict=True))
        }
        said = extends(runs, "b", "a")
        assert said is not True
        allowed += said is None
    assert allowed > 5  # counts alone would have said so


def test_few_questions_stay_two_runs_and_are_told(inputs):
    few = np.arange(N) < 8
    runs = {"a": inputs.runs["seed 1"].select(few), "b": inputs.runs["extended"].select(few)}
    table_1, a1 = build_tables(PaperInputs(runs=runs), ["1", "A1"])
    assert "(2 runs)" in table_1.caption
    for table in (table_1, a1):
        assert MAY in table.notes
    pooled = PaperInputs(runs=runs, pooled=runs["a"].pool(runs["b"]))
    (table,) = build_tables(pooled, ["1"])
    assert f"{MAY}: if so, added up, they are counted twice" in table.notes
    # What the reader saw in the records decides.
    note = "the replays of run 'a' are in run 'b' as well"
    seen = {name: Ledger(0, 0, notes=(note,), shared={other: note},
                         held_by=(other,) if name == "a" else ())
            for name, other in (("a", "b"), ("b", "a"))}  # fmt: skip
    told = {name: counts.with_ledger(seen[name]) for name, counts in runs.items()}
    for table in build_tables(PaperInputs(runs=told), ["1", "A2"]):
        assert MAY not in table.notes
        assert note not in table.notes
    assert "(1 run)" in build_tables(PaperInputs(runs=told), ["1"])[0].caption


def test_an_extension_without_self_replays_is_one(inputs):
    data = {k: v for k, v in inputs.runs["extended"].to_dict().items() if not k.startswith("self")}
    runs = {"seed 1": inputs.runs["seed 1"], "more": cs.ReplayCounts(**data)}
    table, a1 = build_tables(PaperInputs(runs=runs), ["1", "A1"])
    assert "(1 run)" in table.caption
    assert a1.missing is not None


def test_shared_replays_are_told_where_both_runs_are_used(inputs):
    note = "some replays of run 'seed 2' are in run 'seed 3' as well"
    runs = {
        name: inputs.runs[name].with_ledger(
            Ledger(0, 0, notes=(note, "read"), shared={other: note})
        )
        for name, other in (("seed 2", "seed 3"), ("seed 3", "seed 2"))
    }
    for table in build_tables(PaperInputs(runs=runs), ["1", "A1"]):
        assert note in table.notes
    given = replace(inputs, runs=runs)
    for table in (
        *build_tables(given, ["2", "3", "4", "A2", "A3", "A4", "A5"]),
        *build_tables(replace(given, run="seed 3"), ["1", "2", "A2"]),
    ):
        assert not any(note in one for one in table.notes)
        assert table.name != "1" or "read" in table.notes
