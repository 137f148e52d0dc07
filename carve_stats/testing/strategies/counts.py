"""`counts`: flips and replays of questions, ragged as those of logs are."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from carve_stats.counts import CONDITIONS, ReplayCounts
from carve_stats.testing.strategies.bounds import check_bounds
from carve_stats.testing.strategies.rows import rows_of

__all__ = ["counts"]

_WHAT = ("flips", "replays", "invalid")


def counts(
    *,
    min_questions: int = 1,
    max_questions: int = 12,
    min_k: int = 0,
    max_k: int = 6,
    equal_k: bool = False,
    invalid: bool = True,
    clusters: bool | None = None,
) -> st.SearchStrategy[ReplayCounts]:
    """Counts of a few questions.

    Parameters
    ----------
    min_questions, max_questions : int
        How many questions.
    min_k, max_k : int
        The fewest and the most valid replays in the SHAM and in the DESTROY arm.
    equal_k : bool
        Whether all questions have `max_k` in both.
    invalid : bool
        Whether there are invalid replays beside them.
    clusters : bool, optional
        Whether the clusters are known; not given, either.

    Returns
    -------
    SearchStrategy
        Of `ReplayCounts`, with SELF replays or without; shrinks to few questions and few replays.

    Raises
    ------
    InputError
        Bounds that leave nothing to draw.

    Examples
    --------
    >>> from carve_stats.testing.smallest import find_smallest
    >>> found = find_smallest(counts(), lambda drawn: (drawn.score_numerator > 0).any(), tries=100)
    >>> len(found), found.score.tolist(), found.cluster
    (1, [1.0], None)
    """
    check_bounds(1, min_questions=min_questions, max_questions=max_questions)
    check_bounds(0, min_k=min_k, max_k=max_k)
    lost = st.integers(0, 2) if invalid else st.just(0)

    def arm(least: int, most: int) -> st.SearchStrategy[tuple[int, int, int]]:
        flips = st.lists(st.booleans(), min_size=least, max_size=most)  # shrinks to fewer replays
        return st.tuples(flips, lost).map(lambda drawn: (sum(drawn[0]), len(drawn[0]), drawn[1]))

    replayed = arm(max_k if equal_k else min_k, max_k)
    videos = st.sampled_from(["video 1", "video 2", "video 3"])
    question = st.tuples(arm(0, 2), replayed, replayed, videos)
    known = st.booleans() if clusters is None else st.just(clusters)
    rows = rows_of(question, least=min_questions, most=max_questions)
    return st.builds(_counts, rows, known)


def _counts(rows: list[Any], clusters: bool) -> ReplayCounts:
    width = len(str(len(rows)))
    columns: dict[str, Any] = {
        f"{condition}_{what}": [row[arm][place] for row in rows]
        for arm, condition in enumerate(CONDITIONS)
        for place, what in enumerate(_WHAT)
    }
    cluster = [row[-1] for row in rows] if clusters else None
    return ReplayCounts([f"q{i:0{width}}" for i in range(len(rows))], **columns, cluster=cluster)
