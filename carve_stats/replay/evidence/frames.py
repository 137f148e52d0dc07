"""`Frame`: one encoded picture of a video, and its pixels."""

from __future__ import annotations

import io
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, MissingExtraError

__all__ = ["Encoder", "Frame", "pillow"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One encoded picture.

    Parameters
    ----------
    data : bytes
        The encoded picture.
    media_type : str
        For example ``image/jpeg``.
    time : float or None
        When it is shown in the video, in seconds.
    """

    data: bytes
    media_type: str
    time: float | None = None

    def pixels(self) -> NDArray[np.uint8]:
        """Decode the picture.

        Returns
        -------
        ndarray of uint8, shape (height, width, 3)
            Red, green and blue.

        Raises
        ------
        InputError
            Bytes that are no picture.
        """
        image = pillow()
        try:
            return np.asarray(image.open(io.BytesIO(self.data)).convert("RGB"))
        except (image.UnidentifiedImageError, OSError, SyntaxError) as error:
            raise InputError(
                f"a frame of {len(self.data)} bytes ({self.media_type}) cannot be decoded"
                f" ({error}): store it again"
            ) from None


@dataclass(frozen=True, slots=True)
class Encoder:
    """How re-rendered frames are encoded: one path for SHAM and DESTROY.

    Parameters
    ----------
    format : str
        ``jpeg``, or one of the lossless ``png`` and ``webp``.
    quality : int
        JPEG quality, 1 to 100; the lossless formats do not use it. The chroma planes are kept
        at full size, since subsampling them would treat the two conditions differently.
    """

    format: str = "jpeg"
    quality: int = 92

    def __post_init__(self) -> None:
        if self.format not in _SETTINGS:
            raise InputError(f"format={self.format!r} must be one of {', '.join(_SETTINGS)}")
        if not 1 <= self.quality <= 100:
            raise InputError(f"quality={self.quality} must be between 1 and 100")

    def encode(self, pixels: NDArray[np.uint8], time: float | None = None) -> Frame:
        """Encode one picture.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (height, width, 3)
            Red, green and blue.
        time : float, optional
            When it is shown in the video, in seconds.

        Returns
        -------
        Frame
            The same bytes for the same pixels and settings.
        """
        settings = dict(_SETTINGS[self.format])
        if self.format == "jpeg":
            settings["quality"] = self.quality
        buffer = io.BytesIO()
        pillow().fromarray(pixels).save(buffer, format=self.format.upper(), **settings)
        return Frame(buffer.getvalue(), f"image/{self.format}", time)


_SETTINGS: dict[str, dict[str, object]] = {
    "jpeg": {"subsampling": 0},
    "png": {"compress_level": 1},
    "webp": {"lossless": True, "method": 0},
}


def pillow() -> ModuleType:
    """Pillow's ``Image`` module, or one line that says how to install it."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("frames need Pillow: pip install 'carve-stats[replay]'") from None
    return Image
