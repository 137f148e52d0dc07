"""`read_self_answers`: what the SELF replays in a log answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from carve_stats.counts import Ledger
from carve_stats.errors import InputError
from carve_stats.logs.gold_answers import UNKNOWN, GoldAnswer, read_gold
from carve_stats.logs.judging import judge_answers
from carve_stats.logs.reader import TalliedLogs, tallied_logs
from carve_stats.logs.records import (
    ARMS,
    FAILURES,
    INVALID,
    UNPARSED,
    Facts,
    flag_sql,
    fold_text,
    read_records,
)
from carve_stats.logs.scan import literal
from carve_stats.routing.self_answers import SelfAnswers

__all__ = ["read_self_answers"]

OTHER = "SHAM or DESTROY"
NO_SELF = "no SELF replays in these logs: nothing is known of self-consistency"
NO_TEXTS = "the SELF replays say flip and no answer: which answers they gave is not known"


def read_self_answers(
    source: Any,
    *,
    gold: Any = None,
    videos: Any = None,
    video_pattern: str | None = None,
    columns: Mapping[str, str] | None = None,
    run: str | None = None,
    pool_runs: bool = False,
    attempts: str = "first",
) -> SelfAnswers:
    """Read how often the SELF replays of each question gave which answer.

    Parameters
    ----------
    source, videos, video_pattern, columns, run, pool_runs, attempts
        As in `read_replays`; tables already counted hold no answers.
    gold : mapping, path, Benchmark or data frame, optional
        Which answer is right: a mapping from question to label, an official file of a benchmark,
        or a table with the columns ``question_id`` and ``gold_answer``.

    Returns
    -------
    SelfAnswers
        Every question of the logs, those without a SELF replay too. Its ledger says what was used
        and left out.

    Raises
    ------
    InputError
        As `read_replays`; a log without answers; a question with several frozen answers, as runs
        that are pooled may have.
    RecordError
        As `read_replays`, for a record of any condition.

    See Also
    --------
    carve_stats.routing.self_consistency.self_consistency : the majority as a method.

    Notes
    -----
    Answers are the texts of ``answer``, compared as for flips: after NFKC, stripping and
    case-folding, with ``1.0`` as ``1``. With `gold` each is judged as in `read_outcomes`; what
    cannot be read is neither right nor wrong. A replay without a frozen answer to compare it with
    counts here, as its answer is all that is needed.

    Examples
    --------
    >>> import pandas
    >>> log = pandas.DataFrame({
    ...     "question_id": "q1", "video_id": "v1", "condition": ["SELF", "SELF", "SELF", "SHAM"],
    ...     "repetition": [0, 1, 2, 0], "answer": ["B", "A", "B", "A"], "reference_answer": "A"})
    >>> said = read_self_answers(log, gold={"q1": "B"})
    >>> said.answers, said.frozen, said.agreement.round(3), said.correct
    (({'a': 1, 'b': 2},), ('a',), array([0.333]), ({'a': 0.0, 'b': 1.0},))
    >>> said.ledger.to_dict()
    {'read': 4, 'used': 3, 'left_out': {'SHAM or DESTROY': 1}}
    """
    standard = None if gold is None else read_gold(gold)
    with tallied_logs(
        source,
        videos=videos,
        video_pattern=video_pattern,
        columns=columns,
        run=run,
        pool_runs=pool_runs,
        attempts=attempts,
    ) as logs:
        if logs.scans[0].form != "records":
            raise InputError(
                f"{logs.scans[0].inputs[0]}: a table already counted: it holds no answers; read the"
                " records themselves"
            )
        counts = logs.counts(run=run, pool_runs=pool_runs)
        rows, frozen = _rows(logs, run, attempts)
        tally = _Tally(counts.question.tolist(), frozen, rows)
        left_out = _left_out(logs, run, tally.used)
    notes = list(counts.ledger.notes) if counts.ledger else []
    if not tally.used:
        notes.append(NO_SELF)
    elif not any(tally.answers):
        notes.append(NO_TEXTS)
    return SelfAnswers(
        counts.question,
        tally.answers,
        tally.frozen,
        kept=tally.kept,
        judged=tally.judged,
        unnamed=tally.unnamed,
        correct=None if standard is None else tally.judge(standard),
        cluster=counts.cluster,
        ledger=Ledger(
            read=tally.used + left_out.total(),
            used=tally.used,
            left_out=dict(+left_out),
            notes=tuple(dict.fromkeys(notes)),
            inputs=() if counts.ledger is None else counts.ledger.inputs,
        ),
    )


_Row = tuple[str, str | None, int, int]
"""Question, answer, outcome (0 and 1 a flip or none, or not known or invalid), and how many."""


def _rows(
    logs: TalliedLogs, run: str | None, attempts: str
) -> tuple[list[_Row], list[tuple[str, str]]]:
    """The SELF replays that count, alike ones together, and each question's frozen answers."""
    # An answer without a frozen one is told apart from a flip; the tally has checked the rest.
    facts = Facts(only_flips="false", answers="false")
    parts = [
        read_records(scan, number=number, numbered=False, run=logs.run, facts=facts)
        for number, scan in enumerate(logs.scans)
    ]
    counted = "true" if run is None else f"run = {literal(run)}"
    records = f"SELECT * FROM ({' UNION ALL '.join(parts)}) WHERE {counted}"
    given = flag_sql("flip_text")
    order = "attempt" if attempts == "first" else "(outcome <= 1) DESC, attempt"
    rows = logs.connection.execute(f"""
        WITH chosen AS (
            SELECT * FROM ({records}) WHERE arm = {ARMS["self"]}
            QUALIFY row_number() OVER (
                PARTITION BY run, question_id, repetition ORDER BY {order}) = 1
        )
        SELECT question_id, answer_text,
            CASE WHEN outcome <> {UNPARSED} THEN outcome
                WHEN {flag_sql("valid_text")} = 0 THEN {INVALID}
                WHEN reference_answer_text IS NULL THEN coalesce({given}, {UNPARSED})
                ELSE {UNPARSED} END AS said,
            count(*) FROM chosen GROUP BY ALL ORDER BY ALL""").fetchall()
    frozen = logs.connection.execute(f"""
        SELECT DISTINCT question_id, reference FROM ({records})
        WHERE reference IS NOT NULL ORDER BY ALL""").fetchall()
    return rows, frozen


