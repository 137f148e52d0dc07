"""Whether answers are right: given answers and gold answers to 1, 0 and not known.

What cannot be read of an answer is not known. It is never wrong, as a random option or a text
that differs would make it, and never right; how often that is so, and why, is counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from carve_stats.logs.records import fold_text
from carve_stats.replay.parsing import parse_answer, parse_open_answer

__all__ = ["NO_ANSWER", "NO_GOLD", "gold_labels", "judge_answers", "same_label"]

NO_ANSWER, NO_GOLD = "no answer", "no gold answer"
_NO_OPTIONS = "not a label, and no options to read it with"
_OTHER_KIND = "a letter and a number cannot be compared"
_LABEL = re.compile(r"\(?\s*([a-z]|\d{1,2})\s*\)?\s*[.:]?")

Options = Sequence[Mapping[str, str]]
"""The options of each question, label to text; empty where they are not known."""


def gold_labels(
    given: Sequence[str], published: Sequence[str | None], options: Options
) -> tuple[list[str | None], int | None]:
    """The gold answer of each question as a label.

    Parameters
    ----------
    given : sequence of str, shape (n,)
        Gold answers of a table, empty where there is none.
    published : sequence of str or None, shape (n,)
        Those of a benchmark.
    options : sequence of mapping, shape (n,)
        Of the benchmark.

    Returns
    -------
    labels : list of str or None
        Folded labels; None where neither gives one.
    wrong : int or None
        The first row whose two gold answers differ, or whose gold answer is no label.
    """
    folded = {text: _label(text) for text in dict.fromkeys(given)}
    labels: list[str | None] = []
    for row, (text, label, among) in enumerate(zip(given, published, options, strict=True)):
        mine = folded[text]
        theirs = None if label is None else fold_text(label)
        if text and (mine is None or theirs not in (None, mine)):
            return labels, row
        if text and among and mine not in [fold_text(one) for one in among]:
            return labels, row
        labels.append(mine or theirs)
    return labels, None


def judge_answers(
    answers: Sequence[str], gold: Sequence[str | None], options: Options
) -> tuple[NDArray[np.float64], list[str]]:
    """Compare answers with gold answers.

    Parameters
    ----------
    answers : sequence of str, shape (n,)
        Labels or free text, empty where there is none.
    gold : sequence of str or None, shape (n,)
        As `gold_labels` gives them.
    options : sequence of mapping, shape (n,)
        With them, free text is read by `parse_answer`; without, only a label can be compared.

    Returns
    -------
    correct : ndarray, shape (n,)
        1.0, 0.0, and NaN where not known.
    reasons : list of str, shape (n,)
        Why it is not known; empty where it is.
    """
    said: dict[tuple[str, str | None, int], tuple[float, str]] = {}
    outcomes = []
    for answer, label, among in zip(answers, gold, options, strict=True):
        # A mapping of options lives as long as the benchmark: its id stands for it.
        key = (answer, label, id(among))
        outcome = said.get(key)
        if outcome is None:
            outcome = said[key] = _judge(answer, label, among)
        outcomes.append(outcome)
    correct = np.fromiter((right for right, _ in outcomes), float, len(outcomes))
    return correct, [reason for _, reason in outcomes]


def same_label(a: str, b: str, options: Mapping[str, str]) -> bool | None:
    """Whether two answers to a question mean the same option.

    Parameters
    ----------
    a, b : str
        Labels or free text, empty where there is none.
    options : mapping of str to str
        Label to text; empty where not known.

    Returns
    -------
    bool or None
        None where that cannot be told.

    Examples
    --------
    >>> same_label("C.", "(c)", {}), same_label("C", "D", {}), same_label("C", "", {})
    (True, False, None)
    """
    if not (a and b):
        return None
    labels = _read(a, options)[0], _read(b, options)[0]
    if None in labels:
        return None
    first, second = map(str, labels)
    return first == second if first.isdigit() == second.isdigit() else None


def _judge(answer: str, gold: str | None, options: Mapping[str, str]) -> tuple[float, str]:
    """1.0 or 0.0, or NaN and why that is not known."""
    if gold is None:
        return math.nan, NO_GOLD
    if not answer:
        return math.nan, NO_ANSWER
    label, status = _read(answer, options)
    if label is None:
        return math.nan, _NO_OPTIONS if status == "ok" else status
    if label.isdigit() != gold.isdigit():  # whether numbers count from 0 or 1 is not known
        return math.nan, _OTHER_KIND
    return float(label == gold), ""


def _read(answer: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """The label that an answer means, None where it cannot be told, and its parse status."""
    if options:
        parsed = parse_answer(answer, options)
        return None if parsed.letter is None else fold_text(parsed.letter), parsed.status
    parsed = parse_open_answer(answer)
    return None if parsed.letter is None else _label(parsed.letter), parsed.status


def _label(text: str) -> str | None:
    """The label that a text is, such as c of "C." and "(C)"; None for any other text."""
    match = _LABEL.fullmatch(fold_text(text))
    return match[1] if match else None
