"""Tables of the paper on the screen, and in a folder of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carve_stats._display import visible
from carve_stats.cli._table_file import refuse_input
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.report.paper_tables.formats import Format
    from carve_stats.report.paper_tables.paper_table import PaperTable

__all__ = ["check_targets", "shown_tables", "write_tables"]


def shown_tables(made: Sequence[PaperTable], form: Format) -> str:
    """Each table, complete; several in CSV with their titles and notes in comments.

    Parameters
    ----------
    made : sequence of PaperTable
        The tables.
    form : Format
        How they are written.

    Returns
    -------
    str
        With a blank line between them.
    """
    blocks = []
    for table in made:
        body = form.write(table)
        if form.ending == "csv" and (len(made) > 1 or table.missing is not None):
            comments = [f"# {line}" for line in _title_and_notes(table)]
            body = "\n".join([*comments, *([body] if table.missing is None else [])])
        blocks.append(body)
    return "\n\n".join(blocks)


def check_targets(folder: Path, names: Sequence[str], form: Format, read: Sequence[str]) -> None:
    """Refuse files that will be read, and folders, before anything is read or written.

    Parameters
    ----------
    folder : Path
        As `check_folder` gives it.
    names : sequence of str
        The tables that were asked for.
    form : Format
        How they are written.
    read : sequence of str
        Paths and globs of what will be read.

    Raises
    ------
    InputError
        Names the file.
    """
    for name in names:
        for target in _targets(folder, name, form).values():
            named = f"--output: {str(target)!r}"
            if target.is_dir():
                raise InputError(f"{named} is a folder: name another folder for the tables")
            refuse_input(target, [path for path in read if Path(path).is_file()], named=named)


def write_tables(folder: Path, made: Sequence[PaperTable], form: Format) -> list[str]:
    """Write each table that there is to a file.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    made : sequence of PaperTable
        The tables.
    form : Format
        How they are written; CSV has its notes in a file beside it.

    Returns
    -------
    list of str
        The files.
    """
    from carve_stats.replay.files import replace_file

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in made:
        if table.missing is not None:
            continue
        texts = {"table": form.write(table), "notes": "\n".join(_title_and_notes(table))}
        for what, target in _targets(folder, table.name, form).items():
            replace_file(target, (texts[what] + "\n").encode())
            written.append(str(target))
    return written


def _title_and_notes(table: PaperTable) -> list[str]:
    return [visible(line) for line in (table.title, *table.notes)]


def _targets(folder: Path, name: str, form: Format) -> dict[str, Path]:
    """The files of a table, by what is in them."""
    stem = f"table_{name.strip().lower()}"
    targets = {"table": folder / f"{stem}.{form.ending}"}
    if form.ending == "csv":
        targets["notes"] = folder / f"{stem}.notes.txt"
    return targets
