"""Shuffled randomised response, exactly: what any bound of a shuffle has to lie above."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from dpacct.engine.stable import Floats
from dpacct.verify.comparison import Comparison
from dpacct.verify.truth import truth

_MOST = 20_000


def _binomial(n: int, p: float) -> Floats:
    """Probabilities of 0..n successes."""
    from scipy.special import gammaln

    k = np.arange(n + 1.0)
    logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(np.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p)))


def _positive(p: Floats, q: Floats, epsilon: float) -> float:
    """The larger of both directions' deltas."""
    growth = math.exp(epsilon)
    up = float(np.maximum(p - growth * q, 0.0).sum())
    return max(up, float(np.maximum(q - growth * p, 0.0).sum()))


def two_answers(epsilon: float, eps0: float, clients: int) -> float:
    """Delta of the count of ones: one client holds one and all others zero, against all zero."""
    lie = 1.0 / (1.0 + math.exp(eps0))
    others = _binomial(clients - 1, lie)
    held = np.append(others * lie, 0.0) + np.append(0.0, others * (1.0 - lie))
    none = np.append(others * (1.0 - lie), 0.0) + np.append(0.0, others * lie)
    return _positive(held, none, epsilon)


def more_answers(epsilon: float, eps0: float, clients: int, answers: int = 3) -> float:
    """Delta of how many say 0 and how many 1 on k >= 3 answers: the others hold a third one.

    Answers beyond the third are not looked at: what is computed is realised by a coarser view.
    """
    lie = 1.0 / (math.exp(eps0) + answers - 1.0)
    honest = math.exp(eps0) * lie
    others = clients - 1
    told = _binomial(others, 2.0 * lie)
    shape = (clients + 1, clients + 1)
    p, q = np.zeros(shape), np.zeros(shape)
    for said, chance in enumerate(told.tolist()):
        ones = _binomial(said, 0.5) * chance
        at = np.arange(said + 1)
        for table, zero, one in ((p, honest, lie), (q, lie, honest)):
            table[said + 1 - at, at] += zero * ones
            table[said - at, at + 1] += one * ones
            table[said - at, at] += (1.0 - zero - one) * ones
    return _positive(p, q, epsilon)


def worst(epsilon: float, eps0: float, clients: int) -> float:
    """The largest delta of randomised responses that is computed here: a lower bound of the worst one's."""
    found = two_answers(epsilon, eps0, clients)
    return max(found, more_answers(epsilon, eps0, clients)) if clients <= 60 else found


def _exact_enough(delta: float) -> float | None:
    """None where the sums' rounding would be seen."""
    return delta if delta > 1e-10 else None


@truth("feldman2020.clones", "feldman2022.clones", draws=300, within=1e-8)
def counted(epsilon: float, eps0: float, clients: int) -> tuple[float, float] | None:
    """Counts of shuffled randomised response on two and three answers: some mechanism leaks this."""
    if clients > 300 or epsilon >= eps0:
        return None
    found = _exact_enough(worst(epsilon, eps0, clients))
    return None if found is None else (found, math.inf)


@truth("balle2019.hoeffding", "balle2019.bennett", draws=400, within=1e-8)
def counted_at(eps0: float, epsilon: float, clients: int) -> tuple[float, float] | None:
    """The same counts, at the epsilon that is asked."""
    if clients > _MOST:
        return None
    found = _exact_enough(worst(epsilon, eps0, clients))
    return None if found is None else (found, math.inf)


@truth("balle2019.hoeffding_rr", "balle2019.bennett_rr", draws=400, within=1e-8)
def counted_answers(
    eps0: float, epsilon: float, clients: int, answers: int
) -> tuple[float, float] | None:
    """How many say 0 and how many 1 of k answers, enumerated; the count of ones for k = 2."""
    if clients > (_MOST if answers == 2 else 60):
        return None
    if answers == 2:
        found = two_answers(epsilon, eps0, clients)
    else:
        found = more_answers(epsilon, eps0, clients, answers)
    kept = _exact_enough(found)
    return None if kept is None else (kept, math.inf)


def _few(rng: Random) -> dict[str, float | int]:
    """Not many more clients than the condition asks for: there the bound has least to spare."""
    delta = 10.0 ** rng.uniform(-9.0, -0.05)
    eps0 = math.exp(rng.uniform(-4.0, 1.2))
    least = 16.0 * math.log(4.0 / delta) * (math.exp(eps0) + 1.0)
    clients = math.ceil(least * math.exp(rng.choice((0.0, rng.uniform(0.0, 2.0)))))
    return {"delta": delta, "eps0": eps0, "clients": max(12, clients)}


@truth("feldman2020.theorem3_1", "feldman2022.closed", draws=400, claimed=True, draw=_few)
@truth("erlingsson2019.closed", draws=400, claimed=True)
def delivered(claimed: float, delta: float, clients: int, eps0: float) -> Comparison | None:
    """The delta of shuffled randomised response at the claimed epsilon, beside the delta that was asked."""
    if clients > _MOST or claimed >= eps0 or delta < 1e-9:
        return None
    true = worst(claimed, eps0, clients)
    return Comparison(delta, true, math.inf)
