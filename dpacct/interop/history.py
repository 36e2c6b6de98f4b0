"""A DP-SGD history, that is steps of Poisson-sampled Gaussians, as a plan and as an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from dpacct import (
    Adjacency,
    Answer,
    Gaussian,
    InvalidArgument,
    Node,
    NotCertified,
    Poisson,
    Unsupported,
)

Entry = tuple[float, float, int]
"""(noise multiplier = std / clip, sampling rate, steps), as Opacus keeps it."""
# Beyond these nobody trains, and a quick bound is enough: less noise counts as none at all, or as if
# everyone was in the sample; more noise, or a rarer sample, as much as this.
_NONE, _LITTLE, _MUCH, _RARE = 1e-6, 1e-2, 1e20, 1e-30


def merged(history: Iterable[Entry]) -> tuple[Entry, ...]:
    """Equal settings together, in the order in which they first appear; checked.

    >>> merged([(1.1, 0.01, 5), (1.3, 0.01, 1), (1.1, 0.01, 2), (9.0, 0.0, 7)])
    ((1.1, 0.01, 7), (1.3, 0.01, 1))
    """
    counts: dict[tuple[float, float], int] = {}
    for noise, rate, steps in history:
        noise, rate = float(noise), float(rate)
        if not noise >= 0.0:
            told = f"noise_multiplier must be a number of at least 0, got {noise}"
            raise InvalidArgument(told, argument="noise_multiplier")
        if not 0.0 <= rate <= 1.0:
            told = f"sample_rate must be a number from 0 to 1, got {rate}"
            raise InvalidArgument(told, argument="sample_rate")
        if steps != int(steps) or steps < 0:
            told = f"steps must be a whole number of at least 0, got {steps}"
            raise InvalidArgument(told, argument="steps")
        if rate and steps and not math.isinf(noise):
            counts[noise, rate] = counts.get((noise, rate), 0) + int(steps)
    return tuple((noise, rate, steps) for (noise, rate), steps in counts.items())


def plan(history: Iterable[Entry]) -> Node | None:
    """The plan of a history; None where nothing was released.

    Raises `Unsupported` where a step had no noise: that is no plan. `InvalidArgument` for what is no
    history.

    >>> plan([(1.1, 0.01, 1000)])
    Poisson(0.01)(Gaussian(noise_multiplier=1.1, clip=1)) * 1000
    """
    parts = []
    for noise, rate, steps in merged(history):
        if noise == 0.0:
            raise Unsupported("a step without noise has no privacy to account", argument="history")
        parts.append(Poisson(rate)(Gaussian(noise_multiplier=noise, clip=1)) * steps)
    return sum(parts[1:], start=parts[0]) if parts else None


def answer(node: Node, delta: float, adjacency: Adjacency | str | None = None) -> Answer:
    """Epsilon by the exact engine; by Renyi where only that is known."""
    try:
        return node.epsilon(delta=delta, method="exact", adjacency=adjacency)
    except Unsupported:
        return node.epsilon(delta=delta, method="rdp", adjacency=adjacency)


@lru_cache(maxsize=4096)
def _epsilon(entries: tuple[Entry, ...], delta: float) -> float:
    if any(noise < _NONE for noise, _, _ in entries):
        return math.inf
    if not entries:
        return 0.0
    if sum(rate * steps for _, rate, steps in entries) <= delta * (1 - 1e-12):
        return 0.0  # with probability 1 - delta a record is in no sample at all
    tame = [
        (min(noise, _MUCH), max(rate, _RARE) if noise >= _LITTLE else 1.0, steps)
        for noise, rate, steps in entries
    ]
    try:
        found = _safe_end(tame, delta)
    except (ArithmeticError, ValueError, NotCertified):
        found = math.inf  # a training run must not stop for what a coarser bound can answer
    # A release on everyone's data is a coarser plan, and has a closed form at any noise.
    everyone = [(noise, 1.0, steps) for noise, _, steps in tame]
    return found if math.isfinite(found) else _safe_end(everyone, delta)


def _safe_end(entries: list[Entry], delta: float) -> float:
    node = plan(entries)
    assert node is not None
    return float(answer(node, delta))


def epsilon(history: Iterable[Entry], delta: float) -> float:
    """The safe end of epsilon at delta, under add/remove: a function of the history alone.

    0 where nothing was released, infinite where a step had no noise. Asked again, it is looked up.

    >>> print(f"{epsilon([(1.1, 0.01, 1000)], 1e-5):.6f}")
    1.515362
    >>> epsilon([], 1e-5), epsilon([(0.0, 0.01, 1)], 1e-5)
    (0.0, inf)
    """
    if not 0 < delta < 1:
        raise InvalidArgument(f"delta must be a number in (0, 1), got {delta}", argument="delta")
    return _epsilon(merged(history), float(delta))
