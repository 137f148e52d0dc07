"""Which questions have a score, and why the others have none."""

from __future__ import annotations

from typing import Any

from carve_stats.counts import ReplayCounts

__all__ = ["count_questions"]


def count_questions(counts: ReplayCounts) -> dict[str, Any]:
    """Questions read, scored and left out, by reason.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.

    Returns
    -------
    dict
        ``read``, ``scored`` and ``left_out`` (reason: count); these add up.

    Examples
    --------
    >>> count_questions(ReplayCounts(["a", "b"], [0, 0], [3, 0], [0, 1], [3, 3]))
    {'read': 2, 'scored': 1, 'left_out': {'no valid sham replay': 1}}
    """
    sham, destroy = counts.sham_replays > 0, counts.destroy_replays > 0
    left_out = {
        "no valid sham replay": int((~sham & destroy).sum()),
        "no valid destroy replay": int((sham & ~destroy).sum()),
        "no valid sham or destroy replay": int((~sham & ~destroy).sum()),
    }
    return {
        "read": len(counts),
        "scored": int((sham & destroy).sum()),
        "left_out": {reason: count for reason, count in left_out.items() if count},
    }
