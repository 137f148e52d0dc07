"""What tests of the paper's tables share: synthetic runs, and figures in loops."""

import csv
import math
from collections import defaultdict
from importlib.resources import files

import numpy as np
import pytest
from scipy.special import stdtrit

import carve_stats as cs
from carve_stats.outcomes import Answerer
from carve_stats.report import paper_tables

N, VIDEOS = 120, 15


PUBLISHED = {
    "1": "table1_flip_rates", "2": "table2_strata", "3": "table3_policies",
    "4": "table4_accuracy", "A1": "a1_reproducibility", "A2": "a2_tie_excess",
    "A3": "a3_components", "A4": "a4_selective", "A5": "a5_transfer",
}  # fmt: skip


def draw_backbone(seed):
    """Three runs over the same questions, an extension of the first, and their outcomes."""
    drawn = cs.Population.paper().draw(N, clusters=VIDEOS, rng=7)
    rng = np.random.default_rng(seed)
    runs = {
        name: drawn.replay(k=3, p_self=0.2, rng=int(rng.integers(10**9)))
        for name in ("seed 1", "seed 2", "seed 3")
    }
    more = drawn.replay(k=7, p_self=0.2, rng=int(rng.integers(10**9)))
    runs["extended"] = runs["seed 1"].pool(more)
    counts = runs["seed 1"]
    original = rng.random(N) < 0.45
    strong = np.where(original, rng.random(N) < 0.7, rng.random(N) < 0.35)
    look_more = np.where(rng.random(N) < 0.05, ~original, original)
    outcomes = cs.Outcomes(
        counts.question,
        original,
        {
            "strong": Answerer(strong.astype(float), tokens=np.full(N, 9000.0)),
            "look_more": look_more,
        },
        cluster=counts.cluster,
        original_tokens=rng.integers(20_000, 40_000, N),
        covariates={
            "covered": rng.random(N) < 0.4,
            "confidence": rng.integers(0, 8, N).astype(float),
        },
    )
    return runs, outcomes


def published_rows(name):
    path = files(paper_tables) / "published" / f"{PUBLISHED[name]}.csv"
    return list(csv.DictReader(path.read_text().splitlines()))


def mean_interval(values, videos, level=0.95):
    """Mean and cluster t interval of plain lists, by the formula and in loops."""
    values, n = list(map(float, values)), len(values)
    mean = sum(values) / n
    sums = defaultdict(float)
    for value, video in zip(values, videos, strict=True):
        sums[video] += value - mean
    v = len(sums)
    se = math.sqrt(v / (v - 1) * sum(s * s for s in sums.values())) / n
    half = stdtrit(v - 1, (1 + level) / 2) * se
    return mean, mean - half, mean + half


def assert_figure(one, expected):
    assert (one.value, one.low, one.high) == pytest.approx(expected)


def columns(counts, outcomes):
    """Plain lists, in the order of the ids."""
    data = counts.to_dict()
    correct = [int(x) for x in outcomes.original_correct]
    strong = [int(x) for x in outcomes.alternatives["strong"].correct]
    return data, correct, strong


def rates(data, arm):
    pairs = zip(data[f"{arm}_flips"], data[f"{arm}_replays"], strict=True)
    return [flips / replays for flips, replays in pairs]


def scores(data):
    pairs = zip(rates(data, "destroy"), rates(data, "sham"), strict=True)
    return [round(destroy - sham, 9) for destroy, sham in pairs]


def in_strata(values, data, outcomes):
    covered = outcomes.covariates["covered"].tolist()
    cells = defaultdict(lambda: ([], []))
    rows = zip(values, data["cluster"], covered, outcomes.original_correct, strict=True)
    for value, video, cover, right in rows:
        cell = cells["yes" if cover == "true" else "no", "yes" if right else "no"]
        cell[0].append(value)
        cell[1].append(video)
    return cells
