"""`StoppingPlan`: which replay a question gets next, and when none can change its decision."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._kernels import stopping as kernels
from carve_stats.errors import InputError, check_name
from carve_stats.law._arguments import one_number, one_whole_number
from carve_stats.law._flip_states import (
    decision_classes,
    final_decisions,
    flip_states,
    plan_budget_pair,
    plan_rule,
)
from carve_stats.law.score_rule import ScoreRule

__all__ = ["FIXED_ORDERS", "ORDERS", "StoppingPlan", "fixed_plan"]

FIXED_ORDERS = ("alternate", "alternate-destroy-first", "destroy-first")
ORDERS = ("optimal", *FIXED_ORDERS)

_CONDITIONS = ("sham", "destroy")
_STOP = 2  # in the table of a written plan: 0 SHAM, 1 DESTROY, 2 and on: stop with decision 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoppingPlan:
    """The order in which a question is replayed, and the states in which it stops.

    A state is (i, x, j, y): i valid SHAM replays, x of them flipped; j DESTROY replays, y flipped.
    `stopping_plan` makes plans. Arrays over states have the row i(i + 1)/2 + x and the column
    j(j + 1)/2 + y: S = (k_sham + 1)(k_sham + 2)/2 rows, and as many columns D for the other arm.

    Parameters
    ----------
    k_sham, k_destroy : int
        The full budget, from 1 to 64.
    rule : ScoreRule or str
        What is to be decided: whether the rule selects the question at the full budget, or the
        ``"sign"`` of its score there.
    order : str
        ``optimal``, ``alternate``, ``alternate-destroy-first`` or ``destroy-first``.
    minimum : (int, int)
        SHAM and DESTROY replays before any stop.
    action : array_like of int8, shape (S, D)
        0: a SHAM replay next; 1: a DESTROY replay; −1: stop.
    verdict : array_like of int8, shape (S, D)
        The decision of each state, as an index: 0 and 1 for a rule that does not or does select,
        0, 1, 2 for the signs −1, 0, 1; −1 where it is open. Where all sequences to come agree, it
        is theirs. A plan may stop where they do not: a few decisions change.
    changed : float
        The share of decisions that was allowed to change, below 1, for questions as the plan's
        population has them; it is no bound for others.

    Raises
    ------
    InputError
        A budget, rule or order that is none; a minimum above the budget; a table of another shape,
        with a replay beyond the budget, a stop before the minimum or without a decision, or with a
        decision that no sequence to come would bring; a share outside [0, 1).

    Notes
    -----
    The plan depends on the flips seen and on nothing else, so that every sequence of flips has one
    path. That is what makes `path_shares` unbiased.

    Examples
    --------
    >>> plan = fixed_plan(3, 3, "score <= 0", "alternate")
    >>> plan.next_condition(1, 1, 1, 0)                     # one SHAM flip, no DESTROY flip
    'sham'
    >>> plan.next_condition(2, 2, 1, 0), plan.decision(2, 2, 1, 0)     # 2 of 3 cannot exceed 2
    (None, True)
    >>> plan.guaranteed
    (2, 1)
    """

    k_sham: int
    k_destroy: int
    rule: ScoreRule | str
    order: str
    minimum: tuple[int, int]
    action: NDArray[np.int8]
    verdict: NDArray[np.int8]
    changed: float = 0.0
    exact: bool = field(init=False)
    """Whether every decision is the one that the full budget brings."""

    def __post_init__(self) -> None:
        budget = plan_budget_pair(self.k_sham, self.k_destroy)
        rule = plan_rule(self.rule)
        check_name("order", self.order, ORDERS)
        minimum = _minimum(self.minimum, budget)
        certain = final_decisions(decision_classes(*budget, rule))
        action = _table("action", self.action, certain.shape, 1)
        verdict = _table("verdict", self.verdict, certain.shape, 2 if rule == "sign" else 1)
        (i, _), (j, _) = flip_states(budget[0]), flip_states(budget[1])
        i, stops = i[:, None], action < 0
        _refuse(
            ((action == 0) & (i == budget[0])) | ((action == 1) & (j == budget[1])),
            "a replay beyond the budget",
        )
        _refuse(stops & ((i < minimum[0]) | (j < minimum[1])), "a stop before the minimum")
        _refuse(stops & (verdict < 0), "a stop without a decision")
        _refuse((certain >= 0) & (verdict != certain), "a decision that no replay to come brings")
        exact = not (stops & (certain < 0)).any()
        changed = one_number("changed", self.changed)
        if not 0.0 <= changed < 1.0:
            raise InputError(f"changed={changed} must be a share, at least 0 and below 1")
        values = {
            "k_sham": budget[0], "k_destroy": budget[1], "rule": rule, "minimum": minimum,
            "action": action, "verdict": verdict, "changed": changed, "exact": exact,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def reduced(self, sham: int, destroy: int) -> StoppingPlan:
        """What holds once some replays gave no valid answer: those are spent.

        Parameters
        ----------
        sham, destroy : int
            Invalid SHAM and DESTROY replays so far.

        Returns
        -------
        StoppingPlan
            Of the budget (k_sham − sham, k_destroy − destroy): in the same order, but for an arm
            that is spent; it stops where this one does, and where the smaller budget decides.

        Raises
        ------
        InputError
            An arm without any valid replay to come: such a question has no score.

        Notes
        -----
        Replays to come may be invalid too. Of a rule with <, <=, >= or >, and of the sign, the
        decision holds nevertheless: the score is largest and smallest where all of them are valid,
        since (y + m)/(j + m) grows with m and x/(i + m) falls. A rule with = has no such guarantee.

        Examples
        --------
        >>> plan = fixed_plan(3, 3, "score <= 0", "alternate")
        >>> plan.decision(2, 0, 1, 1), plan.reduced(1, 0).decision(2, 0, 1, 1)
        (None, False)
        """
        invalid = (
            one_whole_number("sham", sham, least=0),
            one_whole_number("destroy", destroy, least=0),
        )
        budget = self.k_sham - invalid[0], self.k_destroy - invalid[1]
        if min(budget) < 1:
            raise InputError(
                f"(sham, destroy)={invalid} leaves an arm of (k_sham, k_destroy)="
                f"({self.k_sham}, {self.k_destroy}) without a valid replay: there is no score"
            )
        minimum = min(self.minimum[0], budget[0]), min(self.minimum[1], budget[1])
        if self.order != "optimal":
            return fixed_plan(*budget, self.rule, self.order, minimum)
        certain = final_decisions(decision_classes(*budget, self.rule))
        rows, columns = certain.shape
        action = self.action[:rows, :columns].copy()
        (i, _), (j, _) = flip_states(budget[0]), flip_states(budget[1])
        i = i[:, None]
        action[(action == 0) & (i == budget[0])] = 1
        action[(action == 1) & (j == budget[1])] = 0
        # Once decided, only what an arm lacks of its minimum is replayed.
        short = np.where(i < minimum[0], 0, np.where(j < minimum[1], 1, -1))
        action = np.where(certain >= 0, short, action)
        verdict = np.where(certain >= 0, certain, self.verdict[:rows, :columns])
        return StoppingPlan(*budget, self.rule, self.order, minimum, action, verdict, self.changed)

    def next_condition(self, i: int, x: int, j: int, y: int) -> str | None:
        """The condition of the next replay.

        Parameters
        ----------
        i, x : int
            Valid SHAM replays so far, and how many flipped.
        j, y : int
            The same of DESTROY.

        Returns
        -------
        str or None
            ``"sham"`` or ``"destroy"``; None where the question stops.
        """
        action = self.action[self._place(i, x, j, y)]
        return None if action < 0 else _CONDITIONS[action]

    def decision(self, i: int, x: int, j: int, y: int) -> bool | int | None:
        """What the question is decided to be, whatever is still to come.

        Parameters
        ----------
        i, x, j, y : int
            As in `next_condition`.

        Returns
        -------
        bool, int or None
            Whether the rule selects the question, or for ``"sign"`` −1, 0 or 1; None while open.
        """
        verdict = int(self.verdict[self._place(i, x, j, y)])
        if verdict < 0:
            return None
        return verdict - 1 if self.rule == "sign" else bool(verdict)

    @property
    def paths(self) -> NDArray[np.float64]:
        """How many orders of flips lead to each state, shape (S, D); 0 where none does."""
        return self.count_paths((0, 0), (0, 0))

    @property
    def terminals(self) -> NDArray[np.int64]:
        """The states (i, x, j, y) that a question can stop in, shape (T, 4)."""
        rows, columns = np.nonzero((self.action < 0) & (self.paths > 0.0))
        sham, destroy = flip_states(self.k_sham), flip_states(self.k_destroy)
        return np.column_stack([part[rows] for part in sham] + [part[columns] for part in destroy])

    @property
    def guaranteed(self) -> tuple[int, int]:
        """SHAM and DESTROY replays that every question gets, however its replays turn out."""
        least = self.terminals.min(axis=0)
        return int(least[0]), int(least[2])

    @property
    def sha256(self) -> str:
        """A digest of everything that the plan does."""
        return hashlib.sha256(_json(self._header()) + self._codes()).hexdigest()

    def count_paths(
        self, first_sham: tuple[int, int], first_destroy: tuple[int, int]
    ) -> NDArray[np.float64]:
        """How many orders of flips lead to each state and begin as given.

        Parameters
        ----------
        first_sham, first_destroy : (int, int)
            (k′, u): u of the first k′ replays of the arm flipped; (0, 0) for any.

        Returns
        -------
        ndarray, shape (S, D)
            Whole numbers, exact up to 2^53. Those of states with fewer than k′ replays mean
            nothing.
        """
        out = np.empty((1, 1, *self.action.shape))
        kernels.count_paths(
            self.k_sham, self.k_destroy, self.action[None, None], first_sham, first_destroy, out
        )
        return out[0, 0]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values; the table of an optimal order is compressed text.

        Returns
        -------
        dict
            For JSON; `from_dict` reads it.
        """
        table = None
        if self.order == "optimal":
            table = base64.b85encode(zlib.compress(self._codes(), 9)).decode()
        return {**self._header(), "table": table, "sha256": self.sha256}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> StoppingPlan:
        """Read what `to_dict` gave.

        Parameters
        ----------
        record : mapping
            All of its entries, and no others.

        Returns
        -------
        StoppingPlan
            The same, to the last action.

        Raises
        ------
        InputError
            An entry that is missing, unknown, damaged, or does not fit its digest.
        """
        expected = {*_HEADER, "table", "sha256"}
        if not isinstance(record, Mapping) or set(record) - {"changed"} != expected:
            raise InputError(f"a stopping plan must have the entries {', '.join(sorted(expected))}")
        k_sham, k_destroy, rule, order, minimum = (record[name] for name in _HEADER)
        if order == "optimal":
            plan = _from_codes(k_sham, k_destroy, rule, minimum, record["table"])
            plan = replace(plan, changed=record.get("changed", 0.0))
        else:
            plan = fixed_plan(k_sham, k_destroy, rule, order, minimum)
        if plan.sha256 != record["sha256"]:
            raise InputError("the stopping plan does not fit its sha256: it was damaged or changed")
        return plan

    def __repr__(self) -> str:
        return (
            f"StoppingPlan({str(self.rule)!r}, k_sham={self.k_sham}, k_destroy={self.k_destroy},"
            f" order={self.order!r}, minimum={self.minimum}, guaranteed={self.guaranteed})"
        )

    def _place(self, i: int, x: int, j: int, y: int) -> tuple[int, int]:
        if not (0 <= x <= i <= self.k_sham and 0 <= y <= j <= self.k_destroy):
            raise InputError(
                f"(i, x, j, y)=({i}, {x}, {j}, {y}) is no state of a question: flips are at most"
                f" the replays, and these at most {self.k_sham} SHAM and {self.k_destroy} DESTROY"
            )
        return i * (i + 1) // 2 + x, j * (j + 1) // 2 + y

    def _header(self) -> dict[str, Any]:
        header = {name: getattr(self, name) for name in _HEADER}
        # Plans had their digests before any decision could change.
        changed = {"changed": self.changed} if self.changed else {}
        return {**header, "rule": str(self.rule), "minimum": list(self.minimum), **changed}

    def _codes(self) -> bytes:
        return (
            np.where(self.action < 0, _STOP + self.verdict, self.action).astype(np.int8).tobytes()
        )


