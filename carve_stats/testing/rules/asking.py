"""A rule of anyone's, asked about tables of questions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError, one_line
from carve_stats.routing.rules.base import RuleInput
from carve_stats.testing.generators import draws_globally
from carve_stats.testing.rules.beside import PLAIN, Beside
from carve_stats.testing.rules.questions import Table
from carve_stats.testing.rules.reading import RuleReading

__all__ = ["AskedRule", "Propensities", "Raised", "Refused", "Wrong"]


class Raised(NamedTuple):
    """The rule raised an error."""

    words: str


class Wrong(NamedTuple):
    """What the rule returned are no propensities; the row concerned, or None for all of them."""

    words: str
    row: int | None = None


class Refused(NamedTuple):
    """The rule says that it cannot be applied to these questions: an `InputError`."""

    words: str


Propensities = tuple[float, ...]
Answer = Propensities | Raised | Wrong | Refused


class AskedRule:
    """From tables of questions to propensities, by somebody's rule.

    Parameters
    ----------
    reading : RuleReading
        How it is called.
    """

    def __init__(self, reading: RuleReading) -> None:
        self.reading = reading
        self._answers: dict[Table, Answer] = {}

    def __call__(self, table: Table) -> Answer:
        """What it says of these questions; asked only once."""
        answer = self._answers.get(table)
        if answer is None:
            answer = self._answers[table] = self.ask(table)
        return answer

    def ask(self, table: Table, beside: Beside = PLAIN) -> Answer:
        """What it says of these questions, asked anew; perhaps with something beside them."""
        given = _scores(table) if self.reading.takes_scores else _questions(table, beside)
        return self._call(given, len(table))

    def ask_subtracted(self, table: Table) -> Answer:
        """What it says of the scores as floats subtract them, y/k_destroy − x/k_sham."""
        return self._call(_subtracted(table), len(table))

    def changes_input(self, table: Table) -> bool:
        """Whether what it was given is different after the call, or would be if it could."""
        if self.reading.takes_scores:
            scores, kept = _scores(table), _scores(table)
            self._call(scores, len(table))
            return not np.array_equal(scores, kept, equal_nan=True)
        questions = _questions(table, PLAIN)
        covariates: Any = questions.covariates
        column, counts = covariates.column.copy(), questions.counts.to_dict()
        answer = self._call(questions, len(table))
        if isinstance(answer, Raised) and "read-only" in answer.words:
            return True  # it wrote to the counts
        same = np.array_equal(covariates.column, column, equal_nan=True) and not len(covariates)
        return not same or questions.counts.to_dict() != counts

    def draws(self, table: Table) -> bool:
        """Whether it draws from a global random generator."""
        return draws_globally(lambda: self.ask(table))

    def _call(self, given: Any, n: int) -> Answer:
        try:
            returned = self.reading.call(given)
        except KeyboardInterrupt:
            raise
        except InputError as error:
            return Refused(str(error))
        except BaseException as error:  # sys.exit() in a rule is a failure like others
            return Raised(one_line(error))
        return _read(returned, n)


def _read(returned: Any, n: int) -> Answer:
    try:
        values = np.array(returned, dtype=float)
    except (TypeError, ValueError):
        shown = " ".join(repr(returned).split())[:60]
        return Wrong(f"returns {shown}, which are no propensities")
    if values.shape != (n,):
        return Wrong(f"returns propensities of shape {values.shape} and not {(n,)}, one a question")
    for row, value in enumerate(values.tolist()):
        if not 0.0 <= value <= 1.0:
            return Wrong(f"gives the propensity {value:g}, which is not in [0, 1]", row)
    return tuple(values.tolist())


class _AnyName(dict[str, NDArray[np.float64]]):
    """One column of numbers, found under whatever name a rule looks for."""

    def __init__(self, column: NDArray[np.float64]) -> None:
        super().__init__()
        self.column = column

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> NDArray[np.float64]:
        return self.column

    def get(self, name: str, default: Any = None) -> Any:
        """The column: there is one of every name."""
        return self[name]


def _questions(table: Table, beside: Beside) -> RuleInput:
    """What a rule is given; rows are in order of ids, so that they keep theirs."""
    width = len(str(len(table)))
    ids = [beside.ids.format(row, width) for row in range(len(table))]
    columns: list[Any] = [[one[place] for one in table] for place in range(4)]
    more: dict[str, Any] = {
        name: [value(row) for row in range(len(table))] for name, value in beside.columns.items()
    }
    counts = ReplayCounts(ids, *columns, ledger=beside.ledger, **more)
    covariate = [math.nan if one.covariate is None else one.covariate for one in table]
    return RuleInput(counts, _AnyName(np.array(covariate)))


def _scores(table: Table) -> NDArray[np.float64]:
    """The floats nearest to the scores."""
    return np.array([math.nan if one.score is None else float(one.score) for one in table])


def _subtracted(table: Table) -> NDArray[np.float64]:
    return np.array(
        [
            math.nan
            if one.score is None
            else one.destroy_flips / one.destroy_replays - one.sham_flips / one.sham_replays
            for one in table
        ]
    )
