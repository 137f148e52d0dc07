r"""Intervals for the mean score that hold at every look

Let $z_1, z_2, \dots$ be independent normal with mean 0 and one variance, which is not known;
$s_t$ and $q_t$ are the sums of the first $t$ values and of their squares. For a $c > 0$ put

[[evidence]]

with $\rho = s_t/\sqrt{q_t}$. Then $e_1 = 1$, and given the ratios of the values so far the next
value $r = z_{t+1}/\sqrt{q_t}$ has the density

[[next_value]]

under which $e$ is a martingale, its mean taken over $r$ and $-r$ together:

[[martingale]]

So for the probability $P$ that $e_t \ge 1/\alpha$ at any time $t \le T$, however late $T$ is,

[[ville]]

For scores that sum to $S_v$ over the $n_v$ questions of video $v$, take $z_v = S_v - \theta n_v$.
The interval after $t$ videos is the set of candidates $\theta$ with $e_t < 1/\alpha$; around the
estimate $\hat\theta = \sum S_v/\sum n_v$, with $u = \theta - \hat\theta$,
$\gamma = ((1+tc^2)/\alpha^2)^{1/t}$, $N = \sum n_v$, $W = \sum n_v^2$,
$\Pi = \sum (S_v - \hat\theta n_v) n_v$ and $\Delta = \sum (S_v - \hat\theta n_v)^2$, it is

[[interval]]

an interval where $(\gamma - 1)W < \gamma\kappa_t N^2$ with $\kappa_t = c^2/(1+tc^2)$, and else
everything or what is outside a gap (all but one ray, at equality); $[-1, 1]$ then stands for it.

If the $z_v$ are as above, all intervals together hold the true $\theta$ with probability at least
$1 - \alpha$. The smallest $1/e_s$, $s \le t$, for $\theta = 0$ is a p-value at whatever $t$ one
stops. Leaving out looks, such as those at the first videos, keeps both.

Proof

1. Given the variance $\sigma^2$, the likelihood ratio of a mean $\delta\sigma$,
   $\delta \sim N(0, c^2)$, against 0 is
   $\int e^{\delta s/\sigma - t\delta^2/2}dN(\delta) = (1+tc^2)^{-1/2}e^{\kappa_ts^2/(2\sigma^2)}$
   with $\kappa_t = c^2/(1+tc^2)$. Both likelihoods integrated over $d\sigma/\sigma$,
   $\int \sigma^{-t-1} e^{-h/(2\sigma^2)} d\sigma \propto h^{-t/2}$ with $h = q - \kappa_t s^2$
   and $h = q$; their ratio is $e_t$, and for $t = 1$, where $\rho^2 = 1$, it is 1.
2. The ratios $z_1 : z_2 : \dots : z_t$ are independent of $q_t$, and $z_{t+1}$ of both;
   $q_t/\sigma^2$ is $\chi^2_t$. So $r$ is normal with variance $1/w$ for $w \sim \chi^2_t$;
   integrated over $w$ this is the density ($\sqrt t\,r$ has Student's law).
3. After the next value $\rho$ becomes $(\rho + r)/\sqrt{1+r^2}$. With
   $\kappa_{t+1} = c^2/(1+(t+1)c^2)$ the integrand is a constant times
   $(1 + r^2 - \kappa_{t+1}(\rho+r)^2)^{-(t+1)/2}$, and the square is completed,
   $1 + r^2 - \kappa_{t+1}(\rho+r)^2 = A(r - r_0)^2 + B$ with $A = 1 - \kappa_{t+1}$ and
   $B = 1 - \kappa_t\rho^2$. By
   $\int (A r^2 + B)^{-(t+1)/2} dr = \sqrt{\pi/A}\;\Gamma(t/2)/\Gamma((t+1)/2)\;B^{-t/2}$ the mean
   is $e_t$.
4. Let $\tau \le T$ be the first time at which $e$ reaches $1/\alpha$, or $T$. A martingale
   stopped has the same mean, so $1 = \mathrm{E}\,e_\tau \ge P(\tau \text{ reaches})/\alpha$. That
   holds for every $T$, and the events grow with $T$.
5. $e_t < 1/\alpha$ is $1 - \kappa_t s^2/q > \gamma^{-1}$, that is
   $(\gamma - 1) q - \gamma\kappa_t s^2 > 0$. At the candidate $\hat\theta + u$ is $s = -uN$ and
   $q = \Delta - 2u\Pi + u^2 W$.

References

- H. Wang, A. Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with
  unknown variance, arXiv:2310.03722.
- J. Ville, *Étude critique de la notion de collectif*, Gauthier-Villars 1939.
- T. L. Lai, On confidence sequences, *Annals of Statistics* 4 (1976) 265–280.
"""