class _Tally:
    """Answers of each question, as columns in order of the questions."""

    def __init__(
        self, questions: list[str], frozen: Sequence[tuple[str, str]], rows: Sequence[_Row]
    ) -> None:
        n = len(questions)
        place = {question: i for i, question in enumerate(questions)}
        self.questions = questions
        self.frozen: list[str | None] = [None] * n
        self.answers: list[Counter[str]] = [Counter() for _ in range(n)]
        self.texts: list[dict[str, str]] = [{} for _ in range(n)]
        self.kept, self.judged, self.unnamed = (np.zeros(n, np.int64) for _ in range(3))
        self.used = 0
        for question, reference in frozen:
            self._freeze(place[question], reference)
        said = [(place[question], text, outcome, m) for question, text, outcome, m in rows]
        folded = {text: fold_text(text) for _, text, *_ in said if text is not None}
        for i, text, outcome, _ in said:
            # A replay that keeps it tells the frozen answer, where a log has flips and no other.
            if outcome == 0 and text is not None and self.frozen[i] is None:
                self.frozen[i] = folded[text]
        for i, text, outcome, m in said:
            label: str | None = (folded[text] or None) if text is not None else None
            failed = label is not None and label.startswith(FAILURES)
            if outcome != INVALID and not failed and not (outcome == UNPARSED and label is None):
                self._add(i, text, label, outcome, m)

    def _freeze(self, i: int, label: str) -> None:
        if self.frozen[i] not in (None, label):
            raise InputError(
                f"question {self.questions[i]!r} has the frozen answers {self.frozen[i]!r} and"
                f" {label!r} in different runs: read one with run= (--run)"
            )
        self.frozen[i] = label

    def _add(self, i: int, text: str | None, label: str | None, outcome: int, m: int) -> None:
        frozen = self.frozen[i]
        flipped = None if outcome == UNPARSED else bool(outcome)
        if label is None and flipped is False:
            label = frozen
        elif label is not None and frozen is not None:
            flipped = label != frozen
        self.used += m
        if label is not None:
            self.answers[i][label] += m
            if text is not None:
                self.texts[i].setdefault(label, text)
        elif flipped:
            self.unnamed[i] += m
        if flipped is not None:
            self.judged[i] += m
            self.kept[i] += 0 if flipped else m

    def judge(self, standard: Mapping[str, GoldAnswer]) -> Any:
        """Whether each answer, and the frozen one, is right; a mapping a question."""
        if not any(question in standard for question in self.questions):
            raise InputError(
                f"gold: none of the logs' questions is in it: ids are such as {self.questions[0]!r}"
                f" here and {next(iter(standard), None)!r} there"
            )
        correct = []
        for question, votes, frozen, texts in zip(
            self.questions, self.answers, self.frozen, self.texts, strict=True
        ):
            labels = sorted({*votes, *([] if frozen is None else [frozen])})
            gold, options = standard.get(question, UNKNOWN)
            said = [texts.get(label, label) for label in labels]
            right, _ = judge_answers(said, [gold] * len(said), [options] * len(said))
            correct.append(dict(zip(labels, right.tolist(), strict=True)))
        return correct


def _left_out(logs: TalliedLogs, run: str | None, used: int) -> Counter[str]:
    """Records that are no SELF answer, by reason."""
    mine = "true" if run is None else f"run = {literal(run)}"
    self_arm = f"({mine}) AND arm = {ARMS['self']}"
    reasons = {"duplicate": "duplicate", "earlier": "earlier attempt", "later": "later attempt"}
    sums = ", ".join(f"coalesce(sum({c}) FILTER ({self_arm}), 0)::BIGINT" for c in reasons)
    made, others, elsewhere, *further = logs.connection.execute(f"""
        SELECT coalesce(sum(n) FILTER ({self_arm}), 0)::BIGINT,
            coalesce(sum(n) FILTER (({mine}) AND arm <> {ARMS["self"]}), 0)::BIGINT,
            coalesce(sum(n) FILTER (NOT ({mine})), 0)::BIGINT, {sums} FROM arms""").fetchall()[0]
    left_out = Counter({OTHER: others, "other run": elsewhere})
    left_out.update(dict(zip(reasons.values(), further, strict=True)))
    left_out["invalid"] = made - sum(further) - used
    for scan in logs.scans:
        left_out.update(scan.left_out)
    return left_out
