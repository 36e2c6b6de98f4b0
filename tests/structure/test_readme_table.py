"""The README's table of what papers claim: each number is computed again, and rounded as printed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

import dpacct as dp
from dpacct.papers.registry import get
from figures.noise_by_method import DELTA, noise, plan
from tests.structure.project import ROOT

HEADING = "## What papers claim"


class Row(NamedTuple):
    """A line of the table, cell by cell."""

    statement: str
    setting: str
    promised: str
    true: str


def rows() -> list[Row]:
    """The table below the heading, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Row(*row) for row in cells]


def printed(theorem: str, **values: object) -> float:
    """What a statement says, as printed."""
    return float(get(theorem).evaluate(values, as_printed=True))


def coin(held: bool) -> float:
    """50 local steps of sigma 1 under one client coin of 0.1, or each under a coin of its own."""
    step = dp.Gaussian(sigma=1)
    sampled = dp.Poisson(0.1)(step * 50) if held else dp.Poisson(0.1)(step) * 50
    return float(sampled.epsilon(delta=1e-5))


def fedsam() -> dp.Answer:
    """The run of DP-FedSAM's Section 6.1 as its Algorithm 1 samples, with sigma as it is printed."""
    plan = dp.federated.DPFedSAM(
        clients=500, client_rate="0.1", rounds=200, noise_multiplier="0.95", noise_by="server"
    )
    return plan.epsilon(delta="1/500")


def dp_fed(route: str, end: str) -> float:
    """Epsilon of DP-Fed on MNIST at the noise that Theorem 1 asks for when it promises 20."""
    return float(getattr(plan("uniform", noise("uniform", route, 20.0)).epsilon(delta=DELTA), end))


def by(method: str) -> float:
    """Epsilon of a thousand steps, by one method."""
    run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    return float(run.epsilon(delta=1e-5, method=method).value)


def vote() -> float:
    """Renyi divergence of order 6 of the label, votes (6, 0) against (7, 0), noise 1 on each count."""
    few, fewer = (0.5 * math.erfc(gap / 2.0) for gap in (6.0, 7.0))
    return math.log(few**6 * fewer**-5 + (1.0 - few) ** 6 * (1.0 - fewer) ** -5) / 5.0


def shuffled_pair() -> float:
    """Renyi divergence of order 8 of two shuffled binary randomised responses with eps0 = 1."""
    p = math.e / (1.0 + math.e)
    # number of ones, the first client's bit being 1 or 0 and the other's 0 (Lemma 2's worst pair)
    sent = ((1 - p) * p, p * p + (1 - p) ** 2, p * (1 - p))
    none = (p * p, 2 * p * (1 - p), (1 - p) ** 2)
    both = [
        math.log(sum(a**8 * b**-7 for a, b in zip(x, y, strict=True))) / 7.0
        for x, y in ((sent, none), (none, sent))
    ]
    return max(both)


FIXED, POISSON = "fixed size; replace-one", "Poisson; add-remove"
COMPUTED: list[tuple[str, str, Callable[[], float], Callable[[], float | dp.Answer]]] = [
    (
        "DP-FedSAM, Theorem 2",
        FIXED,
        lambda: printed("dp_fedsam.theorem2", rate=0.1, sigma=0.95, rounds=200, delta=1 / 500),
        fedsam,
    ),
    (
        "Noise calibrated for epsilon 20 with the formula",
        FIXED,
        lambda: 20.0,
        lambda: dp_fed("no conditions", "lower"),
    ),
    (
        "The same target",
        FIXED,
        lambda: 20.0,
        lambda: dp_fed("theorem", "upper"),
    ),
    ("Clients sampled once per round", POISSON, lambda: coin(held=False), lambda: coin(held=True)),
    ("Central-limit (GDP) estimate", POISSON, lambda: by("clt"), lambda: by("exact")),
    (
        "UDP-FL, Theorem 2",
        "none; any",
        lambda: printed("udp_fl.theorem2", alpha=1.1, lam=10, nu=0.5),
        lambda: float(dp.Staircase(eps0=10, nu=0.5).rdp(1.1)),
    ),
    (
        "UDP-FL, Lemma 2",
        "none; replace-one",
        lambda: printed("udp_fl.lemma2", alpha=8, epsilon=1, clients=2),
        shuffled_pair,
    ),
    (
        "Private voting, Theorem 14",
        "none; add-remove",
        lambda: printed("ae_dpfl.theorem14", votes=[6, 0], sigma=1, alpha=6),
        vote,
    ),
]


@pytest.mark.parametrize("index", range(len(COMPUTED)), ids=[row[0] for row in COMPUTED])
def test_row(index: int) -> None:
    name, setting, promised, true = COMPUTED[index]
    row = rows()[index]
    assert row.statement.startswith(name) and row.setting == setting
    for text, value in ((row.promised, promised()), (row.true, true())):
        shown = re.findall(r"\d+\.?\d*", text)
        places = len(shown[-1].partition(".")[2])
        if isinstance(value, float):
            assert f"{value:.{places}f}" == shown[-1], (text, value)
        else:  # an interval, rounded outwards
            lower, upper = (float(end) for end in shown)
            assert value.lower is not None and value.upper is not None
            assert 0 <= value.lower - lower < 10**-places, (text, value)
            assert 0 <= upper - value.upper < 10**-places, (text, value)


def test_every_row_is_computed() -> None:
    assert len(rows()) == len(COMPUTED)


def test_the_settings_are_those_of_the_plans() -> None:
    """Fixed size fixes replace-one; coins are for add-remove unless another adjacency is asked for."""
    fixed = plan("uniform", 1.0)
    assert "without-replacement" in fixed.to_json()
    assert str(fixed.epsilon(delta=DELTA, method="exact").adjacency) == "replace-one"
    assert str(fedsam().adjacency) == "replace-one"
    coins = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
    assert str(coins.epsilon(delta=1e-5, method="exact").adjacency) == "add-remove"
