"""`Population`: how the flip probabilities vary over questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law._arguments import (
    generator,
    numbers,
    one_number,
    one_whole_number,
    probability,
    replay_budget,
)
from carve_stats.law.finite_replay import FiniteReplayLaw, SignShares
from carve_stats.law.score_rule import ScoreRule, as_rule
from carve_stats.population import serial
from carve_stats.population.draws import DrawnQuestions, cluster_codes, numbered
from carve_stats.population.families import BetaCopula, paper_family
from carve_stats.population.fit_result import PopulationFit
from carve_stats.population.summary import PopulationSummary, score_variance, summarise

__all__ = ["Population"]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Population:
    """A distribution of (p_sham, p_destroy) over questions, as weighted atoms.

    `homogeneous`, `beta` and `paper` make the usual ones. Those of the last two are
    continuous: their atoms are a quadrature that gives exact expectations, and their
    questions are drawn from the continuous law.

    Parameters
    ----------
    p_sham, p_destroy : array_like, shape (m,)
        The atoms, between 0 and 1.
    weights : array_like, shape (m,), optional
        Their probabilities, up to a common factor; equal where not given.
    stratum : array_like of str, shape (m,), optional
        The stratum of each atom.

    Attributes
    ----------
    family : BetaCopula or None
        The continuous law that the atoms are a quadrature of, and that questions are drawn from.
    fit : PopulationFit or None
        How the population was fitted, where it was.

    Raises
    ------
    InputError
        No atoms, lengths that differ, a probability outside [0, 1] or NaN, a weight that is
        negative or not finite, or weights that are all 0.

    Examples
    --------
    >>> population = Population([0.2, 0.7], [0.5, 0.7], [3, 1])
    >>> population.weights
    array([0.75, 0.25])
    >>> population.signs(1)
    SignShares(negative=0.1275, zero=0.52, positive=0.3525)
    """

    p_sham: NDArray[np.float64]
    p_destroy: NDArray[np.float64]
    weights: NDArray[np.float64]
    stratum: NDArray[np.str_] | None
    family: BetaCopula | None
    fit: PopulationFit | None

    def __init__(
        self,
        p_sham: ArrayLike,
        p_destroy: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        stratum: ArrayLike | None = None,
    ) -> None:
        sham, destroy = probability("p_sham", p_sham), probability("p_destroy", p_destroy)
        if sham.ndim != 1 or sham.size == 0:
            raise InputError(f"p_sham has shape {sham.shape}: give a list of at least one atom")
        columns = {"p_sham": sham, "p_destroy": destroy}
        columns["weights"] = _weights(np.ones(sham.size) if weights is None else weights)
        names = None if stratum is None else np.array(stratum).astype(np.str_)
        for name, column in {**columns, "stratum": names}.items():
            if column is not None and column.shape != sham.shape:
                raise InputError(
                    f"{name} has shape {column.shape} and p_sham {sham.shape}: give one an atom"
                )
            if column is not None:
                column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "family", None)
        object.__setattr__(self, "fit", None)

    @classmethod
    def homogeneous(cls, p_sham: float, p_destroy: float) -> Population:
        """Every question has the same two flip probabilities.

        Parameters
        ----------
        p_sham, p_destroy : float
            Between 0 and 1.

        Returns
        -------
        Population
            One atom.
        """
        return cls([p_sham], [p_destroy])

    @classmethod
    def beta(
        cls,
        mean_sham: float,
        concentration_sham: float,
        mean_destroy: float,
        concentration_destroy: float,
        *,
        correlation: float = 0.0,
        insensitive: float = 0.0,
        insensitive_mean: float = 0.5,
        insensitive_concentration: float = 2.0,
    ) -> Population:
        """Beta margins joined by a Gaussian copula, and an insensitive part.

        Parameters
        ----------
        mean_sham, mean_destroy : float
            Mean flip probabilities of the sensitive questions, inside (0, 1).
        concentration_sham, concentration_destroy : float
            Sums of the two Beta shapes, at least .05; a small one means much heterogeneity.
        correlation : float
            Of the copula's latent normals, inside (−1, 1).
        insensitive : float
            Probability that p_sham = p_destroy, drawn from a Beta law of its own.
        insensitive_mean, insensitive_concentration : float
            That law; of no effect while `insensitive` is 0.

        Returns
        -------
        Population
            Its atoms are a quadrature, good to about 1e-5 in the sign shares at k = 10 where the
            concentrations are at least .5 and to 2e-4 down to .05; it draws from the continuous
            law.

        Examples
        --------
        >>> Population.beta(.3, 2, .6, 2).signs(3)
        SignShares(negative=0.174..., zero=0.215..., positive=0.610...)
        """
        return cls._from_family(
            BetaCopula(
                mean_sham=(one_number("mean_sham", mean_sham),),
                mean_destroy=(one_number("mean_destroy", mean_destroy),),
                concentration_sham=one_number("concentration_sham", concentration_sham),
                concentration_destroy=one_number("concentration_destroy", concentration_destroy),
                correlation=one_number("correlation", correlation),
                insensitive=one_number("insensitive", insensitive),
                insensitive_mean=one_number("insensitive_mean", insensitive_mean),
                insensitive_concentration=one_number(
                    "insensitive_concentration", insensitive_concentration
                ),
            )
        )

    @classmethod
    def paper(cls) -> Population:
        """The reference population near the CARVE paper.

        Returns
        -------
        Population
            In the paper's four strata, with its flip rates at k = 3.

        Notes
        -----
        A fifth of the questions (.221) are insensitive, p_sham = p_destroy with mean .184 and
        concentration 31.514. The others have Beta margins with concentrations 2.018 and 1.427,
        the strata's means, and copula correlation .409.

        Examples
        --------
        >>> Population.paper().signs(k=10)
        SignShares(negative=0.165..., zero=0.124..., positive=0.710...)
        """
        return cls._from_family(paper_family())

    @classmethod
    def _from_family(cls, family: BetaCopula) -> Population:
        p_sham, p_destroy, weights, index = family.atoms()
        stratum = np.array(family.strata)[index] if family.strata else None
        population = cls(p_sham, p_destroy, weights, stratum=stratum)
        object.__setattr__(population, "family", family)
        return population

    @classmethod
    def _fitted(
        cls,
        p_sham: ArrayLike,
        p_destroy: ArrayLike,
        weights: ArrayLike,
        family: BetaCopula | None,
        fit: PopulationFit,
    ) -> Population:
        """Atoms that were fitted; with the family that they are a quadrature of, if any."""
        population = cls(p_sham, p_destroy, weights)
        object.__setattr__(population, "family", family)
        object.__setattr__(population, "fit", fit)
        return population

    def signs(
        self, k: int | None = None, *, k_sham: int | None = None, k_destroy: int | None = None
    ) -> SignShares:
        """Shares of questions whose score is negative, zero and positive.

        Parameters
        ----------
        k : int, optional
            Replays in each arm.
        k_sham, k_destroy : int, optional
            Replays in each arm where they differ; in the place of `k`.

        Returns
        -------
        SignShares of float
            The exact law, averaged over the atoms.

        References
        ----------
        - `proofs/thm_expected_sign.py`: how the signs at every k follow from the ties.
        - `proofs/thm_tie_moments.py`: tie rates are moments: they never rise with k, and are convex
          in it.
        - `proofs/thm_identified_moments.py`: populations of equal moments up to degree k have equal
          signs at k.
        - `proofs/thm_tie_excess_second_order.py`: heterogeneity raises ties at one k and lowers
          them at another.
        """
        sham, destroy = self._budget(k, k_sham, k_destroy)
        law = FiniteReplayLaw(self.p_sham, self.p_destroy, k_sham=sham, k_destroy=destroy)
        return SignShares(*(float(self.weights @ share) for share in law.signs()))

    def reliability(self, k: int) -> float:
        """Correlation of the scores of two independent runs over the same questions.

        Parameters
        ----------
        k : int
            Replays in each arm and run.

        Returns
        -------
        float
            NaN where scores do not vary at all.

        Notes
        -----
        With Δ = p_destroy − p_sham it is Var Δ/(Var Δ + E[p_sham q_sham + p_destroy q_destroy]/k),
        so that the formula of Spearman and Brown holds exactly.

        References
        ----------
        - Spearman, *Correlation calculated from faulty data*, and Brown, *Some experimental results
          in the correlation of mental abilities*, British Journal of Psychology 3 (1910).
        - `proofs/thm_reliability.py`: the correlation, and that the formula is exact.

        Examples
        --------
        >>> round(Population([.1, .5], [.1, .9]).reliability(3), 6)
        0.315789
        """
        replays = one_whole_number("k", k)
        between, within = score_variance(self, replays, replays)
        return between / (between + within) if between + within > 0.0 else float("nan")

    def summary(
        self,
        k: int | None = None,
        *,
        k_sham: int | None = None,
        k_destroy: int | None = None,
        rule: ScoreRule | str = "score < 0",
    ) -> PopulationSummary:
        """Signs, moments and the agreement of two runs, at one budget.

        Parameters
        ----------
        k : int, optional
            Replays in each arm.
        k_sham, k_destroy : int, optional
            Replays in each arm where they differ; in the place of `k`.
        rule : ScoreRule or str
            Which questions are selected, for the Jaccard index of two runs.

        Returns
        -------
        PopulationSummary
            Expectations over questions and replays. The two runs have this budget each and
            replay the same questions independently.

        Notes
        -----
        With a question's sign probabilities s and n = P(the rule selects it), two runs agree with
        probability E[Σ s²], and the Jaccard index is E[n²]/E[2n − n²]: a ratio of expectations,
        which the index of two actual runs approaches as the questions become many.

        Examples
        --------
        >>> summary = Population.paper().summary(3)
        >>> round(summary.reliability, 4), round(summary.agreement, 3), round(summary.jaccard, 3)
        (0.5606, 0.613, 0.21)
        """
        sham, destroy = self._budget(k, k_sham, k_destroy)
        parsed = as_rule(rule)
        return summarise(self, sham, destroy, parsed)

    def draw(
        self,
        n: int,
        *,
        clusters: int | None = None,
        icc: float = 0.0,
        rng: np.random.Generator | int,
    ) -> DrawnQuestions:
        """Draw questions with their flip probabilities.

        Parameters
        ----------
        n : int
            How many questions.
        clusters : int, optional
            How many videos to spread them over, each with at least one.
        icc : float
            The share of the latent normals' variance that is common to a video; needs
            `clusters` and a population made by `beta` or `paper`.
        rng : numpy.random.Generator or int
            The source of randomness, or a seed for one.

        Returns
        -------
        DrawnQuestions
            Ids, flip probabilities, clusters and strata.

        Raises
        ------
        InputError
            More clusters than questions, or an `icc` that this population cannot have.

        Notes
        -----
        Cluster sizes are 1 + a Dirichlet-multinomial with concentration 8 a cluster. For the
        video effects see `BetaCopula.draw`.
        """
        rng = generator(rng)
        count = one_whole_number("n", n)
        self._check_icc(icc, clusters)
        video = None if clusters is None else cluster_codes(count, clusters, rng)
        if self.family is None:
            atom = rng.choice(self.weights.size, size=count, p=self.weights)
            p_sham, p_destroy = self.p_sham[atom], self.p_destroy[atom]
            stratum = None if self.stratum is None else self.stratum[atom]
        else:
            p_sham, p_destroy, index = self.family.draw(count, video, icc, rng)
            stratum = np.array(self.family.strata)[index] if self.family.strata else None
        return DrawnQuestions(
            question=numbered("q", np.arange(count), width=6),
            p_sham=p_sham,
            p_destroy=p_destroy,
            cluster=None if video is None else numbered("v", video, width=3),
            stratum=stratum,
        )

    def sample(
        self,
        n: int,
        k: int,
        *,
        clusters: int | None = None,
        icc: float = 0.0,
        p_self: float | None = None,
        rng: np.random.Generator | int,
    ) -> ReplayCounts:
        """Draw questions and replay each of them.

        Parameters
        ----------
        n, k : int
            How many questions, and replays of each in each condition.
        clusters, icc
            As in `draw`.
        p_self : float, optional
            Flip probability of SELF replays; without it there are none.
        rng : numpy.random.Generator or int
            The source of randomness, or a seed for one.

        Returns
        -------
        ReplayCounts
            As from an agent that never gives an invalid answer.

        Examples
        --------
        >>> Population.paper().sample(1258, 3, clusters=103, icc=.1, rng=1)
        <ReplayCounts: 1258 questions, 1258 scored, 103 clusters>
        """
        rng = generator(rng)
        drawn = self.draw(n, clusters=clusters, icc=icc, rng=rng)
        return drawn.replay(k, p_self=p_self, rng=rng)

    def to_json(self) -> str:
        """The population as JSON text.

        Returns
        -------
        str
            Atoms, weights, strata, family and fit, with the version of the format. Reading it
            with `from_json` gives back every bit.

        Examples
        --------
        >>> text = Population([.1, .2], [.3, .5], [2, 1]).to_json()
        >>> text[:62]
        '{"format":"carve_stats.Population","version":1,"p_sham":[0.1,0'
        >>> Population.from_json(text).weights.tolist()
        [0.6666666666666666, 0.3333333333333333]
        """
        return serial.encode(serial.record_of(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Population:
        """Read a population that `to_json` wrote.

        Parameters
        ----------
        text : str or bytes
            The JSON.

        Returns
        -------
        Population
            The same, to the last bit.

        Raises
        ------
        InputError
            Anything else: another format or version, a part that is missing, unknown or out of
            range, weights that do not sum to 1, or atoms that are not those of their family.
        """
        record, family, fit = serial.decode(text)
        population = cls(record.p_sham, record.p_destroy, record.weights, stratum=record.stratum)
        weights = np.array(record.weights)  # dividing by their sum again may change a last bit
        weights.flags.writeable = False
        for name, value in (("weights", weights), ("family", family), ("fit", fit)):
            object.__setattr__(population, name, value)
        return population

    def __repr__(self) -> str:
        sham, destroy = self.weights @ self.p_sham, self.weights @ self.p_destroy
        kind = "atoms" if self.family is None else "quadrature points of a continuous law"
        return (
            f"<Population: {self.weights.size} {kind}, mean p_sham {sham:.4f},"
            f" mean p_destroy {destroy:.4f}>"
        )

    @staticmethod
    def _budget(k: int | None, k_sham: int | None, k_destroy: int | None) -> tuple[int, int]:
        for name, value in (("k", k), ("k_sham", k_sham), ("k_destroy", k_destroy)):
            if value is not None:
                one_whole_number(name, value)
        sham, destroy = replay_budget(k, k_sham, k_destroy)
        return int(sham), int(destroy)

    def _check_icc(self, icc: float, clusters: int | None) -> None:
        if not 0.0 <= one_number("icc", icc) < 1.0:
            raise InputError(f"icc={icc} must be at least 0 and below 1")
        if icc > 0.0 and clusters is None:
            raise InputError(f"icc={icc} needs clusters: give how many videos there are")
        if icc > 0.0 and self.family is None:
            raise InputError(
                f"icc={icc} needs a continuous population, and this one is given as atoms: use"
                " icc=0, or Population.beta or Population.paper"
            )


def _weights(values: ArrayLike) -> NDArray[np.float64]:
    weights = numbers("weights", values, "numbers of at least 0").astype(np.float64)
    wrong = np.argwhere(~(np.isfinite(weights) & (weights >= 0.0)))
    if wrong.size:
        index = tuple(wrong[0])
        place = ", ".join(str(int(i)) for i in index)
        raise InputError(f"weights[{place}]={weights[index]} must be a number of at least 0")
    largest = weights.max(initial=0.0)
    if not largest > 0.0:
        raise InputError("weights are all 0: at least one must be above 0")
    weights = weights / largest  # so that the sum is finite
    return weights / weights.sum()
