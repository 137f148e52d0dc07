"""The requests of a canary: pairs that differ in their pictures alone, and what is replied."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from carve_stats._display import counted
from carve_stats.errors import CarveStatsError
from carve_stats.replay.evidence.frames import Encoder, Frame
from carve_stats.replay.independence.canary_report import CanaryPair, CanaryReport
from carve_stats.replay.parsing import TRANSPORT_MARK
from carve_stats.replay.protocols import Rendering, ReplayReply, ReplayRequest
from carve_stats.replay.records import ReplayKey
from carve_stats.replay.redaction import redact
from carve_stats.replay.rendering import hash_frames
from carve_stats.replay.replaying import Replayer, reply_of_failure
from carve_stats.replay.seeds import evidence_seed
from carve_stats.replay.trajectories import Trajectory

__all__ = ["CANARY_CALLS", "NO_ROOM", "CanaryPairs"]

_PAIRS = 20  # an agent with a favourite answer often gives it twice, in the same words
CANARY_CALLS = 2 * _PAIRS
"""Replies that a canary asks for at most."""

_LOOKED_AT = 6
_PATCHES = (3, 4)
_SHOWN = 200
NO_ROOM = "the limit leaves no room for the canary"
"""The note of one that could not be paid for to its end."""

_UNREACHABLE = "the agent could not be reached, so that the canary is sent again next time"


class CanaryPairs:
    """One canary, while it is being sent.

    Parameters
    ----------
    replayer : Replayer
        What makes the run's replays.
    pictured : sequence of Trajectory
        Questions with pictures.
    declared : bool or None
        Whether the agent declares that its replies to one prompt vary.
    affords : callable or None
        Whether one more call may be made, after those of a report; any may if None.
    """

    def __init__(
        self,
        replayer: Replayer,
        pictured: Sequence[Trajectory],
        declared: bool | None,
        affords: Callable[[CanaryReport], bool] | None,
    ) -> None:
        self._replayer = replayer
        self._pictured = pictured
        self._declared = declared
        self._affords = affords
        self._calls = self._captions = 0
        self._usage: Counter[str] = Counter()
        self._pairs: list[CanaryPair] = []
        self._captioned: ReplayKey = ("", "sham", 0, 0)
        self._made: dict[tuple[str, str, int], ReplayRequest] = {}

    async def send(self) -> CanaryReport:
        """Look at the pictures, then ask."""
        try:
            return await self._send()
        except _NoRoomError:
            return self._report(None, note=NO_ROOM)
        except CarveStatsError:
            raise
        except Exception as error:  # of a caption: `ask` has a reply for what it cannot reach
            reply_of_failure(error, self._captioned)  # raises for what is no failure to reach it
            return self._report(None, note=_UNREACHABLE)

    async def _send(self) -> CanaryReport:
        if not await self._pictures_differ():
            looked_at = counted(len(self._pictured[:_LOOKED_AT]), "question")
            return self._report(
                False,
                f"SHAM and DESTROY show the same pictures, byte for byte, in {looked_at}: the"
                " operator does nothing to them, or they are of one colour",
            )
        alike = 0
        for trajectory, repetition in self._rounds():
            first = await self._request(trajectory, "sham", repetition)
            replies = []
            for request in (first, await self._with_other_pictures(first)):
                reply = await self._ask(request)
                replies.append(reply)
                if reply.from_cache:
                    self._keep(request, replies)
                    return self._report(False, "a reply says that it comes from a cache")
                if reply.text.startswith(TRANSPORT_MARK):
                    self._keep(request, replies)
                    return self._report(None, note=_UNREACHABLE)
            self._keep(first, replies)
            if _said(replies[0]) != _said(replies[1]):
                return self._report(True)
            alike += 1
            if alike >= _PAIRS:
                break
        said = (
            f"the same reply to each of {alike} pairs of requests that differ in their pictures"
            " alone: a cache keyed by the text, a server that drops pictures, or an agent that does"
            " not look at them"
        )
        if self._declared is False:
            return self._report(True, note=f"the agent, declared deterministic, gave {said}")
        return self._report(False, f"the agent gave {said}")

    def _rounds(self) -> Iterator[tuple[Trajectory, int]]:
        for repetition in itertools.count():
            for trajectory in self._pictured[:_PAIRS]:
                yield trajectory, repetition

    async def _pictures_differ(self) -> bool:
        for trajectory in self._pictured[:_LOOKED_AT]:
            sham, destroy = [
                hash_frames((await self._request(trajectory, condition, 0)).evidence)
                for condition in ("sham", "destroy")
            ]
            if sham != destroy:
                return True
        return False

    async def _request(
        self, trajectory: Trajectory, condition: str, repetition: int
    ) -> ReplayRequest:
        key = trajectory.question_id, condition, repetition
        if key not in self._made:
            stored = self._replayer.load(trajectory)
            if isinstance(self._replayer.agent, Rendering):
                self._captioned = (*key, 0)
                self._captions += self._room(sum(bool(item.frames) for item in stored))
            self._made[key] = await self._replayer.request(
                trajectory, stored, condition, repetition, 0
            )
        return self._made[key]

    async def _with_other_pictures(self, request: ReplayRequest) -> ReplayRequest:
        evidence = []
        for item in request.evidence:
            if item.frames:
                seed = evidence_seed(request.seed, item.id)
                rng = np.random.Generator(np.random.PCG64(seed))
                item = replace(item, frames=tuple(_patches(f, rng) for f in item.frames))
                if isinstance(self._replayer.agent, Rendering):
                    self._captions += self._room(1)
                    text = await self._replayer.waiting.call(
                        self._replayer.agent.render, replace(item, text=None), seed=seed
                    )
                    item = replace(item, text=text)
            evidence.append(item)
        # What an agent does to one request must not change the other.
        return replace(
            request,
            evidence=tuple(evidence),
            options=dict(request.options),
            frozen=copy.deepcopy(request.frozen),
        )

    async def _ask(self, request: ReplayRequest) -> ReplayReply:
        self._calls += self._room(1)
        reply = await self._replayer.ask(request)
        self._usage.update(reply.usage)
        return reply

    def _room(self, calls: int) -> int:
        """So many calls, if they may be made."""
        for made in range(calls):
            sent = self._report(None)
            if self._affords is not None and not self._affords(
                replace(sent, captions=sent.captions + made)
            ):
                raise _NoRoomError
        return calls

    def _keep(self, request: ReplayRequest, replies: Sequence[ReplayReply]) -> None:
        shown = [redact(reply.text)[:_SHOWN] for reply in replies]
        self._pairs.append(
            CanaryPair(question_id=request.question_id, seed=request.seed, replies=shown)
        )

    def _report(self, passed: bool | None, *reasons: str, note: str | None = None) -> CanaryReport:
        return CanaryReport(
            passed=passed,
            reasons=list(reasons),
            notes=[] if note is None else [note],
            calls=self._calls,
            captions=self._captions,
            usage=dict(self._usage),
            pairs=self._pairs,
        )


class _NoRoomError(Exception):
    """A call that the limit does not let be made."""


def _said(reply: ReplayReply) -> tuple[str, str | None]:
    return reply.text, reply.answer


def _patches(frame: Frame, rng: np.random.Generator) -> Frame:
    """Another picture of the same size and format: patches of random colours."""
    height, width = frame.pixels().shape[:2]
    colours = rng.integers(0, 256, (*_PATCHES, 3), dtype=np.uint8)
    rows = np.arange(height) * _PATCHES[0] // height
    columns = np.arange(width) * _PATCHES[1] // width
    pixels = np.ascontiguousarray(colours[rows[:, None], columns])
    return Encoder(frame.media_type.removeprefix("image/")).encode(pixels, frame.time)
