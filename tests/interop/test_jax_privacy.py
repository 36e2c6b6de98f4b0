"""jax_privacy: its execution plans calibrate with our accountant, and become plans of ours."""

import numpy as np
import pytest

import dpacct as dp
from dpacct.interop import jax_privacy

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def config_class() -> type:
    from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig

    return BandMFExecutionPlanConfig


def test_a_plan_is_calibrated_and_read_back(config_class: type) -> None:
    """One band is DP-SGD: 200 Poisson-sampled Gaussian steps, under zero-out."""
    config = config_class(
        iterations=200,
        strategy=np.ones(1),
        epsilon=2.0,
        delta=1e-6,
        sampling_prob=0.05,
        accountant=jax_privacy.accountant(),
    )
    run = jax_privacy.from_execution_plan(config.plan, adjacency="zero-out")
    assert 1.999 < run.epsilon(delta=1e-6, method="exact").upper <= 2.0
    exact = dp.noise_multiplier(
        epsilon=2, delta=1e-6, sample_rate=0.05, steps=200, adjacency="zero-out", method="exact"
    )
    noise = config.plan.dp_event.event.event.noise_multiplier
    assert exact * (1 - 1e-12) <= noise <= exact + 2e-6


def test_the_adjacency_must_be_known(config_class: type) -> None:
    config = config_class(
        iterations=4,
        strategy=np.ones(2) / 2**0.5,
        epsilon=None,
        delta=None,
        noise_multiplier=2.0,
        accountant=jax_privacy.accountant(),
    )
    with pytest.raises(dp.InvalidArgument, match="adjacency"):
        jax_privacy.from_execution_plan(config.plan)
    replaced = jax_privacy.from_execution_plan(config.plan, adjacency="replace-one")
    # two bands: each record is in 2 of the 4 iterations; noise is 2 sensitivities under any relation
    assert replaced.equivalent(dp.Gaussian(sigma=2) * 2)
