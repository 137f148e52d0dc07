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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from carve_stats.errors import CarveStatsError, InputError, PlanError, StoreError
from carve_stats.replay.extent import Extent
from carve_stats.replay.files import TEMPORARY_SUFFIX, create_file
from carve_stats.replay.flip_table import FlipTable
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.progress import RunProgress
from carve_stats.replay.records import LOST, Replay
from carve_stats.replay.segments import SegmentWriter, encode_record, read_segment, segment_paths
from carve_stats.replay.trajectories import Trajectory

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["RunStore", "read_plan"]


class RunStore:
    """A run's directory, opened by `open` to add to it or by `load` to read it.

    Its `run_id` is the run's name in its records, `stopping` the plan by which it stops questions
    early (None where every replay is made), and `progress` how far it has come, with what was
    appended since it was opened.

    Examples
    --------
    >>> import tempfile
    >>> plan = RunPlan(seed=1, conditions=("sham", "destroy"), attempts=1, agent={"name": "mine"},
    ...                operator=None, encoder=None, crop=None, parser_version="1")
    >>> question = Trajectory(question_id="q1", answer="A")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RunStore.open(folder, plan, k={"sham": 3, "destroy": 3},
    ...                        trajectories=[question]) as store:
    ...         print(store.progress.status())
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
        self.progress = RunProgress(extent, attempts=plan.attempts, stopping=self.stopping)
        self._extent = extent
        self._writer: SegmentWriter | None = None
        for head in self._read(_heads):
            if head is None:
                self.progress.add_torn_line()
            else:
                self._check_asked_for(head)
                key = (head.question_id, head.condition, head.repetition, head.attempt)
                self.progress.add(key, head.flip, lost=head.status == LOST)

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
        store.progress.begin()
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
        seen = FlipTable()
        for replay in self._read(_replays):
            if replay is not None and seen.add(replay.key, None):
                yield replay

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
        self.progress.add(replay.key, replay.flip, lost=replay.status == LOST)

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
        # What went wrong first is what a person has to know.
        with nullcontext() if error is None else suppress(StoreError):
            self.close()

    def _check_asked_for(self, head: _Head) -> None:
        """Refuse a record that nobody asked for: a request that did has been deleted."""
        question, condition, repetition = head.question_id, head.condition, head.repetition
        if repetition < self._extent.k.get(question, {}).get(condition, 0):
            return
        # Another process may have asked for more, and answered, since we looked.
        self._extent.catch_up(self.path / "extents")
        if repetition >= self._extent.k.get(question, {}).get(condition, 0):
            raise StoreError(
                f"{self.path / 'extents'} does not ask for question {question!r}, condition"
                f" {condition}, repetition {repetition}, which has a record: restore the files of"
                " extents/"
            )

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
    repetition: Annotated[int, msgspec.Meta(ge=0)]
    attempt: Annotated[int, msgspec.Meta(ge=0)]
    flip: Literal[0, 1, None]
    status: str


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
