"""`price_run`: what a run will take, without a call of the agent and without writing anything."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError
from carve_stats.replay.costs.measuring import (
    FIGURES,
    NOTHING,
    Estimate,
    estimate,
    measure_bytes,
    measure_run,
)
from carve_stats.replay.costs.metering import Meter, model_asked, shown_of
from carve_stats.replay.costs.prediction import QuestionSample
from carve_stats.replay.costs.price_notes import price_notes
from carve_stats.replay.costs.prices import Prices, read_prices
from carve_stats.replay.costs.remaining import Remaining, count_remaining
from carve_stats.replay.costs.run_price import ConditionPrice, RunPrice
from carve_stats.replay.costs.spending import Spending
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.extent import Extent
from carve_stats.replay.independence.canary_pairs import CANARY_CALLS
from carve_stats.replay.independence.canary_report import read_canary
from carve_stats.replay.loop import PreparedRun, prepare_run
from carve_stats.replay.operators import Operator
from carve_stats.replay.protocols import Agent, Rendering
from carve_stats.replay.store import RunStore, read_plan
from carve_stats.replay.trajectories import Trajectory

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["price_run"]

_COMPARED = 6  # questions whose pictures a canary compares before it asks


def price_run(
    agent: Agent,
    trajectories: Sequence[Trajectory],
    *,
    k: int | Mapping[str, int],
    store: str | Path,
    seed: int,
    conditions: Sequence[str] = CONDITIONS,
    attempts: int = 1,
    workers: int = 1,
    stochastic: bool | None = None,
    canary: bool = True,
    operator: Operator | None = None,
    encoder: Encoder | None = None,
    crop: float = 0.02,
    media: str | Path | None = None,
    equal: Callable[[str, str], bool] | None = None,
    agent_spec: Mapping[str, Any] | None = None,
    stopping: StoppingPlan | None = None,
    expected: Mapping[str, float] | None = None,
    prices: Prices | str | os.PathLike[str] | None = None,
    like: str | Path | None = None,
) -> RunPrice:
    """Tell what a run will take: calls, tokens, frames, bytes, money and time.

    The agent is not called, and nothing is written, not even the run's folder.

    Parameters
    ----------
    agent, trajectories, k, store, seed, conditions, attempts, workers, stochastic
        As for `run_replays`.
    canary : bool
        Whether a canary is to be sent before the run.
    operator, encoder, crop, media, equal, agent_spec, stopping
        As for `run_replays`.
    expected : mapping of str to float, optional
        With `stopping`, the SHAM and DESTROY replays that are expected of a question.
    prices : path or Prices, optional
        What models cost; see `read_prices`.
    like : path, optional
        Another run of the same agent: what its replays took is what those of this run will, where
        this run has fewer than five in a condition.

    Returns
    -------
    RunPrice
        What is not known is None, and a note says how it can be measured.

    Raises
    ------
    InputError
        What `run_replays` would refuse, or a model without a price.

    Notes
    -----
    Tokens, seconds and money are measured on replays, never guessed from the length of texts or the
    size of frames: how a model counts them is its own affair. The range is a 95 % prediction
    interval for each condition (see `QuestionSample`): questions differ, and so do replays of one;
    of a question that has replays already, what they took is known. It takes the questions to come
    to be like those measured, drawn at random from the same ones, and what they take to be roughly
    normal. The ranges of several conditions are added end to end, since a question that takes much
    does so in each.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from carve_stats.replay.costs.prices import ModelPrice
    >>> prices = Prices(currency="USD", models={"default": ModelPrice(call=Fraction(1, 100))})
    >>> questions = [Trajectory(question_id=f"q{i}", answer="A", options={"A": "yes", "B": "no"})
    ...              for i in range(50)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     price = price_run(lambda request: "B", questions, k=3, store=Path(folder, "run"),
    ...                       seed=1, prices=prices)
    >>> price.total.calls.expected, price.total.cost.expected, price.currency
    (450, 4.5, 'USD')
    """
    prepared = prepare_run(
        agent,
        trajectories,
        k=k,
        store=store,
        seed=seed,
        conditions=conditions,
        attempts=attempts,
        stochastic=stochastic,
        operator=operator,
        encoder=encoder,
        crop=crop,
        media=media,
        equal=equal,
        agent_spec=agent_spec,
        stopping=stopping,
    )
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers={workers!r} must be a whole number of at least 1")
    if prices is not None and not isinstance(prices, Prices):
        prices = read_prices(prices)
    captions = isinstance(agent, Rendering)
    run = _load(prepared)
    questions = [*prepared.trajectories, *(() if run is None else run.trajectories())]
    model = model_asked(prepared.plan.agent)
    meter = Meter(questions, captions=captions, prices=prices, model=model)
    spending = Spending(meter, priced=prices is not None)
    unknown = None if run is None else spending.add_run(run)
    asked = {t.question_id: t for t in prepared.trajectories}
    measured, sources = _measure(run, meter, like, prices, captions, asked)
    bytes_per_frame, sampled = measure_bytes(prepared)
    remaining = count_remaining(
        prepared.trajectories,
        prepared.k,
        attempts=attempts,
        progress=None if run is None else run.progress,
        captions=captions,
        stopping=stopping,
        expected=expected,
    )
    exact = meter.costs_known()

    def priced(condition: str, left: Remaining) -> ConditionPrice:
        figures: dict[str, Estimate | None] = {}
        for name in FIGURES:
            taken = measured.get((condition, name))
            figures[name] = None if taken is None else estimate(taken, left.by_question)
        calls = left.replies + left.captions
        if prices is not None and exact:
            price = meter.asked_price()
            assert price is not None
            shown = left.frames.times(float(price.image))
            figures["cost"] = calls.times(float(price.call)) + shown
        return ConditionPrice(
            planned=left.planned,
            there=left.there,
            spared=left.spared,
            replays=left.replays,
            calls=calls,
            captions=left.captions,
            frames=left.frames,
            bytes=left.frames.times(bytes_per_frame.get(condition, 0.0)),
            **{name: value if left.replies.high else NOTHING for name, value in figures.items()},
        )

    parts = {condition: priced(condition, left) for condition, left in remaining.items()}
    sent = _canary(prepared.trajectories, run, captions) if canary else None
    if sent is not None and any(part.replays.high for part in parts.values()):
        parts["canary"] = priced("sham", sent)
    return RunPrice(
        store=prepared.store,
        questions=len(prepared.trajectories),
        workers=workers,
        conditions=parts,
        currency=None if prices is None else prices.currency,
        spent_calls=spending.calls,
        spent_cost=None if prices is None or unknown is not None else float(spending.cost),
        notes=tuple(
            price_notes(parts, sources, sampled, attempts, captions=captions, prices=prices,
                   stopping=stopping, k=prepared.k)
        ),
    )  # fmt: skip


def _load(prepared: PreparedRun) -> RunStore | None:
    """The run that is there already, if it may be gone on with."""
    plan = read_plan(prepared.store)
    if plan is None:
        return None
    plan.check_same(prepared.plan, str(prepared.store))
    extent = Extent.read(prepared.store / "extents")
    extent.check(prepared.trajectories, str(prepared.store))
    return RunStore.load(prepared.store)


def _measure(
    run: RunStore | None,
    meter: Meter,
    like: str | Path | None,
    prices: Prices | None,
    captions: bool,
    asked: Mapping[str, Trajectory],
) -> tuple[dict[tuple[str, str], QuestionSample], dict[str, str]]:
    """What replays take, and for each condition where that was measured."""
    measured: dict[tuple[str, str], QuestionSample] = {}
    sources: dict[str, str] = {}
    if like is not None:
        other = RunStore.load(like)
        its_meter = Meter(
            other.trajectories(), captions=captions, prices=prices,
            model=model_asked(other.plan.agent),
        )  # fmt: skip
        same = {t.question_id for t in other.trajectories() if asked.get(t.question_id) == t}
        measured = measure_run(other, its_meter, priced=prices is not None, asked=same)
        sources = {condition: str(like) for condition, _ in measured}
    if run is not None:
        own = measure_run(run, meter, priced=prices is not None)
        measured.update(own)
        sources.update({condition: "this run" for condition, _ in own})
    return measured, sources


def _canary(
    trajectories: Sequence[Trajectory], run: RunStore | None, captions: bool
) -> Remaining | None:
    """What a canary asks: two replies if all is well, and up to forty if not."""
    pictured = [t for t in trajectories if shown_of(t).items][: CANARY_CALLS // 2]
    if not pictured or (run is not None and read_canary(run.path) is not None):
        return None
    looked_at = [shown_of(t) for t in pictured]
    first = looked_at[0]
    items = max(shown.items for shown in looked_at) if captions else 0
    frames = max(shown.frames for shown in looked_at)
    most_captions = items * (CANARY_CALLS + 2 * _COMPARED)
    usual = 3 * first.items if captions else 0
    most = dict.fromkeys((t.question_id for t in pictured), 0)
    for _, question in zip(range(CANARY_CALLS // 2), itertools.cycle(most), strict=False):
        most[question] += 2
    usually = {question: 2 * (question == pictured[0].question_id) for question in most}
    return Remaining(
        replies=Estimate(2, 2, CANARY_CALLS),
        captions=Estimate(usual, usual, most_captions),
        frames=Estimate(2 * first.frames, 2 * first.frames, CANARY_CALLS * frames),
        by_question={q: Estimate(usually[q], usually[q], most[q]) for q in most},
    )
