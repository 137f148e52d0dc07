"""`verify_reader`: whether a reader of replay logs counts them as they are counted."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis.strategies import SearchStrategy

from carve_stats.counts import CONDITIONS, ReplayCounts
from carve_stats.errors import one_line
from carve_stats.testing.conformance.small_logs import SMALL_LOGS, smaller_logs
from carve_stats.testing.conformance.trying import refuse_uncallable
from carve_stats.testing.smallest import draw_examples, reduce_example
from carve_stats.testing.strategies.logs import HOSTILE_IDS, Log, logs
from carve_stats.testing.verification import Check, Verification

__all__ = ["verify_reader"]

Read = Callable[[Any], ReplayCounts]
Write = Callable[[list[dict[str, Any]], Path], Any]

_FOLDER = r"\S*/part \d/"  # of a temporary log, in messages
_LARGE = 4
_TRIES = 15
_REDUCTIONS = 60


class _Reader:
    """What a reader makes of records."""

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write
        self._last: tuple[Log, ReplayCounts] | None = None

    def whole(self, log: Log) -> ReplayCounts:
        """What is read of a log; that of the last one is kept."""
        if self._last is None or self._last[0] is not log:
            self._last = log, self.of(log.records)
        return self._last[1]

    def of(self, *parts: list[dict[str, Any]]) -> ReplayCounts:
        """What is read of some records, or of several sources of records."""
        with tempfile.TemporaryDirectory() as folder:
            sources = []
            for i, records in enumerate(parts):
                place = Path(folder) / f"part {i}"
                place.mkdir()
                sources.append(self._write(records, place))
            return self._read(sources[0] if len(sources) == 1 else sources)


class _Promise(NamedTuple):
    """A property, the logs on which it is looked at (None: of one record), and what breaks it."""

    name: str
    statement: str
    logs: SearchStrategy[Log] | None
    fails: Callable[[_Reader, Log], str | None]


def verify_reader(
    read: Read,
    write: Write,
    *,
    several: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Verification:
    """Verify a reader of replay logs.

    Parameters
    ----------
    read : callable
        From what `write` returns to `ReplayCounts` with a ledger.
    write : callable
        From records, as the strategy `logs` has them, and an empty folder to what `read` takes: it
        writes them in the reader's own format, and returns their path, for example.
    several : bool
        Whether `read` takes a list of such sources too, as parts of one log.
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    Verification
        A check a property, each failed one with a log of one or two records where such a one
        fails, else with a drawn one, made smaller by a bounded number of readings.

    Raises
    ------
    InputError
        Nothing that can be called.

    Examples
    --------
    >>> from carve_stats import read_replays
    >>> import pandas
    >>> verify_reader(read_replays, lambda records, folder: pandas.DataFrame(records)).passed
    True
    """
    refuse_uncallable("read", read)
    refuse_uncallable("write", write)
    reader = _Reader(read, write)
    promises = _promises()
    if not several:
        promises = [one for one in promises if one.name != "parts"]
    failing = _first_failing(promises, reader)
    checks = []
    for done, one in enumerate(promises):
        if progress is not None:
            progress(done, len(promises))
        holds = Check(one.name, True, None, one.statement)
        checks.append(holds if failing is None else _check(one, reader))
    if progress is not None:
        progress(len(promises), len(promises))
    if failing is not None and all(check.passed for check in checks):
        words = next(filter(None, (_failure(one, reader, failing) for one in promises)), "")
        shown = f"{_describe(failing.records)}: {words}"
        statement = "the same where a log has all of these"
        checks.append(Check("together", False, shown, statement, smallest=False))
    if not several:
        checks.append(Check("parts", None, None, "it is said to take one source"))
    return Verification(
        "reader " + getattr(read, "__qualname__", type(read).__name__),
        "what write makes of records",
        f"small logs by hand and {_LARGE - 1} drawn ones of up to 20 questions; where one fails,"
        f" on {_TRIES} more a check",
        tuple(checks),
    )


def _promises() -> list[_Promise]:
    calm: dict[str, Any] = {"max_attempts": 1, "max_copies": 0, "invalid": False, "shuffled": False}
    return [
        _Promise("counts", "counts flips and valid replays by arm", logs(**calm), _miscounts),
        _Promise(
            "invalid", "an invalid replay is counted as such, and neither as flip nor as none",
            logs(**{**calm, "invalid": True}), _miscounts,
        ),
        _Promise(
            "retries", "the first attempt of each repetition counts",
            logs(**{**calm, "max_attempts": 3, "invalid": True}), _miscounts,
        ),
        _Promise(
            "duplicates", "a record that is there twice counts once",
            logs(**{**calm, "max_copies": 3}), _miscounts,
        ),
        _Promise(
            "accounting", "records read = used + left out, by reason", logs(), _misaccounts
        ),
        _Promise("row order", "the order of the records changes nothing", logs(), _reordered),
        _Promise("parts", "nor does their order over several sources", logs(), _parted),
        _Promise(
            "ids", "question ids are texts, whatever they look like",
            None, _misnames,
        ),
    ]  # fmt: skip


def _first_failing(promises: list[_Promise], reader: _Reader) -> Log | None:
    """The first log that breaks a promise: small ones, then a few with everything in them."""
    drawn = logs(min_questions=12, max_questions=20, max_attempts=3, max_copies=5, hostile_ids=True)
    for one in promises:
        for log in SMALL_LOGS.get(one.name, ()):
            if _failure(one, reader, log) is not None:
                return log
    large: list[Log] = draw_examples(drawn, _LARGE - 1)
    broken = (log for log in large if any(_failure(one, reader, log) for one in promises))
    return next(broken, None)


def _failure(promise: _Promise, reader: _Reader, log: Log) -> str | None:
    try:
        return promise.fails(reader, log)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"it raises {re.sub(_FOLDER, '', one_line(error))}"


def _check(promise: _Promise, reader: _Reader) -> Check:
    def fails(log: Log) -> bool:
        return _failure(promise, reader, log) is not None

    by_hand = SMALL_LOGS.get(promise.name) or tuple(map(_one_record, HOSTILE_IDS))
    found = next(filter(fails, by_hand), None)
    if found is None and promise.logs is not None:
        drawn = next(filter(fails, draw_examples(promise.logs, _TRIES)), None)
        if drawn is not None:
            found, _ = reduce_example(drawn, smaller_logs, fails, budget=_REDUCTIONS)
    if found is None:
        return Check(promise.name, True, None, promise.statement)
    words = f"{_describe(found.records)}: {_failure(promise, reader, found)}"
    smallest = len(found.records) == 1
    return Check(promise.name, False, words, promise.statement, smallest=smallest)


def _one_record(question: str) -> Log:
    record = {"question_id": question, "condition": "sham", "repetition": 0, "flip": 1}
    return Log([record], {(question, "sham", 0): (1,)}, {})


def _miscounts(reader: _Reader, log: Log) -> str | None:
    return _difference(reader.whole(log), log.counts())


def _misnames(reader: _Reader, log: Log) -> str | None:
    found, expected = reader.whole(log), log.counts()
    if found.question.tolist() != expected.question.tolist():
        return f"the questions are {found.question.tolist()}, not {expected.question.tolist()}"
    return _difference(found, expected)


def _misaccounts(reader: _Reader, log: Log) -> str | None:
    ledger = reader.whole(log).ledger
    if ledger is None:
        return "there is no ledger"
    expected = log.counts().ledger
    if expected is not None and (ledger.read, ledger.used) != (expected.read, expected.used):
        return (
            f"the ledger has {ledger.read} read and {ledger.used} used, it must be"
            f" {expected.read} and"
            f" {expected.used}"
        )
    return None


def _reordered(reader: _Reader, log: Log) -> str | None:
    return _difference(reader.of(log.records[::-1]), reader.whole(log))


def _parted(reader: _Reader, log: Log) -> str | None:
    half = len(log.records) // 2
    if not half:
        return None
    whole, parts = reader.whole(log), (log.records[:half], log.records[half:])
    for order in (parts, parts[::-1]):
        failure = _difference(reader.of(*order), whole)
        if failure is not None:
            return f"in two sources {failure}"
    return None


def _difference(found: ReplayCounts, expected: ReplayCounts) -> str | None:
    """The first difference between two counts, in words."""
    ours, theirs = expected.to_dict(), found.to_dict()
    if ours["question"] != theirs["question"]:
        return f"the questions are {theirs['question']}, not {ours['question']}"
    columns = [f"{c}_{what}" for c in CONDITIONS for what in ("flips", "replays", "invalid")]
    for name in [*columns, "cluster"]:
        for question, one, other in zip(ours["question"], ours[name], theirs[name], strict=True):
            if one != other:
                return f"{name} of question {question!r} is {other!r}, it must be {one!r}"
    return None


def _describe(records: list[dict[str, Any]]) -> str:
    shown = "; ".join(", ".join(f"{k}={v!r}" for k, v in one.items()) for one in records[:5])
    more = f"; and {len(records) - 5} more" if len(records) > 5 else ""
    plural = "" if len(records) == 1 else "s"
    return f"{len(records)} record{plural} ({shown}{more})"
