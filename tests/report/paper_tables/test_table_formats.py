"""Tables as text, Markdown, LaTeX and CSV."""

import csv
import io
import json
import re
from html import unescape

import pytest
from markdown_it import MarkdownIt

import carve_stats as cs
from carve_stats.report.paper_tables import build_tables
from carve_stats.report.paper_tables.formats import FORMATS, as_csv, as_latex, as_markdown, as_text
from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row

HOSTILE = "[a&b_c%d] {e}\\f^~#$|<i>*Δ̂ ≤ 0*`g`\nnext _x_ __y__ &amp; a\\| <!-- [k](l)"


@pytest.fixture
def hostile():
    return PaperTable(
        name="9",
        caption=HOSTILE,
        labels=(("run", HOSTILE),),
        columns=(Column("x", HOSTILE, 2, True, ends=("low", "high")), Column("n", "n", 0)),
        rows=(
            Row((HOSTILE,), {"x": Figure(-0.5, -1.0, 0.25), "n": Figure(3)}),
            Row(("*",), {"x": Figure()}),
        ),
        notes=(HOSTILE, "--run"),
    )


def assert_latex_shape(text):
    bare = re.sub(r"\\[\\&%$#_{}]", "", text.replace("\\\\", ""))
    bare = "\n".join(line for line in bare.splitlines() if not line.startswith("%"))
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[%#]", bare)
    spec = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]
    body = text[text.index("\\toprule") : text.index("\\bottomrule")]
    lines = [line for line in body.splitlines() if line.endswith("\\\\")]
    assert len(lines) >= 2
    for line in lines:
        assert len(re.findall(r"(?<!\\)&", line)) == len(spec) - 1
        assert not line.startswith(("[", "*"))
    assert text.isprintable() or "\n" in text


def test_a_table_prints_itself_as_text_and_shows_itself_as_html(inputs, hostile):
    needs, table = build_tables(PaperInputs(runs=inputs.runs), ["2", "A2"])
    assert str(table) == repr(table) == as_text(table)
    assert str(needs) == as_text(needs)
    assert table._repr_html_().count("<tr>") == len(table.rows) + 1
    assert "<table>" not in needs._repr_html_()
    shown = hostile._repr_html_()
    assert "<i>" not in shown
    assert "<!--" not in shown
    assert "<td>-0.50</td><td>[-1.00, +0.25]</td><td>3</td>" in shown


@pytest.mark.parametrize("published", [False, True])
def test_latex_is_balanced_and_rectangular(inputs, published):
    for table in build_tables(inputs, published=published):
        assert_latex_shape(as_latex(table))


def test_names_are_no_markup(hostile):
    assert_latex_shape(as_latex(hostile))
    text = as_latex(hostile)
    assert r"\{e\}\textbackslash{}f\textasciicircum{}\textasciitilde{}\#\$" in text
    assert "[$-1.00$, $+0.25$]" in text
    assert "-{}-run" in text
    assert not re.search(r"(?<!\\)\$", as_markdown(hostile))  # GitHub's sign of a formula
    page = MarkdownIt("commonmark").enable("table").render(as_markdown(hostile))
    shown = HOSTILE.replace("\n", r"\n")
    cells = [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page)]
    assert cells[:4] == [shown, shown, "95 % interval", "n"]
    assert cells[4:] == [shown, "-0.50", "[-1.00, +0.25]", "3", "*", "–", "–", "–"]
    assert [unescape(note) for note in re.findall("<li>(.*?)</li>", page)] == [shown, "--run"]


def test_text_and_markdown_say_the_same(made):
    table = made["2"]
    text, markdown = as_text(table), as_markdown(table)
    for row in table.rows:
        one = row.figures["mean_delta"]
        shown = f"{one.value:+.3f}"
        ends = f"[{one.low:+.3f}, {one.high:+.3f}]"
        assert re.search(rf"{re.escape(shown)} +{re.escape(ends)}", text)
        assert f"| {shown} | {ends} |" in markdown
    assert "95 % interval" in text.splitlines()[2]


def test_csv_is_not_rounded(made):
    rows = list(csv.DictReader(io.StringIO(as_csv(made["A2"]))))
    assert float(rows[1]["zero"]) == made["A2"].figure("zero", "3", "observed").value
    assert rows[0]["tie_excess"] == ""


UNPRINTABLE = ("a\nb", "c\r\td\x1b[31m", "e\u202ef\u2028g")


def test_names_that_break_lines_are_escaped(inputs):
    """Every text that a user chose: runs, backbones, answerers, strata, in rows and in notes."""
    runs, named = {}, {}
    for name, run in zip(UNPRINTABLE, ("seed 1", "seed 2", "seed 3"), strict=True):
        runs[name], named[run] = inputs.runs[run], inputs.runs[run]
    outcomes = inputs.outcomes
    strong, look_more = (outcomes.alternatives[name] for name in ("strong", "look_more"))

    def judged(fallback, value):
        covered = outcomes.covariates["covered"].astype("U9")
        covered[:9] = value
        return cs.Outcomes(
            outcomes.question, outcomes.original_correct,
            {fallback: strong, "look_more": look_more}, cluster=outcomes.cluster,
            covariates={"covered": covered, "confidence": outcomes.covariates["confidence"]},
        )  # fmt: skip

    def given(runs, name, fallback, value):
        second = Backbone(name * 2, inputs.second.counts, judged(fallback, value))
        return PaperInputs(
            runs=runs, outcomes=second.outcomes, fallback=fallback, second=second, name=name
        )

    hostile = build_tables(given(runs, "x\n\u202ey", "strong\n\u202e", "part\nly"))
    plain = build_tables(given(named, "x__y", "strong__", "part_ly"))
    for one, other in zip(hostile, plain, strict=True):
        assert one.missing is None
        for name, form in FORMATS.items():
            lines = form.write(one).split("\n")
            assert all(line.isprintable() for line in lines)
            if name != "text":  # where lines are wrapped
                assert len(lines) == len(form.write(other).split("\n"))
    shown = as_text(hostile[4])
    for name in (r"a\nb", r"c\r\td\x1b[31m", r"e\u202ef\u2028g"):
        assert name in shown
    assert json.dumps(hostile[4].to_dict()["rows"][0]["run_a_name"]) == r'"a\nb"'
