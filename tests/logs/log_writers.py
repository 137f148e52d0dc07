"""One set of records in every form that the readers know, and a slow count of them."""

import csv
import json
import unicodedata
from pathlib import Path

FIELDS = (
    "question_id", "video_id", "condition", "repetition", "answer", "reference_answer", "flip",
    "valid",
)  # fmt: skip
ARMS = ("self", "sham", "destroy")


def record(question="q1", condition="SHAM", repetition=0, answer="A", reference="A", **more):
    """One record of the reference layout: the flip is what the answers say."""
    fields = {
        "question_id": question,
        "video_id": "v1",
        "condition": condition,
        "repetition": repetition,
        "answer": answer,
        "reference_answer": reference,
        "flip": None if answer is None else int(answer != reference),
        "valid": answer is not None,
    }
    return fields | more


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


def write_jsonl(path, records, end="\n"):
    path.write_text("\n".join(json.dumps(r) for r in records) + end, encoding="utf-8")
    return path


def write_csv(path, records, fields=FIELDS, **dialect):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, **dialect)
        writer.writeheader()
        writer.writerows(records)
    return path


def write_tree(root: Path, records, **changed):
    for r in records:
        folder = root / r["question_id"].replace("/", "_") / r["condition"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{r['repetition']}.json").write_text(json.dumps(r | changed))
    return root


def count_slowly(records, attempts="first"):
    """Question to arm to (flips, valid replays, invalid replays), by plain Python."""

    def fold(text):
        folded = unicodedata.normalize("NFKC", text or "").strip().casefold()
        return folded or None

    def outcome(r):
        answer = fold(r["answer"])
        failed = (answer or "").startswith(
            ("failed to obtain answer via api", "[lmms_eval_request_failed")
        )
        if r["valid"] is False or answer is None or failed:
            return None
        return answer != fold(r["reference_answer"])

    replays = {}
    for r in records:
        condition = {"phase": "destroy"}.get(r["condition"].lower(), r["condition"].lower())
        key = (r["question_id"], condition, r["repetition"])
        replays.setdefault(key, {}).setdefault(r.get("attempt", 0), outcome(r))
    counts = {r["question_id"]: {arm: [0, 0, 0] for arm in ARMS} for r in records}
    for (question, condition, _), tried in replays.items():
        in_order = [tried[attempt] for attempt in sorted(tried)]
        valid = [flip for flip in in_order if flip is not None]
        chosen = valid[0] if attempts == "first-valid" and valid else in_order[0]
        cell = counts[question][condition]
        if chosen is None:
            cell[2] += 1
        else:
            cell[0] += chosen
            cell[1] += 1
    return counts


def as_counted(counts):
    """`ReplayCounts` in the shape of `count_slowly`."""
    return {
        str(question): {
            arm: [
                int(getattr(counts, f"{arm}_{what}")[i]) for what in ("flips", "replays", "invalid")
            ]
            for arm in ARMS
        }
        for i, question in enumerate(counts.question)
    }
