"""`RequestGate`: how many requests may be on their way to a server, and when the next may go.

A server that says "too many requests" halves the number, and nothing is sent until the time that
it names; each round of successes gives one back. One gate belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

__all__ = ["Clock", "GateClosedError", "RequestGate", "pause_after", "read_retry_after"]

_log = logging.getLogger(__name__)

_FIRST_PAUSE = 1.0
_FIRST_PAUSE_IF_TOLD = 0.1  # a server that says "retry after 0 s" again and again is not believed
_LONGEST_PAUSE = 60.0


class Clock:
    """Time and sleep; tests have one that takes no time."""

    def time(self) -> float:
        """Seconds from some beginning."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let other coroutines go on for so long."""
        await asyncio.sleep(seconds)


class GateClosedError(Exception):
    """A server's pause that is longer than anybody's patience; holds its seconds."""


class RequestGate:
    """Lets requests pass, as many at a time as the server has shown to bear.

    Parameters
    ----------
    clock : Clock
        Time and sleep.

    Attributes
    ----------
    allowed : int or None
        Requests at a time; None while the server never complained, or no longer does.
    in_flight : int
        Requests that are on their way now.
    """

    def __init__(self, clock: Clock) -> None:
        self.allowed: int | None = None
        self.in_flight = 0
        self._clock = clock
        self._most = 0  # in flight when the server first complained
        self._waves = 0
        self._successes = 0
        self._resume_at = 0.0
        self._said_until = 0.0
        self._changed = asyncio.Event()

    async def enter(self, patience: float = math.inf) -> int:
        """Wait until a request may be sent, and count it; `leave` is to follow.

        Parameters
        ----------
        patience : float
            Seconds that it may wait for the server's pause to be over.

        Returns
        -------
        int
            The wave that the request belongs to, for `limit`.

        Raises
        ------
        GateClosedError
            The pause is longer.
        """
        give_up_at = self._clock.time() + patience
        while True:
            pause = self._resume_at - self._clock.time()
            if pause > 0:
                if self._resume_at > give_up_at:
                    raise GateClosedError(pause)
                await self._clock.sleep(pause)
            elif self.allowed is not None and self.in_flight >= self.allowed:
                self._changed.clear()
                await self._changed.wait()
            else:
                self.in_flight += 1
                return self._waves

    def leave(self) -> None:
        """A request has its answer, or has failed."""
        self.in_flight -= 1
        self._changed.set()

    def succeed(self) -> None:
        """A request was answered: so many in a row as are allowed earn one more at a time."""
        self._successes += 1
        if self.allowed is not None and self._successes >= self.allowed:
            self._successes = 0
            self.allowed += 1
            if self.allowed >= self._most:
                self.allowed = None
            self._changed.set()

    def limit(self, wave: int, pause: float, reason: str) -> None:
        """The server complained: fewer requests at a time, and none before the pause is over.

        Parameters
        ----------
        wave : int
            What `enter` gave for the request. Requests that were on their way together halve
            the number once.
        pause : float
            Seconds.
        reason : str
            What the server said, for the warning.
        """
        self._resume_at = max(self._resume_at, self._clock.time() + pause)
        if wave != self._waves:
            return
        self._waves += 1
        self._successes = 0
        # The request that was refused has left already.
        at_a_time = self.in_flight + 1 if self.allowed is None else self.allowed
        self._most = max(self._most, at_a_time)
        self.allowed = max(1, at_a_time // 2)
        requests = "request" if self.allowed == 1 else "requests"
        _log.warning(
            "waiting on rate limit: %s (%s), %d %s at a time",
            _seconds(pause), reason, self.allowed, requests,
        )  # fmt: skip

    def tell_pause(self, pause: float, reason: str) -> None:
        """Say that requests are sent again after a failure: once for all of one time.

        Parameters
        ----------
        pause : float
            Seconds.
        reason : str
            What went wrong.
        """
        now = self._clock.time()
        if now >= self._said_until:
            self._said_until = now + max(pause, _FIRST_PAUSE)
            _log.warning("server in trouble, trying again in %s: %s", _seconds(pause), reason)


def pause_after(failures: int, retry_after: float | None) -> float:
    """How long to wait after so many failures of a request in a row.

    Parameters
    ----------
    failures : int
        From 1.
    retry_after : float or None
        What the server asked for, in seconds.

    Returns
    -------
    float
        Seconds: at least what the server asked for, and twice as long each time up to a minute.

    Examples
    --------
    >>> [pause_after(failures, None) for failures in (1, 2, 3, 20)]
    [1.0, 2.0, 4.0, 60.0]
    >>> pause_after(1, 12.0)
    12.0
    """
    first = _FIRST_PAUSE if retry_after is None else _FIRST_PAUSE_IF_TOLD
    growing: float = min(first * 2.0 ** min(failures - 1, 20), _LONGEST_PAUSE)
    return max(growing, retry_after or 0.0)


def read_retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Read how long a server asks to wait.

    Parameters
    ----------
    headers : mapping of str to str
        Of its response: ``retry-after-ms``, or ``retry-after`` with seconds or a date.
    now : float
        Unix time, in seconds.

    Returns
    -------
    float or None
        Seconds, not negative; None where it says nothing that can be read.

    Examples
    --------
    >>> read_retry_after({"retry-after": "12"}, now=0.0)
    12.0
    >>> read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=40.0)
    20.0
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    aware = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return max(0.0, aware.timestamp() - now)


def _seconds(pause: float) -> str:
    return f"{pause:.0f} s" if pause >= 9.5 else f"{pause:.2g} s"
