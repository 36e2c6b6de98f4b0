"""Samplers: rates, what one sample amounts to, and what is passed to the curves."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.errors import InvalidArgument, OutsideDomain, Unsupported
from dpacct.mechanisms.gaussian import Gaussian, GaussianStatistic
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.opaque import ZCDP, PureDP
from dpacct.plan.group import Group
from dpacct.plan.node import Leaf, Node, from_json
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.plan.samplers.records import RecordsPerUser
from dpacct.plan.samplers.sampled import NestedRelease, Sampler
from dpacct.pld import contour
from dpacct.pld.allocation import one_of
from dpacct.pld.loss import gaussian
from dpacct.vocabulary import Adjacency
from tests.cli.runner import run
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


def test_records_of_a_user_are_no_more_than_a_group() -> None:
    user = RecordsPerUser(4, "0.05")(Gaussian(sigma=3)) * 50
    group = Group(Poisson("0.05")(Gaussian(sigma=3)) * 50, size=4)
    of_user, of_group = (float(plan.epsilon(delta=1e-5, method="exact")) for plan in (user, group))
    assert of_user <= of_group * (1 + 1e-9)


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


# --- Units in bins: against inverse Laplace transforms, coins, and itself at other counts.


# sigma, steps, and epsilon at delta 1e-6 if the unit is removed, and added
FIGURES = [
    ("1", 100, 0.857985977, 0.486425090),
    ("1", 1000, 0.171728685, 0.149430955),
    ("2", 1000, 0.059231457, 0.058876402),
    ("0.8", 1000, 0.450036738, 0.216163454),
    ("1", 10_000, 0.045822227, 0.044512455),
]


def epoch(sigma: str, steps: int, epochs: int = 1) -> Node:
    return dp.BallsInBins(steps, epochs=epochs)(dp.Gaussian(sigma=sigma))


def removed_and_added(sigma: float, steps: int, epsilon: float) -> tuple[float, float]:
    """E(S/t - e^eps)+ and e^eps E(e^-eps - S/t)+, from E exp(-uS/t), S of t lognormals."""
    z = np.linspace(-12.0, 12.0, 6001)
    weights = np.exp(-0.5 * z * z)
    weights /= weights.sum()
    x = np.exp(z / sigma)
    x /= weights @ x  # of mean 1
    scale = math.sqrt(steps / math.expm1(sigma**-2.0))  # the inverse of the deviation of S/t
    results = []
    for sign, level in ((-1.0, epsilon), (0.0, -epsilon)):
        excess, total = math.expm1(level), 0.0
        for k in range(4000):
            u = scale * (0.3 + 0.02j * k)
            moment = complex(weights @ np.expm1(-u / steps * x))
            size = 0.5 * math.log1p(2.0 * moment.real + abs(moment) ** 2)
            log = size + 1j * math.atan2(moment.imag, 1.0 + moment.real)
            value = np.exp(u * excess + steps * log + u) / u**2
            total += value.real * (0.5 if k == 0 else 1.0) * 0.02 * scale / math.pi
            if abs(value) * scale < 1e-19:
                break
        results.append(total + sign * excess)
    return results[0], math.exp(epsilon) * results[1]


@pytest.mark.parametrize(("sigma", "steps", "removed", "added"), FIGURES)
def test_figures(sigma: str, steps: int, removed: float, added: float) -> None:
    plan = epoch(sigma, steps)
    answer = plan.epsilon(delta=1e-6, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.upper - answer.lower < 1e-10
    assert float(answer) == pytest.approx(removed, abs=7e-10)
    delta = removed_and_added(float(sigma), steps, added)[1]
    assert delta == pytest.approx(1e-6, rel=3e-7)
    assert answer.strength is dp.Strength.CONVERGED


@pytest.mark.parametrize(
    ("sigma", "steps", "epsilon"),
    [(1.0, 100, 0.5), (0.9, 60, 1.0), (3.0, 1000, 0.02), (1.5, 30, 0.2)],
)
def test_deltas_against_an_inverted_transform(sigma: float, steps: int, epsilon: float) -> None:
    removed, added = removed_and_added(sigma, steps, epsilon)
    assert added < removed
    answer = epoch(str(sigma), steps).delta(epsilon=epsilon, method="exact")
    assert float(answer) == pytest.approx(removed, rel=1e-9)


def test_two_bins_by_a_call_on_each() -> None:
    """E(X + Y - 2K)+ / 2: given X, a call on the lognormal Y, which is closed."""
    epsilon, mu = 0.8, 1.0 / 1.3
    z, width = np.linspace(-12.0, 12.0, 240_001, retstep=True)
    x = np.exp(mu * z - 0.5 * mu * mu)
    strikes = 2.0 * math.exp(epsilon) - x
    with np.errstate(invalid="ignore", divide="ignore"):
        d = -np.log(strikes) / mu + 0.5 * mu
        normal = np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2.0)))
        call = np.where(strikes > 0.0, normal(d) - strikes * normal(d - mu), 1.0 - strikes)
    delta = 0.5 * float(np.exp(-0.5 * z * z) @ call) * float(width) / math.sqrt(2.0 * math.pi)
    answer = epoch("1.3", 2).delta(epsilon=epsilon, method="exact")
    assert float(answer) == pytest.approx(delta, rel=1e-8)


def test_far_tails_are_those_of_one_large_term() -> None:
    """Far out delta is about P(the unit's own term alone is as large), and below that."""
    plan, epsilon, sigma = epoch("1", 100), 20.0, 1.0
    z = sigma * (epsilon + math.log(100.0) - 0.5 / sigma**2)
    alone = 0.5 * math.erfc(z / math.sqrt(2.0))
    delta = float(plan.delta(epsilon=epsilon, method="exact"))

    assert delta < alone
    assert delta > 0.02 * alone


def test_the_same_bins_are_less_noise() -> None:
    for epochs in (4, 9):
        plan = epoch(str(math.isqrt(epochs)), 50, epochs)
        once = epoch("1", 50)
        assert float(plan.epsilon(delta=1e-8)) == pytest.approx(
            float(once.epsilon(delta=1e-8)), rel=1e-12
        )


def test_bins_drawn_afresh_are_inside_their_lattice() -> None:
    plan = epoch("1", 100) * 10
    answer, lattice = (plan.epsilon(delta=1e-6, method=m) for m in ("exact", "bracket"))
    assert lattice.lower is not None and lattice.upper is not None
    assert lattice.lower <= float(answer) <= lattice.upper < 1.0001 * lattice.lower
    assert float(answer) < float(
        (dp.Poisson("0.01")(dp.Gaussian(sigma=1)) * 1000).epsilon(delta=1e-6)
    )


def test_two_bins_beside_each_other() -> None:
    """Epsilons of an odd count lie between those of its neighbours."""
    values = [float(epoch("2", steps).epsilon(delta=1e-5)) for steps in (2, 3, 4, 5, 6, 7, 8)]
    assert values == sorted(values, reverse=True)


def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="from 2 to"):
        dp.BallsInBins(1)
    with pytest.raises(InvalidArgument, match="replace-one"):
        epoch("1", 10).epsilon(delta=1e-5, adjacency="replace-one")
    with pytest.raises(OutsideDomain, match=r"at least 0\.1"):
        epoch("1", 10, 200).epsilon(delta=1e-5)
    for noise in (dp.Laplace(b=1), dp.Gaussian(sigma=1) + dp.Laplace(b=1)):
        with pytest.raises(Unsupported, match="Gaussian noise alone"):
            dp.BallsInBins(10)(noise).epsilon(delta=1e-5)
    with pytest.raises(Unsupported, match="balls-in-bins"):
        epoch("1", 10).epsilon(delta=1e-5, method="certified")