from itertools import product

import mpmath
import numpy as np
import sympy
from sympy import Eq, Gt, Integral, Le, exp, gamma, oo, pi, sqrt

import carve_stats as cs

t, c, sigma = sympy.symbols("t c sigma", positive=True)
rho, r, s, u, Pi = sympy.symbols("rho r s u Pi", real=True)
q, N, W, Delta, growth = sympy.symbols("q N W Delta gamma", positive=True)
alpha = sympy.Symbol("alpha", positive=True)
evidence, density, reached = sympy.symbols("e_t f_t P")


def kappa(time):
    return c**2 / (1 + time * c**2)


def e_value(time, square):
    """e at a time, from the square of ρ."""
    return (1 + time * c**2) ** sympy.Rational(-1, 2) * (1 - kappa(time) * square) ** (-time / 2)


_NEXT = gamma((t + 1) / 2) / (sqrt(pi) * gamma(t / 2)) * (1 + r**2) ** (-(t + 1) / 2)
FORMULAS = {
    "evidence": Eq(evidence, e_value(t, rho**2)),
    "next_value": Eq(density, _NEXT),
    "martingale": Eq(
        Integral(
            (
                e_value(t + 1, (rho + r) ** 2 / (1 + r**2))
                + e_value(t + 1, (rho - r) ** 2 / (1 + r**2))
            )
            * _NEXT,
            (r, 0, oo),
        ),
        e_value(t, rho**2),
    ),
    "ville": Le(reached, alpha),
    "interval": Gt(
        (growth - 1) * (Delta - 2 * u * Pi + u**2 * W) - growth * kappa(t) * N**2 * u**2, 0
    ),
}
USED_BY = ("monitor_mean_score",)


def test_step_1():
    delta = sympy.Symbol("delta", real=True)
    prior = exp(-(delta**2) / (2 * c**2)) / sqrt(2 * pi * c**2)
    # The normal integral ∫ e^(ℓδ − mδ²) dδ = √(π/m) e^(ℓ²/(4m)), and its ℓ and m.
    linear, square = sympy.Symbol("linear", real=True), sympy.Symbol("square", positive=True)
    normal = sympy.integrate(exp(linear * delta - square * delta**2), (delta, -oo, oo))
    exponent = sympy.expand(delta * s / sigma - t * delta**2 / 2 - delta**2 / (2 * c**2))
    places = {linear: exponent.coeff(delta, 1), square: -exponent.coeff(delta, 2)}
    ratio = normal.subs(places) * prior.subs(delta, 0)
    said = (1 + t * c**2) ** sympy.Rational(-1, 2) * exp(kappa(t) * s**2 / (2 * sigma**2))
    assert sympy.simplify(ratio / said) == 1
    # ∫ σ^(−t−1) e^(−h/(2σ²)) dσ, in v = h/(2σ²): Γ(t/2) 2^(t/2−1) h^(−t/2).
    v, h = sympy.symbols("v h", positive=True)
    of_v = sqrt(h / (2 * v))
    integrand = of_v ** (-t - 1) * exp(-v) * -sympy.diff(of_v, v)
    kernel = v ** (t / 2 - 1) * exp(-v)
    factor = sympy.simplify(integrand / kernel)
    assert sympy.simplify(factor - 2 ** (t / 2 - 1) * h ** (-t / 2)) == 0
    share = sympy.Symbol("share", positive=True)  # h of the alternative by that of the null
    by_scale = sympy.simplify(factor.subs(h, q * share) / factor.subs(h, q))
    assert sympy.simplify(by_scale / share ** (-t / 2)) == 1
    found = (1 + t * c**2) ** sympy.Rational(-1, 2) * (1 - kappa(t) * rho**2) ** (-t / 2)
    assert sympy.simplify(FORMULAS["evidence"].rhs / found) == 1
    assert sympy.simplify(FORMULAS["evidence"].rhs.subs({t: 1, rho: 1})) == 1


