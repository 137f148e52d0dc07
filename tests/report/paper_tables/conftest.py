"""Two synthetic backbones, and every table of them."""

import pytest
from paper_table_cases import draw_backbone

from carve_stats.report.paper_tables import build_tables
from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs


@pytest.fixture(scope="session")
def inputs():
    runs, outcomes = draw_backbone(1)
    theirs, judged = draw_backbone(2)
    return PaperInputs(
        runs=runs,
        outcomes=outcomes,
        fallback="strong",
        second=Backbone("32B", theirs["seed 1"], judged),
        name="7B",
        seed=5,
    )


@pytest.fixture(scope="session")
def made(inputs):
    return {table.name: table for table in build_tables(inputs)}
