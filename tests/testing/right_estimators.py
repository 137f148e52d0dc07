"""Right estimators as others write them: every signature, every kind of result."""

from __future__ import annotations

import enum
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Optional, TypedDict

import numpy as np
import pandas
from numpy.typing import ArrayLike, NDArray

from carve_stats import ReplayCounts

__all__ = ["RIGHT", "Audit"]

RIGHT = {}


def right(signature):
    def keep(function):
        RIGHT[function.__name__] = function, signature
        return function

    return keep


def valid(arm):
    return [flip for flip in arm if flip is not None]


@right("lists")
def fractions(sham, destroy):
    sham, destroy = valid(sham), valid(destroy)
    if not (sham and destroy):
        return None
    return Fraction(sum(destroy), len(destroy)) - Fraction(sum(sham), len(sham))


@right("lists")
def refuses_an_empty_arm(
    *, destroy_flips: Sequence[bool | None], sham_flips: Sequence[bool | None]
) -> Fraction:
    # statistics.mean raises StatisticsError, which is a ValueError
    mean = [statistics.mean(map(Fraction, valid(arm))) for arm in (destroy_flips, sham_flips)]
    return mean[0] - mean[1]


@right("lists")
def tuples_and_self(self_flips: tuple, sham: tuple, destroy: tuple, k: int):
    assert isinstance(sham, tuple)
    return fractions(sham, destroy)


@right("lists")
def lists_with_planned_ks(
    sham: list[int | None], k_sham: int, destroy: list[int | None], k_destroy: int
):
    assert (len(sham), len(destroy)) == (k_sham, k_destroy)
    return {"delta": fractions(sham, destroy), "k": k_sham}


@right("lists")
def replays_by_name(sham_replays, destroy_replays, alpha=0.05):
    return fractions(sham_replays, destroy_replays)


@right("arrays")
def numpy_sums(sham: NDArray[np.float64], destroy: NDArray[np.float64]):
    x, y = np.nansum(sham), np.nansum(destroy)
    k_sham, k_destroy = (np.isfinite(arm).sum() for arm in (sham, destroy))
    return (y * k_sham - x * k_destroy) / np.float64(k_sham * k_destroy)


@right("arrays")
def an_array_of_one(y: ArrayLike, x: ArrayLike):
    return np.atleast_1d(numpy_sums(x, y))


@right("counts")
def four_counts(sham_flips: int, sham_replays: int, destroy_flips: int, destroy_replays: int):
    if not (sham_replays and destroy_replays):
        return float("nan")
    numerator = destroy_flips * sham_replays - sham_flips * destroy_replays
    return numerator / (sham_replays * destroy_replays)


@right("counts")
def counts_in_another_order(k_destroy, k_sham, /, y, x):
    return four_counts(x, k_sham, y, k_destroy)


@right("counts")
def whole_numbers(x_s, n_s, x_d, n_d):
    """A Fraction where there is one, an int where it is whole."""
    if not (n_s and n_d):
        return None
    score = Fraction(x_d, n_d) - Fraction(x_s, n_s)
    return np.int64(score.numerator) if score.denominator == 1 else score


@right("replay_counts")
def our_own(counts):
    return counts.score


@right("replay_counts")
def our_own_annotated(table: ReplayCounts, level: float = 0.95):
    return [None if np.isnan(score) else score for score in table.score]


class Condition(enum.Enum):
    SELF = "agent alone"
    SHAM = "re-rendered"
    DESTROY = "phases lost"


@dataclass
class Record:
    question: str
    condition: Condition
    repetition: int
    flip: Optional[bool]  # noqa: UP045 (as many write it)
    note: str = ""


@right("records")
def records_of_an_enumeration(replays: list[Record]) -> Fraction | None:
    arms = [
        [r.flip for r in replays if r.condition is condition]
        for condition in (Condition.SHAM, Condition.DESTROY)
    ]
    return fractions(*arms)


@dataclass(frozen=True)
class Labelled:
    arm: Literal["sham", "destroy"]
    flipped: bool | None


@right("records")
def records_of_texts(rows: Iterable[Labelled]):
    return fractions(*([r.flipped for r in rows if r.arm == arm] for arm in ("sham", "destroy")))


@dataclass
class Replays:
    """What a third party might have: flips are optional, invalid replays are None."""

    destroy: list[bool | None] = field(default_factory=list)
    sham: list[bool | None] = field(default_factory=list)


class Result(NamedTuple):
    delta: float | None
    self_rate: float | None = None


@right("fields")
def a_dataclass_with_optional_flips(replays: Replays) -> Result:
    sham = [flip for flip in replays.sham if flip is not None]
    destroy = [flip for flip in replays.destroy if flip is not None]
    if not sham or not destroy:
        return Result(None)
    numerator = sum(destroy) * len(sham) - sum(sham) * len(destroy)
    return Result(numerator / (len(sham) * len(destroy)))


