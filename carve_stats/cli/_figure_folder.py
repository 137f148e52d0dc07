"""A folder for figures: checked before any work is done, filled once all of it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from carve_stats.cli._table_file import refuse_input
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_folder", "write_figures"]

_DOTS = 144  # an inch, of PNG: two a CSS pixel


def check_folder(path: str, inputs: Iterable[str], *, option: str = "--figures") -> Path:
    """The path of a folder that figures, or tables, can be written to.

    Parameters
    ----------
    path : str
        What the user named; the folder may be there or not.
    inputs : iterable of str
        Paths and globs of what will be read.
    option : str
        The option that names the folder.

    Returns
    -------
    Path
        The same.

    Raises
    ------
    InputError
        A file, a folder that cannot be written to, a run's, or one that will be read.
    """
    folder = Path(path)
    if (folder / "plan.json").is_file():
        raise InputError(f"{option} {path!r} is a run's directory: name another folder")
    there = folder
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    try:
        if not path or not there.is_dir():
            raise InputError(f"{option} {path!r} is not a folder: name one, there or not")
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path!r} cannot be written ({error.strerror}): name a folder that is yours"
            " to write"
        ) from None
    # Any file in it would do: what matters is where it would be.
    refuse_input(folder / "figure.png", inputs, named=f"{option} {path!r}")
    return folder


def write_figures(
    folder: Path, figures: Mapping[str, Callable[[], Figure]], names: Iterable[str]
) -> list[str]:
    """Draw figures and write each as PNG and as SVG.

    Parameters
    ----------
    folder : Path
        As `check_folder` gives it; it is made if it is not there.
    figures : mapping of str to callable
        What draws each, by the name of its files.
    names : iterable of str
        All names that the command has for figures: older files of those that are not drawn now
        would pass for this run's, and are removed.

    Returns
    -------
    list of str
        The paths of the files. The same figures give the same bytes.
    """
    import io

    import matplotlib

    from carve_stats.replay.files import replace_file
    from carve_stats.report.figures import COLOURS, drawing_style

    folder.mkdir(parents=True, exist_ok=True)
    for name in set(names) - set(figures):
        for ending in ("png", "svg"):
            old = folder / f"{name}.{ending}"
            if old.is_file():
                old.unlink()
    written = []
    for name, draw in figures.items():
        figure = draw()
        # By themselves they have no page to show through them.
        figure.patch.set(facecolor=COLOURS["paper"], alpha=1)
        for ending, metadata in (("png", {}), ("svg", {"Date": None})):
            buffer, target = io.BytesIO(), folder / f"{name}.{ending}"
            with drawing_style():
                matplotlib.rcParams["svg.hashsalt"] = name
                figure.savefig(buffer, format=ending, dpi=_DOTS, metadata=metadata)
            replace_file(target, buffer.getvalue())
            written.append(str(target))
    return written
