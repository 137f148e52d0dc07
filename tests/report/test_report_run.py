"""A report of a real run: pictures drawn again, their hashes, answers and the plan."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from test_report_html import Page

from carve_stats.inference.tie_excess import tie_excess
from carve_stats.logs.reader import read_replays
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory
from carve_stats.report.html import write_report

HOSTILE = "<script>alert(1)</script>"


def answer(request):
    """Sees smooth pictures as they are and guesses at destroyed ones; refuses now and then."""
    if request.seed % 11 == 0:
        return "I cannot answer that."
    pixels = request.evidence[0].frames[0].pixels().astype(float)
    rough = np.abs(np.diff(pixels, axis=1)).mean()
    letter = "A" if rough < 4 else "AB"[request.seed % 2]
    return ReplayReply(text=letter, answer=letter, model="smoothness 1")


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """A run of 15 questions over 3 videos, with six frames each, and its folder."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "media").mkdir()
    rows, columns = np.mgrid[:54, :96]
    trajectories = []
    for i in range(15):
        paths = []
        for j in range(6):
            wave = 127 + 120 * np.sin((rows + (i + 1) * columns) / (20 + 3 * j))
            frame = Encoder("png").encode(np.repeat(wave[..., None], 3, axis=2).astype(np.uint8))
            paths.append(f"q{i}-{j}.png")
            (folder / "media" / paths[-1]).write_bytes(frame.data)
        trajectories.append(
            Trajectory(
                question_id=f"q{i}",
                video_id=f"v{i % 3}",
                question=f"Is picture {i} smooth? {HOSTILE}",
                options={"A": f"yes {HOSTILE}", "B": "no"},
                answer="A",
                correct="A" if i % 2 else "B",
                evidence=(EvidenceItem(id="0", frames=tuple(paths)),),
            )
        )
    run_replays(
        answer, trajectories, k={"self": 1, "sham": 3, "destroy": 3}, store=folder / "run",
        seed=7, media=folder / "media",
    )  # fmt: skip
    return folder


def report_of(audit, path, *, media="media"):
    counts = read_replays(audit / "run")
    write_report(
        path, counts=counts, excess=tie_excess(counts), title="Smoothness",
        run=RunStore.load(audit / "run"), media=None if media is None else audit / media,
        attributions=["Waves, nobody, CC0"],
    )  # fmt: skip
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def source(audit):
    """The report of that run."""
    return report_of(audit, audit / "report.html")


def test_frames_drawn_again_are_what_the_agent_was_shown(source):
    page = Page(source)
    assert len([a for a in page.all("article") if a["class"] == "example"]) == 12
    assert page.text.count("✓ hash, 4 of 6 frames") == 12 * 3
    assert "✗ hash" not in page.text
    pictures = page.all("img")
    assert len(pictures) == 12 * 3 * 4
    for picture in pictures:
        head, data = picture["src"].split(",")
        assert head == "data:image/jpeg;base64"
        shown = Image.open(io.BytesIO(base64.b64decode(data)))
        assert shown.size == (int(picture["width"]), int(picture["height"])) == (96, 54)
        assert re.fullmatch(r"(SELF|SHAM|DESTROY), frame [1-6] of 6", picture["alt"])


def test_every_answer_of_the_chosen_questions_is_there(audit, source):
    page = Page(source)
    shown = re.findall(r"question <bdi>(q\d+)</bdi>", source)
    records = [r for r in RunStore.load(audit / "run").records() if r.question_id in shown]
    marks = [a["class"] for a in page.all("li") if a.get("class") in ("flip", "same", "invalid")]
    assert marks.count("flip") == sum(r.flip == 1 for r in records) > 0
    assert marks.count("same") == sum(r.flip == 0 for r in records) > 0
    assert marks.count("invalid") == sum(r.flip is None for r in records) > 0
    assert page.text.count("≠ flip") == marks.count("flip")
    assert page.text.count("no answer (refusal)") == marks.count("invalid")


