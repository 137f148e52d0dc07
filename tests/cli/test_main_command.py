"""The command itself: help, unknown names, errors as one line."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from carve_stats.cli.main import carve_stats_command, main
from carve_stats.errors import InputError

ROOT = Path(__file__).parents[2]
NAMES = carve_stats_command.list_commands(None)


def test_commands_are_the_files_of_the_folder():
    files = {p.stem for p in (ROOT / "carve_stats/cli").glob("[a-z]*.py")} - {"main"}
    assert set(NAMES) == files
    assert {"demo", "excess", "replay", "simulate", "status"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_and_stands_in_the_readme(name):
    shown = CliRunner().invoke(carve_stats_command, [name, "--help"])
    assert shown.exit_code == 0
    assert "Usage:" in shown.output
    assert re.search(rf"carve-stats {name}\b", (ROOT / "README.md").read_text())


def test_an_unknown_command_offers_the_nearest():
    shown = CliRunner().invoke(carve_stats_command, ["exces"])
    assert shown.exit_code == 2
    assert "did you mean 'excess'?" in shown.output


def test_an_error_is_one_line_and_its_exit_status(monkeypatch, capsys):
    def fail(**_):
        raise InputError("there: do this")

    monkeypatch.setattr("carve_stats.cli.main.carve_stats_command", fail)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "carve-stats: there: do this\n"
