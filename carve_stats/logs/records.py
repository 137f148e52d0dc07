"""What one record of a log says: its arm, its outcome, and what is wrong with it, in SQL."""

from __future__ import annotations

import re
import string
import unicodedata
from typing import NamedTuple

from carve_stats.logs.columns import RECORD_COLUMNS
from carve_stats.logs.scan import Scan, literal

__all__ = [
    "ARMS",
    "FAILURES",
    "FALSE",
    "INVALID",
    "NULL",
    "PROBLEMS",
    "SHOWN",
    "TRUE",
    "UNPARSED",
    "Facts",
    "flag_sql",
    "fold_text",
    "read_records",
]

ARMS = {"self": 0, "sham": 1, "destroy": 2, "phase": 2}
"""Conditions, and the modes of the reference layout, with the arm that each means."""

FAILURES = ("failed to obtain answer via api", "[lmms_eval_request_failed")
"""How texts begin that a harness writes where an answer should be, after `fold_text`."""

INVALID, UNPARSED = 2, 3
"""Outcomes besides 0 and 1, no flip and a flip: no answer, and no frozen answer."""

WHOLE = r"-?[0-9]+\.0+"
"""A whole number written as a fraction."""

TRUE, FALSE, NULL = ("1", "true"), ("0", "false"), ("", "nan", "null", "none")
"""What flags are written as, in any case, besides numbers that are 1 or 0."""

PROBLEMS = {
    1: "there is no question_id: every record needs one",
    2: "condition",
    3: "repetition={repetition} must be a whole number of at least 0",
    4: "attempt={attempt} must be a whole number of at least 0",
    5: "flip={flip} must be 0, 1, true, false or null",
    6: "valid={valid} must be true, false or null",
    7: "flip={flip} disagrees with answer={answer} and reference_answer={reference_answer}:"
    " mend the record, or leave flip out and it is derived",
    8: "valid is true and flip is null, without answers that give it: give the flip, or say"
    " valid is false",
    9: "flip={flip} without an answer, and reference_answer={reference_answer}: a replay"
    " without an answer is invalid, its flip null",
    10: "both counts (…_flips) and records (condition, repetition) are in this log: split it, or"
    " name the columns that are to be read with columns= (--map)",
    11: "a record of a run that stopped its questions early: its rates would be biased; read the"
    " run's own directory, whose plan.json says when it stopped",
}
"""What can be wrong with a record; number 2 is worded by `errors.unknown_name`."""


def fold_text(text: str) -> str:
    r"""What an answer is compared as: NFKC, stripped, case-folded, a whole number as such.

    Examples
    --------
    >>> fold_text(" Ｂ\n") == fold_text("b")
    True
    >>> fold_text("1.0")  # what pandas makes of labels when one is missing
    '1'
    """
    folded = unicodedata.normalize("NFKC", text).strip().casefold()
    return folded.partition(".")[0] if re.fullmatch(WHOLE, folded) else folded


class Facts(NamedTuple):
    """What is so of a whole source, and decides how some of its records are read, in SQL.

    Parameters
    ----------
    only_flips : str
        Whether the source of a record has flips and not one frozen answer.
    answers : str
        Whether it has answers.
    """

    only_flips: str
    answers: str


def read_records(scan: Scan, *, number: int, numbered: bool, run: str, facts: Facts) -> str:
    """A SELECT of what each record of a scan says.

    Parameters
    ----------
    scan : Scan
        Records of the form ``records``.
    number : int
        Which scan it is, for messages.
    numbered : bool
        Whether to number the rows; needed only to say where one stands.
    run : str
        SQL of the run of a record, from `run` and `source`.
    facts : Facts
        Of the sources; `doubtful` records are those that they decide on.

    Returns
    -------
    str
        SQL with the columns ``scan``, ``row``, ``run``, ``question_id``, ``video_id``, ``arm``
        (null where unknown), ``repetition`` and ``attempt`` (null where wrong), ``outcome``,
        ``problem`` (a key of `PROBLEMS` or null), ``source``, ``reference`` (the frozen answer
        as it is compared, null where there is none), ``doubtful`` and, for messages, the texts
        as they are.
    """
    texts = ", ".join(f"{scan.text(name)} AS {name}_text" for name in RECORD_COLUMNS)
    parts = {
        "arm": _arm("condition_text"),
        "repetition": _whole("repetition_text"),
        "attempt": f"CASE WHEN attempt_text IS NULL THEN 0 ELSE {_whole('attempt_text')} END",
        "given": flag_sql("flip_text"),
        "valid": flag_sql("valid_text"),
        "answer": _folded("answer_text"),
        "reference": _folded("reference_answer_text"),
    }
    said = ", ".join(f"{sql} AS {name}" for name, sql in parts.items())
    rows = scan.numbered() if numbered else f"SELECT 0 AS row, * FROM ({scan.sql})"
    shown = ", ".join(f"{name}_text" for name in SHOWN)
    key = "nullif(strange::VARCHAR, '')::INTEGER" if "strange" in scan.types else "NULL::INTEGER"
    strange = f"{key} AS strange"
    doubtful = (
        "(answer IS NOT NULL AND reference IS NULL)"
        " OR (given IS NOT NULL AND answer IS NULL AND reference IS NOT NULL)"
    )
    return (
        f"SELECT {number} AS scan, row, {run} AS run, question_id, video_id, arm, repetition,"
        f" attempt, {_outcome(facts)} AS outcome, {_problem(facts)} AS problem, source,"
        f" CASE WHEN NOT {_failed('reference')} THEN reference END AS reference,"
        f" {doubtful} AS doubtful, {shown}"
        f" FROM (SELECT row, source, strange, run_text AS run, question_id_text AS question_id,"
        f" video_id_text AS video_id, {said}, {shown} FROM (SELECT row, source, {strange}, {texts}"
        f" FROM ({rows})))"
    )


