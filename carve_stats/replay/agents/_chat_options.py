"""`ChatOptions`: the settings of the `openai` agent, checked; the key stays in the environment."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlsplit

import msgspec

from carve_stats.errors import InputError

__all__ = ["ChatOptions", "read_options"]

_DEFAULT_URL = "https://api.openai.com/v1"
_DEFAULT_KEY = "OPENAI_API_KEY"
_OWN = ("model", "messages", "seed", "temperature", "max_tokens", "max_completion_tokens")
_ONE_REPLY = ("n", "stream", "stream_options")
_SECRET = re.compile(r"api_?key|authorization|secret|password|access_token", re.IGNORECASE)
_LONG_ENOUGH = 8  # what is shorter, as "EMPTY", is no secret, and common in texts


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """As `agents.openai.build` describes them.

    Parameters
    ----------
    model, base_url, api_key_env : str
        The model, the server and the variable that holds its key.
    temperature : float or None
        Of the request.
    max_tokens : int or None
        Of the reply.
    timeout, patience : float
        Seconds.
    extra : mapping
        Further parameters of the request.
    """

    model: str
    base_url: str
    api_key_env: str
    temperature: float | None
    max_tokens: int | None
    timeout: float
    patience: float
    extra: Mapping[str, Any] = field(default_factory=dict)

    def read_key(self) -> str | None:
        """The key, as the environment has it now."""
        return os.environ.get(self.api_key_env, "").strip() or None

    def secrets(self) -> list[str]:
        """What no text may show: the key, and the values of headers from the environment."""
        lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
        values = [line.partition(":")[2].strip() for line in lines]
        return [v for v in (self.read_key() or "", *values) if len(v) >= _LONG_ENOUGH]


def read_options(
    environment: Mapping[str, str],
    *,
    model: Any,
    base_url: Any,
    api_key_env: Any,
    temperature: Any,
    max_tokens: Any,
    timeout: Any,
    patience: Any,
    extra: Any,
    api_key: Any,
) -> ChatOptions:
    """Check the options of `agents.openai.build`.

    Parameters
    ----------
    environment : mapping of str to str
        For the key and the server's address.
    model, base_url, api_key_env, temperature, max_tokens, timeout, patience, extra, api_key
        The options.

    Returns
    -------
    ChatOptions
        All of them.

    Raises
    ------
    InputError
        The first that cannot be right.
    """
    if api_key is not None:  # never shown
        _fail("takes no api_key, which would be stored with the run: put the key in an environment"
              " variable, and its name in api_key_env")  # fmt: skip
    if not isinstance(model, str) or not model.strip():
        _fail(f"needs model, as the server names it, not {model!r}")
    own_server = base_url is not None or bool(environment.get("OPENAI_BASE_URL"))
    base_url = base_url or environment.get("OPENAI_BASE_URL") or _DEFAULT_URL
    _check_url(base_url)
    if temperature is not None:
        _check_number("temperature", temperature, least=0)
    if max_tokens is not None and (
        isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1
    ):
        _fail(f"has max_tokens={max_tokens!r}: it must be a whole number of at least 1")
    _check_number("timeout", timeout, least=0, above=True)
    _check_number("patience", patience, least=0)
    extra = {} if extra is None else extra
    _check_extra(extra)
    if not isinstance(api_key_env, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", api_key_env):
        # Not shown: it may be the key itself.
        _fail("needs the name of an environment variable in api_key_env, not the key itself")
    key = environment.get(api_key_env, "").strip()
    if not key and (not own_server or api_key_env != _DEFAULT_KEY):
        _fail(f"needs a key: set the environment variable {api_key_env}, or give base_url where a"
              " server of your own needs none")  # fmt: skip
    if not (key.isascii() and key.isprintable()):
        _fail(f"needs a key, and that in {api_key_env} has characters that no key has")
    return ChatOptions(
        model=model,
        base_url=base_url.rstrip("/"),
        api_key_env=api_key_env,
        temperature=None if temperature is None else float(temperature),
        max_tokens=max_tokens,
        timeout=float(timeout),
        patience=float(patience),
        extra=dict(extra),
    )


def _check_url(url: Any) -> None:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:  # not shown: it may hold a password
        _fail("needs an address like http://localhost:8000/v1 for base_url")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        _fail("has a base_url with a user or a password in it, which would be stored with the run:"
              " take it out, and put the key in an environment variable")  # fmt: skip
    if parts.query or parts.fragment:
        _fail("has a base_url with a query or a fragment: end it at the path, as"
              f" {parts.scheme}://{parts.netloc}{parts.path}")  # fmt: skip


def _check_extra(extra: Any) -> None:
    if not isinstance(extra, Mapping):
        _fail("needs a table of further parameters for extra, as { top_p = 0.9 }")
    for name in extra:
        if not isinstance(name, str) or _SECRET.search(name):
            _fail(f"has {name!r:.40} in extra, which would be stored with the run: a key belongs"
                  " in an environment variable, named in api_key_env")  # fmt: skip
        if name in _OWN:
            own = "it sets that itself" if name in ("messages", "seed") else "it is an option"
            _fail(f"has {name!r} in extra: take it out, {own}")
        if name in _ONE_REPLY:
            _fail(f"has {name!r} in extra: take it out, a replay is one whole reply")
    try:
        msgspec.json.encode(extra)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        _fail(f"has values in extra that JSON cannot hold ({error}): use plain ones")


def _check_number(name: str, value: Any, *, least: float, above: bool = False) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < least or (above and value <= least):
        relation = "above" if above else "of at least"
        _fail(f"has {name}={value!r}: it must be a number {relation} {least:g}")


def _fail(what: str) -> NoReturn:
    raise InputError(f"agent 'openai' {what}")
