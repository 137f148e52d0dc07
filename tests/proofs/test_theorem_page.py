"""The page of theorems: what it says of how far each is proved, and that it holds them all."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from theorem import FOLDER, Check, find_theorems, load_theorem
from theorem_page import state_status, write_page

THEOREMS = [load_theorem(path) for path in find_theorems()]


def theorem_with(*checks):
    """A theorem with these checks: of a step, and what it is restricted to."""
    made = [
        Check(f"check_{place}" if step else "test_implementation_signs", step, only, "")
        for place, (step, only) in enumerate(checks)
    ]
    return replace(THEOREMS[0], checks=tuple(made))


def status(theorem, **ended):
    outcomes = {check.name: "passed" for check in theorem.checks}
    return state_status(theorem, {**outcomes, **ended})


def test_all_steps_in_general_are_a_proof():
    assert status(theorem_with((1, ""), (2, ""), (None, ""))) == ("proved", "proved")


def test_a_step_that_some_cases_check_too_says_so():
    """A part that holds in general must not hide that another is checked for some cases only."""
    one = theorem_with((1, "k ≤ 12"), (1, ""), (None, ""))
    assert status(one) == ("partly", "proved, but step 1 in part for k ≤ 12 only")


def test_a_step_that_only_some_cases_check_is_told():
    one = theorem_with((1, ""), (2, "k ≤ 12"), (None, ""))
    assert status(one) == ("partly", "proved, but step 2 in part for k ≤ 12 only")
    more = theorem_with((1, "k ≤ 6"), (2, "k ≤ 12"), (3, "k ≤ 12"), (None, ""))
    assert status(more) == (
        "partly",
        "proved, but step 1 in part for k ≤ 6 only, but steps 2, 3 in part for k ≤ 12 only",
    )


def test_a_check_that_failed_or_was_not_run_breaks_the_theorem():
    one = theorem_with((1, ""), (2, "k ≤ 12"), (None, ""))
    assert status(one, check_0="failed") == ("broken", "broken: step 1")
    assert status(one, check_1="skipped") == ("broken", "broken: step 2")
    assert status(one, test_implementation_signs="failed") == (
        "broken",
        "broken: implementation_signs",
    )
    assert state_status(one, {}) == ("broken", "broken: step 1, step 2, implementation_signs")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page where all checks passed but those of the first theorem, which failed."""
    path = tmp_path_factory.mktemp("page") / "THEOREMS.html"
    ended = {one.name: {check.name: "passed" for check in one.checks} for one in THEOREMS}
    ended[THEOREMS[0].name] = {check.name: "failed" for check in THEOREMS[0].checks}
    write_page(path, THEOREMS, ended)
    assert [file.name for file in path.parent.iterdir()] == ["THEOREMS.html"]
    return path.read_text()


def prose(page):
    """The page without the sources of its checks."""
    return re.sub(r"<pre>.*?</pre>", "", page, flags=re.S)


def test_the_page_lists_every_theorem_once(page):
    sections = re.findall(r'<section id="(\w+)">', page)
    assert sorted(sections) == [theorem.name for theorem in THEOREMS]
    listed = re.findall(r'<tr><td><a href="#(\w+)">', page)
    assert sorted(listed) == sorted(sections)
    for theorem in THEOREMS:
        for public in theorem.used_by:
            assert f"<code>{public}</code>" in page


def test_the_page_says_how_many_are_broken(page):
    assert f"{len(THEOREMS)} theorems:" in page
    assert "1 broken." in page
    section = page.split(f'<section id="{THEOREMS[0].name}">')[1].split("</section>")[0]
    assert 'class="broken">broken: step 1' in section


def test_every_formula_of_the_page_is_set(page):
    assert "[[" not in prose(page)
    assert "]]" not in prose(page)
    assert "$" not in prose(page)
    shown = sum(len(theorem.shown) for theorem in THEOREMS)
    assert prose(page).count('display="block"') >= shown > 0


def test_links_within_the_page_lead_somewhere(page):
    targets = set(re.findall(r'href="#(\w+)"', page))
    assert targets <= set(re.findall(r'id="(\w+)"', page))


def test_a_run_writes_what_it_found(tmp_path):
    path = tmp_path / "page.html"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider",
               "proofs/thm_pooled_rates.py", "--page", str(path)]  # fmt: skip
    subprocess.run(command, cwd=FOLDER.parent, check=True, capture_output=True)
    found = " ".join(path.read_text().split())
    assert "1 proved, 0 with a step that is checked for some cases only," in found
    assert f"only, {len(THEOREMS) - 1} broken." in found  # those that were not run
