"""dp_accounting: events there and back, its calibration with our accountant, loss distributions."""

import copy
import math
from typing import Any

import attr
import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import dpacct as dp
from dpacct.interop.dp_accounting import DpacctAccountant, from_dp_event, to_dp_event, to_pld

ADD, REPLACE, ZERO = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)
DELTA = 1e-5
GAUSS = dpa.GaussianDpEvent(1.3)
STEP = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.1))

NOISE = st.floats(0.3, 50).map(lambda x: float(f"{x:.6g}"))
LEAVES = st.one_of(
    st.builds(dpa.GaussianDpEvent, NOISE),
    st.builds(dpa.LaplaceDpEvent, NOISE),
    st.builds(dpa.PoissonSampledDpEvent, st.sampled_from([0.01, 0.25, 1.0]), st.just(GAUSS)),
)
EVENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(dpa.SelfComposedDpEvent, inner, st.integers(2, 50)),
        st.builds(dpa.ComposedDpEvent, st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=5,
)


@given(event=EVENTS)
def test_events_and_plans_are_one_to_one(event: dpa.DpEvent) -> None:
    """A plan's event gives the plan again, and releases what the event released."""
    plan = from_dp_event(event)
    again = from_dp_event(to_dp_event(plan))
    assert again == plan
    counts: dict[str, int] = {}

    def count(part: Any, times: int) -> None:
        if isinstance(part, dpa.SelfComposedDpEvent):
            count(part.event, times * part.count)
        elif isinstance(part, dpa.ComposedDpEvent):
            for item in part.events:
                count(item, times)
        else:
            counts[repr(part)] = counts.get(repr(part), 0) + times

    count(event, 1)
    assert sum(counts.values()) == plan.facts.total


@pytest.mark.parametrize(
    ("event", "plan"),
    [
        (GAUSS, dp.Gaussian(noise_multiplier=1.3, clip=1)),
        (dpa.LaplaceDpEvent(2.0), dp.Laplace(b=2)),
        (dpa.ZCDpEvent(0.5), dp.ZCDP(rho=0.5)),
        (dpa.dp_event.DiscreteLaplaceDpEvent(0.25, 3), dp.DiscreteLaplace(scale=4, sensitivity=3)),
        (
            dpa.PoissonSampledDpEvent(0.1, dpa.SelfComposedDpEvent(GAUSS, 4)),
            dp.Poisson(0.1)(dp.Gaussian(noise_multiplier=1.3, clip=1) * 4),
        ),
    ],
    ids=str,
)
def test_each_kind_of_event(event: dpa.DpEvent, plan: dp.Node) -> None:
    assert from_dp_event(event) == plan.under("add-remove")
    assert to_dp_event(plan) == event


def test_randomised_response_is_rounded_to_the_safe_side() -> None:
    event = dpa.RandomizedResponseDpEvent(0.3, 4)
    plan = from_dp_event(event, adjacency="replace-one")
    eps0 = math.log((1 - 0.3 + 0.3 / 4) / (0.3 / 4))
    accountant = DpacctAccountant(REPLACE).compose(event, 3)
    assert accountant.get_epsilon(0) == pytest.approx(3 * eps0, rel=1e-12)
    assert float(plan.to_dict()["of"]["eps0"]) >= eps0
    with pytest.raises(dpa.UnsupportedEventError, match="add-remove"):
        DpacctAccountant(ADD).compose(event)


@pytest.mark.parametrize("kind", [dpa.GaussianDpEvent, dpa.LaplaceDpEvent])
def test_a_noise_multiplier_under_replace_one_must_say_of_what(kind: type) -> None:
    """google/differential-privacy#378: their two accountants answer 2.419 and 4.887 for one event."""
    for wrapped in (kind(2.0), dpa.PoissonSampledDpEvent(0.5, kind(2.0))):
        assert not DpacctAccountant(REPLACE).supports(wrapped)
        with pytest.raises(dpa.UnsupportedEventError, match="ambiguous under replace-one"):
            DpacctAccountant(REPLACE).compose(wrapped)
    with pytest.raises(dp.Unsupported, match="ambiguous"):
        to_dp_event(dp.Gaussian(sigma=2).under("replace-one"))
    results = {
        of: DpacctAccountant(REPLACE, noise_multiplier_of=of).compose(kind(2.0)).get_epsilon(1e-6)
        for of in ("clip", "sensitivity")
    }
    of_sensitivity = DpacctAccountant(ADD).compose(kind(2.0)).get_epsilon(1e-6)
    of_clip = DpacctAccountant(ADD).compose(kind(1.0)).get_epsilon(1e-6)
    assert results == {"clip": of_clip, "sensitivity": of_sensitivity}


