"""What choosing a rule on half of the videos gains elsewhere: the results and how they look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carve_stats import _display
from carve_stats.clusters import Estimate
from carve_stats.routing.value import DeferralValue

__all__ = ["RuleTransfer", "SplitGain", "TransferRule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitGain:
    """The gain of the chosen rule over splits, in points.

    Parameters
    ----------
    mean : float
        Mean over splits; NaN where no split has a question to evaluate.
    sd : float or None
        Standard deviation over splits (n − 1); None for fewer than two.
    low, high : float or None
        Central range of the splits.
    splits : int
        Splits with a question to evaluate.
    """

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    splits: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values; undefined figures are None."""
        figures = {n: _display.plain(getattr(self, n)) for n in ("mean", "sd", "low", "high")}
        return {**figures, "splits": self.splits}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRule:
    """One of the rules that splits choose from.

    Parameters
    ----------
    rule : str
        Its text.
    chosen : float
        Share of the splits that choose it.
    source, target : DeferralValue
        What it does on all questions of either side, with intervals over videos.
    """

    rule: str
    chosen: float
    source: DeferralValue
    target: DeferralValue

    def to_dict(self) -> dict[str, Any]:
        """Plain values; undefined figures are None."""
        sides = {"source": self.source.to_dict(), "target": self.target.to_dict()}
        return {"rule": self.rule, "chosen": self.chosen, **sides}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleTransfer:
    """Rules chosen on one half of the videos and evaluated on the other, from `rule_transfer`.

    Parameters
    ----------
    rules : tuple of TransferRule
        Each rule: how often it is chosen, and what it does on all questions.
    best_source, best_target : str
        The rule that would be chosen on all questions of either side.
    source_gain, transfer_gain : SplitGain
        Gain of the chosen rule on the other half of the source, and on that of the target.
    splits : int
        How many splits were made.
    fallback, questions : mapping
        For ``source`` and ``target``: the fallback's name; ``read``, ``used`` and ``left_out``
        (reason: count).
    videos : mapping of str to int
        ``source``, ``target`` and ``common``.
    level : float
        Confidence level of the rules' intervals, and the share of the central ranges.
    notes : tuple of str
        What a reader has to know.
    """

    rules: tuple[TransferRule, ...]
    best_source: str
    best_target: str
    source_gain: SplitGain
    transfer_gain: SplitGain
    splits: int
    fallback: Mapping[str, str]
    questions: Mapping[str, Mapping[str, Any]]
    videos: Mapping[str, int]
    level: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "rules": [rule.to_dict() for rule in self.rules],
            "best_source": self.best_source,
            "best_target": self.best_target,
            "source_gain": self.source_gain.to_dict(),
            "transfer_gain": self.transfer_gain.to_dict(),
            "splits": self.splits,
            "fallback": dict(self.fallback),
            "questions": {side: dict(counted) for side, counted in self.questions.items()},
            "videos": dict(self.videos),
            "level": self.level,
            "notes": list(self.notes),
        }

    def _tables(self) -> list[tuple[str, list[str], list[list[object]]]]:
        level = f"{100 * self.level:g} %"
        sizes = ", ".join(
            f"{side} {_display.counted(self.questions[side]['used'], 'question')} in"
            f" {_display.counted(self.videos[side], 'video')}"
            for side in ("source", "target")
        )
        caption = f"Rule transfer: {sizes}, {self.videos['common']} in common; "
        caption += f"{_display.counted(self.splits, 'split')}\n"
        caption += "Gain of the rule chosen on one half of the source's videos, in points"
        rows: list[list[object]] = [
            [
                name,
                _display.number(gain.mean, 2, signed=True),
                _display.number(gain.sd, 2),
                _display.interval(gain.low, gain.high, 2, signed=True),
            ]
            for name, gain in (
                ("other half of the source", self.source_gain),
                ("target, not the videos chosen on", self.transfer_gain),
            )
        ]
        tables = [(caption, ["evaluated on", "mean", "SD", f"central {level} of splits"], rows)]
        of_rules: list[list[object]] = [
            [rule.rule, _display.number(100 * rule.chosen, 1), *_cells(rule.source.gain_points),
             *_cells(rule.target.gain_points)]
            for rule in self.rules
        ]  # fmt: skip
        caption = (
            f"Each rule on all questions (best on the source: {self.best_source}; on the target:"
            f" {self.best_target})"
        )
        headers = ["rule", "chosen %", "source gain", f"{level} interval"]
        headers += ["target gain", f"{level} interval"]
        return [*tables, (caption, headers, of_rules)]

    def __str__(self) -> str:
        first, last = self._tables()
        return f"{_display.text_block(*first)}\n\n{_display.text_block(*last, self.notes)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, last = self._tables()
        return f"{_display.html_block(*first)}\n{_display.html_block(*last, self.notes)}"


def _cells(gain: Estimate) -> list[object]:
    return [
        _display.number(gain.estimate, 2, signed=True),
        _display.interval(gain.low, gain.high, 2, signed=True),
    ]
