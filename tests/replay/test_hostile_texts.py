"""Texts that mean harm, or are merely huge, in every field that comes from outside."""

import re
from html.parser import HTMLParser

import pytest

from carve_stats.cli._output import progress_bar
from carve_stats.inference.tie_excess import tie_excess
from carve_stats.logs.reader import read_replays
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import (
    EvidenceItem,
    Trajectory,
    read_trajectories,
    write_trajectories,
)
from carve_stats.report.html import write_report

TEXTS = {
    "html": "</p></title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;<!--",
    "control": "\x1b[2J\x1b]0;title\x07\x08\x08\r\n\t\x7f\x9b31m",
    "right to left": "\u202eevil\u202c \u2066x\u2069 \u200f\u061c",
    "nul": "\x00a\x00\x00b",
    "separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "json": '","crc":"00000000"}\n{"run":"x"}\\u0000\\',
    "noncharacters": "\ufffe\uffff\U0010ffff\ufdd0",
}
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def trajectory(question_id, text):
    return Trajectory(
        question_id=question_id,
        video_id=f"video {text}",
        question=f"question {text}",
        options={f"A{text}": f"first {text}", "B": f"second {text}"},
        answer=f"A{text}",
        correct="B",
        evidence=(EvidenceItem(id=f"item {text}", query=f"query {text}", text=f"caption {text}"),),
        frozen={f"state {text}": [text]},
    )


def agent(text):
    """One that answers right and says everything in hostile words."""

    def answer(request):
        labels = list(request.options)
        label = labels[request.seed % 2]
        return ReplayReply(
            text=f"reply {text}", answer=label, finish_reason=f"end {text}", model=f"model {text}",
            usage={f"tokens {text}": 3},
        )  # fmt: skip

    return answer


