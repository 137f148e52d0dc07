"""`Programs`: as many processes of one program as replays are made at a time, started anew."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from carve_stats.errors import AgentError
from carve_stats.replay.agents._program import Program, ProgramError, ProgramLeftError

__all__ = ["Programs"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

_FAILURES_AT_FIRST = 3


class Programs:
    """Processes of one program; each request takes one that is idle. Threads may share them.

    Parameters
    ----------
    arguments : sequence of str
        The program, and what it is started with.
    directory : Path
        Its current directory.
    most : int or None
        How many processes there are at a time; as many as threads ask if None.
    timeout : float
        Seconds that a reply may take.
    """

    def __init__(
        self, arguments: Sequence[str], directory: Path, *, most: int | None, timeout: float
    ) -> None:
        self._arguments = arguments
        self._directory = directory
        self._timeout = timeout
        self._places: AbstractContextManager[object] = (
            nullcontext() if most is None else threading.BoundedSemaphore(most)
        )
        self._lock = threading.Lock()
        self._idle: list[Program] = []
        self._busy: set[Program] = set()
        self._failed_at_first = 0
        self._ever_replied = False

    def ask(self, line: bytes, read: Callable[[bytes], T]) -> T:
        """Put a line to one process, and read the one that it writes for it.

        Parameters
        ----------
        line : bytes
            With its newline.
        read : callable
            Makes something of the line; a `ProgramError` of it is a failure of the process.

        Returns
        -------
        object
            What `read` gives.

        Raises
        ------
        ProgramError
            The process failed. The next line goes to another one.
        AgentError
            It cannot be started, or has never replied and failed for the third time.
        """
        with self._places:
            try:
                try:
                    return self._ask(line, read)
                except _LeftBeforeError:
                    return self._ask(line, read)
            except ProgramError as error:
                self._count_failure(error)
                _log.warning("%s; it is started again for the next request", error)
                raise

    def close(self) -> None:
        """End all processes; they are started again if something is asked."""
        with self._lock:
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for program in busy:
            program.kill()  # the thread that waits for its reply sees its end
        for program in idle:
            program.close_input()
        for program in idle:
            program.stop()

    def _ask(self, line: bytes, read: Callable[[bytes], T]) -> T:
        program = self._take()
        try:
            written = program.ask(line, timeout=self._timeout)
        except ProgramLeftError as error:
            # It had gone before the line came, as a program does that answers once.
            kind = _LeftBeforeError if program.replies else ProgramError
            raise kind(str(error)) from None
        finally:
            with self._lock:
                self._busy.discard(program)
        usable = True
        try:
            reply = read(written)
        except ProgramError:
            usable = False
            program.stop(patient=False)
            raise
        finally:
            if usable:
                with self._lock:
                    self._ever_replied = True
                    self._idle.append(program)
        return reply

    def _take(self) -> Program:
        while True:
            with self._lock:
                program = self._idle.pop() if self._idle else None
            if program is None:
                program = Program(self._arguments, self._directory)
            elif not program.is_idle():
                program.stop(patient=False)
                continue
            with self._lock:
                self._busy.add(program)
            return program

    def _count_failure(self, error: ProgramError) -> None:
        with self._lock:
            self._failed_at_first += 1
            hopeless = not self._ever_replied and self._failed_at_first >= _FAILURES_AT_FIRST
        if hopeless:
            raise AgentError(
                f"the program has failed {self._failed_at_first} times without ever having"
                f" replied, the last time so: {error}; try it by hand, then resume the run"
            ) from error


class _LeftBeforeError(ProgramError):
    """It ended before the request came, as far as can be told."""
