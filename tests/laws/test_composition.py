"""Composition is a multiset: order, grouping and ways to write a repetition change nothing."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from dpacct.plan.node import Node
from tests.laws.catalogue import (
    COMPOSED,
    PAIRED,
    SEARCH,
    Combination,
    Drawn,
    converged,
    deltas,
    ends,
    law,
    not_more,
    over,
    powers,
    same,
    total,
)

few = st.integers(2, 4)


def asked(plan: Node, drawn: Drawn, delta: float) -> Answer:
    return plan.epsilon(delta=delta, method=drawn.method, adjacency=drawn.adjacency)


def identical(first: Answer, second: Answer) -> None:
    """The same plan written in two ways: the same releases, hence the same floats."""
    assert (first.value, first.lower, first.upper) == (second.value, second.lower, second.upper)
    assert first.strength is second.strength


@over(COMPOSED)
@law(data=st.data(), n=few, m=few, delta=deltas)
def test_a_repetition_is_so_many_copies(
    cell: Combination, data: st.DataObject, n: int, m: int, delta: float
) -> None:
    drawn = data.draw(cell.plans()).hit(n * m)
    step = drawn.step
    whole = step * (n * m)
    copies = (
        total([step] * (n * m)),
        (step * n) * m,
        m * (n * step),
        step * (n * m - 1) + step,
        step + step * (n * m - 1),
        total([step * n] * m),
    )
    for plan in copies:
        assert plan.releases() == whole.releases() == ((step.releases()[0][0], n * m),)
    single = data.draw(st.sampled_from(copies))
    if n * m <= cell.kind.most_steps or SEARCH:
        identical(asked(single, drawn, delta), asked(whole, drawn, delta))


@over(tuple(cell for cell in COMPOSED if cell in PAIRED))
@law(data=st.data(), delta=deltas)
def test_commutes_and_associates(cell: Combination, data: st.DataObject, delta: float) -> None:
    first, second = data.draw(cell.plans(common=True)), data.draw(cell.plans(common=True))
    third = dp.Gaussian(sigma=data.draw(powers(-0.3, 1)))
    a, b = first.hit(min(first.steps, 100)).node, second.hit(min(second.steps, 10)).node
    left = (a + b) + third
    orders = (a + (b + third), b + a + third, third + b + a, a + third + b)
    for plan in orders:
        assert dict(plan.releases()) == dict(left.releases())
    if not cell.kind.settled:  # the same releases, and seconds for their composition
        return
    whole = asked(left, first, delta)
    same(asked(data.draw(st.sampled_from(orders)), first, delta), whole)
    # and a plan costs no less than either half
    not_more(asked(a, first, delta), whole)
    not_more(asked(b, first, delta), whole)


@law(
    share=0.1,
    sigmas=st.lists(st.tuples(powers(-0.5, 1.5), st.integers(1, 50)), min_size=1, max_size=4),
    rate=powers(-3, 0),
    steps=st.integers(1, 10**4),
    delta=deltas,
)
def test_gaussians_under_one_coin_are_one_gaussian(
    sigmas: list[tuple[float, int]], rate: float, steps: int, delta: float
) -> None:
    """Their weighted mean is a sufficient statistic, of precision sum n/sigma^2."""
    assume(steps == 1 or steps * rate >= 1)
    inner = total([dp.Gaussian(sigma=sigma) * count for sigma, count in sigmas])
    sigma = sum(count / sigma**2 for sigma, count in sigmas) ** -0.5
    nested = dp.Poisson(rate)(inner) * steps
    sampled = (dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps).epsilon(delta=delta)
    same(nested.epsilon(delta=delta), sampled)
    # and never more than a fresh coin for each: those are revealed less by each release
    if sum(count for _, count in sigmas) > 1 and converged(sampled) and sampled.value > 0:
        fresh = total([dp.Poisson(rate)(dp.Gaussian(sigma=s)) * (n * steps) for s, n in sigmas])
        assert ends(fresh.epsilon(delta=delta))[0] <= ends(sampled)[1]


@over(tuple(cell for cell in PAIRED if cell.sampler))
@law(data=st.data(), delta=deltas)
def test_a_sample_of_everything_is_no_sample(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    drawn = data.draw(cell.plans(common=True)).but(rate=1)
    bare = drawn.kind(**drawn.values) * drawn.steps
    identical(asked(drawn.node, drawn, delta), asked(bare, drawn, delta))


@over(tuple(cell for cell in PAIRED if cell.sampler))
@law(data=st.data(), delta=deltas)
def test_sampling_never_costs_more(cell: Combination, data: st.DataObject, delta: float) -> None:
    drawn = data.draw(cell.plans())
    bare = drawn.kind(**drawn.values) * drawn.steps
    not_more(asked(drawn.node, drawn, delta), asked(bare, drawn, delta))
