"""What a condition does to frames: SELF nothing, SHAM renders them again, DESTROY destroys them.

SHAM and DESTROY share one path: the same seeded crop, scaled back, and the same encoder. Only
the operator stands between the two, so that a difference in flips is the operator's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError, unknown_name
from carve_stats.replay.evidence.frames import Encoder, Frame, pillow
from carve_stats.replay.operators import Operator

__all__ = ["crop_and_restore", "render"]


def render(
    frames: tuple[Frame, ...],
    *,
    condition: str,
    rendering_seed: int,
    replay_seed: int,
    operator: Operator,
    encoder: Encoder,
    crop: float,
) -> tuple[Frame, ...]:
    """Render the frames of one item of evidence for one replay.

    Parameters
    ----------
    frames : tuple of Frame
        The stored frames.
    condition : str
        ``self`` returns them unchanged; ``sham`` crops a little, scales back and encodes;
        ``destroy`` puts the operator between the crop and the encoder.
    rendering_seed : int
        Draws the crops: the same for SHAM and DESTROY of one repetition, another for another
        item.
    replay_seed : int
        With `rendering_seed`, draws what the operator does to each frame.
    operator : Operator
        What destroys.
    encoder : Encoder
        What encodes, in both conditions.
    crop : float
        The greatest share of the height, and of the width, that is cut off, in [0, 1).

    Returns
    -------
    tuple of Frame
        The same bytes for the same seeds and settings; no two frames of an item share their
        crop or their phases.

    Raises
    ------
    InputError
        An unknown condition, or a crop outside [0, 1).
    """
    if condition not in CONDITIONS:
        raise InputError(unknown_name("condition", condition, CONDITIONS))
    if not 0 <= crop < 1:
        raise InputError(f"crop={crop} must be at least 0 and less than 1")
    if condition == "self":
        return frames
    rendered = []
    for i, frame in enumerate(frames):
        crop_seed = np.random.SeedSequence([rendering_seed, i])
        rng = np.random.Generator(np.random.PCG64(crop_seed))
        pixels = crop_and_restore(frame.pixels(), crop=crop, rng=rng)
        if condition == "destroy":
            entropy = np.random.SeedSequence([replay_seed, rendering_seed, i])
            pixels = operator(pixels, seed=int(entropy.generate_state(1, np.uint64)[0]))
        rendered.append(encoder.encode(pixels, frame.time))
    return tuple(rendered)


def crop_and_restore(
    pixels: NDArray[np.uint8], *, crop: float, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Cut a random margin off a picture and scale it back to its size.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
        Red, green and blue.
    crop : float
        The greatest share of each side that is cut off. How much, and how it is split
        between the two ends, is uniform; margins are fractions of pixels.
    rng : numpy.random.Generator
        Draws four numbers, whatever the size.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)
        Bicubic interpolation of what was left.
    """
    image = pillow()
    height, width = pixels.shape[:2]
    lost_x, lost_y = rng.random(2) * crop * (width, height)
    left, top = rng.random(2) * (lost_x, lost_y)
    box = (left, top, left + width - lost_x, top + height - lost_y)
    restored = image.fromarray(pixels).resize((width, height), image.Resampling.BICUBIC, box=box)
    return np.array(restored)
