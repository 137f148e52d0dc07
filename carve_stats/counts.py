"""`ReplayCounts`: how many replays of each question flipped. The waist of the toolkit.

Readers, the replay loop and the synthetic population all end here, and every statistic
starts here, so no statistic can know where its counts came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._columns import as_column, id_column, mask_column
from carve_stats.errors import InputError

if TYPE_CHECKING:  # its kernels are not needed to count
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["CONDITIONS", "UNKNOWN_CLUSTERS", "Ledger", "ReplayCounts", "check_counts"]

UNKNOWN_CLUSTERS = (
    "no intervals: which questions share a video is not known; name the videos with --videos FILE"
    " or --video-pattern (in Python: videos=, video_pattern= or cluster=)"
)
"""What a result says where `ReplayCounts.cluster` is None."""

STOPPED = (
    "the replays were stopped early ({rule}): rates and scores taken from them as they are would"
    " be biased; use stopped_signs(counts) (carve-stats excess), whose figures are not"
)
"""What a function says that cannot do with counts whose questions were stopped early."""

UNFINISHED = ": unfinished, "
"""What the note of a reader has after the name of a run whose replays are not all made."""

CONDITIONS = ("self", "sham", "destroy")

_FLIPS_AND_REPLAYS = tuple(f"{c}_{what}" for c in CONDITIONS for what in ("flips", "replays"))
_INVALID = tuple(f"{c}_invalid" for c in CONDITIONS)
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a reader did with the records it met; nothing is dropped silently.

    Parameters
    ----------
    read : int
        Records met.
    used : int
        Records that count as a valid replay.
    left_out : mapping of str to int
        Records that do not, by reason; ``read == used + sum(left_out.values())``.
    notes : tuple of str
        What a person should know about the reading, a line each.
    inputs : tuple of str
        Paths of the files and folders that were read.
    shared : mapping of str to str
        Of the notes those that say that replays stand in another run as well, by its id.
    held_by : tuple of str
        The ids of the runs that hold all of these records, word for word.
    """

    read: int
    used: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    held_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.read != self.used + sum(self.left_out.values()):
            raise InputError(
                f"ledger: read={self.read} must equal used={self.used} plus left_out="
                f"{dict(self.left_out)}"
            )

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The notes on runs whose replays are not all made."""
        return tuple(note for note in self.notes if UNFINISHED in note)

    def to_dict(self) -> dict[str, Any]:
        """``read``, ``used`` and ``left_out`` as plain values."""
        return {"read": self.read, "used": self.used, "left_out": dict(self.left_out)}


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class ReplayCounts:
    """Flips and valid replays of each question, by condition.

    The columns are read-only and sorted by question id, so that the order of the input
    never matters. An arm may have no valid replay: the question then has no score.

    Parameters
    ----------
    question : array_like of str, shape (n,)
        Question ids, each once.
    sham_flips, sham_replays : array_like of int, shape (n,)
        Valid SHAM replays of each question and how many of them flipped.
    destroy_flips, destroy_replays : array_like of int, shape (n,)
        The same for DESTROY.
    self_flips, self_replays : array_like of int, shape (n,), optional
        The same for SELF; zero where not given.
    cluster : array_like of str, shape (n,), optional
        The cluster (the video) of each question. None where it is not known: point
        estimates can then be had, intervals cannot.
    self_invalid, sham_invalid, destroy_invalid : array_like of int, shape (n,), optional
        Replays that were made and gave no valid answer; zero where not given.
    ledger : Ledger, optional
        What the reader used and left out.
    stopping : StoppingPlan, optional
        By which plan the questions were stopped early, their flips deciding when. Such counts
        have no `score`, and are refused by all that would take them for those of a full run.

    Raises
    ------
    InputError
        A question id twice, lengths that differ, a count that is not a whole number, more flips
        than replays, or more replays than the plan has; the message names the first question
        concerned.

    Examples
    --------
    >>> counts = ReplayCounts(["q1", "q2"], [1, 0], [3, 3], [2, 1], [3, 2], cluster=["v", "v"])
    >>> counts.score.round(3)
    array([0.333, 0.5  ])
    >>> counts.score_numerator      # y·k_sham − x·k_destroy: integers decide signs and ties
    array([3, 3])
    """

    question: NDArray[np.str_]
    sham_flips: NDArray[np.int64]
    sham_replays: NDArray[np.int64]
    destroy_flips: NDArray[np.int64]
    destroy_replays: NDArray[np.int64]
    self_flips: NDArray[np.int64]
    self_replays: NDArray[np.int64]
    cluster: NDArray[np.str_] | None
    self_invalid: NDArray[np.int64]
    sham_invalid: NDArray[np.int64]
    destroy_invalid: NDArray[np.int64]
    ledger: Ledger | None
    stopping: StoppingPlan | None

    def __init__(
        self,
        question: ArrayLike,
        sham_flips: ArrayLike,
        sham_replays: ArrayLike,
        destroy_flips: ArrayLike,
        destroy_replays: ArrayLike,
        *,
        self_flips: ArrayLike | None = None,
        self_replays: ArrayLike | None = None,
        cluster: ArrayLike | None = None,
        self_invalid: ArrayLike | None = None,
        sham_invalid: ArrayLike | None = None,
        destroy_invalid: ArrayLike | None = None,
        ledger: Ledger | None = None,
        stopping: StoppingPlan | None = None,
    ) -> None:
        given_ids = id_column("question", question)
        required = dict(
            sham_flips=sham_flips, sham_replays=sham_replays, destroy_flips=destroy_flips,
            destroy_replays=destroy_replays,
        )  # fmt: skip
        for name, values in required.items():
            if values is None:
                raise InputError(f"{name} is None: give one count a question")
        order = np.argsort(given_ids, kind="stable")
        ids = given_ids[order]
        twice = np.flatnonzero(ids[1:] == ids[:-1])
        if twice.size:
            raise InputError(
                f"question={str(ids[twice[0]])!r} stands in two rows: each question needs one"
                " row; pool runs with ReplayCounts.pool"
            )
        given = required | dict(
            self_flips=self_flips, self_replays=self_replays, self_invalid=self_invalid,
            sham_invalid=sham_invalid, destroy_invalid=destroy_invalid,
        )  # fmt: skip
        columns = {n: _whole(n, v, given_ids)[order] for n, v in given.items()}
        for name, values in columns.items():
            _refuse(values < 0, name, values, ids, "must not be negative")
        for arm in CONDITIONS:
            flips, replays = columns[f"{arm}_flips"], columns[f"{arm}_replays"]
            _refuse(flips > replays, f"{arm}_flips", flips, ids, f"must not exceed {arm}_replays")
        if stopping is not None:
            _check_stopping(stopping, columns, ids)
        if cluster is not None:
            clusters = id_column("cluster", cluster)
            if clusters.size != ids.size:
                raise InputError(
                    f"cluster has {clusters.size} rows and question has {ids.size}: give one"
                    " cluster a question"
                )
            clusters = clusters[order]
        else:
            clusters = None
        for name, value in {**columns, "question": ids, "cluster": clusters}.items():
            if value is not None:
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "ledger", ledger)
        object.__setattr__(self, "stopping", stopping)

    def __len__(self) -> int:
        return int(self.question.size)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Whether each question has a score: a valid replay in both arms; shape (n,)."""
        return (self.sham_replays > 0) & (self.destroy_replays > 0)

    @property
    def score_numerator(self) -> NDArray[np.int64]:
        """y·k_sham − x·k_destroy of each question, shape (n,).

        Its sign is the sign of the score, exactly. Where `scored` is False it is 0 and
        means nothing. InputError where the questions were stopped early.
        """
        self._refuse_stopped()
        return self.destroy_flips * self.sham_replays - self.sham_flips * self.destroy_replays

    @property
    def score(self) -> NDArray[np.float64]:
        """Δ̂ = y/k_destroy − x/k_sham of each question, shape (n,); NaN where not scored.

        For reading, plotting and averages; comparisons go through `score_numerator`.
        """
        denominator = (self.sham_replays * self.destroy_replays).astype(float)
        denominator[~self.scored] = np.nan
        return self.score_numerator / denominator

    def _refuse_stopped(self) -> None:
        if self.stopping is not None:
            raise InputError(STOPPED.format(rule=self.stopping.rule))

    @property
    def cluster_codes(self) -> NDArray[np.int64] | None:
        """Whole numbers 0, 1, … in the place of cluster names, shape (n,); None without any."""
        if self.cluster is None:
            return None
        return np.unique(self.cluster, return_inverse=True)[1].astype(np.int64)

    def select(self, mask: ArrayLike) -> ReplayCounts:
        """The questions where `mask` is True.

        Parameters
        ----------
        mask : array_like of bool, shape (n,)
            Which questions to keep.

        Returns
        -------
        ReplayCounts
            Without a ledger: it speaks of what was read, not of what was chosen.
        """
        keep = mask_column(mask, self.question.shape)
        # Rows of valid columns in order are valid and in order: nothing to check again.
        chosen = object.__new__(ReplayCounts)
        for name in self.__dataclass_fields__:
            value = None if name == "ledger" else getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value[keep]
                value.flags.writeable = False
            object.__setattr__(chosen, name, value)
        return chosen

    def with_ledger(self, ledger: Ledger | None) -> ReplayCounts:
        """The same counts with another ledger.

        Parameters
        ----------
        ledger : Ledger or None
            What is to be said of the reading.

        Returns
        -------
        ReplayCounts
            Of the same columns.
        """
        other = object.__new__(ReplayCounts)
        for name in self.__dataclass_fields__:
            object.__setattr__(other, name, ledger if name == "ledger" else getattr(self, name))
        return other

    def pool(self, other: ReplayCounts) -> ReplayCounts:
        """Add the replays of another run over the same agent and questions.

        Parameters
        ----------
        other : ReplayCounts
            The other run. A question that only one of the two holds keeps its own counts.

        Returns
        -------
        ReplayCounts
            Flips, replays and invalid replays added question by question.

        Raises
        ------
        InputError
            A question with two different clusters, clusters in one run only, or a run that
            stopped its questions early.

        Examples
        --------
        >>> a = ReplayCounts(["q"], [1], [3], [2], [3])
        >>> b = ReplayCounts(["q"], [0], [3], [3], [3])
        >>> pooled = a.pool(b)
        >>> int(pooled.sham_flips[0]), int(pooled.sham_replays[0])
        (1, 6)
        """
        check_counts(other)
        self._refuse_stopped()
        if (self.cluster is None) != (other.cluster is None):
            raise InputError(
                "one run names the clusters and the other does not: give both, or neither"
            )
        both = np.concatenate([self.question, other.question])
        ids, first, place = np.unique(both, return_index=True, return_inverse=True)
        cluster = None
        if self.cluster is not None and other.cluster is not None:
            clusters = np.concatenate([self.cluster, other.cluster])
            cluster = clusters[first]
            wrong = np.flatnonzero(clusters != cluster[place])
            if wrong.size:
                i = wrong[0]
                raise InputError(
                    f"question={str(both[i])!r} is in cluster {str(cluster[place[i]])!r} in one run"
                    f" and in {str(clusters[i])!r} in the other: a question has one video"
                )
        summed: dict[str, Any] = {}
        for name in (*_FLIPS_AND_REPLAYS, *_INVALID):
            total = np.zeros(ids.size, np.int64)
            np.add.at(total, place, np.concatenate([getattr(self, name), getattr(other, name)]))
            summed[name] = total
        return ReplayCounts(ids, **summed, cluster=cluster, ledger=_add(self.ledger, other.ledger))

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as plain lists, ready for JSON or a data frame.

        Where questions were stopped early, a column ``stopping`` names the plan's sha256, by which
        a reader knows that these are not the counts of a full run.
        """
        columns = {n: getattr(self, n).tolist() for n in (*_FLIPS_AND_REPLAYS, *_INVALID)}
        cluster = [None] * len(self) if self.cluster is None else self.cluster.tolist()
        stopped = {} if self.stopping is None else {"stopping": [self.stopping.sha256] * len(self)}
        return {"question": self.question.tolist(), "cluster": cluster, **columns, **stopped}

    def __repr__(self) -> str:
        videos = "?" if self.cluster is None else np.unique(self.cluster).size
        stopped = "" if self.stopping is None else f", stopped early by {self.stopping.rule!s}"
        return (
            f"<ReplayCounts: {len(self)} questions, {int(self.scored.sum())} scored,"
            f" {videos} clusters{stopped}>"
        )


def check_counts(counts: object, *, stopped: bool = False) -> None:
    """Refuse anything but replay counts, such as the path of a log.

    Parameters
    ----------
    counts : object
        What a caller gave.
    stopped : bool
        Whether the caller can do with questions that were stopped early.
    """
    if not isinstance(counts, ReplayCounts):
        raise InputError(
            f"counts is a {type(counts).__name__}: it must be ReplayCounts, as read_replays(path)"
            " gives them"
        )
    if not stopped:
        counts._refuse_stopped()


def _check_stopping(
    stopping: object, columns: Mapping[str, NDArray[np.int64]], ids: NDArray[np.str_]
) -> None:
    from carve_stats.law.stopping import StoppingPlan

    if not isinstance(stopping, StoppingPlan):
        raise InputError(
            f"stopping is a {type(stopping).__name__}: it must be a StoppingPlan, as"
            " stopping_plan(...) gives it"
        )
    for arm, most in (("sham", stopping.k_sham), ("destroy", stopping.k_destroy)):
        made = columns[f"{arm}_replays"] + columns[f"{arm}_invalid"]
        rule = f"must not exceed the {most} of the stopping plan, invalid ones among them"
        _refuse(made > most, f"{arm}_replays", made, ids, rule)


def _whole(name: str, values: ArrayLike | None, ids: NDArray[np.str_]) -> NDArray[np.int64]:
    if values is None:
        return np.zeros(ids.size, np.int64)
    array = as_column(name, values)
    if array.shape != ids.shape:
        raise InputError(f"{name} has shape {array.shape}: it must be {ids.shape}, one a question")
    try:
        if array.dtype.names is not None:
            raise TypeError
        as_float = array.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds values that are not numbers: give counts") from None
    # NaN makes both comparisons false. Larger counts would not multiply within 64 bits.
    wrong = ~((np.floor(as_float) == as_float) & (np.abs(as_float) <= _LARGEST))
    _refuse(wrong, name, array, ids, f"must be a whole number of at most {_LARGEST}")
    return as_float.astype(np.int64)


def _refuse(
    bad: NDArray[np.bool_], name: str, values: NDArray[Any], ids: NDArray[Any], rule: str
) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        i = where[0]
        raise InputError(f"{name}={values[i]} of question {str(ids[i])!r} {rule}")


def _add(a: Ledger | None, b: Ledger | None) -> Ledger | None:
    if a is None or b is None:
        return None
    reasons = dict.fromkeys([*a.left_out, *b.left_out])
    return Ledger(
        read=a.read + b.read,
        used=a.used + b.used,
        left_out={r: a.left_out.get(r, 0) + b.left_out.get(r, 0) for r in reasons},
        notes=tuple(dict.fromkeys([*a.notes, *b.notes])),
        inputs=(*a.inputs, *b.inputs),
    )
