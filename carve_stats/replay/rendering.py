"""`EvidenceRenderer`: what one replay is shown of a trajectory's evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from carve_stats.errors import CarveStatsError, InputError, one_line
from carve_stats.replay.evidence.frames import Encoder, Frame, pillow
from carve_stats.replay.files import inside
from carve_stats.replay.operators import Operator
from carve_stats.replay.protocols import Evidence
from carve_stats.replay.seeds import rendering_seed
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

__all__ = ["EvidenceRenderer", "RenderingError", "hash_frames"]

_TOLERANCE = 1.0  # seconds; what a file says of its length is not exact
_PICTURES = ("JPEG", "PNG", "WEBP")
_MEDIA_ROOT = "the media root (--media, [input] media, or media=)"


class RenderingError(InputError):
    """Frames that the operator or the encoder cannot take; no failure of the agent's."""


class EvidenceRenderer:
    """Turns stored evidence into that of a condition.

    Parameters
    ----------
    run_seed : int
        The run's seed.
    operator, encoder : Operator, Encoder
        What destroys and what encodes; None where no evidence has frames.
    crop : float
        The largest share that the re-rendering crops, in [0, 1).
    media : Path
        The folder that paths are relative to.
    captions : bool
        Whether the agent captions evidence before it answers.
    """

    def __init__(
        self,
        *,
        run_seed: int,
        operator: Operator | None,
        encoder: Encoder | None,
        crop: float,
        media: Path,
        captions: bool,
    ) -> None:
        if isinstance(crop, bool) or not isinstance(crop, int | float) or not 0 <= crop < 1:
            raise InputError(f"crop={crop!r} must be a number in [0, 1)")
        self._run_seed = run_seed
        self._operator = operator
        self._encoder = encoder
        self._crop = crop
        self._media = media.absolute()  # an agent may change the current directory
        self._captions = captions
        self._seconds: dict[str, float] = {}

    def check(self, trajectories: Sequence[Trajectory], conditions: Sequence[str]) -> None:
        """Refuse evidence that could not be shown, before anything is run.

        Parameters
        ----------
        trajectories : sequence of Trajectory
            The questions.
        conditions : sequence of str
            The conditions that will be run.
        """
        transformed = any(condition != "self" for condition in conditions)
        for trajectory in trajectories:
            for item in trajectory.evidence:
                place = f"question {trajectory.question_id!r}, evidence {item.id!r}"
                for path in item.frames:
                    _check_file(self._media, path, place, picture=True)
                if item.video is not None:
                    _check_file(self._media, item.video, place, picture=False)
                    self._check_times(item, place)
                if item.pictured and item.text and transformed and not self._captions:
                    # The frozen caption would tell in DESTROY what the frames no longer show.
                    raise InputError(
                        f"{place} has a text beside its frames and the agent has no render():"
                        " give it one, or take the text out"
                    )

    def _check_times(self, item: EvidenceItem, place: str) -> None:
        """Refuse times that are not in the video: milliseconds, say, or frame numbers."""
        from carve_stats.replay.evidence.media import video_seconds

        assert item.video is not None
        seconds = self._seconds.get(item.video)
        if seconds is None:
            seconds = self._seconds[item.video] = video_seconds(self._media / item.video)
        for time in item.times:
            if not -_TOLERANCE <= time <= seconds + _TOLERANCE:
                raise InputError(
                    f"{place}: times has {time:g}, and {item.video!r} has {seconds:g} s: give"
                    " seconds from its first picture"
                )

    def load(self, trajectory: Trajectory) -> tuple[Evidence, ...]:
        """Load a question's evidence as it is stored.

        Parameters
        ----------
        trajectory : Trajectory
            The question.

        Returns
        -------
        tuple of Evidence
            What SELF shows.
        """
        if not trajectory.evidence:
            return ()
        # PyAV and Pillow are wanted only where there are frames.
        from carve_stats.replay.evidence.media import load_frames

        return tuple(
            Evidence(
                id=item.id,
                start=item.start,
                end=item.end,
                query=item.query,
                text=item.text,
                frames=load_frames(item, self._media) if item.pictured else (),
            )
            for item in trajectory.evidence
        )

    def render(
        self,
        evidence: tuple[Evidence, ...],
        *,
        question_id: str,
        condition: str,
        repetition: int,
        seed: int,
    ) -> tuple[Evidence, ...]:
        """Transform the frames of a question's evidence for one replay.

        Parameters
        ----------
        evidence : tuple of Evidence
            As `load` gives it.
        question_id, condition : str
            The question and the condition.
        repetition : int
            From 0.
        seed : int
            The replay's seed.

        Returns
        -------
        tuple of Evidence
            The same items; one with frames has lost its frozen text, a text without frames is
            what it was.

        Raises
        ------
        RenderingError
            The operator or the encoder failed.
        """
        if condition == "self":
            return evidence
        return tuple(
            self._render_item(item, question_id, condition, repetition, seed)
            if item.frames
            else item
            for item in evidence
        )

    def _render_item(
        self,
        item: Evidence,
        question_id: str,
        condition: str,
        repetition: int,
        seed: int,
    ) -> Evidence:
        from carve_stats.replay.evidence.render import render

        assert self._operator is not None
        assert self._encoder is not None
        try:
            frames = render(
                item.frames,
                condition=condition,
                rendering_seed=rendering_seed(self._run_seed, question_id, repetition, item.id),
                replay_seed=seed,
                operator=self._operator,
                encoder=self._encoder,
                crop=self._crop,
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            said = str(error) if isinstance(error, CarveStatsError) else one_line(error)
            raise RenderingError(
                f"question {question_id!r}, evidence {item.id!r}, condition {condition}: its frames"
                f" cannot be rendered: {said}"
            ) from error
        return replace(item, frames=frames, text=None)


def _check_file(media: Path, name: str, place: str, *, picture: bool) -> None:
    """Refuse a file that is not there or not below the media root, is empty, or is no picture."""
    path = media / name
    try:
        inside(media, name)
    except InputError as error:
        raise InputError(f"{place}: {error}; paths are below {_MEDIA_ROOT}") from None
    try:
        with open(path, "rb") as file:
            empty = not file.read(1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(
            f"{place}: no file {str(path)!r} to read ({said}): check the path and {_MEDIA_ROOT}"
        ) from None
    if empty:
        raise InputError(f"{place}: {str(path)!r} is empty: store it again")
    if picture:
        image = pillow()
        try:
            with image.open(path, formats=_PICTURES):  # reads no more than the header
                pass
        except (OSError, SyntaxError, ValueError, image.DecompressionBombError):
            raise InputError(
                f"{place}: {str(path)!r} is no JPEG, PNG or WebP picture: convert it"
            ) from None


def hash_frames(evidence: Sequence[Evidence]) -> str | None:
    """Hash the encoded frames that a replay is shown.

    Parameters
    ----------
    evidence : sequence of Evidence
        What is shown.

    Returns
    -------
    str or None
        SHA-256 over the frames in order, each after its length; None without frames.
    """
    frames: list[Frame] = [frame for item in evidence for frame in item.frames]
    if not frames:
        return None
    digest = hashlib.sha256()
    for frame in frames:
        digest.update(len(frame.data).to_bytes(8, "big"))
        digest.update(frame.data)
    return digest.hexdigest()
