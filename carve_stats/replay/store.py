"""`RunStore`: a run as a directory that any number of processes may add to, and none can harm.

::

    plan.json          what all replays have in common; never changes
    extents/0001.json  the questions, and how many replays of each; see `extent`
    segments/0001.jsonl  the records, append-only, a file for each writer; see `segments`

There is no lock and no database. The first complete record of a replay counts: the first in the
order of segment numbers and lines, which with several writers need not be the first in time.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from carve_stats.errors import CarveStatsError, InputError, PlanError, StoreError
from carve_stats.replay.extent import Extent
from carve_stats.replay.files import TEMPORARY_SUFFIX, create_file
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.records import Replay, ReplayKey
from carve_stats.replay.segments import SegmentWriter, encode_record, read_segment, segment_paths
from carve_stats.replay.stopping import Decider, Outcome, Walk
from carve_stats.replay.trajectories import Trajectory

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["RunStatus", "RunStore", "read_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How far a run has come.

    Parameters
    ----------
    planned : int
        Replays that the run was ever asked for: for each question and condition the largest
        k. Asking for fewer later takes nothing back.
    done : int
        Replays that need no further attempt: ``valid + invalid``.
    valid, invalid : int
        Of those, how many have a valid answer in some attempt, and how many in none.
    attempts : int
        Different records.
    duplicates : int
        Further records of a replay that has one already, as two processes at once make them.
    torn_lines : int
        Last lines that a killed writer left unfinished; their replays are made again.
    spared : int
        Replays that will not be made, since their questions stop early: a finished run has
        ``done + spared == planned``. 0 for a run without a stopping plan.
    stopped : int
        Questions that some are spared of.
    questions : int
        All questions of the run.

    Examples
    --------
    >>> print(RunStatus(planned=9, done=9, valid=8, invalid=1, attempts=9, duplicates=0,
    ...                 torn_lines=0))
    9 of 9 replays done (8 valid, 1 invalid)
    """

    planned: int
    done: int
    valid: int
    invalid: int
    attempts: int
    duplicates: int
    torn_lines: int
    spared: int = 0
    stopped: int = 0
    questions: int = 0

    @property
    def finished(self) -> bool:
        """Whether no replay is still to come."""
        return self.done + self.spared == self.planned

    def to_dict(self) -> dict[str, int]:
        """The figures by name, and whether the run is finished."""
        return {**asdict(self), "finished": self.finished}

    def __str__(self) -> str:
        text = f"{self.done} of {self.planned} replays done"
        text += f" ({self.valid} valid, {self.invalid} invalid)"
        if self.spared:
            questions = "question" if self.stopped == 1 else "questions"
            text += f"; {self.spared} spared: {self.stopped} {questions} stopped early"
        if self.duplicates:
            text += f"; {self.duplicates} duplicate records not used"
        if self.torn_lines:
            lines = "line" if self.torn_lines == 1 else "lines"
            text += f"; {self.torn_lines} unfinished {lines} not used"
        return text


