"""A statement that is broken is found: by its own proof, or by the functions that rest on it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import sympy
from sympy.core.function import AppliedUndef
from theorem import FOLDER, find_theorems, load_theorem

PATHS = find_theorems()
NAMES = [path.stem for path in PATHS]
_FORMULAS = [(path, name) for path in PATHS for name in load_theorem(path).formulas]


_NAMES = (sympy.Symbol, sympy.Indexed, AppliedUndef)


def broken(formula):
    """The same relation broken in several ways, by what was done to it.

    A sign turned, a side doubled (so that a left side that is no name must be read), something
    added, or a limit of a sum moved. The sides of inequalities are swapped.
    """
    if not isinstance(formula, sympy.core.relational.Relational):
        raise TypeError(f"{formula} is a {type(formula).__name__}: state a relation")

    def relation(left, right):
        return formula.func(left, right, evaluate=False)

    left, right = formula.args
    if not isinstance(formula, sympy.Eq):
        yield "swapped", relation(right, left)
        return
    yield "sign", relation(left, -right if right != 0 else sympy.Integer(1))
    if not isinstance(left, _NAMES):  # whose meaning is said in words
        yield "left doubled", relation(2 * left if left != 0 else sympy.Integer(1), right)
    yield "right and one", relation(left, right + 1)
    for place, side in enumerate((left, right)):
        for total in sorted(side.atoms(sympy.Sum, sympy.Integral), key=str):
            (variable, low, high), *others = total.limits
            moved = total.func(total.function, (variable, low + 1, high), *others)
            if moved == total:  # from −∞
                continue
            sides = [left, right]
            sides[place] = side.xreplace({total: moved})
            yield f"limit of {variable}", relation(*sides)


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_theorem_has_a_check_for_each_step_and_one_of_the_package(path):
    theorem = load_theorem(path)
    assert theorem.title
    assert theorem.references
    assert theorem.used_by
    assert theorem.steps == list(range(1, len(theorem.steps) + 1))
    checked = [check.step for check in theorem.checks if check.step is not None]
    assert sorted(set(checked)) == theorem.steps
    assert any(check.step is None for check in theorem.checks)
    assert sorted(theorem.shown) == sorted(theorem.formulas)


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_steps_are_symbolic(path):
    """No step compares rounded numbers or draws any: floats are for the implementation."""
    for function in ast.parse(path.read_text()).body:
        if not (isinstance(function, ast.FunctionDef) and function.name.startswith("test_step")):
            continue
        for node in ast.walk(function):
            constant = isinstance(node, ast.Constant) and isinstance(node.value, float)
            named = getattr(node, "id", getattr(node, "attr", ""))
            assert not constant, f"{function.name} has a float"
            assert named not in {"approx", "float", "evalf", "n", "random", "allclose", "cs"}


class _Reading(dict):
    """Formulas that remember which of them were asked for."""

    def __init__(self, formulas):
        super().__init__(formulas)
        self.asked = set()

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)


@cache
def _readers(path):
    """The steps that look at each formula."""
    theorem = load_theorem(path)
    readers = {name: [] for name in theorem.formulas}
    for check in theorem.checks:
        if check.step is not None:
            theorem.module.FORMULAS = _Reading(theorem.formulas)
            getattr(theorem.module, check.name)()
            for name in theorem.module.FORMULAS.asked:
                readers[name].append(check.name)
    return readers


@pytest.mark.parametrize(("path", "name"), _FORMULAS, ids=[f"{p.stem}-{n}" for p, n in _FORMULAS])
def test_a_formula_that_is_broken_fails_its_proof(path, name):
    theorem = load_theorem(path)
    survived = []
    for done, formula in broken(theorem.formulas[name]):
        theorem.module.FORMULAS[name] = formula
        if not any(_fails(getattr(theorem.module, step)) for step in _readers(path)[name]):
            survived.append(done)
    assert not survived


def _fails(check):
    try:
        check()
    except Exception:  # also what a formula of another shape makes of a step
        return True
    return False


# A kernel, what is said there once, the same with a sign turned, and the theorem that finds it.
MUTANTS = [
    ("difference.py", "inverse * now + g *", "inverse * now - g *", "thm_law"),
    ("law.py", "k_a * (meets - leaves)", "k_a * (meets + leaves)", "thm_gradient"),
    ("tie.py", "math.log1p(-drop)", "math.log1p(drop)", "thm_trapezoid"),
    ("small.py", "below = below * qv + x *", "below = below * qv - x *", "thm_expected_sign"),
    ("bernstein.py", "0.5 * (cell[i] + cell", "0.5 * (cell[i] - cell", "thm_exact_test"),
    ("mixture.py", "gradient[i] += sham[r, i]", "gradient[i] -= sham[r, i]", "thm_duality_gap"),
    ("hypergeometric.py", "lowest[i] = first - harms", "lowest[i] = first + harms",
     "thm_random_control"),
    ("stopping.py", "out[below, column] + out[below", "out[below, column] - out[below",
     "thm_curtailment"),
    ("stopping.py", "beside + 1] += paths", "beside + 1] -= paths", "thm_path_counting"),
    ("signs.py", "tie += tie * (k * error", "tie -= tie * (k * error", "thm_sign_sweep"),
    ("intervals.py", "(m + n - 1.0)", "(m + n + 1.0)", "thm_test_inversion"),
    ("twofold.py", "return quotient, ((a - high)", "return quotient, -((a - high)",
     "thm_tie_closed_forms"),
]  # fmt: skip


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package and of the proofs."""
    folder = tmp_path_factory.mktemp("copied")
    for part in (FOLDER.parent / "carve_stats", FOLDER):
        shutil.copytree(part, folder / part.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize(
    ("kernel", "said", "turned", "theorem"), MUTANTS, ids=[f"{m[3]}-{m[0]}" for m in MUTANTS]
)
def test_a_kernel_with_a_sign_turned_fails_the_theorem_it_rests_on(
    copied, kernel, said, turned, theorem
):
    file = copied / "carve_stats" / "_kernels" / kernel
    original = file.read_text()
    assert original.count(said) == 1
    file.write_text(original.replace(said, turned))
    assert _implementation_checks(copied, theorem) == 1
    file.write_text(original)


def test_a_copy_as_it_is_fails_none(copied):
    assert _implementation_checks(copied, "thm_law") == 0


def _implementation_checks(folder: Path, theorem: str) -> int:
    """pytest's exit status: 0 if all pass, 1 if one fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p",
               "no:cacheprovider", "-k", "implementation", f"proofs/{theorem}.py"]  # fmt: skip
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'proofs'}"}
    done = subprocess.run(command, cwd=folder, env={**os.environ, **settings}, capture_output=True)
    return done.returncode
