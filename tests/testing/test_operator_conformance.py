"""Operators: right ones pass, and each fault is found on the smallest frame."""

import numpy as np
import pytest

from carve_stats.errors import InputError
from carve_stats.testing.conformance import verify_operator


def failed(verification):
    return {check.name for check in verification.failed}


class Operator:
    """Turns a frame round, or not, by its seed."""

    def __call__(self, pixels, /, *, seed):
        return np.roll(pixels, seed, axis=(0, 1))

    def parameters(self):
        return {"name": "roll"}


class FirstPixel(Operator):
    def __call__(self, pixels, /, *, seed):
        pixels[0, 0] = seed % 256
        return pixels.copy()


class SquareOnly(Operator):
    def __call__(self, pixels, /, *, seed):
        return np.roll(pixels, seed, axis=(0, 1)).transpose(1, 0, 2)


class EvenOnly(Operator):
    """Loses the last column where the width is odd."""

    def __call__(self, pixels, /, *, seed):
        return np.roll(pixels, seed, axis=0)[:, : max(1, pixels.shape[1] // 2 * 2)]


class Floats(Operator):
    def __call__(self, pixels, /, *, seed):
        return np.roll(pixels, seed, axis=(0, 1)) * 1.0


class OwnSeed(Operator):
    def __call__(self, pixels, /, *, seed):
        return np.random.default_rng().permuted(pixels)


class NoSeed(Operator):
    def __call__(self, pixels, /, *, seed):
        return pixels[::-1]


class GlobalSeed(Operator):
    def __call__(self, pixels, /, *, seed):
        np.random.seed(seed % 2**32)  # noqa: NPY002
        return np.random.permutation(pixels)  # noqa: NPY002


class MemoryOrder(Operator):
    def __call__(self, pixels, /, *, seed):
        return np.roll(pixels.ravel(order="K"), seed).reshape(pixels.shape)


class SharedBuffer(Operator):
    """Hands out the array that its next call writes to."""

    def __init__(self):
        self.buffer = np.zeros((16, 17, 3), np.uint8)

    def __call__(self, pixels, /, *, seed):
        if pixels.shape != self.buffer.shape:
            return np.roll(pixels, seed, axis=(0, 1))
        self.buffer[:] = np.roll(pixels, seed, axis=(0, 1))
        return self.buffer


class Unnamed(Operator):
    def parameters(self):
        return {"strength": 1}


class NumPyParameter(Operator):
    def parameters(self):
        return {"name": "roll", "strength": np.float32(1)}


class ByParity(Operator):
    def __call__(self, pixels, /, *, seed):
        return np.roll(pixels, seed % 2, axis=(0, 1))


class Masked(Operator):
    def __call__(self, pixels, /, *, seed):
        return np.ma.MaskedArray(np.roll(pixels, seed, axis=(0, 1)))


class NeedsContrast(Operator):
    def __call__(self, pixels, /, *, seed):
        if pixels.size > 3 and pixels.std() == 0:
            raise ValueError("no contrast")
        return np.roll(pixels, seed, axis=(0, 1))


class NeedsLight(Operator):
    def __call__(self, pixels, /, *, seed):
        if not pixels.any():
            raise ValueError("too dark")
        return np.roll(pixels, seed, axis=(0, 1))


class NeedsThreeRows(Operator):
    def __call__(self, pixels, /, *, seed):
        if pixels.shape[:2] == (2, 3):
            raise ValueError("too small")
        return np.roll(pixels, seed, axis=(0, 1))


WRONG_OPERATORS = {
    ByParity: ("seeds", "a frame of 16 x 17 pixels, seed 0: it gives only 2 frames for the seeds"),
    Masked: ("shape and type", "a frame of 1 x 1 pixels, seed 0: it gives a MaskedArray"),
    NeedsContrast: ("shape and type", "a black frame of 1 x 7 pixels, seed 0: it raises"),
    NeedsLight: ("shape and type", "a black frame of 1 x 1 pixels, seed 0: it raises"),
    NeedsThreeRows: ("shape and type", "a frame of 2 x 3 pixels, seed 0: it raises"),
    FirstPixel: ("input", "a frame of 1 x 1 pixels, seed 0"),
    SquareOnly: ("shape and type", "a frame of 1 x 2 pixels, seed 0"),
    EvenOnly: ("shape and type", "a frame of 2 x 3 pixels, seed 0"),
    Floats: ("shape and type", "a frame of 1 x 1 pixels, seed 0"),
    OwnSeed: ("repeatable", "a frame of"),
    NoSeed: ("seeds", "a frame of 16 x 17 pixels"),
    GlobalSeed: ("generators", "a frame of 1 x 1 pixels, seed 0"),
    MemoryOrder: ("layout", "a frame of"),
    SharedBuffer: ("kept frames", "a frame of 16 x 17 pixels, seed 0: a later call"),
    Unnamed: ("parameters", "{'strength': 1} has no name"),
    NumPyParameter: ("parameters", "{'name': 'roll', 'strength': "),
}


def test_a_right_operator_passes():
    verification = verify_operator(Operator())
    assert verification.passed, str(verification)


@pytest.mark.parametrize("make", WRONG_OPERATORS)
def test_each_wrong_operator_is_caught_on_the_smallest_frame(make):
    check, beginning = WRONG_OPERATORS[make]
    verification = verify_operator(make())
    assert check in failed(verification), str(verification)
    assert verification[check].counterexample.startswith(beginning)


def test_a_frame_that_cannot_be_written_to_is_enough():
    class Writing(Operator):
        def __call__(self, pixels, /, *, seed):
            pixels[:] = pixels
            return np.roll(pixels, seed, axis=(0, 1))

    found = verify_operator(Writing())["input"].counterexample
    assert found == (
        "a frame of 1 x 1 pixels, seed 0: it raises ValueError: assignment destination is read-only"
    )


@pytest.mark.parametrize("wrong", [5, None, "agent", Operator])
def test_what_cannot_be_called_is_refused(wrong):
    with pytest.raises(InputError, match=r"must be callable|give an instance") as refusal:
        verify_operator(wrong)
    assert "\n" not in str(refusal.value)