SHOWN = ("condition", "repetition", "attempt", "flip", "valid", "answer", "reference_answer")
"""Columns whose texts messages show, as ``condition_text`` and so on."""

_WHITESPACE = literal(string.whitespace + "\x1c\x1d\x1e\x1f")  # what str.strip strips, in ASCII


def _any_of(texts: tuple[str, ...]) -> str:
    return "(" + ", ".join(map(literal, texts)) + ")"


def _arm(condition: str) -> str:
    """The arm of a condition in any case; the usual spellings are looked up first, as they are."""
    usual = " ".join(
        f"WHEN {literal(spelling)} THEN {arm}"
        for name, arm in ARMS.items()
        for spelling in (name, name.upper())
    )
    others = " ".join(f"WHEN {literal(name)} THEN {arm}" for name, arm in ARMS.items())
    return f"CASE {condition} {usual} ELSE CASE lower(trim({condition})) {others} END END"


def _whole(text: str) -> str:
    value = f"try_cast({text} AS DOUBLE)"
    is_whole = f"{value} BETWEEN 0 AND 2147483647 AND {value} = floor({value})"
    return f"CASE WHEN {is_whole} THEN {value}::INTEGER END"


def flag_sql(text: str) -> str:
    """1, 0, null, or −1 for anything else."""
    return (
        f"CASE WHEN {text} IS NULL THEN NULL WHEN {text} = '0' THEN 0 WHEN {text} = '1' THEN 1"
        f" WHEN lower(trim({text})) IN {_any_of(TRUE)} THEN 1"
        f" WHEN lower(trim({text})) IN {_any_of(FALSE)} THEN 0"
        f" WHEN lower(trim({text})) IN {_any_of(NULL)} THEN NULL"
        f" WHEN try_cast({text} AS DOUBLE) = 1 THEN 1 WHEN try_cast({text} AS DOUBLE) = 0 THEN 0"
        " ELSE -1 END"
    )


def _folded(text: str) -> str:
    """As `fold_text`, which itself is called only for what is not ASCII.

    Trimming costs more than all the rest of a record, so what has nothing to trim goes first.
    """
    is_ascii = f"strlen({text}) = length({text})"
    is_trim = f"{text} >= '!' AND right({text}, 1) >= '!'"
    trimmed = f"lower(trim({text}, {_WHITESPACE}))"
    return (
        f"CASE WHEN strlen({text}) = 1 AND {text} >= '!' THEN lower({text})"
        f" WHEN {is_ascii} AND {is_trim} AND right({text}, 1) <> '0' THEN lower({text})"
        f" WHEN {is_ascii} AND regexp_full_match({trimmed}, {literal(WHOLE)})"
        f" THEN split_part({trimmed}, '.', 1)"
        f" WHEN {is_ascii} THEN nullif({trimmed}, '')"
        f" ELSE nullif(fold_text({text}), '') END"
    )


def _failed(answer: str) -> str:
    starts = " OR ".join(f"starts_with({answer}, {literal(f)})" for f in FAILURES)
    return f"coalesce({starts}, false)"


def _outcome(facts: Facts) -> str:
    """An answer without a frozen one is unparsed, unless the log has flips and no frozen ones."""
    return (
        f"CASE WHEN {_failed('reference')} THEN {UNPARSED}"
        f" WHEN valid = 0 OR {_failed('answer')} THEN {INVALID}"
        f" WHEN answer IS NOT NULL AND reference IS NULL AND NOT {facts.only_flips}"
        f" THEN {UNPARSED}"
        f" ELSE coalesce(given, (answer <> reference)::INTEGER, {INVALID}) END"
    )


def _problem(facts: Facts) -> str:
    counts = f"NOT (coalesce(valid = 0, false) OR {_failed('answer')} OR {_failed('reference')})"
    rules = [
        (1, "question_id IS NULL"),
        (2, "arm IS NULL"),
        (3, "repetition IS NULL"),
        (4, "attempt IS NULL"),
        (5, "given = -1"),
        (6, "valid = -1"),
        (7, f"given <> (answer <> reference)::INTEGER AND {counts}"),
        (8, "given IS NULL AND answer IS NULL AND reference IS NULL AND valid = 1"),
        (
            9,
            "given IS NOT NULL AND answer IS NULL AND reference IS NOT NULL"
            f" AND {facts.answers} AND {counts}",
        ),
    ]
    cases = " ".join(f"WHEN {rule} THEN {code}" for code, rule in rules)
    return f"coalesce(strange, CASE {cases} END)"
