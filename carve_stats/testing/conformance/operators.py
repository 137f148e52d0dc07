"""`verify_operator`: whether a destroy operator does what the loop relies on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.replay.operators import Operator
from carve_stats.testing.conformance.trying import (
    Fact,
    first_failure,
    is_plain,
    refuse_uncallable,
    try_facts,
)
from carve_stats.testing.generators import draws_globally, generators_kept
from carve_stats.testing.verification import Verification

__all__ = ["SIZES", "verify_operator"]

SIZES = (
    (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (1, 7), (7, 1), (3, 3), (4, 5), (5, 4), (8, 8),
    (16, 17),
)  # fmt: skip
"""Height and width of the frames that are tried: odd, even, and edges of one pixel."""

_PLAIN = {"black": (0, 0, 0), "white": (255, 255, 255), "one-coloured": (200, 30, 90)}
_PLAIN_SIZES = ((1, 1), (1, 7), (2, 3), (16, 17))
_SEEDS = (0, 1, 2**53 - 1)
_DISTINCT = 4  # of 16 seeds; a parity, or a remainder by 3, would give fewer


class _Case(NamedTuple):
    height: int
    width: int
    seed: int
    colour: str = ""

    @property
    def pixels(self) -> NDArray[np.uint8]:
        if self.colour:
            return np.full((self.height, self.width, 3), _PLAIN[self.colour], np.uint8)
        rng = np.random.default_rng([self.height, self.width])
        return rng.integers(0, 256, (self.height, self.width, 3), np.uint8)

    def __str__(self) -> str:
        kind = f"{self.colour} frame" if self.colour else "frame"
        return f"a {kind} of {self.height} x {self.width} pixels, seed {self.seed}"


def verify_operator(operator: Operator) -> Verification:
    """Verify a destroy operator.

    Parameters
    ----------
    operator : Operator
        Called with the pixels of a frame and a seed; has a method `parameters`.

    Returns
    -------
    Verification
        A check a property, each failed one with the smallest of the frames that were tried.

    Raises
    ------
    InputError
        Nothing that can be called.

    See Also
    --------
    carve_stats.replay.operators.Operator : what an operator has to be.

    Examples
    --------
    >>> from carve_stats.replay.operators import load_operator
    >>> verify_operator(load_operator("phase")).passed
    True
    """
    refuse_uncallable("operator", operator)
    cases = [_Case(height, width, seed) for height, width in SIZES for seed in _SEEDS]
    cases += [_Case(*size, 0, colour) for size in _PLAIN_SIZES for colour in _PLAIN]

    def over_all(fails: Any) -> Any:
        return lambda one: first_failure(cases, lambda case: fails(one, case), str)

    facts = [
        Fact("shape and type", "gives a frame of the same shape and type", over_all(_other_form)),
        Fact("repeatable", "gives the same frame for the same seed", over_all(_other_frame)),
        Fact("seeds", "gives other frames for other seeds", _one_frame),
        Fact("input", "leaves the frame as it is, and needs not write to it", over_all(_touched)),
        Fact("kept frames", "leaves a frame as it is once it is given", _overwritten),
        Fact("layout", "does not care how the frame lies in memory", over_all(_other_layout)),
        Fact("threads", "gives the same frames from several threads", _other_in_threads),
        Fact("generators", "leaves the global random generators alone", over_all(_draws)),
        Fact("parameters", "are JSON, with a name, and the same each time", _parameters),
    ]
    with generators_kept():
        checks = try_facts(facts, operator)
    return Verification(
        f"operator {type(operator).__name__}",
        "pixels (height, width, 3) of uint8, and a seed",
        f"random frames of {len(SIZES)} sizes, from 1 x 1 to 16 x 17 pixels, with"
        f" {len(_SEEDS)} seeds; black, white and one-coloured ones of {len(_PLAIN_SIZES)} sizes",
        checks,
    )


def _other_form(operator: Any, case: _Case) -> str | None:
    out = operator(case.pixels, seed=case.seed)
    if isinstance(out, np.ndarray) and type(out) is not np.ndarray:
        return f"it gives a {type(out).__name__}, it must be a plain ndarray"
    if not isinstance(out, np.ndarray) or out.dtype != np.uint8:
        return f"it gives {getattr(out, 'dtype', type(out).__name__)}, it must be uint8"
    if out.shape != case.pixels.shape:
        return f"it gives the shape {out.shape} for {case.pixels.shape}"
    return None


def _other_frame(operator: Any, case: _Case) -> str | None:
    first, again = (operator(case.pixels, seed=case.seed) for _ in range(2))
    return None if np.array_equal(first, again) else "it gives another frame when asked again"


def _one_frame(operator: Any) -> str | None:
    case = _Case(16, 17, 0)
    distinct = {np.asarray(operator(case.pixels, seed=seed)).tobytes() for seed in range(16)}
    if len(distinct) >= _DISTINCT:
        return None
    some = "the same frame" if len(distinct) == 1 else f"only {len(distinct)} frames"
    return f"{case}: it gives {some} for the seeds 0 to 15"


def _touched(operator: Any, case: _Case) -> str | None:
    pixels = case.pixels
    operator(pixels, seed=case.seed)
    if not np.array_equal(pixels, case.pixels):
        return "it changes the frame that it is given; work on a copy"
    pixels.setflags(write=False)
    operator(pixels, seed=case.seed)
    return None


def _overwritten(operator: Any) -> str | None:
    case = _Case(16, 17, 0)
    given = operator(case.pixels, seed=case.seed)
    kept = np.array(given)
    for seed in _SEEDS[1:]:
        operator(case.pixels, seed=seed)
    return None if np.array_equal(given, kept) else f"{case}: a later call changes the frame"


def _other_layout(operator: Any, case: _Case) -> str | None:
    expected = operator(case.pixels, seed=case.seed)
    larger = np.zeros((case.height, 2 * case.width, 3), np.uint8)
    larger[:, ::2] = case.pixels
    for name, pixels in (
        ("in Fortran's order", np.asfortranarray(case.pixels)),
        ("with gaps", larger[:, ::2]),
    ):
        if not np.array_equal(operator(pixels, seed=case.seed), expected):
            return f"it gives another frame where the same pixels lie {name}"
    return None


def _other_in_threads(operator: Any) -> str | None:
    cases = [_Case(16, 17, seed) for seed in range(12)]
    alone = [operator(case.pixels, seed=case.seed) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda case: operator(case.pixels, seed=case.seed), cases))
    for case, one, other in zip(cases, alone, together, strict=True):
        if not np.array_equal(one, other):
            return f"{case}: it gives another frame beside other threads"
    return None


def _draws(operator: Any, case: _Case) -> str | None:
    if draws_globally(lambda: operator(case.pixels, seed=case.seed)):
        return "it draws from a global random generator; use the seed"
    return None


def _parameters(operator: Any) -> str | None:
    failure = is_plain(operator.parameters)
    if failure is None and "name" not in operator.parameters():
        return f"{operator.parameters()!r:.80} has no name"
    return failure