@dataclass
class Identified:
    """With an id that an estimator does not need."""

    question_id: str
    sham: list[bool | None]
    destroy: list[bool | None]


@right("fields")
def a_dataclass_with_an_id(replays: Identified) -> Fraction | None:
    return fractions(replays.sham, replays.destroy)


@dataclass
class Tallied:
    sham_flips: int
    sham_replays: int
    destroy_flips: int
    destroy_replays: int


@right("fields")
def a_dataclass_of_counts(tallied: Tallied):
    return four_counts(*vars(tallied).values())


@right("mapping")
def a_mapping(arms: Mapping[str, list[int | None]]):
    return fractions(**arms)


@right("rows")
def rows_of_dicts(rows: list[dict[str, Any]]):
    return fractions(
        *([r["flip"] for r in rows if r["condition"] == c] for c in ("sham", "destroy"))
    )


@dataclass
class Logged:
    """A record as in a log: conditions in capitals, and an id that nobody needs here."""

    question_id: str
    condition: str
    flip: bool | None


@right("records")
def records_in_capitals(replays: list[Logged]) -> Result:
    sham, destroy = (
        [r.flip for r in replays if r.condition == c and r.flip is not None]
        for c in ("SHAM", "DESTROY")
    )
    if not (sham and destroy):
        return Result(None)
    return Result(float(fractions(sham, destroy)))


@right("mapping")
def a_mapping_in_capitals(arms: dict[str, list[int | None]]):
    return fractions(arms.get("SHAM", []), arms.get("DESTROY", []))


@right("rows")
def rows_with_titles(rows: list[dict[str, Any]]):
    return fractions(
        *([r["flip"] for r in rows if r["condition"] == c] for c in ("Sham", "Destroy"))
    )


def arms_of(replays, arm, flip, sham, destroy):
    """Records by condition in a dict that knows two; another is a KeyError."""
    arms = {sham: [], destroy: []}
    for replay in replays:
        arms[arm(replay)].append(flip(replay))
    return arms[sham], arms[destroy]


@right("records")
def records_without_self(replays: list[Logged]):
    return fractions(*arms_of(replays, lambda r: r.condition, lambda r: r.flip, "SHAM", "DESTROY"))


@right("records")
def all_else_is_destroy(replays: list[Logged]):
    sham, destroy = [], []
    for replay in replays:
        (sham if replay.condition == "sham" else destroy).append(replay.flip)
    return fractions(sham, destroy)


@right("rows")
def rows_of_arms(rows: list[dict]):
    return fractions(*arms_of(rows, lambda r: r["arm"], lambda r: r["flipped"], "Sham", "Destroy"))


class Row(TypedDict):
    arm: str
    flipped: bool | None


@right("records")
def rows_of_a_typed_dict(rows: list[Row]):
    return fractions(*arms_of(rows, lambda r: r["arm"], lambda r: r["flipped"], "sham", "destroy"))


class Named(NamedTuple):
    video: str
    condition: Literal["SHAM", "DESTROY", "SELF"]
    flip: bool | None


@right("records")
def named_tuples(replays: Sequence[Named]):
    arms = ([r.flip for r in replays if r.condition == c] for c in ("SHAM", "DESTROY"))
    return fractions(*arms)


class Arms(TypedDict):
    destroy: list[bool | None]
    sham: list[bool | None]


@right("fields")
def a_typed_dict_of_arms(arms: Arms):
    return fractions(arms["sham"], arms["destroy"])


@right("series")
def two_series(sham: pandas.Series, destroy: pandas.Series):
    sham, destroy = sham.dropna(), destroy.dropna()
    if not (len(sham) and len(destroy)):
        return pandas.NA
    return Fraction(int(destroy.sum()), len(destroy)) - Fraction(int(sham.sum()), len(sham))


@dataclass
class Audit:
    """A class that is the estimator: made of flips, with the score as an attribute."""

    sham: list[bool | None]
    destroy: list[bool | None]

    @property
    def delta(self):
        return fractions(self.sham, self.destroy)


RIGHT["Audit"] = Audit, "lists"


class Scorer:
    def __init__(self, digits: int = 28) -> None:
        self.digits = digits

    def score(self, control, destroyed):
        return fractions(control, destroyed)

    def __call__(self, sham, destroy):
        return fractions(sham, destroy)


RIGHT["a bound method"] = Scorer().score, "lists"
RIGHT["an object that can be called"] = Scorer(), "lists"
RIGHT["a lambda"] = lambda a, b: fractions(a, b), "lists"
RIGHT["a lambda of letters"] = lambda d, s: fractions(s, d), "lists"


def decimals(sham, destroy):
    """Nearly right: a Decimal is no more exact than a float."""
    score = fractions(sham, destroy)
    return None if score is None else Decimal(score.numerator) / score.denominator