@pytest.mark.parametrize("of", ["clip", "sensitivity"])
def test_the_meaning_survives_the_way_back(of: str) -> None:
    for event in (
        GAUSS,
        dpa.LaplaceDpEvent(2.0),
        dpa.SampledWithoutReplacementDpEvent(20, 1, GAUSS),
    ):
        plan = from_dp_event(event, adjacency="replace-one", noise_multiplier_of=of)
        assert to_dp_event(plan, noise_multiplier_of=of) == event


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_epsilon_lies_below_their_upper_bound_and_above_their_lower(relation: Any) -> None:
    """Their PLD accountant brackets the truth: pessimistic above, optimistic estimates below."""
    ours = DpacctAccountant(relation, noise_multiplier_of="sensitivity")
    if relation is REPLACE:
        # The event is read per sensitivity here; theirs reads it per clip, at half the noise.
        event, theirs = (
            dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(4.0), 10),
            dpa.GaussianDpEvent(8.0),
        )
        above = dpa.pld.PLDAccountant(relation).compose(theirs, 10).get_epsilon(DELTA)
    else:
        event = dpa.SelfComposedDpEvent(STEP, 300)
        above = dpa.pld.PLDAccountant(relation).compose(event).get_epsilon(DELTA)
    result = ours.compose(event).get_epsilon(DELTA)
    assert result <= above * (1 + 1e-9) <= result * 1.001


@pytest.mark.parametrize(
    "event",
    [
        dpa.SampledWithReplacementDpEvent(100, 5, GAUSS),
        dpa.SampledWithoutReplacementDpEvent(100, 5, GAUSS),
        dpa.GaussianDpEvent(float("nan")),
        dpa.GaussianDpEvent(-1.0),
        dpa.LaplaceDpEvent(float("inf")),
        dpa.PoissonSampledDpEvent(1.5, GAUSS),
        dpa.SelfComposedDpEvent(GAUSS, -1),
        dpa.PoissonSampledDpEvent(0.1, dpa.ZCDpEvent(0.5)),
    ],
    ids=str,
)
def test_what_has_no_counterpart_is_refused_not_reinterpreted(event: dpa.DpEvent) -> None:
    accountant = DpacctAccountant()
    for wrapped in (event, dpa.ComposedDpEvent([STEP, event])):
        assert not accountant.supports(wrapped)
        with pytest.raises((dpa.UnsupportedEventError, dp.InvalidArgument)):
            accountant.compose(wrapped)
    assert accountant.plan is None and accountant.get_epsilon(DELTA) == 0


@pytest.mark.parametrize("event", [dpa.NoOpDpEvent(), dpa.NonPrivateDpEvent()])
def test_what_is_no_plan(event: dpa.DpEvent) -> None:
    with pytest.raises(dp.Unsupported, match="no such plan"):
        from_dp_event(event)


def test_defects_of_their_accountants_are_not_ours() -> None:
    """D1: a count is not ignored. D4: nan is refused (above). D5: delta has a range."""
    response = dpa.RandomizedResponseDpEvent(0.5, 2)
    many = DpacctAccountant(REPLACE).compose(response, 20)
    listed = DpacctAccountant(REPLACE).compose(dpa.ComposedDpEvent([response] * 20))
    assert many.get_epsilon(1e-9) == listed.get_epsilon(1e-9) > 15
    accountant = DpacctAccountant().compose(GAUSS)
    for delta in (-1, 2, float("nan")):
        with pytest.raises(ValueError, match="target_delta"):
            accountant.get_epsilon(delta)
    for epsilon in (-1, float("nan")):
        with pytest.raises(ValueError, match="target_epsilon"):
            accountant.get_delta(epsilon)


def test_the_ends_of_delta() -> None:
    laplace = DpacctAccountant().compose(dpa.LaplaceDpEvent(4.0), 3)
    assert laplace.get_epsilon(0) == 0.75 and laplace.get_epsilon(1) == 0
    sampled = DpacctAccountant().compose(dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(1.0)))
    assert sampled.get_epsilon(0) == pytest.approx(math.log1p(0.1 * math.expm1(1)), rel=1e-12)
    assert DpacctAccountant().compose(GAUSS).get_epsilon(0) == math.inf
    assert DpacctAccountant().compose(GAUSS).get_delta(math.inf) == 0
    assert DpacctAccountant().compose(dpa.GaussianDpEvent(0.0)).get_epsilon(DELTA) == math.inf


def test_delta_is_the_inverse_of_epsilon() -> None:
    accountant = DpacctAccountant().compose(STEP, 500)
    assert accountant.get_delta(accountant.get_epsilon(DELTA)) == pytest.approx(DELTA, rel=1e-6)


def test_a_copy_goes_its_own_way() -> None:
    accountant = DpacctAccountant().compose(STEP)
    copied = copy.deepcopy(accountant).compose(STEP, 99)
    assert accountant.plan * 100 == copied.plan
    assert isinstance(accountant.ledger, dpa.DpEvent)


