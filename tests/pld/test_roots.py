"""Small solvers: roots of falling functions, powers of atoms."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.pld import atoms, roots
from tests.work import memory


@given(target=st.floats(-700.0, -1e-6), rate=st.floats(1e-6, 1e6))
def test_decreasing_finds_the_root(target: float, rate: float) -> None:
    result = roots.decreasing(lambda x: (-rate * x, -rate), target, 0.0)
    assert result == pytest.approx(-target / rate, rel=1e-14)
    assert roots.decreasing(lambda x: (-rate * x - 1e3, -rate), target, 0.0) == 0.0


@pytest.mark.parametrize(
    ("count", "chance"), [(1000, 0.3), (10**6, 0.4999), (10**9, 1e-6), (5, 0.5)]
)
def test_powers_of_two_atoms_are_binomial(count: int, chance: float) -> None:
    mpmath.mp.dps = 40
    pair = (np.array([1.3, -1.3]), np.log(np.array([chance, 1.0 - chance])))
    losses, logs = atoms.power(pair, count, 0.0)
    p = mpmath.mpf(chance)
    for i in range(0, losses.size, max(1, losses.size // 20)):
        k = round((losses[i] / 1.3 + count) / 2)
        truth = mpmath.log(p) * k + mpmath.log1p(-p) * (count - k)
        truth += mpmath.loggamma(count + 1) - mpmath.loggamma(k + 1)
        truth -= mpmath.loggamma(count - k + 1)
        # the masses given are off by their own rounding, which the deviation from the mean magnifies
        slack = 1e-13 + 3e-16 * count + 4e-16 * abs(k - count * chance) / min(chance, 1.0 - chance)
        assert abs(float(logs[i]) - float(truth)) < slack


@pytest.mark.parametrize("count", [3, 8, 21])
def test_powers_are_repeated_convolutions(count: int) -> None:
    three = (np.array([0.7, 0.1, -0.25]), np.log(np.array([0.5, 0.3, 0.2])))
    lattice = (np.array([0.4, 0.0, -0.4]), np.log(np.array([0.5, 0.3, 0.2])))
    for base in (three, lattice):
        losses, logs = atoms.power(base, count, 0.0)
        slow = base
        for _ in range(count - 1):
            slow = atoms.convolved(slow, base, 0.0)
        mean = count * float(np.exp(base[1]) @ base[0])
        for item in ((losses, logs), slow):
            mass = np.exp(item[1])
            assert mass.sum() == pytest.approx(1.0, abs=1e-13)
            assert float(mass @ item[0]) == pytest.approx(mean, abs=1e-12)
        for s in (0.5, 2.0):
            once = float(np.exp(base[1] + s * base[0]).sum())
            assert float(np.exp(logs + s * losses).sum()) == pytest.approx(once**count, rel=1e-12)


@pytest.mark.parametrize(("kinds", "count"), [(2, 9), (5, 5), (6, 5), (12, 4), (300, 2)])
def test_listed_sums_have_the_moments_of_what_was_added(kinds: int, count: int) -> None:
    """Each way once; two draws of hundreds of kinds took seconds, and gigabytes on the way."""
    rng = np.random.default_rng(kinds)
    losses, masses = rng.normal(size=kinds), rng.dirichlet(np.ones(kinds))
    often = atoms.ways(kinds, count)
    assert len(np.unique(often, axis=0)) == len(often) == math.comb(kinds + count - 1, count)
    assert (often.sum(axis=1) == count).all()
    sums, logs = atoms.listed((losses, np.log(masses)), count)
    assert sorted(sums) == pytest.approx(sorted(often @ losses), rel=1e-12, abs=1e-12)
    for tilt in (0.0, 0.7):
        once = float((masses * np.exp(tilt * losses)).sum())
        assert float(np.exp(logs + tilt * sums).sum()) == pytest.approx(once**count, rel=1e-12)
    assert memory(lambda: atoms.listed((losses, np.log(masses)), count)) < 20 * len(often) * 64
