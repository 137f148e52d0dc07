"""`read_prices`: what the models of an agent cost, as a TOML file.

::

    currency = "USD"

    [models."gpt-4o-mini"]
    input = 0.15                       # per million tokens
    cached_input = 0.075               # of these, what a server had read before; input if not given
    output = 0.60                      # per million tokens
    call = 0.0                         # per call of the model
    image = 0.0                        # per frame that is shown

    [models.default]                   # every other model
    input = 0.0
    output = 0.0

A name also stands for its dated versions, as ``gpt-4o-mini-2024-07-18``; of several the longest
does. It does not stand for other models whose names begin with it: ``gpt-4o`` is not
``gpt-4o-mini``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from carve_stats._display import visible
from carve_stats.errors import ConfigError, InputError, unknown_name

__all__ = ["ModelPrice", "Prices", "read_prices", "tokens_used"]

_PER_MILLION = ("input", "cached_input", "output")
_ENTRIES = (*_PER_MILLION, "call", "image")
_DEFAULT = "default"
_MOST = 10**12
_DECIMALS = 30
# A date or a number of three digits and more; fewer tell models apart, as llama-3-2 from llama-3.
_VERSION = re.compile(r"[-@:](?:[0-9]{3,}(?:-[0-9]{2})*|latest)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """What one model costs; all exact.

    Parameters
    ----------
    input, cached_input, output : Fraction
        A token.
    call, image : Fraction
        A call, and a frame shown.
    """

    input: Fraction = Fraction(0)
    cached_input: Fraction = Fraction(0)
    output: Fraction = Fraction(0)
    call: Fraction = Fraction(0)
    image: Fraction = Fraction(0)

    @property
    def by_tokens(self) -> bool:
        """Whether tokens cost anything."""
        return bool(self.input or self.cached_input or self.output)

    def known(self, *, calls: int, images: int) -> Fraction:
        """What is known before the tokens are: the calls and the frames."""
        return calls * self.call + images * self.image

    def cost(self, usage: Mapping[str, float], *, calls: int, images: int) -> Fraction | None:
        """What replies cost.

        Parameters
        ----------
        usage : mapping of str to number
            As agents report it; the sum, of several replies.
        calls, images : int
            Calls of the model, and frames shown.

        Returns
        -------
        Fraction or None
            None where tokens cost something and `usage` does not tell them.

        Examples
        --------
        >>> price = ModelPrice(input=Fraction(3, 10**6), output=Fraction(15, 10**6))
        >>> price.cost({"prompt_tokens": 1000, "completion_tokens": 20}, calls=1, images=0)
        Fraction(33, 10000)
        """
        known = self.known(calls=calls, images=images)
        if not self.by_tokens:
            return known
        used = tokens_used(usage)
        if used is None:
            return None
        read, written = used
        cached = min(max(Fraction(usage.get("cached_tokens", 0)), Fraction(0)), read)
        return (
            known
            + (read - cached) * self.input
            + cached * self.cached_input
            + written * self.output
        )


def tokens_used(usage: Mapping[str, float]) -> tuple[Fraction, Fraction] | None:
    """The tokens that a reply read and wrote.

    Parameters
    ----------
    usage : mapping of str to number
        ``prompt_tokens`` and ``completion_tokens``, or ``input_tokens`` and ``output_tokens``.

    Returns
    -------
    (Fraction, Fraction) or None
        None where one of the two is not told, or impossible. Where ``total_tokens`` is more than
        their sum, the rest was written: some servers count what a model thought beside the others.
    """
    read = usage.get("prompt_tokens", usage.get("input_tokens"))
    written = usage.get("completion_tokens", usage.get("output_tokens"))
    if read is None or written is None or read < 0 or written < 0:
        return None
    total = Fraction(usage.get("total_tokens", 0))
    return Fraction(read), max(Fraction(written), total - Fraction(read))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of models, from `read_prices`.

    Parameters
    ----------
    currency : str
        What all of them are in.
    models : mapping of str to ModelPrice
        By the model's name; ``default`` for every other.
    place : str
        Where they stand, for messages.
    """

    currency: str
    models: Mapping[str, ModelPrice]
    place: str = "prices"

    def find(self, model: str | None) -> ModelPrice:
        """The price of a model.

        Parameters
        ----------
        model : str or None
            As a server names it; None where neither a reply nor the agent's options name it.

        Returns
        -------
        ModelPrice
            Of the longest name that is the model's, but for a date or version at its end.

        Raises
        ------
        InputError
            There is none.
        """
        named = [
            name
            for name in self.models
            if model is not None
            and model.startswith(name)
            and (model == name or _VERSION.fullmatch(model, len(name)))
        ]
        if named:
            return self.models[max(named, key=len)]
        if _DEFAULT in self.models:
            return self.models[_DEFAULT]
        if model is None:
            raise InputError(
                f"{self.place}: the replies do not name their model, and the agent has no option"
                " model: give a price for every model, [models.default]"
            )
        raise InputError(
            f"{self.place}: no price for the model {model[:200]!r}: add [models.{_quoted(model)}]"
            " or [models.default]"
        )


