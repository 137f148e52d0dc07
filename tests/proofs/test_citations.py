"""What rests on a theorem names it, and the theorem names what rests on it."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from theorem import find_theorems, load_theorem

import carve_stats

PACKAGE = Path(carve_stats.__file__).parent
THEOREMS = {path.stem: load_theorem(path) for path in find_theorems()}
CITATION = re.compile(r"`proofs/(thm_\w+)\.py`")
USES = [(name, public) for name, theorem in THEOREMS.items() for public in theorem.used_by]

ROOMS = ("law", "population", "inference", "planning", "routing")
NO_THEOREM = {
    "FiniteReplayLaw.rvs": "NumPy draws the flips; of the law only the parameters are used",
    "self_consistency": "counts which answer is most frequent, and estimates nothing",
}
"""What stands without a theorem, and why."""


def find(public):
    """The object of a name as theorems give it: public, or a module's within the package."""
    *module, name = public.split(".")
    if module and (PACKAGE / module[0]).is_dir():
        return getattr(importlib.import_module(".".join(["carve_stats", *module])), name)
    found = carve_stats
    for part in public.split("."):
        found = getattr(found, part)
    return found


def cited(found):
    """The theorems that the References of a docstring name."""
    _, _, references = (inspect.getdoc(found) or "").partition("\nReferences\n----------\n")
    return CITATION.findall(references)


def docstrings():
    """Module, qualified name ("" for the module itself) and text of every docstring."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        opened = [("", ast.parse(path.read_text()))]
        while opened:
            name, node = opened.pop()
            yield module, name, ast.get_docstring(node) or ""
            opened += [
                (f"{name}.{inner.name}".lstrip("."), inner)
                for inner in ast.iter_child_nodes(node)
                if isinstance(inner, ast.ClassDef | ast.FunctionDef)
            ]


def functions_of_the_rooms():
    for name in carve_stats.__all__:
        found = getattr(carve_stats, name)
        if inspect.isfunction(found) and found.__module__.split(".")[1] in ROOMS:
            yield name
    for name, _ in inspect.getmembers(carve_stats.FiniteReplayLaw, inspect.isfunction):
        if not name.startswith("_"):
            yield f"FiniteReplayLaw.{name}"


@pytest.mark.parametrize(("theorem", "public"), USES, ids=[f"{t}-{p}" for t, p in USES])
def test_what_a_theorem_is_used_by_names_it_once(theorem, public):
    assert cited(find(public)).count(theorem) == 1


def test_every_citation_is_of_a_theorem_that_names_the_place():
    places = {
        theorem: {(found.__module__, found.__qualname__) for found in map(find, known.used_by)}
        for theorem, known in THEOREMS.items()
    }
    citations = [
        (theorem, (module, name))
        for module, name, text in docstrings()
        for theorem in CITATION.findall(text)
    ]
    assert len(citations) >= len(USES)
    assert [one for one in citations if one[1] not in places.get(one[0], set())] == []


def test_theorems_are_named_in_docstrings_only_and_by_their_file():
    mentions = sum(len(re.findall(r"\bthm_", p.read_text())) for p in PACKAGE.rglob("*.py"))
    assert mentions == sum(len(CITATION.findall(text)) for *_, text in docstrings())


def test_every_function_rests_on_a_theorem_or_is_said_to_need_none():
    names = list(functions_of_the_rooms())
    assert len(names) > 40
    assert [name for name in names if not cited(find(name))] == sorted(NO_THEOREM, key=names.index)
