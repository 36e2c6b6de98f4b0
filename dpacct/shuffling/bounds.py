"""Every bound of one shuffle by its name: epsilon at a delta, delta at an epsilon, each on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial

from dpacct.citations import (
    BENNETT,
    BLANKET,
    CLONES,
    ERLINGSSON,
    FELDMAN_2020,
    FELDMAN_2022,
    FEWER_CLONES,
    GIRGIS,
    HOEFFDING,
    UNAMPLIFIED,
    Citation,
)
from dpacct.pld import conversions
from dpacct.pld.roots import crossing, halved

from . import hidden, published
from .letters import Letters, mixture

BLOCKS = 1000
MANY_BLOCKS = 4800
_SAFE = 1.0 + 1e-12
_TINY = -745.0


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound of one shuffle by its name; a lower one where it is not `upper`.

    `of_epsilon` is log delta of an epsilon in [0, eps0), rounded to the bound's side. `stated` is epsilon of
    a log delta where a formula has that; elsewhere it is searched for.
    """

    name: str
    basis: Citation
    eps0: float
    of_epsilon: Callable[[float], float]
    stated: Callable[[float], float] | None = None
    upper: bool = True
    _epsilons: dict[float, float] = field(default_factory=dict, repr=False)

    def log_delta(self, epsilon: float) -> float:
        """log delta at this epsilon; -inf from eps0 on."""
        return -math.inf if epsilon >= self.eps0 else self.of_epsilon(epsilon)

    def epsilon(self, log_target: float) -> float:
        """An epsilon in [0, eps0] on the bound's side of where delta meets the target."""
        if log_target not in self._epsilons:  # an answer is printed beside all bounds
            self._epsilons[log_target] = (self.stated or self._searched)(log_target)
        return self._epsilons[log_target]

    def _searched(self, log_target: float) -> float:
        return crossing(lambda e: self.log_delta(e) - log_target, self.eps0)[self.upper]


def numeric(letters: Letters, *, upper: bool) -> Bound:
    """The bound from the counted pair of these letters: an upper bound, or a lower one without `upper`."""
    mixed = mixture(letters, upper, MANY_BLOCKS if letters.other > 0.0 else BLOCKS)
    name, basis = "feldman2022.clones", CLONES
    if letters.clones:
        name = "feldman2020.clones"
        basis = FEWER_CLONES
    elif letters.answers:
        name, basis = "balle2019.blanket", BLANKET
    read = lru_cache(8)(partial(hidden.log_delta, mixed, upper=upper))
    return Bound(name, basis, letters.eps0, read, upper=upper)


def local(eps0: float) -> Bound:
    """The bound of each message alone, as if nothing were shuffled: the fallback that always holds."""

    def log_delta(epsilon: float) -> float:
        fall = math.exp(-eps0)
        return math.log(-math.expm1(epsilon - eps0) / (1.0 + fall)) + 1e-13

    def epsilon(log_target: float) -> float:
        # delta = (e^eps0 - e^epsilon)/(e^eps0 + 1)
        kept = -math.expm1(log_target) - math.exp(log_target - eps0)
        return max(0.0, eps0 + math.log(kept)) * _SAFE if kept > 0.0 else 0.0

    return Bound("local", UNAMPLIFIED, eps0, log_delta, epsilon)


def _of_delta(name: str, basis: Citation, at: Callable[[float], float], eps0: float) -> Bound:
    """A bound from a formula for delta that decreases in epsilon on (0, eps0)."""

    def log_delta(epsilon: float) -> float:
        value = at(epsilon) if epsilon > 0.0 else 1.0
        return math.log(value) + 1e-12 if value > 0.0 else _TINY

    return Bound(name, basis, eps0, log_delta)


def _of_epsilon(
    name: str, basis: Citation, at: Callable[[float], float | None], eps0: float
) -> Bound:
    """A bound from a formula for epsilon at a delta; where the formula is None, eps0 holds."""

    def epsilon(log_target: float) -> float:
        result = at(math.exp(log_target)) if _TINY < log_target < 0.0 else None
        return eps0 if result is None else min(eps0, result * _SAFE)

    def log_delta(wanted: float) -> float:
        return halved(lambda target: epsilon(target) > wanted, -700.0, 0.0, 1e-15)[1]

    return Bound(name, basis, eps0, log_delta, epsilon)


def girgis_epsilon(eps0: float, clients: int, rounds: int, log_delta: float) -> float | None:
    """Girgis et al. 2021 over rounds, at the best whole order that its condition allows; None if none."""
    best: float | None = None
    if published.girgis_fewest(2, min(eps0, 9.0)) >= clients:
        return None
    for alpha in range(2, 4096):
        if clients <= published.girgis_fewest(alpha, eps0):
            break
        moment = rounds * (alpha - 1) * published.girgis_divergence(alpha, eps0, clients)
        answer = conversions.epsilon(moment, alpha - 1.0, log_delta)
        best = answer if best is None else min(best, answer)
    return None if best is None else max(best, 0.0)


def closed_forms(eps0: float, clients: int, answers: int) -> Iterator[Bound]:
    """The published formulas for a shuffle in which everyone takes part, where they hold."""

    def feldman2022(delta: float) -> float | None:
        if eps0 > published.feldman2022_most_eps0(clients, delta):
            return None
        return published.feldman2022_epsilon(delta, clients, eps0)

    def feldman2020(delta: float) -> float | None:
        if eps0 > published.feldman2020_most_eps0(clients, delta):
            return None
        return published.feldman2020_epsilon(delta, clients, eps0)

    def girgis(delta: float) -> float | None:
        return girgis_epsilon(eps0, clients, 1, math.log(delta))

    def erlingsson(delta: float) -> float | None:
        if clients < 1000 or eps0 >= 0.5 or delta >= 0.01:
            return None
        return published.erlingsson_epsilon(delta, clients, eps0)

    def bennett(epsilon: float) -> float:
        if answers:
            return published.bennett_rr(eps0, epsilon, clients, answers)
        return published.bennett(eps0, epsilon, clients)

    def hoeffding(epsilon: float) -> float:
        if answers:
            return published.hoeffding_rr(eps0, epsilon, clients, answers)
        return published.hoeffding(eps0, epsilon, clients)

    for name, basis, at in (
        ("feldman2022.closed", FELDMAN_2022, feldman2022),
        ("feldman2020.theorem3_1", FELDMAN_2020, feldman2020),
        ("girgis2021.upper", GIRGIS, girgis),
        ("erlingsson2019.closed", ERLINGSSON, erlingsson),
    ):
        yield _of_epsilon(name, basis, at, eps0)
    if eps0 <= 20.0:
        yield _of_delta("balle2019.bennett", BENNETT, bennett, eps0)
        yield _of_delta("balle2019.hoeffding", HOEFFDING, hoeffding, eps0)
