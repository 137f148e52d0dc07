"""One condition of one question: its frames, drawn again from the seeds, and its answers."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from carve_stats.errors import CarveStatsError
from carve_stats.replay.evidence.frames import Encoder, Frame, pillow
from carve_stats.replay.operators import Operator, load_operator
from carve_stats.replay.rendering import EvidenceRenderer, hash_frames
from carve_stats.replay.seeds import replay_seed

if TYPE_CHECKING:
    from carve_stats.replay.plan import RunPlan
    from carve_stats.replay.protocols import Evidence
    from carve_stats.replay.records import Replay
    from carve_stats.replay.trajectories import Trajectory

__all__ = ["Answer", "Panel", "Thumbnail", "draw_panel", "redraw_evidence"]

# A dozen questions of three conditions stay well under 5 MB at this size and quality.
_THUMBNAIL = (240, 180)
_QUALITY = 74
_MOST_FRAMES = 4

Redraw = Callable[["Trajectory", "Replay"], tuple["Evidence", ...]]


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small picture: a data URI, its size in pixels, and words for it."""

    uri: str
    width: int
    height: int
    words: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one replay answered; `mark` is ``flip``, ``same`` or ``invalid``."""

    repetition: int
    attempt: int
    answer: str
    mark: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One condition of one question.

    Parameters
    ----------
    condition : str
        ``self``, ``sham`` or ``destroy``.
    thumbnails : tuple of Thumbnail
        Of the first replay's frames, at most four, evenly spread.
    frames : int
        How many frames the agent was shown.
    check : str
        ``match`` or ``mismatch``: the frames' hash against the record's; ``none`` where the
        record has no hash or there are no frames to show.
    problem : str
        Why frames could not be drawn; empty where they could.
    answers : tuple of Answer
        All replays, in order.
    """

    condition: str
    thumbnails: tuple[Thumbnail, ...]
    frames: int
    check: str
    problem: str
    answers: tuple[Answer, ...]


def redraw_evidence(plan: RunPlan, media: str | Path) -> Redraw:
    """Make the function that draws again what a replay was shown.

    Parameters
    ----------
    plan : RunPlan
        Seed, operator, encoder and crop.
    media : path
        The folder that the frames' paths are relative to.

    Returns
    -------
    callable
        Takes a trajectory and a record of it, gives the evidence with its frames. Captions
        that an agent made of them are not made again. It raises `InputError` for media that
        is not there, and for an operator that is not among this package's.
    """

    def redraw(trajectory: Trajectory, replay: Replay) -> tuple[Evidence, ...]:
        renderer = EvidenceRenderer(
            run_seed=plan.seed,
            operator=_operator_of(plan),
            encoder=Encoder(**plan.encoder) if plan.encoder else None,
            crop=plan.crop or 0,
            media=Path(media),
            captions=False,
        )
        question_id, condition, repetition, attempt = replay.key
        return renderer.render(
            renderer.load(trajectory),
            question_id=question_id,
            condition=condition,
            repetition=repetition,
            seed=replay_seed(plan.seed, question_id, condition, repetition, attempt),
        )

    return redraw


def draw_panel(trajectory: Trajectory, replays: Sequence[Replay], redraw: Redraw | None) -> Panel:
    """Draw one condition of a question.

    Parameters
    ----------
    trajectory : Trajectory
        The question.
    replays : sequence of Replay
        Its records in this condition, sorted by repetition and attempt; at least one.
    redraw : callable or None
        From `redraw_evidence`; None draws no frames.

    Returns
    -------
    Panel
        Frames that cannot be drawn leave their reason.
    """
    first = replays[0]
    evidence: tuple[Evidence, ...] = ()
    problem = ""
    try:
        if redraw is not None:
            evidence = redraw(trajectory, first)
        frames = [frame for item in evidence for frame in item.frames]
        thumbnails = tuple(
            _thumbnail(frames[i], f"{first.condition.upper()}, frame {i + 1} of {len(frames)}")
            for i in _spread(len(frames))
        )
    except (CarveStatsError, OSError) as error:
        evidence, frames, thumbnails, problem = (), [], (), str(error)
    check = "none"
    if frames and first.evidence_sha256 is not None:
        check = "match" if hash_frames(evidence) == first.evidence_sha256 else "mismatch"
    return Panel(
        condition=first.condition,
        thumbnails=thumbnails,
        frames=len(frames),
        check=check,
        problem=problem,
        answers=tuple(_answer(replay, trajectory) for replay in replays),
    )


def _operator_of(plan: RunPlan) -> Operator | None:
    """The operator that the plan describes; what it describes may be more than its settings."""
    if plan.operator is None:
        return None
    settings = dict(plan.operator)
    name = settings.pop("name")
    usual = load_operator(name)
    return usual if usual.parameters() == plan.operator else load_operator(name, **settings)


def _answer(replay: Replay, trajectory: Trajectory) -> Answer:
    if not replay.valid:
        words, mark = f"no answer ({replay.status.replace('_', ' ')})", "invalid"
    else:
        answer = replay.answer or ""
        text = trajectory.options.get(answer)
        words = answer if text is None else f"{answer} {text}"
        mark = "flip" if replay.flip else "same"
    return Answer(replay.repetition, replay.attempt, words, mark)


def _thumbnail(frame: Frame, words: str) -> Thumbnail:
    image = pillow().fromarray(frame.pixels())
    image.thumbnail(_THUMBNAIL)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=_QUALITY, optimize=True)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/jpeg;base64,{encoded}", image.width, image.height, words)


def _spread(n: int) -> list[int]:
    """At most four of n places, evenly spread, the first and the last among them."""
    most = min(n, _MOST_FRAMES)
    return sorted({round(i * (n - 1) / max(1, most - 1)) for i in range(most)})
