"""Samplers: rates, what one sample amounts to, and what is passed to the curves."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import InvalidArgument, Unsupported
from dpacct.mechanisms.gaussian import Gaussian, GaussianStatistic
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.opaque import ZCDP, PureDP
from dpacct.plan.group import Group
from dpacct.plan.node import Leaf, Node, from_json
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.plan.samplers.records import RecordsPerUser
from dpacct.plan.samplers.sampled import NestedRelease, Sampler
from dpacct.vocabulary import Adjacency
from tests.plans import gaussians, mechanisms, rates

SAMPLERS: list[type[Sampler]] = [Poisson, WithoutReplacement]
samplers = st.sampled_from(SAMPLERS)
M = Gaussian(sigma=1)


def only(plan: Node) -> Leaf:
    ((leaf, count),) = plan.releases()
    assert count == 1
    return leaf


@pytest.mark.parametrize(
    "rate", [0.01, "0.01", "1/100", Fraction(1, 100), np.float32(0.01), "1e-2"]
)
def test_rates_are_exact(rate: Any) -> None:
    assert Poisson(rate) == Poisson("0.01")
    assert Poisson(rate).rate == Fraction(1, 100)
    assert Poisson(rate) != WithoutReplacement(rate)


@pytest.mark.parametrize("wrong", [None, 1.1, "gaussian", Gaussian, [M]])
def test_only_plans_are_sampled(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be given a plan"):
        Poisson(0.1)(wrong)


@given(samplers, rates, mechanisms())
def test_a_sampled_mechanism_is_a_leaf(sampler: type[Sampler], rate: Any, inner: Node) -> None:
    plan = sampler(rate)(inner)
    assert only(plan) == (inner if rate == 1 else plan)


@given(samplers, mechanisms(), st.integers(1, 50))
def test_a_rate_of_one_samples_nothing_away(sampler: type[Sampler], inner: Node, n: int) -> None:
    assert sampler(1)(inner * n + M).equivalent(inner * n + M)


@given(samplers, rates, gaussians(), st.integers(1, 40))
def test_k_gaussian_steps_under_one_sample(
    sampler: type[Sampler], rate: Any, step: Gaussian, k: int
) -> None:
    held = sampler(rate)(step * (k * k))
    if rate == 1:
        assert held.releases() == (step * (k * k)).releases()
        return
    if step.noise_multiplier is None:
        scaled = Gaussian(sigma=step.sigma / k)  # type: ignore[operator]
    else:
        scaled = Gaussian(noise_multiplier=step.noise_multiplier / k, clip=step.clip)
    assert only(held) == only(sampler(rate)(scaled))


def test_the_client_coin_of_the_contract() -> None:
    plan = Poisson(0.1)(Gaussian(sigma=1.1) * 50) * 20
    ((leaf, count),) = plan.releases()
    assert count == 20
    assert leaf == Poisson(0.1)(GaussianStatistic(per_sensitivity=50 / Fraction("1.21")))


def test_order_and_grouping_under_a_sample_do_not_matter() -> None:
    two = Gaussian(sigma=2)
    assert only(Poisson(0.1)((M + two) * 3)) == only(Poisson(0.1)(two * 3 + M * 3))


fair = st.fractions("1/1000", 1)


@given(samplers, fair, fair, mechanisms())
def test_a_sample_of_a_sample(sampler: type[Sampler], outer: Any, inner: Any, m: Node) -> None:
    nested = sampler(outer)(sampler(inner)(m))
    assert only(nested) == only(sampler(outer * inner)(m))


def test_a_rate_that_floats_cannot_hold_is_refused_also_as_a_product() -> None:
    with pytest.raises(InvalidArgument, match="rate must be a number above 0"):
        Poisson("1e-200")(Poisson("1e-200")(M)).releases()


def test_rates_of_nested_samples_do_not_multiply_across_steps() -> None:
    """A client coin over 50 steps with record coins of their own is not 50 smaller coins (D9)."""
    inner = Poisson(0.01)(M) * 50
    (leaf, count), *rest = (Poisson(0.1)(inner) * 20).releases()
    assert leaf == NestedRelease(Poisson(0.1), inner) and count == 20 and not rest
    assert not (Poisson(0.1)(inner) * 20).equivalent(Poisson(0.001)(M) * 1000)


@pytest.mark.parametrize(
    "inner", [Laplace(b=1) * 2, M + Laplace(b=1), PureDP(epsilon=1) * 3, Laplace(b=1) + M], ids=repr
)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_composition_under_one_sample_is_one_leaf(sampler: type[Sampler], inner: Node) -> None:
    held = sampler(0.5)(inner)
    assert (held * 10).releases() == ((NestedRelease(sampler(0.5), inner), 10),)
    assert sampler(1)(inner).releases() == inner.releases()
    assert sampler(0.5)(sampler(0.5)(inner)).releases() == sampler(0.25)(inner).releases()


def test_a_unit_with_a_coin_of_its_own_is_not_one_of_a_fixed_number() -> None:
    with pytest.raises(Unsupported, match=r"Poisson around .* has no known pair"):
        Poisson(0.5)(WithoutReplacement(0.5)(M)).releases()
    assert only(WithoutReplacement(0.5)(Poisson(0.5)(M))).fixed_adjacency is Adjacency.REPLACE_ONE
    for outer, inner in ((Poisson, WithoutReplacement), (WithoutReplacement, Poisson)):
        assert only(outer(1)(inner(0.5)(M))) == only(inner(0.5)(M))
        assert only(outer(0.5)(inner(1)(M))) == only(outer(0.5)(M))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_zcdp_is_not_amplified(sampler: type[Sampler]) -> None:
    with pytest.raises(Unsupported, match="cannot be amplified by sampling"):
        sampler(0.5)(ZCDP(rho=1)).releases()
    assert only(sampler(1)(ZCDP(rho=1))) == ZCDP(rho=1)


def test_adjacency_that_sampling_fixes() -> None:
    assert Poisson(0.1)(M).fixed_adjacency is None
    assert only(Poisson(0.1)(M)).fixed_adjacency is None
    assert only(WithoutReplacement(0.1)(M)).fixed_adjacency is Adjacency.REPLACE_ONE


class Base:
    """Stands in for a pair of the curves: notes what it is asked."""

    def plain(self) -> Any:
        return ("plain",)

    def poisson(self, rate: float, adjacency: Adjacency) -> Any:
        return ("poisson", rate, adjacency)

    def without_replacement(self, rate: float, adjacency: Adjacency) -> Any:
        return ("without_replacement", rate, adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_what_the_curves_are_asked(adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Adjacency] = []

    def pair(self: Gaussian, under: Adjacency) -> Any:
        asked.append(under)
        return Base()

    monkeypatch.setattr(Gaussian, "pair", pair)
    assert only(M).pairs(adjacency) == ("plain",)  # type: ignore[comparison-overlap]
    got: Any = only(Poisson("1/4")(M)).pairs(adjacency)
    assert got == ("poisson", 0.25, adjacency)
    got = only(WithoutReplacement("1/4")(M)).pairs(adjacency)
    assert got == ("without_replacement", 0.25, adjacency)
    assert asked == [adjacency] * 3


@pytest.mark.parametrize(("records", "grid"), [(2, 3.29469), (5, 9.59987), (10, 22.8889)])
def test_records_of_a_user_against_a_peer(records: int, grid: float) -> None:
    """`grid`: the upper end of dp_accounting's mixture of Gaussians, on a grid of 1e-3."""
    run = RecordsPerUser(records, "0.01")(Gaussian(sigma="1.1")) * 1000
    answer = run.epsilon(delta=1e-5, method="exact")
    assert answer.upper is not None and answer.lower is not None
    assert grid * (1 - 3e-4) < answer.lower <= answer.upper < grid
    assert from_json(run.to_json()) == run and repr(run).startswith(
        f"RecordsPerUser({records}, 0.01)"
    )
    back = run.delta(epsilon=float(answer), method="exact")
    assert float(back) == pytest.approx(1e-5, rel=1e-8)