_HEADER = ("k_sham", "k_destroy", "rule", "order", "minimum")


def fixed_plan(
    k_sham: int,
    k_destroy: int,
    rule: ScoreRule | str,
    order: str,
    minimum: tuple[int, int] = (0, 0),
) -> StoppingPlan:
    """A plan whose order needs no population.

    Parameters
    ----------
    k_sham, k_destroy, rule, minimum
        As in `StoppingPlan`.
    order : str
        ``alternate``: SHAM first, then the arm with fewer replays; ``alternate-destroy-first``;
        ``destroy-first``: all DESTROY replays before any SHAM. A full arm is passed over. Once the
        decision is certain, only what an arm lacks of its minimum is replayed.

    Returns
    -------
    StoppingPlan
        An exact one.
    """
    check_name("order", order, FIXED_ORDERS)
    budget, rule = plan_budget_pair(k_sham, k_destroy), plan_rule(rule)
    least = _minimum(minimum, budget)
    verdict = final_decisions(decision_classes(*budget, rule))
    certain = verdict >= 0
    i, j = flip_states(budget[0])[0][:, None], flip_states(budget[1])[0]
    if order == "alternate":
        destroy = j < i
    elif order == "alternate-destroy-first":
        destroy = j <= i
    else:
        destroy = (j < budget[1]) & (i >= 0)
    full_sham = np.where(certain, i >= least[0], i >= budget[0])
    full_destroy = np.where(certain, j >= least[1], j >= budget[1])
    action = np.where(full_sham | (destroy & ~full_destroy), 1, 0)
    action[full_sham & full_destroy] = -1
    return StoppingPlan(*budget, rule, order, least, action, verdict)


