"""A calibrated plan meets its target when asked again: epsilon at the delta, delta at the epsilon."""

from collections.abc import Callable
from typing import Any

import pytest

import dpacct as dp

PLANS: dict[str, Callable[[Any], dp.Node]] = {
    "gaussian": lambda s: dp.Gaussian(sigma=s) * 100,
    "poisson": lambda s: dp.Poisson("0.01")(dp.Gaussian(sigma=s)) * 1000,
    "low sampling": lambda s: dp.Poisson("0.001")(dp.Gaussian(sigma=s)) * 100,
    "fixed size": lambda s: dp.WithoutReplacement("0.01")(dp.Gaussian(sigma=s)) * 1000,
    "exchanged": lambda s: (dp.Poisson("0.01")(dp.Gaussian(sigma=s)) * 1000).under("replace-one"),
    "laplace": lambda s: dp.Laplace(b=s) * 100,
    "sampled laplace": lambda s: dp.Poisson("0.05")(dp.Laplace(b=s)) * 200,
    "randomized response": lambda s: dp.RandomizedResponse(eps0=s) * 100,
    "discrete laplace": lambda s: dp.DiscreteLaplace(scale=s) * 30,
    "discrete gaussian": lambda s: dp.DiscreteGaussian(scale=s) * 30,
    "staircase": lambda s: dp.Staircase(eps0=s) * 20,
    "pure": lambda s: dp.PureDP(s) * 20,
    "exponential": lambda s: dp.ExponentialMechanism(s) * 20,
    "participation": lambda s: dp.Participation("0.1")(dp.Gaussian(sigma=s) * 5) * 20,
    "nested": lambda s: dp.Poisson("0.1")(dp.Laplace(b=s) * 5) * 20,
    "records": lambda s: dp.RecordsPerUser(3, "0.01")(dp.Gaussian(sigma=s)) * 100,
    "bins": lambda s: dp.BallsInBins(20)(dp.Gaussian(sigma=s)),
    "sum": lambda s: dp.Poisson("0.01")(dp.Gaussian(sigma=s)) * 300 + dp.Laplace(b=4),
}


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("name", PLANS)
def test_both_ends_meet_the_target(name: str, method: str) -> None:
    """Brackets of two tilts gave 3.00004 where 3 was asked for."""
    build = PLANS[name]
    for epsilon, delta in ((3, "1e-5"), ("0.5", "1e-6")):
        found = dp.calibrate(build, epsilon=epsilon, delta=delta, method=method)
        plan = build(float(found))
        assert plan.epsilon(delta, method=method).upper <= float(epsilon)
        assert plan.delta(epsilon, method=method).upper <= float(delta)


@pytest.mark.parametrize("name", ["poisson", "laplace"])
def test_as_many_steps_as_are_calibrated_meet_the_target(name: str) -> None:
    step = {"poisson": dp.Poisson("0.01")(dp.Gaussian(sigma=1)), "laplace": dp.Laplace(b=10)}
    one = step[name]
    steps = int(dp.calibrate(lambda n: one * n, epsilon=2, delta="1e-5", integer=True))
    assert (one * steps).epsilon("1e-5").upper <= 2
    assert (one * (steps + 1 + steps // 1000)).epsilon("1e-5").upper > 2 * (1 - 1e-4)
