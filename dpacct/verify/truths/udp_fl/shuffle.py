"""Shuffled randomised response, exactly: the number of ones is all that is left after shuffling."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.truth import truth

_MOST = 400_000


def _log_binomial(n: int, p: float) -> Floats:
    """Logarithms of the probabilities of 0..n successes."""
    from scipy.special import gammaln

    k = np.arange(n + 1.0)
    logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(logs + k * math.log(p) + (n - k) * math.log1p(-p))


def divergence(alpha: float, epsilon: float, clients: int) -> float | None:
    """D_alpha between one client holding 1 and none doing so, the worse direction."""
    if clients > _MOST:
        return None
    q = 1.0 / (1.0 + math.exp(epsilon))  # a client holding 0 sends 1
    none = _log_binomial(clients, q)
    k = np.arange(clients + 1.0)
    # a client holding 1 sends 1 with probability 1 - q: the ratio of the two laws of the count
    ratio = k * (1.0 - q) / (clients * q) + (clients - k) * q / (clients * (1.0 - q))
    weight = np.exp(none)
    x = ratio - 1.0  # its mean is 0
    both = []
    with np.errstate(all="ignore"):
        for order in (alpha, 1.0 - alpha):
            small = np.where(np.abs(x) < 0.5, np.expm1(order * np.log1p(x)), ratio**order - 1.0)
            # less its linear term, whose mean is 0
            mean = float(np.sum(np.where(weight > 0.0, weight * (small - order * x), 0.0)))
            both.append(math.log1p(mean) / (alpha - 1.0))
    return max(both)


def _few(rng: Random) -> dict[str, float | int]:
    """Not many more clients than are asked for: there the bound has least to spare."""
    while True:
        alpha, epsilon = rng.randint(2, 6), math.exp(rng.uniform(-5.0, 0.2))
        least = 9 * alpha**4 * math.exp(5.0 * epsilon)
        if least < 12_000:
            return {
                "alpha": alpha,
                "epsilon": epsilon,
                "clients": math.ceil(least) + 2 + rng.choice((0, rng.randint(0, int(least)))),
            }


@truth("udp_fl.lemma2", "udp_fl.lemma3", "girgis2021.lower", draws=600, within=1e-8)
@truth("udp_fl.lemma2_corrected", "girgis2021.upper", draws=200, within=1e-8, draw=_few)
def randomised_response(alpha: int, epsilon: float, clients: int) -> float | None:
    """The count of ones among N randomised responses, one of them changed: exact sums."""
    if epsilon < 1e-3:  # too little is left of the sums' digits
        return None
    return divergence(alpha, epsilon, clients)


@truth("udp_fl.lemma2_renyi_level", draws=300, within=1e-8)
def at_renyi_level(gamma: float, clients: int) -> float | None:
    """The same at order 2, for the randomised response whose divergence of order 2 is gamma."""
    # e^gamma = cosh(3 eps/2)/cosh(eps/2) = 2 cosh(eps) - 1
    epsilon = math.acosh(0.5 * (1.0 + math.exp(gamma)))
    return divergence(2.0, epsilon, clients)
