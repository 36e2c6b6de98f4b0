"""What sampling makes of a pair: which operators each direction is."""

from __future__ import annotations

from enum import Enum

from dpacct.pld.loss import LossDistribution


class Direction(Enum):
    """Which amplified pair: no sampling, the sampled distribution first or second, or C_q."""

    PLAIN = "plain"
    REMOVE = "remove"
    ADD = "add"
    SYMMETRIC = "symmetric"


def amplified_distribution(
    base: LossDistribution, rate: float, direction: Direction
) -> LossDistribution:
    """The distribution of the loss of an amplified pair."""
    if direction is Direction.PLAIN:
        return base
    law = base.sampled(rate)
    if direction is Direction.ADD:
        return law.reversed()
    return law.mirrored() if direction is Direction.SYMMETRIC else law
