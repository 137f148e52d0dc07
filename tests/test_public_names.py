"""The public surface: every name is there, documented, and costs nothing until it is used."""

import inspect
import subprocess
import sys

import pytest

import carve_stats


@pytest.mark.parametrize("name", carve_stats.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(carve_stats, name)
    if name != "__version__":
        assert inspect.getdoc(value)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"carve_stats.*no attribute 'tie_exces'"):
        carve_stats.tie_exces  # noqa: B018


@pytest.mark.parametrize(
    "statement",
    ["import carve_stats", "import carve_stats.cli.main as m; m.carve_stats_command(['--help'])"],
)
def test_start_up_imports_nothing_heavy(statement):
    heavy = (
        "numpy",
        "scipy",
        "numba",
        "duckdb",
        "matplotlib",
        "PIL",
        "av",
        "onnxruntime",
        "jinja2",
        "hypothesis",
    )
    script = (
        "import sys\n"
        f"try:\n    {statement}\nexcept SystemExit:\n    pass\n"
        f"print('loaded:', [m for m in {heavy!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "loaded: []"