class Page(HTMLParser):
    """The elements of a page and what they say."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.handlers, self.words = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]

    def handle_data(self, data):
        self.words.append(data)


def check_page(path):
    """The page has no script, no handler, nothing from the net, no control character."""
    written = path.read_text(encoding="utf-8")
    page = Page(written)
    assert set(page.tags).isdisjoint({"script", "iframe", "link", "object", "form", "base"})
    assert page.handlers == []
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", written)
    return written, "".join(page.words)


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_hostile_texts_come_back_as_they_were(tmp_path, kind):
    text = TEXTS[kind]
    questions = [trajectory(f"question {i} {text}", text) for i in range(3)]
    write_trajectories(tmp_path / "questions.jsonl", questions)
    assert read_trajectories(tmp_path / "questions.jsonl") == questions
    status = run_replays(
        agent(text), questions, k=2, store=tmp_path / "run", seed=1, agent_spec={"use": text}
    )
    assert (status.done, status.valid, status.torn_lines) == (18, 18, 0)
    store = RunStore.load(tmp_path / "run")
    assert store.trajectories() == questions
    assert store.plan.agent["spec"] == {"use": text}
    assert store.progress.status() == status
    for record in store.records():
        assert record.text == f"reply {text}"
        assert record.model == f"model {text}"
        assert record.usage == {f"tokens {text}": 3}
        assert record.reference_answer == f"A{text}"
    # Once more: everything is there, and the plan is the same.
    assert run_replays(
        agent(text), questions, k=2, store=tmp_path / "run", seed=1, agent_spec={"use": text}
    ) == status  # fmt: skip


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory):
    """A run of questions with all these texts."""
    path = tmp_path_factory.mktemp("hostile") / "run"
    questions = [trajectory(f"question {kind} {TEXTS[kind]}", TEXTS[kind]) for kind in TEXTS]
    run_replays(agent("".join(TEXTS.values())), questions, k=2, store=path, seed=1)
    return path


def test_a_report_of_hostile_texts_is_inert(tmp_path, hostile_run):
    counts = read_replays(hostile_run)
    assert sorted(counts.question.tolist()) == sorted(f"question {k} {t}" for k, t in TEXTS.items())
    text = "".join(TEXTS.values())
    report = write_report(
        tmp_path / "report.html", counts=counts, excess=tie_excess(counts), title=f"title {text}",
        run=hostile_run, notes=[text], attributions=[text],
    )  # fmt: skip
    _, words = check_page(report)
    for kind in TEXTS:
        assert f"question {kind}" in words
    assert TEXTS["html"] in words  # it is all there, as text


def test_hostile_texts_do_nothing_to_a_terminal(tmp_path, hostile_run, command):
    for arguments in (("status",), ("excess",), ("excess", "--json")):
        status, out, err = command(*arguments[:1], hostile_run, *arguments[1:])
        assert status == 0, err
        assert not CONTROLS.search(out), arguments
        assert not CONTROLS.search(err), arguments


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_an_error_that_names_a_question_is_one_visible_line(tmp_path, command, kind):
    text = TEXTS[kind]
    run_replays(agent(text), [trajectory(f"q {text}", text)], k=1, store=tmp_path / "run", seed=1)
    for extent in (tmp_path / "run" / "extents").iterdir():
        extent.unlink()
    name = "".join(c for c in text if c not in "/\0")
    for path in (tmp_path / "run", tmp_path / name):
        status, out, err = command("status", path)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert not CONTROLS.search(err)


def test_halves_of_characters_are_refused_in_and_replaced_out(tmp_path):
    with pytest.raises(ValueError, match="cannot be stored as JSON") as caught:
        trajectory("q1", "\ud83d")
    assert "\n" not in str(caught.value)
    (tmp_path / "questions.jsonl").write_bytes(b'{"question_id": "q\\ud83d", "answer": "A"}\n')
    with pytest.raises(ValueError, match=r"questions\.jsonl:1: ") as caught:
        read_trajectories(tmp_path / "questions.jsonl")
    assert "\n" not in str(caught.value)
    questions = [trajectory("q1", "x")]
    run_replays(agent("\ud83d \udc00"), questions, k=1, store=tmp_path / "run", seed=1)
    assert {r.text for r in RunStore.load(tmp_path / "run").records()} == {"reply ? ?"}


def test_ten_megabytes_in_every_field(tmp_path, command):
    huge = "<b>long " * (10 * 2**20 // 8)
    options = {"A": huge, "B": ""}
    item = EvidenceItem(id="0", text=huge)
    questions = [
        Trajectory(question_id="q0", question=huge, options=options, answer="A", evidence=(item,)),
        Trajectory(question_id="q1", question="short", options={"A": "a", "B": "b"}, answer="A"),
    ]

    def answer(request):
        text = huge if request.question_id == "q0" else "short"
        return ReplayReply(text=text, answer="AB"[request.seed % 2], model=huge[:100_000])

    settings = {"k": 1, "seed": 1, "store": tmp_path / "run", "agent_spec": {"prompt": huge}}
    status = run_replays(answer, questions, conditions=["sham", "destroy"], **settings)
    assert (status.done, status.valid) == (4, 4)
    store = RunStore.load(tmp_path / "run")
    assert [len(r.text) for r in store.records()] == [len(huge)] * 2 + [5] * 2
    assert store.trajectories() == questions
    counts = read_replays(tmp_path / "run")
    report = write_report(
        tmp_path / "report.html", counts=counts, excess=tie_excess(counts), title="long", run=store,
        notes=[huge],
    )  # fmt: skip
    written, words = check_page(report)
    assert len(written) < 200_000
    assert words.count(f"… ({len(huge):,} characters)") >= 4  # question, option, caption, note
    status, out, err = command("status", tmp_path / "run")
    assert (status, len(out) + len(err) < 1000) == (0, True)


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_an_agents_error_is_one_visible_line(tmp_path, kind):
    def fail(request):
        raise ValueError(TEXTS[kind])

    with pytest.raises(Exception, match="agent failed on question") as caught:
        run_replays(fail, [trajectory("q1", "x")], k=1, store=tmp_path / "run", seed=1)
    assert "\n" not in str(caught.value)

    def unreachable(request):
        raise ConnectionError(TEXTS[kind])

    run_replays(unreachable, [trajectory("q1", "x")], k=1, store=tmp_path / "fails", seed=1)
    statuses = {r.status for r in RunStore.load(tmp_path / "fails").records()}
    assert statuses == {"transport_error"}


def test_progress_lines_hold_no_text_of_others(capsys):
    with progress_bar("replays") as show:
        show(0, 10)
        show(10, 10)
    assert capsys.readouterr().err.splitlines() == ["replays: 0 of 10", "replays: 10 of 10"]
