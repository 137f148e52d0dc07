"""ARCHITECTURE.md is true: what it names exists, and what exists is named."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
NAMED = re.findall(r"`([a-z_./]+(?:/|\.py|\.md))`", TEXT)


@pytest.mark.parametrize("path", sorted(set(NAMED)))
def test_every_path_that_architecture_names_exists(path):
    assert (ROOT / path).exists(), f"ARCHITECTURE.md names {path}, which is not there"


def test_every_room_has_its_line():
    package = ROOT / "carve_stats"
    rooms = {
        f"carve_stats/{p.name}{'/' if p.is_dir() else ''}"
        for p in package.iterdir()
        if not p.name.startswith("__") and p.name != "py.typed"
    }
    described = set(re.findall(r"^\| `(carve_stats/[^`]*)` \|", TEXT, flags=re.M))
    assert rooms == described


def layers():
    """The rooms that the import rules know, each after those that may import it."""
    configuration = (ROOT / "pyproject.toml").read_text()
    return re.findall(r"\w+", re.search(r"layers = \[(.*?)\]", configuration, flags=re.S).group(1))


def test_the_import_rules_know_every_room():
    listed = set(layers())
    rooms = {
        p.stem
        for p in (ROOT / "carve_stats").iterdir()
        if not p.name.startswith(("__", "py.typed"))
    }
    assert listed == rooms


def test_what_is_tested_without_the_jit_is_every_room_below_the_replays():
    rooms = layers()
    below = rooms[rooms.index("replay") + 1 :]
    named = re.search(r"^STATISTICS := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.M)
    assert sorted(named.group(1).replace("\\", "").split()) == sorted(below)


def test_no_room_above_the_statistics_calls_a_kernel():
    rooms = layers()
    sources = [
        path
        for room in rooms[: rooms.index("replay") + 1]
        for path in (ROOT / "carve_stats" / room).rglob("*.py")
    ]
    assert len(sources) > 50
    assert [path for path in sources if "_kernels" in path.read_text()] == []


def test_top_level_rooms_are_there():
    for room in ("simulations", "proofs", "benchmarks"):
        assert list((ROOT / room).glob("*.py")), f"{room}/ holds nothing"
