"""`Frame`: one encoded picture of a video, and its pixels."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, MissingExtraError

__all__ = ["Encoder", "Frame", "decode_picture", "pillow"]


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
        """Decode the picture as it is shown.

        Returns
        -------
        ndarray of uint8, shape (height, width, 3)
            Red, green and blue: upright, if the file says how the camera was held, and with
            16 bits of grey scaled to 8.

        Raises
        ------
        InputError
            Bytes that are no picture, or one that is not shown in one way only: animated or
            see-through.
        """
        return decode_picture(
            self.data, name=f"a frame of {len(self.data)} bytes ({self.media_type})"
        )


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
        try:
            pillow().fromarray(pixels).save(buffer, format=self.format.upper(), **settings)
        except (OSError, ValueError) as error:  # each format has a greatest width and height
            raise InputError(
                f"a frame of {pixels.shape[1]} x {pixels.shape[0]} pixels cannot be encoded as"
                f" {self.format} ({error}): choose another format, or smaller frames"
            ) from None
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


def decode_picture(data: bytes, *, name: str) -> NDArray[np.uint8]:
    """Decode a picture as it is shown.

    Parameters
    ----------
    data : bytes
        The encoded picture.
    name : str
        What an error calls it: its file, for example.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)
        As `Frame.pixels` describes it.

    Raises
    ------
    InputError
        Bytes that are no picture, or one that is animated or see-through.
    """
    image = pillow()
    from PIL import ImageOps

    try:
        with image.open(io.BytesIO(data)) as picture:
            # A camera's JPEG may hold a preview beside the picture; that is no animation.
            if getattr(picture, "n_frames", 1) > 1 and picture.format != "MPO":
                raise InputError(f"{name}: is animated: store its pictures one by one")
            return np.asarray(_opaque(ImageOps.exif_transpose(picture), name))
    except (
        *(OSError, SyntaxError, ValueError, EOFError, struct.error),
        *(image.UnidentifiedImageError, image.DecompressionBombError),
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: cannot be decoded ({error}): store it again, smaller") from None


def _opaque(picture: Any, name: str) -> Any:
    see_through = picture.has_transparency_data
    if picture.mode.startswith("I"):  # 16 bits of grey, which convert() would cut off at 255
        grey = (np.asarray(picture).astype(np.uint32) * 255 + 32767) // 65535
        levels = picture.info.get("transparency")
        see_through = levels is not None and bool((np.asarray(picture) == levels).any())
        picture = pillow().fromarray(grey.astype(np.uint8))
    elif see_through:
        see_through = picture.convert("RGBA").getchannel("A").getextrema()[0] < 255
    if see_through:
        # Every viewer puts another colour behind it, so SHAM could not be what SELF shows.
        raise InputError(f"{name}: is see-through in places: store it on a background")
    return picture.convert("RGB")
