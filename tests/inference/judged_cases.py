"""Replays and outcomes of a paper-like log, for strata and associations."""

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.outcomes import Outcomes


def judged_log(seed=1, n=200, clusters=20, k=3):
    """Ragged replays, some questions without a score, and outcomes with some not known."""
    rng = np.random.default_rng(seed)
    ids = [f"q{i:04d}" for i in rng.permutation(n)]
    video = np.array([f"v{j}" for j in rng.integers(clusters, size=n)])
    covered, correct = rng.random(n) < 0.45, rng.random(n) < 0.5
    p_sham = np.where(correct, 0.25, 0.42)
    replays = {
        arm: rng.integers(0 if arm == "sham" else 1, k + 1, n) for arm in ("sham", "destroy")
    }
    self_replays = rng.integers(0, 2, n)
    counts = ReplayCounts(
        ids,
        rng.binomial(replays["sham"], p_sham),
        replays["sham"],
        rng.binomial(replays["destroy"], 0.64),
        replays["destroy"],
        self_flips=rng.binomial(self_replays, 0.1),
        self_replays=self_replays,
        cluster=video,
    )
    known = rng.random(n) < 0.95
    recall = np.where(rng.random(n) < 0.9, np.round(rng.random(n), 1), np.nan)
    order = rng.permutation(n)
    outcomes = Outcomes(
        np.array(ids)[order],
        np.where(known, correct, np.nan)[order],
        {},
        cluster=video[order],
        covariates={
            "covered": [bool(x) if i % 17 else None for i, x in enumerate(covered[order])],
            "recall": recall[order],
            "kind": rng.choice(["a", "b", "c"], n)[order],
        },
    )
    return counts, outcomes
