"""For whoever has an estimator, a rule, an agent, an operator or a reader to verify.

Needs Hypothesis: ``pip install 'carve-stats[testing]'``.
"""

from __future__ import annotations

from carve_stats.errors import MissingExtraError

try:
    import hypothesis  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "carve_stats.testing needs Hypothesis: pip install 'carve-stats[testing]'"
    ) from None

from carve_stats.testing.conformance import verify_agent, verify_operator, verify_reader
from carve_stats.testing.rules.verify import verify_rule
from carve_stats.testing.strategies import (
    Log,
    counts,
    flip_sequences,
    laws,
    logs,
    populations,
)
from carve_stats.testing.verification import Check, Verification
from carve_stats.testing.verify import verify_estimator

__all__ = [
    "Check",
    "Log",
    "Verification",
    "counts",
    "flip_sequences",
    "laws",
    "logs",
    "populations",
    "verify_agent",
    "verify_estimator",
    "verify_operator",
    "verify_reader",
    "verify_rule",
]
