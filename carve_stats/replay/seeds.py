"""Seeds: whole numbers that depend on what is replayed and on nothing else.

Order, workers and resumption therefore change no replay. A seed has 53 bits, so that every
JSON reader and every float keeps it.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

__all__ = ["evidence_seed", "rendering_seed", "replay_seed"]


def replay_seed(
    run_seed: int, question_id: str, condition: str, repetition: int, attempt: int
) -> int:
    """The seed of one replay.

    Parameters
    ----------
    run_seed : int
        The run's seed.
    question_id, condition : str
        The question and the condition.
    repetition, attempt : int
        Both from 0.

    Returns
    -------
    int
        In [0, 2**53).

    Notes
    -----
    The first 53 bits of BLAKE2b, with a digest of 8 bytes, over the compact UTF-8 JSON of
    ``["replay", run_seed, question_id, condition, repetition, attempt]``. JSON keeps the parts
    apart: no two keys have the same encoding.

    Examples
    --------
    >>> replay_seed(1, "q1", "sham", 0, 0)
    1973838251882521
    """
    return _seed(["replay", run_seed, question_id, condition, repetition, attempt])


def rendering_seed(run_seed: int, question_id: str, repetition: int, evidence_id: str) -> int:
    """The seed of the re-rendering of one item of evidence in one repetition.

    It knows neither condition nor attempt: SHAM and DESTROY of a repetition are cropped alike,
    so that only what DESTROY destroys differs between them.

    Parameters
    ----------
    run_seed : int
        The run's seed.
    question_id : str
        The question.
    repetition : int
        From 0.
    evidence_id : str
        The item of evidence.

    Returns
    -------
    int
        In [0, 2**53).

    Notes
    -----
    As `replay_seed`, over ``["rendering", run_seed, question_id, repetition, evidence_id]``.
    """
    return _seed(["rendering", run_seed, question_id, repetition, evidence_id])


def evidence_seed(seed: int, evidence_id: str) -> int:
    """The seed of one item of evidence within one replay: for its phases, or its caption.

    Parameters
    ----------
    seed : int
        The seed of the replay.
    evidence_id : str
        The item of evidence.

    Returns
    -------
    int
        In [0, 2**53).

    Notes
    -----
    As `replay_seed`, over ``["evidence", seed, evidence_id]``.
    """
    return _seed(["evidence", seed, evidence_id])


def _seed(parts: list[str | int]) -> int:
    return int.from_bytes(blake2b(_encode(parts), digest_size=8).digest(), "big") >> 11


_encode = msgspec.json.Encoder().encode
