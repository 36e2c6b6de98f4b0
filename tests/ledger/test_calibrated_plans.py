"""What calibrates and what decides agree: a ledger takes every plan whose noise was calibrated for it."""

import itertools
from fractions import Fraction
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.answer.ask import BoundaryQuestion
from dpacct.ledger.decision import decide
from dpacct.plan import certified
from dpacct.vocabulary import Adjacency

# populations, epsilons and rounds of the federated experiments, at delta = clients^-1.1
CLIENTS = (100, 975, 2000)
EPSILONS = ("0.5", "1", "2", "3", "6", "8")
ROUNDS = (1, 2, 10, 30, 100)
SCHEMES = ("poisson", "uniform", "none")
GRID = list(itertools.product(CLIENTS, EPSILONS, ROUNDS, SCHEMES))


def plan(noise: object, scheme: str, rounds: int) -> dp.Node:
    step = dp.Gaussian(noise_multiplier=str(noise), clip=1)
    sampled = {
        "poisson": lambda: dp.Poisson("0.05")(step),
        "uniform": lambda: dp.WithoutReplacement("0.05")(step),
        "none": lambda: step,
    }
    return sampled[scheme]() * rounds


def check(clients: int, epsilon: str, rounds: int, scheme: str, folder: Path) -> None:
    delta = f"{clients**-1.1:.6g}"
    budget = (epsilon, delta)
    adjacency = "replace-one" if scheme == "uniform" else "add-remove"
    noise = dp.noise_multiplier(
        epsilon=epsilon,
        delta=delta,
        sample_rate=1 if scheme == "none" else "0.05",
        steps=rounds,
        sampling=scheme,
        method="exact",
    )
    whole = plan(noise, scheme, rounds)
    with dp.Ledger(folder / "yes", budget=budget, plan=whole, adjacency=adjacency) as ledger:
        assert not ledger.would_exceed(whole)
    less = plan(0.99 * noise, scheme, rounds)
    with pytest.raises(dp.BudgetExceeded, match="costs epsilon") as refused:
        dp.Ledger(folder / "no", budget=budget, plan=less, adjacency=adjacency)
    cost = str(refused.value).partition("costs epsilon ")[2].partition(",")[0]
    assert Fraction(cost) > Fraction(epsilon)


@pytest.mark.parametrize(
    ("clients", "epsilon", "rounds", "scheme"),
    [point for point in GRID[::7] if point[2:] != (30, "uniform")] + [(100, "2", 2, "poisson")],
)
def test_a_ledger_takes_what_was_calibrated(
    clients: int, epsilon: str, rounds: int, scheme: str, tmp_path: Path
) -> None:
    check(clients, epsilon, rounds, scheme, tmp_path)


def test_at_a_tie_the_proof_decides() -> None:
    """At both ends of a proof of 15 digits, which lie nearer than the engine's own rounding."""
    epsilon, delta = Fraction(7), Fraction("1e-5")

    def build(sigma: object) -> dp.Node:
        return dp.Poisson("0.01")(dp.Gaussian(sigma=sigma)) * 1000

    def met(sigma: str) -> bool:
        node = build(sigma)
        return decide(node, epsilon=epsilon, delta=delta, adjacency=Adjacency.ADD_REMOVE).met

    question = BoundaryQuestion(epsilon=epsilon, delta=delta, name="sigma")
    ends = certified.boundary(question, build, 0.611546, digits=15).answer.extra
    assert met(str(ends["upper_decimal"]))
    assert not met(str(ends["lower_decimal"])[:12])
