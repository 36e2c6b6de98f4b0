"""A DP-SGD history, that is steps of Poisson-sampled Gaussians, as a plan and as an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

import numpy as np

from dpacct import (
    Adjacency,
    Answer,
    DpacctError,
    Gaussian,
    InvalidArgument,
    Node,
    Poisson,
    Unsupported,
)

Entry = tuple[float, float, int]
"""(noise multiplier = std / clip, sampling rate, steps), as Opacus keeps it."""
MOST_STEPS = 10**18
"""Steps of one entry at most."""
_NONE = 1e-6  # a smaller noise multiplier counts as no noise
_MUCH = 1e6  # a larger noise multiplier counts as this one
_LITTLE = (
    0.1  # a noise multiplier below which epsilon is in the hundreds, and a quick bound is enough
)


def merged(history: Iterable[Entry]) -> tuple[Entry, ...]:
    """Equal settings together, in the order in which they first appear; checked.

    >>> merged([(1.1, 0.01, 5), (1.3, 0.01, 1), (1.1, 0.01, 2), (9.0, 0.0, 7)])
    ((1.1, 0.01, 7), (1.3, 0.01, 1))
    """
    counts: dict[tuple[float, float], int] = {}
    for entry in history:
        try:
            noise, rate, steps = entry
            noise, rate = float(noise), float(rate)
        except (TypeError, ValueError):
            message = "history must be a list of (noise multiplier, sampling rate, steps)"
            raise InvalidArgument(f"{message}, got {entry!r:.60}", argument="history") from None
        if not noise >= 0.0:
            message = f"noise_multiplier must be a number of at least 0, got {noise}"
            raise InvalidArgument(message, argument="noise_multiplier")
        if not 0.0 <= rate <= 1.0:
            message = f"sample_rate must be a number from 0 to 1, got {rate}"
            raise InvalidArgument(message, argument="sample_rate")
        if not 0 <= steps <= MOST_STEPS or steps != int(steps):
            message = f"steps must be a whole number from 0 to 10^18, got {steps}"
            raise InvalidArgument(message, argument="steps")
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


def safe_delta(node: Node, epsilon: float, adjacency: Adjacency | str | None = None) -> float:
    """The safe end of delta, in the same two ways."""
    try:
        return float(node.delta(epsilon=epsilon, method="exact", adjacency=adjacency))
    except Unsupported:
        return float(node.delta(epsilon=epsilon, method="rdp", adjacency=adjacency))


@lru_cache(maxsize=4096)
def _epsilon(entries: tuple[Entry, ...], delta: float) -> float:
    if any(noise < _NONE for noise, _, _ in entries):
        return math.inf
    if sum(rate * steps for _, rate, steps in entries) <= delta * (1 - 1e-12):
        return 0.0  # with probability 1 - delta a record is in no sample at all
    # a training run must not stop for what a coarser bound can answer
    for ask in [_seen] if any(noise < _LITTLE for noise, _, _ in entries) else [_safe_end, _seen]:
        with suppress(ArithmeticError, ValueError, DpacctError), np.errstate(all="ignore"):
            epsilon = ask(entries, delta)
            if math.isfinite(epsilon):
                return epsilon
    return math.inf


def _safe_end(entries: tuple[Entry, ...], delta: float) -> float:
    node = plan((min(noise, _MUCH), rate, steps) for noise, rate, steps in entries)
    assert node is not None
    return float(answer(node, delta))


def _seen(entries: tuple[Entry, ...], delta: float) -> float:
    """A quick bound at any noise, as if it were known which samples a record is in.

    By joint convexity of the hockey-stick divergence that costs at least as much. Half of delta
    pays for a record's being in more samples than `_most`; what they release is one Gaussian.
    """
    nats = math.log(2 * len(entries)) - math.log(delta)
    times = [_most(rate, steps, nats) for _, rate, steps in entries]
    square = sum(
        count / min(noise, _MUCH) ** 2 for count, (noise, _, _) in zip(times, entries, strict=True)
    )
    release = Gaussian(sigma=(1 - 1e-12) / math.sqrt(square))
    return float(release.epsilon(delta=0.5 * delta))


def _most(rate: float, steps: int, nats: float) -> float:
    """An upper bound of the number of heads among coins, exceeded with probability at most e^-nats.

    Chernoff (Hoeffding 1963, Theorem 1), loosened to that of a Poisson number: with m = rate * steps,
    P[number >= (1 + t) m] <= exp(-m ((1 + t) log(1 + t) - t)).
    """
    mean = rate * steps

    def rare(t: float) -> bool:
        return mean * ((1 + t) * math.log1p(t) - t) >= nats

    low, high = 0.0, 1.0
    while not rare(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rare(middle) else (middle, high)
    return min(float(steps), math.ceil((1 + high) * mean * (1 + 1e-12)))


def epsilon(history: Iterable[Entry], delta: float) -> float:
    """The safe end of epsilon at delta, under add/remove: a function of the history alone.

    0 where nothing was released, infinite where a step had no noise. Asked again, it is looked up.

    >>> print(f"{epsilon([(1.1, 0.01, 1000)], 1e-5):.6f}")
    1.515362
    >>> epsilon([], 1e-5), epsilon([(0.0, 0.01, 1)], 1e-5)
    (0.0, inf)
    """
    if not 0 < delta < 1:
        raise InvalidArgument(
            f"delta must be a number strictly between 0 and 1, got {delta}", argument="delta"
        )
    return _epsilon(merged(history), float(delta))
