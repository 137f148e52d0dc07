"""Messages and notes of the library in the words of the command line: options, no arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from carve_stats.errors import InputError

__all__ = ["in_options", "say_options"]

_VALUE = r"(?:True|\{[^{}]*\}|'[^']*'|\"[^\"]*\"|[-\w.…]*)"
# "(--videos FILE; in Python: videos=)", "(in Python: cluster=)": no use on a command line.
_PYTHON = re.compile(r" \(in Python: [^()]*\)|; in Python: (?:[^()]|\([^()]*\))*(?=\))")
# "give read_self_answers gold= (--gold FILE)", "confidence='sure' (--confidence)"
_BESIDE = re.compile(rf"(?:\bread_\w+ )?(?<![\w/=.'\"-])\w+=({_VALUE}) \((--[a-z][^()]*)\)")


def in_options(text: str, names: Mapping[str, str]) -> str:
    """A message or note with options in the place of Python's arguments.

    Parameters
    ----------
    text : str
        As the library says it. Where an option stands in brackets after an argument it takes the
        argument's place, and what is said of Python alone goes.
    names : mapping of str to str
        The option of each argument that may stand there by itself.

    Returns
    -------
    str
        Values of the arguments stay; ``True`` does not, as options have none.

    Examples
    --------
    >>> in_options("mend the ids, or give allow_mismatch=True (--allow-mismatch)", {})
    'mend the ids, or give --allow-mismatch'
    >>> in_options("level=2.0 must lie between 0 and 1", {"level": "--level"})
    '--level 2.0 must lie between 0 and 1'
    >>> in_options("name the videos (--videos FILE; in Python: videos=)", {})
    'name the videos (--videos FILE)'
    """
    text = _PYTHON.sub("", text)
    text = _BESIDE.sub(lambda m: _option(m[2], m[1]), text)
    if not names:
        return text
    # What a file is called may look like an argument: run=1/part-0.csv.
    alone = rf"(?<![^\s(])({'|'.join(names)})=({_VALUE})(?=[\s:;,)]|\.?$)"
    return re.sub(alone, lambda m: _option(names[m[1]], m[2]), text)


def _option(option: str, value: str) -> str:
    # An option that is shown with its own value, or one that has none.
    if not value or value == "True" or value.startswith("{") or " " in option:
        return option
    return f"{option} {value}"


@contextmanager
def say_options(names: Mapping[str, str]) -> Iterator[None]:
    """Let wrong input be told `in_options`.

    Parameters
    ----------
    names : mapping of str to str
        As for `in_options`.

    Raises
    ------
    InputError
        Of the same kind as was raised.
    """
    try:
        yield
    except InputError as error:
        raise type(error)(in_options(str(error), names)) from error
