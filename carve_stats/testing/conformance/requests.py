"""Requests to try an agent with: a question about texts, and one about pictures."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from carve_stats.replay.evidence.frames import Frame
from carve_stats.replay.protocols import Evidence, ReplayRequest

__all__ = ["evidence_of_each_option", "other_evidence", "png", "sample_requests"]

_OPTIONS = {"A": "a rabbit", "B": "a fox", "C": "a hedgehog", "D": "nothing"}


def sample_requests() -> list[ReplayRequest]:
    """Two questions, each under several seeds.

    Returns
    -------
    list of ReplayRequest
        Of the condition ``sham``: about texts, and about two pictures of 32 x 32 pixels.
    """
    texts = (Evidence(id="0", text="An animal comes out of the burrow.", start=1.0, end=2.0),)
    frames = tuple(Frame(png(_picture(seed)), "image/png", float(seed)) for seed in (1, 2))
    pictures = (Evidence(id="0", query="animal", start=1.0, end=3.0, frames=frames),)
    return [
        ReplayRequest(
            question_id=question_id, video_id="v1", condition="sham", repetition=repetition,
            attempt=0, question="Which animal comes out?", options=dict(_OPTIONS),
            evidence=evidence, frozen={"answer": "A", "notes": ["it dug"]}, seed=seed,
        )
        for question_id, evidence in (("texts", texts), ("pictures", pictures))
        for repetition, seed in enumerate((0, 1, 2**53 - 1))
    ]  # fmt: skip


def other_evidence(request: ReplayRequest) -> ReplayRequest:
    """The same request with other pictures and texts in the place of each.

    Parameters
    ----------
    request : ReplayRequest
        Whose evidence is replaced.

    Returns
    -------
    ReplayRequest
        With as many items, texts and pictures.
    """
    frame = png(255 - _picture(3))
    items = tuple(
        replace(
            item,
            text=None if item.text is None else "A red car drives through the rain at night.",
            frames=tuple(Frame(frame, "image/png", one.time) for one in item.frames),
        )
        for item in request.evidence
    )
    return replace(request, evidence=items)


def evidence_of_each_option(request: ReplayRequest) -> list[tuple[Evidence, ...]]:
    """The evidence of a request, once for each of four options: its texts name that option.

    Parameters
    ----------
    request : ReplayRequest
        Whose evidence is replaced, ids apart.

    Returns
    -------
    list of tuple of Evidence
        Four, with unlike pictures; empty where the request has no evidence.
    """
    if not request.evidence:
        return []
    options = [*request.options.values(), "a red car", "a tree", "the sea", "a door"][:4]
    black = np.zeros((32, 32, 3), np.uint8)
    pictures = (png(black), png(255 - black), png(_picture(4)), png(_picture(5) // 4))
    return [
        tuple(
            replace(
                item,
                text=None if item.text is None else f"Now one sees {option}.",
                frames=tuple(Frame(picture, "image/png", one.time) for one in item.frames),
            )
            for item in request.evidence
        )
        for option, picture in zip(options, pictures, strict=True)
    ]


def _picture(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (32, 32, 3), np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture as PNG, without an imaging library.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
        Red, green and blue.

    Returns
    -------
    bytes
        The file.
    """
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: no row is a difference
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
