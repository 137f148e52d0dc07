"""`reparse_run`: the stored replies of a run judged again, and which flips that changes.

No agent is called: the records hold the raw texts. What does not depend on the parser stays as it
is: an answer that the agent gave itself, and answers to questions without options, whose equality
only the caller of `run_replays` knows.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carve_stats.counts import CONDITIONS, ReplayCounts
from carve_stats.errors import InputError, StoreError
from carve_stats.inference.rates import FlipRates, MeanScore, flip_rates, mean_score
from carve_stats.replay.extent import Extent
from carve_stats.replay.files import TEMPORARY_SUFFIX, create_file, sync_directory
from carve_stats.replay.parsing import PARSER_VERSION, ParsedAnswer
from carve_stats.replay.progress import RunProgress, RunStatus
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.records import LOST, Replay
from carve_stats.replay.replies import OWN_ANSWER, judge_reply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

__all__ = ["CHANGES", "ReparsedRun", "Verdict", "reparse_run"]

CHANGES = ("same", "valid to invalid", "invalid to valid", "flip 0 to 1", "flip 1 to 0", "other")
"""What may become of a record; other: another option that flips as well, or another status."""

_CLIPPED = 300
_REMEMBERED = 100_000  # verdicts on texts of a question that come again, and how long these may be
_SHORT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One record whose verdict changes.

    Parameters
    ----------
    question_id, condition, repetition, attempt
        The record.
    change : str
        One of `CHANGES`.
    before, after : str
        The answer, or the status where there is none.
    text : str
        The beginning of the reply.
    """

    question_id: str
    condition: str
    repetition: int
    attempt: int
    change: str
    before: str
    after: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What a run's records say under one parser, by first attempts.

    Parameters
    ----------
    status : RunStatus
        How far the run has come.
    invalid : mapping of str to (int, int)
        For each condition the replays whose first attempt is invalid, and all that were made.
    rates : FlipRates or None
        With the worst-case bounds of each condition; None for a run that stops its questions
        early, as the score.
    score : MeanScore or None
        The mean score with its worst-case bounds.
    """

    status: RunStatus
    invalid: Mapping[str, tuple[int, int]]
    rates: FlipRates | None
    score: MeanScore | None

    def to_dict(self) -> dict[str, Any]:
        """All four as plain values; an invalid share is None where no replay was made."""
        return {
            "status": self.status.to_dict(),
            "invalid": {
                condition: {"invalid": n, "replays": made, "share": n / made if made else None}
                for condition, (n, made) in self.invalid.items()
            },
            "rates": None if self.rates is None else self.rates.to_dict(),
            "score": None if self.score is None else self.score.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReparsedRun:
    """What judging a run's replies anew changes, from `reparse_run`.

    Parameters
    ----------
    run, new_run : str
        The run's id, and that of the same replays under the plan with this parser.
    parser_before, parser_after : str
        Versions of the parser.
    changes : mapping of str to mapping
        For each condition how many records there are of each of `CHANGES`.
    open_records, own_answers : int
        Records that were left as they are: of questions without options, and those whose answer
        the agent gave itself.
    before, after : Estimates
        Of the records as they are, and judged anew.
    changed : tuple of Verdict
        Every record that is not the same, in order of question, condition, repetition, attempt.
    notes : tuple of str
        What a reader has to know.
    """

    run: str
    new_run: str
    parser_before: str
    parser_after: str
    changes: Mapping[str, Mapping[str, int]]
    open_records: int
    own_answers: int
    before: Estimates
    after: Estimates
    changed: tuple[Verdict, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        plain = ("run", "new_run", "parser_before", "parser_after", "open_records", "own_answers")
        return {
            **{name: getattr(self, name) for name in plain},
            "changes": {condition: dict(n) for condition, n in self.changes.items()},
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "changed": [verdict.to_dict() for verdict in self.changed],
            "notes": list(self.notes),
        }


def reparse_run(
    run: str | os.PathLike[str], *, out: str | os.PathLike[str] | None = None
) -> ReparsedRun:
    """Judge the stored replies of a run with this version of the parser.

    Parameters
    ----------
    run : path
        A run directory. Nothing in it changes.
    out : path, optional
        Where to write the same records, judged anew, as a run of this parser that can be resumed;
        a folder that does not exist yet. It is there as a whole or not at all.

    Returns
    -------
    ReparsedRun
        What changes, by condition, and the estimates before and after.

    Raises
    ------
    StoreError
        No run there, a damaged one, or `out` exists.
    InputError
        `out` for a run that this parser judged already.

    Notes
    -----
    A reply's own `answer` goes before its text, and one that ended for its length is truncated, as
    in the loop. Of a run that stops its questions early the flips decide what is replayed: judged
    anew a question may go on, which `after` counts, and its replays beyond the stop do not count.

    Examples
    --------
    >>> import tempfile
    >>> from carve_stats import Trajectory, run_replays
    >>> question = Trajectory(question_id="q1", answer="A", options={"A": "yes", "B": "no"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_replays(lambda request: "B", [question], k=2, store=folder, seed=1)
    ...     reparsed = reparse_run(folder)
    >>> reparsed.changes["sham"]["same"], reparsed.changed
    (2, ())
    """
    store = RunStore.load(run)
    plan = replace(store.plan, parser_version=PARSER_VERSION)
    if out is None:
        return _judge(store, None, plan.run_id)
    if plan == store.plan:
        raise InputError(
            f"{store.path} was judged by parser {PARSER_VERSION}, as it would be in out="
            f"{os.fspath(out)!r} (--out): go on with the run itself"
        )
    with _whole_folder(Path(out).absolute()) as folder:
        with RunStore.open(folder, plan, k={}, trajectories=[]) as anew:
            reparsed = _judge(store, anew, plan.run_id)
        for name in sorted(os.listdir(store.path / "extents")):
            if name.endswith(".json"):
                request = (store.path / "extents" / name).read_bytes()
                create_file(folder / "extents" / name, request)
        RunStore.load(folder)
    return reparsed


def _judge(store: RunStore, anew: RunStore | None, new_run: str) -> ReparsedRun:
    questions = {trajectory.question_id: trajectory for trajectory in store.trajectories()}
    judging = _Judging(questions)
    before, after = _Tally(store, questions), _Tally(store, questions)
    changes = {c: dict.fromkeys(CHANGES, 0) for c in store.plan.conditions}
    changed = []
    left: Counter[str] = Counter()
    for record in store.records():
        judged, reason = judging.judge(record)
        left[reason] += 1
        before.add(record)
        after.add(judged)
        change = _change(record, judged)
        changes[record.condition][change] += 1
        if change != "same":
            changed.append(_verdict(record, judged, change))
        if anew is not None:
            anew.append(replace(judged, run=anew.run_id))
    order = CONDITIONS.index
    changed.sort(key=lambda v: (v.question_id, order(v.condition), v.repetition, v.attempt))
    result = ReparsedRun(
        run=store.run_id,
        new_run=new_run,
        parser_before=store.plan.parser_version,
        parser_after=PARSER_VERSION,
        changes=changes,
        open_records=left["open"],
        own_answers=left["own"],
        before=before.estimates(),
        after=after.estimates(),
        changed=tuple(changed),
        notes=(),
    )
    return replace(result, notes=tuple(_notes(result, store)))


class _Judging:
    """Judges records, and remembers what it said of short texts."""

    def __init__(self, questions: Mapping[str, Trajectory]) -> None:
        self._questions = questions
        self._said: dict[tuple[str, str, str | None], ParsedAnswer] = {}

    def judge(self, record: Replay) -> tuple[Replay, str]:
        """The record judged anew, and why it was left as it is: ``own``, ``open`` or nothing."""
        options = self._questions[record.question_id].options
        if record.rule == OWN_ANSWER:
            return record, "own"
        if not options:
            return record, "open"
        key = record.question_id, record.text, record.finish_reason
        said = self._said.get(key)
        if said is None:
            reply = ReplayReply(text=record.text, finish_reason=record.finish_reason)
            said = judge_reply(reply, options)
            if len(record.text) <= _SHORT and len(self._said) < _REMEMBERED:
                self._said[key] = said
        answer, status, rule = said
        if said == (record.answer, record.status, record.rule):
            return record, ""
        frozen = self._questions[record.question_id].answer
        flip = None if answer is None else int(answer != frozen)
        return replace(record, answer=answer, status=status, rule=rule, flip=flip), ""


class _Tally:
    """Flips by question and condition, of the first attempts."""

    def __init__(self, store: RunStore, questions: Mapping[str, Trajectory]) -> None:
        self._questions = questions
        self._conditions = store.plan.conditions
        self._stopping = store.stopping
        self._progress = RunProgress(
            Extent.read(store.path / "extents"),
            attempts=store.plan.attempts,
            stopping=store.stopping,
        )
        self._counts: dict[str, Counter[str]] = {question: Counter() for question in questions}
        self._later: dict[tuple[str, str, int], dict[int, Replay]] = {}

    def add(self, record: Replay) -> None:
        self._progress.add(record.key, record.flip, lost=record.status == LOST)
        if record.attempt == 0 and record.status != LOST:
            self._count(record)
        else:
            self._later.setdefault(record.key[:3], {})[record.attempt] = record

    def _count(self, record: Replay) -> None:
        counts = self._counts[record.question_id]
        counts[f"{record.condition}_replays"] += record.flip is not None
        counts[f"{record.condition}_invalid"] += record.flip is None
        counts[f"{record.condition}_flips"] += record.flip or 0

    def estimates(self) -> Estimates:
        for attempts in self._later.values():
            if 0 in attempts:  # else the first one was answered, and counted
                # What is asked again since no reply came is a first attempt.
                replied = [a for a in sorted(attempts) if attempts[a].status != LOST]
                self._count(attempts[replied[0] if replied else 0])
        self._later.clear()
        status = self._progress.status()
        invalid = {}
        for condition in self._conditions:
            n = sum(counts[f"{condition}_invalid"] for counts in self._counts.values())
            valid = sum(counts[f"{condition}_replays"] for counts in self._counts.values())
            invalid[condition] = n, n + valid
        if self._stopping is not None:
            return Estimates(status=status, invalid=invalid, rates=None, score=None)
        begun = [question for question, counts in self._counts.items() if counts]
        names = [f"{c}_{what}" for c in CONDITIONS for what in ("flips", "replays", "invalid")]
        columns: dict[str, Any] = {
            name: [self._counts[question][name] for question in begun] for name in names
        }
        videos: list[Any] = [self._questions[question].video_id for question in begun]
        counts = ReplayCounts(begun, **columns, cluster=None if None in videos else videos)
        return Estimates(
            status=status, invalid=invalid, rates=flip_rates(counts), score=mean_score(counts)
        )


def _change(before: Replay, after: Replay) -> str:
    if before.valid and not after.valid:
        return "valid to invalid"
    if after.valid and not before.valid:
        return "invalid to valid"
    if before.flip != after.flip:
        return f"flip {before.flip} to {after.flip}"
    same = (before.answer, before.status) == (after.answer, after.status)
    return "same" if same else "other"


def _verdict(before: Replay, after: Replay, change: str) -> Verdict:
    return Verdict(
        question_id=before.question_id,
        condition=before.condition,
        repetition=before.repetition,
        attempt=before.attempt,
        change=change,
        before=before.answer if before.answer is not None else before.status,
        after=after.answer if after.answer is not None else after.status,
        text=before.text[:_CLIPPED],
    )


def _notes(reparsed: ReparsedRun, store: RunStore) -> Iterator[str]:
    if reparsed.open_records:
        yield (
            f"{reparsed.open_records} records are of questions without options: whether two answers"
            " are the same is for the caller of run_replays to say, and they are left as they are"
        )
    if reparsed.own_answers:
        yield (
            f"{reparsed.own_answers} records have an answer that the agent gave beside its text: it"
            " goes before the text, and they are left as they are"
        )
    if store.stopping is not None:
        yield (
            "the run stops its questions early, and the flips decide when: there is no mean score;"
            " the replays that it needs change with the flips"
        )
    more = reparsed.after.status.done - reparsed.before.status.done
    if more < 0:
        yield (
            f"{-more} replays that were done have no valid answer now and attempts left: a run with"
            " this parser would make them"
        )


@contextmanager
def _whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes its name when it is full."""
    if path.exists() or path.is_symlink():
        raise StoreError(f"{path} exists (--out): give a folder that does not")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        try:
            yield temporary
            if path.exists():
                raise StoreError(f"{path} has come into being meanwhile: give another folder")
            temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from None
    sync_directory(path.parent)