def test_a_frame_that_changed_since_is_shown_as_a_mismatch(audit, tmp_path):
    file = audit / "media" / "q3-0.png"
    kept = file.read_bytes()
    other = np.zeros((54, 96, 3), np.uint8)
    file.write_bytes(Encoder("png").encode(other).data)
    try:
        source = report_of(audit, tmp_path / "report.html")
    finally:
        file.write_bytes(kept)
    shown = "<bdi>q3</bdi>" in source
    assert shown, "the rule no longer chooses q3: change another question's frame"
    assert source.count("✗ hash") == 3
    assert source.count("✓ hash, ") == 33


def test_frames_that_are_gone_leave_a_reason(audit, tmp_path):
    page = Page(report_of(audit, tmp_path / "report.html", media="elsewhere"))
    assert page.all("img") == []
    assert page.text.count("No frames:") == 36
    assert "cannot be read" in page.text


def test_without_media_the_answers_stand_alone(audit, tmp_path):
    page = Page(report_of(audit, tmp_path / "report.html", media=None))
    assert page.all("img") == []
    assert "No frames are shown" in page.text
    assert "≠ flip" in page.text


def test_texts_of_the_run_stay_text(source):
    page = Page(source)
    assert page.all("script") == []
    assert HOSTILE in page.text
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_the_foot_names_the_plan_and_the_time_of_the_records(audit, source):
    store = RunStore.load(audit / "run")
    page = Page(source)
    foot = page.text[page.text.rindex("Provenance") :]
    for fact in (
        store.plan.sha256, "seed7", "self 1, sham 3, destroy 3", "operatorname phase",
        "encoderformat jpeg", "crop0.02", "smoothness 1", "test_report_run:answer",
        f"parser version{store.plan.parser_version}", "105 of 105 replays done",
        "Waves, nobody, CC0", "numba", "folder, 3 files, sha256",
    ):  # fmt: skip
        assert fact in foot, fact
    first = min(r.started_at for r in store.records())
    moment = np.datetime64(int(first), "s").astype(str).replace("T", " ")
    assert f"{moment} UTC to" in foot


def test_the_same_run_gives_the_same_bytes_even_from_beside_its_plan(audit, source):
    path = audit / "run" / "report.html"
    try:
        assert report_of(audit, path) == report_of(audit, path) == source
    finally:
        path.unlink()


class Blackout:
    """An operator of the user's own."""

    def __call__(self, pixels, *, seed):
        return np.zeros_like(pixels)

    def parameters(self):
        return {"name": "blackout"}


def test_an_operator_that_is_not_ours_leaves_a_reason(audit, tmp_path):
    question = RunStore.load(audit / "run").trajectories()[0]
    run_replays(
        answer, [question], k=1, store=tmp_path / "run", seed=2, media=audit / "media",
        operator=Blackout(), canary="off",
    )  # fmt: skip
    counts = read_replays(tmp_path / "run")
    path = write_report(
        tmp_path / "report.html", counts=counts, excess=tie_excess(counts), title="Blackout",
        run=RunStore.load(tmp_path / "run"), media=audit / "media",
    )  # fmt: skip
    page = Page(path.read_text(encoding="utf-8"))
    assert "unknown operator 'blackout'" in page.text
    assert page.all("img") == []


def test_evidence_of_texts_is_shown_as_text(tmp_path):
    question = Trajectory(
        question_id="q0",
        answer="A",
        options={"A": "yes", "B": "no"},
        evidence=(EvidenceItem(id="0", text="a fox & <b>a hare</b>"),),
    )
    run_replays(lambda request: "B", [question], k=2, store=tmp_path / "run", seed=1)
    counts = read_replays(tmp_path / "run")
    path = write_report(
        tmp_path / "report.html", counts=counts, excess=tie_excess(counts), title="Texts",
        run=RunStore.load(tmp_path / "run"), media=tmp_path,
    )  # fmt: skip
    page = Page(path.read_text(encoding="utf-8"))
    assert "a fox & <b>a hare</b>" in page.text
    assert page.text.count("≠ flip") == 6
    assert "No frames" not in page.text
