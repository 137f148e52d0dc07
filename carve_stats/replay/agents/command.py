"""`command:PROGRAM`: an agent in any language, asked by JSON lines over stdin and stdout.

::

    [agent]
    use = "command:python3 my_agent.py --model small"
    timeout = 120            # seconds that a reply may take
    processes = 2            # how many there are at a time; one for each worker if not given
    directory = "agent"      # where it runs; the folder of the configuration if not given
    render = true            # only if it captions its evidence first
    stochastic = true        # whether its replies to one prompt vary, if known

`docs/agents.md` has the lines, and programs that read and write them.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from carve_stats.errors import InputError
from carve_stats.replay.agents._json_lines import (
    read_reply,
    write_evidence,
    write_line,
    write_request,
)
from carve_stats.replay.agents._programs import Programs
from carve_stats.replay.protocols import Evidence, ReplayReply, ReplayRequest
from carve_stats.replay.redaction import redact

__all__ = ["CommandAgent", "RenderingCommandAgent", "build"]

PATHS = ("directory",)
PASSING = ("timeout", "processes")

_LARGEST_SCRIPT = 16 * 2**20  # bytes; larger files beside a program are models and data


class CommandAgent:
    """Puts each replay to a process of the user's program.

    A process that ends, hangs, or writes what is no reply costs the replay that it had; the next
    one gets a new process.

    Parameters
    ----------
    command : str
        The program and its arguments, as a shell would split them; no shell reads them.
    directory : Path
        Where it runs.
    timeout : float
        Seconds that a reply may take.
    processes : int or None
        How many there are at a time; as many as threads ask if None.
    stochastic : bool or None
        Whether its replies to one prompt vary.
    """

    def __init__(
        self,
        command: str,
        *,
        directory: Path,
        timeout: float,
        processes: int | None,
        stochastic: bool | None,
    ) -> None:
        self.stochastic = stochastic
        arguments = shlex.split(command)
        self._again = partial(
            type(self), command, directory=directory, timeout=timeout, processes=processes,
            stochastic=stochastic,
        )  # fmt: skip
        self._arguments = arguments
        self._fingerprint = {
            "name": "command",
            "command": arguments,
            "files": _hash_files(arguments, directory),
            "render": isinstance(self, RenderingCommandAgent),
        }
        self._programs = Programs(arguments, directory, most=processes, timeout=timeout)
        self._identities = itertools.count(1)
        # At the end of Python, too. A killed Python closes the program's input, which tells it.
        self._finalizer = weakref.finalize(self, self._programs.close)

    def __call__(self, request: ReplayRequest, /) -> ReplayReply:
        """Answer one replay."""
        return self._ask(partial(write_request, request))

    def fingerprint(self) -> dict[str, Any]:
        """The command, and the hashes of the files that it names."""
        return dict(self._fingerprint)

    def close(self) -> None:
        """End the program's processes; they are started again if something is asked."""
        self._programs.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (self._again, ())

    def __repr__(self) -> str:
        return f"<CommandAgent: {shlex.join(self._arguments)}>"

    def _ask(self, write: Callable[[Path], dict[str, Any]]) -> ReplayReply:
        identity = next(self._identities)
        # A new name each time, so that no cache can take frames for those of another request;
        # open to nobody else.
        with tempfile.TemporaryDirectory(
            prefix="carve-stats-", ignore_cleanup_errors=True
        ) as folder:
            line = write_line(identity, write(Path(folder)))
            return self._programs.ask(line, partial(read_reply, identity=identity))


class RenderingCommandAgent(CommandAgent):
    """One whose program captions its evidence first."""

    def render(self, evidence: Evidence, *, seed: int) -> str:
        """The text of one item of evidence, from its frames."""

        def write(folder: Path) -> dict[str, Any]:
            return {"type": "render", "evidence": write_evidence(evidence, folder), "seed": seed}

        return self._ask(write).text


def build(
    command: str,
    /,
    *,
    timeout: float = 600.0,
    processes: int | None = None,
    directory: str | None = None,
    render: bool = False,
    stochastic: bool | None = None,
) -> CommandAgent:
    """Make an agent that is a program.

    Parameters
    ----------
    command : str
        The program and its arguments, as a shell would split them.
    timeout : float
        Seconds that a reply may take.
    processes : int, optional
        How many there are at a time; one for each worker if not given.
    directory : str, optional
        Where it runs; the current directory if not given.
    render : bool
        Whether it takes requests to caption an item of evidence.
    stochastic : bool, optional
        Whether its replies to one prompt vary.

    Returns
    -------
    CommandAgent
        A plain callable.

    Raises
    ------
    InputError
        No such program or directory, or an option that cannot be right.

    Examples
    --------
    >>> build("no-such-program --fast")
    Traceback (most recent call last):
    carve_stats.errors.InputError: agent 'command:no-such-program --fast': no program ...
    """
    if redact(command) != command:  # not shown
        raise InputError(
            "agent 'command:…' has what looks like a secret in it, which would be stored with the"
            " run: put it in an environment variable, which the program gets"
        )
    fail = partial(_fail, command)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not (
        0 < timeout < math.inf
    ):  # fmt: skip
        fail(f"timeout={timeout!r} must be a number of seconds above 0")
    if processes is not None and (
        isinstance(processes, bool) or not isinstance(processes, int) or processes < 1
    ):
        fail(f"processes={processes!r} must be a whole number of at least 1")
    if directory is not None and not isinstance(directory, str | os.PathLike):
        fail(f"directory={directory!r} must be a path")
    if not isinstance(render, bool):
        fail(f"render={render!r} must be true or false")
    if stochastic is not None and not isinstance(stochastic, bool):
        fail(f"stochastic={stochastic!r} must be true or false")
    place = Path.cwd() if directory is None else Path(directory).absolute()
    if not place.is_dir():
        fail(f"directory={str(directory)!r} is no folder: make it, or correct it")
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        fail(f"cannot be split into words ({error}): correct its quotes")
    if not arguments or not arguments[0]:
        raise InputError("agent 'command:' needs a program, as 'command:python3 my_agent.py'")
    # As the system finds it once it is in that directory.
    program = arguments[0]
    if shutil.which(str(place / program) if "/" in program else program) is None:
        fail(f"no program {program!r} that can be run: check its name, and its permissions")
    kind = RenderingCommandAgent if render else CommandAgent
    return kind(
        command,
        directory=place,
        timeout=float(timeout),
        processes=processes,
        stochastic=stochastic,
    )


def _hash_files(arguments: list[str], directory: Path) -> dict[str, str]:
    """Hashes of the scripts that a command names: replays of an edited one are another agent's."""
    hashes = {}
    for argument in arguments:
        path = directory / argument
        try:
            if path.is_file() and path.stat().st_size <= _LARGEST_SCRIPT:
                hashes[argument] = hashlib.sha256(path.read_bytes()).hexdigest()
        except (OSError, ValueError):  # no name of a file, or a file that only the program reads
            continue
    return hashes


def _fail(command: str, what: str) -> NoReturn:
    raise InputError(f"agent {f'command:{command}'!r}: {what}")
