"""The command ``carve-stats``: finds each command in its own file, and turns errors into a line."""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from pkgutil import iter_modules

import click

import carve_stats
import carve_stats.cli
from carve_stats._display import visible
from carve_stats.errors import CarveStatsError, unknown_name

__all__ = ["main"]


class _Commands(click.Group):
    """One command a module of `carve_stats.cli`; imported only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (module.name for module in iter_modules(carve_stats.cli.__path__))
        return sorted(n for n in names if n != "main" and not n.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = self.list_commands(ctx)
        if cmd_name not in known:
            ctx.fail(unknown_name("command", cmd_name, known))
        return getattr(import_module(f"carve_stats.cli.{cmd_name}"), cmd_name)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(carve_stats.__version__, prog_name="carve-stats")
def carve_stats_command() -> None:
    """Exact statistics and replay tools for CARVE audits of video agents.

    `carve-stats demo` shows the whole job; `carve-stats excess LOGS` computes the tie excess
    of your own replay logs.
    """


def main() -> None:
    """Run the command line.

    An error that carve_stats raises on purpose, or the system in its place, is one line on
    stderr; the exit status is 2 for wrong input and 1 for a failed check or a failed system.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character shows "?"
    try:
        status = carve_stats_command(prog_name="carve-stats", standalone_mode=False)
        sys.exit(status or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "carve-stats"
        message = " ".join(error.format_message().split()).removesuffix(".")
        _echo_error(f"{message} (see {command} --help)")
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        # Click makes an Abort of the KeyboardInterrupt; what `resumable` says is in the latter.
        _echo_error(f"interrupted; {str(error.__cause__ or '') or 'nothing was written'}")
        sys.exit(130)  # what a shell reports for it: 128 + SIGINT
    except CarveStatsError as error:
        _echo_error(str(error))
        sys.exit(error.exit_status)
    except OSError as error:
        _drop_output()
        _echo_error(f"{error.filename or 'the output'}: {error.strerror or error}")
        sys.exit(1)


def _echo_error(message: str) -> None:
    """Print one line, whatever names of files and columns are in the message."""
    click.echo(f"carve-stats: {visible(message)}", err=True)


def _drop_output() -> None:
    """Let Python end without trying again to write what stdout would not take."""
    output = sys.__stdout__
    if output is not None and output is sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
