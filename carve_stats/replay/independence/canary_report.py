"""`CanaryReport`: what a canary found before a run, and where it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from carve_stats._display import counted
from carve_stats.errors import StoreError
from carve_stats.replay.files import create_file

__all__ = [
    "CANARY_MODES",
    "CanaryPair",
    "CanaryReport",
    "keep_canary",
    "keep_spent",
    "read_canaries",
    "read_canary",
]

CANARY_MODES = ("stop", "warn", "off")
"""What a canary that fails does to a run; with the last none is sent."""

_FILE = "canary.json"
_SPENT = "canary-{}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryPair:
    """Two requests that differ in their pictures alone, and what was replied.

    Parameters
    ----------
    question_id : str
        The question that was asked.
    seed : int
        The seed of both requests.
    replies : list of str
        What was said to the SHAM pictures and to the others, cut off and without secrets.
    """

    question_id: str
    seed: int
    replies: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryReport:
    """What `canary` found.

    Parameters
    ----------
    passed : bool or None
        None where it could not be told, since the agent could not be reached.
    reasons : list of str
        Why it failed.
    notes : list of str
        What else a reader has to know.
    calls : int
        Requests put to the agent.
    captions : int
        Items of evidence that the agent was given to caption, in addition.
    usage : mapping of str to number
        The sums of what the replies say that they used.
    pairs : list of CanaryPair
        What was asked.

    Examples
    --------
    >>> print(CanaryReport(passed=True, calls=2))
    canary: passed (2 calls)
    """

    passed: bool | None
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    calls: int = 0
    captions: int = 0
    usage: Mapping[str, float] = field(default_factory=dict)
    pairs: list[CanaryPair] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        verdict = {True: "passed", False: "failed", None: "undecided"}[self.passed]
        made = [counted(self.calls, "call")]
        if self.captions:
            made.append(counted(self.captions, "caption"))
        said = "; ".join([*self.reasons, *self.notes])
        return f"canary: {verdict} ({', '.join(made)})" + (f": {said}" if said else "")


def keep_canary(run: Path, report: CanaryReport) -> CanaryReport:
    """Keep a report in a run's directory, unless it has one.

    Parameters
    ----------
    run : Path
        The directory.
    report : CanaryReport
        What was found.

    Returns
    -------
    CanaryReport
        The one that is kept: of several processes that begin a run at once, the first one's.
    """
    data = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if create_file(run / _FILE, data + b"\n"):
        return report
    return read_canary(run) or report


def keep_spent(run: Path, report: CanaryReport) -> None:
    """Keep a report that decides nothing, for what it cost: the canary is sent again.

    Parameters
    ----------
    run : Path
        The run's directory.
    report : CanaryReport
        What was found, and spent.
    """
    data = msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    number = 1
    while not create_file(run / _SPENT.format(number), data):
        number += 1


def read_canaries(run: Path) -> list[CanaryReport]:
    """All canaries that were sent for a run, those that decided nothing first.

    Parameters
    ----------
    run : Path
        The run's directory.

    Returns
    -------
    list of CanaryReport
        For what they cost.

    Raises
    ------
    StoreError
        A damaged file.
    """
    paths = sorted(run.glob(_SPENT.format("*")), key=lambda path: (len(path.name), path.name))
    found = [_read(path) for path in [*paths, run / _FILE]]
    return [report for report in found if report is not None]


def read_canary(run: Path) -> CanaryReport | None:
    """What the canary of a run found.

    Parameters
    ----------
    run : Path
        The run's directory.

    Returns
    -------
    CanaryReport or None
        None where none was sent.

    Raises
    ------
    StoreError
        A damaged file.
    """
    return _read(run / _FILE)


def _read(path: Path) -> CanaryReport | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=CanaryReport)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(
            f"{path}: damaged ({error}): restore it, or take it out to have the canary sent again"
        ) from None
