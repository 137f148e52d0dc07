"""How the built-in agent first answers: index the clip, retrieve frames, draw an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from carve_stats.demo.questions import Question
from carve_stats.replay.agents.builtin import BuiltinAgent
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.evidence.media import decode_frames, load_frames, video_seconds
from carve_stats.replay.files import replace_file
from carve_stats.replay.protocols import Evidence, ReplayRequest
from carve_stats.replay.seeds import replay_seed
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

__all__ = ["IndexedFrame", "freeze_answer", "index_clip", "retrieve_frames"]

_HEIGHT = 360
_ENCODER = Encoder("jpeg", 92)


@dataclass(frozen=True, slots=True)
class IndexedFrame:
    """One frame of a clip, as the agent keeps it in mind.

    Parameters
    ----------
    path : str
        The stored picture, relative to the demo's folder.
    time : float
        When the picture begins, in seconds.
    sentence : str
        What the agent saw in it.
    """

    path: str
    time: float
    sentence: str


def index_clip(
    video: Path, *, name: str, frames_per_second: float, agent: BuiltinAgent, directory: Path
) -> list[IndexedFrame]:
    """Look at a clip, a frame or two a second, and store what was looked at.

    Parameters
    ----------
    video : Path
        The clip's file.
    name : str
        What the stored pictures are called.
    frames_per_second : float
        How densely to look.
    agent : BuiltinAgent
        Who looks.
    directory : Path
        The demo's folder; the pictures go to its folder ``frames``.

    Returns
    -------
    list of IndexedFrame
        In the order of the clip.
    """
    times = np.arange(0, video_seconds(video), 1 / frames_per_second).tolist()
    indexed = []
    for i, (time, pixels) in enumerate(decode_frames(video, times, height=_HEIGHT)):
        frame = _ENCODER.encode(pixels, time)
        path = f"frames/{name}-{i:03d}.jpg"
        replace_file(directory / path, frame.data)
        indexed.append(IndexedFrame(path, time, agent.look(frame).sentence()))
    return indexed


def retrieve_frames(
    question: Question, index: Sequence[IndexedFrame], *, agent: BuiltinAgent, most: int = 4
) -> list[IndexedFrame]:
    """The frames whose sentences are the most similar to the question with its options.

    Parameters
    ----------
    question : Question
        What is asked.
    index : sequence of IndexedFrame
        The clip.
    agent : BuiltinAgent
        Whose similarity it is.
    most : int
        How many frames at most.

    Returns
    -------
    list of IndexedFrame
        In the order of the clip. Frames with a sentence of their own come before repetitions
        of one.
    """
    asked = agent.embed(f"{question.text} {', '.join(question.options.values())}")
    ranked = sorted(index, key=lambda frame: -float(agent.embed(frame.sentence) @ asked))
    first: dict[str, IndexedFrame] = {}
    for frame in ranked:
        first.setdefault(frame.sentence, frame)
    repeated = [frame for frame in ranked if first[frame.sentence] is not frame]
    chosen = [*first.values(), *repeated]
    return sorted(chosen[:most], key=index.index)


def freeze_answer(
    question: Question,
    frames: Sequence[IndexedFrame],
    *,
    agent: BuiltinAgent,
    directory: Path,
    seed: int,
) -> Trajectory:
    """Let the agent answer once from the retrieved frames, and freeze it.

    Parameters
    ----------
    question : Question
        What is asked.
    frames : sequence of IndexedFrame
        What was retrieved.
    agent : BuiltinAgent
        Who answers.
    directory : Path
        The demo's folder.
    seed : int
        The run's seed.

    Returns
    -------
    Trajectory
        With one item of evidence a frame.
    """
    items = tuple(
        EvidenceItem(
            id=str(i),
            start=frame.time,
            end=frame.time,
            query=question.text,
            frames=(frame.path,),
            times=(frame.time,),
        )
        for i, frame in enumerate(frames)
    )
    evidence = tuple(
        Evidence(
            id=item.id,
            start=item.start,
            end=item.end,
            query=item.query,
            frames=load_frames(item, directory),
        )
        for item in items
    )
    reply = agent(
        ReplayRequest(
            question_id=question.id,
            video_id=question.clip,
            condition="self",
            repetition=0,
            attempt=0,
            question=question.text,
            options=question.options,
            evidence=evidence,
            frozen=None,
            seed=replay_seed(seed, question.id, "frozen", 0, 0),
        )
    )
    assert reply.answer is not None  # the built-in agent always commits itself
    return Trajectory(
        question_id=question.id,
        video_id=question.clip,
        question=question.text,
        options=question.options,
        answer=reply.answer,
        correct=question.correct,
        evidence=items,
    )
