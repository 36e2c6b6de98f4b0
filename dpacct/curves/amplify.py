"""What sampling does to one step: profiles of amplified pairs from the profile of a symmetric base.

With D(eps) = E[(1 - e^{eps - L})_+] of the base pair (P, Q), q the rate, and
D(-eps) = 1 - e^{-eps} + e^{-eps} D(eps):

    remove  ((1-q)Q + qP, Q):  q D(eps'),               e^{eps'} = (e^eps - 1 + q)/q   while e^eps > 1 - q
    add     (Q, (1-q)Q + qP):  w D(eps''),  w = 1 - (1-q) e^eps, e^{eps''} = q e^eps / w   while w > 0
    C_q (Dong-Roth-Su, Thm 4.2; eps >= 0): as remove; eps < 0 by symmetry.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.pld.loss import LossDistribution

Profile = Callable[[Floats], tuple[Floats, Floats]]


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


def amplified(
    base: Profile, mass: tuple[float, float], rate: float, direction: Direction, epsilons: Floats
) -> tuple[Floats, Floats]:
    """Profile and derivative of the amplified pair, for the part of the base that `base` describes.

    `mass` is (P, Q)-mass of that part with positive base loss, both halves being mirror images; the
    part's total mass is then P + Q under either distribution.
    """
    if direction is Direction.PLAIN:
        return base(epsilons)
    growth = np.exp(np.minimum(epsilons, 700.0))
    if direction is Direction.ADD:
        weight = -np.expm1(epsilons) + rate * growth
        alive = weight > 0.0
        safe = np.where(alive, weight, 1.0)
        value, slope = base(epsilons + np.log(rate) - np.log(safe))
        return (
            np.where(alive, weight * value, 0.0),
            np.where(alive, slope - growth * (1.0 - rate) * value, 0.0),
        )
    if direction is Direction.REMOVE:
        scaled = np.expm1(np.minimum(epsilons, 700.0)) / rate
        inside = scaled > -1.0
        inner = np.log1p(np.where(inside, scaled, 0.0))
        value, slope = base(inner)
        whole = mass[0] + mass[1]
        return (
            np.where(inside, rate * value, -whole * np.expm1(epsilons)),
            np.where(inside, slope * growth * np.exp(-inner), -whole * growth),
        )
    mirrored = np.abs(epsilons)
    value, slope = amplified(base, mass, rate, Direction.REMOVE, mirrored)
    positive = rate * mass[0] + (1.0 - rate) * mass[1]
    whole = positive + mass[1]
    below = epsilons < 0.0
    return (
        np.where(below, -whole * np.expm1(epsilons) + growth * value, value),
        np.where(below, growth * (value - whole - slope), slope),
    )
