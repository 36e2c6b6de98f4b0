"""The workloads W1 to W8, as lists of cases; the truths are in ``truths.json``, made by
``make_truths.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.questions import Part, Question, Want

TRUTHS = Path(__file__).resolve().parents[1] / "truths.json"

WORKLOADS = {
    "W1": "epsilon of a Poisson-sampled Gaussian",
    "W2": "epsilon at small and tiny delta (sigma 1, rate 0.01, 1000 steps)",
    "W3": "delta at epsilon 1, 2, 4 and 8",
    "W4": "noise calibration",
    "W6": "other mechanisms and heterogeneous plans",
    "W7": "epsilon as the number of steps grows (sigma 1, rate 0.001, delta 1e-6)",
    "W8": "profile: delta at 1000 epsilons",
}

#: sigma, rate, steps, delta of the six plans that the research notes call a to f.
PLANS = {
    "a": (1.1, 0.01, 1000, 1e-5),
    "b": (0.8, 256 / 60000, 14063, 1e-5),
    "c": (1.0, 0.05, 200, 2000**-1.1),
    "d": (3.0, 0.2, 100, 975**-1.1),
    "e": (0.5, 0.001, 10**5, 1e-6),
    "f": (1.0, 0.001, 10**6, 1e-6),
}

#: Calibration targets: epsilon, delta, rate, steps.
TARGETS = {
    "eps 0.5": (0.5, 1e-5, 0.01, 1000),
    "eps 1": (1.0, 1e-5, 0.01, 1000),
    "eps 2": (2.0, 1e-5, 0.01, 1000),
    "eps 7": (7.0, 1e-5, 0.01, 1000),
    "eps 8": (8.0, 1e-5, 0.01, 1000),
    "k": (7.0, 1000**-1.1, 0.05, 30),
}

#: The four epsilons of W3.
EPSILONS = (1.0, 2.0, 4.0, 8.0)

#: Where a profile of ``PROFILE_POINTS`` epsilons from 0 to ``PROFILE_END`` is read for comparison.
PROFILE_POINTS, PROFILE_END, PROFILE_PROBES = 1000, 8.0, (0, 125, 250, 375)


@dataclass(frozen=True)
class Case:
    """One cell of a workload; ``quick`` cases are the ones a short run asks."""

    workload: str
    name: str
    question: Question
    quick: bool = False

    @property
    def id(self) -> str:
        """How results and truths refer to the case."""
        return f"{self.workload} {self.name}"


def gaussian(sigma: float, rate: float, steps: int) -> tuple[Part, ...]:
    """A plan of one Poisson-sampled Gaussian, ``steps`` times."""
    return (Part("gaussian", sigma, rate, steps),)


def epsilons_1000() -> tuple[float, ...]:
    """The grid of the profile workload."""
    return tuple(PROFILE_END * i / (PROFILE_POINTS - 1) for i in range(PROFILE_POINTS))


def hetero() -> tuple[Part, ...]:
    """Ten different sampled Gaussians, 100 steps each."""
    return tuple(
        Part("gaussian", round(0.8 + 0.1 * i, 10), round(0.002 * (i + 1), 10), 100)
        for i in range(10)
    )


def cases() -> Iterator[Case]:
    """All cases, in the order in which they are run and printed."""
    for name, (sigma, rate, steps, delta) in PLANS.items():
        plan = gaussian(sigma, rate, steps)
        yield Case("W1", name, Question("epsilon", plan, delta), quick=name in "abcd")
    for delta in (1e-8, 1e-12, 1e-13, 1e-14, 1e-20, 1e-40, 1e-300):
        plan = gaussian(1.0, 0.01, 1000)
        quick = delta in (1e-12, 1e-40)
        yield Case("W2", f"{delta:.0e}", Question("epsilon", plan, delta), quick)
    for name, (sigma, rate, steps, _) in PLANS.items():
        plan = gaussian(sigma, rate, steps)
        yield Case("W3", name, Question("delta", plan, epsilons=EPSILONS), quick=name == "a")
    for name, (epsilon, delta, rate, steps) in TARGETS.items():
        plan = gaussian(1.0, rate, steps)
        want: Want = "sigma"
        yield Case("W4", name, Question(want, plan, delta, (epsilon,)), quick=name == "eps 1")
    others = {
        "laplace": ((Part("laplace", 10.0, 1.0, 500),), 1e-6),
        "pure": ((Part("pure", 0.1, 1.0, 1000),), 1e-6),
        "gaussian": (gaussian(30.0, 1.0, 1000), 1e-6),
        "hetero": (hetero(), 1e-5),
    }
    for name, (parts, delta) in others.items():
        yield Case("W6", name, Question("epsilon", parts, delta), quick=name != "hetero")
    for power in (2, 3, 4, 5, 6, 7):
        plan = gaussian(1.0, 1e-3, 10**power)
        yield Case("W7", f"1e{power}", Question("epsilon", plan, 1e-6), quick=power in (2, 5))
    plan = gaussian(*PLANS["a"][:3])
    yield Case("W8", "a", Question("profile", plan, epsilons=epsilons_1000()), quick=True)


def truths() -> dict[str, list[float]]:
    """The independently computed answers, by case id."""
    data: dict[str, list[float]] = json.loads(TRUTHS.read_text())["values"]
    return data
