"""`laws`: exact laws of the score, at the edges too."""

from __future__ import annotations

from hypothesis import strategies as st

from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.testing.strategies.bounds import check_bounds

__all__ = ["flip_probabilities", "laws"]


def flip_probabilities() -> st.SearchStrategy[float]:
    """Flip probabilities: 0, 1, tiny ones, and those between; shrinks to 0."""
    return st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 0.5, 1e-300, 2.0**-53, 1 - 2.0**-53])


def laws(
    *, min_k: int = 1, max_k: int = 12, equal_k: bool = False
) -> st.SearchStrategy[FiniteReplayLaw]:
    """Laws of the score of one question; their first use compiles: test with ``deadline=None``.

    Parameters
    ----------
    min_k, max_k : int
        The fewest and the most replays in an arm.
    equal_k : bool
        Whether both arms have as many.

    Returns
    -------
    SearchStrategy
        Of `FiniteReplayLaw` with scalar parameters; shrinks to few replays and to rates of 0.

    Raises
    ------
    InputError
        Bounds that leave nothing to draw.

    Examples
    --------
    >>> from carve_stats.testing.smallest import find_smallest
    >>> law = find_smallest(laws(), lambda law: law.tie() < 1, tries=100)
    >>> int(law.k_sham), int(law.k_destroy)
    (1, 1)
    """
    check_bounds(1, min_k=min_k, max_k=max_k)
    k = st.integers(min_k, max_k)
    budgets = k.map(lambda one: (one, one)) if equal_k else st.tuples(k, k)
    return st.builds(_law, flip_probabilities(), flip_probabilities(), budgets)


def _law(p_sham: float, p_destroy: float, budget: tuple[int, int]) -> FiniteReplayLaw:
    return FiniteReplayLaw(p_sham, p_destroy, k_sham=budget[0], k_destroy=budget[1])
