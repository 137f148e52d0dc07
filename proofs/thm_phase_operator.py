r"""One phase field for all channels keeps amplitudes, cross-spectra and covariances

A picture has $H$ rows and $W$ columns; $F_a$ is the discrete Fourier transform of its channel
$a$, which is real, at row $h$ and column $w$, counted modulo $H$ and $W$. Let a field of phases
$\phi$ be antisymmetric,

[[antisymmetric]]

up to multiples of $2\pi$, and added to the phases of every channel,

[[rotated]]

Then $G_a$ is the transform of a real picture, and the cross-spectrum $C$ of every two channels,
$a = b$ included, stays

[[cross]]

and with it power spectra and amplitudes ($a = b$). If $\phi(0, 0) = 0$, so are each channel's
mean and, since

[[parseval]]

(the sum on the left over the pixels) all covariances of the channels. With fields of their own
for the channels the cross-spectra, where they are not 0, would be kept only where the fields are
equal up to multiples of $2\pi$.

Antisymmetry leaves no choice in a bin that is its own conjugate: there

[[own_conjugate]]

and the phase is 0 or $\pi$. The half spectrum of a real picture keeps the columns
$0 \le w \le \lfloor W/2 \rfloor$. The conjugate of a bin in column $w > 0$ lies in column
$W - w$, and

[[columns]]

with equality exactly for $w = W/2$. So a field drawn freely has to be made antisymmetric within
column 0 and, for even $W$, within column $W/2$, and nowhere else; own conjugates are the bins of
these columns with $h = 0$ and, for even $H$, $h = H/2$.

Proof

1. A picture is real if and only if $F$ at $(-h, -w)$ is the conjugate $\overline F$ of $F$ at
   $(h, w)$: then the terms of the inverse transform at the two are conjugate, so that their sum
   is real; and the transform of a real picture conjugates when its angles change sign.
2. At $(-h, -w)$ the transform is $\overline{F_a}$ by step 1 and the phase is $-\phi$, so that
   $G_a$ is $\overline{F_a}\,e^{-i\phi}$, the conjugate of $G_a$ at $(h, w)$.
3. $e^{i\phi}\,e^{-i\phi} = 1$, and for two fields $\phi$ and $\psi$ it is $e^{i(\phi-\psi)}$, which
   is 1 only where these are equal.
4. $\sum_{h} e^{2\pi i h d/H} = \frac{1 - e^{2\pi i d}}{1 - e^{2\pi i d/H}} = 0$ for whole $d$
   that are not multiples of $H$, and $H$ for those that are; likewise for columns. So in
   $\sum_{h,w} F_a \overline{F_b}$ only the products of a pixel with itself are left, $HW$ times.
   The mean is $F(0,0)/(HW)$, and the covariance the mean product less the product of the means.
5. $(h, w) = (-h, -w)$ means $2h \equiv 0$ and $2w \equiv 0$, and since $0 \le 2h < 2H$ that $2h$
   is 0 or $H$, and so $w$; then $\phi = -\phi$ up to multiples
   of $2\pi$, $\sin\phi = 0$, and $e^{i\phi} = \cos\phi = \pm 1$.
6. $2w \le W$ in the half spectrum, so that $W - w - \lfloor W/2 \rfloor \ge 0$: for $W = 2v$ it
   is $v - w$, for $W = 2v + 1$ it is $v + 1 - w \ge 1$.

References

- J. Theiler, S. Eubank, A. Longtin, B. Galdrikian, J. D. Farmer, Testing for nonlinearity in time
  series: the method of surrogate data, *Physica D* 58 (1992) 77–94.
- D. Prichard, J. Theiler, Generating surrogate data for time series with several simultaneously
  measured variables, *Physical Review Letters* 73 (1994) 951–954, for one field added to all
  channels.
"""

from itertools import product

import numpy as np
import pytest
import sympy
from sympy import Eq, Ge, I, Sum, Symbol, conjugate, exp, floor, pi, re, sin

from carve_stats.replay.operators import load_operator
from carve_stats.replay.operators.phase import phase_field, rotate_phases

