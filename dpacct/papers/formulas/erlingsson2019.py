"""Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta. Amplification by Shuffling. SODA 2019."""

from __future__ import annotations

from dpacct.papers import truths
from dpacct.papers.oracle import Comparison, oracle
from dpacct.shuffling.published import erlingsson_epsilon as closed

__all__ = ["closed", "delivered"]


@oracle("closed", draws=400, claimed=True)
def delivered(claimed: float, delta: float, clients: int, eps0: float) -> Comparison | None:
    """The delta of shuffled randomised response at the claimed epsilon, beside the delta that was asked."""
    return truths.shuffle_delivers(claimed, delta, clients, eps0)
