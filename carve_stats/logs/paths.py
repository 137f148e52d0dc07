"""Paths that can be read at all: regular files, by names that DuckDB takes as they are."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from carve_stats.errors import InputError

__all__ = ["check_regular", "readable_path"]

_SPLIT_BY_DUCKDB = re.compile(r"\\.*[*?\[]|[*?\[].*\\", re.DOTALL)


def readable_path(path: str | os.PathLike[str]) -> Path:
    """The path of a folder or a regular file as DuckDB can be given it.

    Parameters
    ----------
    path : path
        Of something that exists.

    Returns
    -------
    Path
        The same; absolute where DuckDB would take a leading ``~`` for the home folder.

    Raises
    ------
    InputError
        A name that is not UTF-8, or that DuckDB reads as a pattern whatever is done; or a
        pipe or a device.
    """
    path = Path(path)
    name = str(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name!r}: the name is not UTF-8: rename it") from None
    if not path.is_dir():
        check_regular(path)
        if _SPLIT_BY_DUCKDB.search(name):
            raise InputError(
                f"{name}: a name with a backslash and one of *?[ cannot be read: rename it"
            )
    return path.absolute() if name.startswith("~") else path


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse what is not a regular file: a pipe or a device may keep its reader for ever.

    Parameters
    ----------
    path : path
        Where a file should be; a link counts as what it leads to.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        what = "a link to nothing" if os.path.islink(path) else "no such file"
        raise InputError(f"{path}: {what}: restore the file, or take it out") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: a folder where a file should be: move it, or rename it")
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{path}: not a regular file but a pipe, a socket or a device: copy what it gives into"
            " a file"
        )
