"""A reader of PyTorch's old checkpoint files that can build arrays and nothing else."""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError

__all__ = ["read_checkpoint"]

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_DAMAGE = (
    pickle.UnpicklingError,
    EOFError,
    struct.error,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
_TYPES: dict[str, type[np.generic]] = {
    "FloatStorage": np.float32,
    "LongStorage": np.int64,
    "HalfStorage": np.float16,
}


def read_checkpoint(path: Path) -> dict[str, NDArray[Any]]:
    """Read the tensors of a checkpoint in PyTorch's format from before version 1.6.

    Parameters
    ----------
    path : Path
        The ``.pth`` file.

    Returns
    -------
    dict of str to ndarray
        Name to tensor.

    Raises
    ------
    InputError
        Another format, or a pickle that names anything but tensors.

    Notes
    -----
    A pickle can name any function and have it called. This one's world is closed: it may
    build ordered dicts and describe tensors, and every other name is refused.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except _DAMAGE as error:
        raise InputError(
            f"{path}: is no checkpoint of tensors ({error}): install its package again"
        ) from None


@dataclass(slots=True)
class _Storage:
    dtype: type[np.generic]
    size: int
    data: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self) -> NDArray[Any]:
        data = self.storage.data
        if data is None:
            raise ValueError("a tensor without data")
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        if self.offset < 0 or min(self.strides, default=0) < 0 or self.offset + last >= data.size:
            raise ValueError("a tensor that reaches beyond its data")
        steps = [s * data.itemsize for s in self.strides]
        view = np.lib.stride_tricks.as_strided(data[self.offset :], self.shape, steps)
        return np.array(view)


class _ClosedWorld(pickle.Unpickler):
    def __init__(self, file: BinaryIO, storages: dict[str, _Storage]) -> None:
        super().__init__(file)
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in _TYPES:
            return name
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        raise pickle.UnpicklingError(f"refused to load {module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, type_name, key, _, size = pid[:5]
        if kind != "storage":
            raise pickle.UnpicklingError(f"refused a persistent {kind!r}")
        return self._storages.setdefault(key, _Storage(_TYPES[type_name], size))


def _tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _read(file: BinaryIO) -> dict[str, NDArray[Any]]:
    storages: dict[str, _Storage] = {}
    load: Callable[[], Any] = lambda: _ClosedWorld(file, storages).load()  # noqa: E731
    if load() != _MAGIC or load() != _PROTOCOL:
        raise ValueError("not the old format")
    load()  # the writer's byte order and sizes: all files of this format are little-endian
    tensors = load()
    for key in load():
        storage = storages[key]
        (size,) = struct.unpack("<q", file.read(8))
        if size != storage.size:
            raise ValueError(f"storage {key} has {size} values, not {storage.size}")
        data = file.read(size * np.dtype(storage.dtype).itemsize)
        storage.data = np.frombuffer(data, storage.dtype)
        if storage.data.size != size:
            raise ValueError(f"storage {key} ends early")
    return {name: tensor.array() for name, tensor in tensors.items()}
