"""A reader of records in plain Python, with faults that can be turned on."""

from carve_stats.counts import CONDITIONS, Ledger, ReplayCounts

__all__ = ["count_by_hand"]


def count_by_hand(
    records,
    *,
    invalid_as_none=False,
    invalid_as_flip=False,
    last_attempt=False,
    copies_count=False,
    arms_swapped=False,
    last_record_lost=False,
    numbers_as_ids=False,
    first_line_wins=False,
    no_ledger=False,
):
    """Counts of records as the strategy `logs` has them."""
    if last_record_lost:
        records = records[:-1]
    replays, videos, repeated = {}, {}, 0
    for place, one in enumerate(records):
        question = one["question_id"]
        if numbers_as_ids and question.isdigit():
            question = str(int(question))
        if one.get("video_id") is not None:
            videos[question] = one["video_id"]
        condition = one["condition"]
        if arms_swapped:
            condition = {"sham": "destroy", "destroy": "sham"}.get(condition, condition)
        attempt = one.get("attempt", 0)
        if first_line_wins:
            attempt = place
        repetition = (one["repetition"], place) if copies_count else one["repetition"]
        tried = replays.setdefault((question, condition, repetition), {})
        if attempt in tried or (copies_count and attempt):
            repeated += 1
            continue
        tried[attempt] = outcome(one)
    questions = sorted({question for question, _, _ in replays})
    cells = {(q, c): [0, 0, 0] for q in questions for c in CONDITIONS}
    later = 0
    for (question, condition, _), tried in replays.items():
        if not tried:
            continue
        flip = tried[max(tried) if last_attempt else min(tried)]
        later += len(tried) - 1
        if flip is None and invalid_as_none:
            flip = 0
        if flip is None and invalid_as_flip:
            flip = 1
        cell = cells[question, condition]
        if flip is None:
            cell[2] += 1
        else:
            cell[0] += flip
            cell[1] += 1
    columns = {
        f"{c}_{what}": [cells[q, c][i] for q in questions]
        for c in CONDITIONS
        for i, what in enumerate(("flips", "replays", "invalid"))
    }
    used, invalid = (sum(cell[i] for cell in cells.values()) for i in (1, 2))
    left_out = {"invalid": invalid, "duplicate": repeated, "later attempt": later}
    ledger = None if no_ledger else Ledger(len(records), used, left_out)
    cluster = [videos[q] for q in questions] if videos else None
    return ReplayCounts(questions, **columns, cluster=cluster, ledger=ledger)


def outcome(one):
    if "flip" in one:
        return one["flip"]
    if one["answer"] is None:
        return None
    return int(one["answer"] != one["reference_answer"])
