"""Everything derived from a plan agrees with everything else, and with dpacct asked directly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct_training.calibration import Target
from dpacct_training.keys import Keys
from dpacct_training.plan import CLIENTS, Plan

PLANS = st.builds(
    Plan,
    clients=st.integers(1, 200).map(lambda n: 20 * n),
    rate=st.integers(1, 20).map(lambda n: Fraction(n, 20)),
    scheme=st.sampled_from(["poisson", "uniform"]),
    rounds=st.integers(1, 50),
    clip=st.floats(1e-3, 1e3),
    noise_multiplier=st.floats(0.01, 100.0),
    noise_by=st.sampled_from(["server", "clients"]),
)


@given(PLANS)
def test_what_runs_is_what_is_accounted(plan: Plan) -> None:
    sampler: Any = dp.Poisson if plan.scheme == "poisson" else dp.WithoutReplacement
    assert plan.clip is not None and plan.tree is not None
    noise = dp.Gaussian(noise_multiplier=plan.noise_multiplier, clip=plan.clip)
    assert plan.tree.equivalent((sampler(plan.rate)(noise) * plan.rounds).under(unit="client"))
    # the noise that is drawn is at least the accounted one, and no more than rounding above it
    accounted = Fraction(plan.noise_multiplier) * Fraction(plan.clip)
    assert 1 <= Fraction(plan.noise_std) / accounted <= 1 + Fraction(1, 2**51)
    assert plan.denominator == plan.rate * plan.clients
    sample = plan.sample(1, Keys.from_seed(0))
    assert plan.scheme == "poisson" or sample.size == plan.denominator
    assert sample.coins == (plan.clients if plan.scheme == "poisson" else 0)


@pytest.mark.parametrize("scheme", ["poisson", "uniform", "none"])
def test_epsilon_is_dpacct_s(scheme: str) -> None:
    rate = Fraction(1) if scheme == "none" else Fraction(1, 20)
    plan = Plan(clients=100, rate=rate, scheme=scheme, rounds=30, clip=0.5, noise_multiplier=2.0)
    noise = dp.Gaussian(noise_multiplier=2, clip=0.5)
    node: Any = {
        "poisson": dp.Poisson("0.05")(noise),
        "uniform": dp.WithoutReplacement("0.05")(noise),
        "none": noise,
    }[scheme]
    answer = plan.epsilon(Fraction(1, 10**5))
    assert answer is not None
    assert float(answer) == float((node * 30).epsilon(delta=1e-5))
    assert str(answer.unit) == "client"


@pytest.mark.parametrize("noise", ["exact", "dp_fed_ls.theorem2"])
def test_calibrated_noise_meets_its_target(noise: str) -> None:
    target = Target(7.0, Fraction(1, 2000), noise)
    run: dict[str, Any] = {"rate": Fraction(1, 20), "rounds": 30, "scheme": "poisson", "clip": 0.3}
    plan = Plan(clients=1000, noise_multiplier=target.multiplier(**run), **run)
    answer = plan.epsilon(target.delta)
    assert answer is not None
    assert float(answer) <= 7.0
    assert noise != "exact" or float(answer) > 7.0 - 1e-6


def test_the_paper_s_noise_by_its_theorem() -> None:
    """000 Table 1's noise, from errata.md (solved there independently): std in the sum."""
    for epsilon, nu in [(6, 0.8080309941), (7, 0.6636499004), (9, 0.5257047778)]:
        target = Target(epsilon, Fraction(1000**-1.1), "dp_fed_ls.theorem1")
        got = target.multiplier(rate=Fraction(1, 20), rounds=30, scheme="uniform", clip=0.3)
        assert got * 0.3 == pytest.approx(nu, rel=1e-9)


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_given_noise_is_never_accounted_above_what_is_drawn(std: float, clip: float) -> None:
    plan = Plan(
        clients=10,
        rate=Fraction(1, 2),
        scheme="poisson",
        rounds=1,
        clip=clip,
        noise_multiplier=Target(1.0, Fraction(1, 100), std).multiplier(
            rate=Fraction(1, 2), rounds=1, scheme="poisson", clip=clip
        ),
    )
    assert Fraction(plan.noise_multiplier) * Fraction(clip) <= Fraction(plan.noise_std)
    assert plan.noise_std == pytest.approx(std, rel=1e-14)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": 0.033, "scheme": "uniform"}, "rate times clients must be a whole number"),
        ({"rate": 0.5, "scheme": "none"}, "rate must be 1"),
        ({"rate": 0}, "rate must be a number above 0 and at most 1"),
        ({"rate": float("nan")}, "rate must be"),
        ({"clip": None}, "clip must be given"),
        ({"clip": float("inf")}, "clip must be a finite number"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier must be a finite number"),
        ({"noise_multiplier": -1}, "noise_multiplier must be at least 0"),
        ({"scheme": "shuffled"}, "scheme must be one of poisson, uniform, none, got 'shuffled'"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"clients": 2.5}, "clients must be a whole number"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes: dict[str, Any], says: str) -> None:
    fine: dict[str, Any] = {
        "clients": 100,
        "rate": 0.1,
        "scheme": "poisson",
        "rounds": 3,
        "clip": 1.0,
        "noise_multiplier": 1.0,
    }
    with pytest.raises(dp.InvalidArgument, match=says):
        Plan(**{**fine, **changes})


def test_without_noise_nothing_is_claimed() -> None:
    plan = Plan(clients=10, rate=Fraction(1, 2), scheme="poisson", rounds=3)
    assert (plan.private, plan.tree, plan.epsilon(Fraction(1, 10))) == (False, None, None)
    assert plan.counts([5, 0, 4], 7)["noise_numbers"] == 0


def test_counts_with_the_clients_noise() -> None:
    plan = Plan(
        clients=10,
        rate=Fraction(1, 2),
        scheme="poisson",
        rounds=3,
        clip=1.0,
        noise_multiplier=1.0,
        noise_by=CLIENTS,
    )
    # two rounds of five and four shares; in the empty one the server draws
    assert plan.counts([5, 0, 4], 7) == {
        "rounds": 3,
        "coins": 30,
        "clips": 9,
        "noise_vectors": 10,
        "noise_numbers": 70,
    }