def test_step_2():
    w = sympy.Symbol("w", positive=True)
    chi = w ** (t / 2 - 1) * exp(-w / 2) / (2 ** (t / 2) * gamma(t / 2))
    normal = sqrt(w / (2 * pi)) * exp(-w * r**2 / 2)
    # The integral over w is that of a gamma law with the shape (t + 1)/2 and rate (1 + r²)/2.
    shape, rate = (t + 1) / 2, (1 + r**2) / 2
    of_gamma = rate**shape / gamma(shape) * w ** (shape - 1) * exp(-rate * w)
    found = sympy.simplify(sympy.powsimp(sympy.expand(chi * normal / of_gamma), force=True))
    assert sympy.simplify(sympy.powsimp(found / FORMULAS["next_value"].rhs, force=True)) == 1


def test_step_3():
    integral = FORMULAS["martingale"].lhs
    assert integral.limits == ((r, 0, oo),)
    later = kappa(t + 1)
    quadratic = 1 + r**2 - later * (rho + r) ** 2
    constant = (
        (1 + (t + 1) * c**2) ** sympy.Rational(-1, 2)
        * gamma((t + 1) / 2)
        / (sqrt(pi) * gamma(t / 2))
    )
    # (1 − κ′(ρ+r)²/(1+r²))^(−(t+1)/2) (1 + r²)^(−(t+1)/2): both bases are positive.
    one, other = sympy.symbols("one other", positive=True)
    power = -(t + 1) / 2
    assert sympy.simplify((one / other) ** power * other**power / one**power) == 1
    next_e = e_value(t + 1, (rho + r) ** 2 / (1 + r**2))
    at_r = next_e * FORMULAS["next_value"].rhs
    # The whole line, folded at 0.
    assert sympy.expand(integral.function - at_r - at_r.subs(r, -r)) == 0
    base = 1 - later * (rho + r) ** 2 / (1 + r**2)
    assert sympy.simplify(base * (1 + r**2) - quadratic) == 0
    assert sympy.simplify(next_e / (base**power)) == (1 + (t + 1) * c**2) ** sympy.Rational(-1, 2)

    A, B, r_0 = 1 - later, 1 - kappa(t) * rho**2, later * rho / (1 - later)
    assert sympy.simplify(A * (r - r_0) ** 2 + B - quadratic) == 0
    # ∫ (A r² + B)^(−(t+1)/2) dr with r = √(B/A) x, and x the variable of Student's density.
    a, b, x = sympy.symbols("a b x", positive=True)
    scaled = (a * (sqrt(b / a) * x) ** 2 + b) ** power * sqrt(b / a)
    plain = (1 + x**2) ** power
    factor = sympy.simplify(sympy.powsimp(sympy.factor(scaled) / plain, force=True))
    assert sympy.simplify(factor / (b ** (-t / 2) / sqrt(a))) == 1
    student = sqrt(pi) * gamma(t / 2) / gamma((t + 1) / 2)  # ∫ plain dx, by step 2
    assert sympy.simplify(plain.subs(x, r) / FORMULAS["next_value"].rhs / student) == 1
    mean = sympy.simplify(constant * student * A ** sympy.Rational(-1, 2)) * B ** (-t / 2)
    assert sympy.simplify((FORMULAS["martingale"].rhs / mean) ** 2) == 1
    at = {rho: 0, t: 1, c: 1}  # of the two roots of 1, the positive one
    assert sympy.simplify((FORMULAS["martingale"].rhs / mean).subs(at)) == 1


def test_step_4():
    ville = FORMULAS["ville"]
    over, rest = sympy.symbols("over rest", nonnegative=True)
    # Where e reached 1/α it is that and something over; elsewhere it is not negative.
    mean = reached * (1 / alpha + over) + rest
    said = ville.gts - ville.lts  # α − P, and E e = 1
    assert sympy.expand((alpha * mean - reached) - (said.subs(alpha, alpha * mean))) == 0
    assert sympy.expand(alpha * mean - reached - alpha * (reached * over + rest)) == 0


