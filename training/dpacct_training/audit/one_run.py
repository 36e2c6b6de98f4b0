"""Lower bounds on epsilon from guesses in one run (Steinke, Nasr, Jagielski 2023, Theorem 5.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import real, whole
from dpacct_training.extras import required

_MOST = 60.0  # epsilons above it are all the same: every guess is right


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """A bound on the chance of so many right guesses, were the run (epsilon, delta)-DP.

    Theorem 5.2: P[right >= v] <= f(v) + 2 m delta max_i (f(v - i) - f(v)) / i, where f(v) is the chance
    that `guesses` coins of bias e^eps / (1 + e^eps) show v heads or more. The canaries were included
    by independent fair coins.

    >>> round(p_value(1000, 100, 60, 0.0, 0.0), 6), p_value(1000, 100, 60, 1.0, 0.0) > 0.99
    (0.028444, True)
    """
    whole("canaries", canaries, 1)
    whole("guesses", guesses, 1, canaries)
    whole("right", right, 0, guesses)
    if right == 0:
        return 1.0
    bias = 1.0 / (1.0 + math.exp(-epsilon))
    betainc: Any = required("scipy.special").betainc
    # P[Binomial(r, bias) >= k] = I_bias(k, r - k + 1), and 1 at k = 0
    k = np.arange(right, 0, -1)
    tails = np.append(betainc(k, guesses - k + 1.0, bias), 1.0)
    slope = float(((tails[1:] - tails[0]) / np.arange(1, right + 1)).max())
    return min(1.0, float(tails[0]) + 2.0 * canaries * delta * slope)


def epsilon_refuted(canaries: int, guesses: int, right: int, delta: float, chance: float) -> float:
    """The largest epsilon that so many right guesses refute at this error probability; 0 if none."""
    if p_value(canaries, guesses, right, 0.0, delta) > chance:
        return 0.0
    low, high = 0.0, _MOST
    for _ in range(60):
        middle = 0.5 * (low + high)
        if p_value(canaries, guesses, right, middle, delta) <= chance:
            low = middle
        else:
            high = middle
    return low


def lower_bound(
    scores: NDArray[np.float64],
    included: NDArray[np.bool_],
    delta: float,
    *,
    confidence: float = 0.95,
    shares: Sequence[float] = (1.0, 0.5, 0.25, 0.1),
) -> float:
    """A lower bound on epsilon that holds with this confidence.

    A high score is a guess that the canary was included, a low one that it was not; of each kind half
    of `share` of the canaries is guessed. The shares are fixed before the scores are seen, and the
    error probability is divided among them (Bonferroni): the best of them is still honest.
    """
    chance = (1.0 - real("confidence", confidence, 0.5, 1.0 - 1e-12)) / len(shares)
    order = np.argsort(scores, kind="stable")
    truth = included[order]
    best = 0.0
    for share in shares:
        half = max(1, int(len(scores) * share) // 2)
        right = int((~truth[:half]).sum() + truth[-half:].sum())
        best = max(best, epsilon_refuted(len(scores), 2 * half, right, delta, chance))
    return best
