"""`Meter`: how many calls a replay took, and what they cost, by its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from carve_stats.errors import InputError
from carve_stats.replay.costs.prices import ModelPrice, Prices
from carve_stats.replay.independence.canary_report import CanaryReport
from carve_stats.replay.records import Replay
from carve_stats.replay.trajectories import Trajectory

__all__ = ["Meter", "Shown", "model_asked", "shown_of"]


class Shown(NamedTuple):
    """What a replay of a question shows.

    Parameters
    ----------
    items : int
        Items of evidence with frames.
    frames : int
        Their frames.
    """

    items: int
    frames: int


def shown_of(trajectory: Trajectory) -> Shown:
    """What a replay of a question shows, without reading any of it.

    Parameters
    ----------
    trajectory : Trajectory
        The question.

    Returns
    -------
    Shown
        The same in each condition.
    """
    pictured = [item for item in trajectory.evidence if item.pictured]
    return Shown(len(pictured), sum(len(item.frames or item.times) for item in pictured))


def model_asked(agent: Mapping[str, Any]) -> str | None:
    """The model that an agent asks for, by a run's plan.

    Parameters
    ----------
    agent : mapping
        `RunPlan.agent`.

    Returns
    -------
    str or None
        The option ``model``, of the configuration or of the agent's own fingerprint.
    """
    for part in (agent.get("fingerprint"), agent.get("spec")):
        model = part.get("model") if isinstance(part, Mapping) else None
        if isinstance(model, str):
            return model
    return None


class Meter:
    """Counts the calls of replays, and prices them.

    A call is one reply, or one caption, that is asked for. Requests that a server refuses (with a
    status of 400 or more) are none beside; where an agent tells of several that were answered for
    one reply, each is one.

    Parameters
    ----------
    trajectories : iterable of Trajectory
        All questions of the run.
    captions : bool
        Whether the agent captions evidence before it answers.
    prices : Prices, optional
        For `cost`.
    model : str, optional
        The model that replies come from, where they do not say.
    """

    def __init__(
        self,
        trajectories: Iterable[Trajectory],
        *,
        captions: bool,
        prices: Prices | None = None,
        model: str | None = None,
    ) -> None:
        self._shown = {t.question_id: shown_of(t) for t in trajectories}
        self._captions = captions
        self._prices = prices
        self._model = model
        self._found: dict[str | None, ModelPrice] = {}

    def captions(self, question_id: str, condition: str) -> int:
        """Captions that are made for one replay."""
        return self._shown[question_id].items if self._captions and condition != "self" else 0

    def frames(self, question_id: str) -> int:
        """Frames that one replay shows."""
        return self._shown[question_id].frames

    def calls(self, replay: Replay) -> int:
        """Calls that a replay took.

        Parameters
        ----------
        replay : Replay
            Its record.

        Returns
        -------
        int
            At least 1, also where nothing was answered.
        """
        return self.replies(replay) + self.captions(replay.question_id, replay.condition)

    def replies(self, replay: Replay) -> int:
        """The same without captions."""
        return max(1, sum(map(_answered, replay.transport)))

    def cost(self, replay: Replay) -> Fraction | None:
        """What a replay cost.

        Parameters
        ----------
        replay : Replay
            Its record.

        Returns
        -------
        Fraction or None
            0 where the server refused each request. None where the record does not tell: what was
            lost on its way may have been billed.

        Raises
        ------
        InputError
            The model has no price.
        """
        if replay.transport and all(_refused(entry) for entry in replay.transport):
            return Fraction(0)
        if replay.status == "transport_error":
            return None
        return self._price(replay.model).cost(
            replay.usage, calls=self.calls(replay), images=self.frames(replay.question_id)
        )

    def known_cost(self, question_id: str, condition: str) -> Fraction:
        """What a replay costs before its tokens are known; 0 where nothing is known."""
        price = self.asked_price()
        if price is None:
            return Fraction(0)
        calls = 1 + self.captions(question_id, condition)
        return price.known(calls=calls, images=self.frames(question_id))

    def costs_known(self) -> bool:
        """Whether replays cost what `known_cost` says: tokens are free, whoever replies."""
        if self._prices is None or self.asked_price() is None:
            return False
        models = self._prices.models.values()
        named = self._model is not None or len(models) == 1
        return named and not any(price.by_tokens for price in models)

    def known_call_cost(self) -> Fraction:
        """The same of one call, of the question with most frames."""
        price = self.asked_price()
        return Fraction(0) if price is None else price.known(calls=1, images=self._most_frames())

    def canary_cost(self, canary: CanaryReport) -> Fraction | None:
        """What a canary cost, at most.

        Parameters
        ----------
        canary : CanaryReport
            What was sent.

        Returns
        -------
        Fraction or None
            By the dearest price, where only the replies name their model. None where it is not
            known.
        """
        calls = canary.calls + canary.captions
        if not calls:
            return Fraction(0)
        if self._prices is None:
            return None
        asked = self.asked_price()
        images = 0
        alone = canary.calls  # replies to half a pair, whose question is not kept
        for pair in canary.pairs:
            alone -= len(pair.replies)
            if pair.question_id in self._shown:
                images += len(pair.replies) * self.frames(pair.question_id)
        images += max(0, alone) * self._most_frames()
        most = Fraction(0)
        for price in self._prices.models.values() if asked is None else (asked,):
            cost = price.cost(canary.usage, calls=calls, images=images)
            if cost is None:
                return None
            most = max(most, cost)
        return most

    def _most_frames(self) -> int:
        return max((shown.frames for shown in self._shown.values()), default=0)

    def asked_price(self) -> ModelPrice | None:
        """The price of the model that is asked for; None where it has none."""
        try:
            return self._price(None)
        except InputError:
            return None

    def _price(self, model: str | None) -> ModelPrice:
        if model not in self._found:
            if self._prices is None:
                raise InputError("prices are needed to know what a replay costs: give prices")
            self._found[model] = self._prices.find(self._model if model is None else model)
        return self._found[model]


_REFUSED = 400


def _answered(entry: Mapping[str, Any]) -> bool:
    status = entry.get("status")
    return isinstance(status, int) and status < _REFUSED


def _refused(entry: Mapping[str, Any]) -> bool:
    status = entry.get("status")
    return isinstance(status, int) and status >= _REFUSED
