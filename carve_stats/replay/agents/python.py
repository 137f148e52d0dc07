"""`python:package.module:callable`: an agent of the user's own."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

from carve_stats.errors import InputError, one_line, unknown_name
from carve_stats.replay.protocols import Agent

__all__ = ["import_object", "load_callable"]


def load_callable(target: str, /, **options: Any) -> Agent:
    """Import an agent; modules of the current directory are found, as with ``python -m``.

    Parameters
    ----------
    target : str
        ``package.module:name``; the name may have dots.
    **options
        For a class, or for a function that makes the agent. Without any, a function is the
        agent itself, and a class is called without arguments.

    Returns
    -------
    Agent
        The callable.

    Raises
    ------
    InputError
        Not of that form, not to be imported, not there, or not callable.

    Examples
    --------
    >>> load_callable("operator:no_such_name")
    Traceback (most recent call last):
    carve_stats.errors.InputError: agent 'python:operator:no_such_name': unknown name ...
    """
    spec = f"python:{target}"
    form = "python:package.module:callable"
    found = import_object(target, what=f"agent {spec!r}", form=form)
    if inspect.isclass(found) or options:
        if not callable(found):
            raise InputError(f"agent {spec!r} takes no options: it cannot be called")
        try:
            found = found(**options)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise InputError(
                f"agent {spec!r} cannot be made with the options {options!r}:"
                f" {one_line(error)};"
                " with options, it is called with them once to make the agent"
            ) from error
    if not callable(found):
        raise InputError(
            f"agent {spec!r} is {type(found).__name__}, which cannot be called with a request"
        )
    agent: Agent = found
    return agent


def import_object(target: str, *, what: str, form: str) -> Any:
    """Import what a text names; modules of the current directory are found.

    Parameters
    ----------
    target : str
        ``package.module:name``; the name may have dots.
    what : str
        What is sought, for messages.
    form : str
        The form of the text, for messages.

    Returns
    -------
    object
        As it stands in the module.

    Raises
    ------
    InputError
        Not of that form, not to be imported, or not there.

    Examples
    --------
    >>> import_object("math:gcd", what="function", form="module:name")
    <built-in function gcd>
    """
    module_name, colon, attribute = target.partition(":")
    if not (colon and module_name and attribute):
        raise InputError(f"{what} must be of the form {form!r}")
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a script that ends in sys.exit() is of no use
        raise InputError(f"{what}: cannot import {module_name!r}: {one_line(error)}") from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            names = [n for n in dir(found) if not n.startswith("_")]
            raise InputError(f"{what}: {unknown_name('name', name, names)}")
        found = getattr(found, name)
    return found
