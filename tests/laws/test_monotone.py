"""More noise, fewer steps, a smaller sample, a larger delta: never a larger epsilon; nor delta."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from dpacct.citations import BRACKET
from dpacct.plan.node import Node
from tests.laws.catalogue import (
    COMPOSED,
    DISTINCT,
    EXACT,
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
    same,
    short,
    total,
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
    assert previous.value == pytest.approx(bare.value, rel=1e-4, abs=1e-9)


@law(share=0.3, b=powers(-1, 2), steps=st.just(1), delta=powers(-12, -0.6))
def test_laplace_rates_near_one_tend_to_no_sampling(b: float, steps: int, delta: float) -> None:
    bare = (dp.Laplace(b=b) * steps).epsilon(delta=delta)
    near = (dp.Poisson("0.999999999")(dp.Laplace(b=b)) * steps).epsilon(delta=delta)
    not_more(near, bare)
    assert near.value == pytest.approx(bare.value, rel=1e-4, abs=1e-8)


@over(PAIRED)
@law(data=st.data(), epsilon=epsilons)
def test_a_small_step_makes_a_small_difference(
    cell: Combination, data: st.DataObject, epsilon: float
) -> None:
    """log delta has slope above -(1 + its own tail): a hair in epsilon is a hair in delta."""
    plan = data.draw(cell.plans(common=True))
    first, second = plan.delta(epsilon), plan.delta(epsilon * (1 + 1e-9))
    if BRACKET in first.basis or BRACKET in second.basis:  # values are anywhere in their brackets
        assert first.upper is not None and second.lower is not None
        assert second.lower <= first.upper * (1 + 1e-8) + 1e-300
    elif first.strength is second.strength:
        assert second.value <= first.value * (1 + 1e-8) + 1e-300
        # delta(eps) - delta(eps') <= e^{eps'} - e^eps, and convexity bounds its fall
        assert (
            first.value - second.value <= (math.expm1(epsilon * 1.1e-9) * math.exp(epsilon)) + 1e-9
        )


# --- Composition is a multiset: order, grouping and ways to write a repetition change nothing.


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


# --- There and back: epsilon and delta invert each other, calibration meets its target and no more.


HAIR = 1e-12
"""Relative rounding of what is handed over between the two questions."""


@over(EXACT)
@law(data=st.data(), delta=deltas)
def test_delta_of_epsilon_is_delta(cell: Combination, data: st.DataObject, delta: float) -> None:
    plan = data.draw(cell.plans(common=True))
    answer = plan.epsilon(delta)
    assume(math.isfinite(answer.value))
    lower, upper = ends(answer)
    # just outside the bracket the target is surely met, just inside its lower end surely missed
    assert ends(plan.delta(upper * (1 + HAIR)))[0] <= delta * (1 + HAIR)
    if lower > 0.0:
        assert ends(plan.delta(lower * (1 - HAIR)))[1] >= delta * (1 - HAIR)


@over(EXACT)
@law(data=st.data(), epsilon=epsilons)
def test_epsilon_of_delta_is_epsilon(
    cell: Combination, data: st.DataObject, epsilon: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    answer = plan.delta(epsilon)
    lower, upper = ends(answer)
    assume(lower > 1e-300)
    assume(upper < 1.0 - 1e-9)
    # the profile may be flat at epsilon (nothing but the failure mass): there it has no inverse
    assume(ends(plan.delta(0.9 * epsilon))[0] > upper)
    assert ends(plan.epsilon(upper))[0] <= epsilon * (1 + HAIR)
    assert ends(plan.epsilon(lower))[1] >= epsilon * (1 - HAIR)


MOST = {"sigma": (0.02, 1e6), "b": (0.02, 1e6), "epsilon": (1e-9, 500.0)}
"""Bounds of a search, by the name of the parameter."""


def within(calibrated: Answer, met: Answer, missed: Answer, target: float) -> None:
    """The safe end meets the target; a value 1e-4 nearer to the edge does not."""
    assert met.upper is not None
    assert met.upper <= target * (1 + 1e-12), f"{calibrated} misses the target: {met}"
    assert missed.upper is not None
    assert missed.upper > target, f"{calibrated} is more than 1e-4 below the target: {missed}"


@over(tuple(cell for cell in PAIRED if str(cell.kind) in ("gaussian", "laplace", "pure-dp")))
@law(data=st.data(), epsilon=powers(-1, 1.2), delta=powers(-10, -2), share=0.04)
def test_calibrated_noise(
    cell: Combination, data: st.DataObject, epsilon: float, delta: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = plan.but(steps=min(plan.steps, 10**5) if cell.kind.settled else 1)
    ((name, way),) = cell.kind.parameters.items()
    calibrated = dp.calibrate(
        lambda x: plan.but(**{name: Fraction(x)}).node,
        epsilon=epsilon,
        delta=delta,
        adjacency=plan.adjacency,
        bounds=MOST[name],
        name=name,
    )
    assert calibrated.quantity == name
    safe = calibrated.upper if way > 0 else calibrated.lower
    assert safe is not None
    met = plan.but(**{name: safe}).delta(epsilon)
    if safe in MOST[name]:  # as little noise as allowed: nothing beyond to compare with
        assert ends(met)[1] <= delta * (1 + 1e-12)
        return
    missed = plan.but(**{name: safe * (1 - way * 1e-4)}).delta(epsilon)
    within(calibrated, met, missed, delta)
    assert plan.but(**{name: safe}).epsilon(delta).value <= epsilon * (1 + 1e-8)


@law(share=0.2, sigma=powers(-0.2, 1), steps=st.integers(1, 10**5), epsilon=powers(-1, 1))
def test_calibrated_rate(sigma: float, steps: int, epsilon: float) -> None:
    def plan(rate: float) -> dp.Node:
        return dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps

    try:
        calibrated = dp.calibrate(plan, epsilon=epsilon, delta=1e-5, bounds=(1e-6, 1), name="rate")
    except dp.Unreachable:
        assert ends(plan(1e-6).delta(epsilon=epsilon))[1] > 1e-5
        return
    safe = calibrated.value
    met = plan(safe).delta(epsilon=epsilon)
    assert ends(met)[1] <= 1e-5 * (1 + 1e-12)
    if safe < 1:
        missed = plan(min(1.0, safe * (1 + 1e-4))).delta(epsilon=epsilon)
        within(calibrated, met, missed, 1e-5)


@law(share=0.1, sigma=powers(-0.2, 1), rate=powers(-1, 0), epsilon=powers(-1, 1))
def test_calibrated_steps(sigma: float, rate: float, epsilon: float) -> None:
    step = dp.Poisson(rate)(dp.Gaussian(sigma=sigma))
    try:
        calibrated = dp.calibrate(
            lambda n: step * n, epsilon=epsilon, delta=1e-5, integer=True, name="steps"
        )
    except dp.Unreachable:
        assert ends(step.delta(epsilon=epsilon))[1] > 1e-5
        return
    most = int(calibrated)
    assert calibrated.safe_end == "lower"
    assert ends((step * most).delta(epsilon=epsilon))[1] <= 1e-5
    assert ends((step * (most + 1)).delta(epsilon=epsilon))[1] > 1e-5


@law(share=0.1, multiplier=powers(-0.2, 1), rate=powers(-2, 0), steps=st.integers(10, 10**4))
def test_noise_multiplier_finds_the_noise_it_came_from(
    multiplier: float, rate: float, steps: int
) -> None:
    plan = dp.Poisson(rate)(dp.Gaussian(noise_multiplier=multiplier, clip=2)) * steps
    spent = plan.epsilon(delta=1e-6)
    assume(converged(spent))
    assume(spent.value > 1e-3)
    noise = dp.noise_multiplier(
        epsilon=spent.value, delta=1e-6, sample_rate=rate, steps=steps, sampling="poisson"
    )
    assert noise == pytest.approx(multiplier, rel=1e-4)


def test_an_unreachable_target_is_an_error() -> None:
    with pytest.raises(dp.Unreachable, match="sigma"):
        dp.calibrate(
            lambda s: dp.Gaussian(sigma=s),
            epsilon=0.01,
            delta=1e-9,
            bounds=(0.1, 1),
            name="sigma",
        )
    with pytest.raises(dp.Unreachable):
        dp.calibrate(
            lambda n: dp.Gaussian(sigma=0.1) * n,
            epsilon=0.1,
            delta=1e-9,
            integer=True,
            name="steps",
        )


@pytest.mark.parametrize("name", ["rate", "sigma"])
def test_a_calibration_in_which_the_leading_direction_changes(name: str) -> None:
    """The search began in the direction whose delta is a third of the other's at its end."""

    def plan(x: float) -> dp.Node:
        rate, sigma = (x, 1.654) if name == "rate" else (0.0040634647352, x)
        return dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * 975

    bounds = (1e-6, 1.0) if name == "rate" else (0.1, 100.0)
    safe = dp.calibrate(
        plan, epsilon=0.2953, delta=1e-5, bounds=bounds, name=name, method="exact"
    ).value
    met = plan(safe).delta(epsilon=0.2953, method="exact").upper
    assert met is not None
    assert 1e-5 * (1 - 1e-6) <= met <= 1e-5 * (1 + 1e-12)
