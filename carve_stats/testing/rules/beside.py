"""What stands beside flips and replays of SHAM and DESTROY, and must not decide."""

from __future__ import annotations

from typing import Any, NamedTuple

from carve_stats.counts import Ledger

__all__ = ["NAMES", "OTHER_REPLAYS", "PLAIN", "Beside"]


class Beside(NamedTuple):
    """One thing beside the counts.

    Parameters
    ----------
    words : str
        What it is, for a counterexample.
    mend : str
        What a rule has to do that looked at it.
    ids : str
        How questions are called, with a place for the number.
    columns : dict
        A value a question, by the parameters of `ReplayCounts`; a callable is given the row.
    ledger : Ledger, optional
        Of the counts.
    condition : str, optional
        The condition whose rules may look at it.
    """

    words: str = ""
    mend: str = ""
    ids: str = "q{:0{}d}"
    columns: dict[str, Any] = {}  # noqa: RUF012 (never written to)
    ledger: Ledger | None = None
    condition: str | None = None


PLAIN = Beside()
"""Nothing."""

_NO_CLUSTER = "which video a question belongs to is for intervals alone"
NAMES = (
    Beside(
        "under other question ids, with a ledger",
        ids="other question {:0{}d} é",
        ledger=Ledger(read=7, used=4, left_out={"invalid": 3}, notes=("a note",)),
    ),
    Beside("all in one cluster", _NO_CLUSTER, columns={"cluster": lambda row: "video"}),
    Beside("each in its own cluster", _NO_CLUSTER, columns={"cluster": lambda row: f"video {row}"}),
)
"""Ids first, then clusters."""

_VALID_ONLY = "divide by valid replays, and compare them alone"
_NO_SELF = "the score has no SELF in it; a rule that looks at it declares it in conditions"
OTHER_REPLAYS = (
    Beside(
        "with an invalid SHAM replay more a question",
        _VALID_ONLY, columns={"sham_invalid": lambda row: 1},
    ),
    Beside(
        "with an invalid DESTROY replay more a question",
        _VALID_ONLY, columns={"destroy_invalid": lambda row: 1},
    ),
    Beside(
        "with invalid replays more in question 1 alone", _VALID_ONLY,
        columns=dict.fromkeys(("sham_invalid", "destroy_invalid"), lambda row: 3 * (row == 0)),
    ),
    Beside(
        "with SELF 1 of 2 flipped in each question", _NO_SELF,
        columns={"self_flips": lambda row: 1, "self_replays": lambda row: 2}, condition="self",
    ),
    *(
        Beside(
            f"with SELF {x} of {k} flipped in each question", _NO_SELF,
            columns={
                "self_flips": lambda row, x=x: x, "self_replays": lambda row, k=k: k,
            },
            condition="self",
        )
        for x, k in ((0, 1), (1, 1), (0, 3), (3, 3), (2, 5))
    ),
    Beside(
        "with SELF 2 of 2 flipped and an invalid SELF replay in each question", _NO_SELF,
        columns={
            "self_flips": lambda row: 2, "self_replays": lambda row: 2,
            "self_invalid": lambda row: 1,
        },
        condition="self",
    ),
)  # fmt: skip
"""What a score is not made of."""
