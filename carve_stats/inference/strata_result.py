"""Strata and what they differ by: the results and how they look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod
from carve_stats.errors import InputError
from carve_stats.inference.strata_differences import (
    Side,
    StrataSums,
    StratumDifference,
    differences_table,
)

__all__ = ["StratifiedScores", "Stratum", "label_of"]

_TOTAL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """The questions of one stratum.

    Parameters
    ----------
    values : mapping of str to str or float
        The value of each name; empty for all questions together.
    questions : int
        Scored questions in it.
    clusters : int or None
        Their clusters; None where not known.
    score, sham, destroy : Estimate
        Mean score and flip rates over these questions.
    self_ : Estimate
        SELF flip rate over those of them with a valid SELF replay.
    self_questions : int
        How many these are.
    """

    values: Mapping[str, str | float]
    questions: int
    clusters: int | None
    score: Estimate
    sham: Estimate
    destroy: Estimate
    self_: Estimate
    self_questions: int

    @property
    def label(self) -> str:
        """How it is called: ``covered true × correct false``."""
        return label_of(self.values) or _TOTAL

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        return {
            "values": dict(self.values),
            "questions": self.questions,
            "clusters": self.clusters,
            "score": self.score.to_dict(),
            "self": self.self_.to_dict() | {"questions": self.self_questions},
            "sham": self.sham.to_dict(),
            "destroy": self.destroy.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StratifiedScores:
    """Mean score and flip rates by strata, from `stratified_scores`.

    Parameters
    ----------
    by : tuple of str
        What the strata are made of.
    strata : tuple of Stratum
        Every combination of the values, the first name's running fastest; true before false,
        numbers and texts in order.
    total : Stratum
        The questions of all strata together.
    questions : dict
        ``read``, ``used``, ``left_out`` (reason: count).
    differences : tuple of StratumDifference
        Of each name with two values, over all values of the others: true less false, of numbers
        the larger less the smaller, of texts the first less the second. `difference` compares
        others.
    interval : IntervalMethod
        How the intervals were made; without df, since each stratum's is its own clusters − 1.
        Those of differences are always t intervals.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    total: Stratum
    differences: tuple[StratumDifference, ...]
    questions: Mapping[str, Any]
    interval: IntervalMethod
    notes: tuple[str, ...]
    _sums: StrataSums = field(compare=False)

    def __getitem__(self, values: object) -> Stratum:
        """A stratum by its values in the order of `by`: ``result[True, False]``."""
        wanted = values if isinstance(values, tuple) else (values,)
        for stratum in self.strata:
            own = tuple(stratum.values.values())
            if own == tuple(_key(one) for one in wanted):
                return stratum
        raise self._unknown(wanted)

    def difference(self, a: object, b: object) -> StratumDifference:
        """What two strata, or two sets of them, differ by.

        Parameters
        ----------
        a, b : tuple, or mapping of str to value
            The values of a stratum in the order of `by`; or those of some of the names, for all
            strata that have them.

        Returns
        -------
        StratumDifference
            a − b, with cluster t intervals, and p-values of one test at a time.

        Raises
        ------
        InputError
            No such stratum, or one that is on both sides.

        Examples
        --------
        >>> import carve_stats as cs
        >>> counts = cs.ReplayCounts(list("abcdef"), [0, 1, 2, 0, 1, 1], [3] * 6,
        ...     [3, 2, 2, 0, 3, 1], [3] * 6, cluster=list("uvuvuv"))
        >>> outcomes = cs.Outcomes(list("abcdef"), [1, 0, 1, 0, 1, 0], {},
        ...     covariates={"covered": [True, True, False, False, True, True]})
        >>> result = cs.stratified_scores(counts, outcomes)
        >>> result.difference((True, True), (False, True)).label
        'covered true × correct true − covered false × correct true'
        >>> round(result.difference({"covered": True}, {"covered": False}).score.estimate, 3)
        0.5
        """
        (first, own), (second, others) = self._side(a), self._side(b)
        shared = set(own) & set(others)
        if shared:
            raise InputError(
                f"{first} and {second} both have {self.strata[min(shared)].label}: no question can"
                " be on both sides of a difference"
            )
        return self._sums.compare((first, own), (second, others), self.interval.level)

    def _side(self, values: object) -> Side:
        """What some strata are called together, and which they are."""
        if isinstance(values, Mapping):
            wanted = {name: _key(value) for name, value in values.items()}
        else:
            given = values if isinstance(values, tuple) else (values,)
            # Values too few or too many name no stratum.
            wanted = dict(zip(self.by, map(_key, given), strict=False))
            wanted = wanted if len(given) == len(self.by) else {}
        places = [
            place
            for place, stratum in enumerate(self.strata)
            if wanted and wanted.items() <= stratum.values.items()
        ]
        if not places:
            raise self._unknown(values)
        return label_of({name: wanted[name] for name in self.by if name in wanted}), places

    def _unknown(self, wanted: object) -> InputError:
        return InputError(
            f"no stratum {wanted!r} of {', '.join(self.by)}: the strata are"
            f" {'; '.join(stratum.label for stratum in self.strata)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; undefined figures are None."""
        return {
            "by": list(self.by),
            "strata": [stratum.to_dict() for stratum in self.strata],
            "total": self.total.to_dict(),
            "differences": [difference.to_dict() for difference in self.differences],
            "questions": dict(self.questions),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        arms = ["sham", "destroy", *(["self_"] if self.total.self_questions else [])]
        headers = [" × ".join(self.by), "questions", "clusters", "mean score", "interval"]
        for arm in arms:
            headers += [arm.rstrip("_"), "interval"]
        rows: list[list[object]] = []
        for stratum in (*self.strata, self.total):
            row: list[object] = [
                ", ".join(map(_shown, stratum.values.values())) or _TOTAL,
                stratum.questions,
                stratum.clusters,
                _display.number(stratum.score.estimate, 3, signed=True),
                _display.interval(stratum.score.low, stratum.score.high, 3, signed=True),
            ]
            for arm in arms:
                rate = getattr(stratum, arm)
                row += [
                    _display.number(rate.estimate, 3),
                    _display.interval(rate.low, rate.high, 3),
                ]
            rows.append(row)
        return f"Mean score and flip rates by {headers[0]} ({self.interval})", headers, rows

    def _tables(self) -> list[tuple[str, list[str], list[list[object]]]]:
        tables = [self._table()]
        if self.differences:
            tables.append(differences_table(self.differences))
        return tables

    def __str__(self) -> str:
        *others, last = self._tables()
        blocks = [_display.text_block(*table) for table in others]
        return "\n\n".join([*blocks, _display.text_block(*last, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        *others, last = self._tables()
        blocks = [_display.html_block(*table) for table in others]
        return "\n".join([*blocks, _display.html_block(*last, self.notes)])


def label_of(values: Mapping[str, str | float]) -> str:
    """What a stratum of these values is called: ``covered true × correct false``."""
    return " × ".join(f"{name} {_shown(value)}" for name, value in values.items())


def _key(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool | np.bool_) else value


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
