"""One record exchanged for another under Poisson sampling."""

import itertools
import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import dpacct as dp

REPLACE_ONE = "replace-one"
# rate, noise multiplier, steps, delta, epsilon: research/redteam.md, by mpmath and dp_accounting 0.5
TABLE = [
    ("0.01", "1.1", 1000, "1e-6", 2.800698381),
    ("0.01", "1", 10000, "1e-5", 10.88078153),
    ("0.05", "1", 200, "2.3e-4", 5.819239811),
    ("0.2", "3", 100, "5e-4", 4.732747736),
    ("0.001", "0.8", 10000, "1e-6", 1.325048464),
    ("0.9", "1.5", 20, "1e-5", 34.8011863),
]


@pytest.mark.parametrize("row", TABLE)
@pytest.mark.parametrize("method", ["exact", "bracket"])
def test_gaussian_table(row: tuple[Any, ...], method: str) -> None:
    rate, noise, steps, delta, truth = row
    run = dp.Poisson(rate)(dp.Gaussian(noise_multiplier=noise)) * steps
    answer = run.epsilon(delta, adjacency=REPLACE_ONE, method=method)
    assert answer.lower is not None
    assert answer.lower <= truth * (1 + 1e-9) and truth * (1 - 1e-9) <= answer.upper
    assert answer.upper - answer.lower <= (1e-9 if method == "exact" else 2e-4) * truth


def test_laplace() -> None:
    run = dp.Poisson("0.05")(dp.Laplace(noise_multiplier=2)) * 100
    assert run.epsilon("1e-5", adjacency=REPLACE_ONE, method="exact").upper == pytest.approx(
        1.67838658, abs=1e-8
    )


def one_step_delta(density: Any, move: Any, rate: Any, epsilon: Any, places: Any) -> Any:
    """(P - e^eps Q)_+ of (1-q) R + q A against (1-q) R + q B, integrated."""

    def gap(x: Any) -> Any:
        r, a, b = density(x), density(x - move), density(x + move)
        p, q = (1 - rate) * r + rate * a, (1 - rate) * r + rate * b
        return max(p - mp.exp(epsilon) * q, 0)

    return mp.quad(gap, places)


@pytest.mark.parametrize(
    ("rate", "scale"), [*itertools.product(("0.01", "0.3", "0.95"), ("0.7", "2"))]
)
def test_one_step_by_quadrature(rate: str, scale: str) -> None:
    """Truth: mpmath, 18 digits, contributions of 1 on either side of none."""
    with mp.workdps(18):
        for epsilon in ("0.001", "0.4"):
            wide = mp.linspace(-25, 25, 61)
            cases = {
                dp.Gaussian(noise_multiplier=scale): lambda x: mp.npdf(x, 0, mp.mpf(scale)),
                dp.Laplace(noise_multiplier=scale): lambda x: mp.exp(-abs(x) / mp.mpf(scale)),
            }
            for mechanism, density in cases.items():
                norm = 1 if mechanism.kind == "gaussian" else 2 * mp.mpf(scale)
                truth = one_step_delta(density, 1, mp.mpf(rate), mp.mpf(epsilon), wide) / norm
                run = dp.Poisson(rate)(mechanism)
                answer = run.delta(epsilon, adjacency=REPLACE_ONE, method="exact")
                assert answer.upper == pytest.approx(float(truth), rel=1e-5, abs=1e-10)


