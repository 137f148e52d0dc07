"""`Program`: one process that takes a line and gives a line, and every way in which that fails."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from carve_stats._display import visible
from carve_stats.errors import AgentError
from carve_stats.replay.redaction import redact

__all__ = [
    "LONGEST_LINE",
    "Program",
    "ProgramError",
    "ProgramLeftError",
    "ProgramTimeoutError",
    "shown",
]

_log = logging.getLogger(__name__)

LONGEST_LINE = 64 * 2**20
"""Bytes; a reply that is longer is an error."""

GRACE = 2.0
"""Seconds that a program has to end: first when its input is closed, again after SIGTERM."""

_AT_ONCE = 2**16
_LONGEST_NOTE = 2000  # of what the program writes on stderr, as one line of a log


class ProgramError(ConnectionError):
    """The program ended, or wrote what is no reply; it has been stopped."""


class ProgramTimeoutError(ProgramError, TimeoutError):
    """The program did not reply in time; it has been stopped."""


class ProgramLeftError(ProgramError):
    """The program ended without a failure, and without a word to the request."""


class Program:
    """One process, used by one thread at a time.

    It is the first of a process group of its own, so that all that it starts ends with it.

    Parameters
    ----------
    arguments : sequence of str
        The program, and what it is started with; no shell reads it.
    directory : Path
        Its current directory.

    Raises
    ------
    AgentError
        It cannot be started.
    """

    def __init__(self, arguments: Sequence[str], directory: Path) -> None:
        self._name = Path(arguments[0]).name
        try:
            self._process = subprocess.Popen(
                arguments,
                cwd=directory,
                # Python's print() would else keep a reply back.
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise AgentError(
                f"{shown(arguments[0])} cannot be started ({error.strerror}): check the command"
            ) from None
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._input = process.stdin.fileno()
        self._output = process.stdout.fileno()
        self._notes = process.stderr.fileno()
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._input, self._output, self._notes):
            os.set_blocking(descriptor, False)
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(self._notes, selectors.EVENT_READ)
        self._received = bytearray()
        self._noted = bytearray()
        self._last_note = b""
        self._stopped = False
        self.replies = 0
        """How many it has given."""

    def ask(self, line: bytes, *, timeout: float) -> bytes:
        """Write a line, and read the one that comes for it.

        Parameters
        ----------
        line : bytes
            With its newline.
        timeout : float
            Seconds.

        Returns
        -------
        bytes
            Without its newline.

        Raises
        ------
        ProgramError
            No such line came.
        """
        try:
            reply = self._exchange(line, time.monotonic() + timeout)
        except ProgramTimeoutError:
            self.stop(patient=False)
            raise ProgramTimeoutError(
                f"{self._name} gave no reply within {timeout:g} s, and was stopped{self._told()}"
            ) from None
        except BaseException:
            self.stop(patient=False)
            raise
        self.replies += 1
        return reply

    def is_idle(self) -> bool:
        """Whether it waits for a line: it lives, and has written nothing that nobody asked for."""
        if self._process.poll() is not None:
            return False
        self._read_what_is_there(0)
        return self._process.poll() is None and not self._received

    def close_input(self) -> None:
        """Tell it that no line will come; a program that waits for one then ends."""
        self._forget(self._input)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """End it and all that it started, at once; for another thread than the one that asks."""
        self._signal(signal.SIGKILL)

    def stop(self, *, patient: bool = True) -> None:
        """End it and all that it started, and wait until it has.

        Parameters
        ----------
        patient : bool
            Whether it may end by itself, as its input is closed.
        """
        if self._stopped:
            return
        self._stopped = True
        self.close_input()
        if not (patient and self._ends_within(GRACE)):
            self._signal(signal.SIGTERM)
            self._ends_within(GRACE)
        self._signal(signal.SIGKILL)  # whoever of its group is left
        self._process.wait()
        self._read_what_is_there(0)
        self._selector.close()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def _exchange(self, line: bytes, deadline: float) -> bytes:
        unsent = memoryview(line)
        self._selector.register(self._input, selectors.EVENT_WRITE)
        looked_at = 0
        while (end := self._received.find(b"\n", looked_at)) < 0:
            looked_at = len(self._received)
            if looked_at > LONGEST_LINE:
                raise ProgramError(
                    f"{self._name} wrote a line of more than {LONGEST_LINE >> 20} MB"
                )
            ready = self._wait(deadline)
            if self._input in ready:
                unsent = self._send(unsent)
            if self._output in ready and not self._receive():
                self._raise_end(deadline)
        reply = bytes(self._received[:end])
        del self._received[: end + 1]
        if unsent:
            raise ProgramError(f"{self._name} replied before it had read the request")
        if self._received:
            raise ProgramError(
                f"{self._name} wrote more than one line for one request, beginning with"
                f" {shown(reply)}"
            )
        return reply

    def _wait(self, deadline: float) -> set[int]:
        """Which of its pipes are ready; what it noted is read."""
        left = deadline - time.monotonic()
        ready = {key.fd for key, _ in self._selector.select(max(0.0, left))}
        if left <= 0:
            raise ProgramTimeoutError
        if self._notes in ready:
            self._take_notes()
        return ready

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            unsent = unsent[os.write(self._input, unsent[:_AT_ONCE]) :]
        except BlockingIOError:
            return unsent
        except OSError:  # it has closed its input; its output tells why
            self._forget(self._input)
            return unsent
        if not unsent:
            self._forget(self._input)
        return unsent

    def _receive(self) -> bool:
        """Read what it has written; False where its output has ended."""
        try:
            some = os.read(self._output, _AT_ONCE)
        except BlockingIOError:
            return True
        self._received += some
        if not some:
            self._forget(self._output)
        return bool(some)

    def _take_notes(self) -> None:
        try:
            some = os.read(self._notes, _AT_ONCE)
        except BlockingIOError:
            return
        if not some:
            self._forget(self._notes)
        self._noted += some.replace(b"\r", b"\n")
        *lines, rest = self._noted.split(b"\n")
        if len(rest) > _LONGEST_NOTE or not some:
            lines.append(rest)
            rest = bytearray()
        self._noted = rest
        lines = [line for line in lines if line.strip()]
        if lines:
            self._last_note = bytes(lines[-1])
        if _log.isEnabledFor(logging.INFO):
            for line in lines:
                _log.info("%s: %s", self._name, shown(bytes(line), most=_LONGEST_NOTE))

    def _raise_end(self, deadline: float) -> None:
        ended = self._ends_within(min(GRACE, max(0.0, deadline - time.monotonic())))
        how = _describe_end(self._process.returncode) if ended else "it closed its output"
        half = f" after half a line, {shown(bytes(self._received))}" if self._received else ""
        left = ended and self._process.returncode == 0 and not self._received
        kind = ProgramLeftError if left else ProgramError
        raise kind(f"{self._name} ended{half}: {how}{self._told()}")

    def _told(self) -> str:
        if not self._last_note:
            return ""
        return f"; its last line on stderr: {shown(self._last_note, most=300)}"

    def _ends_within(self, seconds: float) -> bool:
        """Whether it ends in a while, in which nothing that it writes makes it wait."""
        deadline = time.monotonic() + seconds
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                return False
            self._read_what_is_there(0.005)
        self._read_what_is_there(0)
        return True

    def _read_what_is_there(self, seconds: float) -> None:
        """Read all that is in its pipes; where there is nothing, wait for it a while."""
        begun = time.monotonic()
        while ready := {key.fd for key, _ in self._selector.select(seconds)} - {self._input}:
            if self._notes in ready:
                self._take_notes()
            if self._output in ready:
                self._receive()
                del self._received[LONGEST_LINE:]
            if time.monotonic() - begun > seconds:
                return

    def _forget(self, descriptor: int) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def shown(text: str | bytes, *, most: int = 200) -> str:
    """Somebody else's text as a part of a message.

    Parameters
    ----------
    text : str or bytes
        What a program wrote, or its name.
    most : int
        How many characters are shown.

    Returns
    -------
    str
        On one line, without secrets and without what a terminal would obey.
    """
    if isinstance(text, bytes):
        text = text[: 4 * most].decode("utf-8", "backslashreplace")
    text = redact(visible(text.strip()))
    return text if len(text) <= most else f"{text[:most]}…"


def _describe_end(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
