"""Logs that are a run each, whatever their records say: which of them holds another's replays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from carve_stats.logs.columns import check_mapping
from carve_stats.logs.scan import Scan, connect, literal
from carve_stats.logs.shared_replays import SharedReplays, find_shared_replays
from carve_stats.logs.sources import expand_sources, scan_sources
from carve_stats.logs.tally import tally_records

__all__ = ["find_copied_replays"]


def find_copied_replays(
    logs: Mapping[str, Any],
    *,
    columns: Mapping[str, str] | None = None,
    attempts: str = "first",
) -> list[SharedReplays]:
    """Find logs of which most questions stand record for record in another of them.

    Parameters
    ----------
    logs : mapping of str to path, glob or data frame
        By what each is called; every one can be read by `read_replays`.
    columns, attempts
        As in `read_replays`.

    Returns
    -------
    list of SharedReplays
        As of the runs of one log. Of tables already counted nothing is found.

    Examples
    --------
    >>> import pandas
    >>> log = pandas.DataFrame({
    ...     "question_id": [f"q{i}" for i in range(12) for _ in range(4)], "condition": "SHAM",
    ...     "repetition": [0, 1, 2, 3] * 12, "flip": [0, 1, 1, 0] * 12})
    >>> print(*find_copied_replays({"a": log, "b": log.copy()}))
    the replays of run 'a' are in run 'b' as well, word for word, for 12 of its 12 questions
    """
    names = check_mapping(columns)
    with connect() as connection:
        scans = [
            _called(scan, name)
            for name, log in logs.items()
            for scan in scan_sources(connection, expand_sources(log), names)
            if scan.form == "records"
        ]
        if len(scans) < 2:
            return []
        tally_records(connection, scans, run="run", only=None, attempts=attempts)
        return find_shared_replays(connection, scans, run="run")


def _called(scan: Scan, run: str) -> Scan:
    """The same records, as those of this run."""
    kept = "* EXCLUDE (run)" if "run" in scan.types else "*"
    return replace(
        scan,
        sql=f"SELECT {kept}, {literal(run)} AS run FROM ({scan.sql})",
        types={**scan.types, "run": "VARCHAR"},
    )
