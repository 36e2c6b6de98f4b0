"""What an answer claims about itself: ends, grade, saved form; and that it never is nothing."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import dpacct as dp
from dpacct.answer import Answer
from dpacct.plan.composition import Composition
from dpacct.vocabulary import Side, Strength
from tests.laws.catalogue import (
    DISTINCT,
    OFFERED,
    PAIRED,
    SEARCH,
    Brought,
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
    relative_width,
    same,
)

WIDEST = 2e-9
"""Relative width of a converged interval, at most: 1e-9 to either side."""
PROMISED = 1e-4
"""What the numerics add at most to the relative width of epsilon (docs/answers.md, The promise)."""


def is_sound(answer: Answer, *, exact: bool) -> None:
    lower, upper = ends(answer)
    numbers = (answer.value, lower, upper, float(answer))
    assert not any(math.isnan(number) for number in numbers)
    assert 0.0 <= lower <= answer.value <= upper
    assert float(answer) == upper or answer.upper is None
    if answer.quantity == "delta":
        assert answer.value <= 1.0
        # a value that has left the range of floats has its logarithm, unless it is zero itself
        if answer.log_value is not None and answer.value > 1e-300:
            assert math.isclose(
                math.log(answer.value), answer.log_value, rel_tol=1e-9, abs_tol=1e-9
            )
    if exact and answer.side is Side.TWO_SIDED and converged(answer):
        narrow = math.isinf(answer.value) or upper < 1e-300 or relative_width(answer) <= WIDEST
        assert narrow, f"{answer} is not as narrow as it claims"
    json.dumps(answer.to_dict(), allow_nan=False)


@over(DISTINCT)
@law(data=st.data(), delta=deltas, epsilon=epsilons)
def test_every_answer_is_sound(
    cell: Combination, data: st.DataObject, delta: float, epsilon: float
) -> None:
    plan = data.draw(cell.plans())
    is_sound(plan.epsilon(delta), exact=cell.exact)
    is_sound(plan.delta(epsilon), exact=cell.exact)
    is_sound(plan.delta(0), exact=cell.exact)


@over(PAIRED)
@law(data=st.data(), delta=deltas)
def test_common_plans_are_as_narrow_as_promised(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    """Where theory leaves one number, the numerics add at most the promise's 1e-4 of epsilon."""
    plan = data.draw(cell.plans(common=True))
    answer = plan.epsilon(delta)
    assert answer.strength >= Strength.BOUND
    assert answer.side is Side.TWO_SIDED
    if cell.kind.settled or (plan.steps == 1 and cell.kind.closed):
        narrow = relative_width(answer) <= PROMISED or answer.value < 1e-3
        assert narrow or Composition(plan.node, plan.adjacency).lower is not None