def _minimum(minimum: tuple[int, int], budget: tuple[int, int]) -> tuple[int, int]:
    try:
        sham, destroy = minimum
    except (TypeError, ValueError):
        raise InputError(
            f"minimum={minimum!r} must be two whole numbers, of SHAM and of DESTROY replays"
        ) from None
    least = (
        one_whole_number("minimum", sham, least=0),
        one_whole_number("minimum", destroy, least=0),
    )
    if least[0] > budget[0] or least[1] > budget[1]:
        raise InputError(f"minimum={least} must not exceed the budget {budget}")
    return least


def _table(name: str, values: ArrayLike, shape: tuple[int, ...], most: int) -> NDArray[np.int8]:
    array = np.array(values)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold whole numbers and have shape {shape}, a state an entry")
    if array.min() < -1 or array.max() > most:
        raise InputError(f"{name} must lie between -1 and {most}")
    array = array.astype(np.int8)
    array.flags.writeable = False
    return array


def _refuse(wrong: NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(f"the plan has {what} at row {row}, column {column}")


def _from_codes(k_sham: int, k_destroy: int, rule: str, minimum: Any, text: Any) -> StoppingPlan:
    budget = plan_budget_pair(k_sham, k_destroy)
    certain = final_decisions(decision_classes(*budget, plan_rule(rule)))
    try:
        # No more than what is expected is unpacked, whatever the text would unpack to.
        unpacking = zlib.decompressobj()
        unpacked = unpacking.decompress(base64.b85decode(text), certain.size + 1)
        if not unpacking.eof:
            raise ValueError
        codes = np.frombuffer(unpacked, np.int8).reshape(certain.shape)
    except (TypeError, ValueError, zlib.error):
        raise InputError("the table of the stopping plan is damaged") from None
    stops = codes >= _STOP
    return StoppingPlan(
        *budget,
        plan_rule(rule),
        "optimal",
        minimum,
        np.where(stops, -1, codes),
        np.where(stops, codes - _STOP, certain),
    )


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode()
