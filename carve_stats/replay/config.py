"""`read_config`: a run as one TOML file.

::

    [run]
    store = "runs/demo"
    seed = 1
    k = 3                              # or a table: k = { self = 1, sham = 3, destroy = 3 }
    conditions = ["self", "sham", "destroy"]
    attempts = 1
    workers = 2                        # replays made at a time
    engine = "local"                   # or "ray"
    canary = "stop"                    # what a canary that fails does; or "warn", or "off"
    stochastic = true                  # whether replies to one prompt vary, as the agent may say
    crop = 0.02

    [input]
    trajectories = "trajectories.jsonl"
    media = "media"                    # the folder of the trajectories file if not given
    frames = 4                         # of an interval of a video without times
    zero_length = "1s"                 # what a moment of a video shows: "none", "1s", "10s"

    [agent]
    use = "python:my_agent:answer"     # the other entries are the agent's own options
    temperature = 0.4

    [operator]
    name = "phase"                     # the other entries are the operator's parameters

    [encoder]
    format = "jpeg"
    quality = 92

    [stopping]                         # only to stop each question once it is decided
    rule = "score <= 0"                # or another comparison, or "sign"
    order = "optimal"
    minimum = [3, 3]                   # SHAM and DESTROY replays that every question gets
    pilot = "pilot.jsonl"              # logs of like questions, for what is expected of them
    changed = 0.01                     # share of decisions that may change; 0 if not given

    [cost]                             # limits of the whole run
    prices = "prices.toml"             # what models cost
    max_calls = 10000
    max_cost = 20.0                    # in the currency of the prices

`store`, `seed`, `k`, `trajectories` and `use` are needed. Paths are relative to the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carve_stats.counts import CONDITIONS
from carve_stats.errors import ConfigError, InputError, unknown_name
from carve_stats.replay.costs.limits import check_max_calls, check_max_cost
from carve_stats.replay.engines import ENGINES
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.evidence.intervals import ZERO_LENGTH
from carve_stats.replay.extent import check_replays
from carve_stats.replay.independence.canary_report import CANARY_MODES

__all__ = [
    "NamedOptions",
    "RunConfig",
    "StoppingOptions",
    "read_config",
    "read_stopping_options",
]

_ENTRIES: dict[str, tuple[str, ...]] = {
    "run": (
        "store",
        "seed",
        "k",
        "conditions",
        "attempts",
        "workers",
        "engine",
        "canary",
        "stochastic",
        "crop",
    ),
    "input": ("trajectories", "media", "frames", "zero_length"),
    "agent": ("use",),
    "operator": ("name",),
    "encoder": ("format", "quality"),
    "stopping": ("rule", "order", "minimum", "pilot", "changed"),
    "cost": ("prices", "max_calls", "max_cost"),
}
_OWN_OPTIONS = ("agent", "operator")
_NEEDED = (("run", "store"), ("run", "seed"), ("run", "k"), ("input", "trajectories"),
           ("agent", "use"))  # fmt: skip
_PATHS = (("run", "store"), ("input", "trajectories"), ("input", "media"), ("stopping", "pilot"),
          ("cost", "prices"))  # fmt: skip
_OVERRIDES = {
    name: table for table in ("run", "input", "stopping", "cost") for name in _ENTRIES[table]
}


@dataclass(frozen=True, slots=True)
class NamedOptions:
    """An agent or an operator: its name and its own options.

    Parameters
    ----------
    name : str
        What `load_agent` or `load_operator` takes.
    options : mapping
        Its options.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingOptions:
    """When questions are to be stopped; arguments of `curtailment` and `stopping_plan`.

    Parameters
    ----------
    rule : str
        What is to be decided: a rule on the score, or ``sign``.
    order : str
        In which order conditions are replayed.
    minimum : (int, int), optional
        SHAM and DESTROY replays of every question.
    pilot : Path, optional
        Replay logs that a population is fitted to.
    changed : float
        The largest share of decisions that may change.
    """

    rule: str
    order: str = "optimal"
    minimum: tuple[int, int] | None = None
    pilot: Path | None = None
    changed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """What a configuration file says; the arguments of `run_replays`.

    Parameters
    ----------
    store : Path
        The run's directory.
    seed : int
        The run's seed.
    k : int or mapping of str to int
        Replays of each question, by condition.
    trajectories : Path
        The trajectories file.
    media : Path
        The folder that paths in it are relative to.
    frames : int or None
        See `read_trajectories`.
    zero_length : str or None
        See `read_trajectories`.
    agent, operator : NamedOptions
        What answers, and what destroys.
    conditions : tuple of str
        Some of ``self``, ``sham`` and ``destroy``.
    attempts, workers : int
        See `run_replays`.
    engine, canary : str
        See `run_replays`.
    stochastic : bool or None
        See `run_replays`.
    crop : float
        See `run_replays`.
    encoder : Encoder
        How frames are encoded.
    stopping : StoppingOptions or None
        When questions are to be stopped; None where every replay is made.
    prices : Path or None
        The price file.
    max_calls : int or None
        See `SpendLimit`.
    max_cost : float or None
        See `SpendLimit`.
    """

    store: Path
    seed: int
    k: int | Mapping[str, int]
    trajectories: Path
    media: Path
    agent: NamedOptions
    operator: NamedOptions = NamedOptions("phase")
    frames: int | None = None
    zero_length: str | None = None
    conditions: tuple[str, ...] = CONDITIONS
    attempts: int = 1
    workers: int = 1
    engine: str = "local"
    canary: str = "stop"
    stochastic: bool | None = None
    crop: float = 0.02
    encoder: Encoder = Encoder()  # noqa: RUF009 (frozen)
    stopping: StoppingOptions | None = None
    prices: Path | None = None
    max_calls: int | None = None
    max_cost: float | None = None


