"""What is proved, for the table of docs/theory/certificate.md.

python -m tests.proof.make_table    # prints it
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import dpacct as dp
from dpacct.errors import DpacctError

DELTA = "1e-5"
COLUMNS = ("plain", "Poisson", "Poisson, replace-one", "fixed size")
MECHANISMS: dict[str, tuple[dp.Node, int, int]] = {
    "Gaussian": (dp.Gaussian(sigma="1.1"), 1000, 1000),
    "Laplace": (dp.Laplace(b=10), 100, 500),
    "exponential": (dp.ExponentialMechanism("0.5"), 1, 500),
    "randomized response": (dp.RandomizedResponse("0.5"), 100, 500),
    "staircase": (dp.Staircase("0.5"), 100, 500),
    "discrete Laplace": (dp.DiscreteLaplace(2), 100, 500),
    "discrete Gaussian": (dp.DiscreteGaussian(2), 100, 500),
    "local randomizer": (dp.LocalRandomizer("0.5"), 100, 500),
    "pure DP": (dp.PureDP("0.5"), 100, 500),
    "approximate DP": (dp.ApproxDP(epsilon="0.5", delta="1e-8"), 100, 500),
    "zCDP": (dp.ZCDP("0.01"), 100, 500),
    "custom tables": (dp.Custom(tables=(["0.6", "0.3", "0.1"], ["0.5", "0.3", "0.2"])), 100, 500),
}
"""Mechanism -> one release, its number of steps without a sample and on one."""
SAMPLINGS: dict[str, Callable[[dp.Node], dp.Node]] = {
    "plain": lambda base: base,
    "Poisson": lambda base: dp.Poisson("0.01")(base),
    "Poisson, replace-one": lambda base: dp.Poisson("0.01")(base),
    "fixed size": lambda base: dp.WithoutReplacement("0.01")(base),
}


REPEATS = 3


class Cell(NamedTuple):
    """What an answer is, its relative width where it has two ends, and why it is no better."""

    word: str  # proved, bracket, bound or refused
    width: str
    reason: str


def cell(mechanism: str, sampling: str) -> Cell:
    """Epsilon at delta 1e-5, asked as by default."""
    base, plain, sampled = MECHANISMS[mechanism]
    adjacency = "replace-one" if sampling in COLUMNS[2:] else None
    try:
        plan = SAMPLINGS[sampling](base) * (plain if sampling == "plain" else sampled)
        answer = plan.epsilon(delta=DELTA, adjacency=adjacency)
    except DpacctError as error:
        return Cell("refused", "", str(error))
    reason = " ".join(answer.notes)
    if answer.lower is None or answer.upper is None:
        return Cell("bound", "", reason)
    width = f"{(answer.upper - answer.lower) / answer.upper:.0e}"
    if answer.strength is dp.Strength.PROVED:
        return Cell("proved", width, "")
    return Cell("bracket", width, reason)


def quickest(ask: Callable[..., Any], *words: Any) -> tuple[Any, float]:
    """An answer, and the least CPU time of a few."""
    spent = []
    for _ in range(REPEATS):
        before = time.process_time()
        answer = ask(*words)
        spent.append(time.process_time() - before)
    return answer, min(spent)


def main() -> None:
    """Print mechanism x sampling, and the reasons below."""
    cell("Gaussian", "Poisson")  # imports are nobody's time
    print("| mechanism |", " | ".join(COLUMNS), "|")
    print("|---|" + "---|" * len(COLUMNS))
    reasons: dict[str, list[str]] = {}
    for mechanism in MECHANISMS:
        row = []
        for sampling in COLUMNS:
            (word, width, reason), seconds = quickest(cell, mechanism, sampling)
            spent = f"{1000 * seconds:.0f} ms" if width else ""
            row.append(", ".join(text for text in (f"{word} {width}".rstrip(), spent) if text))
            if reason:
                reasons.setdefault(reason, []).append(f"{mechanism}/{sampling}")
        print("|", mechanism, "|", " | ".join(row), "|", flush=True)
    for reason, places in reasons.items():
        print(f"\n{reason}: {'; '.join(places)}")


if __name__ == "__main__":
    main()
