"""One step: lattice laws on the right side of the truth at every epsilon, and the protocol kept."""

import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpacct.errors import OutsideDomain
from dpacct.pld import grid
from dpacct.pld.densities import Densities
from dpacct.pld.derived import Backwards, Mirrored, SampledSource, Thinned, backwards, sampled
from dpacct.pld.grid import Grid, GridLaw, aligned_step, grid_laws
from dpacct.pld.loss import LossDistribution, gaussian
from dpacct.pld.loss import laplace as laplace_pair
from dpacct.pld.pieces import Cut, Pieces, Source, branch_pieces, gathered, natural_step
from dpacct.pld.stable import Floats


def profile(law: GridLaw, epsilon: float) -> float:
    """E[(1 - e^{eps - L})_+] of a lattice law, summed as it stands."""
    return float(law.masses @ np.maximum(-np.expm1(epsilon - law.losses), 0.0)) + law.infinite


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
    grid = Grid.uniform(low + offset * step, step, -1, 1, cells + 3)
    upper, lower = grid_laws(source, grid)
    for epsilon in (place * high, *grid.nodes[:: max(1, cells // 4)].tolist()):
        exact = truth(kind, size, rate, way, epsilon)
        # the closed forms above cancel: to a few units of rounding of 1
        assert profile(lower, epsilon) <= exact + 4e-15
        assert profile(upper, epsilon) >= exact - 4e-15
    assert (lower.masses >= 0.0).all() and (upper.masses >= 0.0).all()


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
    grid = Grid.uniform(offset - 8.0, step, 0, 1, math.ceil(16.0 / step))
    upper, lower = grid_laws(source, grid)
    for epsilon in np.linspace(-6.0, 6.0, 25).tolist():
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
        assert profile(lower, epsilon) <= exact + 1e-14
        assert profile(upper, epsilon) >= exact - 1e-14


def gap(source: Source, cells: int, c: float) -> float:
    low, high = source.span(-60.0)
    step = (high - low) / cells
    upper, lower = grid_laws(source, Grid.uniform(low, step, 0, 1, cells + 1))
    return upper.cumulants(c).log_moment - lower.cumulants(c).log_moment


def added_variance(source: Source, cells: int) -> tuple[float, float]:
    """What the upper law adds to the variance of the loss, and the lower takes off, in squares of a cell."""
    low, high = source.span(-60.0)
    step = (high - low) / cells
    upper, lower = grid_laws(source, Grid.uniform(low, step, 0, 1, cells + 1))
    finer = Grid.uniform(low, step / 8.0, 0, 1, 8 * cells + 1)
    best = grid_laws(source, finer)[1]
    results = [law.cumulants(0.0).variance for law in (upper, lower, best)]
    return (results[0] - results[2]) / step**2, (results[2] - results[1]) / step**2


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_a_cell_adds_a_sixth_and_takes_off_a_twelfth_of_its_square(rate: float) -> None:
    """The chord and the polygon of half-cells, of a density that is even over cells (grid.py)."""
    added, taken = added_variance(sampled(Cut(gaussian(1.0)), rate), 400)
    assert 0.9 / 6.0 < added < 1.1 / 6.0
    assert 0.8 / 12.0 < taken < 2.0 / 12.0  # a little more where a spike meets the least loss


@pytest.mark.parametrize(
    "source",
    [
        Cut(gaussian(1.0)),
        sampled(Cut(gaussian(1.0)), 0.1),
        backwards(sampled(Cut(gaussian(1.0)), 0.1)),
    ],
    ids=["plain", "remove", "add"],
)
def test_both_roundings_are_of_second_order(source: Source) -> None:
    coarse, fine = gap(source, 4000, 3.0), gap(source, 8000, 3.0)
    assert 3.5 < coarse / fine < 4.6


def test_losses_on_a_lattice_are_exact() -> None:
    losses = np.array([-0.3, 0.0, 0.3])
    q = np.array([0.4, 0.4, 0.2])
    p = q * np.exp(losses)
    source = table(p / p.sum(), q / q.sum())
    step = natural_step(source.atoms)
    assert step == pytest.approx(0.3, rel=1e-12)
    grid = Grid.uniform(float(source.atoms[0]), float(step or 0.0), 0, 1, 3)
    upper, lower = grid_laws(source, grid)
    np.testing.assert_allclose(upper.masses, lower.masses, rtol=1e-12)
    assert natural_step(np.array([0.0, 1.0, math.sqrt(2.0)])) is None


def test_point_masses_are_put_on_nodes() -> None:
    pair = np.array([-0.7, 1.1])
    step = aligned_step([(pair, np.ones(2))], 0.013)
    assert 0.012 < step <= 0.013 and (1.8 / step) == pytest.approx(round(1.8 / step), abs=1e-9)
    three = np.array([-0.7, 0.123, 1.1])
    step = aligned_step([(three, np.ones(3))], 0.013)
    places = (three - three[0]) / step
    assert np.abs(places - np.round(places)).max() < 0.05


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
    grid = Grid.uniform(low - 0.01, 0.004, 0, 1, math.ceil((high - low) / 0.004) + 8)
    upper, lower = grid_laws(source, grid)
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
    grid = Grid.uniform(-6.0, 0.01, 0, 1, 1500)
    flipped, _ = grid_laws(Backwards(Backwards(source)), grid)
    straight, _ = grid_laws(source, grid)
    np.testing.assert_allclose(flipped.masses, straight.masses, rtol=1e-9, atol=1e-300)
    thin, below = grid_laws(Thinned(source, 0.25), grid)
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


@pytest.mark.parametrize("negative", [0.1, 0.5, 0.6])
def test_negative_masses_go_alike_at_once_and_one_by_one(
    negative: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lower convex envelope is one, in whatever order masses are split."""
    draw = np.random.default_rng(7)
    nodes = np.cumsum(1e-3 * draw.random(3000))
    masses = draw.random(3000)
    masses[draw.random(3000) < negative] *= -0.5
    masses[0] = 3000.0
    at_once = grid._convex(masses, nodes)
    monkeypatch.setattr(grid, "_ONE_BY_ONE", 3000)
    alone = grid._convex(masses, nodes)
    assert (at_once >= 0.0).all()
    assert np.abs(at_once - alone).max() <= 1e-12 * masses[0]


@pytest.mark.parametrize("dent", [30, 300, 900])
def test_a_top_below_zero_goes_alike_at_once_and_one_by_one(
    dent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A negative mass that outweighs all above it takes them away, whichever way that is computed."""
    draw = np.random.default_rng(dent)
    nodes = np.cumsum(1e-2 * draw.random(2000))
    masses = draw.random(2000) * np.exp(-0.5 * np.arange(2000))
    masses[dent] = -masses[dent:].sum() * 3000.0
    at_once = grid._convex(masses, nodes)
    monkeypatch.setattr(grid, "_TOO_FAR", -1.0)
    alone = grid._convex(masses, nodes)
    assert (at_once >= 0.0).all()
    assert np.count_nonzero(at_once) <= dent
    assert alone == pytest.approx(at_once, rel=1e-9, abs=0.0)
