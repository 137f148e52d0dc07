"""The synthetic agent: flips each question with the probabilities that its trajectory holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError
from carve_stats.replay.protocols import ReplayReply, ReplayRequest
from carve_stats.replay.trajectories import Trajectory

__all__ = ["SyntheticAgent", "build", "synthetic_trajectories"]

_OPTIONS = {"A": "the first", "B": "the second", "C": "the third", "D": "the fourth"}
_UNIT = 2.0**-53


class SyntheticAgent:
    """Answers from a population of flip probabilities instead of looking at frames.

    The `frozen` state of each trajectory holds ``answer``, ``p_self``, ``p_sham`` and
    ``p_destroy``. The agent is the one that may read the condition: it stands for what an
    agent's answers would look like.

    Notes
    -----
    A replay's seed is uniform over the 53-bit numbers, so u = seed / 2**53 needs no generator:
    the answer flips where u < p, and u / p, which is then uniform, picks one of the other
    options.
    """

    def __call__(self, request: ReplayRequest, /) -> ReplayReply | str:
        """Answer one replay with an option's label."""
        frozen = request.frozen
        p = frozen["p_" + request.condition]
        answer: str = frozen["answer"]
        u = request.seed * _UNIT
        if u >= p:
            return answer
        others = [label for label in request.options if label != answer]
        return others[min(int(u / p * len(others)), len(others) - 1)]

    def check_trajectories(
        self, trajectories: Sequence[Trajectory], conditions: Sequence[str], /
    ) -> None:
        """Refuse a trajectory that does not hold what the agent answers from."""
        for trajectory in trajectories:
            place = f"question {trajectory.question_id!r}: frozen"
            frozen = trajectory.frozen
            if not isinstance(frozen, Mapping):
                raise InputError(
                    f"{place}={frozen!r:.40} must hold answer, p_sham and so on, as"
                    " synthetic_trajectories makes them: the synthetic agent needs them"
                )
            answer = frozen.get("answer")
            if answer not in list(trajectory.options):
                raise InputError(f"{place} answer={answer!r:.40} must be one of the option labels")
            for condition in conditions:
                p = frozen.get(f"p_{condition}")
                if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
                    raise InputError(
                        f"{place} p_{condition}={p!r:.40} must be a number in [0, 1]: the"
                        " synthetic agent needs it"
                    )

    def fingerprint(self) -> dict[str, Any]:
        """Its name; the probabilities are in the trajectories."""
        return {"name": "synthetic"}


def build() -> SyntheticAgent:
    """Make the synthetic agent."""
    return SyntheticAgent()


def synthetic_trajectories(
    p_sham: ArrayLike,
    p_destroy: ArrayLike,
    *,
    p_self: ArrayLike = 0.0,
    question: Sequence[str] | None = None,
    cluster: Sequence[str] | None = None,
) -> list[Trajectory]:
    """Make trajectories for the synthetic agent.

    Parameters
    ----------
    p_sham, p_destroy : array_like, shape (n,)
        Each question's flip probabilities.
    p_self : array_like, shape (n,) or ()
        The same for SELF.
    question : sequence of str, shape (n,), optional
        Question ids; ``q0``, ``q1``, … of equal width if not given.
    cluster : sequence of str, shape (n,), optional
        The video of each question.

    Returns
    -------
    list of Trajectory
        Four options each; the frozen answer is the first, second, third or fourth in turn.

    Raises
    ------
    InputError
        A probability outside [0, 1] or NaN, with its question, or lengths that differ.

    Examples
    --------
    >>> trajectory = synthetic_trajectories([0.2], [0.7], cluster=["v1"])[0]
    >>> trajectory.question_id, trajectory.video_id, trajectory.frozen["p_destroy"]
    ('q0', 'v1', 0.7)
    """
    n = np.size(p_sham)
    p = {
        "p_self": _probabilities("p_self", np.broadcast_to(p_self, n) if np.ndim(p_self) == 0
                                 else p_self, n),
        "p_sham": _probabilities("p_sham", p_sham, n),
        "p_destroy": _probabilities("p_destroy", p_destroy, n),
    }  # fmt: skip
    width = len(str(max(n - 1, 0)))
    ids = [f"q{i:0{width}d}" for i in range(n)] if question is None else _ids(question)
    videos: Sequence[str | None] = [None] * n if cluster is None else _ids(cluster)
    for name, values in (("question", ids), ("cluster", videos)):
        if len(values) != n:
            raise InputError(f"{name} has {len(values)} entries and p_sham {n}: give one each")
    labels = list(_OPTIONS)
    return [
        Trajectory(
            question_id=ids[i],
            video_id=videos[i],
            question="A synthetic question",
            options=_OPTIONS,
            answer=labels[i % len(labels)],
            frozen={
                "answer": labels[i % len(labels)],
                **{name: float(values[i]) for name, values in p.items()},
            },
        )
        for i in range(n)
    ]


def _probabilities(name: str, values: ArrayLike, n: int) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}: it must be ({n},), one a question")
    wrong = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if wrong.size:
        raise InputError(f"{name}={array[wrong[0]]} in row {wrong[0]} must be in [0, 1]")
    return array


def _ids(values: Sequence[str]) -> list[str]:
    return [str(value) for value in values]
