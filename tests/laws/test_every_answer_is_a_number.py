"""No public method returns nan, warns, or fails with anything but a sentence of our own.

Every mechanism in every sample, at parameters and at arguments from end to end of what is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import mpmath as mp
import numpy as np
import pytest

import dpacct as dp
from dpacct.answer.ask import strict
from tests.laws.catalogue import SEARCH

MECHANISMS: dict[str, Callable[[], dp.Node]] = {
    **{f"Gaussian {s}": lambda s=s: dp.Gaussian(sigma=s) for s in ("1e-100", "1e-8", "1e-3")},
    **{f"Gaussian {s}": lambda s=s: dp.Gaussian(sigma=s) for s in ("0.01", "0.025", "1", "1e100")},
    **{f"Laplace {b}": lambda b=b: dp.Laplace(b=b) for b in ("1e-100", "1e-8", "0.02", "0.1")},
    **{f"Laplace {b}": lambda b=b: dp.Laplace(b=b) for b in ("1", "1e8", "1e100")},
    **{f"PureDP {e}": lambda e=e: dp.PureDP(epsilon=e) for e in ("1e-9", "1", "700")},
    **{f"Answers {k}": lambda k=k: dp.RandomizedResponse(eps0=2, k=k) for k in (2, 10)},
    **{f"Staircase {e}": lambda e=e: dp.Staircase(eps0=e) for e in ("1e-6", "1", "50")},
    **{f"Choice {e}": lambda e=e: dp.ExponentialMechanism(eps0=e) for e in ("0.1", "1", "100")},
    **{f"ZCDP {r}": lambda r=r: dp.ZCDP(rho=r) for r in ("1e-9", "1e9")},
    "ApproxDP 1e-300": lambda: dp.ApproxDP(epsilon=1, delta="1e-300"),
    "ApproxDP 0.5": lambda: dp.ApproxDP(epsilon="1e-6", delta="0.5"),
    "DiscreteGaussian 0.05": lambda: dp.DiscreteGaussian(scale="0.05"),
    "DiscreteGaussian 30": lambda: dp.DiscreteGaussian(scale=30),
    "DiscreteGaussian 1e6": lambda: dp.DiscreteGaussian(scale=10**6),
    "DiscreteLaplace 0.05": lambda: dp.DiscreteLaplace(scale="0.05"),
    "DiscreteLaplace 30": lambda: dp.DiscreteLaplace(scale=30),
}
RATES = ("1e-300", "1e-9", "0.5", "0.999999")
SAMPLINGS: dict[str, Callable[[dp.Node], dp.Node]] = {
    "plain": lambda step: step,
    "plain, exchanged": lambda step: step.under("replace-one"),
    "coin": lambda step: dp.Participation("0.3")(step),
    **{f"Poisson {q}": lambda step, q=q: dp.Poisson(q)(step) for q in RATES},
    **{f"fixed size {q}": lambda step, q=q: dp.WithoutReplacement(q)(step) for q in RATES},
}
ORDERS = (1 + 2**-52, 1.0001, 1.1, 2.0, 64.0, 1e6, 1e100, 1e308)
EPSILONS = (0.0, 1e-300, 1e-9, 1.0, 700.0, 1e5, 1e308)
DELTAS = ("1e-300", "1e-5", "0.999")
ALPHAS = (0.0, 1e-300, 1e-9, 0.5, 1.0)


def questions(plan: dp.Node, draw: Random) -> Iterator[tuple[str, Callable[[], float]]]:
    """A question of each kind, each as what may be asked by itself; in a long search two."""
    for order in draw.sample(ORDERS, 1 + SEARCH):
        yield "rdp", lambda order=order: float(np.asarray(plan.rdp(order)))
    for e in draw.sample(EPSILONS, 1 + SEARCH):
        yield "delta", lambda e=e: float(plan.delta(epsilon=e, method="exact"))
        yield "delta", lambda e=e: float(plan.profile([e])[0])
    d, alpha = draw.choice(DELTAS), draw.choice(ALPHAS)
    yield "epsilon", lambda: float(plan.epsilon(delta=d, method="exact"))
    yield "epsilon", lambda: float(plan.epsilon(delta=d, method="rdp"))
    yield "beta", lambda: float(np.asarray(plan.tradeoff(alpha)))


DEAR = ("Gaussian 0.01", "Gaussian 0.025", "Laplace 1e-8", "DiscreteGaussian 1e6")
"""Of which a coin's curves take up to 20 s a mechanism, and other trade-off curves seconds each."""


def is_dear(mechanism: str, sampling: str, quantity: str) -> bool:
    """Whether it is for a long search."""
    curve = quantity == "beta" and sampling not in ("plain", "Poisson 0.5")
    return mechanism in DEAR and (sampling == "coin" or curve)