def test_their_calibration_with_our_accountant() -> None:
    """Unchanged, it ends at our own boundary, from the safe side."""
    result = dpa.calibrate_dp_mechanism(
        DpacctAccountant,
        lambda noise: dpa.SelfComposedDpEvent(
            dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(noise)), 1000
        ),
        7.0,
        DELTA,
    )
    ours = dp.noise_multiplier(epsilon=7, delta=DELTA, sample_rate=0.01, steps=1000, method="exact")
    assert ours * (1 - 1e-12) <= result <= ours + 2e-6
    steps = dpa.calibrate_dp_mechanism(
        DpacctAccountant,
        lambda count: dpa.SelfComposedDpEvent(STEP, count),
        1.5,
        DELTA,
        bracket_interval=dpa.LowerEndpointAndGuess(1, 128),
        discrete=True,
    )
    budget = DpacctAccountant().compose(STEP, steps).get_epsilon(DELTA)
    assert budget <= 1.5 < DpacctAccountant().compose(STEP, steps + 2).get_epsilon(DELTA)


@pytest.mark.parametrize(
    "plan",
    [
        dp.Gaussian(sigma=2) * 10,
        dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000,
        dp.Gaussian(sigma=9) + dp.Poisson(0.1)(dp.Gaussian(sigma=2)) * 30,
    ],
    ids=str,
)
def test_an_exported_distribution_is_never_optimistic(plan: dp.Node) -> None:
    interval = 1e-3
    pld = to_pld(plan, interval)
    for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0, 1.23456):
        exact = plan.delta(epsilon=epsilon, method="exact")
        exported = pld.get_delta_for_epsilon(epsilon)
        assert exported >= exact.lower * (1 - 1e-9)
        assert exported <= exact.upper * 1.01 + 2e-14
    again = pld.compose(to_pld(plan, interval))
    twice = (plan * 2).epsilon(delta=DELTA, method="exact")
    assert twice.lower <= again.get_epsilon_for_delta(DELTA) * (1 + 1e-9)
    assert again.get_epsilon_for_delta(DELTA) <= twice.upper * 1.01


def test_fewer_points_are_looser_and_still_safe() -> None:
    plan = dp.Poisson(0.2)(dp.Gaussian(sigma=3)) * 20
    pld = to_pld(plan, 1e-3, points=20)
    for epsilon in (0.1, 0.5, 0.77):
        assert (
            pld.get_delta_for_epsilon(epsilon) >= plan.delta(epsilon=epsilon, method="exact").lower
        )


@pytest.mark.parametrize("interval", [0, -1e-3, 2, float("nan"), 1e-12])
def test_a_bad_interval_is_refused(interval: float) -> None:
    with pytest.raises(dp.InvalidArgument):
        to_pld(dp.Gaussian(sigma=2), interval)


def test_numpy_numbers_are_numbers() -> None:
    event = dpa.PoissonSampledDpEvent(np.float64(0.01), dpa.GaussianDpEvent(np.float32(1.5)))
    assert DpacctAccountant().compose(event, 10).get_epsilon(DELTA) > 0


@pytest.mark.parametrize(
    ("event", "plan"),
    [
        (
            dpa.dp_event.MixtureOfGaussiansDpEvent(1.5, [0, 1, 2], [0.25, 0.5, 0.25]),
            dp.GaussianMixture(sigma="1.5", moves=[0, 1, 2], weights=["0.25", "0.5", "0.25"]),
        ),
        (
            dpa.dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 16, 1.5),
            dp.TruncatedPoisson("0.01", max_batch=16, dataset_size=1000)(
                dp.Gaussian(noise_multiplier="1.5", clip=1)
            ),
        ),
    ],
)
def test_mixtures_and_truncated_batches_go_both_ways(event: Any, plan: dp.Node) -> None:
    read = from_dp_event(event)
    assert read == plan.under("add-remove")
    back = to_dp_event(read)
    assert type(back) is type(event) and vars_of(back) == vars_of(event)


def vars_of(event: Any) -> list[Any]:
    """The values of an event, lists as lists."""
    values = [getattr(event, field.name) for field in attr.fields(type(event))]
    return [list(v) if isinstance(v, list | tuple) else v for v in values]


def test_randomised_response_beside_a_special_record() -> None:
    """dp_accounting: the special record's answer is uniform, the others' true with 1 - p + p / k."""
    event = dpa.RandomizedResponseDpEvent(0.4, 5)
    accountant = DpacctAccountant(NeighboringRelation.REPLACE_SPECIAL).compose(event)
    assert accountant.get_delta(0) == pytest.approx(0.6 + 0.4 / 5 - 1 / 5, rel=1e-9)
    assert accountant.get_delta(math.log(5 * (0.6 + 0.4 / 5)) + 1e-9) < 1e-300


