"""Which videos of a run have all of their replays, and in which order they got them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from carve_stats.counts import STOPPED, UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.logs.scan import connect
from carve_stats.logs.videos import assign_videos, check_pattern, read_mapping

__all__ = ["FinishedVideos", "finished_videos"]


@dataclass(frozen=True, slots=True)
class FinishedVideos:
    """The videos of a run, from `finished_videos`.

    Parameters
    ----------
    order : tuple of str
        Those with all of their replays, in the order in which the last of these began.
    under_way : tuple of str
        The others, by name, begun or not.
    """

    order: tuple[str, ...]
    under_way: tuple[str, ...]

    @property
    def note(self) -> str:
        """What a reader has to know of the others."""
        there, others = len(self.order) + len(self.under_way), len(self.under_way)
        return (
            f"{len(self.order)} of the run's {there} videos have all of their replays, and count"
            f" in the order in which they were completed; {others} are under way or not begun, and"
            " left out"
        )

    def select(self, counts: ReplayCounts) -> ReplayCounts:
        """The counts of the finished videos.

        Parameters
        ----------
        counts : ReplayCounts
            Of the run, read after the videos were: what has finished since is left out.

        Returns
        -------
        ReplayCounts
            Without a ledger, as `ReplayCounts.select` gives it.
        """
        if counts.cluster is None:
            raise InputError(UNKNOWN_CLUSTERS)
        return counts.select(np.isin(counts.cluster, self.order))


def finished_videos(
    run: str | os.PathLike[str],
    *,
    videos: object = None,
    video_pattern: str | None = None,
) -> FinishedVideos:
    """Find the videos all of whose questions have all the replays that the run was asked for.

    Parameters
    ----------
    run : path
        A run directory, which may be running.
    videos, video_pattern
        As in `read_replays`, where the run's questions name no video.

    Returns
    -------
    FinishedVideos
        In the order in which they were finished, by when their last replay began.

    Raises
    ------
    StoreError
        No run there, or a damaged one.
    InputError
        A run that stops its questions early, videos that are not known, or none that is finished.

    Examples
    --------
    >>> import tempfile
    >>> from carve_stats import Trajectory, read_replays, run_replays
    >>> questions = [Trajectory(question_id=f"q{i}", video_id=f"v{i // 2}", answer="A",
    ...                         options={"A": "yes", "B": "no"}) for i in range(4)]
    >>> with tempfile.TemporaryDirectory() as run:
    ...     for some in (questions[2:], questions):
    ...         _ = run_replays(lambda request: "B", some, k=2, store=run, seed=1)
    ...     videos = finished_videos(run)
    ...     len(videos.select(read_replays(run))), videos.order
    (4, ('v1', 'v0'))
    """
    from carve_stats.replay.extent import Extent
    from carve_stats.replay.store import RunStore

    with RunStore.load(run) as store:
        if store.stopping is not None:
            raise InputError(STOPPED.format(rule=store.stopping.rule))
        extent = Extent.read(store.path / "extents")
        last: dict[str, float] = {}
        for record in store.records():
            question = record.question_id
            last[question] = max(record.started_at, last.get(question, record.started_at))
        undone = {
            question
            for question, k in extent.k.items()
            for condition, replays in k.items()
            for repetition in range(replays)
            if store.progress.next_attempt(question, condition, repetition) is not None
        }
    video = _videos(extent.k, {q: t.video_id for q, t in extent.trajectories.items()},
                    videos, video_pattern)  # fmt: skip
    under_way = {video[question] for question in undone}
    finished: dict[str, float] = {}
    for question, name in video.items():
        if name not in under_way:
            finished[name] = max(last[question], finished.get(name, last[question]))
    if not finished:
        raise InputError(
            f"{os.fspath(run)}: none of its {len(under_way)} videos has all of its replays yet:"
            " look again when the run has come further"
        )
    order = sorted(finished, key=lambda name: (finished[name], name))
    return FinishedVideos(tuple(order), tuple(sorted(under_way)))


def _videos(
    questions: Mapping[str, object],
    recorded: Mapping[str, str | None],
    videos: object,
    video_pattern: str | None,
) -> dict[str, str]:
    if videos is not None and video_pattern is not None:
        raise InputError("videos and video_pattern both say the videos: give one of the two")
    mapping = None
    if videos is not None:
        with connect() as connection:
            mapping = read_mapping(connection, videos)
    pattern = None if video_pattern is None else check_pattern(video_pattern)
    names = list(questions)
    assigned = assign_videos(
        names, [recorded[name] for name in names], mapping=mapping, pattern=pattern
    )
    if assigned is None:
        raise InputError(UNKNOWN_CLUSTERS)
    return dict(zip(names, assigned, strict=True))
