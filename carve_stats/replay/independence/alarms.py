"""The rules of the independence report: what is an alarm, and what a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from carve_stats._display import number, p_value
from carve_stats.replay.independence.exchangeability import FrozenAnswerTest
from carve_stats.replay.independence.findings import Alarm
from carve_stats.replay.independence.reply_cells import Cell, ReplyCells

__all__ = ["ENOUGH_QUESTIONS", "FALSE_ALARMS", "find_alarms", "find_notes", "find_unvaried"]

FALSE_ALARMS = 0.001
"""In how many honest runs a rule may raise an alarm; see `check_independence`."""

# A run is looked at again and again while it goes on. Of 160,000 simulated honest runs of 60
# questions (k = 5) with 40 looks, 0.05 % had p this small at some look, and 0.4 % had p ≤ 0.001.
_REPEATED = FALSE_ALARMS / 10

ENOUGH_QUESTIONS = 10
"""So many questions, counted in each condition, must have replies to compare."""

_LEAST_DIFFERENCE = 0.05  # of an agent whose SHAM replies do not show how much it varies

_DECLARED = {
    True: "the agent declares that its replies to one prompt vary, so that every replay counts",
    False: "the agent declares that the prompt decides its reply: deterministic given the prompt,"
    " so replays of one prompt count once",
    None: "the agent does not declare whether its replies to one prompt vary",
}
_LOOK_THE_SAME = (
    "no two replies to one prompt differ: deterministic given the prompt, or cached: from outputs"
    " alone they look the same; in the effective k replays of one prompt count once"
)
_TOO_FEW = (
    "none of {n} replies differs from another one to its question: where that is no alarm, these"
    " are too few to tell a cache from an agent that is sure of its answers"
)
_NO_LOOK = (
    "each of {n} questions has one reply, the same in all conditions: pictures do not reach the"
    " agent or it does not look at them, or a cache is keyed by the text alone"
)


def find_alarms(
    found: ReplyCells,
    arms: Mapping[str, Sequence[Cell]],
    test: FrozenAnswerTest | None,
    *,
    declared: bool | None,
) -> Iterator[Alarm]:
    """Apply the rules of `independence`.

    Parameters
    ----------
    found : ReplyCells
        What the records hold.
    arms : mapping of str to sequence of Cell
        The same cells by condition.
    test : FrozenAnswerTest or None
        Of the SELF answers.
    declared : bool or None
        Whether the agent declares that its replies to one prompt vary.

    Yields
    ------
    Alarm
        At most one of each rule.
    """
    if cached := found.from_cache.total():
        yield Alarm(
            "from_cache",
            f"{cached} of {found.replies.total()} replies say that they come from a cache: they"
            " are no new draws; turn the cache off for replays",
        )
    if test is not None and test.p_value is not None and test.p_value <= _REPEATED:
        yield Alarm(
            "repeated_answers",
            "SELF answers repeat each other more than their own flip rates allow:"
            f" {test.agreements} of them are the frozen ones of {test.tested} questions with"
            f" several answers, and {number(test.expected, 1)} would be among independent"
            f" replays (p {_stated(test.p_value)}): a cache, an engine with a fixed seed, or"
            f" frozen answers of another agent or setting{_where_same(arms)}",
        )
    if declared:
        yield from _unvaried_replies(found, arms)


def find_unvaried(arms: Mapping[str, Sequence[Cell]]) -> str | None:
    """In which conditions no two replies to one question differ, if honest ones would.

    Parameters
    ----------
    arms : mapping of str to sequence of Cell
        The cells by condition, of an agent that declares its replies to one prompt to vary.

    Returns
    -------
    ``all``, ``self`` or None
        All that were replayed, or SELF alone.
    """
    every = [cell for cells in arms.values() for cell in cells]
    if _unvaried(every, _LEAST_DIFFERENCE):
        return "all"
    shown = _pair_difference(arms.get("sham", ()))
    if _unvaried(arms.get("self", ()), max(_LEAST_DIFFERENCE, shown / 2)):
        return "self"
    return None


def _pair_difference(cells: Sequence[Cell]) -> float:
    """How often two replies to a question differ, by the share of cells in which some do."""
    compared = [cell for cell in cells if cell.valid > 1]
    if len(compared) < ENOUGH_QUESTIONS:
        return 0.0
    alike = sum(not cell.differs for cell in compared) + 1
    mean = sum(cell.valid for cell in compared) / len(compared)
    return float(1 - (alike / (len(compared) + 1)) ** (2 / mean))


def _unvaried_replies(found: ReplyCells, arms: Mapping[str, Sequence[Cell]]) -> Iterator[Alarm]:
    where = find_unvaried(arms)
    if where is None:
        return
    looked = [cell for name in arms if where in ("all", name) for cell in arms[name]]
    replies = sum(cell.valid for cell in looked if cell.valid > 1)
    shown = f"in {_listed(list(arms) if where == 'all' else ['self'])}"
    yield Alarm(
        "unvaried_replies",
        f"the agent declares that its replies to one prompt vary, and of {replies} replies no"
        f" two to one question differ {shown}{_cause(found, everywhere=where == 'all')}",
    )


def _cause(found: ReplyCells, *, everywhere: bool) -> str:
    if not everywhere:
        return ": a cache keyed by the prompt, or an engine with a fixed seed"
    if _alike_in_all_conditions(found):
        return (
            ", nor from one condition to another: a cache keyed by the question or its text alone,"
            " without the pictures"
        )
    return ": an engine with a fixed seed, or a cache keyed without the repetition"


def _alike_in_all_conditions(found: ReplyCells) -> int:
    """The questions with several conditions, if none of them has two different replies."""
    firsts: dict[str, tuple[int, int]] = {}
    for (question, _), cell in found.cells.items():
        if not cell.valid:
            continue
        if cell.differs:
            return 0
        first, conditions = firsts.get(question, (cell.first, 0))
        if first != cell.first:
            return 0
        firsts[question] = first, conditions + 1
    return sum(conditions > 1 for _, conditions in firsts.values())


def find_notes(
    found: ReplyCells,
    arms: Mapping[str, Sequence[Cell]],
    *,
    declared: bool | None,
    same: bool,
) -> Iterator[str]:
    """What a reader has to know besides the alarms.

    Parameters
    ----------
    found, arms, declared
        As for `find_alarms`.
    same : bool
        Whether no two replies to one prompt differ, of an agent that declares nothing.

    Yields
    ------
    str
        What is declared, first.
    """
    yield _DECLARED[declared]
    compared = [cell for cells in arms.values() for cell in cells if cell.valid > 1]
    if declared and compared and not any(cell.differs for cell in compared):
        yield _TOO_FEW.format(n=sum(cell.valid for cell in compared))
    if same:
        yield _LOOK_THE_SAME
    alike = _alike_in_all_conditions(found)
    if not declared and alike >= ENOUGH_QUESTIONS:
        yield _NO_LOOK.format(n=alike)
    if declared is False:
        yield from _notes_on_deterministic(found)
    elif "self" not in arms:
        yield "there are no SELF replays: whether answers repeat too much is not tested"
    elif any(not options for options in found.options.values()):
        yield "answers to open questions are not tested for repeating too much"


def _notes_on_deterministic(found: ReplyCells) -> Iterator[str]:
    if found.varied:
        yield (
            f"{found.varied} of {found.repeated} replies to a prompt that had one already differ"
            " from it: the prompt does not quite decide the reply, and the first one counts all the"
            " same"
        )
    answers = flips = 0
    for (question, _), cell in found.cells.items():
        if cell.answers is not None and found.options.get(question):
            answers += cell.answers.total()
            flips += cell.answers.total() - cell.answers[found.frozen[question]]
    if flips:
        yield (
            f"{flips} of {answers} SELF answers are not the frozen one, though the prompt"
            " decides the reply: the frozen answers come from another agent, prompt or setting"
        )


def _unvaried(cells: Sequence[Cell], difference: float) -> bool:
    """Whether no cell has two different replies, of so many that some would have."""
    compared = [cell for cell in cells if cell.valid > 1]
    if len(compared) < ENOUGH_QUESTIONS or any(cell.differs for cell in compared):
        return False
    replies = sum(cell.valid for cell in compared)
    return (1 - difference) ** (replies / 2) <= FALSE_ALARMS


def _where_same(arms: Mapping[str, Sequence[Cell]]) -> str:
    """In which conditions no two replies to a question differ, if there are enough to tell."""
    same = [
        name
        for name, cells in arms.items()
        if sum(cell.valid > 1 for cell in cells) >= ENOUGH_QUESTIONS
        and not any(cell.differs for cell in cells)
    ]
    return f"; no two replies to one question differ in {_listed(same)}" if same else ""


def _listed(names: Sequence[str]) -> str:
    shown = [name.upper() for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _stated(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"
