"""The page: what it says of a log, that it holds everything itself, and that text stays text."""

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from carve_stats.counts import Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.stopped import stopped_signs
from carve_stats.inference.tie_excess import tie_excess
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.replay.loop import run_replays
from carve_stats.replay.trajectories import Trajectory
from carve_stats.report.html import write_report
from carve_stats.report.text import interval, percent, points, score

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """A page's elements as (tag, attributes), its text by element, and whether tags nest."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.words, self.headings = [], [], [], []
        self.tables = []
        self.feed(source)
        self.close()
        assert self.open == [], "an element was not closed"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, text):
        if "style" in self.open:
            return
        if "th" in self.open or "td" in self.open:
            self.tables[-1][-1][-1] += f" {text}"
        self.words.append(text)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def rows(self):
        """Name of a row to its cells; the first row of a name counts."""
        named = {}
        for name, *cells in (row for table in self.tables for row in table):
            named.setdefault(name.strip(), [" ".join(cell.split()) for cell in cells])
        return named


def log(n=24, *, clusters=True, ragged=False, question="q{}"):
    sham = [(0, 1, 0, 2, 3, 1)[i % 6] for i in range(n)]
    destroy = [(3, 2, 0, 3, 1, 2)[i % 6] for i in range(n)]
    made = [3] * n
    invalid = [0] * n
    if ragged:
        made[1], invalid[1] = 2, 1
        made[2], destroy[2], invalid[2] = 0, 0, 3
    return ReplayCounts(
        [question.format(i) for i in range(n)], sham, [3] * n, destroy, made,
        self_flips=[i % 2 for i in range(n)], self_replays=[2] * n, destroy_invalid=invalid,
        cluster=[f"v{i % 5}" for i in range(n)] if clusters else None,
        ledger=Ledger(8 * n, 8 * n - sum(invalid), {"invalid": sum(invalid)} if ragged else {},
                      ("two identical records of one replay",)),
    )  # fmt: skip


def write(tmp_path, counts, *, excess=None, **arguments):
    arguments = {"title": "An audit", "excess": excess or tie_excess(counts), **arguments}
    path = write_report(tmp_path / "report.html", counts=counts, **arguments)
    return path.read_text(encoding="utf-8")


@cache
def source_of(**settings):
    """The report of a log, written once."""
    with TemporaryDirectory() as folder:
        return write(Path(folder), log(**settings))


def test_the_page_says_what_the_result_says():
    counts = log()
    excess = tie_excess(counts)
    page = Page(source_of())
    rows = page.rows
    for name, sign in (("Negative", "negative"), ("Tied", "zero"), ("Positive", "positive")):
        estimate, share = getattr(excess.excess, sign), getattr(excess.observed_intervals, sign)
        observed, predicted, difference, *_ = rows[name]
        assert observed == f"{percent(share.estimate)} {interval(share.low, share.high)}".replace(
            "\u00a0", " "
        )
        assert predicted == percent(getattr(excess.predicted, sign)).replace("\u00a0", " ")
        assert difference == (
            f"{points(estimate.estimate)} {interval(estimate.low, estimate.high, points)}"
        )
    assert rows["Questions"] == ["24", "24", "0"]
    assert rows["Records"] == ["192", "192", "0"]
    assert rows["SELF"][0].startswith("25.0 %")
    assert rows["SHAM"][1] == "28 of 72"
    assert rows["DESTROY"][1] == "44 of 72"
    assert rows["Mean Δ̂"][0].startswith(score(16 / 72))
    assert "5 clusters (videos), 4 degrees of freedom" in page.text
    assert "two identical records of one replay" in page.text


def test_what_is_left_out_is_counted_and_explained():
    page = Page(source_of(ragged=True))
    rows = page.rows
    assert rows["Questions"] == ["24", "23", "1"]
    assert rows["Records"] == ["192", "188", "4"]
    assert "Records left out: invalid: 4." in page.text
    assert re.search(r"Questions left out: [^.]+: 1\.", page.text)
    assert "At equal numbers of replays" in page.text
    assert "The log is ragged" in page.text
    assert rows["DESTROY"][2] == "4"


def test_without_videos_there_are_estimates_and_a_reason():
    page = Page(source_of(clusters=False))
    assert page.rows["Tied"][2].endswith("not estimable")
    assert "--videos" in page.text
    assert "No intervals are drawn" in page.text
    assert not re.search(r"\b(nan|NaN|None)\b", page.text)


def test_nothing_to_score_is_said(tmp_path):
    counts = ReplayCounts(["q1", "q2"], [0, 0], [0, 0], [1, 2], [3, 3], cluster=["a", "b"])
    page = Page(write(tmp_path, counts))
    assert "nothing can be scored" in page.text
    assert page.rows["SELF"] == page.rows["SHAM"] == ["not run", "", "", ""]
    assert page.rows["DESTROY"][0] == "not estimable not estimable"
    assert page.all("svg") == []
    assert not re.search(r"\b(nan|NaN|None)\b", page.text)


HOSTILE = (
    "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\u202e\x00\ud800"
)


def test_text_from_outside_stays_text(tmp_path):
    counts = log(question=HOSTILE.replace("\ud800", "") + "{}")
    source = write(tmp_path, counts, title=HOSTILE, notes=[HOSTILE], attributions=[HOSTILE])
    page = Page(source)
    assert page.all("script") == []
    assert all("src" not in attributes for attributes in page.all("img"))
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    shown = HOSTILE.replace("\x00", "�").replace("\ud800", "�")
    assert page.text.count(shown) == 4  # head, heading, note, attribution
    assert not re.search("[\x00-\x08\x0b-\x1f]", source)


def test_the_page_asks_the_network_for_nothing():
    source = source_of()
    page = Page(source)
    assert page.all("link") == page.all("script") == page.all("iframe") == []
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert not re.search(r"url\((?!#)|@import", source)
    policy = [a for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy[0]["content"].startswith("default-src 'none'")


def test_structure_can_be_followed_without_seeing_it():
    page = Page(source_of(ragged=True))
    levels = page.headings
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert page.all("html")[0]["lang"] == "en"
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for drawing in page.all("svg"):
        assert drawing["role"] == "img"
        assert set(drawing["aria-labelledby"].split()) <= set(ids)
    named = [a["aria-labelledby"] for a in page.all("section")]
    assert set(named) <= set(ids)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_colour_of_text_can_be_read_on_the_page(theme):
    """WCAG 2.1, success criterion 1.4.3: a contrast of at least 4.5."""
    blocks = re.findall(r":root \{([^}]+)\}", source_of())
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", blocks[theme]))
    paper = luminance(colours["paper"])
    for name in ("ink", "muted", "observed", "law", "alarm"):
        low, high = sorted([paper, luminance(colours[name])])
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_the_same_input_gives_the_same_bytes(tmp_path):
    assert write(tmp_path, log()) == source_of()


def test_threads_give_the_same_bytes_and_leave_matplotlib_as_it_was(tmp_path):
    import matplotlib

    folders = [tmp_path / str(i) for i in range(6)]
    for folder in folders:
        folder.mkdir()
    before = dict(matplotlib.rcParams)
    with ThreadPoolExecutor(6) as pool:
        pages = list(pool.map(lambda folder: write(folder, log()), folders))
    assert set(pages) == {source_of()}
    assert dict(matplotlib.rcParams) == before


def test_bootstrap_intervals_are_called_so(tmp_path):
    counts = log()
    excess = tie_excess(counts, interval="bootstrap", level=0.9, resamples=200, rng=1)
    page = Page(write(tmp_path, counts, excess=excess))
    assert "percentile cluster bootstrap, 90 %, 5 clusters (videos)." in page.text


def test_a_folder_is_hashed_as_sha256sum_lists_it(tmp_path):
    (tmp_path / "logs" / "q1").mkdir(parents=True)
    contents = {"a.json": b"{}", "q1/0.json": b"[]"}
    for name, data in contents.items():
        (tmp_path / "logs" / name).write_bytes(data)
    listing = "".join(f"{hashlib.sha256(d).hexdigest()}  {n}\n" for n, d in contents.items())
    digest = hashlib.sha256(listing.encode()).hexdigest()
    counts = ReplayCounts(
        ["q1"], [0], [3], [1], [3], ledger=Ledger(6, 6, inputs=(str(tmp_path / "logs"),))
    )
    # A report inside the folder is no input of itself.
    for _ in range(2):
        assert f"folder, 2 files, sha256 {digest}" in write(tmp_path / "logs", counts)


def test_inputs_are_named_with_their_hash(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_bytes(b"{}\n")
    counts = ReplayCounts(
        ["q1"], [0], [3], [1], [3], ledger=Ledger(6, 6, inputs=(str(file), "a data frame"))
    )
    page = Page(write(tmp_path, counts))
    digest = hashlib.sha256(b"{}\n").hexdigest()
    assert f"sha256 {digest}" in page.text
    assert "a data frame" in page.text


@pytest.mark.parametrize("place", ["missing/report.html", "folder", "file/report.html"])
def test_a_path_that_cannot_be_written_is_refused_first(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError) as refusal:
        # Nothing is read before the path is known to be good: None would fail otherwise.
        write_report(tmp_path / place, counts=None, excess=None, title="")
    assert "\n" not in str(refusal.value)
    assert place.split("/")[-1] in str(refusal.value)
    assert (tmp_path / "file").read_text() == "kept"


def test_a_report_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    monkeypatch.setattr("carve_stats.report.html.input_entries", lambda *_: 1 / 0)
    old = tmp_path / "report.html"
    old.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write_report(old, counts=log(), excess=tie_excess(log()), title="")
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_line_ends_of_windows_are_no_damage(tmp_path):
    assert "�" not in write(tmp_path, log(), notes=["one\r\ntwo"])


def test_figures_of_a_stopped_run_are_no_report(tmp_path):
    plan = stopping_plan(3, order="alternate")
    full = ReplayCounts(["a", "b"], [1, 0], [3, 3], [2, 1], [3, 3], cluster=["v", "w"])
    stopped = ReplayCounts(
        ["a", "b"], [2, 0], [2, 2], [0, 2], [1, 2], cluster=["v", "w"], stopping=plan
    )
    with pytest.raises(InputError, match="excess is a StoppedSigns: it must be what tie_excess"):
        write_report(tmp_path / "r.html", counts=full, excess=stopped_signs(stopped), title="Audit")
    question = Trajectory(question_id="a", answer="A", options={"A": "yes", "B": "no"})
    run_replays(lambda _: "B", [question], k=3, store=tmp_path / "run", seed=1, stopping=plan)
    with pytest.raises(InputError, match="stopped its questions early"):
        write_report(
            tmp_path / "r.html", counts=full, excess=tie_excess(full), title="Audit",
            run=tmp_path / "run",
        )  # fmt: skip
    assert not (tmp_path / "r.html").exists()
