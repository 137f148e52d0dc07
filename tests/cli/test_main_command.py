"""The command itself: help, unknown names, errors as one line."""

import re
from pathlib import Path

import click
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


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["exces"], "did you mean 'excess'?"),
        (["excess"], "'LOGS...' (see carve-stats excess --help)"),
        (["excess", "x.csv", "--levle", "1"], "'--level'"),
        (["excess", "x.csv", "--level", "much"], "'much' is not a valid float"),
        (["excess", "x.csv", "--interval", "bootstrap", "--seed", "-1"], "x.csv"),
        (["simulate", "paper", "--seed", "-1"], "-1"),
        (["simulate", "paper"], "'--seed'"),
    ],
)
def test_wrong_usage_is_one_line(refused, arguments, word):
    assert word in refused(*arguments)


def test_help_shows_examples_on_lines_of_their_own(command):
    _, out, _ = command("excess", "--help")
    assert "\n    carve-stats excess results/ --videos videos.csv\n" in out


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interruption_says_how_to_go_on(monkeypatch, capsys, interruption):
    def interrupt(**_):
        raise interruption

    monkeypatch.setattr("carve_stats.cli.main.carve_stats_command", interrupt)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_an_error_is_one_line_and_its_exit_status(monkeypatch, capsys):
    def fail(**_):
        raise InputError("there: do this")

    monkeypatch.setattr("carve_stats.cli.main.carve_stats_command", fail)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "carve-stats: there: do this\n"
