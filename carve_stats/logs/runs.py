"""`read_runs`: every run of the logs, apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carve_stats.counts import ReplayCounts
from carve_stats.logs.assemble import assemble_runs
from carve_stats.logs.reader import tallied_logs

__all__ = ["read_runs"]


def read_runs(
    source: Any,
    *,
    videos: Any = None,
    video_pattern: str | None = None,
    columns: Mapping[str, str] | None = None,
    attempts: str = "first",
) -> dict[str, ReplayCounts]:
    """Read replay logs of several runs and count each run apart.

    Parameters
    ----------
    source, videos, video_pattern, columns, attempts
        As in `read_replays`. Runs are told apart by the records' own ``run`` (or ``run_id``),
        not by the files they stand in; records without one are the run ``""``, whatever their
        file, and its ledger says so.

    Returns
    -------
    dict of str to ReplayCounts
        By the run's id, in order of the ids as texts. The ledger of each counts the records of the
        others as left out, ``other run``, and says where most questions of a run stand record for
        record in another, as those of a run do in its extension: these are no independent runs.

    Raises
    ------
    InputError, RecordError
        As `read_replays`, for a record of any run.

    See Also
    --------
    carve_stats.logs.reader.read_replays : one run, or all of them added up.

    Notes
    -----
    The logs are read once, however many runs they hold. Where each run has a file or folder of its
    own and records do not name their run, read them one by one:
    ``{name: read_replays(path) for name, path in paths.items()}``.

    Examples
    --------
    >>> import pandas
    >>> log = pandas.DataFrame({
    ...     "run": ["seed 2", "seed 1", "seed 1"], "question_id": "q1", "video_id": "v1",
    ...     "condition": ["SHAM", "SHAM", "DESTROY"], "repetition": 0, "flip": [0, 0, 1]})
    >>> runs = read_runs(log)
    >>> list(runs), runs["seed 1"].score.tolist()
    (['seed 1', 'seed 2'], [1.0])
    >>> runs["seed 2"].ledger.to_dict()
    {'read': 3, 'used': 1, 'left_out': {'other run': 2}}
    """
    with tallied_logs(
        source,
        videos=videos,
        video_pattern=video_pattern,
        columns=columns,
        run=None,
        pool_runs=False,
        attempts=attempts,
    ) as logs:
        return assemble_runs(
            logs.connection,
            logs.scans,
            run_sql=logs.run,
            mapping=logs.mapping,
            pattern=logs.pattern,
        )
