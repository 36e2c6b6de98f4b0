"""What the weak guarantee gains because a client learns nothing after its own last round.

Client i sees the helper models of the rounds in which it is sampled, and its coins are independent of client
j's. If t is i's last round, all that i sees is made of the releases of rounds 1 to t, so

    delta_weak(eps) <= sum over t of p (1-p)^{R-t} delta_t(eps),

delta_t that of t rounds towards everyone. With one round it is Lemma 3.8's p^2 delta_f; with f_j = 0 and two
rounds 3 p^2 - 2 p^3, which the sixteen outcomes of the coins attain.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpacct.plan.node import Node
from dpacct.pld.roots import crossing

Floats = NDArray[np.float64]
MOST_ROUNDS = 6
"""With more rounds than so it spares next to nothing."""
MOST_EPSILON = 50.0
"""Beyond this nothing is worth sparing, and whole profiles take long."""


def last_rounds(client_rate: float, rounds: int) -> Floats:
    """Probability that the last round of an observer is t, for t = 1 .. `rounds`.

    >>> last_rounds(0.5, 2).round(12).tolist()
    [0.25, 0.5]
    """
    left = np.arange(rounds - 1, -1, -1.0)
    return np.asarray(client_rate * (1.0 - client_rate) ** left)


def deltas(
    rounds_of: Callable[[int], Node], client_rate: float, rounds: int, epsilons: Floats
) -> Floats:
    """Upper ends of delta_weak at each epsilon; `rounds_of(t)` is the plan of t rounds."""
    total = np.zeros(epsilons.shape)
    for t, weight in enumerate(last_rounds(client_rate, rounds).tolist(), 1):
        if weight > 0.0:
            total += weight * rounds_of(t).profile(epsilons)
    return total * (1.0 + 1e-12)


def epsilon(
    rounds_of: Callable[[int], Node], client_rate: float, rounds: int, delta: float, most: float
) -> float:
    """The epsilon at which `deltas` is at most `delta`; `most` is known to be enough."""

    def excess(epsilon: float) -> float:
        value = float(deltas(rounds_of, client_rate, rounds, np.array([epsilon]))[0])
        return math.log(value / delta) if value > 0.0 else -math.inf

    return crossing(excess, most)[1]
