"""`Benchmark`: what the official file of a benchmark says of its questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from carve_stats.counts import Ledger
from carve_stats.errors import InputError, RecordError
from carve_stats.replay.benchmark_records import (
    Placed,
    label_at,
    labelled_in_order,
    needed,
    text_in,
)

__all__ = [
    "Benchmark",
    "BenchmarkFormat",
    "BenchmarkQuestion",
    "Placed",
    "Read",
    "label_at",
    "labelled_in_order",
    "lettered_gold",
    "needed",
    "others",
    "text_in",
]

_LABELS = tuple(map(label_at, range(26)))


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """One question of a benchmark.

    Parameters
    ----------
    question_id, video_id : str
        As the file has them.
    text : str or None
        The question without its options; None where the file does not hold it.
    options : mapping of str to str
        Label to text, in order; empty where the file does not hold them.
    answer : str or None
        The label of the gold answer; None where it is not published.
    interval : tuple of float or None
        Where in the video the answer is seen, in seconds; None where the file does not say.
    attributes : mapping of str to object
        Whatever else the file says, by its own names.
    """

    question_id: str
    video_id: str
    text: str | None
    options: Mapping[str, str]
    answer: str | None
    interval: tuple[float, float] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Benchmark:
    """The questions of a benchmark, by id.

    Parameters
    ----------
    name : str
        Which benchmark it is, as `read_benchmark` calls it.
    questions : mapping of str to BenchmarkQuestion
        By question id, in order of the ids.
    ledger : Ledger
        What was read and what a person should know of it.
    """

    name: str
    questions: Mapping[str, BenchmarkQuestion]
    ledger: Ledger

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[BenchmarkQuestion]:
        return iter(self.questions.values())

    def __contains__(self, question_id: object) -> bool:
        return question_id in self.questions

    def __getitem__(self, question_id: str) -> BenchmarkQuestion:
        if question_id not in self.questions:
            raise InputError(
                f"{self.name} has no question {question_id!r}; its ids are such as"
                f" {next(iter(self.questions))!r}"
            )
        return self.questions[question_id]

    def __repr__(self) -> str:
        gold = sum(question.answer is not None for question in self)
        videos = len({question.video_id for question in self})
        return (
            f"<Benchmark {self.name}: {len(self)} questions, {gold} with a gold answer,"
            f" {videos} videos>"
        )


class Read(NamedTuple):
    """What a format makes of its records."""

    questions: list[tuple[str, BenchmarkQuestion]]
    """Where each question stands, and the question."""
    notes: list[str]


class BenchmarkFormat(Protocol):
    """A module that reads the files of one benchmark."""

    NAME: str

    def is_mine(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is of this benchmark, by the names in it."""
        ...

    def read(self, records: Sequence[Placed]) -> Read:
        """The questions in the records."""
        ...


def lettered_gold(placed: Placed, name: str, options: Mapping[str, str]) -> str | None:
    """A gold answer that is written as a letter; None where there is none."""
    value = placed.record.get(name)
    if value is None or value == "":
        return None
    letter = value.strip().upper() if isinstance(value, str) else None
    known = tuple(options or _LABELS)
    if letter not in known:
        raise RecordError(
            f"{placed.place}: {name}={value!r} is none of the options {', '.join(known)}"
        )
    return letter


def others(record: Mapping[str, Any], *used: str) -> dict[str, Any]:
    """The fields of a record that are not used otherwise; a list as a tuple."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record.items()
        if name not in used
    }