class RunStore:
    """A run's directory, opened by `open` to add to it or by `load` to read it.

    Its `run_id` is the run's name in its records, and `stopping` the plan by which it stops
    questions early: None where every replay is made.

    Examples
    --------
    >>> import tempfile
    >>> plan = RunPlan(seed=1, conditions=("sham", "destroy"), attempts=1, agent={"name": "mine"},
    ...                operator=None, encoder=None, crop=None, parser_version="1")
    >>> question = Trajectory(question_id="q1", answer="A")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RunStore.open(folder, plan, k={"sham": 3, "destroy": 3},
    ...                        trajectories=[question]) as store:
    ...         print(store.status())
    0 of 6 replays done (0 valid, 0 invalid)
    """

    def __init__(
        self, path: Path, plan: RunPlan, provenance: Mapping[str, Any], extent: Extent
    ) -> None:
        self.path = path
        self.plan = plan
        self.run_id = plan.run_id
        self.provenance = provenance
        self.stopping = _stopping_plan(plan, path)
        self._decider = None if self.stopping is None else Decider(self.stopping)
        self._extent = extent
        self._lock = threading.Lock()
        self._writer: SegmentWriter | None = None
        self._outcomes: dict[ReplayKey, Outcome] = {}
        self._duplicates = 0
        self._torn = 0
        for head in self._read(_heads):
            if head is None:
                self._torn += 1
            else:
                self._note((head.question_id, head.condition, head.repetition, head.attempt),
                           head.flip)  # fmt: skip
        self._check_asked_for()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        plan: RunPlan,
        *,
        k: Mapping[str, int],
        trajectories: Sequence[Trajectory],
    ) -> RunStore:
        """Create a run, or resume one with the same plan.

        Parameters
        ----------
        path : path
            The run's directory: new, empty, or a run.
        plan : RunPlan
            What all replays have in common.
        k : mapping of str to int
            Replays of each question, by condition: more than before tops the run up.
        trajectories : sequence of Trajectory
            The questions: new ones are added to those that the run has.

        Returns
        -------
        RunStore
            Ready to append to.

        Raises
        ------
        PlanError
            The directory holds a run with another plan, or another trajectory of a question;
            it is left as it was.
        StoreError
            The directory holds something else, or a damaged run.
        """
        with _reachable(path):
            path = Path(path).absolute()  # an agent may change the current directory
            if not (path / "plan.json").exists():
                _create(path, plan)
            kept, provenance = _read_plan(path)
            kept.check_same(plan, str(path))
            extent = Extent.read(path / "extents")
            store = cls(path, kept, provenance, extent)
            extent.check(trajectories, str(path))
            for folder in ("extents", "segments"):
                (path / folder).mkdir(exist_ok=True)
            extent.grow(path / "extents", k, trajectories)
        store._writer = SegmentWriter(path / "segments")
        return store

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunStore:
        """Read a run; nothing in it is changed, and it may be running.

        Parameters
        ----------
        path : path
            The run's directory.

        Returns
        -------
        RunStore
            To read from.

        Raises
        ------
        StoreError
            No run there, or a damaged one.
        """
        with _reachable(path):
            path = Path(path).absolute()
            plan, provenance = _read_plan(path)
            return cls(path, plan, provenance, Extent.read(path / "extents"))

    def trajectories(self) -> list[Trajectory]:
        """All questions of the run."""
        return list(self._extent.trajectories.values())

    def records(self) -> Iterator[Replay]:
        """The records on the disk: the first complete one of each replay and attempt.

        Yields
        ------
        Replay
            In the order of segments and lines.
        """
        seen = set()
        for replay in self._read(_replays):
            if replay is not None and replay.key not in seen:
                seen.add(replay.key)
                yield replay

    def completed(self) -> set[ReplayKey]:
        """The keys of all records."""
        return set(self._outcomes)

    def next_attempt(self, question_id: str, condition: str, repetition: int) -> int | None:
        """The attempt that a replay still needs.

        Parameters
        ----------
        question_id, condition : str
            The question and the condition.
        repetition : int
            From 0.

        Returns
        -------
        int or None
            The first attempt without a record; None where an attempt gave a valid answer or
            none is left.
        """
        for attempt in range(self.plan.attempts):
            outcome = self._outcomes.get((question_id, condition, repetition, attempt), _NOT_MADE)
            if outcome is _NOT_MADE:
                return attempt
            if outcome is not None:
                return None
        return None

    def outcomes(self, question_id: str, condition: str) -> list[Outcome]:
        """What the repetitions of a question gave, up to the first that is not finished.

        Parameters
        ----------
        question_id, condition : str
            The question and the condition.

        Returns
        -------
        list of 1, 0 or None
            Of the repetitions 0, 1, …: whether the first valid attempt flipped; None where no
            attempt is left and none was valid.
        """
        found: list[Outcome] = []
        while self.next_attempt(question_id, condition, len(found)) is None:
            found.append(self._outcome(question_id, condition, len(found)))
        return found

    def walk(self, question_id: str) -> Walk:
        """How far a question of a run with a stopping plan has come, and what it needs next.

        Parameters
        ----------
        question_id : str
            The question.

        Returns
        -------
        Walk
            As `Decider.walk` gives it.
        """
        if self._decider is None:
            raise StoreError(f"{self.path} has no stopping plan: every replay is made")
        sham, destroy = (self.outcomes(question_id, c) for c in ("sham", "destroy"))
        return self._decider.walk(sham, destroy)

    def count_spared(self, question_id: str) -> int:
        """How many of the replays asked for a question will not be made.

        Parameters
        ----------
        question_id : str
            The question.

        Returns
        -------
        int
            0 while the question goes on, and without a stopping plan.
        """
        if self._decider is None or self.walk(question_id).next_condition is not None:
            return 0
        k = self._extent.k.get(question_id, {})
        return sum(
            self.next_attempt(question_id, condition, repetition) is not None
            for condition in ("sham", "destroy")
            for repetition in range(k.get(condition, 0))
        )

    def append(self, replay: Replay) -> None:
        """Add one record; when it returns, the death of the process cannot lose it.

        Parameters
        ----------
        replay : Replay
            The record.
        """
        if self._writer is None:
            raise StoreError(f"{self.path} was opened to be read, or is closed: use RunStore.open")
        if replay.run != self.run_id:
            raise StoreError(
                f"{self.path} is the store of run {self.run_id!r}: it takes no record of run"
                f" {replay.run!r}"
            )
        self._writer.append(encode_record(replay))
        with self._lock:
            self._note(replay.key, replay.flip)

    def status(self) -> RunStatus:
        """How far the run has come, as it was when opened and with what was appended since."""
        done, valid = self.count_done(self._extent.k)
        spared = [self.count_spared(question) for question in self._extent.k if self.stopping]
        return RunStatus(
            planned=self._extent.planned(),
            done=done,
            valid=valid,
            invalid=done - valid,
            attempts=len(self._outcomes),
            duplicates=self._duplicates,
            torn_lines=self._torn,
            spared=sum(spared),
            stopped=sum(n > 0 for n in spared),
            questions=len(self._extent.k),
        )

    def count_done(self, asked: Mapping[str, Mapping[str, int]]) -> tuple[int, int]:
        """How many of some replays need no further attempt.

        Parameters
        ----------
        asked : mapping of str to mapping
            For each question the replays in each condition.

        Returns
        -------
        (int, int)
            All of them, and those with a valid answer. It takes as long as there are records,
            whatever was asked for.
        """
        with self._lock:
            first_attempts = [key[:3] for key in self._outcomes if key[3] == 0]
        done = valid = 0
        for question, condition, repetition in first_attempts:
            if repetition < asked.get(question, {}).get(condition, 0) and (
                self.next_attempt(question, condition, repetition) is None
            ):
                done += 1
                valid += self._outcome(question, condition, repetition) is not None
        return done, valid

    def close(self) -> None:
        """Flush what was appended to the disk; the store can still be read."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _outcome(self, question_id: str, condition: str, repetition: int) -> Outcome:
        """The flip of a repetition's first valid attempt; None where no attempt was valid."""
        for attempt in range(self.plan.attempts):
            flip = self._outcomes.get((question_id, condition, repetition, attempt))
            if flip is not None:
                return flip
        return None

    def _note(self, key: ReplayKey, flip: Outcome) -> None:
        if key in self._outcomes:
            self._duplicates += 1
        else:
            self._outcomes[key] = flip

    def _check_asked_for(self) -> None:
        """Refuse records that nobody asked for: a request that did has been deleted."""
        caught_up = False
        for question, condition, repetition, _ in self._outcomes:
            while repetition >= self._extent.k.get(question, {}).get(condition, 0):
                if caught_up:
                    raise StoreError(
                        f"{self.path / 'extents'} does not ask for question {question!r}, condition"
                        f" {condition}, repetition {repetition}, which has a record: restore the"
                        " files of extents/"
                    )
                # Another process may have asked for more, and answered, since we looked.
                self._extent.catch_up(self.path / "extents")
                caught_up = True

    def _read(self, decoder: msgspec.json.Decoder[Any]) -> Iterator[Any]:
        for segment in segment_paths(self.path / "segments"):
            if not segment.is_file():
                raise StoreError(f"{segment}: not a regular file: restore it, or take it out")
            yield from read_segment(segment, decoder, run=self.run_id)


