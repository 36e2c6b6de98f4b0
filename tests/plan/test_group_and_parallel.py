"""Groups and disjoint parts: closed forms, brute force over outcomes, and refusals."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_group_of_gaussian_releases_is_exact(size: int) -> None:
    plan, moved = dp.Gaussian(sigma=4) * 3, dp.Gaussian(sigma=4 / size / math.sqrt(3))
    group = dp.Group(plan, size=size)
    assert group.epsilon(delta=1e-5).value == pytest.approx(moved.epsilon(delta=1e-5).value)
    assert group.delta(epsilon=1).value == pytest.approx(moved.delta(epsilon=1).value)
    assert str(group.epsilon(delta=1e-5).side) == "two-sided"
    assert group.rdp(3) == pytest.approx(float(moved.rdp(3)))


@given(scale=st.floats(0.6, 20), size=st.integers(2, 6), epsilon=st.floats(0.05, 6))
def test_a_group_s_profile_bounds_the_noise_moved_so_far(
    scale: float, size: int, epsilon: float
) -> None:
    """Laplace noise moved by `size` sensitivities is Laplace noise of a smaller scale."""
    group = dp.Group(dp.Laplace(b=scale), size=size)
    moved = dp.Laplace(b=scale / size)
    answer = group.delta(epsilon=epsilon)
    assert moved.delta(epsilon=epsilon, method="exact").value <= answer.upper * (1 + 1e-9) + 1e-15
    assert str(answer.side) == "upper"
    for order in (1.5, 2.5):  # below 2 the theorem's bound at 2 holds
        assert moved.rdp(order) <= group.rdp(order) * (1 + 1e-9)


def test_groups_and_parts_compose_as_their_plans_do() -> None:
    """A bound in a composition is no smaller than what it bounds, and not much larger."""
    laplace, noise = dp.Laplace(b=6), dp.Gaussian(sigma=3)
    pair = dp.Group(laplace, size=2) * 4 + noise
    exact = float((dp.Laplace(b=3) * 4 + noise).epsilon(1e-5, method="exact"))
    assert exact <= float(pair.epsilon(1e-5, method="exact"))
    both = dp.Parallel(dp.Gaussian(sigma=2) * 2, dp.Gaussian(sigma=5)) + noise
    worst = (dp.Gaussian(sigma=2) * 2 + noise).epsilon(1e-5, method="exact")
    answer = both.epsilon(1e-5, method="exact")
    assert worst.lower * (1 - 1e-9) <= answer.upper <= worst.upper * (1 + 3e-3)
    assert answer.lower <= worst.upper and "one part only" in " ".join(answer.basis)
    sampled = dp.Poisson("0.5")(dp.Parallel(dp.Gaussian(sigma=2), dp.Laplace(b=20)))
    alone = dp.Poisson("0.5")(dp.Gaussian(sigma=2)).epsilon(1e-5, method="exact")
    assert alone.lower <= sampled.epsilon(1e-5, method="exact").upper <= alone.upper * (1 + 3e-3)


@given(eps0=st.floats(0.05, 2), size=st.integers(1, 5))
def test_a_group_of_pure_dp_is_k_epsilon(eps0: float, size: int) -> None:
    group = dp.Group(dp.PureDP(epsilon=eps0), size=size)
    assert group.delta(epsilon=size * eps0 * (1 + 1e-9)).value <= 1e-9
    assert group.epsilon(delta=1e-9).value <= size * eps0 * (1 + 1e-6)


def test_a_group_of_zcdp_is_k_squared() -> None:
    group = dp.Group(dp.ZCDP(rho="0.1") * 2, size=3)
    scaled = dp.ZCDP(rho="1.8")
    assert group.epsilon(delta=1e-6).value == pytest.approx(scaled.epsilon(delta=1e-6).value)
    assert group.rho() == pytest.approx(1.8)


def test_epsilon_and_delta_of_a_group_agree() -> None:
    group = dp.Group(dp.Poisson("0.01")(dp.Gaussian(sigma=1)) * 100, size=3)
    epsilon = group.epsilon(delta=1e-4)
    assert group.delta(epsilon=epsilon.value).value <= 1e-4 * (1 + 1e-6)
    assert group.delta(epsilon=epsilon.value * 0.999).value > 1e-4
    alone = dp.Poisson("0.01")(dp.Gaussian(sigma=1)) * 100
    assert epsilon.value > alone.epsilon(delta=1e-4).value
    assert any("the worst j" in line for line in epsilon.basis)


def test_disjoint_parts_cost_as_much_as_the_worst() -> None:
    parts = [dp.Gaussian(sigma=2) * 3, dp.Laplace(b=1), dp.Poisson("0.1")(dp.Gaussian(sigma=1))]
    together = dp.Parallel(*parts)
    for delta in (1e-2, 1e-9):
        answers = [part.epsilon(delta=delta) for part in parts]
        result = together.epsilon(delta=delta)
        assert result.value == max(answer.value for answer in answers)
        assert result.upper == max(answer.upper for answer in answers)
    assert together.delta(epsilon=1).value == max(p.delta(epsilon=1).value for p in parts)
    assert any("one part only" in str(line) for line in together.delta(epsilon=1).assumptions)


def test_a_part_that_is_only_bounded_makes_all_a_bound() -> None:
    answer = dp.Parallel(dp.Gaussian(sigma=1), dp.ZCDP(rho="0.001")).epsilon(delta=1e-5)
    assert str(answer.side) == "upper"


@pytest.mark.parametrize(
    ("make", "kind", "argument"),
    [
        (lambda: dp.Parallel(), dp.InvalidArgument, "plan"),
        (lambda: dp.Parallel(3), dp.InvalidArgument, "plan"),
        (
            lambda: dp.Parallel(dp.WithoutReplacement(0.1)(dp.Gaussian(sigma=1))),
            dp.Unsupported,
            "adjacency",
        ),
        (
            lambda: dp.Parallel(dp.Gaussian(sigma=1), adjacency="replace-one"),
            dp.Unsupported,
            "adjacency",
        ),
        (lambda: dp.Group(3, size=2), dp.InvalidArgument, "plan"),
        (
            lambda: dp.Poisson("0.1")(dp.Group(dp.Gaussian(sigma=1), size=2) * 3),
            dp.Unsupported,
            "plan",
        ),
        (lambda: dp.Group(dp.Gaussian(sigma=1), size=0), dp.InvalidArgument, "size"),
        (lambda: dp.Group(dp.Gaussian(sigma=1), size=2.5), dp.InvalidArgument, "size"),
        (
            lambda: dp.Group(dp.ApproxDP(epsilon=1, delta=0.1), size=2).epsilon(delta=0.01),
            dp.Unsupported,
            "delta",
        ),
    ],
)
def test_wrong_use_gets_one_sentence(make: Any, kind: type[Exception], argument: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert caught.value.argument == argument  # type: ignore[attr-defined]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_of_a_sampled_group_the_sum_of_shares_is_needed(size: int) -> None:
    """The noise moved once for each of the group that is in the sample: a blend of Gaussians.

    What the profile of one unit says at a share of epsilon, without the factor, is less than that.
    """
    plan = dp.Poisson("0.1")(dp.Gaussian(sigma=1))
    group = dp.Group(plan, size=size)
    exact = dp.RecordsPerUser(size, "0.1")(dp.Gaussian(sigma=1))
    bare_is_less = 0
    for epsilon in (0.0, 0.05, 0.2, 1.0):
        truth = exact.delta(epsilon=epsilon, method="exact").lower
        bound = group.delta(epsilon=epsilon).upper
        assert truth is not None and bound is not None
        assert truth <= bound
        share = plan.delta(epsilon=epsilon / size, method="exact").upper
        assert share is not None
        bare_is_less += share < truth
    assert bare_is_less


def test_a_profile_of_parts_is_the_worst_part_s_and_that_of_a_group_falls() -> None:
    """A group's bound rises again where delta does not fall: its profile does not."""
    pairs = dp.Poisson("0.004738")(dp.ApproxDP(epsilon="0.01145", delta="4.964e-14")) * 3
    group = dp.Group(pairs, size=2)
    epsilons = [0.0, 1e-6, 0.1554, 4.114, 4.5e5]
    assert (np.diff(np.asarray(group.profile(epsilons))) <= 0.0).all()
    parts = (group, dp.Laplace(b=3) * 2, dp.Gaussian(sigma=40))
    every = [np.asarray(part.profile(epsilons)) for part in parts]
    both = np.asarray(dp.Parallel(*parts).profile(epsilons))
    assert both == pytest.approx(np.max(every, axis=0), rel=1e-12)


def test_ends_of_three_searches_beside_open_failures_are_in_order() -> None:
    """Bounds alone answer: that of a little less delta was one ulp below the value."""
    open_failures = dp.Participation("0.0004529")(dp.ApproxDP(epsilon="0.2607", delta="7.719e-254"))
    words = dp.RandomizedResponse(eps0="0.02344", k=10330) * 83730
    run = words + dp.PureDP(epsilon="0.00001903") * 27_030_000 + dp.Laplace(b="0.1518") * 9
    answer = (run + open_failures * 124_500_000).epsilon(delta="1.542e-05", method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= answer.value <= answer.upper
