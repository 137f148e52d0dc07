"""`prepare_demo`: from clips and questions to frozen trajectories that can be replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.demo.clips import CLIPS, Clip
from carve_stats.demo.freeze import IndexedFrame, freeze_answer, index_clip, retrieve_frames
from carve_stats.demo.questions import QUESTIONS
from carve_stats.demo.rendering import render_clip
from carve_stats.errors import PlanError, StoreError
from carve_stats.replay.agents.builtin import BuiltinAgent
from carve_stats.replay.files import create_file, replace_file
from carve_stats.replay.trajectories import Trajectory, read_trajectories, write_trajectories

__all__ = ["prepare_demo"]


def prepare_demo(
    directory: str | Path,
    *,
    seed: int,
    agent: BuiltinAgent | None = None,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trajectory]:
    """Let the built-in agent watch the demo's clips and answer its questions once.

    Parameters
    ----------
    directory : path
        Where clips, pictures and ``trajectories.jsonl`` go. It is the media root of the
        replays.
    seed : int
        The run's seed: it draws the frozen answers.
    agent : BuiltinAgent, optional
        Who watches; one with the usual settings if not given. Replays with the same agent
        need not look again at the frames that it remembers.
    workers : int
        How many clips are watched at a time.
    progress : callable, optional
        Called with the number of clips that are done and their total.

    Returns
    -------
    list of Trajectory
        One for each question, in the order of the questions. The same whatever was
        interrupted and taken up again: what is in `directory` already is not done twice.

    Raises
    ------
    MissingExtraError
        A package that holds a clip, a photograph or a model is not installed; nothing has
        been written then.
    PlanError
        The folder was prepared with another seed, agent or set of questions.
    """
    directory = Path(directory)
    for clip in CLIPS:
        for work in clip.works():
            work.path()
    agent = agent or BuiltinAgent()
    _claim(directory, {"seed": seed, "agent": agent.fingerprint(), "material": _material()})
    path = directory / "trajectories.jsonl"
    if path.exists():
        if progress is not None:
            progress(len(CLIPS), len(CLIPS))
        return read_trajectories(path)
    frozen: dict[str, Trajectory] = {}
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_watch, clip, directory, agent, seed) for clip in CLIPS]
        try:
            for done, job in enumerate(as_completed(jobs), start=1):
                frozen |= {t.question_id: t for t in job.result()}
                if progress is not None:
                    progress(done, len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    trajectories = [frozen[question.id] for question in QUESTIONS]
    write_trajectories(path, trajectories)
    return trajectories


def _claim(directory: Path, plan: dict[str, Any]) -> None:
    """Write down what the folder is prepared for, or refuse one prepared for something else."""
    path = directory / "demo.json"
    try:
        for folder in ("clips", "frames", "index"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory} cannot be made ({error.strerror}): choose another") from None
    if create_file(path, msgspec.json.format(msgspec.json.encode(plan))):
        return
    found = _decoded(path)
    for name, wanted in plan.items():
        if not isinstance(found, dict) or found.get(name) != wanted:
            raise PlanError(
                f"{path}: was prepared with another {name}: choose another directory, or delete it"
            )


def _material() -> str:
    """Hash of the questions and of what the clips are made of."""
    content = {"questions": [asdict(q) for q in QUESTIONS], "clips": [asdict(c) for c in CLIPS]}
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def _watch(clip: Clip, directory: Path, agent: BuiltinAgent, seed: int) -> list[Trajectory]:
    index = _index(clip, directory, agent)
    return [
        freeze_answer(
            question,
            retrieve_frames(question, index, agent=agent),
            agent=agent,
            directory=directory,
            seed=seed,
        )
        for question in QUESTIONS
        if question.clip == clip.id
    ]


def _index(clip: Clip, directory: Path, agent: BuiltinAgent) -> list[IndexedFrame]:
    path = directory / "index" / f"{clip.id}.json"
    if path.exists():  # written last: the clip and its pictures are there
        return [IndexedFrame(**frame) for frame in _decoded(path)]
    video = directory / "clips" / f"{clip.id}.mp4"
    if clip.film is not None:
        video = clip.film.path()
    elif not video.exists():
        render_clip(clip, video)
    index = index_clip(
        video,
        name=clip.id,
        frames_per_second=clip.frames_per_second,
        agent=agent,
        directory=directory,
    )
    replace_file(path, msgspec.json.encode([asdict(frame) for frame in index]))
    return index


def _decoded(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{path}: cannot be read ({error}): delete it and run again") from None
