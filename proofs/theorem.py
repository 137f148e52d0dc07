"""A theorem of this folder, read from its file: one page of prose, and the checks that hold it.

A file ``thm_NAME.py`` has

- a docstring: a title, the statement, and the sections ``Proof`` (numbered steps) and
  ``References``, in Markdown with ``$…$`` and ``$$…$$`` for formulas;
- ``FORMULAS``: the statement's formulas as SymPy relations, by name; the docstring shows one where
  ``[[name]]`` stands alone on a line, so that what is read is what is checked;
- ``USED_BY``: the public names that rest on the theorem, such as ``FiniteReplayLaw.tie``;
- a function ``test_step_N`` for each numbered step, with symbolic arguments. Where it runs through
  the k of 1 to 12 instead it is called ``test_step_N_for_k_up_to_12``, and the page says so; where
  that comes on top of a proof for every k, ``test_step_N_also_for_k_up_to_12``;
- functions ``test_implementation…``, which compare the public names with the statement.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

__all__ = ["FOLDER", "Check", "Theorem", "find_theorems", "load_theorem"]

FOLDER = Path(__file__).parent
_CHECK = re.compile(
    r"test_(?:step_(?P<step>\d+)(?:_(?P<more>also_)?for_(?P<only>\w+))?|implementation\w*)"
)
_SECTION = re.compile(r"^(Proof|References)$", re.MULTILINE)
_STEP = re.compile(r"^(\d+)\. ", re.MULTILINE)
_SHOWN = re.compile(r"^\s*\[\[(\w+)\]\]\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Check:
    """A function that checks one step, or the implementation."""

    name: str
    step: int | None
    only: str
    """What it is restricted to, in words; empty where it holds in general."""
    source: str


@dataclass(frozen=True, slots=True)
class Theorem:
    """What a file says and checks."""

    name: str
    title: str
    statement: str
    proof: str
    references: str
    formulas: dict[str, object]
    used_by: tuple[str, ...]
    checks: tuple[Check, ...]
    module: ModuleType

    @property
    def steps(self) -> list[int]:
        """The numbers of the proof's steps."""
        return [int(number) for number in _STEP.findall(self.proof)]

    @property
    def shown(self) -> list[str]:
        """The formulas that the statement shows."""
        return _SHOWN.findall(self.statement)


def find_theorems() -> list[Path]:
    """Every file of a theorem, by name."""
    return sorted(FOLDER.glob("thm_*.py"))


def load_theorem(path: Path) -> Theorem:
    """Read a theorem from its file.

    Raises
    ------
    ValueError
        A docstring without its sections.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = inspect.getdoc(module) or ""
    parts = _SECTION.split(text)
    if parts[1::2] != ["Proof", "References"]:
        raise ValueError(f"{path.name}: the docstring needs the sections Proof and References")
    title, _, statement = parts[0].partition("\n")
    return Theorem(
        name=path.stem,
        title=title.strip(),
        statement=statement.strip(),
        proof=parts[2].strip(),
        references=parts[4].strip(),
        formulas=dict(module.FORMULAS),
        used_by=tuple(module.USED_BY),
        checks=tuple(_checks(module)),
        module=module,
    )


def _checks(module: ModuleType) -> list[Check]:
    checks = []
    for name, function in vars(module).items():
        found = _CHECK.fullmatch(name)
        if found is not None:
            step = found["step"]
            only = "" if found["more"] else found["only"] or ""
            checks.append(
                Check(
                    name=name,
                    step=None if step is None else int(step),
                    only=only.replace("_up_to_", " ≤ ").replace("_", " "),
                    source=inspect.getsource(function),
                )
            )
    return checks