def judge(mechanism: str, *, dear: bool) -> None:
    draw = Random(mechanism)
    for name, sampling in SAMPLINGS.items():
        try:
            plan = sampling(MECHANISMS[mechanism]())
        except dp.DpacctError:
            continue
        asked = [*questions(plan, draw)]
        for quantity, ask in asked:
            if dear is not is_dear(mechanism, name, quantity):
                continue
            try:
                value = ask()
            except dp.DpacctError as error:
                assert len(str(error)) > 20
                continue
            assert value >= 0.0, (name, quantity)  # nan is not
            assert value <= 1.0 or quantity not in ("delta", "beta"), (name, quantity)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_answer_is_a_number(mechanism: str) -> None:
    judge(mechanism, dear=False)


@pytest.mark.search
@pytest.mark.parametrize("mechanism", DEAR)
def test_every_dear_answer_is_a_number(mechanism: str) -> None:
    judge(mechanism, dear=True)


def fixed_size_divergence(order: str, rate: str, sigma: str) -> float:
    """D_order of C_rate of the Gaussian, from its profile q D(log(1 + (e^eps - 1)/q)), at 20 digits."""
    with mp.workdps(20):
        alpha, q, mu = mp.mpf(order), mp.mpf(rate), 1 / mp.mpf(sigma)

        def profile(epsilon: mp.mpf) -> mp.mpf:
            inner = mp.log1p(mp.expm1(epsilon) / q)
            lost = mp.exp(inner) * mp.ncdf(-mu / 2 - inner / mu)
            return q * (mp.ncdf(mu / 2 - inner / mu) - lost)

        def part(epsilon: mp.mpf) -> mp.mpf:
            rise = mp.exp((alpha - 1) * epsilon) + mp.exp(-alpha * epsilon)
            return rise * profile(epsilon)

        peak = mu * mu * (alpha - mp.mpf(1) / 2)
        ends = [mp.mpf(0), 1, 5, 20, *(peak + k * mu for k in range(-12, 13, 2)), peak + 30 * mu]
        ends = sorted({max(mp.mpf(0), end) for end in ends})
        return float(mp.log1p(alpha * (alpha - 1) * mp.quad(part, ends)) / (alpha - 1))


@pytest.mark.parametrize(
    ("order", "rate", "sigma"),
    [("1.1", "0.5", "0.025"), ("1.001", "0.5", "0.01"), ("1.1", "0.5", "0.03"), ("2", "0.1", "1")],
)
def test_divergences_of_little_noise(order: str, rate: str, sigma: str) -> None:
    """Each loss has the size of its mass's logarithm, so that neither may be formed alone."""
    plan = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma))
    wanted = fixed_size_divergence(order, rate, sigma)
    assert plan.rdp(float(order)) == pytest.approx(wanted, rel=1e-9, abs=0)


@pytest.mark.parametrize(("b", "order"), [("0.001", "1.1"), ("0.002", "1.01"), ("1", "3")])
def test_divergences_of_laplace_noise(b: str, order: str) -> None:
    """Mironov 2017, Proposition 6."""
    with mp.workdps(40):
        a, lam = mp.mpf(order), 1 / mp.mpf(b)
        up, down = a / (2 * a - 1) * mp.exp((a - 1) * lam), (a - 1) / (2 * a - 1) * mp.exp(-a * lam)
        wanted = float(mp.log(up + down) / (a - 1))
    assert dp.Laplace(b=b).rdp(float(order)) == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize(("order", "wanted"), [(1e308, 5e307), (1e200, 5e199), (2.0, 1.0)])
def test_divergences_at_the_largest_orders(order: float, wanted: float) -> None:
    assert dp.Gaussian(sigma=1).rdp(order) == pytest.approx(wanted, rel=1e-15)
    assert dp.PureDP(epsilon="0.75").rdp(order) <= 0.75 * (1 + 1e-15)


@pytest.mark.parametrize(
    "operation",
    [
        lambda: np.zeros(100) @ np.full(100, np.inf),
        lambda: np.exp(np.array([1e9])),
        lambda: np.log(np.zeros(3)),
        lambda: np.cumsum([np.inf, -np.inf]),
    ],
)
def test_what_numpy_only_warns_of_is_withheld(operation: Callable[[], object]) -> None:
    with pytest.raises(dp.NotCertified, match="withheld"):
        strict(operation)()


def test_at_the_largest_delta_nothing_is_left() -> None:
    """tanh(1/2), at which randomised response of epsilon 1 costs nothing: a proof divided by zero."""
    answer = dp.PureDP(epsilon=1).epsilon(delta=0.46211715726000974)
    assert 0.0 <= float(answer) <= 1e-15


def test_what_fails_openly_has_no_divergence_whatever_stands_beside_it() -> None:
    """Little noise first gave nan, the other order inf."""
    little = dp.Poisson("5.091e-8")(dp.Gaussian(sigma="0.01133")) * 753_300_000
    failing = dp.Poisson("0.003124")(dp.ApproxDP(epsilon="0.3982", delta="1.651e-8"))
    assert (little + failing).rdp(13) == (failing + little).rdp(13) == float("inf")
