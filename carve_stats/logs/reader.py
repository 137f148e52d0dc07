"""`read_replays`: any replay log in, `ReplayCounts` out."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError, RecordError, unknown_name
from carve_stats.logs.assemble import assemble_counts
from carve_stats.logs.columns import check_mapping
from carve_stats.logs.counted import tally_counts
from carve_stats.logs.scan import Scan, connect, duckdb_message
from carve_stats.logs.sources import expand_sources, scan_sources
from carve_stats.logs.tally import tally_records
from carve_stats.logs.videos import check_pattern, read_mapping

__all__ = ["TalliedLogs", "read_replays", "tallied_logs"]


def read_replays(
    source: Any,
    *,
    videos: Any = None,
    video_pattern: str | None = None,
    columns: Mapping[str, str] | None = None,
    run: str | None = None,
    pool_runs: bool = False,
    attempts: str = "first",
) -> ReplayCounts:
    r"""Read replay logs and count, for each question, how many replays flipped.

    Parameters
    ----------
    source : path, glob, data frame, or a list of those
        Any of:

        - a folder in the CARVE reference layout,
          ``results/<question id>/<CONDITION>/<repetition>.json``;
        - a run directory of the replay loop;
        - a JSONL, JSON, CSV or Parquet file, a folder of such files of one kind, or a data
          frame (pandas, polars, Arrow), with one record a replay: ``question_id``,
          ``condition``, ``repetition``, and ``flip`` or ``answer`` and ``reference_answer``
          or all three; perhaps ``video_id``, ``valid``, ``attempt`` and ``run`` (or ``run_id``);
        - the same with one row a question, already counted: ``question_id``,
          ``sham_flips``, ``sham_replays``, ``destroy_flips``, ``destroy_replays``; perhaps
          ``self_flips``, ``self_replays``, ``…_invalid``, ``video_id`` and ``run``; or with
          ``sham_flips``, ``destroy_flips`` and perhaps ``self_flips`` as lists of 0, 1 and null.
    videos : path, mapping or data frame, optional
        The video of each question: a mapping, or a CSV, JSONL or Parquet file or a data frame
        with the columns ``question_id`` and ``video_id``, or a folder of frozen trajectories,
        ``<question id>.json`` with these fields. It is never guessed from the id.
    video_pattern : str, optional
        A regular expression that question ids match as a whole, whose group (the only one, or
        the one named ``video``) is the video: for example ``(.+)_\d+``.
    columns : mapping of str to str, optional
        Our names of columns to those in the logs, where they differ.
    run : str, optional
        The one run to be counted, where a log holds several.
    pool_runs : bool
        Whether to add the replays of several runs over the same agent and questions. Where
        records name no run, each source is one. A run that another holds as a whole, word for
        word, is refused, as its replays would count twice; of one that another holds in most
        questions a note says so.
    attempts : str
        ``first``: the first attempt of each repetition counts; ``first-valid``: the first one
        that gave an answer, which selects on validity.

    Returns
    -------
    ReplayCounts
        With a ledger of what was used and left out. Questions without a valid replay in an arm
        are there, with no score.

    Raises
    ------
    InputError
        A source, an option or a column that cannot be right.
    RecordError
        A record that is damaged, or that contradicts itself or another; names the place.

    See Also
    --------
    carve_stats.logs.runs.read_runs : every run of the logs, apart.

    Notes
    -----
    A record is invalid, and neither a flip nor none, where `valid` is false, where the answer is
    missing or a harness's failure text, or where neither `flip` nor both answers are there. A
    missing or null `flip` beside `answer` and `reference_answer` is derived from them (after NFKC,
    stripping and case-folding, and with ``1.0`` as ``1``); one that is there must agree. An answer
    without a frozen one is left out, unless its source has flips and no frozen answer at all. The
    texts NaN and nan are null. Of records of the same run, question, condition, repetition and
    attempt that say the same (answer, reference answer, video and outcome), the first counts.

    Examples
    --------
    >>> import pandas
    >>> log = pandas.DataFrame({
    ...     "question_id": "q1", "video_id": "v1", "condition": ["SHAM", "SHAM", "DESTROY"],
    ...     "repetition": [0, 1, 0], "flip": [0, None, 1]})
    >>> counts = read_replays(log)
    >>> counts
    <ReplayCounts: 1 questions, 1 scored, 1 clusters>
    >>> counts.ledger.to_dict()
    {'read': 3, 'used': 2, 'left_out': {'invalid': 1}}
    """
    with tallied_logs(
        source,
        videos=videos,
        video_pattern=video_pattern,
        columns=columns,
        run=run,
        pool_runs=pool_runs,
        attempts=attempts,
    ) as logs:
        return logs.counts(run=run, pool_runs=pool_runs)


class TalliedLogs(NamedTuple):
    """Logs whose records are in the table ``arms``, a row for each run, question and arm.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the table is.
    scans : list of Scan
        What it was made of.
    run : str
        SQL of the run of a record, from `run` and `source`.
    mapping : mapping of str to str, or None
        Question to video, where the caller said it.
    pattern : re.Pattern or None
        What to take videos from question ids with.
    """

    connection: Any
    scans: list[Scan]
    run: str
    mapping: Mapping[str, str] | None
    pattern: re.Pattern[str] | None

    def counts(self, *, run: str | None, pool_runs: bool) -> ReplayCounts:
        """The counts of one run, or of all added up; as for `assemble_counts`."""
        return assemble_counts(
            self.connection,
            self.scans,
            run=run,
            pool_runs=pool_runs,
            run_sql=self.run,
            mapping=self.mapping,
            pattern=self.pattern,
        )


@contextmanager
def tallied_logs(
    source: Any,
    *,
    videos: Any,
    video_pattern: str | None,
    columns: Mapping[str, str] | None,
    run: str | None,
    pool_runs: bool,
    attempts: str,
) -> Iterator[TalliedLogs]:
    """Tally logs for as long as the context lasts.

    Parameters
    ----------
    source, videos, video_pattern, columns, run, pool_runs, attempts
        As in `read_replays`.

    Yields
    ------
    TalliedLogs
        For its `counts`, or `assemble_runs`; errors of DuckDB on the way name the logs.
    """
    import duckdb

    if run is not None and not isinstance(run, str):
        raise InputError(f"run={run!r} must be a run's id, a text")
    if run is not None and pool_runs:
        raise InputError("run= reads one run and pool_runs=True all of them: give one of the two")
    if attempts not in ("first", "first-valid"):
        raise InputError(unknown_name("attempts", attempts, ("first", "first-valid")))
    if videos is not None and video_pattern is not None:
        raise InputError("videos and video_pattern both say the videos: give one of the two")
    pattern = None if video_pattern is None else check_pattern(video_pattern)
    names = check_mapping(columns)
    with _readable(source), connect() as connection:
        sources = expand_sources(source)
        mapping = None if videos is None else read_mapping(connection, videos)
        scans: list[Scan] = []
        try:
            scans = scan_sources(connection, sources, names)
            several = len({path for scan in scans for path in scan.inputs}) > 1
            run_sql = f"coalesce(run, {'source' if pool_runs and several else repr('')})"
            if scans[0].form == "records":
                tally_records(connection, scans, run=run_sql, only=run, attempts=attempts)
            else:
                tally_counts(connection, scans, run=run_sql, only=run)
            _refuse_nul(connection, scans)
            yield TalliedLogs(connection, scans, run_sql, mapping, pattern)
        except duckdb.Error as error:
            for scan in scans:
                scan.diagnose()
            place = ", ".join(i for scan in scans for i in scan.inputs) or _named(source)
            raise InputError(f"{place}: cannot be read: {duckdb_message(error)}") from None


@contextmanager
def _readable(source: Any) -> Iterator[None]:
    """Name the file that the system, or a decompressor, cannot read."""
    try:
        yield
    except (OSError, EOFError, zlib.error, RecursionError) as error:
        place = getattr(error, "filename", None) or _named(source)
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{place}: cannot be read: {reason}") from None


def _named(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "source"


def _refuse_nul(connection: Any, scans: Sequence[Scan]) -> None:
    """Refuse ids that end in NUL, which arrays of texts cut off, so that two become one."""
    columns = {"question_id": "question_id", "video_id": "video"}
    ends = " OR ".join(f"suffix({column}, chr(0))" for column in columns.values())
    if not connection.execute(f"SELECT 1 FROM arms WHERE {ends} LIMIT 1").fetchall():
        return
    for scan in scans:
        for name in filter(scan.types.__contains__, columns):
            rows = connection.execute(
                f"SELECT row, {name} FROM ({scan.numbered()})"
                f" WHERE suffix({name}::VARCHAR, chr(0)) ORDER BY row LIMIT 1"
            ).fetchall()
            if rows:
                raise RecordError(
                    f"{scan.locate(rows[0][0])}: {name}={rows[0][1]!r} ends in the character NUL:"
                    " take it off"
                )
