"""The flips and replays of many questions, checked, as a table can be looked up with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import whole_number
from carve_stats.law._budgets import flat

__all__ = ["flips_and_replays"]


def flips_and_replays(
    sham_flips: ArrayLike,
    sham_replays: ArrayLike,
    destroy_flips: ArrayLike,
    destroy_replays: ArrayLike,
) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
    """The four, broadcast and one-dimensional, and the shape they had.

    InputError for anything but whole numbers of at least 0, for more flips than replays and
    for shapes that do not broadcast.
    """
    given = {
        "sham_flips": sham_flips,
        "sham_replays": sham_replays,
        "destroy_flips": destroy_flips,
        "destroy_replays": destroy_replays,
    }
    counts = {name: whole_number(name, values, least=0) for name, values in given.items()}
    try:
        shape = np.broadcast_shapes(*(values.shape for values in counts.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in counts.items())
        raise InputError(f"the shapes do not broadcast together: {shapes}") from None
    counts = {name: flat(values, shape) for name, values in counts.items()}
    for arm in ("sham", "destroy"):
        flips, replays = counts[f"{arm}_flips"], counts[f"{arm}_replays"]
        for row in np.flatnonzero(flips > replays)[:1]:
            raise InputError(
                f"{arm}_flips={flips[row]} of question {row} must not exceed "
                f"{arm}_replays={replays[row]}"
            )
    return list(counts.values()), shape
