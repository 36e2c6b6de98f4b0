"""The filter against every run of an adaptive adversary, summed outcome by outcome."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from dpacct.plan.adaptive import Cost, cost, nothing

Choice = Callable[[tuple[int, ...]], float]
MENU = (0.1, 0.3, 0.6, 1.0)


def greedy(history: tuple[int, ...]) -> float:
    """Bold after outcomes that favoured P, timid after others."""
    return MENU[min(3, max(0, 1 + sum(history)))]


def contrary(history: tuple[int, ...]) -> float:
    return MENU[min(3, max(0, 1 - sum(history)))]


def alternate(history: tuple[int, ...]) -> float:
    return MENU[(len(history) + (history[-1] if history else 0)) % 4]


def runs(choose: Choice, allowed: Callable[[list[float]], bool], depth: int) -> list[tuple]:
    """(log P, log Q, releases) of every outcome of randomised responses chosen from the history.

    What is not allowed is passed over for the smallest one, and where that is refused the run stops.
    """
    done = []
    open_runs: list[tuple[tuple[int, ...], float, float, list[float]]] = [((), 0.0, 0.0, [])]
    while open_runs:
        history, log_p, log_q, made = open_runs.pop()
        options = [e for e in (choose(history), MENU[0]) if allowed([*made, e])]
        if not options or len(history) == depth:
            done.append((log_p, log_q, made))
            continue
        epsilon = options[0]
        high, low = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
        for sign, p, q in ((1, high, low), (-1, low, high)):
            step = ((*history, sign), log_p + p, log_q + q, [*made, epsilon])
            open_runs.append(step)
    return done


def true_delta(budget: dp.Filter, choose: Choice, share: float = 1.0) -> float:
    """Delta at the filter's epsilon of everything the adversary releases, exactly."""
    prices = {e: cost(dp.PureDP(epsilon=e), budget.orders, budget.adjacency) for e in MENU}

    def allowed(made: list[float]) -> bool:
        total: Cost = nothing(budget.orders)
        for e in made:
            total = total + prices[e]
        return budget.share(total) <= share

    outcomes = runs(choose, allowed, 11)
    assert math.fsum(math.exp(p) for p, _, _ in outcomes) == pytest.approx(1.0)
    epsilon = float(budget.epsilon)
    return math.fsum(max(0.0, math.exp(p) - math.exp(epsilon + q)) for p, q, _ in outcomes)


@pytest.mark.parametrize("choose", [greedy, contrary, alternate])
@pytest.mark.parametrize(
    ("epsilon", "delta", "orders"),
    [(0.5, 0.2, [3]), (0.2, 0.3, [3]), (0.5, 0.2, [6]), (1, 0.05, [6]), (1, 0.2, None)],
)
def test_no_adaptive_choice_breaks_the_filter(
    choose: Choice, epsilon: float, delta: float, orders: list[float] | None
) -> None:
    assert 0.0 < true_delta(dp.Filter(epsilon=epsilon, delta=delta, orders=orders), choose) <= delta


def test_a_filter_that_lets_twice_as_much_pass_is_broken() -> None:
    """So the law above can fail."""
    assert true_delta(dp.Filter(epsilon=0.5, delta=0.2, orders=[3]), greedy, share=2.0) > 0.2


def exact_log_delta(order: str, epsilon: str) -> mpmath.mpf:
    """Canonne, Kamath, Steinke 2020, Proposition 12, of a log moment of 0."""
    a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
    return -(a - 1) * e + (a - 1) * mpmath.log(1 - 1 / a) - mpmath.log(a)


def test_the_shares_of_all_orders_are_no_more_than_delta() -> None:
    """Each order's budget buys its part of delta, and a hair less, as floats are off."""
    orders, decided = ["1.1", "1.5", "2", "3.7", "17", "64.3"], 0
    for epsilon, delta in product(("20", "41.3", "700"), ("0.3", "1e-6", "1e-300")):
        budgets = dp.Filter(epsilon=epsilon, delta=delta, orders=orders)._budgets
        with mpmath.workdps(40):
            part = mpmath.mpf(delta) / len(orders)
            shares = []
            for most, order in zip(budgets, orders, strict=True):
                paid = exact_log_delta(order, epsilon)
                shares.append(mpmath.exp(most + paid))
                guard = 1e-13 * (1 - math.log(float(part)) + (float(order) - 1) * float(epsilon))
                decided += mpmath.exp(most + guard + paid) > part
            assert all(share < part for share in shares)
            assert mpmath.fsum(shares) > mpmath.mpf(delta) * (1 - mpmath.mpf("1e-8"))
    assert decided > 10  # without the hair these are more than their part


