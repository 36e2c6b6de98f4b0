"""Noise in whole steps: its law, its bound, its shares, and the inequalities that its accounting rests on."""

from collections import Counter
from typing import Any

import mpmath
import numpy as np
import pytest

import dpacct as dp
from dpacct_training.keys import Keys
from dpacct_training.lattice import NoiseLattice, _table, discrete_normals
from dpacct_training.noise import NoiseMeter
from dpacct_training.plan import Cohort
from tests.training.laws import close


@pytest.mark.parametrize("variance", [1.0, 20.5, 4104.0])
def test_discrete_normals_have_the_law(variance: float) -> None:
    """Against masses of 50 digits by mpmath: chi square over all places that are met often."""
    count = 100_000
    drawn = discrete_normals(count, variance, Keys.from_seed(1).stream("x"))
    met = Counter(drawn.tolist())
    with mpmath.workdps(50):
        masses = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * variance)) for k in range(-900, 901)}
        whole = mpmath.fsum(masses.values())
    wanted = {k: float(m / whole) * count for k, m in masses.items()}
    often = [k for k, n in wanted.items() if n > 20]
    square = sum((met[k] - wanted[k]) ** 2 / wanted[k] for k in often)
    close(square, len(often), (2 * len(often)) ** 0.5)


def test_a_lattice_row_is_within_its_clip_and_on_its_steps() -> None:
    noise = NoiseLattice(50, 0.3, 1.5, shares=10)
    rows = (
        np.random.default_rng(0).normal(size=(200, 50))
        * 10.0 ** np.arange(-4, 4).repeat(25)[:, None]
    )
    bounded = noise.bound(rows)
    assert np.linalg.norm(bounded, axis=1).max() <= 0.3
    assert np.abs(bounded / noise.step - np.rint(bounded / noise.step)).max() < 1e-6
    assert np.linalg.norm(bounded[-1]) > 0.9 * 0.3
    close_to = np.abs(bounded - rows)[np.linalg.norm(rows, axis=1) < 0.25]
    assert close_to.max() <= 0.5 * noise.step * (1 + 1e-9)


def test_shares_of_lattice_noise_are_the_accounted_noise() -> None:
    """Of ten shares and of what the server tops up: whole steps, and the variance of the node."""
    noise = NoiseLattice(4000, 1.0, 2.0, shares=10)
    keys, meter = Keys.from_seed(3), NoiseMeter()
    for clients in (10, 4, 0):
        total = np.zeros(4000)
        for client in range(clients):
            stream = keys.stream("share", client=client, round=clients)
            total = total + noise.add(np.zeros(4000), stream, meter, 0.1)
        total = noise.add(total, keys.stream("server", round=clients), meter, 1 - clients / 10)
        close((total**2).mean() / 4.0, 1.0, (2 / 4000) ** 0.5)
        assert np.abs(total / noise.step - np.rint(total / noise.step)).max() < 1e-3
    assert noise.node == dp.Gaussian(noise_multiplier=2, clip=1)
    assert noise.variance > 4.0  # more than is accounted: the squared steps that are given away


def _rounded(v: Any, w: Any, z: int) -> Any:
    """P[Z = z] of Z around a normal Y of variance v: by the trapezoidal rule, to 50 digits."""
    parts = 16  # of a step: the integrand is analytic, so that the rule's error falls exponentially
    sums = [_mass(w, mpmath.mpf(k) / parts) for k in range(parts)]
    reach = range(-30 * parts, 30 * parts)
    density = (
        mpmath.exp(
            -((mpmath.mpf(k) / parts) ** 2) / (2 * v) - (z - mpmath.mpf(k) / parts) ** 2 / (2 * w)
        )
        / sums[k % parts]
        for k in reach
    )
    return mpmath.fsum(density) / parts / mpmath.sqrt(2 * mpmath.pi * v)


def _mass(v: Any, t: Any = 0) -> Any:
    """R(v, t) of `lattice.py`, summed as it is written."""
    return mpmath.fsum(mpmath.exp(-((z - t) ** 2) / (2 * v)) for z in range(-40, 41))


def _off(v: Any) -> Any:
    """e(v)."""
    return 2 * mpmath.fsum(mpmath.exp(-2 * mpmath.pi**2 * v * j * j) for j in range(1, 8))


@mpmath.workdps(50)
def test_what_lattice_noise_rests_on() -> None:
    """(1), (2) and (3) of `lattice.py` where what they leave open is large enough to be seen."""
    tenth, half, unit, five = (mpmath.mpf(n) / 10 for n in (1, 5, 10, 50))
    for v in (half, unit, mpmath.mpf("1.7")):
        sums = [
            _mass(v, mpmath.mpf(k) / 16) / mpmath.sqrt(2 * mpmath.pi * v) - 1 for k in range(16)
        ]
        assert 0.999 * _off(v) < max(map(abs, sums)) <= _off(v) * (1 + mpmath.mpf(10) ** -20)
    for v, w in ((tenth, half), (tenth, unit), (five, half)):
        bound = (1 + _off(v + w)) / (1 - _off(w)) - 1
        ratios = [
            _rounded(v, w, z) / (mpmath.exp(-z * z / (2 * (v + w))) / _mass(v + w)) - 1
            for z in range(4)
        ]
        assert (bound / 100 if v < w / 2 else 0) < max(map(abs, ratios)) <= bound
    for a, b in ((half, half), (half, unit), (unit, five)):
        c = a * b / (a + b)
        bound = (1 + _off(a + b)) * (1 + _off(c)) / ((1 - _off(a)) * (1 - _off(b))) - 1
        ratios = []
        for z in range(4):
            both = (mpmath.exp(-x * x / (2 * a) - (z - x) ** 2 / (2 * b)) for x in range(-40, 41))
            single = mpmath.exp(-z * z / (2 * (a + b))) / _mass(a + b)
            ratios.append(mpmath.fsum(both) / (_mass(a) * _mass(b)) / single - 1)
        assert bound / 1e4 < max(map(abs, ratios)) <= bound
    assert _off(8) < 6e-69 and mpmath.log10(_off(mpmath.mpf(2048))) < -17000


def test_ties_of_the_upper_half_are_decided_by_the_lower() -> None:
    """One number in 2^53 needs it: words at the very ends of a place, against whole numbers of 128 bits."""
    first, high, low = _table(100.0)
    ends = [(int(h) << 64) | int(b) for h, b in zip(high, low, strict=True)]
    asked = [end + move for end in ends[80:180:7] for move in (-1, 0, 1)]

    class Words:
        def words(self, count: int) -> Any:
            halves = [n >> 64 for n in asked] + [n & (2**64 - 1) for n in asked]
            return np.array(halves, np.uint64)

    drawn = discrete_normals(len(asked), 100.0, Words())  # type: ignore[arg-type]
    wanted = [first + sum(end <= number for end in ends) for number in asked]
    assert drawn.tolist() == wanted


def test_the_noise_of_sums_is_on_an_exact_grid() -> None:
    for by, shares in (("server", 1.0), ("shares", 20.0)):
        cohort = Cohort(clients=100, rounds=2, rate=0.2, clip=0.5, epsilon=4, delta=1e-3)
        noise = cohort.gaussian(50, by=by)
        assert isinstance(noise, NoiseLattice) and noise.shares == shares
        assert noise.variance <= (noise.multiplier * noise.clip) ** 2 * (1 + 1e-4)
        assert noise.node == dp.Gaussian(noise_multiplier=noise.multiplier, clip=1)
