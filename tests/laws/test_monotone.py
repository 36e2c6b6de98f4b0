"""More noise, fewer steps, a smaller sample, a larger delta: never a larger epsilon; nor delta."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from tests.laws.catalogue import (
    COMPOSED,
    DISTINCT,
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
