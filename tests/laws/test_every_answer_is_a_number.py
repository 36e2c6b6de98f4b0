"""No public method returns nan, warns, or fails with anything but a sentence of our own.

Every mechanism in every sample, at parameters and at arguments from end to end of what is accepted.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

import mpmath as mp
import numpy as np
import pytest

import dpacct as dp
from dpacct.answer.ask import strict
from dpacct.pld.budget import WORK, metered
from tests.laws.catalogue import SEARCH
from tests.work import calls

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
    assert 0.0 <= float(answer) <= 1e-12


def test_what_fails_openly_has_no_divergence_whatever_stands_beside_it() -> None:
    """Little noise first gave nan, the other order inf."""
    little = dp.Poisson("5.091e-8")(dp.Gaussian(sigma="0.01133")) * 753_300_000
    failing = dp.Poisson("0.003124")(dp.ApproxDP(epsilon="0.3982", delta="1.651e-8"))
    assert (little + failing).rdp(13) == (failing + little).rdp(13) == float("inf")


# --- Every method that takes an array takes 10^5 points, in bounded memory, and says what it says of one.


COUNT, SOME = 100_000, 10_000
LIMIT = 2 * 10**9
"""Bytes for all of COUNT points."""
PLANS: dict[str, Callable[[], dp.Node]] = {
    "Gaussian": lambda: dp.Gaussian(sigma=1),
    "sampled Gaussian": lambda: dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000,
    "fixed size": lambda: dp.WithoutReplacement("0.05")(dp.Gaussian(sigma=1)) * 10,
    "Laplace": lambda: dp.Laplace(b=1),
    "answers": lambda: dp.RandomizedResponse(eps0=1) * 10,
    "mixed": lambda: dp.Gaussian(sigma=3) * 4 + dp.PureDP(epsilon="0.1"),
    "zCDP": lambda: dp.ZCDP(rho="0.1") * 3,
}
QUESTIONS = {"rdp": (1.01, 64.0, 1e-10), "profile": (0.0, 8.0, 1e-5), "tradeoff": (0.0, 1.0, 0.0)}
"""From where to where, and how far a point among many may be from itself alone."""

CASES = [
    *((name, "rdp") for name in PLANS),
    *((name, "tradeoff") for name in PLANS if name != "fixed size"),
    *((name, "profile") for name in PLANS if name != "fixed size"),
]


def agree(name: str, question: str, points: np.ndarray, values: np.ndarray) -> None:
    """Among many a point is what it is alone."""
    plan, (_, _, within) = PLANS[name](), QUESTIONS[question]
    assert values.shape == points.shape and not np.isnan(values).any()
    places = [1, points.size // 3, points.size - 2]
    alone = [float(np.asarray(getattr(plan, question)(float(points[k]))).item()) for k in places]
    # a lower bound of a curve may be nearer to it among many, and never much farther
    assert np.all(values[places] >= np.array(alone) * (1 - within) - 2e-6)
    assert np.allclose(values[places], alone, rtol=within, atol=1e-5 if within == 0.0 else 1e-12)


@pytest.mark.parametrize(
    ("name", "question", "count"),
    [
        *((*case, SOME) for case in CASES if case != ("sampled Gaussian", "tradeoff")),
        ("Gaussian", "tradeoff", COUNT),
        *(pytest.param(*case, COUNT, marks=pytest.mark.search) for case in CASES),
    ],
)
def test_arrays(name: str, question: str, count: int) -> None:
    plan, (low, high, _) = PLANS[name](), QUESTIONS[question]
    points = np.linspace(low, high, count)
    tracemalloc.start()
    try:
        values = np.asarray(getattr(plan, question)(points))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LIMIT * count / COUNT
    agree(name, question, points, values)


@pytest.mark.parametrize(("name", "question"), CASES)
def test_the_work_of_a_point(name: str, question: str) -> None:
    """100 calls a point at most: 10^5 points, at less than half a microsecond a call, take 5 s of CPU."""
    low, high, _ = QUESTIONS[question]
    plan = PLANS[name]()
    # curves have work that points share
    points = np.linspace(low, high, COUNT if question == "tradeoff" else SOME)
    results: list[np.ndarray] = []
    work = calls(lambda: results.append(np.asarray(getattr(plan, question)(points))))
    assert work < 100 * points.size
    agree(name, question, points, results[0])


def test_plans_of_slow_readings() -> None:
    """Once an hour: each point of a profile was composed by itself."""
    plan, epsilons = PLANS["fixed size"](), np.linspace(1.0, 1.5, COUNT)
    with metered() as work:
        deltas = plan.profile(epsilons)
    assert work.spent < 0.2 * WORK
    assert np.all(np.diff(deltas) <= 0.0)
    middle = plan.delta(epsilon=float(epsilons[COUNT // 2]), method="exact")
    assert middle.lower is not None and middle.lower <= deltas[COUNT // 2]
    assert deltas[COUNT // 2] == pytest.approx(middle.value, rel=2e-3)
    with metered() as work:
        curve = np.asarray(plan.tradeoff(np.linspace(0.3, 0.4, COUNT)))
    assert work.spent < WORK
    line = 1.0 - float(deltas[0]) - np.e * 0.35  # the supporting line of epsilon 1
    assert curve[COUNT // 2] >= line - 1e-9


def test_orders_of_all_sizes() -> None:
    """Orders far apart, out of order, and twice."""
    plan = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1"))
    orders = np.concatenate(
        (np.geomspace(1 + 1e-9, 300, 90), [2.0, 2.0], np.geomspace(50, 1.1, 40))
    )
    alone = [plan.rdp(float(order)) for order in orders]
    assert np.allclose(plan.rdp(orders), alone, rtol=1e-10, atol=0)


def test_a_long_tradeoff_lies_on_the_curve() -> None:
    """G_mu in closed form: never above it, and near it."""
    from statistics import NormalDist

    normal = NormalDist()
    alphas = np.linspace(0.0, 1.0, 5001)
    values = np.asarray(dp.Gaussian(sigma=1).tradeoff(alphas))
    exact = [1.0, *(normal.cdf(normal.inv_cdf(1 - a) - 1) for a in alphas[1:-1].tolist()), 0.0]
    assert np.all(values <= np.array(exact) + 1e-12)
    assert np.all(values >= np.array(exact) - 1e-6)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_tables_of_100_000_rows(adjacency: str) -> None:
    """Two geometric laws cut off: delta(0) is the total variation of the tables."""
    draw = np.random.default_rng(1)
    p, q = draw.exponential(size=(2, COUNT))
    tables = (np.round(p / p.sum(), 12).tolist(), np.round(q / q.sum(), 12).tolist())
    plan = dp.Custom(tables=tables)
    distance = 0.5 * float(np.abs(np.array(tables[0]) - np.array(tables[1])).sum())
    answer = plan.delta(epsilon=0, method="exact", adjacency=adjacency)
    assert float(answer) == pytest.approx(distance, rel=1e-6)
    assert float(answer) >= distance * (1 - 1e-9)


def test_rows_are_made_to_sum_to_one() -> None:
    short = Fraction(1, 10**10)
    loose = dp.Custom(tables=(["0.75", Fraction(1, 4) - short], ["0.25", "0.75"]))
    assert sum(loose.p) == 1 == sum(loose.q)
    assert dp.from_json(loose.to_json()) == loose


def test_tables_under_exchange_keep_small_deltas() -> None:
    """Between two losses the profile is a sum of positive terms: (p - e^eps q)_+ at 1e-14 of a mass."""
    p, q = [1 - 3e-14, 1e-14, 2e-14], [1 - 2e-14, 1.5e-14, 0.5e-14]
    plan = dp.Custom(tables=(p, q)).under("replace-one")
    exact = [Fraction(repr(x)) for x in p], [Fraction(repr(x)) for x in q]
    first, second = ([x / sum(row) for x in row] for row in exact)
    wanted = max(
        sum(max(a - b * 2, Fraction(0)) for a, b in zip(*pair, strict=True))
        for pair in ((first, second), (second, first))
    )
    answer = plan.delta(epsilon=float(np.log(2)), method="exact")
    assert float(answer) == pytest.approx(float(wanted), rel=1e-6)
