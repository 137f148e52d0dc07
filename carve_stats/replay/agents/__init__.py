"""Agents, one a file: real, synthetic and scripted ones side by side.

A file ``agents/<name>.py`` with a function ``build(**options)`` is all that a new one takes.
Options that are paths, which in a configuration are relative to its file, stand in its ``PATHS``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError, unknown_name
from carve_stats.replay.protocols import Agent

__all__ = ["agent_names", "load_agent", "resolve_options"]


def agent_names() -> tuple[str, ...]:
    """The names that `load_agent` knows, beside ``python:package.module:callable``."""
    names = (m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_")
    return tuple(sorted(name for name in names if name != "python"))


def load_agent(spec: str, /, **options: Any) -> Agent:
    """Make the agent that a specification names.

    Parameters
    ----------
    spec : str
        The name of a file in this folder, as ``synthetic`` or ``scripted``, or
        ``python:package.module:callable``: a function that answers, or with `options` a
        factory, or a class.
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
    if name not in agent_names() or colon:
        known = [*agent_names(), "python:package.module:callable"]
        raise InputError(unknown_name("agent", spec, known))
    build = importlib.import_module(f"{__name__}.{name}").build
    known = list(inspect.signature(build).parameters)
    for option in options:
        if option not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"agent {spec!r} has no option {option!r}: its options are {names}")
    agent: Agent = build(**options)
    return agent


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
    paths = ()
    if spec in agent_names():
        paths = getattr(importlib.import_module(f"{__name__}.{spec}"), "PATHS", ())
    return {
        name: str(folder / value) if name in paths and isinstance(value, str) else value
        for name, value in options.items()
    }
