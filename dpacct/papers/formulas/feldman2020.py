"""Feldman, McMillan, Talwar. Hiding Among the Clones. FOCS 2021 (2020)."""

from __future__ import annotations

import math

from dpacct.shuffling.published import feldman2020_epsilon as theorem3_1

__all__ = ["among", "clones", "hidden", "theorem3_1"]


# Pair of clones
def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def hidden(epsilon: float, eps0: float, messages: int) -> float:
    """Delta of an eps0-randomised response whose bit is seen in a sum with messages - 1 fair coins."""
    fall, terms = math.exp(-eps0), []
    for ones in range(messages + 1):
        zeros = messages - ones
        fair = math.exp(_log_choose(messages, ones) - messages * math.log(2.0))
        mass = 2.0 * fair / (messages * (1.0 + fall))
        gain = ones + fall * zeros - math.exp(epsilon) * (fall * ones + zeros)
        terms.append(mass * max(0.0, gain))
    return math.fsum(terms)


def among(epsilon: float, eps0: float, clients: int, clone: float) -> float:
    """Bound the case where every other client's message is a fair coin with probability `clone`."""
    others, terms = clients - 1, []
    for coins in range(others + 1):
        if 0.0 < clone < 1.0:
            logs = coins * math.log(clone) + (others - coins) * math.log1p(-clone)
            chance = math.exp(_log_choose(others, coins) + logs)
        else:
            chance = float(coins == others * round(clone))
        if chance > 0.0:
            terms.append(chance * hidden(epsilon, eps0, coins + 1))
    return math.fsum(terms)


def clones(epsilon: float, eps0: float, clients: int) -> float:
    return among(epsilon, eps0, clients, math.exp(-eps0))
