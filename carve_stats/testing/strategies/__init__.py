"""Hypothesis strategies: whatever a function takes, in all its forms, shrinking to the plainest.

Each has its file here; all of them are names of this package. Tests that compile kernels on their
first call, as those of laws do, want ``@settings(deadline=None)``: Hypothesis allows 200 ms.
"""

from __future__ import annotations

from carve_stats.testing.strategies.counts import counts
from carve_stats.testing.strategies.flip_sequences import flip_sequences
from carve_stats.testing.strategies.laws import laws
from carve_stats.testing.strategies.logs import Log, logs
from carve_stats.testing.strategies.populations import populations

__all__ = ["Log", "counts", "flip_sequences", "laws", "logs", "populations"]
