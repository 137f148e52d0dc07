"""`Check` and `Verification`: what was verified, and a counterexample to what failed."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from carve_stats._display import counted, html_block, text_table

__all__ = ["Check", "Verification"]

_STATES = {True: "passed", False: "FAILED", None: "not checked"}
_SHRUNK = "Counterexamples; there may be smaller ones:"


@dataclass(frozen=True, slots=True)
class Check:
    """One property, and whether it holds.

    Parameters
    ----------
    name : str
        A few words, unique in its verification.
    passed : bool or None
        None where the property does not apply, or could not be looked at; `note` then says why.
    counterexample : str, optional
        Where it failed, a case in which it does, in words and on one line.
    note : str, optional
        What the property says, or why it was not checked.
    smallest : bool
        Whether no case smaller than the counterexample fails; False where a smaller one may.
    """

    name: str
    passed: bool | None
    counterexample: str | None = None
    note: str | None = None
    smallest: bool = True

    def to_dict(self) -> dict[str, Any]:
        """``name``, ``passed``, ``counterexample``, ``note``, ``smallest``, ready for JSON.

        The last is null where there is no counterexample.
        """
        given = {name: getattr(self, name) for name in self.__slots__}
        return given if self.passed is False else {**given, "smallest": None}


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """What was verified of an estimator, a rule, an agent, an operator or a reader.

    Parameters
    ----------
    subject : str
        What was verified, for example ``estimator their.package:compute_delta``.
    signature : str
        How it was called, in words.
    tried : str
        On what, in words: how many cases, and of which size.
    checks : tuple of Check
        One a property.
    notes : tuple of str
        What a reader has to know.

    Examples
    --------
    >>> failed = Check("sign", False, "SHAM 0 of 1 flipped (0), DESTROY 1 of 1 (1): ...")
    >>> verification = Verification("estimator f", "two lists", "9 cases", (failed,))
    >>> verification.passed, [check.name for check in verification.failed]
    (False, ['sign'])
    """

    subject: str
    signature: str
    tried: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether something was checked and nothing failed."""
        verdicts = [check.passed for check in self.checks]
        return False not in verdicts and True in verdicts

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    def __getitem__(self, name: str) -> Check:
        """The check of that name; KeyError where there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: ``passed``, ``checks`` and how they were made."""
        return {
            "subject": self.subject,
            "passed": self.passed,
            "signature": self.signature,
            "tried": self.tried,
            "checks": [check.to_dict() for check in self.checks],
            "notes": list(self.notes),
        }

    @property
    def _verdict(self) -> str:
        looked_at = sum(check.passed is not None for check in self.checks)
        if self.passed:
            return f"passed: {counted(looked_at, 'check')}"
        if not looked_at:
            return "FAILED: nothing could be checked"
        return f"FAILED: {len(self.failed)} of {counted(looked_at, 'check')}"

    def _rows(self) -> list[list[object]]:
        return [[check.name, _STATES[check.passed], check.note] for check in self.checks]

    def __str__(self) -> str:
        head = [f"{self.subject}: {self._verdict}"]
        head += _paragraphs([f"called with {self.signature}", f"tried on {self.tried}"])
        parts = ["\n".join(head)]
        for title, smallest in (("Smallest counterexamples:", True), (_SHRUNK, False)):
            shown = [
                f"{check.name}: {check.counterexample}"
                for check in self.failed
                if check.smallest is smallest
            ]
            if shown:
                parts.append("\n".join([title, *_paragraphs(shown)]))
        parts.append(text_table(["check", "result", "property"], self._rows(), words=3))
        if self.notes:
            parts.append("\n".join(_paragraphs(self.notes)))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return f"<Verification of {self.subject}: {self._verdict}>"

    def _repr_html_(self) -> str:
        rows = [
            [*row, check.counterexample or ""]
            for row, check in zip(self._rows(), self.checks, strict=True)
        ]
        headers = ["check", "result", "property", "counterexample"]
        notes = [f"called with {self.signature}", f"tried on {self.tried}", *self.notes]
        return html_block(f"{self.subject}: {self._verdict}", headers, rows, notes)


def _paragraphs(texts: list[str] | tuple[str, ...]) -> list[str]:
    return [
        textwrap.fill(text, 100, initial_indent="  * ", subsequent_indent="    ") for text in texts
    ]
