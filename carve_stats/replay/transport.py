"""`TransportFigures`: the requests that the replies of a run took over a network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from carve_stats._display import counted
from carve_stats.replay.records import Replay

__all__ = ["TransportFigures"]

_RATE_LIMITED = 429


@dataclass(slots=True, kw_only=True)
class TransportFigures:
    """Sums over the records that are added.

    Parameters
    ----------
    requests : int
        Requests sent, each attempt of a client counted.
    failed : int
        Of these, how many brought no reply: refused, broken off, or with an error's status.
    rate_limit_waits : int
        How many were refused with status 429 and followed by a pause.
    rate_limit_seconds : float
        The length of these pauses together.

    Examples
    --------
    >>> print(TransportFigures(requests=12, failed=1, rate_limit_waits=1, rate_limit_seconds=2.5))
    12 requests sent, 1 failed; 1 wait on rate limits, 2.5 s
    """

    requests: int = 0
    failed: int = 0
    rate_limit_waits: int = 0
    rate_limit_seconds: float = 0.0

    def add(self, replay: Replay) -> None:
        """Add the requests of one record.

        Parameters
        ----------
        replay : Replay
            The record; most have no requests.
        """
        for entry in replay.transport:
            status, waited = entry.get("status"), entry.get("waited") or 0.0
            self.requests += 1
            # Without a status nothing came back, unless a client that has none says no error.
            refused = isinstance(status, int) and status >= 400
            self.failed += refused or entry.get("error") is not None
            if status == _RATE_LIMITED and waited > 0:
                self.rate_limit_waits += 1
                self.rate_limit_seconds += waited

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)

    def __str__(self) -> str:
        text = f"{counted(self.requests, 'request')} sent, {self.failed} failed"
        if self.rate_limit_waits:
            waits = counted(self.rate_limit_waits, "wait")
            text += f"; {waits} on rate limits, {self.rate_limit_seconds:.1f} s"
        return text
