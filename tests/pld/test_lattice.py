"""Compositions that are used as one step: lattice laws on the right side of the truth, sums, pairs."""

import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dpacct.errors import OutsideDomain
from dpacct.pld.bracket.laws import Measure, cut, first_top, law_above, law_below
from dpacct.pld.bracket.nested import LatticeLaw, merged_to, split, tilt, whole_pairs, window
from dpacct.pld.densities import Densities
from dpacct.pld.derived import Backwards, Mirrored, SampledSource, Thinned, backwards, sampled
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.pld.loss import laplace as laplace_pair
from dpacct.pld.pieces import Cut, Pieces, Source, branch_pieces, gathered
from dpacct.pld.stable import Floats


def profile(law: Measure | Pieces, epsilon: float) -> float:
    """E[(1 - e^{eps - L})_+] of finitely many losses, summed as it stands; what is set apart is infinite."""
    at, mass, infinite = points(law)
    return float(mass @ np.maximum(-np.expm1(epsilon - at), 0.0)) + infinite


def points(law: Measure | Pieces) -> tuple[Floats, Floats, float]:
    """Losses, P-masses, and the P-mass of infinite losses."""
    if isinstance(law, Pieces):
        return law.loss, np.exp(law.log_p), law.infinite
    return law.at, law.mass, law.top[0] + law.dropped


def lattice_laws(
    source: Source, edges: Floats, offset: float, step: float
) -> tuple[LatticeLaw, LatticeLaw]:
    """(above, below) of one step that is cut at these losses."""
    pieces = cut(source, edges, upper=True)
    top = first_top(pieces)
    return (
        split(law_above(pieces, 1.0, top), offset, step),
        merged_to(law_below(pieces, 1.0, top), offset, step),
    )


def plain(mu: float, epsilon: float) -> float:
    """The Gaussian's profile (Balle, Wang 2018), in 40 digits."""
    with mpmath.workdps(40):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


def laplace(b: float, epsilon: float) -> float:
    """The Laplace pair's profile: max(1 - e^{(eps - 1/b)/2}, 1 - e^eps, 0)."""
    lam = 1.0 / b
    if epsilon < -lam:
        return -math.expm1(epsilon)
    return max(0.0, -math.expm1(0.5 * (epsilon - lam)))


def truth(kind: str, size: float, rate: float, way: str, epsilon: float) -> float:
    """The profile of an amplified pair from that of its base (Balle, Barthe, Gaboardi 2018)."""
    base = (lambda e: plain(1.0 / size, e)) if kind == "normal" else (lambda e: laplace(size, e))
    if way == "plain":
        return base(epsilon)
    if way == "mirrored" and epsilon < 0.0:
        return -math.expm1(epsilon) + math.exp(epsilon) * truth(kind, size, rate, way, -epsilon)
    if way in ("remove", "mirrored"):
        scaled = (math.exp(epsilon) - 1.0 + rate) / rate
        return -math.expm1(epsilon) if scaled <= 0.0 else rate * base(math.log(scaled))
    weight = 1.0 - (1.0 - rate) * math.exp(epsilon)
    return weight * base(epsilon + math.log(rate / weight)) if weight > 0.0 else 0.0


BASES = {
    "normal": lambda size: gaussian(1.0 / size),
    "laplace": lambda size: laplace_pair(1.0 / size),
}


def amplified(kind: str, size: float, rate: float, way: str, in_pieces: bool) -> Source:
    """The pair, by operators on the distribution or on its pieces."""
    base = Cut(BASES[kind](size))
    if way == "plain":
        return base
    if in_pieces:
        on_sample = SampledSource(base, rate)
        made = {"remove": on_sample, "add": Backwards(on_sample), "mirrored": Mirrored(on_sample)}
        return made[way]
    law = base.of.sampled(rate)
    return Cut({"remove": law, "add": law.reversed(), "mirrored": law.mirrored()}[way])


