"""Files inside installed packages, found without importing the packages."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

from carve_stats.errors import MissingExtraError

__all__ = ["cache_directory", "package_file"]

_DEMO = "pip install 'carve-stats[demo]'"


def package_file(distribution: str, name: str, *, install: str = _DEMO) -> Path:
    """Where a file of an installed distribution is.

    Parameters
    ----------
    distribution : str
        The name that pip knows.
    name : str
        How the file's path ends, with forward slashes.
    install : str
        The command that installs the distribution, for the error.

    Returns
    -------
    Path
        An existing file.

    Raises
    ------
    MissingExtraError
        The distribution is not installed, or holds no such file.

    Examples
    --------
    >>> package_file("numpy", "numpy/__init__.py").name
    '__init__.py'
    """
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtraError(f"{distribution} is not installed: {install}") from None
    for file in files:
        if f"/{file.as_posix()}".endswith(f"/{name}"):
            path = Path(os.path.normpath(str(file.locate())))
            if path.is_file():
                return path
    raise MissingExtraError(f"{distribution} is installed without its file {name}: {install}")


def cache_directory() -> Path:
    """Where this user's caches are kept on this platform, and ours among them.

    Returns
    -------
    Path
        ``$XDG_CACHE_HOME/carve-stats`` where that is set, else the platform's own place. It
        need not exist, and need not be writable.
    """
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "carve-stats"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "carve-stats"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "carve-stats" / "Cache"
    return Path.home() / ".cache" / "carve-stats"
