"""For authors of agents, operators and readers: whether theirs does what the others rely on.

What an agent is given and returns, `Agent`, `ReplayRequest`, `Evidence` and `ReplayReply`, is in
`carve_stats.replay.protocols`; `Operator` is in `carve_stats.replay.operators`.
"""

from __future__ import annotations

from carve_stats.testing.conformance.agents import verify_agent
from carve_stats.testing.conformance.operators import verify_operator
from carve_stats.testing.conformance.readers import verify_reader

__all__ = ["verify_agent", "verify_operator", "verify_reader"]