def test_step_4_for_every_stopping_time_up_to_3_values():
    """A martingale on a tree of coin tosses has one mean, whenever it is stopped."""
    p = sympy.Symbol("p")
    leaves = {
        path: sympy.Symbol(f"e{''.join(map(str, path))}") for path in product((0, 1), repeat=3)
    }

    def value(path):
        if len(path) == 3:
            return leaves[path]
        return sympy.expand(p * value((*path, 1)) + (1 - p) * value((*path, 0)))

    def stopped(path):
        """The mean of every stopping time from a node on."""
        yield value(path)
        if len(path) < 3:
            for up, down in product(stopped((*path, 1)), stopped((*path, 0))):
                yield p * up + (1 - p) * down

    for mean in stopped(()):
        assert sympy.expand(mean - value(())) == 0


def test_step_5():
    # 1 − κ s²/q > 1/γ, times γ q.
    threshold = sympy.expand(growth * q * (1 - kappa(t) * s**2 / q - 1 / growth))
    assert sympy.simplify(threshold - ((growth - 1) * q - growth * kappa(t) * s**2)) == 0
    # γ is where e reaches 1/α: (1 + tc²)^(−1/2) γ^(t/2) = 1/α.
    root = ((1 + t * c**2) / alpha**2) ** (1 / t)
    reached_at = (1 + t * c**2) ** sympy.Rational(-1, 2) * root ** (t / 2)
    assert sympy.simplify(reached_at * alpha) == 1
    # The sums of z = (S − θ̂ n) − u n, with Σ (S − θ̂ n) = 0.
    a, b = sympy.symbols("a b")  # S − θ̂ n, and n
    square = sympy.Poly(sympy.expand((a - u * b) ** 2), a, b)
    names = {(2, 0): Delta, (1, 1): Pi, (0, 2): W}
    q_sum = sum(coefficient * names[powers] for powers, coefficient in square.terms())
    s_sum = sympy.Poly(a - u * b, a, b).coeff_monomial(b) * N
    said = FORMULAS["interval"].gts - FORMULAS["interval"].lts
    found = threshold.subs({q: q_sum, s: s_sum})
    assert sympy.simplify(sympy.expand(found - said)) == 0


def test_implementation_monitor_mean_score():
    """e at both ends of every interval, and the p-value, to 30 digits from the counts."""
    population = cs.Population.paper()
    counts = population.sample(400, 3, clusters=40, icc=0.1, rng=7)
    level, planned = 0.875, 50  # 1 − level is a double
    watch = cs.monitor_mean_score(counts, level=level, planned=planned)
    mpmath.mp.dps = 30
    alpha_ = mpmath.mpf(1) - mpmath.mpf(level)
    odds = -2 * mpmath.log(alpha_)
    c_square = (odds + mpmath.log(1 + odds)) / planned
    totals = {}
    for video, x, y in zip(counts.cluster, counts.sham_flips, counts.destroy_flips, strict=True):
        flips, size = totals.get(video, (0, 0))
        totals[video] = flips + int(y - x), size + 1
    values = [(mpmath.mpf(totals[video][0]) / 3, totals[video][1]) for video in watch.videos]

    def e_at(theta, videos):
        z = [total - mpmath.mpf(theta) * size for total, size in values[:videos]]
        share = c_square / (1 + videos * c_square) * mpmath.fsum(z) ** 2
        share /= mpmath.fsum(one**2 for one in z)
        return (1 + videos * c_square) ** -0.5 * (1 - share) ** (-mpmath.mpf(videos) / 2)

    seen, largest = 0, mpmath.mpf(1)
    for place in range(len(values)):
        low, high = watch.path.low[place], watch.path.high[place]
        if low > -1.0 and high < 1.0:
            seen += 1
            for end in (low, high):
                assert abs(e_at(end, place + 1) * alpha_ - 1) < 1e-12
            assert low < watch.path.estimate[place] < high
            largest = max(largest, e_at(0, place + 1))
        assert abs(watch.path.p_value[place] * largest - 1) < 1e-12
    assert seen > 10
    assert np.isclose(float(values[0][0] / values[0][1]), watch.path.estimate[0], rtol=1e-14)