def read_prices(path: str | os.PathLike[str]) -> Prices:
    """Read a price file.

    Parameters
    ----------
    path : path
        A TOML file as this module's text describes it.

    Returns
    -------
    Prices
        Exact: a price is the decimal number that stands in the file.

    Raises
    ------
    ConfigError
        An entry that is unknown, missing or impossible; the message names file and entry.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "prices.toml")
    ...     _ = file.write_text('''currency = "USD"
    ... [models."gpt-4o-mini"]
    ... input = 0.15
    ... output = 0.60''')
    ...     prices = read_prices(file)
    >>> prices.find("gpt-4o-mini-2024-07-18").input
    Fraction(3, 20000000)
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file, parse_float=Decimal)
    except OSError as error:
        raise ConfigError(f"prices={str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    try:
        return _prices(content, str(path))
    except InputError as error:
        raise ConfigError(f"{path}: {error}") from None


def _prices(content: Mapping[str, Any], place: str) -> Prices:
    for name in content:
        if name not in ("currency", "models"):
            raise InputError(unknown_name("entry", name, ("currency", "models")))
    currency = content.get("currency")
    if (
        not isinstance(currency, str)
        or not re.fullmatch(r"\S{1,12}", currency)
        or (not currency.isprintable())
    ):
        raise InputError(f'currency={currency!r} must be a short name, as "USD", in quotes')
    models = content.get("models")
    if not isinstance(models, dict) or not models:
        raise InputError('needs a table for each model, as [models."gpt-4o-mini"]')
    read = {name: _model_price(name, entries) for name, entries in models.items()}
    return Prices(currency=currency, models=read, place=place)


def _model_price(model: str, entries: object) -> ModelPrice:
    table = f"[models.{_quoted(model)}]"
    if not model.strip():
        raise InputError(f"{table} must name a model")
    if not isinstance(entries, dict) or not entries:
        # A name with dots and no quotes is a table in a table.
        raise InputError(f"{table} must have prices, as input = 0.15")
    for name, value in entries.items():
        if name not in _ENTRIES:
            hint = f"; put the model's name in quotes: [models.{_quoted(f'{model}.{name}')}]"
            hint = hint if isinstance(value, dict) else ""
            raise InputError(f"{table}: {unknown_name('entry', name, _ENTRIES)}{hint}")
    price = {name: _price(table, name, value) for name, value in entries.items()}
    if ("input" in price) != ("output" in price):
        raise InputError(f"{table} needs both input and output, if tokens cost anything")
    if "cached_input" in price and "input" not in price:
        raise InputError(f"{table} has cached_input: it needs input and output, too")
    price.setdefault("cached_input", price.get("input", Fraction(0)))
    return ModelPrice(
        **{name: p / 10**6 if name in _PER_MILLION else p for name, p in price.items()}
    )


def _price(table: str, name: str, value: object) -> Fraction:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
        if number.is_finite() and 0 <= number <= _MOST:
            exponent = number.as_tuple().exponent
            if isinstance(exponent, int) and exponent >= -_DECIMALS:
                return Fraction(number)
            raise InputError(f"{table} {name} has more than {_DECIMALS} decimals")
    shown = str(value) if isinstance(value, int | Decimal) else repr(value)
    raise InputError(f"{table} {name}={shown:.40} must be a number from 0 to 1e12")


def _quoted(name: str) -> str:
    escaped = name[:200].replace("\\", "\\\\").replace('"', '\\"')
    return f'"{visible(escaped)}"'
