"""The search for what breaks a property: small questions all, longer ones drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, flips_beyond, size
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.signatures.reading import Reading

__all__ = ["LARGEST", "LONGER", "Finding", "Progress", "beyond", "check_longer", "check_small"]

LARGEST = 12
"""Up to how many valid replays an arm all counts are tried."""

LONGER = 100
"""How many longer questions are tried, of up to 30 replays an arm."""

Progress = Callable[[int, int], object]


class Finding(NamedTuple):
    """What was found of a property; where it failed, at which replays, if at some of one question.

    Parameters
    ----------
    verdict : str or bool
        As a `Property` gives it.
    flips : Flips, optional
        Where it fails.
    drawn : bool
        Whether that was shrunk from something drawn.
    """

    verdict: Verdict
    flips: Flips | None = None
    drawn: bool = False

    @property
    def failed(self) -> bool:
        """Whether it does not hold."""
        return isinstance(self.verdict, str)


def beyond(k: int, reading: Reading) -> list[Flips]:
    """The questions that are tried beyond an enumeration up to k, in order of size."""
    return flips_beyond(k, LARGEST, invalid=reading.takes_invalid, ordered=reading.ordered)


def check_small(
    wanted: Iterable[Property],
    estimator: Estimator,
    questions: Sequence[Flips],
    others: Sequence[Flips],
    progress: Progress | None = None,
) -> dict[Property, Finding]:
    """Look at all small questions, the smallest first, until each property holds or fails.

    Parameters
    ----------
    wanted : iterable of Property
        What to look for.
    estimator : Estimator
        What is verified.
    questions, others : sequence of Flips
        All of few replays, and some of more; each in order of size. Both are looked at in one
        order: a question of five and one replay comes before one of four and four.
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    dict
        A finding a property.
    """
    findings = dict.fromkeys(wanted, Finding(False))
    total = len(questions) + len(others)
    for done, flips in enumerate(merge(questions, others, key=size)):
        if progress is not None and not done % 500:
            progress(done, total)
        longest, valid = max(len(flips.sham), len(flips.destroy)), flips.valid
        for one, before in findings.items():
            if one.holds is None or not (valid or one.invalid_too) or before.failed:
                continue
            if one.largest is None or longest <= one.largest:
                verdict = one.holds(estimator, flips)
                if verdict and verdict is not before.verdict:
                    findings[one] = Finding(verdict, flips)
    without_invalid = [flips for flips in questions if flips.valid]
    for one in findings:
        if one.holds_over_all is not None:
            findings[one] = Finding(one.holds_over_all(estimator, without_invalid))
    if progress is not None:
        progress(total, total)
    return findings


def check_longer(
    findings: dict[Property, Finding], estimator: Estimator, others: Sequence[Flips]
) -> dict[Property, Finding]:
    """Try longer questions on what has not failed; what fails is shrunk.

    Parameters
    ----------
    findings : dict
        As `check_small` gives them.
    estimator : Estimator
        What is verified.
    others : sequence of Flips
        In order of size: the first of these at which a property fails, too, is preferred.

    Returns
    -------
    dict
        The same with what failed now.
    """
    still = [one for one, finding in findings.items() if not finding.failed]
    failing: dict[Property, Flips] = {}

    # Without a database nothing is written, and examples are the same on every machine. One pass
    # serves all properties; that is why they are shrunk below and not by Hypothesis.
    @settings(
        database=None,
        derandomize=True,
        deadline=None,
        max_examples=LONGER,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_longer(estimator.reading.takes_invalid))
    def look(flips: Flips) -> None:
        for one in still:
            if _fails(one, estimator, flips):
                failing[one] = min(flips, failing.get(one, flips), key=size)

    look()
    found = dict(findings)
    for one, flips in failing.items():
        smaller = (other for other in others if size(other) < size(flips))
        first = next((other for other in smaller if _fails(one, estimator, other)), flips)
        found[one] = _shrunk(one, estimator, first)
    # Of these only some arrangements were tried, and only some invalid replays.
    listed = {*others}
    for one, finding in findings.items():
        if finding.failed and finding.flips in listed and (one.arranged or not finding.flips.valid):
            found[one] = _shrunk(one, estimator, finding.flips)
    return found


def _shrunk(one: Property, estimator: Estimator, flips: Flips) -> Finding:
    fewest = _reduced(flips, partial(_fails, one, estimator))
    return Finding(one.verdict(estimator, fewest), fewest, drawn=True)


def _fails(one: Property, estimator: Estimator, flips: Flips) -> bool:
    return isinstance(one.verdict(estimator, flips), str)


def _reduced(flips: Flips, fails: Callable[[Flips], bool]) -> Flips:
    """Shrunk until no replay and no flip can go, and no two neighbours can change places."""
    smaller = (other for other in _smaller(flips) if fails(other))
    while (found := next(smaller, None)) is not None:
        flips = found
        smaller = (other for other in _smaller(flips) if fails(other))
    return flips


def _smaller(flips: Flips) -> Iterator[Flips]:
    """What is smaller by one step."""
    arms = (("sham", flips.sham), ("destroy", flips.destroy))
    for name, arm in arms:
        for i in range(len(arm)):
            yield flips._replace(**{name: arm[:i] + arm[i + 1 :]})
    changed = [
        flips._replace(**{name: new})
        for name, arm in arms
        for i in range(len(arm))
        for new in (
            (*arm[:i], 0, *arm[i + 1 :]),
            arm[:i] + arm[i : i + 2][::-1] + arm[i + 2 :],
        )
    ]
    yield from (other for other in changed if size(other) < size(flips))


@st.composite
def _longer(draw: st.DrawFn, takes_invalid: bool) -> Flips:
    """A question with up to 30 replays an arm; every second has none that is invalid.

    It is made of booleans alone: for numbers Hypothesis would read constants from the modules of
    the working directory, and keep them in a folder there.
    """
    valid = st.booleans().map(int)
    replay = valid
    if takes_invalid and draw(st.booleans()):
        replay = st.booleans().flatmap(lambda lost: st.none() if lost else valid)
    few = st.lists(replay, max_size=15)
    many = st.lists(replay, min_size=9, max_size=15)
    return Flips(
        *(tuple(draw(few) + (draw(many) if draw(st.booleans()) else [])) for _ in range(2))
    )
