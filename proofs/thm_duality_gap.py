r"""The duality gap bounds what a fitted population lacks of the greatest likelihood

The share $f_c$ of the questions shows the outcome $c$, and a question at the atom $j$ shows it
with probability $A_{cj}$. A population with the weights $w$ has the outcome probabilities
$m_c = \sum_j A_{cj} w_j$ and the mean log likelihood $\ell(w) = \sum_c f_c \log m_c$. With

[[gradient]]

for every other population, with weights $v$ on these atoms,

[[gain]]

because for $u > 0$

[[tangent]]

So for $n$ questions the log likelihood is within $n$ times that of the greatest. The bound is
never negative, since

[[mean]]

and where it is 0 the population is one of greatest likelihood, with $D_j = 1$ at every atom that
has weight.

Proof

1. The logarithm lies below its tangent: $u - 1 - \log u$ is convex, with the derivative $1 - 1/u$,
   so that its least value is that at $u = 1$, which is 0.
2. With $M_c = \sum_j A_{cj} v_j$, and $u = M_c/m_c$ in every outcome,
   $\ell(v) - \ell(w) = \sum_c f_c\log\frac{M_c}{m_c} \le \sum_c f_c\frac{M_c}{m_c} - 1$, as
   $\sum_c f_c = 1$. The sum, in the other order, is
   $\sum_j v_j \sum_c f_c A_{cj}/m_c = \sum_j v_j D_j$.
3. A weighted mean is at most the greatest value, so $\sum_j v_j D_j \le \max_j D_j$.
4. With $v = w$ the sum of step 2 is $\sum_c f_c\,m_c/m_c = 1$. So some $D_j \ge 1$, and where none
   is greater, all that have weight are 1.

References

- Lindsay, "The geometry of mixture likelihoods: a general theory", *Annals of Statistics* 11
  (1983); Boyd and Vandenberghe, *Convex Optimization* (2004), §3.1.3, for the tangent.
"""

import math

import numpy as np
import sympy
from sympy import Eq, IndexedBase, Sum, Symbol, log

import carve_stats as cs

c, j = sympy.symbols("c j", integer=True, positive=True)
outcomes, atoms = sympy.symbols("C J", integer=True, positive=True)
f, m, w, v, D = (IndexedBase(name) for name in ("f", "m", "w", "v", "D"))
A = IndexedBase("A")
u = Symbol("u", positive=True)
gain, greatest = Symbol(r"\ell(v) - \ell(w)"), Symbol(r"\max_{j} D_j")

FORMULAS = {
    "gradient": Eq(D[j], Sum(f[c] * A[c, j] / m[c], (c, 1, outcomes))),
    "tangent": sympy.Le(log(u), u - 1),
    "gain": sympy.Le(gain, greatest - 1),
    "mean": Eq(Sum(w[j] * D[j], (j, 1, atoms)), 1),
}
USED_BY = ("fit_population", "homogeneity_test")


def test_step_1():
    relation = FORMULAS["tangent"]
    above = relation.gts - relation.lts
    assert sympy.diff(above, u, 2).is_positive
    assert sympy.diff(above, u).subs(u, 1) == 0
    assert above.subs(u, 1) == 0


def test_step_2():
    gradient = FORMULAS["gradient"].rhs
    assert gradient.limits == ((c, 1, outcomes),)
    # Σ_c f_c M_c/m_c, of which each M_c is Σ_j A_cj v_j: the summand of both sums.
    ours = f[c] / m[c] * (A[c, j] * v[j])
    assert sympy.expand(ours - v[j] * gradient.function) == 0


def test_step_3():
    relation = FORMULAS["gain"]
    # D_j = max − shortfall_j, and ℓ(v) − ℓ(w) = Σ v_j D_j − 1 − tangent, all of them ≥ 0.
    shortfalls = sympy.symbols("shortfall_1:4", nonnegative=True)
    tangent = Symbol("tangent", nonnegative=True)
    odds = sympy.symbols("odds_1:4", positive=True)
    weights = [one / sum(odds) for one in odds]
    averaged = sum(
        weight * (greatest - short) for weight, short in zip(weights, shortfalls, strict=True)
    )
    difference = (relation.gts - relation.lts).subs(gain, averaged - 1 - tangent)
    left = sum(weight * short for weight, short in zip(weights, shortfalls, strict=True)) + tangent
    assert sympy.simplify(difference - left) == 0
    assert left.is_nonnegative


