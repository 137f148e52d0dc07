"""`SpendLimit`: how many calls a run may make, and what it may cost, in all its records."""

from __future__ import annotations

import os
import threading
from decimal import Decimal
from fractions import Fraction

from carve_stats.errors import AgentError, InputError
from carve_stats.replay.costs.metering import Meter, model_asked
from carve_stats.replay.costs.prices import Prices, read_prices
from carve_stats.replay.costs.spending import Spending
from carve_stats.replay.independence.canary_report import CanaryReport
from carve_stats.replay.records import Replay, ReplayKey
from carve_stats.replay.store import RunStore

__all__ = ["SpendLimit", "check_max_calls", "check_max_cost"]

_UNTOLD = "untold"
_CANNOT_BE_KEPT = (
    "the reply does not tell its tokens (usage: prompt_tokens and completion_tokens), so that"
    " max_cost (--max-cost) cannot be kept: have the agent tell them, price its calls, or give"
    " max_calls (--max-calls) alone"
)


class SpendLimit:
    """Lets a run make no more calls, or cost no more, than a person allows.

    It counts what the whole run has spent, by its records: earlier attempts, failed ones, and the
    canary. A larger limit lets the same run go on.

    Parameters
    ----------
    max_calls : int, optional
        Calls of the agent: a reply is one, and so is a caption, for an agent with ``render()``.
        Requests that a server refuses are none beside.
    max_cost : float, optional
        Money, in the currency of `prices`.
    prices : path or Prices, optional
        What models cost; see `read_prices`.

    Notes
    -----
    Before each replay what it may need is set aside, so that there are never more than `max_calls`
    calls, however many replays are in flight. What a replay will cost is not known before: the most
    that one has cost so far is set aside for each, and the first of a run, whose cost tells what
    others may, is made alone. A run costs more than `max_cost` only as far as its last replays cost
    more than all before. A reply that was lost on its way, and a record of which there is another,
    count as the dearest. Processes that add to one run at the same time see what others have spent
    when they begin, and not after.

    Examples
    --------
    >>> import tempfile
    >>> from carve_stats.replay.loop import run_replays
    >>> from carve_stats.replay.trajectories import Trajectory
    >>> question = Trajectory(question_id="q1", answer="A", options={"A": "yes", "B": "no"})
    >>> limit = SpendLimit(max_calls=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     status = run_replays(lambda request: "B", [question], k=3, store=folder, seed=1,
    ...                          limit=limit)
    >>> print(status, limit, sep="; ")
    4 of 9 replays done (4 valid, 0 invalid); max_calls=4 (4 made)
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_cost: float | None = None,
        prices: Prices | str | os.PathLike[str] | None = None,
    ) -> None:
        if max_calls is None and max_cost is None:
            raise InputError("a limit needs max_calls or max_cost")
        if max_calls is not None:
            check_max_calls("max_calls", max_calls)
        if max_cost is not None and prices is None:
            raise InputError(f"max_cost={max_cost!r} needs prices: give a price file")
        self.max_calls = max_calls
        self.max_cost = None if max_cost is None else check_max_cost("max_cost", max_cost)
        if prices is not None and not isinstance(prices, Prices):
            prices = read_prices(prices)
        self.prices = prices
        self._lock = threading.Lock()
        self._meter = Meter((), captions=False)
        self._spent = Spending(self._meter, priced=False)
        self._refused_by: str | None = None
        self._reserved: dict[ReplayKey, tuple[int, Fraction]] = {}
        self._reserved_calls = self._passed = 0
        self._reserved_cost = Fraction(0)
        self._canary_cost = self._dearest_call = Fraction(0)
        self._canary_refused_by: str | None = None
        self.reached: str | None = None
        """``max_calls`` or ``max_cost``, where it ended a run."""
        self.alone = False
        """Whether one replay only is let pass, to learn what it costs."""
        self.settled = 0
        """Changes with each record that comes: what was held back may pass then."""

    @property
    def calls(self) -> int:
        """Calls that the run has made."""
        return self._spent.calls

    @property
    def cost(self) -> Fraction | None:
        """What the run has cost, at most; None without prices."""
        return None if self.prices is None else self._spent.cost

    def begin(self, store: RunStore, *, captions: bool) -> None:
        """Count what a run has spent already.

        Parameters
        ----------
        store : RunStore
            The run.
        captions : bool
            Whether its agent captions evidence before it answers.

        Raises
        ------
        InputError, AgentError
            The cost of a record cannot be known.
        """
        self._meter = Meter(
            store.trajectories(),
            captions=captions,
            prices=self.prices,
            model=model_asked(store.plan.agent),
        )
        self._spent = Spending(self._meter, priced=self.prices is not None)
        self._check_known(self._spent.add_run(store))
        self.reached = self._refused_by = None
        self._reserved.clear()
        self._reserved_calls = self._passed = 0
        self._reserved_cost = Fraction(0)
        self._canary_cost = self._spent.cost
        self._dearest_call = self._meter.known_call_cost()
        self._canary_refused_by = None
        self.alone = self.max_cost is not None and not (
            self._spent.dearest or self._meter.costs_known()
        )

    def affords(self, sent: CanaryReport) -> bool:
        """Whether a canary may make one more call.

        Parameters
        ----------
        sent : CanaryReport
            What it has sent.

        Returns
        -------
        bool
            False where the call could pass a limit, if it costs what the dearest before did.
        """
        spent = self._spent.with_canary(sent)
        self._canary_refused_by = None
        if self.max_calls is not None and spent.calls >= self.max_calls:
            self._canary_refused_by = "max_calls"
        elif self.max_cost is not None:
            if sent.calls and self._meter.canary_cost(sent) is None:
                self._canary_refused_by = _UNTOLD
                return False
            self._dearest_call = max(self._dearest_call, spent.cost - self._canary_cost)
            self._canary_cost = spent.cost
            most = max(self._dearest_call, spent.dearest)
            if spent.cost >= self.max_cost or spent.cost + most > self.max_cost:
                self._canary_refused_by = "max_cost"
        return self._canary_refused_by is None

    def check_canary(self) -> None:
        """Refuse to go on where a canary was ended by what it may spend.

        Raises
        ------
        InputError
            The limit leaves no room for it.
        AgentError
            What it cost cannot be known.
        """
        if self._canary_refused_by is None:
            return
        if self._canary_refused_by == _UNTOLD:
            raise AgentError(f"the canary: {_CANNOT_BE_KEPT}")
        raise InputError(
            f"{self.tell(self._canary_refused_by)} leaves no room for the canary: raise it"
            f" (--{self._canary_refused_by.replace('_', '-')}), or give canary='off' (--canary off)"
        )

    def add_canary(self, canary: CanaryReport) -> None:
        """Count a canary that was sent since `begin`.

        Parameters
        ----------
        canary : CanaryReport
            What was sent.
        """
        self._spent.add_canary(canary)
        self.alone = self.alone and not self._spent.dearest

    def admits(self, key: ReplayKey) -> bool:
        """Whether a replay may be made; if so, what it may need is set aside.

        Parameters
        ----------
        key : ReplayKey
            Question, condition, repetition and attempt.

        Returns
        -------
        bool
            False where it could pass the limit, if all that are in flight need what is set aside
            for them.
        """
        question, condition = key[:2]
        with self._lock:
            if self.alone and self._passed:
                return False
            calls = self._spent.most_replies + self._meter.captions(question, condition)
            if self.max_calls is not None and (
                self.calls + self._reserved_calls + calls > self.max_calls
            ):
                self._refused_by = "max_calls"
                return False
            cost = Fraction(0)
            if self.max_cost is not None:
                cost = max(self._spent.dearest, self._meter.known_cost(question, condition))
                if self._spent_at_most() + cost > self.max_cost:
                    self._refused_by = "max_cost"
                    return False
            self._passed += 1
            self._reserved[key] = calls, cost
            self._reserved_calls += calls
            self._reserved_cost += cost
            return True

    def add(self, replay: Replay) -> None:
        """Count a replay that was let pass.

        Parameters
        ----------
        replay : Replay
            Its record.

        Raises
        ------
        AgentError
            What it cost cannot be known.
        """
        with self._lock:
            calls, cost = self._reserved.pop(replay.key, (0, Fraction(0)))
            self._reserved_calls -= calls
            self._reserved_cost -= cost
            self.settled += 1
            if not self._spent.add(replay):
                self._check_known(replay)

    def release(self) -> None:
        """Let others pass, after one that was made alone."""
        self.alone = False
        self.settled += 1

    def end(self, *, held: bool) -> None:
        """Note that a run has ended.

        Parameters
        ----------
        held : bool
            Whether replays were held back to the last.
        """
        self.reached = self._refused_by if held else None

    def _spent_at_most(self) -> Fraction:
        """With what is in flight, for which the dearest may have been another when it began."""
        in_flight = max(self._reserved_cost, len(self._reserved) * self._spent.dearest)
        return self._spent.cost + in_flight

    def _check_known(self, unknown: Replay | None) -> None:
        if unknown is not None and self.max_cost is not None:
            question, condition, repetition, _ = unknown.key
            place = f"question {question!r}, condition {condition}, repetition {repetition}"
            raise AgentError(f"{place}: {_CANNOT_BE_KEPT}")

    def __str__(self) -> str:
        return self.tell(self.reached or ("max_cost" if self.max_calls is None else "max_calls"))

    def tell(self, limit: str, *, name: str | None = None) -> str:
        """A limit, and what was spent of it.

        Parameters
        ----------
        limit : str
            ``max_calls`` or ``max_cost``.
        name : str, optional
            What it is called, with what stands before its value.

        Returns
        -------
        str
            As ``max_calls=100 (100 made)``.
        """
        name = f"{limit}=" if name is None else name
        if limit == "max_calls":
            return f"{name}{self.max_calls} ({self.calls} made)"
        assert self.prices is not None
        assert self.max_cost is not None
        currency = self.prices.currency
        return f"{name}{float(self.max_cost):g} ({float(self.cost or 0):.6g} {currency} spent)"


def check_max_calls(name: str, value: object) -> int:
    """Refuse what cannot be a largest number of calls."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name}={value!r} must be a whole number of at least 1")
    return value


def check_max_cost(name: str, value: object) -> Fraction:
    """The exact amount of money that a number shows; refuses what cannot be one."""
    if isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool):
        shown = value if isinstance(value, int | Fraction) else Decimal(str(value))
        if (not isinstance(shown, Decimal) or shown.is_finite()) and 0 < shown <= 10**12:
            return Fraction(shown)
    raise InputError(f"{name}={value!r:.40} must be an amount of money above 0")