def read_plan(path: str | os.PathLike[str]) -> RunPlan | None:
    """What the replays of a run have in common, without reading them.

    Parameters
    ----------
    path : path
        The run's directory, which need not be there yet.

    Returns
    -------
    RunPlan or None
        None where there is no run.

    Raises
    ------
    StoreError, PlanError
        A damaged plan.
    """
    with _reachable(path):
        path = Path(path).absolute()
        return _read_plan(path)[0] if (path / "plan.json").exists() else None


class _Head(msgspec.Struct):
    """What opening a run needs of a record."""

    run: str
    question_id: str
    condition: str
    repetition: int
    attempt: int
    flip: int | None


_NOT_MADE: Any = object()
_heads = msgspec.json.Decoder(_Head)
_replays = msgspec.json.Decoder(Replay)


@contextmanager
def _reachable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file or folder of a run that the system refuses."""
    if not os.fspath(path):
        raise StoreError("store='' is an empty path: give a directory")
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot be used: {error.strerror}") from None


def _create(path: Path, plan: RunPlan) -> None:
    if path.exists() and not path.is_dir():
        raise StoreError(f"store={str(path)!r} is a file: give a directory, new or empty")
    if path.is_dir() and any(not entry.endswith(TEMPORARY_SUFFIX) for entry in os.listdir(path)):
        # Another process may have created the run since we looked for its plan.
        if (path / "plan.json").exists():
            return
        raise StoreError(
            f"store={str(path)!r} holds other files and no plan.json: give a new or empty"
            " directory, or a run"
        )
    content = {
        "plan": plan.to_dict(),
        "sha256": plan.sha256,
        "provenance": {
            "carve_stats": importlib.metadata.version("carve-stats"),
            "python": platform.python_version(),
            "created_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        },
    }
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"store={str(path)!r} cannot be made: {error.strerror}") from None
    data = msgspec.json.format(msgspec.json.encode(content), indent=2)
    create_file(path / "plan.json", data + b"\n")


def _stopping_plan(plan: RunPlan, path: Path) -> StoppingPlan | None:
    if plan.stopping is None:
        return None
    from carve_stats.law.stopping import StoppingPlan

    try:
        return StoppingPlan.from_dict(plan.stopping)
    except InputError as error:
        raise StoreError(
            f"{path / 'plan.json'}: its stopping plan cannot be read ({error}): another version"
            " wrote it"
        ) from None


def _read_plan(path: Path) -> tuple[RunPlan, Mapping[str, Any]]:
    file = path / "plan.json"
    if file.exists() and not file.is_file():
        raise StoreError(f"{file}: not a regular file: restore it")
    try:
        content = msgspec.json.decode(file.read_bytes())
        plan = RunPlan.from_dict(content["plan"])
        same = content["sha256"] == plan.sha256
        provenance = content["provenance"]
    except (FileNotFoundError, NotADirectoryError):
        inside = sorted(path.glob("*/plan.json"))
        hint = f"; did you mean {inside[0].parent}?" if inside else ""
        raise StoreError(f"{path} is not a run: it has no plan.json to read{hint}") from None
    except (
        msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, RecursionError,
        CarveStatsError,
    ) as error:  # fmt: skip
        raise StoreError(f"{file}: damaged ({error}): restore it") from None
    if not same:
        raise PlanError(f"{file}: changed since it was written (its sha256 differs): restore it")
    return plan, provenance
