"""`flip_sequences`: the replays of one question, one by one."""

from __future__ import annotations

from hypothesis import strategies as st

from carve_stats.testing.flips import Flips
from carve_stats.testing.strategies.bounds import check_bounds

__all__ = ["flip_sequences"]


def flip_sequences(
    *, min_k: int = 0, max_k: int = 12, invalid: bool = True
) -> st.SearchStrategy[Flips]:
    """Replays of one question in the order in which they were made.

    Parameters
    ----------
    min_k, max_k : int
        The fewest and the most replays in an arm, invalid ones among them.
    invalid : bool
        Whether replays may be invalid.

    Returns
    -------
    SearchStrategy
        Of `Flips` with tuples `sham`, `destroy` and `self_flips` of 1 (a flip), 0 and None (an
        invalid replay); shrinks to few replays without a flip.

    Raises
    ------
    InputError
        Bounds that leave nothing to draw.

    Examples
    --------
    >>> from carve_stats.testing.smallest import find_smallest
    >>> find_smallest(flip_sequences(), lambda flips: 1 in flips.sham, tries=100)
    Flips(sham=(1,), destroy=(), self_flips=())
    """
    check_bounds(0, min_k=min_k, max_k=max_k)
    outcomes = st.sampled_from([0, 1, None] if invalid else [0, 1])

    def arm(least: int) -> st.SearchStrategy[tuple[int | None, ...]]:
        return st.lists(outcomes, min_size=least, max_size=max_k).map(tuple)

    return st.builds(Flips, arm(min_k), arm(min_k), arm(0))
