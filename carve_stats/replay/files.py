"""Files of a run: written whole or not at all, and read from the folders that the user named."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path

from carve_stats.errors import InputError, StoreError

__all__ = ["TEMPORARY_SUFFIX", "create_file", "inside", "replace_file", "sync_directory"]

TEMPORARY_SUFFIX = ".part"
"""What a file that a killed process left half-written ends in; nothing ever reads one."""

_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)


def inside(root: Path, path: str | os.PathLike[str]) -> Path:
    r"""A path below a folder, as the system would open it.

    Parameters
    ----------
    root : Path
        The folder that the user named.
    path : path
        Relative to it, or absolute.

    Returns
    -------
    Path
        With all links followed. It need not exist.

    Raises
    ------
    InputError
        A path that leads out of the folder: by ``..``, by its beginning, or by a link.

    Examples
    --------
    >>> inside(Path("/media"), "clips/../clips/a.mp4").as_posix()
    '/media/clips/a.mp4'
    """
    try:
        real = Path(os.path.realpath(root / path))
        within = real.is_relative_to(os.path.realpath(root))
    except (OSError, ValueError) as error:  # a NUL, or a name too long
        raise InputError(f"path {os.fspath(path)!r:.80} cannot be used ({error})") from None
    if not within:
        raise InputError(
            f"path {os.fspath(path)!r} leads out of the folder {str(root)!r}: move the file into"
            " it, or name another folder"
        )
    return real


def create_file(path: Path, data: bytes) -> bool:
    """Create a file with all its content in one step, unless it exists.

    A hard link to a finished temporary file is the step: of any number of processes, on any
    number of machines, one succeeds, and nobody ever sees half a file.

    Parameters
    ----------
    path : Path
        The file.
    data : bytes
        All its content.

    Returns
    -------
    bool
        False where the file existed; it is then untouched.
    """
    temporary = _write_temporary(path, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        hint = ""
        if error.errno in _NO_LINKS:
            hint = "; if its file system has no hard links, take a folder on another one"
        raise StoreError(f"{path} cannot be created: {error.strerror}{hint}") from None
    finally:
        temporary.unlink()
    sync_directory(path.parent)
    return True


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole, in the place of the one that may be there.

    Parameters
    ----------
    path : Path
        The file.
    data : bytes
        All its content.
    """
    temporary = _write_temporary(path, data)
    try:
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {error.strerror}") from None
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power failure, where the system can.

    Parameters
    ----------
    path : Path
        The directory.
    """
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_temporary(path: Path, data: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:  # an interruption leaves nothing behind either
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreError(f"{path} cannot be written: {error.strerror}") from None
        raise
    return temporary