def test_saved_and_on_the_command_line(tmp_path: Path) -> None:
    plan = epoch("1", 100, 3) * 2
    assert dp.from_json(plan.to_json()) == plan
    assert repr(plan) == "BallsInBins(100, 3)(Gaussian(sigma=1)) * 2"
    file = tmp_path / "plan.json"
    file.write_text(epoch("1", 100).to_json(), encoding="utf-8")
    result = run("compose", str(file), "--delta", "1e-6", "--json")
    assert result.code == 0
    assert result.json["value"] == pytest.approx(0.857985977, abs=1e-9)


@pytest.mark.parametrize("sigma", [1e5, 1e7])
def test_under_vast_noise_a_mean_of_lognormals_is_normal(sigma: float) -> None:
    """Shifts of the size of log 2 left losses of 1e-7 without digits: 19 s, and no answer."""
    count = 1854
    law, mu = one_of(count, 1.0 / sigma), 1.0 / (sigma * math.sqrt(count))
    for way in (law, law.reversed()):
        for epsilon in (0.0, 3.0 * mu):
            result = contour.log_delta([(way, 12)], epsilon)
            limit = contour.log_delta([(gaussian(mu), 12)], epsilon)
            assert result.value == pytest.approx(limit.value, abs=1e-10 + result.error)
