"""`prepare_demo`: from clips and questions to frozen trajectories that can be replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from carve_stats.demo.clips import CLIPS, Clip
from carve_stats.demo.freeze import IndexedFrame, freeze_answer, index_clip, retrieve_frames
from carve_stats.demo.questions import QUESTIONS
from carve_stats.demo.rendering import render_clip
from carve_stats.errors import InputError, PlanError, StoreError
from carve_stats.replay.agents.builtin import BuiltinAgent
from carve_stats.replay.files import create_file, replace_file
from carve_stats.replay.trajectories import Trajectory, read_trajectories, write_trajectories

__all__ = ["prepare_demo"]

_Shape = TypeVar("_Shape")


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
        Called with the number of clips that are watched and their total, first before any is.

    Returns
    -------
    list of Trajectory
        One for each question, in the order of the questions. The same whatever was
        interrupted and taken up again: what is in `directory` already is not done twice.

    Raises
    ------
    InputError
        A seed that is no whole number in [0, 2**63), or fewer than one worker; nothing has
        been written then.
    MissingExtraError
        A package that holds a clip, a photograph or a model is not installed; nothing has
        been written then.
    PlanError
        The folder was prepared with another seed, agent or set of questions.
    """
    for name, value, least in (("seed", seed, 0), ("workers", workers, 1)):
        if type(value) is not int or not least <= value < 2**63:  # what JSON readers can hold
            raise InputError(
                f"{name}={value!r} must be a whole number of at least {least} and less than 2**63"
            )
    directory = Path(directory)
    for clip in CLIPS:
        for work in clip.works():
            work.path()
    agent = agent or BuiltinAgent()
    plan = {"seed": seed, "agent": agent.fingerprint(), "material": _material()}
    _claim(directory, plan)
    digest = hashlib.sha256(msgspec.json.encode(plan, order="sorted")).hexdigest()
    path = directory / "trajectories.jsonl"
    if _is_finished(path, digest):
        if progress is not None:
            progress(len(CLIPS), len(CLIPS))
        return read_trajectories(path)
    found = {clip.id: _find_index(clip, directory, digest) for clip in CLIPS}
    watched = sum(index is not None for index in found.values())
    if progress is not None:
        progress(watched, len(CLIPS))
    frozen: dict[str, Trajectory] = {}
    with ThreadPoolExecutor(workers) as pool:
        jobs = {
            pool.submit(_watch, clip, found[clip.id], directory, agent, seed, digest): clip
            for clip in CLIPS
        }
        try:
            for job in as_completed(jobs):
                frozen |= {t.question_id: t for t in job.result()}
                if found[jobs[job].id] is None:
                    watched += 1
                    if progress is not None:
                        progress(watched, len(CLIPS))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    trajectories = [frozen[question.id] for question in QUESTIONS]
    write_trajectories(path, trajectories)
    replace_file(_seal(path), msgspec.json.encode(_Seal(digest, _hash(path))))
    return trajectories


@dataclass(frozen=True, slots=True)
class _Index:
    """A clip's frames, and the hash of the plan that they were looked at for."""

    plan: str
    frames: list[IndexedFrame]


@dataclass(frozen=True, slots=True)
class _Seal:
    """The hashes of the finished trajectories and of the plan that they were made for."""

    plan: str
    trajectories: str


def _seal(path: Path) -> Path:
    return path.with_suffix(".seal.json")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_finished(path: Path, plan: str) -> bool:
    """Whether the trajectories are there, whole and of this plan; else they are made again."""
    if not (path.is_file() and _seal(path).is_file()):
        return False
    return _decoded(_seal(path), _Seal) == _Seal(plan, _hash(path))


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
    found = _decoded(path, dict)
    for name, wanted in plan.items():
        if found.get(name) != wanted:
            raise PlanError(
                f"{path}: was prepared with another {name}: choose another directory, or delete"
                f" all of {directory}"
            )


def _material() -> str:
    """Hash of the questions and of what the clips are made of."""
    content = {"questions": [asdict(q) for q in QUESTIONS], "clips": [asdict(c) for c in CLIPS]}
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def _watch(
    clip: Clip,
    found: list[IndexedFrame] | None,
    directory: Path,
    agent: BuiltinAgent,
    seed: int,
    plan: str,
) -> list[Trajectory]:
    index = _index(clip, directory, agent, plan) if found is None else found
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


def _index_path(clip: Clip, directory: Path) -> Path:
    return directory / "index" / f"{clip.id}.json"


def _find_index(clip: Clip, directory: Path, plan: str) -> list[IndexedFrame] | None:
    """The frames of a clip that was watched by the same plan; None where it has to be."""
    path = _index_path(clip, directory)
    if path.exists():  # written last: the clip and its pictures are there
        index = _decoded(path, _Index)
        if index.plan == plan:
            return index.frames
    return None


def _index(clip: Clip, directory: Path, agent: BuiltinAgent, plan: str) -> list[IndexedFrame]:
    if clip.film is not None:
        video = clip.film.path()
    else:
        video = directory / "clips" / f"{clip.id}.mp4"
        render_clip(clip, video)
    frames = index_clip(
        video,
        name=clip.id,
        frames_per_second=clip.frames_per_second,
        agent=agent,
        directory=directory,
    )
    replace_file(_index_path(clip, directory), msgspec.json.encode(_Index(plan, frames)))
    return frames


def _decoded(path: Path, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"{path}: cannot be read ({error}): delete it and run again") from None