@over(OFFERED)
@law(data=st.data(), delta=deltas)
def test_json_round_trip_gives_the_same_answer(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    plan = data.draw(cell.plans())
    node = plan.node.under(plan.adjacency)
    if isinstance(cell.kind.make, Brought) and cell.kind.make.form in ("rdp", "densities"):
        with pytest.raises(dp.Unsupported, match="made of a function cannot be saved"):
            node.to_json()
        return
    again = dp.from_json(node.to_json())
    assert again == node
    assert isinstance(cell.kind.make, Brought) or eval(repr(node), vars(dp)) == node
    assert dp.from_dict(json.loads(json.dumps(node.to_dict()))) == node
    first, second = (x.epsilon(delta=delta, method=plan.method) for x in (node, again))
    assert (first.value, first.lower, first.upper) == (second.value, second.lower, second.upper)
    assert first.adjacency is second.adjacency is plan.adjacency


@over(DISTINCT)
@law(data=st.data(), asked=st.lists(epsilons, min_size=1, max_size=5 if SEARCH else 2))
def test_the_profile_is_delta(cell: Combination, data: st.DataObject, asked: list[float]) -> None:
    """The same upper ends, in the order asked, and 0 among them."""
    plan = data.draw(cell.plans(common=True))
    profile = plan.node.profile([*asked, 0.0], adjacency=plan.adjacency)
    assert profile.shape == (len(asked) + 1,)
    assert not np.isnan(profile).any()
    for epsilon, value in zip([*asked, 0.0], profile.tolist(), strict=True):
        answer = plan.delta(epsilon)
        lower, upper = ends(answer)
        assert lower * (1 - 1e-9) <= value, f"profile {value} below {answer} at {epsilon}"
        # a bracket that serves many epsilons is good to 2e-3 of delta
        most = 1e-8 if converged(answer) else 2e-3
        # what is as good as nothing is bounded, and no more
        assert value <= upper * (1 + most) + 1e-20, f"profile {value} above {answer} at {epsilon}"


@over(tuple(cell for cell in DISTINCT if cell.sampler is None))
@law(data=st.data(), delta=powers(-12, -1))
def test_compare_lists_the_default_first(
    cell: Combination, data: st.DataObject, delta: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = plan.but(steps=min(plan.steps, 3))
    answers = plan.node.compare(delta=delta, adjacency=plan.adjacency)
    assert answers[0].method == plan.method
    methods = [answer.method for answer in answers]
    assert len(set(methods)) == len(methods)
    (engine,) = (answer for answer in answers if answer.method == plan.method)
    assert engine.value == plan.epsilon(delta).value
    for answer in answers:
        assert answer.seconds >= 0.0
        assert (answer.method == "clt") == (answer.strength is Strength.ESTIMATE)
        if answer.strength > Strength.ESTIMATE:
            assert ends(engine)[0] <= ends(answer)[1]


# --- Routes to the same number: bounds bound, closed forms agree, estimates are called estimates.


orders = st.floats(1.0001, 500) | st.floats(1e-6, 1e-2).map(lambda s: 1 + s)


@over(DISTINCT)
@law(data=st.data(), delta=deltas, epsilon=epsilons)
def test_renyi_bounds_are_above_the_exact(
    cell: Combination, data: st.DataObject, delta: float, epsilon: float
) -> None:
    """Mironov's conversion >= that of Canonne, Kamath and Steinke >= exact."""
    plan = data.draw(cell.plans(common=True))
    for ask, x in ((plan.epsilon, delta), (plan.delta, epsilon)):
        exact, sharp, classic = ask(x), ask(x, "rdp"), ask(x, "rdp-mironov")
        assert sharp.side is Side.UPPER
        assert sharp.strength is Strength.BOUND
        assert ends(exact)[0] <= ends(sharp)[1]
        assert ends(sharp)[1] <= ends(classic)[1] * (1 + 1e-9) + 1e-300


@over(DISTINCT)
@law(data=st.data(), order=orders, delta=deltas)
def test_one_order_of_renyi_is_a_bound(
    cell: Combination, data: st.DataObject, order: float, delta: float
) -> None:
    """Any single order, converted by hand, is above the optimum over all of them."""
    plan = data.draw(cell.plans(common=True))
    rdp = plan.node.rdp(order, adjacency=plan.adjacency)
    assert isinstance(rdp, float)
    assert rdp >= 0.0
    if math.isinf(rdp):  # mass that escapes to infinite loss has no Renyi bound
        assert plan.epsilon(delta, "rdp").value == math.inf
        return
    by_hand = rdp + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    best = ends(plan.epsilon(delta, "rdp"))[1]
    assert best <= max(by_hand, 0.0) * (1 + 1e-6) + 1e-9


@over(DISTINCT)
@law(data=st.data(), some=st.lists(orders, min_size=2, max_size=6))
def test_renyi_grows_with_the_order_and_takes_arrays(
    cell: Combination, data: st.DataObject, some: list[float]
) -> None:
    plan = data.draw(cell.plans())
    curve = plan.node.rdp(np.sort(some), adjacency=plan.adjacency)
    assert isinstance(curve, np.ndarray)
    assert not np.isnan(curve).any()
    assert (curve[1:] >= curve[:-1] * (1 - 1e-9) - 1e-300).all()
    single = plan.node.rdp(max(some), adjacency=plan.adjacency)
    assert single == pytest.approx(curve[-1], rel=1e-12)


@law(share=1, sigma=powers(-1, 4), steps=st.integers(1, 10**9), order=orders)
def test_renyi_of_gaussians(sigma: float, steps: int, order: float) -> None:
    divergence = (dp.Gaussian(sigma=sigma) * steps).rdp(order)
    assert divergence == pytest.approx(steps * order / (2 * sigma**2), rel=1e-12)


@law(
    share=0.4,
    sigma=powers(-0.3, 1),
    rate=powers(-4, -0.02),
    order=st.integers(2, 40),
)
def test_renyi_of_sampled_gaussians_at_whole_orders(sigma: float, rate: float, order: int) -> None:
    """Mironov, Talwar, Zhang 2019, equation (6): a binomial sum (it is the worse direction)."""
    logs = [
        math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        + k * math.log(rate) + (order - k) * math.log1p(-rate) + (k * k - k) / (2 * sigma**2)
        for k in range(order + 1)
    ]  # fmt: skip
    peak = max(logs)
    moment = peak + math.log(math.fsum(math.exp(x - peak) for x in logs))
    assume(moment > 1e-6)  # below, this sum has lost its digits to the leading 1
    divergence = dp.Poisson(rate)(dp.Gaussian(sigma=sigma)).rdp(order)
    assert divergence == pytest.approx(moment / (order - 1), rel=1e-8)


@law(share=1, sigma=powers(-0.7, 4), steps=st.integers(1, 10**6), delta=deltas, epsilon=epsilons)
def test_balle_wang_agrees_on_plain_gaussians(
    sigma: float, steps: int, delta: float, epsilon: float
) -> None:
    plan = dp.Gaussian(sigma=sigma) * steps
    try:
        closed = plan.epsilon(delta=delta, method="balle_wang.theorem8")
        same(closed, plan.epsilon(delta=delta))
        closed = plan.delta(epsilon=epsilon, method="balle_wang.theorem8")
        same(closed, plan.delta(epsilon=epsilon))
    except dp.Unsupported as refusal:
        assert "cancels" in refusal.message  # the closed form says where it loses its digits


@over(PAIRED)
@law(data=st.data(), delta=deltas)
def test_the_limit_is_an_estimate(cell: Combination, data: st.DataObject, delta: float) -> None:
    plan = data.draw(cell.plans())
    try:
        limit = plan.epsilon(delta, "clt")
    except dp.Unsupported:
        return
    assert limit.strength is Strength.ESTIMATE
    assert limit.side is Side.NONE
    assert limit.lower is None
    assert limit.upper is None


def test_the_limit_of_gaussians_is_exact() -> None:
    plan = dp.Gaussian(sigma=3) * 50
    limit, exact = plan.epsilon(delta=1e-6, method="clt"), plan.epsilon(delta=1e-6)
    assert converged(exact)
    assert limit.value == pytest.approx(exact.value, rel=1e-10)


@law(share=0.3, rho=powers(-2, 1), steps=st.integers(1, 1000), delta=deltas)
def test_zcdp_is_no_better_than_the_gaussian_it_allows(
    rho: float, steps: int, delta: float
) -> None:
    """A Gaussian of rho = 1/(2 sigma^2) is rho-zCDP, so the bound for all of them is above it."""
    bound = (dp.ZCDP(rho=rho) * steps).epsilon(delta=delta)
    gaussian = dp.Gaussian(sigma=(2 * rho) ** -0.5) * steps
    not_more(gaussian.epsilon(delta=delta), bound)
    assert bound.upper == pytest.approx(
        gaussian.epsilon(delta=delta, method="rdp").upper, rel=1e-6, abs=1e-12
    )


# --- The trade-off curve: convex, non-increasing, below 1 - alpha; it says what delta says.


ALPHAS = np.concatenate(([0.0, 1e-12, 1e-6], np.linspace(0.001, 0.999, 40), [1 - 1e-9, 1.0]))


def quick(plan: Drawn) -> Drawn:
    """A plan like it that has contours throughout: a curve asks for hundreds of deltas."""
    if not plan.kind.settled and not SEARCH:
        return plan.but(steps=1)
    if "sigma" in plan.values and plan.sampler and not SEARCH:
        return plan.but(sigma=max(plan.values["sigma"], Fraction(1)))
    return plan


@over(DISTINCT)
@law(data=st.data())
def test_shape(cell: Combination, data: st.DataObject) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = quick(plan)
    curve = plan.node.tradeoff(ALPHAS, adjacency=plan.adjacency)
    assert isinstance(curve, np.ndarray)
    assert not np.isnan(curve).any()
    assert (curve >= 0.0).all()
    assert (curve <= 1.0 - ALPHAS).all()
    assert (np.diff(curve) <= 1e-12).all()
    # a finite maximum of lines is convex where it is refined alike; refinement moves it by little
    chords = np.interp(ALPHAS[1:-1], ALPHAS[[0, -1]], curve[[0, -1]])
    assert (curve[1:-1] <= chords + 1e-9).all()
    slopes = np.diff(curve) / np.diff(ALPHAS)
    rise = np.diff(ALPHAS)
    assert (np.diff(slopes) * np.minimum(rise[1:], rise[:-1]) >= -1e-5).all()


@over(PAIRED)
@law(data=st.data(), epsilon=epsilons)
def test_consistent_with_delta(cell: Combination, data: st.DataObject, epsilon: float) -> None:
    """1 - f(alpha) - e^eps alpha <= delta(eps) for the truth, nearly attained at some alpha."""
    plan = data.draw(cell.plans(common=True))
    plan = quick(plan)
    curve = plan.node.tradeoff(ALPHAS, adjacency=plan.adjacency)
    assert isinstance(curve, np.ndarray)
    delta = ends(plan.delta(epsilon))[1]
    with np.errstate(over="ignore"):
        line = 1.0 - delta - np.exp(epsilon) * ALPHAS
    assert (curve >= line - 1e-9).all() or epsilon > 50
    # symmetric: f is its own inverse, so the mirrored line supports it as well
    assert (curve >= np.exp(-epsilon) * (1.0 - delta - ALPHAS) - 1e-9).all()
    assert curve[0] <= 1.0


@law(share=0.4, mu=powers(-1.5, 0.9), alpha=st.floats(0.0, 1.0, allow_subnormal=False))
def test_gaussian_closed_form(mu: float, alpha: float) -> None:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu); a lower bound that is close."""
    truth = float(ndtr(-ndtri(alpha) - mu))  # 1 - alpha would round, and that times e^{mu z} shows
    curve = dp.Gaussian(sigma=1 / mu).tradeoff(alpha)
    assert isinstance(curve, float)
    assert curve <= truth + 1e-12
    assert curve == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.05, 0.5])
def test_hits_of_few_false_alarms_are_sharp(sigma: float, alpha: float) -> None:
    """1 - f, which attacks are judged by, is as small as alpha: its error counts beside itself."""
    truth = float(ndtr(1.0 / sigma - ndtri(1.0 - alpha)))
    hits = 1.0 - dp.Gaussian(sigma=sigma).tradeoff(alpha)
    assert truth * (1.0 - 1e-9) <= hits <= truth * (1.0 + 1e-5)


@law(share=0.4, epsilon=powers(-2, 1), alpha=st.floats(0.0, 1.0, allow_subnormal=False))
def test_pure_dp_closed_form(epsilon: float, alpha: float) -> None:
    """max(0, 1 - e^eps alpha, e^-eps (1 - alpha)) (Wasserman, Zhou 2010)."""
    truth = max(0.0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
    curve = dp.PureDP(epsilon=epsilon).tradeoff(alpha)
    assert curve <= truth + 1e-12
    assert curve == pytest.approx(truth, abs=1e-4)


def test_the_end_is_the_failure_mass() -> None:
    plan = dp.ApproxDP(epsilon="0.5", delta="0.01")
    assert plan.tradeoff(0) == pytest.approx(0.99, abs=1e-9)
    assert plan.tradeoff(1) == 0.0


def test_many_steps_of_little_noise_give_a_number() -> None:
    """At mu = 62 no epsilon that a float's exponential holds has delta below 1."""
    curve = (dp.Gaussian(sigma="118.73") * 54186178).tradeoff(ALPHAS)
    assert isinstance(curve, np.ndarray)
    assert curve[0] == 1.0
    assert (curve[1:] == 0.0).all()