def test_a_batch_that_is_never_cut_is_a_poisson_sample() -> None:
    event = dpa.dp_event.TruncatedSubsampledGaussianDpEvent(16, 0.25, 16, 2.0)
    assert from_dp_event(event).releases()[0][0] == dp.Poisson("0.25")(
        dp.Gaussian(noise_multiplier=2, clip=1)
    )


@attr.frozen
class EpsilonDeltaDpEvent(dpa.DpEvent):
    """dp_accounting's next release has this event; 0.6 has not."""

    epsilon: float
    delta: float = 0.0


class ExponentialMechanismDpEvent(EpsilonDeltaDpEvent):
    """As above."""


class PermuteAndFlipDpEvent(EpsilonDeltaDpEvent):
    """As above."""


@attr.frozen
class DiscreteGaussianDpEvent(dpa.DpEvent):
    """As above."""

    sigma: float
    sensitivity: float = 1.0
    dimension: int | None = None


def test_events_of_the_next_release() -> None:
    for event, plan in (
        (EpsilonDeltaDpEvent(0.5, 0.0), dp.PureDP("0.5")),
        (EpsilonDeltaDpEvent(0.5, 1e-6), dp.ApproxDP(epsilon="0.5", delta="1e-6")),
        (ExponentialMechanismDpEvent(0.5, 0), dp.ExponentialMechanism("0.5")),
        (PermuteAndFlipDpEvent(0.5, 0), dp.PureDP("0.5")),
        (DiscreteGaussianDpEvent(3.0, 2.0, 1), dp.DiscreteGaussian(scale=3, sensitivity=2)),
    ):
        assert from_dp_event(event) == plan.under("add-remove")
    nothing, open_ = EpsilonDeltaDpEvent(0, 0), EpsilonDeltaDpEvent(math.inf, 0)
    assert DpacctAccountant().compose(nothing).get_epsilon(1e-5) == 0.0
    assert DpacctAccountant().compose(open_).get_epsilon(1e-5) == math.inf
    with pytest.raises(dp.InvalidArgument, match="sensitivity must be a whole number"):
        from_dp_event(DiscreteGaussianDpEvent(3.0, 1000.0001, 1))  # never rounded down
    with pytest.raises(dp.Unsupported, match="one dimension only"):
        from_dp_event(DiscreteGaussianDpEvent(3.0))


def test_trees_and_selections_become_plans() -> None:
    """A record is in one leaf, so that it moves as many sums as the deepest tree has levels."""
    zero_out = DpacctAccountant(NeighboringRelation.REPLACE_SPECIAL)
    tree = dpa.SingleEpochTreeAggregationDpEvent(1.13, [800, 1600])
    assert zero_out.compose(tree).get_epsilon(1e-6) == pytest.approx(17.667, abs=1e-3)
    assert not DpacctAccountant().supports(tree)
    for shape, ours in ((1.5, "1.5"), (math.inf, "poisson")):
        event = dpa.dp_event.RepeatAndSelectDpEvent(dpa.GaussianDpEvent(2.0), 3.0, shape)
        gaussian = dp.Gaussian(noise_multiplier=2, clip=1)
        assert from_dp_event(event) == dp.RepeatAndSelect(gaussian, mean=3, shape=ours).under(
            "add-remove"
        )


def test_rates_and_the_estimate_of_mu() -> None:
    accountant = DpacctAccountant().compose(dpa.GaussianDpEvent(0.5))
    rates = accountant.get_true_positive_rates(np.array([1e-3, 0.1]))
    expected = ndtr(ndtri([1e-3, 0.1]) + 2.0)
    assert rates == pytest.approx(expected, rel=1e-9)
    assert accountant.get_true_positive_rates(0.1) == pytest.approx(expected[1], rel=1e-9)
    assert accountant.get_gdp_parameter_estimate() == pytest.approx(2.0, rel=1e-6)
    assert DpacctAccountant().get_gdp_parameter_estimate() == 0.0
    open_ = DpacctAccountant().compose(dpa.NonPrivateDpEvent())
    assert open_.get_gdp_parameter_estimate() == math.inf


@pytest.mark.parametrize(
    "event",
    [
        dpa.GaussianDpEvent(-1.0),
        dpa.PoissonSampledDpEvent(1.1, GAUSS),
        dpa.PoissonSampledDpEvent(-0.1, GAUSS),
        dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(-2.0), 3),
    ],
)
def test_numbers_out_of_range_are_value_errors(event: Any) -> None:
    accountant = DpacctAccountant()
    with pytest.raises(ValueError, match="got"):
        accountant.compose(event)
    assert accountant.plan is None
