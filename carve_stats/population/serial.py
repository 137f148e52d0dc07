"""Populations as JSON: written so that reading gives back every bit."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from carve_stats.errors import InputError
from carve_stats.population.families import BetaCopula
from carve_stats.population.fit_result import FIT_METHODS, PopulationFit

if TYPE_CHECKING:
    from carve_stats.population.mixing import Population

__all__ = ["FORMAT", "VERSION", "PopulationRecord", "decode", "encode", "record_of"]

FORMAT = "carve_stats.Population"
VERSION = 1

# Weights are written as they are; the sum of many rounded ones is 1 to this.
_ROUNDING = 1e-9

# How far atoms may be from the family's own: SciPy's quantiles differ between versions.
_QUADRATURE = 1e-8

Part = TypeVar("Part")


class PopulationRecord(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the JSON of a population holds.

    Parameters
    ----------
    format, version
        `FORMAT` and `VERSION`.
    p_sham, p_destroy, weights : list of float
        The atoms; the weights sum to 1.
    stratum : list of str or None
        The stratum of each atom.
    family : dict or None
        The fields of the `BetaCopula` that the atoms are a quadrature of.
    fit : dict or None
        The fields of the `PopulationFit`.
    """

    format: str
    version: int
    p_sham: list[float]
    p_destroy: list[float]
    weights: list[float]
    stratum: list[str] | None
    family: dict[str, Any] | None
    fit: dict[str, Any] | None


def record_of(population: Population) -> PopulationRecord:
    """The population as plain values."""
    stratum = None if population.stratum is None else population.stratum.tolist()
    return PopulationRecord(
        format=FORMAT,
        version=VERSION,
        p_sham=population.p_sham.tolist(),
        p_destroy=population.p_destroy.tolist(),
        weights=population.weights.tolist(),
        stratum=stratum,
        family=None if population.family is None else msgspec.to_builtins(population.family),
        fit=None if population.fit is None else msgspec.to_builtins(population.fit),
    )


def encode(record: PopulationRecord) -> str:
    """JSON text; a float is the shortest decimal that reads back as the same float."""
    return msgspec.json.encode(record).decode()


def decode(text: str | bytes) -> tuple[PopulationRecord, BetaCopula | None, PopulationFit | None]:
    """Read what `encode` wrote.

    Parameters
    ----------
    text : str or bytes
        JSON.

    Returns
    -------
    record : PopulationRecord
        The plain values.
    family : BetaCopula or None
        Checked, and against the atoms.
    fit : PopulationFit or None
        Checked.

    Raises
    ------
    InputError
        Anything else, on one line that names the place.
    """
    if not isinstance(text, str | bytes):
        raise InputError(f"text is a {type(text).__name__}: give the JSON of Population.to_json()")
    try:
        _check_version(text)
        record = msgspec.json.decode(text, type=PopulationRecord)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _refusal(error) from None
    total = sum(record.weights)
    if not abs(total - 1.0) <= _ROUNDING:
        raise InputError(f"population JSON: weights sum to {total}, and must sum to 1")
    family = fit = None
    if record.family is not None:
        family = _part("family", record.family, BetaCopula)
        _check_family(family, record)
    if record.fit is not None:
        fit = _part("fit", record.fit, PopulationFit)
        _check_fit(fit)
        if fit.copula is not None:
            _part("fit.copula", record.fit["copula"], BetaCopula)
    return record, family, fit


class _Header(msgspec.Struct):
    """Enough to tell a version that is not ours from a file that is damaged."""

    format: str
    version: int


def _check_version(text: str | bytes) -> None:
    header = msgspec.json.decode(text, type=_Header)
    if header.format != FORMAT:
        raise InputError(f"population JSON: format={header.format!r} must be {FORMAT!r}")
    if header.version != VERSION:
        raise InputError(
            f"population JSON: version={header.version} is not {VERSION}, the one that this"
            " carve_stats reads: use the carve_stats that wrote it, or fit again"
        )


def _part(name: str, values: dict[str, Any], kind: type[Part]) -> Part:
    """One of our dataclasses, from exactly its fields."""
    expected = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for key in sorted(expected ^ values.keys()):
        what = "is missing" if key in expected else "is not known"
        needs = ", ".join(sorted(expected))
        raise InputError(f"population JSON: {name} needs {needs}; {key} {what}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise _refusal(error, name) from None


def _check_family(family: BetaCopula, record: PopulationRecord) -> None:
    """The atoms are those of the family, or signs and samples would contradict each other."""
    for name, expected in zip(("p_sham", "p_destroy", "weights"), family.atoms(), strict=False):
        given = getattr(record, name)
        if len(given) != expected.size or not np.allclose(given, expected, 0.0, _QUADRATURE):
            raise InputError(
                f"population JSON: {name} are not those of the family's atoms: the two do not"
                " belong together"
            )
    if set(record.stratum or ()) - set(family.strata):
        raise InputError("population JSON: stratum has names that family.strata has not")


def _check_fit(fit: PopulationFit) -> None:
    """What no fit can have said of itself is a damaged file."""
    possible = {
        "method": fit.method in FIT_METHODS,
        "log_likelihood": -math.inf < fit.log_likelihood <= 0.0,
        "duality_gap": fit.duality_gap is None or -_ROUNDING < fit.duality_gap < math.inf,
        "questions": fit.questions >= 1,
        "left_out": fit.left_out >= 0,
    }
    for name, right in possible.items():
        if not right:
            raise InputError(
                f"population JSON: fit.{name}={getattr(fit, name)!r} is that of no fit"
            )


def _refusal(error: Exception, place: str = "") -> InputError:
    detail = " ".join(str(error).split())
    return InputError(f"population JSON: {place}{': ' if place else ''}{detail}")
