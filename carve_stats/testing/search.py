"""The search for what breaks a property: small questions all, longer ones drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, size
from carve_stats.testing.properties import Property, Verdict

__all__ = ["LONGER", "Progress", "check_longer", "check_small"]

LONGER = 100
"""How many longer questions are tried, of up to 30 replays an arm."""

Progress = Callable[[int, int], object]


def check_small(
    wanted: Iterable[Property],
    estimator: Estimator,
    questions: Sequence[Flips],
    progress: Progress | None = None,
) -> dict[Property, Verdict]:
    """Look at all small questions, the smallest first, until each property holds or fails.

    Parameters
    ----------
    wanted : iterable of Property
        What to look for.
    estimator : Estimator
        What is verified.
    questions : sequence of Flips
        In order of size: the first failure is then the smallest.
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    dict
        A verdict a property.
    """
    verdicts: dict[Property, Verdict] = dict.fromkeys(wanted, False)
    for done, flips in enumerate(questions):
        if progress is not None and not done % 500:
            progress(done, len(questions))
        longest, valid = max(len(flips.sham), len(flips.destroy)), flips.valid
        for one, before in verdicts.items():
            if one.holds is None or not (valid or one.invalid_too) or isinstance(before, str):
                continue
            if one.largest is None or longest <= one.largest:
                verdicts[one] = one.holds(estimator, flips) or before
    without_invalid = [flips for flips in questions if flips.valid]
    for one in verdicts:
        if one.holds_over_all is not None:
            verdicts[one] = one.holds_over_all(estimator, without_invalid)
    if progress is not None:
        progress(len(questions), len(questions))
    return verdicts


def check_longer(
    verdicts: dict[Property, Verdict], estimator: Estimator
) -> dict[Property, Verdict]:
    """Try longer questions on what has not failed; what fails is shrunk.

    Parameters
    ----------
    verdicts : dict
        As `check_small` gives them.
    estimator : Estimator
        What is verified.

    Returns
    -------
    dict
        The same with what failed now.
    """
    still = [one for one, verdict in verdicts.items() if not isinstance(verdict, str)]
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
    found = dict(verdicts)
    for one, flips in failing.items():
        found[one] = one.verdict(estimator, _reduced(flips, partial(_fails, one, estimator)))
    return found


def _fails(one: Property, estimator: Estimator, flips: Flips) -> bool:
    return isinstance(one.verdict(estimator, flips), str)


def _reduced(flips: Flips, fails: Callable[[Flips], bool]) -> Flips:
    """Shrunk until no replay and no flip can go."""
    for name, arm in flips._asdict().items():
        for i, flip in enumerate(arm if name != "self_flips" else ()):
            for less in ((), (0,)) if flip else ((),):
                smaller = flips._replace(**{name: arm[:i] + less + arm[i + 1 :]})
                if fails(smaller):
                    return _reduced(smaller, fails)
    return flips


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
