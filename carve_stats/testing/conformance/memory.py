"""Whether an agent answers from what it was asked before, and not from the request it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from carve_stats.replay.protocols import ReplayRequest
from carve_stats.testing.conformance.asking import ask, name, said
from carve_stats.testing.conformance.requests import evidence_of_each_option
from carve_stats.testing.conformance.trying import first_failure

__all__ = ["Opening", "remembers_question"]

_SEEDS = (11, 5, 2**40 + 3, 2**53 - 1)
_QUESTIONS = 12


class Opening:
    """The replies to the first requests that an agent was asked, for the end.

    Parameters
    ----------
    agent : callable
        Not asked anything yet.
    asked : sequence of ReplayRequest
        What it is asked.
    """

    def __init__(self, agent: Any, asked: Sequence[ReplayRequest]) -> None:
        self._replies: list[tuple[ReplayRequest, str]] = []
        for request in asked:
            try:
                self._replies.append((request, said(ask(agent, request))))
            except KeyboardInterrupt:
                raise
            except BaseException:  # that it raises is found by the checks on replies
                return

    def differs(self, agent: Any) -> str | None:
        """The first request whose reply is another one now, in words; asked in turned order."""

        def fails(one: tuple[ReplayRequest, str]) -> str | None:
            now = said(ask(agent, one[0]))
            if now == one[1]:
                return None
            return (
                f"it answered {one[1]!r:.60} at first, and {now!r:.60} after other requests; a"
                " reply must depend on its request alone"
            )

        return first_failure(self._replies[::-1], fails, lambda one: name(one[0]))


def remembers_question(agent: Any, request: ReplayRequest) -> str | None:
    """Whether a question that it has been asked has its reply from then, whatever is shown now.

    Parameters
    ----------
    agent : callable
        The agent.
    request : ReplayRequest
        A question with evidence.

    Returns
    -------
    str or None
        What is wrong, in words.

    Notes
    -----
    New questions, which differ in their ids and a number in their text, are each asked twice:
    with one evidence and seed, then with the next of a few. For a function of evidence and seed,
    replies that are the same each time are the same for all of these. If they are, but depend on
    what was first, then what was first is remembered.
    """
    shown = evidence_of_each_option(request)
    if not shown:
        return None
    replies: dict[int, set[str]] = {}
    for number in range(_QUESTIONS):
        first = number % len(shown)
        pair = [_new(request, number, shown, place % len(shown)) for place in (first, first + 1)]
        try:
            one, other = (said(ask(agent, new)) for new in pair)
        except KeyboardInterrupt:
            raise
        except BaseException:  # it may not know new questions
            return None
        if one != other:
            return None
        replies.setdefault(first, set()).add(one)
    if any(len(one) > 1 for one in replies.values()) or len(set.union(*replies.values())) == 1:
        return None
    a, b = sorted(set.union(*replies.values()))[:2]
    return (
        f"its reply to a question is {a!r:.40} or {b!r:.40} by the evidence and seed that it is"
        " asked with first, and stays so with others, as from a cache by question or ids; DESTROY"
        " would have the reply of SHAM"
    )


def _new(request: ReplayRequest, number: int, shown: Sequence[Any], place: int) -> ReplayRequest:
    evidence = tuple(replace(one, id=f"{one.id}-{number}") for one in shown[place])
    return replace(
        request,
        question_id=f"{request.question_id}-{number}",
        video_id=None if request.video_id is None else f"{request.video_id}-{number}",
        question=f"{request.question} ({number})",
        evidence=evidence,
        seed=_SEEDS[place],
    )
