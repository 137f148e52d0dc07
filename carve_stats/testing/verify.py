"""`verify_estimator`: whether anyone's function from flips to a score is the score."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from carve_stats.errors import InputError
from carve_stats.replay.agents.python import import_object
from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, all_flips, score_of
from carve_stats.testing.properties import Property, properties
from carve_stats.testing.results import Failed
from carve_stats.testing.search import (
    LARGEST,
    LONGER,
    Finding,
    Progress,
    beyond,
    check_longer,
    check_small,
)
from carve_stats.testing.signatures import adapted, read_signature
from carve_stats.testing.signatures.reading import Reading
from carve_stats.testing.verification import Check, Verification

__all__ = ["verify_estimator"]

_LEGEND = (
    "x of the k_sham valid SHAM replays flipped, and y of the k_destroy valid DESTROY replays; in"
    " brackets 1 is a flip and 0 is none."
)
_COUNTS_SELF = (
    "Given SELF replays as well the function counts them as SHAM or DESTROY: it is verified"
    " without, and on a log that holds SELF replays its scores are wrong."
)
_LARGEST_K = 6  # 3⁷ arms, and five million pairs, would take minutes


def verify_estimator(
    function: Callable[..., Any] | str,
    *,
    signature: str | None = None,
    adapt: Callable[..., Any] | None = None,
    k: int = 5,
    progress: Progress | None = None,
) -> Verification:
    """Verify an estimator of the score Δ̂ by exact enumeration, and on longer questions.

    Parameters
    ----------
    function : callable or str
        From the flips of one question to its score, or ``"package.module:function"``; modules of
        the working directory are found. Flips may be lists with None for an invalid replay, NumPy
        arrays with NaN, four counts, ReplayCounts, a dataclass with the arms as fields, a list of
        records, or a mapping; names and annotations of the parameters say which. The
        result is a number, or has one as ``delta`` or ``score``; None, NaN, and ValueError
        where an arm has no valid replay, are an undefined score.
    signature : str, optional
        How it takes flips, where names and annotations do not say it: ``lists``, ``arrays``,
        ``counts``, ``replay_counts``, ``fields``, ``records``, ``mapping`` or ``rows``.
    adapt : callable, optional
        For any other signature: from lists (sham, destroy, self_flips) of 1, 0 and None to a tuple
        of positional arguments and a dict of those by keyword.
    k : int
        Up to how many replays an arm all sequences are enumerated, invalid replays included; 1 to
        6. At 5 there are 132,496 pairs of sequences. Beyond, all counts up to 12 replays an arm
        are tried in one or two arrangements each, and 100 questions of up to 30 are drawn.
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    Verification
        A check a property, each failed one with a counterexample: the smallest there is (the
        fewest replays in all, then the fewest flips, then the first in lexicographic order), or
        ``smallest`` is False.

    Raises
    ------
    InputError
        A function that cannot be found, or whose signature cannot be read.
    MissingExtraError
        Hypothesis is not installed.

    Notes
    -----
    Unbiasedness and the law are identities of polynomials in the flip rates, decided by their
    coefficients: they hold for all rates. Fractions and whole numbers must be exact, floats
    within 2⁻⁵¹ of the score, and on the right side of every threshold: ``1/1 - 1/3 <= 2/3`` is
    False of floats, so a difference of two means fails ``thresholds``. That is no blunder in
    statistics; whole numbers decide here what is a tie, and with floats two programs would
    route the question differently. What the function prints is dropped. Random generators are
    left alone, and nothing is written.

    Examples
    --------
    >>> def delta(sham, destroy):
    ...     return sum(destroy) / len(destroy) - sum(sham) / len(sham)
    >>> verification = verify_estimator(delta, k=2)
    >>> verification.passed
    False
    >>> print(verification["invalid replays"].counterexample)
    SHAM 0 of 1 flipped (0), DESTROY 0 of 1 flipped (0, invalid): the function raises TypeError: ...
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= _LARGEST_K:
        raise InputError(f"k={k!r} must be a whole number from 1 to {_LARGEST_K}")
    if signature is not None and adapt is not None:
        raise InputError("signature and adapt both say how to call the estimator: give one")
    found, name = _find(function)
    reading = read_signature(found, signature) if adapt is None else adapted(adapt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator, told = _understood(found, reading)
    reading = estimator.reading
    reasons = {one: one.applies(reading) for one in properties()}
    wanted = [one for one, reason in reasons.items() if reason is None]
    questions = all_flips(k, invalid=reading.takes_invalid, ordered=reading.ordered)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an empty mean, say: what is returned decides
        others = beyond(k, reading)
        findings = check_small(wanted, estimator, questions, others, progress)
        findings = check_longer(findings, estimator, others)
    smallest = _tells_smallest(findings, k)
    checks = tuple(
        one.as_check(findings[one].verdict, smallest=smallest(one))
        if reason is None
        else Check(one.name, None, None, reason)
        for one, reason in reasons.items()
    )
    kind = "pairs of flip sequences" if reading.ordered else "pairs of counts"
    invalid = ", invalid replays included" if reading.takes_invalid else ""
    small = f"all {len(questions):,} {kind} with up to {k} replays an arm{invalid}"
    tried = (
        f"{small}; all counts up to {LARGEST} in {len(others):,} more; and {LONGER} drawn with up"
        " to 30"
    )
    return Verification(
        f"estimator {name}", reading.words, tried, checks, (*reading.notes, *told, _LEGEND)
    )


def _tells_smallest(findings: dict[Property, Finding], k: int) -> Callable[[Property], bool]:
    """Whether nothing smaller than the counterexample to a property can fail."""
    by_order = any(one.arranged and found.failed for one, found in findings.items())

    def tells(one: Property) -> bool:
        _, flips, drawn = findings[one]
        if flips is None:
            return True  # a budget, or nothing
        # Up to so many replays in all every question was tried.
        if len(flips.sham + flips.destroy) <= min(k + 1, one.largest or k + 1):
            return True
        return not (drawn or by_order or one.largest) and flips.valid

    return tells


def _understood(
    function: Callable[..., Any], reading: Reading
) -> tuple[Estimator, tuple[str, ...]]:
    """The estimator, called in the way in which it gives most of two scores, or is undisturbed.

    And what is to be said of that.
    """
    ways = [Estimator(function, one) for one in (reading, *reading.others)]
    if len(ways) == 1:
        return ways[0], ()  # and it is not called before its time
    probes = (Flips((0,), (1,)), Flips((1,), (0,)))

    def understood(estimator: Estimator) -> tuple[int, int]:
        values = [estimator(flips) for flips in probes]
        right = sum(value == score_of(flips) for value, flips in zip(values, probes, strict=True))
        return right, sum(not isinstance(value, Failed | None) for value in values)

    best = max(ways, key=understood)  # the first of those
    with_self = [way for way in ways if way.reading.takes_self]
    runs = any(understood(way)[1] == len(probes) for way in with_self)
    return best, (_COUNTS_SELF,) if runs and not best.reading.takes_self else ()


def _find(function: Callable[..., Any] | str) -> tuple[Callable[..., Any], str]:
    """The estimator and its name."""
    name = getattr(function, "__qualname__", type(function).__name__)
    found: Any = function
    if isinstance(function, str):
        name = function
        found = import_object(
            function, what=f"estimator {function!r}", form="package.module:function"
        )
    if not callable(found):
        raise InputError(
            f"estimator {name!r} is {type(found).__name__}: give a function, or the text"
            " 'package.module:function'"
        )
    return found, name
