"""Feldman, McMillan, Talwar. Stronger Privacy Amplification by Shuffling. SODA 2023 (2022)."""

from __future__ import annotations

import math

from dpacct.papers import truths
from dpacct.papers.formulas.feldman2020 import among
from dpacct.papers.oracle import Comparison, oracle
from dpacct.shuffling.published import feldman2022_epsilon as closed

__all__ = ["clones", "closed", "counted", "delivered"]


# Pair of clones
def clones(epsilon: float, eps0: float, clients: int) -> float:
    """Delta at epsilon after shuffling, at most."""
    fall = math.exp(-eps0)
    return among(epsilon, eps0, clients, 2.0 * fall / (1.0 + fall))


@oracle("clones", draws=300, within=1e-8)
def counted(epsilon: float, eps0: float, clients: int) -> tuple[float, float] | None:
    """Counts of shuffled randomised response on two and three answers: some mechanism leaks this."""
    return truths.clones_leak(epsilon, eps0, clients)


# Closed form
@oracle("closed", draws=400, claimed=True, draw=truths.few_clients)
def delivered(claimed: float, delta: float, clients: int, eps0: float) -> Comparison | None:
    """The delta of shuffled randomised response at the claimed epsilon, beside the delta that was asked."""
    return truths.shuffle_delivers(claimed, delta, clients, eps0)