def read_config(path: str | os.PathLike[str], **overrides: Any) -> RunConfig:
    """Read the configuration of a run.

    Parameters
    ----------
    path : path
        A TOML file as this module's text describes it.
    **overrides
        Entries of ``[run]``, ``[input]``, ``[stopping]`` and ``[cost]`` that win over the file's,
        as flags of a command line do; None leaves the file's. Paths among them are relative to
        the current directory.

    Returns
    -------
    RunConfig
        With every entry checked.

    Raises
    ------
    ConfigError
        A table or entry that is unknown, missing, or impossible; the message names file and
        entry.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.toml")
    ...     _ = file.write_text('''[run]
    ... store = "runs/demo"
    ... seed = 1
    ... k = 3
    ... [input]
    ... trajectories = "questions.jsonl"
    ... [agent]
    ... use = "synthetic"''')
    ...     config = read_config(file, k=5)
    >>> config.k, config.store.parts[-2:], config.agent.name
    (5, ('runs', 'demo'), 'synthetic')
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"config={str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # a NUL in the path, or a number too long, too
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    try:
        return _config(tables, path.parent, overrides)
    except InputError as error:
        raise ConfigError(f"{path}: {error}") from None


def _config(tables: dict[str, Any], folder: Path, overrides: Mapping[str, Any]) -> RunConfig:
    for table, entries in tables.items():
        if table not in _ENTRIES:
            raise InputError(unknown_name("table", table, _ENTRIES))
        if not isinstance(entries, dict):
            raise InputError(f"{table}={entries!r} must be a table: write [{table}]")
        for name in entries:
            if table not in _OWN_OPTIONS and name not in _ENTRIES[table]:
                raise InputError(f"[{table}]: {unknown_name('entry', name, _ENTRIES[table])}")
    values = {(t, n): value for t, entries in tables.items() for n, value in entries.items()}
    for place in _PATHS:
        if place in values:
            values[place] = folder / _text(place, values[place])
    for name, value in overrides.items():
        if name not in _OVERRIDES:
            raise InputError(unknown_name("override", name, _OVERRIDES))
        if value is not None:
            place = (_OVERRIDES[name], name)
            values[place] = Path(value) if place in _PATHS else value
    for table, name in _NEEDED:
        if (table, name) not in values:
            raise InputError(f"[{table}] needs the entry {name}")
    trajectories: Path = values["input", "trajectories"]
    given: dict[str, Any] = {}
    for name in ("attempts", "workers"):
        if ("run", name) in values:
            given[name] = _whole(name, values["run", name], least=1)
    if ("input", "frames") in values:
        given["frames"] = _whole("frames", values["input", "frames"], least=1, table="input")
    for table, name, known in (
        ("run", "engine", ENGINES),
        ("run", "canary", CANARY_MODES),
        ("input", "zero_length", tuple(ZERO_LENGTH)),
    ):
        if (table, name) in values:
            given[name] = _one_of(f"[{table}] {name}", values[table, name], known)
    if ("run", "stochastic") in values:
        given["stochastic"] = _flag("stochastic", values["run", "stochastic"])
    if ("run", "conditions") in values:
        given["conditions"] = _conditions(values["run", "conditions"])
    if ("run", "crop") in values:
        given["crop"] = _crop(values["run", "crop"])
    if "encoder" in tables:
        given["encoder"] = _encoder(tables["encoder"])
    if "operator" in tables:
        if ("operator", "name") not in values:
            raise InputError("[operator] needs the entry name")
        given["operator"] = _named("operator", "name", tables["operator"])
    stopping = {name: value for (table, name), value in values.items() if table == "stopping"}
    if stopping or "stopping" in tables:
        given["stopping"] = read_stopping_options(stopping)
    given.update(_cost({name: value for (table, name), value in values.items() if table == "cost"}))
    return RunConfig(
        store=values["run", "store"],
        seed=_whole("seed", values["run", "seed"], least=0),
        k=_k(values["run", "k"], given.get("conditions", CONDITIONS)),
        trajectories=trajectories,
        media=values.get(("input", "media"), trajectories.parent),
        agent=_named("agent", "use", tables["agent"]),
        **given,
    )


def _named(table: str, key: str, entries: Mapping[str, Any]) -> NamedOptions:
    name = _text((table, key), entries[key])
    return NamedOptions(name, {n: v for n, v in entries.items() if n != key})


def _text(place: tuple[str, str], value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"[{place[0]}] {place[1]}={value!r} must be a string, in quotes")
    if "\0" in value:
        raise InputError(f"[{place[0]}] {place[1]}={value!r} must not have a NUL character")
    return value


def _whole(name: str, value: object, *, least: int, table: str = "run") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"[{table}] {name}={value!r} must be a whole number of at least {least}")
    return value


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name}={value!r} must be one of {', '.join(known)}")
    return value


def _cost(entries: Mapping[str, Any]) -> Mapping[str, Any]:
    if "max_calls" in entries:
        check_max_calls("[cost] max_calls (--max-calls)", entries["max_calls"])
    if "max_cost" in entries:
        check_max_cost("[cost] max_cost (--max-cost)", entries["max_cost"])
        if "prices" not in entries:
            raise InputError("[cost] max_cost (--max-cost) needs the entry prices (--prices)")
    return entries


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"[run] {name}={value!r} must be true or false")
    return value


def _conditions(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InputError(f"[run] conditions={value!r} must be a list of names")
    for condition in value:
        if condition not in CONDITIONS:
            raise InputError(f"[run] {unknown_name('condition', condition, CONDITIONS)}")
    return tuple(value)


def _k(value: object, conditions: tuple[str, ...]) -> int | dict[str, int]:
    if not isinstance(value, Mapping):
        return check_replays("[run] k", value)
    for condition in value:
        if condition not in conditions:
            raise InputError(f"[run.k]: {unknown_name('condition', condition, conditions)}")
    for condition in conditions:
        if condition not in value:
            raise InputError(f"[run.k] needs the entry {condition}")
    return {c: check_replays(f"[run] k of {c}", value[c]) for c in conditions}


def _crop(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InputError(f"[run] crop={value!r} must be a number in [0, 1)")
    return float(value)


def read_stopping_options(entries: Mapping[str, Any]) -> StoppingOptions:
    """Check what is asked of a run that stops its questions early.

    Parameters
    ----------
    entries : mapping
        Entries of ``[stopping]``.

    Returns
    -------
    StoppingOptions
        With every entry of the right kind; whether k allows them is for the plan to say.

    Raises
    ------
    InputError
        An entry that is missing or impossible.
    """
    if "rule" not in entries:
        raise InputError("[stopping] needs the entry rule, or the option --stop-when-decided")
    given = dict(entries)
    for name in ("rule", "order"):
        if name in given:
            _text(("stopping", name), given[name])
    minimum = given.get("minimum", (0, 0))
    if not (
        isinstance(minimum, list | tuple)
        and len(minimum) == 2
        and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in minimum)
    ):
        raise InputError(
            f"[stopping] minimum={minimum!r} must be two whole numbers, of SHAM and of DESTROY"
            " replays"
        )
    if "minimum" in given:
        given["minimum"] = tuple(minimum)
    changed = given.get("changed", 0.0)
    if isinstance(changed, bool) or not isinstance(changed, int | float) or not 0 <= changed < 1:
        raise InputError(
            f"[stopping] changed={changed!r} (--changed) must be a share in [0, 1), such as 0.01"
        )
    if changed and given.get("order", "optimal") != "optimal":
        raise InputError(
            f"[stopping] changed={changed!r} (--changed) needs the order optimal, not"
            f" {given['order']!r}: other orders change no decision"
        )
    return StoppingOptions(**given)


def _encoder(entries: Mapping[str, Any]) -> Encoder:
    if not isinstance(entries.get("format", ""), str):
        raise InputError(f"[encoder] format={entries['format']!r} must be a string, in quotes")
    quality = entries.get("quality", 92)
    if isinstance(quality, bool) or not isinstance(quality, int):
        raise InputError(f"[encoder] quality={quality!r} must be a whole number")
    try:
        return Encoder(**entries)
    except InputError as error:
        raise InputError(f"[encoder] {error}") from None
