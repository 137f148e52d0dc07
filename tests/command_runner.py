"""How the tests of commands call them: through `main`, so that errors become lines."""

import json

import click
import pytest

from carve_stats.cli.main import main


def run(capsys, monkeypatch, *arguments):
    """Run the command; exit status, stdout and stderr."""
    monkeypatch.setattr("sys.argv", ["carve-stats", *map(str, arguments)])
    status = 0
    try:
        main()
    except SystemExit as stop:
        status = stop.code or 0
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def command(capsys, monkeypatch):
    """A function that runs a command and gives exit status, stdout and stderr."""
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


@pytest.fixture
def command_json(command):
    """A function that runs a command with --json and gives the one object it prints."""

    def call(*arguments):
        status, out, err = command(*arguments, "--json")
        assert status == 0, err
        assert out.count("\n") == 1
        return json.loads(out)

    return call


@pytest.fixture
def refused(command):
    """A function that asserts one line on stderr, nothing on stdout, exit status 2."""

    def call(*arguments):
        status, out, err = command(*arguments)
        assert status == 2, (out, err)
        assert out == ""
        assert err.count("\n") == 1, err
        assert err.startswith("carve-stats: ")
        return err

    return call