def test_what_is_spent_is_no_less_than_the_moments() -> None:
    """Of normal noise, steps s (s + 1) / (2 sigma^2): a sum of floats that are off either way."""
    orders = dp.Filter(epsilon=1, delta=1e-6).orders
    for sigma, steps in (("0.9", 1), ("3.3", 7), ("17.1", 1001), ("113", 10**9)):
        spent = cost(dp.Gaussian(sigma=sigma) * steps, orders, dp.Adjacency.ADD_REMOVE)
        for order, moment in zip(orders, spent.log_moments[0], strict=True):
            exact = Fraction(order) * (Fraction(order) - 1) * steps / (2 * Fraction(sigma) ** 2)
            assert exact <= Fraction(moment) <= exact * (1 + Fraction(2, 10**12))


def test_a_refused_release_is_not_recorded() -> None:
    budget = dp.Filter(epsilon=1, delta=1e-6)
    step = dp.Gaussian(sigma=30)
    most = budget.at_most(step)
    assert most > 1
    budget.spend(step * most)
    before, plan = budget.spent(), budget.plan
    assert budget.would_exceed(step)
    with pytest.raises(dp.Unreachable, match="what is left of the budget of epsilon = 1"):
        budget.spend(step)
    assert (budget.spent(), budget.plan) == (before, plan)
    assert not budget.would_exceed(dp.Gaussian(sigma=1000))


@settings(max_examples=6)
@given(count=st.integers(1, 40))
def test_what_fits_in_advance_costs_at_most_the_budget(count: int) -> None:
    """The releases of a full filter, had they been fixed in advance, cost less than the budget."""
    step = dp.Poisson("0.02")(dp.Gaussian(sigma=1.5 + count / 20))
    budget = dp.Filter(epsilon=1, delta=1e-5, expecting=step)
    run = step * budget.at_most(step)
    assert float(run.epsilon(delta=1e-5)) <= 1.0
    # the one order was chosen well: the Renyi route with its best order allows hardly more
    assert run.epsilon(delta=1e-5, method="rdp").value > 0.95


def test_replaying_gives_the_same_state() -> None:
    def play() -> dp.Filter:
        budget = dp.Filter(epsilon=2, delta=1e-6, failures=1e-7)
        for node in (dp.Gaussian(sigma=9), dp.ApproxDP(epsilon=0.1, delta=1e-8), dp.ZCDP(rho=0.01)):
            budget.spend(node)
        return budget

    assert play().spent() == play().spent()
    assert play().plan == play().plan


def test_open_failures_have_their_own_part() -> None:
    failing = dp.ApproxDP(epsilon=0.01, delta=1e-7)
    assert dp.Filter(epsilon=2, delta=1e-6).would_exceed(failing)
    assert dp.Filter(epsilon=2, delta=1e-6, failures=5e-7).at_most(failing) == 5
    # on a Poisson sample a failure is as rare as the unit is sampled
    sampled = dp.Poisson(0.1)(failing)
    assert dp.Filter(epsilon=2, delta=1e-6, failures=5e-7).at_most(sampled) == 50
    budget = dp.Filter(epsilon=2, delta=1e-6, failures=2e-7)
    budget.spend(failing * 2)
    with pytest.raises(dp.Unreachable, match="open failures"):
        budget.spend(failing)


def test_the_guarantee_says_what_it_is() -> None:
    budget = dp.Filter(epsilon="0.1", delta=1e-6, orders=[200.5])
    budget.spend(dp.Gaussian(sigma=1000))
    result = budget.guarantee()
    assert (result.value, str(result.side), str(result.strength)) == (0.1, "upper", "bound")
    assert any("Feldman" in line for line in result.basis)
    assert result.tree == dp.Gaussian(sigma=1000)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"epsilon": 0, "delta": 1e-6}, "epsilon"),
        ({"epsilon": math.nan, "delta": 1e-6}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": 1e-6, "orders": []}, "orders"),
        ({"epsilon": 1, "delta": 1e-6, "orders": [1]}, "orders"),
        ({"epsilon": 1, "delta": 1e-6, "orders": "12"}, "orders"),
        ({"epsilon": 1, "delta": 1e-6, "failures": 1e-6}, "failures"),
        ({"epsilon": 1, "delta": 1e-6, "failures": math.nan}, "failures"),
        ({"epsilon": 0.001, "delta": 1e-6, "orders": [2]}, "epsilon"),
        ({"epsilon": 1, "delta": 1e-6, "orders": [2], "expecting": dp.PureDP(epsilon=1)}, "orders"),
        ({"epsilon": 1, "delta": 1e-6, "expecting": 3}, "plan"),
        ({"epsilon": 1, "delta": 1e-6, "adjacency": "x"}, "adjacency"),
    ],
    ids=str,
)
def test_wrong_use_gets_one_sentence(wrong: dict, argument: str) -> None:
    with pytest.raises(dp.InvalidArgument) as caught:
        dp.Filter(**wrong)
    assert caught.value.argument == argument
    assert "\n" not in str(caught.value)
