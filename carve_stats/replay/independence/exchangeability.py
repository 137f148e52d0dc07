"""Whether SELF answers repeat more than their own flip rates allow: an exact test.

SELF puts the frozen prompt to the agent again. If the replays are independent, the frozen answer
and the k SELF answers of a question are k + 1 draws of one distribution, and each of them is as
likely as any other to be the frozen one. Copies of one reply make it the odd one out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FrozenAnswerTest", "frozen_answer_test"]

_MOST_ANSWERS = 20_000  # the law is a convolution, whose time grows with their square


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenAnswerTest:
    """What `frozen_answer_test` found.

    Parameters
    ----------
    questions : int
        Questions with a frozen answer and at least two SELF answers.
    informative : int
        Of these, how many have some answer more often than another: the others say nothing.
    tested : int
        Of these, how many the test takes.
    agreements : int
        SELF answers of the tested questions that are the frozen one.
    expected : float
        How many would be, on average, by chance.
    p_value : float or None
        The chance of so few, or fewer; None where no question is informative.
    """

    questions: int
    informative: int
    tested: int
    agreements: int
    expected: float
    p_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)


def frozen_answer_test(answers: Iterable[tuple[str, Mapping[str, int]]]) -> FrozenAnswerTest:
    """Test whether the frozen answers could be any of the answers to their questions.

    Parameters
    ----------
    answers : iterable of (str, mapping of str to int)
        Of each question the frozen answer, and how often SELF replays gave each answer.

    Returns
    -------
    FrozenAnswerTest
        With a one-sided p-value.

    Notes
    -----
    Let an answer stand m times among the k + 1 of a question, the frozen one included. Given all
    these m, it is the frozen one with probability m / (k + 1), and m - 1 SELF answers then agree
    with it. Among the SELF replays the number of pairs that agree is a constant less m - 1: many
    such pairs are few agreements with the frozen answers. Their sum over the questions has the
    convolution of these laws, all of whose terms are positive, so that small probabilities are as
    accurate as large ones. The p-value is exact: whatever the agent's flip rates, it is at most α
    with probability at most α.

    Where there are more than 20,000 answers to informative questions, evenly spaced questions are
    tested. Which they are does not depend on which answers are frozen.

    Examples
    --------
    >>> copies = [("A", {"B": 3})] * 5 + [("A", {"A": 3})] * 20
    >>> round(frozen_answer_test(copies).p_value * 4**5, 12)
    1.0
    """
    questions = 0
    informative: list[tuple[tuple[int, ...], int]] = []
    for frozen, found in answers:
        given = {answer: n for answer, n in found.items() if n}
        if sum(given.values()) < 2:
            continue
        questions += 1
        agreements = given.get(frozen, 0)
        sizes = sorted([n + (answer == frozen) for answer, n in given.items()])
        if not agreements:
            sizes.insert(0, 1)
        if sizes[0] < sizes[-1]:
            informative.append((tuple(sizes), agreements))
    total = sum(sum(sizes) for sizes, _ in informative)
    tested = informative[:: -(-total // _MOST_ANSWERS)] if informative else []
    agreements = sum(n for _, n in tested)
    return FrozenAnswerTest(
        questions=questions,
        informative=len(informative),
        tested=len(tested),
        agreements=agreements,
        expected=sum(sum(m * (m - 1) for m in sizes) / sum(sizes) for sizes, _ in tested),
        p_value=_lower_tail([sizes for sizes, _ in tested], agreements) if tested else None,
    )


def _lower_tail(questions: Sequence[tuple[int, ...]], agreements: int) -> float:
    """The probability of at most so many agreements."""
    # Counted from the fewest that there can be.
    most = agreements - sum(sizes[0] - 1 for sizes in questions)
    law: NDArray[np.float64] = np.ones(1)
    for sizes in questions:
        answers = sum(sizes)
        longer = np.zeros(law.size + sizes[-1] - sizes[0])
        for size, number in Counter(sizes).items():
            shift = size - sizes[0]
            longer[shift : shift + law.size] += law * (number * size / answers)
        law = longer[: most + 1]  # what is beyond can only grow
    return min(1.0, max(float(law.sum()), sys.float_info.min))
