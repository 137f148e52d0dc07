"""Rendered clips: photographs and text cards, one after the other, as a video file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.demo.clips import Card, Clip, Photograph
from carve_stats.errors import MissingExtraError
from carve_stats.replay.evidence.frames import pillow
from carve_stats.replay.files import replace_file

__all__ = ["SIZE", "render_clip", "scene_picture"]

SIZE = (640, 360)
_FRAMES_PER_SECOND = 8
_SECONDS_PER_SCENE = 3
_ZOOM_PER_FRAME = 0.002
_GRAIN = 4
_MARGIN, _TOP, _LINE, _TYPE = 40, 90, 90, 42


def render_clip(clip: Clip, path: Path) -> None:
    """Write a rendered clip, all of it or nothing.

    Parameters
    ----------
    clip : Clip
        One that has scenes.
    path : Path
        The MP4 file to write.

    Notes
    -----
    MPEG-4 part 2 is the one video encoder that every build of FFmpeg has. A slow zoom and a
    grain that changes from frame to frame make no two frames equal, as in a film.
    """
    try:
        import av
    except ImportError:
        raise MissingExtraError("the demo needs PyAV: pip install 'carve-stats[demo]'") from None
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream: Any = container.add_stream("mpeg4", rate=_FRAMES_PER_SECOND)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = 4_000_000
        for pixels in _pictures(clip):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    replace_file(path, file.getvalue())


def scene_picture(scene: Photograph | Card) -> Any:
    """One scene as a Pillow image that fills the frame.

    Parameters
    ----------
    scene : Photograph or Card
        A photograph is scaled to fit, on black; a card has its lines from the top.
    """
    if isinstance(scene, Card):
        return _card(scene)
    image = pillow()
    with image.open(scene.work.path()) as file:
        photograph = file.convert("RGB")
    scale = min(side / given for side, given in zip(SIZE, photograph.size, strict=True))
    fitted = photograph.resize(
        [round(side * scale) for side in photograph.size], image.Resampling.BICUBIC
    )
    picture = image.new("RGB", SIZE)
    picture.paste(fitted, ((SIZE[0] - fitted.width) // 2, (SIZE[1] - fitted.height) // 2))
    return picture


def _card(card: Card) -> Any:
    from PIL import ImageDraw, ImageFont

    picture = pillow().new("RGB", SIZE, card.paper)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=_TYPE)
    for i, line in enumerate(card.lines):
        draw.text((_MARGIN, _TOP + _LINE * i), line, font=font, fill=card.ink)
    return picture


def _pictures(clip: Clip) -> Iterator[NDArray[np.uint8]]:
    rng = np.random.Generator(np.random.PCG64(0))
    width, height = SIZE
    for scene in clip.scenes:
        picture = scene_picture(scene)
        for i in range(_FRAMES_PER_SECOND * _SECONDS_PER_SCENE):
            shown = 1 / (1 + _ZOOM_PER_FRAME * i)
            left, top = width * (1 - shown) / 2, height * (1 - shown) / 2
            box = (left, top, width - left, height - top)
            zoomed = np.asarray(picture.resize(SIZE, box=box), np.int16)
            grain = rng.integers(-_GRAIN, _GRAIN + 1, (height, width, 1), np.int16)
            yield np.clip(zoomed + grain, 0, 255).astype(np.uint8)