h, w, d = sympy.symbols("h w d", integer=True)
H, W, v = sympy.symbols("H W v", integer=True, positive=True)
r, s = sympy.symbols("r s", integer=True)  # a pixel
phi = sympy.Function("phi", real=True)
F_a, F_b, G_a, G_b = sympy.symbols("F_a F_b G_a G_b")  # at (h, w)
C = sympy.Function("C")
x_a, x_b = sympy.Function("x_a", real=True), sympy.Function("x_b", real=True)

FORMULAS = {
    "antisymmetric": Eq(phi(-h, -w), -phi(h, w)),
    "rotated": Eq(G_a, F_a * exp(I * phi(h, w))),
    "cross": Eq(G_a * conjugate(G_b), F_a * conjugate(F_b)),
    "parseval": Eq(
        Sum(x_a(r, s) * x_b(r, s), (r, 0, H - 1), (s, 0, W - 1)),
        Sum(C(h, w), (h, 0, H - 1), (w, 0, W - 1)) / (H * W),
    ),
    "own_conjugate": Eq(sin(phi(h, w)), 0),
    "columns": Ge(W - w, floor(W / 2)),
}
USED_BY = ("replay.operators.phase.phase_field", "replay.operators.phase.rotate_phases")


def rotated(transform):
    """What the statement makes of a transform."""
    return FORMULAS["rotated"].rhs.subs(F_a, transform)


def test_step_1():
    value, angle = Symbol("value"), Symbol("angle", real=True)
    pair = value * exp(I * angle) + conjugate(value) * exp(-I * angle)
    assert sympy.simplify(conjugate(pair) - pair) == 0
    pixel = Symbol("pixel", real=True)
    term = pixel * exp(-2 * pi * I * (h * r / H + w * s / W))
    assert sympy.simplify(term.subs({h: -h, w: -w}, simultaneous=True) / conjugate(term)) == 1


def test_step_2():
    mirrored = {h: -h, w: -w}
    there = FORMULAS["rotated"].rhs.subs(mirrored, simultaneous=True)
    there = there.subs(F_a, conjugate(F_a))  # step 1
    there = there.subs(phi(-h, -w), FORMULAS["antisymmetric"].rhs)
    assert sympy.simplify(there - conjugate(FORMULAS["rotated"].rhs)) == 0
    assert FORMULAS["rotated"].rhs.subs(phi(h, w), 0) == F_a  # nothing added, nothing changed


def test_step_3():
    cross = FORMULAS["cross"]
    found = cross.lhs.subs({G_a: rotated(F_a), G_b: rotated(F_b)})
    assert sympy.simplify(found - cross.rhs) == 0
    one, other = sympy.symbols("one other", real=True)
    left = exp(I * one) * conjugate(exp(I * other))
    assert sympy.simplify(left - exp(I * (one - other))) == 0
    assert sympy.simplify(re(left) - (1 - 2 * sin((one - other) / 2) ** 2)) == 0


def test_step_4():
    z = exp(2 * pi * I * d / H)
    summed = (1 - z**H) / (1 - z)
    assert sympy.simplify(summed * (1 - z) + z**H - 1) == 0
    assert sympy.simplify(1 - z**H) == 0  # d is a whole number
    # The geometric sum, by induction over how many terms it has.
    ratio, terms = sympy.symbols("ratio terms", positive=True)
    partial = (1 - ratio**terms) / (1 - ratio)
    assert sympy.simplify(partial.subs(terms, terms + 1) - partial - ratio**terms) == 0
    assert partial.subs(terms, 0) == 0


def transform(channel, size, row, column):
    """The discrete Fourier transform of a channel of a given size, at one bin."""
    rows, columns = size
    return sum(
        channel(*one)
        * exp(
            -2
            * pi
            * I
            * (sympy.Rational(row * one[0], rows) + sympy.Rational(column * one[1], columns))
        )
        for one in product(range(rows), range(columns))
    )


def test_step_4_for_pictures_up_to_6_pixels():
    """Both sides as polynomials in all the pixels."""
    parseval, cross = FORMULAS["parseval"], FORMULAS["cross"].rhs
    for size in [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (1, 4), (3, 2)]:
        rows, columns = size
        pixels = list(product(range(rows), range(columns)))
        spectrum = {
            C(*one): cross.subs({F_a: transform(x_a, size, *one), F_b: transform(x_b, size, *one)})
            for one in pixels
        }
        right = parseval.rhs.subs({H: rows, W: columns}).doit().subs(spectrum)
        plain = parseval.lhs.subs({H: rows, W: columns}).doit()
        difference = sympy.expand(right - plain)
        assert sympy.simplify(sympy.expand(difference.rewrite(sympy.cos))) == 0
        assert sympy.expand(transform(x_a, size, 0, 0) - sum(x_a(*one) for one in pixels)) == 0


