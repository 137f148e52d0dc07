"""`RunPlan`: what every replay of a run has in common, and what a resumption must not change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from carve_stats.errors import InputError, PlanError

__all__ = ["RunPlan"]

_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The fixed part of a run. How many replays of which questions is its extent, and may grow.

    Parameters
    ----------
    seed : int
        The run's seed.
    conditions : tuple of str
        In the order self, sham, destroy.
    attempts : int
        How often one repetition is put to the agent at most.
    agent : mapping
        What the agent is: how it was named, with its options, and its own fingerprint.
    operator : mapping or None
        Name and parameters of the destroy operator; None where only SELF is run.
    encoder : mapping or None
        Settings of the encoder, likewise.
    crop : float or None
        The largest share that the re-rendering crops, likewise.
    parser_version : str
        The answer parser's version.
    stopping : mapping or None
        The stopping plan, as `StoppingPlan.to_dict` gives it; None where every replay is made. It
        is not stored then, so that runs have the hash that they had before there were any.

    Raises
    ------
    InputError
        Something that JSON cannot hold, with its name.
    """

    seed: int
    conditions: tuple[str, ...]
    attempts: int
    agent: Mapping[str, Any]
    operator: Mapping[str, Any] | None
    encoder: Mapping[str, Any] | None
    crop: float | None
    parser_version: str
    stopping: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, value in self._values().items():
            try:
                plain = msgspec.json.decode(msgspec.json.encode(value))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                raise InputError(
                    f"{name} cannot be kept in a run's plan ({error}): use plain values"
                ) from None
            # As it will be read again, so that a tuple is not unlike the list it is stored as.
            object.__setattr__(self, name, tuple(plain) if name == "conditions" else plain)

    @property
    def sha256(self) -> str:
        """Hash of the whole plan."""
        return hashlib.sha256(msgspec.json.encode(self._values(), order="sorted")).hexdigest()

    @property
    def run_id(self) -> str:
        """The run's name in its records: two runs of one plan are the same replays."""
        return self.sha256[:12]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return self._values()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunPlan:
        """The plan that `to_dict` wrote.

        Parameters
        ----------
        values : mapping
            All its fields.

        Returns
        -------
        RunPlan
            Equal to the one that was written.
        """
        return cls(**values)

    def check_same(self, asked: RunPlan, place: str) -> None:
        """Refuse a plan that differs from this one.

        Parameters
        ----------
        asked : RunPlan
            The plan of the resumption.
        place : str
            Where this plan is kept, for the message.

        Raises
        ------
        PlanError
            The message shows the first differences.
        """
        kept, wanted = (dict(_leaves(plan._shown_values())) for plan in (self, asked))
        differences = [
            f"{name} was {_show(kept, name)} and is {_show(wanted, name)}"
            for name in dict.fromkeys([*kept, *wanted])
            if _show(kept, name) != _show(wanted, name)
        ]
        if self._has_another_table(asked):
            differences[[d.startswith("stopping ") for d in differences].index(True)] = (
                "stopping is as it was but for its table, which another population or pilot"
                " brought: give stopping=RunStore.load(store).stopping"
            )
        if differences or self.sha256 != asked.sha256:
            differences = differences or ["its entries are nested in another way"]
            more = len(differences) - _SHOWN
            shown = "; ".join(differences[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise PlanError(
                f"{place} holds a run with another plan: {shown}; give the earlier settings, or"
                " another store"
            )

    def _values(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.stopping is None:
            del values["stopping"]
        return values

    def _has_another_table(self, asked: RunPlan) -> bool:
        """Whether the stopping plans differ in nothing that a person would have given."""
        tables = ("table", "sha256")
        mine, other = (
            {n: v for n, v in (plan.stopping or {}).items() if n not in tables}
            for plan in (self, asked)
        )
        return bool(mine) and mine == other and self.stopping != asked.stopping

    def _shown_values(self) -> dict[str, Any]:
        """The plan for a person: of the stopping plan one line, without its table."""
        values = self._values()
        if self.stopping is not None:
            get = self.stopping.get
            values["stopping"] = (
                f"{get('rule')}, order {get('order')}, k {get('k_sham')} and {get('k_destroy')},"
                f" minimum {get('minimum')}, changed {get('changed', 0)}, sha256"
                f" {str(get('sha256'))[:12]}"
            )
        return values


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _show(values: Mapping[str, Any], name: str) -> str:
    return msgspec.json.encode(values[name]).decode() if name in values else "not given"