def test_a_user_of_one_record_is_that_record() -> None:
    plans = [
        sampler(Gaussian(sigma=2) * 3) * 20
        for sampler in (Poisson("0.1"), RecordsPerUser(1, "0.1"))
    ]
    poisson, user = (plan.epsilon(delta=1e-6, method="exact").value for plan in plans)
    assert user == pytest.approx(poisson, rel=1e-12)


def test_records_of_a_user_are_below_a_group() -> None:
    user = RecordsPerUser(4, "0.05")(Gaussian(sigma=3)) * 50
    group = Group(Poisson("0.05")(Gaussian(sigma=3)) * 50, size=4)
    of_user, of_group = (float(plan.epsilon(delta=1e-5, method="exact")) for plan in (user, group))
    assert of_user < of_group


@pytest.mark.parametrize("noise", [Laplace(b=1), PureDP(epsilon=1), M + Laplace(b=1)])
def test_records_of_a_user_need_gaussian_noise(noise: Node) -> None:
    with pytest.raises(Unsupported, match="Gaussian noise alone"):
        RecordsPerUser(3, "0.1")(noise).epsilon(delta=1e-5)


def test_some_records_of_a_user_are_left_out() -> None:
    with pytest.raises(InvalidArgument, match="strictly between 0 and 1"):
        RecordsPerUser(3, 1)
    with pytest.raises(InvalidArgument, match="replace-one"):
        RecordsPerUser(3, "0.1")(M).epsilon(delta=1e-5, adjacency="replace-one")


def test_assumptions_say_how_the_sample_is_drawn() -> None:
    results = [str(a) for a in Poisson(0.1)(M).assumptions(Adjacency.ADD_REMOVE)]
    assert any("sampled independently" in each for each in results)
    results = [str(a) for a in WithoutReplacement(0.1)(M).assumptions(Adjacency.REPLACE_ONE)]
    assert any("uniformly random subset" in each for each in results)
    assert len(Poisson(0.1)(M).citations()) == len(M.citations()) + 1