def test_step_4():
    gradient, mean = FORMULAS["gradient"].rhs, FORMULAS["mean"]
    (summed,) = mean.lhs.atoms(Sum)
    ours = summed.function.subs(D[j], gradient.function)  # summed over j, and c
    (own,) = [ours.coeff(A[c, j]).coeff(w[j])]  # and Σ_j A_cj w_j = m_c
    shares = sympy.simplify(own * m[c])
    assert shares == f[c]
    assert mean.lhs.limits == ((j, 1, atoms),)
    assert mean.rhs == 1  # Σ f_c: every question shows one outcome


def data():
    """Sixteen questions at k = 2 in six different outcomes."""
    tables = [(0, 2)] * 5 + [(1, 1)] * 4 + [(0, 0)] * 3 + [(2, 2)] * 2 + [(1, 2), (2, 0)]
    sham, destroy = zip(*tables, strict=True)
    counts = cs.ReplayCounts([f"q{i:02}" for i in range(16)], sham, [2] * 16, destroy, [2] * 16)
    return counts, sorted(set(tables)), [tables.count(t) / 16 for t in sorted(set(tables))]


def matrix(tables, p_sham, p_destroy):
    """A, computed here from the binomials of k = 2."""
    rows = [
        math.comb(2, x) * p_sham**x * (1 - p_sham) ** (2 - x)
        * math.comb(2, y) * p_destroy**y * (1 - p_destroy) ** (2 - y)
        for x, y in tables
    ]  # fmt: skip
    return np.array(rows)


def likelihood(tables, shares, population):
    fitted = matrix(tables, population.p_sham, population.p_destroy) @ population.weights
    return float(shares @ np.log(fitted))


def test_implementation_fit_population():
    counts, tables, shares = data()
    shares = np.array(shares)
    em, best = (cs.fit_population(counts, method=method) for method in ("em", "npmle"))
    grid = matrix(tables, em.p_sham, em.p_destroy)  # every point of the grid is an atom of em
    for population in (em, best):
        fitted = matrix(tables, population.p_sham, population.p_destroy) @ population.weights
        gap = (grid.T @ (shares / fitted)).max() - 1
        told = population.fit
        assert abs(told.log_likelihood - likelihood(tables, shares, population)) < 1e-13
        if population is em:
            assert abs(told.duality_gap - gap) < 1e-12
        assert gap <= told.duality_gap + 1e-12
        assert told.duality_gap > -1e-12
        rivals = [em, best, cs.Population.homogeneous(9 / 16, 5 / 8)]
        rivals += [cs.Population([0.0, 0.5, 0.0, 1.0, 1.0], [1.0, 0.5, 0.0, 1.0, 0.0])]
        for rival in rivals:
            lead = likelihood(tables, shares, rival) - told.log_likelihood
            assert lead <= told.duality_gap + 1e-12
    at_atoms = matrix(tables, best.p_sham, best.p_destroy)
    gradient = at_atoms.T @ (shares / (at_atoms @ best.weights))
    assert np.abs(gradient[best.weights > 1e-6] - 1).max() < 1e-4


def test_implementation_homogeneity_test():
    """The statistic is 2n times a lead, which the gap of the pooled rates bounds."""
    counts, tables, shares = data()
    shares = np.array(shares)
    result = cs.homogeneity_test(counts, resamples=1, rng=1)
    alike = cs.Population.homogeneous(result.rates["sham"], result.rates["destroy"])
    base = likelihood(tables, shares, alike)
    lead = likelihood(tables, shares, result.population) - base
    assert abs(result.statistic - 2 * 16 * lead) < 1e-11
    em = cs.fit_population(counts)
    grid = matrix(tables, em.p_sham, em.p_destroy)
    only = matrix(tables, alike.p_sham, alike.p_destroy) @ alike.weights
    gap = (grid.T @ (shares / only)).max() - 1
    assert 0 < result.statistic <= 2 * 16 * gap
    assert result.statistic >= 2 * 16 * (likelihood(tables, shares, em) - base) - 2 * 16 * 1e-10