@given(
    kind=st.sampled_from(["normal", "laplace"]),
    size=st.floats(0.3, 10.0),
    rate=st.floats(0.001, 0.9),
    way=st.sampled_from(["plain", "remove", "add", "mirrored"]),
    in_pieces=st.booleans(),
    cells=st.integers(3, 400),
    offset=st.floats(-0.5, 0.5),
    place=st.floats(-1.5, 1.5),
)
def test_the_truth_lies_between(
    kind: str,
    size: float,
    rate: float,
    way: str,
    in_pieces: bool,
    cells: int,
    offset: float,
    place: float,
) -> None:
    source = amplified(kind, size, rate, way, in_pieces)
    low, high = source.span(-30.0)
    step = (high - low) / cells
    edges = low + step * np.arange(-1, cells + 2)
    upper, lower = lattice_laws(source, edges, low + offset * step, step)
    for epsilon in (place * high, *edges[:: max(1, cells // 4)].tolist()):
        exact = truth(kind, size, rate, way, epsilon)
        # the closed forms above cancel: to a few units of rounding of 1
        assert profile(lower, epsilon) <= exact + 4e-15
        assert profile(upper, epsilon) >= exact - 4e-15
    assert (lower.mass >= 0.0).all() and (upper.mass >= 0.0).all()


def table(p: Floats, q: Floats) -> Cut:
    """Outcomes with these probabilities, of which either may be 0."""
    both = (p > 0.0) & (q > 0.0)
    return Cut(
        LossDistribution(
            np.log(p[both]) - np.log(q[both]),
            np.log(q[both]),
            infinite=float(p[q == 0.0].sum()),
            lost=float(q[p == 0.0].sum()),
        )
    )


@given(
    st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12),
    st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12),
    st.floats(0.01, 2.0),
    st.floats(-1.0, 1.0),
)
def test_tables_of_any_outcomes(
    first: list[float], second: list[float], step: float, offset: float
) -> None:
    """Zeros on either side, losses anywhere: against the sum over outcomes."""
    size = min(len(first), len(second))
    p, q = np.array(first[:size]) + 1e-3, np.array(second[:size])
    q[0] += 1e-3
    p[np.array(first[:size]) < 0.2] = 0.0
    p[-1] += 0.1
    p, q = p / p.sum(), q / q.sum()
    source = table(p, q)
    assume(source.of.losses.size > 0)
    upper, lower = lattice_laws(source, np.empty(0), offset, step)
    for epsilon in np.linspace(-6.0, 6.0, 25).tolist():
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
        infinite = source.infinite
        assert profile(lower, epsilon) + infinite <= exact + 1e-14
        assert profile(upper, epsilon) + infinite >= exact - 1e-14


def added_variance(source: Source, cells: int) -> tuple[float, float]:
    """Variance that the law above adds and the one below takes off, in squares of a cell."""
    low, high = source.span(-60.0)

    def laws(finer: int) -> tuple[float, float]:
        step = (high - low) / (finer * cells)
        edges = low + step * np.arange(finer * cells + 1)
        upper, lower = lattice_laws(source, edges, low, step)
        return upper.tilted(0.0).variance, lower.tilted(0.0).variance

    (upper, lower), (_, best) = laws(1), laws(8)
    step = (high - low) / cells
    return (upper - best) / step**2, (best - lower) / step**2


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_a_cell_adds_a_sixth_and_takes_off_at_most_a_third_of_its_square(rate: float) -> None:
    """The chord, and groups of barycentres on nodes: of second order, where samples have their spike too."""
    added, taken = added_variance(sampled(Cut(gaussian(1.0)), rate), 400)
    assert 0.9 / 6.0 < added < 1.1 / 6.0
    assert 0.8 / 12.0 < taken < 1.2 / 3.0


def test_losses_on_a_lattice_are_exact() -> None:
    losses = np.array([-0.3, 0.0, 0.3])
    q = np.array([0.4, 0.4, 0.2])
    p = q * np.exp(losses)
    source = table(p / p.sum(), q / q.sum())
    upper, lower = lattice_laws(source, np.empty(0), float(source.of.losses[0]), 0.3)
    for epsilon in (-0.2, 0.0, 0.1, 0.29):
        assert profile(upper, epsilon) == pytest.approx(profile(lower, epsilon), rel=1e-11)


@pytest.mark.parametrize("rounds", [1, 3, 20])
@pytest.mark.parametrize("step", [0.03, 0.003])
def test_a_sum_of_normal_losses_lies_between(rounds: int, step: float) -> None:
    """Gaussians are their own composition, known to 40 digits."""
    above, below = whole_pairs(((Cut(gaussian(0.4)), float(rounds)),), step, 12.0)
    mu = 0.4 * math.sqrt(rounds)
    for epsilon in (-9.0, -3.0, 0.0, 0.5, 2.0, 6.0, 10.0):
        exact = plain(mu, epsilon)
        assert profile(below, epsilon) <= exact + 4e-15
        # above is relative: masses keep their digits where deltas are small
        assert profile(above, epsilon) >= exact * (1.0 - 1e-13)
        assert profile(above, epsilon) - profile(below, epsilon) <= rounds * step**2 * 0.3
    for pair in (above, below):
        assert float(np.exp(pair.log_p).sum()) + pair.infinite == pytest.approx(1.0, abs=1e-13)
        assert float(np.exp(pair.log_q).sum()) + pair.lost == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("reach", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("way", [False, True])
def test_what_lies_beyond_what_is_asked_for_is_charged(reach: float, way: bool) -> None:
    """Losses are read within the reach alone, and the law above stays above everywhere."""
    law = gaussian(0.5).sampled(0.3)
    one = Cut(law.reversed() if way else law)
    wide, narrow = (whole_pairs(((one, 8.0),), 0.01, far) for far in (40.0, reach))
    for epsilon in np.linspace(-6.0, 9.0, 31).tolist():
        assert profile(narrow[0], epsilon) >= profile(wide[1], epsilon) - 1e-14
        assert profile(narrow[1], epsilon) <= profile(wide[0], epsilon) + 1e-14


def test_a_sum_of_three_sampled_outcomes_lies_between() -> None:
    """Randomised response on a sample, off every node, by enumeration in 40 digits; and reversed."""
    with mpmath.workdps(40):
        rate, eps0 = mpmath.mpf("0.07"), mpmath.mpf("1.3")
        q = [1 / (1 + mpmath.exp(eps0)), mpmath.exp(eps0) / (1 + mpmath.exp(eps0))]
        p = [(1 - rate) * b + rate * a for a, b in zip(q[::-1], q, strict=True)]
        law = LossDistribution(
            np.array([float(mpmath.log(a / b)) for a, b in zip(p, q, strict=True)]),
            np.array([float(mpmath.log(b)) for b in q]),
        )
        for source, (first, second) in ((Cut(law), (p, q)), (Cut(law.reversed()), (q, p))):
            above, below = whole_pairs(((source, 25.0),), 0.011, 30.0)
            for epsilon in (-1.0, -0.1, 0.05, 0.7, 3.0, 8.0):
                exact = mpmath.mpf(0)
                for k in range(26):
                    mass_p = mpmath.binomial(25, k) * first[0] ** k * first[1] ** (25 - k)
                    mass_q = mpmath.binomial(25, k) * second[0] ** k * second[1] ** (25 - k)
                    exact += max(mass_p - mpmath.exp(epsilon) * mass_q, mpmath.mpf(0))
                assert profile(below, epsilon) <= exact + mpmath.mpf("4e-15")
                assert profile(above, epsilon) >= exact * (1 - mpmath.mpf("1e-12"))


@pytest.mark.parametrize("c", [-1.5, -0.5, 2.0, 9.0])
def test_a_window_is_off_by_no_more_than_it_says(c: float) -> None:
    """Against convolution in 40 digits."""
    draw = np.random.default_rng(5)
    p = draw.dirichlet(np.full(7, 0.3)) + 1e-14
    points = Pieces.points(-0.3 + 0.125 * np.arange(7), np.log(p))
    law = merged_to(law_below(points, 6.0, math.inf), -0.3, 0.125)
    seen = window([law], tilt([law], c))
    with mpmath.workdps(40):
        one = [
            mpmath.mpf(m) * mpmath.exp(c * mpmath.mpf(x))
            for m, x in zip(law.mass, law.at, strict=True)
        ]
        total = [mpmath.mpf(1)]
        for _ in range(6):
            grown = [mpmath.mpf(0)] * (len(total) + 6)
            for i, a in enumerate(total):
                for j, b in enumerate(one):
                    grown[i + j] += a * b
            total = grown
        whole = mpmath.fsum(total)
        for place, mass in enumerate(seen.masses.tolist()):
            exact = total[at] / whole if 0 <= (at := seen.first + place) < len(total) else 0
            assert abs(mass - exact) <= seen.off
    assert seen.off < 1e-13


@given(st.floats(-36.0, 36.0), st.floats(1e-9, 5.0))
@example(-0.375, 1e-9)
@example(-0.39980408852998117, 2.0108686623483943e-14)  # a charge of 4.8e-15 was half of the error
def test_normal_masses_keep_their_digits(a: float, width: float) -> None:
    """P-mass of the cell that begins at a, of N(1, 1) against N(0, 1)."""
    edges = np.array([a, a + width]) - 0.5
    _, x, log_p, _ = gaussian(1.0).branches[0].cells(edges)
    pieces = branch_pieces(gaussian(1.0).branches[0], edges)
    with mpmath.workdps(60):
        low, high = mpmath.mpf(float(x[1])) - 1, mpmath.mpf(float(x[2])) - 1
        if low > 0:
            low, high = -high, -low
        error = float(abs(float(log_p[1]) - mpmath.log(mpmath.ncdf(high) - mpmath.ncdf(low))))
    assert error <= 4e-15 + 5e-16 * max(max(abs(a), abs(a + width)) ** 2, -float(log_p[1]))
    (place,) = np.flatnonzero(pieces.log_p == log_p[1])
    assert error <= np.asarray(pieces.slack)[place]


@dataclass(frozen=True)
class Logistic:
    """log density of a logistic variable with this mean."""

    mean: float

    def __call__(self, x: Floats) -> Floats:
        u = np.abs(x - self.mean)
        return np.asarray(-u - 2.0 * np.log1p(np.exp(-u)))


def test_a_pair_of_densities() -> None:
    """Logistic noise: the loss is bounded, and the profile a difference of two distribution functions."""
    source = Densities(Logistic(1.0), Logistic(0.0), (-700.0, 700.0))
    low, high = source.span(-60.0)
    edges = np.arange(low - 0.01, high + 0.02, 0.004)
    upper, lower = lattice_laws(source, edges, low, 0.004)
    for epsilon in (0.0, 0.3, 0.8):
        # L = 1 + 2 log((1 + e^-x)/(1 + e^{1-x})) at x: the threshold by bisection
        a, b = -50.0, 50.0
        for _ in range(200):
            middle = 0.5 * (a + b)
            loss = float(
                Logistic(1.0)(np.array([middle]))[0] - Logistic(0.0)(np.array([middle]))[0]
            )
            a, b = (middle, b) if loss < epsilon else (a, middle)
        exact = 1 / (1 + math.exp(a - 1)) - math.exp(epsilon) / (1 + math.exp(a))
        assert profile(lower, epsilon) <= exact <= profile(upper, epsilon)
        assert profile(upper, epsilon) - profile(lower, epsilon) < 1e-5
    flipped = backwards(source)
    assert flipped.span(-60.0)[1] == pytest.approx(-low, rel=0.05)
    with pytest.raises(OutsideDomain, match="must integrate to 1"):
        Densities(Logistic(0.0), Logistic(0.0), (0.0, 700.0)).span(-10.0)


def test_reversed_and_thinned_sources() -> None:
    source = sampled(Cut(gaussian(1.0)), 0.3)
    edges = np.linspace(-6.0, 9.0, 1501)
    flipped, _ = lattice_laws(Backwards(Backwards(source)), edges, 0.0, 0.01)
    straight, _ = lattice_laws(source, edges, 0.0, 0.01)
    for epsilon in (-0.3, 0.0, 1.0, 4.0):
        assert profile(flipped, epsilon) == pytest.approx(profile(straight, epsilon), rel=1e-9)
    thin, below = lattice_laws(Thinned(source, 0.25), edges, 0.0, 0.01)
    for epsilon in (0.0, 0.4, 1.0):
        exact = 0.25 * truth("normal", 1.0, 0.3, "remove", epsilon)
        assert profile(below, epsilon) <= exact * (1 + 1e-12)
        assert profile(thin, epsilon) >= exact * (1 - 1e-12)
    for epsilon in (-0.2, -0.05):
        # a coin in the open: 1 - e^eps where nothing ran
        ran = truth("normal", 1.0, 0.3, "remove", epsilon)
        exact = 0.25 * ran - 0.75 * math.expm1(epsilon)
        assert profile(below, epsilon) <= exact + 1e-14 <= profile(thin, epsilon) + 2e-14


@pytest.mark.parametrize("reach", [0.3, 3.0, 30.0, 90.0, 300.0])
def test_points_gathered_over_many_nats_keep_both_masses(reach: float) -> None:
    """Q's mass is lost in 1 minus P's share from 36 nats on: pairs of 400 times all mass were the result."""
    losses = np.linspace(-reach, reach, 61)
    points = Pieces.points(losses, -np.log1p(np.exp(-losses)) - math.log(61.0))
    for edges in (np.array([0.25 * reach]), np.array([0.0, 0.1]), np.array([-math.inf, math.inf])):
        cells = gathered(points, edges)
        for part in ("log_p", "log_q"):
            whole = math.fsum(np.exp(getattr(cells, part)).tolist())
            assert whole == pytest.approx(math.fsum(np.exp(getattr(points, part)).tolist()), 1e-14)
