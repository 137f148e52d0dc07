"""`populations`: distributions of the flip probabilities over questions."""

from __future__ import annotations

from hypothesis import strategies as st

from carve_stats.population.mixing import Population
from carve_stats.testing.strategies.bounds import check_bounds
from carve_stats.testing.strategies.laws import flip_probabilities
from carve_stats.testing.strategies.rows import rows_of

__all__ = ["populations"]


def populations(*, max_atoms: int = 6, strata: bool = False) -> st.SearchStrategy[Population]:
    """Populations of weighted atoms (p_sham, p_destroy).

    Parameters
    ----------
    max_atoms : int
        The most atoms; the fewest are one.
    strata : bool
        Whether each atom has a stratum.

    Returns
    -------
    SearchStrategy
        Of `Population`; shrinks to one atom at (0, 0).

    Raises
    ------
    InputError
        Bounds that leave nothing to draw.

    Examples
    --------
    >>> from carve_stats.testing.smallest import find_smallest
    >>> find_smallest(populations(), lambda one: one.signs(1).positive > 0, tries=50).p_sham.size
    1
    """
    check_bounds(1, max_atoms=max_atoms)
    atom = st.tuples(
        flip_probabilities(), flip_probabilities(), st.integers(1, 20), st.sampled_from("abc")
    )
    return rows_of(atom, least=1, most=max_atoms).map(lambda atoms: _population(atoms, strata))


def _population(atoms: list[tuple[float, float, int, str]], strata: bool) -> Population:
    p_sham, p_destroy, weights, stratum = map(list, zip(*atoms, strict=True))
    return Population(p_sham, p_destroy, weights, stratum=stratum if strata else None)
