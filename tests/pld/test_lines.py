"""Contours beside atoms, where |M| comes back far out, and where mass that is apart must not be folded in."""

import math

import mpmath as mp
import numpy as np
import pytest

import dpacct as dp


def test_atoms_and_a_density_that_is_nearly_one_bring_the_moments_back() -> None:
    """Sampled steep losses gather at both ends of their range: M is large again after a turn of it.

    Truth: one step on 400,000 points, composed by a tilted transform of numpy, on steps of 2e-4 and 1e-4.
    """
    run = dp.Poisson("0.05327")(dp.Laplace(b="0.0795")) * 122
    answer = run.delta(epsilon="195.7911632736", method="exact")
    assert answer.lower is not None and answer.upper is not None
    truth = math.exp(-16.3750342209)
    assert answer.lower <= truth * (1 + 1e-8) and truth * (1 - 1e-8) <= answer.upper
    assert answer.upper <= 1.01 * truth


@pytest.mark.parametrize(
    ("rate", "b", "steps", "delta"),
    [
        ("1.147e-9", "0.0073", 1039, "3.756e-207"),
        ("1.162e-6", "0.01717", 100900, "4.493e-123"),
        ("6.165e-7", "0.05178", 1005, "3.911e-292"),
    ],
)
def test_such_plans_agree_with_a_grid(rate: str, b: str, steps: int, delta: str) -> None:
    run = dp.Poisson(rate)(dp.Laplace(b=b)) * steps
    exact, grid = (run.epsilon(delta=delta, method=method) for method in ("exact", "bracket"))
    for lesser, greater in ((exact, grid), (grid, exact)):
        assert lesser.lower is not None and greater.upper is not None
        assert lesser.lower <= greater.upper


def test_an_odd_atom_far_from_epsilon_is_not_folded_onto_it() -> None:
    """Truth: the sum over all counts of the three outcomes, in 30 digits of mpmath."""
    run = dp.Poisson("0.001402")(dp.DiscreteLaplace(scale="0.4813", sensitivity=2)) * 3269
    answer = run.delta(epsilon="4.066354992871617", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= 3.674019819558e-10 * (1 + 1e-12)
    assert 3.674019819558e-10 * (1 - 1e-12) <= answer.upper <= 3.674019819558e-10 * (1 + 1e-4)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "at", "beside"),
    [
        ("0.3451", "0.4894", 39, 0.03107, [2.519]),
        ("0.04932", "3.028", 191, 0.05038, [0.1035, 1.512, 1.928]),
    ],
)
def test_a_line_that_leans_leaves_more_out_at_a_smaller_epsilon(
    rate: str, sigma: str, steps: int, at: float, beside: list[float]
) -> None:
    """Truth: the sum over the rounds in which the unit took part, each a Gaussian's closed form."""
    run = dp.Participation(rate)(dp.Gaussian(sigma=sigma)) * steps
    value = float(np.asarray(run.profile([at, *beside]))[0])
    with mp.workdps(30):
        q, e, truth = mp.mpf(rate), mp.mpf(at), mp.mpf(0)
        for k in range(1, steps + 1):
            mu = mp.sqrt(k) / mp.mpf(sigma)
            share = mp.binomial(steps, k) * q**k * (1 - q) ** (steps - k)
            above = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
            truth += share * above
        assert truth * (1 - mp.mpf("1e-15")) <= value <= truth * (1 + mp.mpf("1e-4"))


@pytest.mark.parametrize(
    ("rate", "b", "steps", "epsilon", "truth"),
    [
        ("1.1e-9", "3.492", 715, "2.26e-8", 6.6088460395343648e-12),
        ("3.284e-9", "21.35", 13_610_000, "1.3566e-6", 1.4916179448131769e-9),
        ("3.409e-12", "518.4", 104_500_000, "1.42e-10", 4.1927678486717696e-13),
    ],
)
def test_laplace_noise_that_is_hardly_sampled(
    rate: str, b: str, steps: int, epsilon: str, truth: float
) -> None:
    """Tilts of 1e8 and more move a loss of 1e-10 no further than others: brackets were 1e-5 wide.

    Truth: Alghamdi's integral by the trapezoid rule in 40 digits, moments by mpmath's quad.
    """
    answer = (dp.Poisson(rate)(dp.Laplace(b=b)) * steps).delta(epsilon=epsilon, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper <= answer.lower * (1.0 + 1e-3)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "epsilon", "truth"),
    [
        ("0.002718", "3.188", 10_850, "1.234", 2.1229461761314576e-42),
        ("7.859e-6", "2.664", 708_500_000, "1.4882278", 4.9430220598404309e-77),
    ],
)
def test_a_moment_near_one_keeps_its_digits_beside_far_jumps(
    rate: str, sigma: str, steps: int, epsilon: str, truth: float
) -> None:
    """Where e^{cL} overflows far out, log M was off by the rounding of 1 in every step: 2e-7 of delta.

    Truth: Alghamdi's integral and its moments by trapezoid rules in 50 digits, at two tilts.
    """
    answer = (dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps).delta(
        epsilon=epsilon, method="exact"
    )
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper


def test_jumps_that_lead_are_not_cut_off() -> None:
    """Delta was said to be 1e-453: jumps below e^-110 were cut off, and nobody asked what was left.

    Truth: proved in ball arithmetic (row 377 of tests/proof/referee.json).
    """
    run = dp.Poisson("3.891e-7")(dp.Gaussian(sigma="1.791")) * 3_350_000_000
    answer = run.delta(epsilon="0.618452", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= 4.47078994599386e-146 <= answer.upper
