"""The README's Python runs as it stands, and its shell commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.S)


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_blocks_run(code, tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def test_the_example_is_short():
    assert len(PYTHON[0].strip().splitlines()) <= 15


def test_the_printed_tie_probability_is_the_laws():
    shown = re.search(r"print\(law\.tie\(\)\)\s+# ([\d.]+)…", README).group(1)
    a, b = 0.34 * 0.64, 0.66 * 0.36  # t_3 = s(s² + 6ab), s = a + b
    assert str((a + b) * ((a + b) ** 2 + 6 * a * b)).startswith(shown)


def test_make_targets_exist():
    targets = set(re.findall(r"`?make ([a-z-]+)", README))
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
