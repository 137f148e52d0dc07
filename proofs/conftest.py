"""``make prove``: run every theorem's checks, and write the page of what they found."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--page", metavar="FILE", help="write the page of theorems to FILE")


class _Outcomes:
    """How each check of each theorem ended; a check that failed once has failed."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.ended: dict[str, dict[str, str]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, _, name = report.nodeid.partition("::")
        function = name.split("[")[0]
        known = self.ended[Path(file).stem]
        if report.when == "call" or report.outcome != "passed":
            worst = known.get(function) not in (None, "passed")
            known[function] = known[function] if worst else report.outcome

    def pytest_sessionfinish(self) -> None:
        from theorem import find_theorems, load_theorem
        from theorem_page import write_page

        theorems = [load_theorem(path) for path in find_theorems()]
        write_page(self.page, theorems, self.ended)


def pytest_configure(config: pytest.Config) -> None:
    page = config.getoption("--page")
    if page is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Outcomes(Path(page)))
