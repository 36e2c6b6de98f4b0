"""More noise, fewer steps, a smaller sample, a larger delta: never a larger epsilon; nor delta."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from tests.laws.catalogue import (
    COMPOSED,
    DISTINCT,
    PAIRED,
    SEARCH,
    Combination,
    Drawn,
    converged,
    deltas,
    ends,
    epsilons,
    law,
    not_more,
    over,
    powers,
    short,
)

factors = st.sampled_from((1.0001, 1.02, 1.5, 8.0)).map(lambda x: Fraction(str(x)))


def in_both(less: Drawn, more: Drawn, delta: float, epsilon: float) -> None:
    """Epsilon and delta of `less` are at most those of `more`."""
    not_more(less.epsilon(delta), more.epsilon(delta))
    not_more(less.delta(epsilon), more.delta(epsilon))


@over(tuple(cell for cell in DISTINCT if any(cell.kind.parameters.values())))
@law(data=st.data(), factor=factors, delta=deltas, epsilon=epsilons)
def test_in_the_noise(
    cell: Combination, data: st.DataObject, factor: Fraction, delta: float, epsilon: float
) -> None:
    plan = data.draw(cell.plans())
    directions = {name: way for name, way in cell.kind.parameters.items() if way}
    name = data.draw(st.sampled_from(sorted(directions)))
    other = plan.values[name] * factor
    assume(cell.kind.domains[name].contains(other))
    changed = plan.but(**{name: other})
    less, more = (changed, plan) if directions[name] > 0 else (plan, changed)
    in_both(less, more, delta, epsilon)


@over(COMPOSED)
@law(data=st.data(), factor=factors, delta=deltas, epsilon=epsilons)
def test_in_the_steps(
    cell: Combination, data: st.DataObject, factor: Fraction, delta: float, epsilon: float
) -> None:
    plan = data.draw(cell.plans())
    more = int(plan.steps * factor) + 1
    if cell.sampler and not SEARCH:
        more = min(more, max(cell.kind.most_steps, plan.steps + 1))
    plan = plan.hit(min(more, max(plan.steps, 2))).but(steps=plan.steps)
    in_both(plan, plan.but(steps=more), delta, epsilon)


@over(tuple(cell for cell in DISTINCT if cell.sampler))
@law(data=st.data(), factor=factors, delta=deltas, epsilon=epsilons)
def test_in_the_rate(
    cell: Combination, data: st.DataObject, factor: Fraction, delta: float, epsilon: float
) -> None:
    plan = data.draw(cell.plans())
    in_both(plan, plan.but(rate=min(Fraction(1), plan.rate * factor)), delta, epsilon)


@over(DISTINCT)
@law(data=st.data(), factor=factors, delta=deltas)
def test_epsilon_in_delta(
    cell: Combination, data: st.DataObject, factor: Fraction, delta: float
) -> None:
    plan = data.draw(cell.plans())
    smaller = float(short(delta / float(factor)))
    assume(0.0 < smaller < delta)
    larger_delta, smaller_delta = plan.epsilon(delta), plan.epsilon(smaller)
    not_more(larger_delta, smaller_delta)
    if (
        converged(larger_delta, smaller_delta)
        and cell.exact
        and larger_delta.value > 0
        and factor == 8
    ):
        # from the slope of log delta alone: epsilon falls by at least that much where it's known
        assert ends(larger_delta)[0] <= ends(smaller_delta)[1]


@over(DISTINCT)
@law(data=st.data(), factor=factors, epsilon=epsilons)
def test_delta_in_epsilon(
    cell: Combination, data: st.DataObject, factor: Fraction, epsilon: float
) -> None:
    plan = data.draw(cell.plans())
    not_more(plan.delta(epsilon * float(factor)), plan.delta(epsilon))


@law(share=0.6, delta=deltas, sigma=st.floats(0.5, 5), rate=st.floats(0.01, 0.5))
def test_strictly_where_it_is_known_to_be(delta: float, sigma: float, rate: float) -> None:
    """The laws above are not empty: brackets are narrow enough to tell small changes apart."""

    def plan(sigma: float, rate: float, steps: int) -> Answer:
        return (dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps).epsilon(delta=delta)

    base = plan(sigma, rate, 200)
    assume(converged(base))
    assume(base.value > 1e-3)
    for less in (plan(sigma * 1.0001, rate, 200), plan(sigma, rate / 1.0001, 200)):
        assert ends(less)[1] < ends(base)[0]
    assert ends(plan(sigma, rate, 199))[1] < ends(base)[0]


# --- Continuity: as noise grows privacy becomes free, as it vanishes there is none; rates near 1.

NOISY = tuple(cell for cell in PAIRED if str(cell.kind) in ("gaussian", "laplace"))


@over(NOISY)
@law(data=st.data(), delta=powers(-12, -1))
def test_epsilon_falls_to_zero_as_the_noise_grows(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    """No floor (D12). eps <= T/b for Laplace; (T/2 + sqrt(2 T log 1/delta)/sigma)/sigma here."""
    steps = 10 if cell.kind.settled else 1
    plan = data.draw(cell.plans()).hit(steps)
    (name,) = plan.values
    for scale in (10**3, 10**6, 10**9):
        noisy = plan.but(**{name: scale})
        spread = math.sqrt(2 * steps * math.log(1 / delta))
        bound = max(steps / scale, (0.5 * steps / scale + spread) / scale)
        answer = noisy.epsilon(delta)
        assert ends(answer)[0] <= bound * (1 + 1e-9)
        assert answer.value <= bound * (1 + 1e-6)
        # delta(0) is total variation: sqrt(KL/2)
        assert noisy.delta(0).value <= steps / scale


@law(share=0.5, delta=powers(-12, -1))
def test_epsilon_explodes_as_the_noise_vanishes(delta: float) -> None:
    """delta >= P(loss > 2 eps)(1 - e^{-eps}) makes eps at least about half the mean loss."""
    for sigma in (0.1, 0.03, 0.01):
        assert ends(dp.Gaussian(sigma=sigma).epsilon(delta=delta))[0] >= 0.5 / sigma**2
        laplace = 1 / sigma + 2 * math.log1p(-delta)
        assert ends(dp.Laplace(b=sigma).epsilon(delta=delta))[1] >= laplace * (1 - 1e-14)


@law(share=0.3, sigma=powers(-0.3, 1), steps=st.integers(1, 10**4), delta=deltas)
def test_rates_near_one_tend_to_no_sampling(sigma: float, steps: int, delta: float) -> None:
    bare = (dp.Gaussian(sigma=sigma) * steps).epsilon(delta=delta)
    previous = None
    for rate in ("0.9", "0.999", "0.99999", "0.999999999"):
        near = (dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps).epsilon(delta=delta)
        not_more(near, bare)
        if previous is not None:
            not_more(previous, near)
        previous = near
    assert previous is not None
    assert previous.value == pytest.approx(bare.value, rel=1e-6, abs=1e-9)


@law(share=0.3, b=powers(-1, 2), steps=st.just(1), delta=powers(-12, -0.6))
def test_laplace_rates_near_one_tend_to_no_sampling(b: float, steps: int, delta: float) -> None:
    bare = (dp.Laplace(b=b) * steps).epsilon(delta=delta)
    near = (dp.Poisson("0.999999999")(dp.Laplace(b=b)) * steps).epsilon(delta=delta)
    not_more(near, bare)
    assert near.value == pytest.approx(bare.value, rel=1e-6, abs=1e-8)


@over(PAIRED)
@law(data=st.data(), epsilon=epsilons)
def test_a_small_step_makes_a_small_difference(
    cell: Combination, data: st.DataObject, epsilon: float
) -> None:
    """log delta has slope above -(1 + its own tail): a hair in epsilon is a hair in delta."""
    plan = data.draw(cell.plans(common=True))
    first, second = plan.delta(epsilon), plan.delta(epsilon * (1 + 1e-9))
    if first.strength is second.strength:
        assert second.value <= first.value * (1 + 1e-8) + 1e-300
        # delta(eps) - delta(eps') <= e^{eps'} - e^eps, and convexity bounds its fall
        assert (
            first.value - second.value <= (math.expm1(epsilon * 1.1e-9) * math.exp(epsilon)) + 1e-9
        )
