"""JSON files that hold a list of records, or one record each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.columns import (
    OTHER_FORM,
    SHA256,
    STOPPED,
    STOPPING,
    form_of,
    name_columns,
    strange_columns,
)
from carve_stats.logs.scan import Scan, as_text, scan_columns

__all__ = ["is_mine", "scan"]

SUFFIXES = (".json",)


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and source.name.lower().endswith(SUFFIXES)


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make one scan of all JSON files.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the columns are registered.
    sources : sequence of Path
        The files.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        Of one element.
    """
    records: list[dict[str, Any]] = []
    places: list[str] = []
    files: list[str] = []
    for path in sources:
        value = _load(path)
        listed = value if isinstance(value, list) else [value]
        for number, record in enumerate(listed, 1):
            place = f"{path} record {number}" if isinstance(value, list) else str(path)
            if not isinstance(record, dict):
                raise RecordError(f"{place}: not a JSON object: a record has named values")
            records.append(record)
            places.append(place)
            files.append(str(path))
    if not records:
        raise InputError(f"{sources[0]}: no records")
    there = dict.fromkeys(key for record in records for key in record)
    form = form_of(there, mapping)
    found = name_columns(there, mapping, form=form, place=str(sources[0]))
    columns = {c: [as_text(r.get(name)) for r in records] for c, name in found.items()}
    if "run" not in mapping and found.get("run") == "run":
        columns["run"] = [
            as_text(r.get("run" if _any_filled(r, ["run"]) else "run_id")) for r in records
        ]
    strange, own = strange_columns(found, mapping, form=form)
    columns["strange"] = [
        str(OTHER_FORM)
        if _any_filled(r, strange) and not _any_filled(r, own)
        else str(STOPPED) * bool(re.fullmatch(SHA256, as_text(r.get(STOPPING))))
        for r in records
    ]
    return [
        scan_columns(
            connection,
            columns,
            form=form,
            source=files,
            locate=places.__getitem__,
            inputs=tuple(map(str, sources)),
        )
    ]


def _any_filled(record: Mapping[str, Any], names: Sequence[str]) -> bool:
    return any(as_text(record.get(name)) not in ("", "NaN", "nan") for name in names)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except ValueError as error:
        raise RecordError(
            f"{path}: not JSON ({error}): the file is damaged, or holds a record a line, which"
            " is named .jsonl"
        ) from None
