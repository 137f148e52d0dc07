"""Columns that a caller gives: ids, and values with some missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError

__all__ = ["as_column", "find_rows", "id_column", "is_missing", "mask_column"]


def id_column(name: str, values: ArrayLike) -> NDArray[np.str_]:
    """Ids as a new array of texts; InputError for one that is missing or empty."""
    array = as_column(name, values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}: it must be one-dimensional")
    if array.dtype.kind == "S":
        raise InputError(f"{name} holds bytes: give texts")
    # Beside texts in a list NumPy makes the text "nan" of a NaN: the list itself is looked at.
    listed = values if isinstance(values, list | tuple) else None
    if listed is not None or array.dtype.kind != "U":
        for row, value in enumerate(array.tolist() if listed is None else listed):
            if is_missing(value):
                raise InputError(f"{name}={value!r} in row {row}: every row needs an id")
    ids = array.astype(np.str_)  # always a copy: the caller keeps theirs
    empty = np.flatnonzero(ids == "")
    if empty.size:
        raise InputError(f"{name}='' in row {empty[0]}: every row needs an id")
    return ids


def as_column(name: str, values: ArrayLike) -> NDArray[Any]:
    """Any values as an array; InputError for masked entries and rows of unequal length."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries: leave those questions out, or fill them")
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(
            f"{name} holds rows of unequal length: give one value a question"
        ) from None


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or what pandas has in their place."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA refuses to be compared
        return True


def mask_column(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which rows to keep; InputError for anything but truth values of this shape."""
    keep = np.asarray(mask)
    if keep.dtype != np.bool_ or keep.shape != shape:
        raise InputError(
            f"mask has dtype {keep.dtype} and shape {keep.shape}: it must be boolean, of"
            f" shape {shape}"
        )
    return keep


def find_rows(ids: NDArray[np.str_], wanted: NDArray[np.str_]) -> NDArray[np.int64]:
    """Where each wanted id stands among the sorted ids; −1 where it does not."""
    if np.array_equal(ids, wanted):
        return np.arange(ids.size)
    place = np.searchsorted(ids, wanted)
    place[place == ids.size] = 0
    found = ids[place] == wanted if ids.size else np.zeros(wanted.size, bool)
    return np.where(found, place, -1)
