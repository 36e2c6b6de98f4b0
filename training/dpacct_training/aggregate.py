"""The noisy mean of clipped updates: the only thing that leaves a round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import AssumptionViolated
from dpacct_training.clip import checked, clipped
from dpacct_training.keys import Keys
from dpacct_training.plan import CLIENTS, Plan
from dpacct_training.sampling import Sample

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Turn:
    """A round, counted from 1: its sample, and the source of all its random numbers."""

    round: int
    sample: Sample
    keys: Keys


@dataclass(frozen=True)
class Updates:
    """What clients sent: one row each, and what they did to it before it left them."""

    rows: NDArray[Any]
    clips: int = 0
    shares: int = 0  # noise vectors that clients added


@dataclass(frozen=True)
class Release:
    """What a round publishes, and what was done for it."""

    value: Vector
    clips: int
    noise_vectors: int
    noise_std: float  # of all the noise in the sum


def noise(plan: Plan, turn: Turn, size: int) -> Vector:
    """The server's noise for this round: drawn once, in double precision."""
    return turn.keys.stream("noise", round=turn.round).normals(size) * plan.noise_std


def noise_share(plan: Plan, turn: Turn, client: int, size: int) -> Vector:
    """One client's part of the round's noise: variance sigma^2 S^2 / m (003 Algorithm 6, line 4).

    m is the number of clients that take part, so that their sum has exactly the plan's variance.
    """
    std = plan.noise_std / math.sqrt(turn.sample.size)
    return turn.keys.stream("noise share", round=turn.round, client=client).normals(size) * std


def noisy_mean(plan: Plan, updates: Updates, turn: Turn) -> Release:
    """(sum of clipped updates + noise) / (tau K).

    A round in which nobody takes part still releases noise, and the denominator is the public tau K
    (003 Algorithms 3 and 5 divide by the realised number, which the accounting treats as a secret).
    Raises `InvalidArgument` for updates that are not finite floating-point numbers, and
    `AssumptionViolated` where a client's share of the noise is missing.
    """
    rows = checked(updates.rows, turn.sample.clients)
    clips = updates.clips
    if plan.clip is not None and not updates.shares:
        rows = clipped(rows, plan.clip)
        clips = len(rows)
    total = rows.sum(axis=0)
    drawn, std = 0, 0.0
    if plan.private:
        std = plan.noise_std
        if plan.noise_by == CLIENTS and len(rows):
            if updates.shares != len(rows):
                told = f"{len(rows)} clients took part and {updates.shares} of them added noise"
                raise AssumptionViolated(f"every share of the noise must be there: {told}")
            drawn = updates.shares
        else:
            total = total + noise(plan, turn, total.size)
            drawn = 1
    return Release(total / float(plan.denominator), clips, drawn, std)
