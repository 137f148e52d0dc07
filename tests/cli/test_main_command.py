"""The command itself: help, unknown names, errors as one line."""

import json
import os
import re
import subprocess
import sys
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
def test_an_interruption_is_one_line(monkeypatch, capsys, interruption):
    def interrupt(**_):
        raise interruption

    monkeypatch.setattr("carve_stats.cli.main.carve_stats_command", interrupt)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert capsys.readouterr().err == "carve-stats: interrupted; nothing was written\n"


SIMULATE = ("simulate", "paper", "--seed", 1, "--questions", 2, "--clusters", 1)


@pytest.mark.parametrize(
    ("arguments", "interrupted", "said"),
    [
        (("score", "log"), "carve_stats.logs.reader.read_replays", "nothing was written"),
        (("excess", "log"), "carve_stats.logs.reader.read_replays", "nothing was written"),
        (SIMULATE, "carve_stats.replay.loop.run_replays", "nothing was written"),
        ((*SIMULATE, "--store", "run"), "carve_stats.replay.loop.run_replays", "goes on"),
        (("demo", "--store", "run"), "carve_stats.demo.run.prepare_demo", "goes on"),
        (("replay", "audit.toml"), "carve_stats.replay.config.read_config", "goes on"),
    ],
)
def test_only_what_is_kept_is_gone_on_with(
    monkeypatch, tmp_path, command, arguments, interrupted, said
):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interrupted, interrupt)
    status, out, err = command(*arguments)
    assert (status, out) == (130, "")
    assert err.splitlines()[-1].startswith("carve-stats: interrupted; ")
    assert said in err


def test_an_error_is_one_line_and_its_exit_status(monkeypatch, capsys):
    def fail(**_):
        raise InputError("there: do this")

    monkeypatch.setattr("carve_stats.cli.main.carve_stats_command", fail)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "carve-stats: there: do this\n"


def test_an_error_stays_one_line_whatever_a_file_is_named(tmp_path, refused):
    assert "a\\nb\\x1b\\u2028.csv" in refused("excess", tmp_path / "a\nb\x1b\u2028.csv")
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"question\n_id": 1}]))
    assert "question\\n_id" in refused("excess", path)


def test_an_error_of_the_system_is_one_line(monkeypatch, capsys):
    def fail(**_):
        raise PermissionError(13, "Permission denied", "/there")

    monkeypatch.setattr("carve_stats.cli.main.carve_stats_command", fail)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == "carve-stats: /there: Permission denied\n"


def run(arguments, stdout=subprocess.PIPE, **environment):
    program = "from carve_stats.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
        check=False,
    )


def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        done = run(["--help"], stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"carve-stats: the output: No space left on device\n"


def test_a_reader_that_went_away_is_told_nothing():
    end, start = os.pipe()
    os.close(end)
    with open(start, "w") as pipe:
        done = run(["--help"], stdout=pipe)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_a_terminal_without_the_characters_gets_what_it_has(tmp_path, as_json):
    path = tmp_path / "δ.csv"
    rows = (f"δ{i},v{i},{i % 2},3,1,3,😀" for i in range(4))
    head = "question_id,video_id,sham_flips,sham_replays,destroy_flips,destroy_replays,run"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    done = run(["excess", path, *as_json], PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    if as_json:
        assert json.loads(done.stdout)["questions"]


def test_a_store_that_cannot_be_made_is_one_line(refused):
    arguments = ("simulate", "paper", "--seed", 1, "--questions", 5, "--clusters", 2, "--store")
    assert "File name too long" in refused(*arguments, "x" * 300)
    assert "empty path" in refused(*arguments, "")


def test_a_field_that_is_too_long_is_named(tmp_path, refused):
    path = tmp_path / "atoms.csv"
    path.write_text("p_sham,p_destroy,weight\n" + "1" * 200_000 + ",1,1\n")
    assert f"{path}, line 1: cannot be read: field larger" in refused("simulate", path, "--seed", 1)
