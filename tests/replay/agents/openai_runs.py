"""Agents of a server of the tests, the questions that they are asked, and runs of them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

import numpy as np

from carve_stats.replay.agents._chat_options import read_options
from carve_stats.replay.agents.openai import OpenAIAgent
from carve_stats.replay.evidence.frames import Encoder, Frame
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import Evidence, ReplayRequest
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

OPTIONS = {"A": "a rabbit", "B": "a fox", "C": "a hedgehog"}


class QuickClock:
    """Sleeps are over at once, and only they take time."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def time(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


@dataclass
class Given:
    """Options of the agent that a test does not set."""

    model: object = "small-model"
    base_url: object = None
    api_key_env: object = "OPENAI_API_KEY"
    temperature: object = None
    max_tokens: object = None
    timeout: object = 30.0
    patience: object = 600.0
    extra: object = None
    api_key: object = None


def options(**given):
    return read_options(os.environ, **vars(Given(**given)))


def quick_agent(server, **given):
    """An agent of a server, whose waiting takes no time."""
    return OpenAIAgent(options(base_url=server.url, **given), clock=QuickClock())


def picture(seed, side=32):
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return Encoder("png").encode(pixels)


def request(**fields):
    standard = dict(
        question_id="q1", video_id="v1", condition="sham", repetition=0, attempt=0,
        question="Which animal?", options=dict(OPTIONS), evidence=(), frozen=None, seed=7,
    )  # fmt: skip
    return ReplayRequest(**{**standard, **fields})


def item(name="0", *, text=None, frames=()):
    shown = tuple(Frame(data, "image/png") for data in frames)
    return Evidence(id=name, text=text, frames=shown, start=1.0, end=2.0, query="animal")


def pictured_questions(folder, n=2):
    """Questions with two stored frames each."""
    made = []
    for q in range(n):
        names = [f"{q}-{i}.png" for i in range(2)]
        for i, name in enumerate(names):
            (folder / name).write_bytes(picture(10 * q + i).data)
        made.append(
            Trajectory(
                question_id=f"q{q}", video_id="v", question=f"Which animal is number {q}?",
                options=OPTIONS, answer="A",
                evidence=(EvidenceItem(id="clip", frames=tuple(names), times=(1.0, 2.0)),),
            )
        )  # fmt: skip
    return made


def worded_questions(n):
    """Questions without pictures, which are asked more quickly."""
    return [
        Trajectory(question_id=f"q{q}", question=f"Number {q}?", options=OPTIONS, answer="A")
        for q in range(n)
    ]


@dataclass
class Run:
    status: object
    records: list = field(default_factory=list)

    @property
    def sent(self):
        return sum(len(record.transport) for record in self.records)


def run(agent, questions, folder, **settings):
    """Run an agent; the status, and the records by their keys."""
    standard = {"k": 2, "seed": 1, "workers": 4, "media": folder, "canary": "off"}
    settings = {**standard, **settings}
    status = run_replays(agent, questions, store=folder / "run", **settings)
    records = sorted(RunStore.load(folder / "run").records(), key=lambda r: r.key)
    return Run(status, records)