@pytest.mark.parametrize("rate", ["0.03", "0.6"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_two_discrete_steps_by_listing(kind: str, rate: str) -> None:
    """Truth: all pairs of outcomes of two steps, one by one; a record moves the number by 2."""
    x = np.arange(-60, 61)
    if kind == "laplace":
        mechanism: Any = dp.DiscreteLaplace(scale=2, sensitivity=4)
        logs = -np.abs(np.arange(-62, 63)) / 2.0
    else:
        mechanism = dp.DiscreteGaussian(scale=2, sensitivity=4)
        logs = -np.square(np.arange(-62, 63)) / 8.0
    noise = np.exp(logs) / math.fsum(np.exp(logs).tolist())
    none, first, second = noise[2:-2], noise[:-4], noise[4:]
    q = float(rate)
    p, r = (1 - q) * none + q * first, (1 - q) * none + q * second
    for epsilon in (0.1, 1.0):
        joint = np.multiply.outer(p, p) - math.exp(epsilon) * np.multiply.outer(r, r)
        truth = math.fsum(np.maximum(joint, 0.0).ravel().tolist())
        answer = (dp.Poisson(rate)(mechanism) * 2).delta(
            epsilon, adjacency=REPLACE_ONE, method="exact"
        )
        assert answer.lower * (1 - 1e-9) <= truth <= answer.upper * (1 + 1e-9)
        assert answer.upper == pytest.approx(truth, rel=2e-4)
    assert x.size == none.size


def test_no_pair_of_contributions_is_worse() -> None:
    """Brute force in the plane: no two records of norm at most 1 have a larger delta than (1, -1)."""
    grid = np.linspace(-7.0, 7.0, 281)
    x, y = np.meshgrid(grid, grid)
    cell, q, sigma = (grid[1] - grid[0]) ** 2, 0.2, 1.0

    def density(a: float, b: float) -> Any:
        return np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * sigma**2)) / (2 * math.pi * sigma**2)

    none = density(0.0, 0.0)

    def delta(a: tuple[float, float], b: tuple[float, float], gamma: float) -> float:
        p, r = (1 - q) * none + q * density(*a), (1 - q) * none + q * density(*b)
        return float(np.maximum(p - gamma * r, 0.0).sum() * cell)

    circle = [
        (s * math.cos(t), s * math.sin(t)) for s in (0.5, 1.0) for t in np.linspace(0, math.pi, 7)
    ]
    for gamma in (0.5, 1.0, 1.2, 2.0):
        most = delta((1.0, 0.0), (-1.0, 0.0), gamma)
        for a, b in itertools.product(circle, circle):
            assert delta(a, b, gamma) <= most + 1e-6


def test_an_odd_sensitivity_has_no_two_records_that_face_each_other() -> None:
    """Half of 3 is no whole number: the interval of C_q stays."""
    run = dp.Poisson("0.05")(dp.DiscreteLaplace(scale=2, sensitivity=3)) * 10
    answer = run.epsilon("1e-5", adjacency=REPLACE_ONE, method="exact")
    assert answer.lower is not None and answer.upper > 1.05 * answer.lower


GROUPS = [(2, 3.29422), (5, 9.59963), (10, 22.889)]


@pytest.mark.parametrize(("size", "truth"), GROUPS)
def test_a_group_of_a_sampled_gaussian_is_exact(size: int, truth: float) -> None:
    """Truth: dp_accounting's mixture of Gaussians for the split that is worst there, k against 0."""
    run = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000
    answer = dp.Group(run, size=size).epsilon("1e-5", method="exact")
    assert answer.upper == pytest.approx(truth, rel=2e-5)
    assert answer.lower is not None and answer.upper - answer.lower < 1e-9


@pytest.mark.parametrize(("rate", "size"), [("0.2", 2), ("0.7", 3)])
def test_a_group_s_one_step_by_quadrature(rate: str, size: int) -> None:
    """Truth: mpmath, the worst split of the group between the two data sets."""
    q, mu = mp.mpf(rate), mp.mpf("0.8")

    def moved(x: Any, units: int, way: int) -> Any:
        weights = (mp.binomial(units, i) * q**i * (1 - q) ** (units - i) for i in range(units + 1))
        return sum(w * mp.npdf(x, way * i * mu) for i, w in enumerate(weights))

    with mp.workdps(18):
        for epsilon in ("0.1", "1"):
            growth = mp.exp(mp.mpf(epsilon))
            truth = max(
                mp.quad(
                    lambda x, j=j, growth=growth: max(
                        moved(x, j, 1) - growth * moved(x, size - j, -1), 0
                    ),
                    mp.linspace(-14, 14, 57),
                )
                for j in range(size + 1)
            )
            run = dp.Poisson(rate)(dp.Gaussian(sigma="1.25"))
            answer = dp.Group(run, size=size).delta(epsilon, method="exact")
            assert answer.upper == pytest.approx(float(truth), rel=1e-5)


def test_a_group_of_exchanged_units_is_worse_than_one() -> None:
    run = (dp.Poisson("0.01")(dp.Gaussian(noise_multiplier="1.1")) * 100).under("replace-one")
    one, two = (dp.Group(run, size=k).epsilon("1e-5", method="exact") for k in (1, 2))
    assert 2 * one.upper < two.upper < 4 * one.upper