def test_step_5():
    # 2h = cH with 0 ≤ h < H: c is 0 or 1, as at c = 2 + more h were H or above.
    more = Symbol("more", integer=True, nonnegative=True)
    bins = [sympy.solve(Eq(2 * h, count * H), h) for count in (0, 1, 2 + more)]
    assert bins[:2] == [[0], [H / 2]]
    assert sympy.expand(bins[2][0] - H).is_nonnegative
    angle = Symbol("angle", real=True)
    own = FORMULAS["own_conjugate"]
    # e^(iφ) = e^(−iφ): the difference is 2i sin φ.
    difference = exp(I * angle) - exp(-I * angle)
    said = (own.lhs - own.rhs).subs(phi(h, w), angle)
    assert sympy.simplify(difference.rewrite(sympy.cos) - 2 * I * said) == 0
    assert sympy.solveset(said, angle, sympy.Interval(0, 2 * pi, False, True)) == {0, pi}
    assert [exp(I * turned) for turned in (0, pi)] == [1, -1]


def test_step_6():
    said = FORMULAS["columns"].gts - FORMULAS["columns"].lts
    assert sympy.simplify(said.subs(W, 2 * v) - (v - w)) == 0
    assert sympy.simplify(said.subs(W, 2 * v + 1) - (v + 1 - w)) == 0


SIZES = list(product(range(1, 9), repeat=2))


@pytest.mark.parametrize("seed", [0, 1])
def test_implementation_phase_field(seed):
    """Hermitian to the last bit, in its two columns; own conjugates are 1 or −1, the mean 1."""
    for height, width in SIZES:
        field = phase_field(height, width, seed=seed)
        assert field[0, 0] == 1
        assert np.abs(np.abs(field) - 1).max() <= 2 * np.finfo(np.float32).eps
        for column in {0, width // 2} if width % 2 == 0 else {0}:
            mirrored = field[-np.arange(height) % height, column]
            assert (mirrored == field[:, column].conj()).all()
            for row in {0, height // 2} if height % 2 == 0 else {0}:
                assert field[row, column] in (1, -1)


def test_implementation_rotate_phases():
    """Spectra and covariances of a picture of every parity, in doubles and by their definition."""
    rng = np.random.default_rng(8)
    for height, width in SIZES:
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        before = np.moveaxis(pixels, 2, 0).astype(float)
        after = rotate_phases(pixels, seed=height * width).astype(float)
        spectra = [np.fft.fft2(channels) for channels in (before, after)]
        # Single precision: a few units of 2^−24, of the largest power there is.
        scale = np.abs(spectra[0]).max() ** 2 * 2.0**-18
        for a, b in product(range(3), repeat=2):
            kept, found = (one[a] * one[b].conj() for one in spectra)
            assert np.abs(kept - found).max() <= scale
        pairs = [np.cov(one.reshape(3, -1), bias=True) for one in (before, after)]
        assert np.abs(pairs[0] - pairs[1]).max() <= 255**2 * 2.0**-18
        means = [one.mean(axis=(1, 2)) for one in (before, after)]
        assert np.abs(means[0] - means[1]).max() <= 255 * 2.0**-20


def test_implementation_of_the_operator():
    """What a run calls: the grey levels of each channel stay, and the same seed is the same."""
    pixels = np.random.default_rng(3).integers(0, 256, (7, 6, 3), dtype=np.uint8)
    destroy = load_operator("phase")
    frame = destroy(pixels, seed=4)
    levels = [np.sort(one.reshape(-1, 3), axis=0) for one in (frame, pixels)]
    assert (levels[0] == levels[1]).all()
    assert (destroy(pixels, seed=4) == frame).all()
    grey = np.repeat(pixels[:, :, :1], 3, axis=2)
    assert (np.ptp(destroy(grey, seed=4), axis=2) == 0).all()
