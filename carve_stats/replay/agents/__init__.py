"""Agents, one a file: real, synthetic and scripted ones side by side.

A file ``agents/<name>.py`` with a function ``build(**options)`` is all that a new one takes.
Two are followed by what they run: ``python:package.module:callable`` and ``command:PROGRAM``.
Options that are paths, which in a configuration are relative to its file, stand in its ``PATHS``,
and those that change how its replies are had and not what they are in its ``PASSING``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError, unknown_name
from carve_stats.replay.protocols import Agent

__all__ = ["agent_names", "describe_agent", "load_agent", "opened_agent", "resolve_options"]

_RUNNING = {"python": "python:package.module:callable", "command": "command:PROGRAM"}


def agent_names() -> tuple[str, ...]:
    """The names that `load_agent` knows, beside those that are followed by what they run."""
    names = (m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_")
    return tuple(sorted(name for name in names if name not in _RUNNING))


def load_agent(spec: str, /, **options: Any) -> Agent:
    """Make the agent that a specification names.

    Parameters
    ----------
    spec : str
        The name of a file in this folder, as ``synthetic`` or ``scripted``;
        ``python:package.module:callable``: a function that answers, or with `options` a
        factory, or a class; or ``command:PROGRAM``, with the program's arguments.
    **options
        The agent's own settings.

    Returns
    -------
    Agent
        Called with a `ReplayRequest`.

    Raises
    ------
    InputError
        An unknown name, a module that cannot be imported, or an option that the agent does
        not have.

    Examples
    --------
    >>> load_agent("scripted", replies={("q1", "sham", 0): "The answer is A."})
    <ScriptedAgent: 1 replies>
    """
    if not isinstance(spec, str):
        raise InputError(f"agent={spec!r} must be a string, as 'python:package.module:callable'")
    name, colon, target = spec.partition(":")
    if colon and name == "python":
        from carve_stats.replay.agents.python import load_callable

        return load_callable(target, **options)
    if name not in agent_names() if not colon else name != "command":
        raise InputError(unknown_name("agent", spec, [*agent_names(), *_RUNNING.values()]))
    build = importlib.import_module(f"{__name__}.{name}").build
    if colon:
        build = functools.partial(build, target)
    known = list(inspect.signature(build).parameters)
    for option in options:
        if option not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"agent {spec!r} has no option {option!r}: its options are {names}")
    agent: Agent = build(**options)
    return agent


@contextmanager
def opened_agent(spec: str, /, **options: Any) -> Iterator[Agent]:
    """The agent that a specification names, closed in the end if it has a method ``close``.

    Parameters
    ----------
    spec : str
        As for `load_agent`.
    **options
        The agent's own settings.

    Yields
    ------
    Agent
        Called with a `ReplayRequest`.
    """
    agent = load_agent(spec, **options)
    try:
        yield agent
    finally:
        close = getattr(agent, "close", None)
        if callable(close):
            close()


def resolve_options(spec: str, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """An agent's options, with those that are paths taken relative to a folder.

    Parameters
    ----------
    spec : str
        As for `load_agent`. A callable of the user's own gets its options as they are.
    options : mapping
        The agent's own settings.
    folder : Path
        The folder of the configuration.

    Returns
    -------
    dict
        For `load_agent`.
    """
    if spec.startswith("command:"):
        # Like the other paths of a configuration, those in the command are relative to it.
        options = {"directory": ".", **options}
    paths = _named_options(spec, "PATHS")
    return {
        name: str(folder / value) if name in paths and isinstance(value, str) else value
        for name, value in options.items()
    }


def describe_agent(spec: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """How a configuration names an agent, for a run's plan.

    Parameters
    ----------
    spec : str
        As for `load_agent`.
    options : mapping
        As they stand in the configuration.

    Returns
    -------
    dict
        ``use`` and the options that a resumption must not change.
    """
    passing = _named_options(spec, "PASSING")
    return {"use": spec, **{n: value for n, value in options.items() if n not in passing}}


def _named_options(spec: str, which: str) -> tuple[str, ...]:
    name, colon, _ = spec.partition(":")
    if name not in agent_names() if not colon else name != "command":
        return ()
    names: tuple[str, ...] = getattr(importlib.import_module(f"{__name__}.{name}"), which, ())
    return names
