"""No answerer may go by the name of another row of table 4."""

import re

import pytest

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.report.paper_tables import build_tables
from carve_stats.report.paper_tables.inputs import PaperInputs

IDS = list("abcd")


def table_4(name, k):
    counts = ReplayCounts(IDS, [0, 2, 1, 0], [k] * 4, [2, 1, 1, 0], [k] * 4, cluster=list("vvww"))
    outcomes = Outcomes(IDS, [1, 0, 1, 0], {"strong": [1] * 4, name: [0, 1, 1, 1]})
    inputs = PaperInputs(runs={"": counts}, outcomes=outcomes, fallback="strong")
    return build_tables(inputs, ["4"], published=True)[0]


@pytest.mark.parametrize("k", [2, 3])
def test_names_of_rows_are_refused_as_they_are_written_and_as_they_are_shown(k):
    rows = {text for row in table_4("look_more", k).rows for text in (*row.key, *row.shown)}
    others = rows - {"strong", "look_more", "judge_grounding", "self_consistency"}
    assert {"vanilla", "original answers", f"carve_le0_k{k}", "carve_le0_k3"} < others
    for name in (*others, "Vanilla", " random_deferral", "always", "score <= 0"):
        with pytest.raises(InputError, match=f"answerer {re.escape(repr(name))} is called like"):
            table_4(name, k)


@pytest.mark.parametrize("name", ["look_more", "judge_grounding"])
def test_an_answerer_of_the_paper_stands_beside_the_papers(name):
    rows = [row.source for row in table_4(name, 3).rows if row.key == (name,)]
    assert rows == ["here", "published"]
