"""Fourier phase randomisation: what is where in the picture goes, its statistics stay.

One random phase field is *added* to the phases of all three channels. Amplitudes, and the
phase differences between channels, are therefore kept: the power spectrum, the
cross-spectra and the covariance of the colours. Independent fields would paint rainbows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError

__all__ = ["PhaseRandomization", "build", "match_histogram", "phase_field", "rotate_phases"]


@dataclass(frozen=True, slots=True)
class PhaseRandomization:
    """The operator: rotate the phases of a frame, then give each channel its histogram back.

    Notes
    -----
    The histogram step keeps every channel's grey levels exactly, and moves the amplitudes a
    little. The same seed gives the same frame on the same machine; on another one the last
    bit of the Fourier transform may differ.

    Examples
    --------
    >>> frame = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    >>> destroyed = PhaseRandomization()(frame, seed=1)
    >>> bool((np.sort(destroyed, axis=None) == np.sort(frame, axis=None)).all())
    True
    """

    def __call__(self, pixels: NDArray[np.uint8], /, *, seed: int) -> NDArray[np.uint8]:
        """Destroy one frame.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (height, width, 3)
            Red, green and blue.
        seed : int
            A whole number of at least 0.

        Returns
        -------
        ndarray of uint8, shape (height, width, 3)
            Every channel holds the same grey levels as before, in other places.
        """
        rotated = rotate_phases(pixels, seed=seed)
        out = np.empty_like(pixels)
        for channel in range(3):
            out[:, :, channel] = match_histogram(rotated[channel], pixels[:, :, channel])
        return out

    def parameters(self) -> Mapping[str, Any]:
        """Name and settings, for the run's plan."""
        return {"name": "phase", "field": "shared", "histogram": "exact"}


def build() -> PhaseRandomization:
    """Make the operator; it has no settings."""
    return PhaseRandomization()


def phase_field(height: int, width: int, *, seed: int) -> NDArray[np.complex64]:
    """Unit phases, random and uniform, that turn a real picture into a real picture.

    Parameters
    ----------
    height, width : int
        Size of the picture, in pixels.
    seed : int
        A whole number of at least 0.

    Returns
    -------
    ndarray of complex64, shape (height, width // 2 + 1)
        What the half spectrum of the picture is multiplied by.

    Notes
    -----
    The half spectrum of a real picture holds both a bin and its conjugate in column 0 and,
    for even widths, in column width/2: there the field is made Hermitian. A bin that is its own
    conjugate is real and takes phase 0 or π; the mean (bin 0, 0) takes phase 0. Without this
    the inverse transform drops what is not Hermitian, and the amplitudes are off by 10 to
    74 %.

    References
    ----------
    - `proofs/thm_phase_operator.py`: where the field has to be made Hermitian, and where it has no
      choice.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    angle = rng.random((height, width // 2 + 1), dtype=np.float32) * np.float32(2 * np.pi)
    field = np.empty(angle.shape, np.complex64)
    field.real, field.imag = np.cos(angle), np.sin(angle)
    half = (height - 1) // 2
    for column in {0, width // 2} if width % 2 == 0 else {0}:
        field[height - half :, column] = field[half:0:-1, column].conj()
        for row in {0, height // 2} if height % 2 == 0 else {0}:
            field[row, column] = 1 if field[row, column].real >= 0 else -1
    field[0, 0] = 1
    return field


def rotate_phases(pixels: NDArray[np.uint8], *, seed: int) -> NDArray[np.float32]:
    """Add one random phase field to the phases of the three channels.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
        Red, green and blue.
    seed : int
        A whole number of at least 0.

    Returns
    -------
    ndarray of float32, shape (3, height, width)
        The channels, before they get their histograms back. Their amplitudes, cross-spectra,
        means and covariances are those of `pixels`, to float32 accuracy.

    Raises
    ------
    InputError
        Pixels of another type or shape, or a negative seed.

    References
    ----------
    - `proofs/thm_phase_operator.py`: why one field for all channels keeps amplitudes,
      cross-spectra, means and covariances.
    """
    from scipy import fft

    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:
        kind = getattr(pixels, "dtype", type(pixels).__name__)
        raise InputError(f"pixels of type {kind} must be an array of uint8: decode the frame")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise InputError(f"pixels of shape {pixels.shape} must be (height, width, 3)")
    if seed < 0:
        raise InputError(f"seed={seed} must be a whole number of at least 0")
    height, width, _ = pixels.shape
    field = phase_field(height, width, seed=seed)
    rotated = np.empty((3, height, width), np.float32)
    for channel in range(3):
        # One channel a call, and one thread: equal channels then give equal bits, so that a
        # grey frame stays grey, and the number of cores changes nothing.
        spectrum = fft.rfft2(pixels[:, :, channel].astype(np.float32), workers=1)
        spectrum *= field
        rotated[channel] = fft.irfft2(spectrum, s=(height, width), workers=1, overwrite_x=True)
    return rotated


def match_histogram(values: NDArray[np.float32], reference: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give the ranks of one picture the grey levels of another.

    Parameters
    ----------
    values : ndarray of float32
        What is ranked; of equal values, the earlier one (by rows) ranks lower.
    reference : ndarray of uint8, same shape
        Whose grey levels are dealt out.

    Returns
    -------
    ndarray of uint8, same shape
        Its histogram is exactly that of `reference`.

    Notes
    -----
    A float32 turns into an unsigned integer of the same order by flipping its sign bit, or
    all bits where it is negative. With the place below it in the same 64 bits no two keys are
    equal, so that the fastest sort there is ranks like a stable one.
    """
    bits = (values.ravel() + np.float32(0)).view(np.uint32)  # -0 becomes 0
    negative = (bits >> np.uint32(31)).astype(bool)
    ordered = np.where(negative, ~bits, bits | np.uint32(1 << 31))
    keys = ordered.astype(np.uint64) << np.uint64(32)
    keys |= np.arange(keys.size, dtype=np.uint64)
    keys.sort()
    levels = np.bincount(reference.ravel(), minlength=256)
    out = np.empty(values.size, np.uint8)
    out[keys.astype(np.uint32)] = np.repeat(np.arange(256, dtype=np.uint8), levels)
    return out.reshape(values.shape)
