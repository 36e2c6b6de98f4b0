"""PriFedSync with few clients and rounds, run through all its outcomes: Algorithm 1, by brute force.

Client j releases, in each round it is sampled in, its bit by randomised response. The server keeps the
model of Algorithm 1, w <- (1 - eta) w + eta (mean of what the sampled clients sent), and hands it to all
sampled clients. The others have no data: they send back what they were last given, so they relay. Models
are real numbers, and what an observer sees are the numbers that it is given, and when.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_BIT = (0.3819660112501051, 0.9270509831248424)  # models after answers 0 and 1: nothing special


@dataclass(frozen=True)
class SmallPlan:
    """`clients` with client 0 the one whose bit is asked about; `step` the epsilon of a release."""

    clients: int
    rounds: int
    rate: float
    eta: float
    step: float
    epsilon: float

    @classmethod
    def draw(cls, rng: Random) -> SmallPlan:
        clients, rounds = rng.choice([(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 2), (2, 4)])
        step = rng.choice([rng.uniform(0.05, 1.0), rng.uniform(1.0, 5.0), 30.0])
        reach = rounds * min(step, 3.0)
        return cls(
            clients,
            rounds,
            rng.choice([rng.uniform(0.02, 0.98), 0.5, 1.0]),
            rng.choice([0.5, 1.0, rng.uniform(0.1, 0.9)]),
            step,
            rng.choice([0.0, rng.uniform(0.0, reach), rng.uniform(0.0, 0.3 * reach)]),
        )

    # --- truth

    def truth(self, *, strong: bool) -> float:
        """Delta at epsilon of what client 1, or all clients but 0, really see."""
        heads, ones, released = _facts(self.clients, self.rounds)
        seen = _views(self.clients, self.rounds, self.eta, strong)
        weight = self._coins(heads)
        right = 1.0 / (1.0 + math.exp(-self.step))
        wrong = 1.0 / (1.0 + math.exp(self.step))
        zeros = released - ones
        # the bit is 1, or 0; unreleased answers are not drawn at all
        chance = weight * right**ones * wrong**zeros
        zero = weight * wrong**ones * right**zeros
        p, q = np.bincount(seen, chance), np.bincount(seen, zero)
        return float(np.maximum(p - math.exp(self.epsilon) * q, 0.0).sum())

    def _coins(self, heads: Floats) -> Floats:
        tosses = self.clients * self.rounds
        return np.asarray(self.rate**heads * (1.0 - self.rate) ** (tosses - heads))

    # --- bounds

    def two_level(self) -> float:
        """Theorem 1 corrected: rounds under public coins."""
        return self._binomial(self.rounds)

    def last_sync(self) -> float:
        """And one observer sees nothing after its own last round."""
        p, rounds = self.rate, self.rounds
        return math.fsum(
            p * (1.0 - p) ** (rounds - t) * self._binomial(t) for t in range(1, rounds + 1)
        )

    def printed(self, *, strong: bool) -> float:
        """Theorem 1: g_p tensor-R, or tensor-(m-1)R; g_p keeps a part p^2 of the variation."""
        variation = math.tanh(0.5 * self.step)
        share = min(1.0, self.rate**2 / variation)
        times = self.rounds * (self.clients - 1 if strong else 1)
        return math.fsum(
            math.comb(times, k) * share**k * (1.0 - share) ** (times - k) * self._composed(k)
            for k in range(1, times + 1)
        )

    def _binomial(self, rounds: int) -> float:
        p = self.rate
        return math.fsum(
            math.comb(rounds, k) * p**k * (1.0 - p) ** (rounds - k) * self._composed(k)
            for k in range(1, rounds + 1)
        )

    def _composed(self, count: int) -> float:
        """Delta of `count` answers by randomised response: every number of right ones."""
        right, wrong = 1.0 / (1.0 + math.exp(-self.step)), 1.0 / (1.0 + math.exp(self.step))
        return math.fsum(
            math.comb(count, k)
            * max(
                0.0,
                right**k * wrong ** (count - k)
                - math.exp(self.epsilon) * wrong**k * right ** (count - k),
            )
            for k in range(count + 1)
        )


@cache
def _outcomes(clients: int, rounds: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """All coins with all answers that are released; (outcome, round, client) and (outcome, round)."""
    coins, answers = [], []
    for toss in itertools.product((False, True), repeat=clients * rounds):
        table = np.array(toss).reshape(rounds, clients)
        free = [(False, True) if table[r, 0] else (False,) for r in range(rounds)]
        for answer in itertools.product(*free):
            coins.append(table)
            answers.append(answer)
    return np.array(coins), np.array(answers)


@cache
def _facts(clients: int, rounds: int) -> tuple[Floats, Floats, Floats]:
    """Of each outcome: heads of all coins, answers 1 that are released, and all that are released."""
    coins, answers = _outcomes(clients, rounds)
    mine = coins[:, :, 0]
    counts = coins.sum(axis=(1, 2)), (answers & mine).sum(axis=1), mine.sum(axis=1)
    heads, ones, released = (np.asarray(count, dtype=np.float64) for count in counts)
    return heads, ones, released


@lru_cache(maxsize=64)
def _views(clients: int, rounds: int, eta: float, strong: bool) -> NDArray[np.intp]:
    """Of each outcome: the number of the view that client 1 has of it, or all but client 0 together."""
    coins, answers = _outcomes(clients, rounds)
    count = len(coins)
    model = np.zeros(count)
    held = np.zeros((count, clients))  # what each client was last given
    revealed = np.full((count, rounds, clients - 1), -1.0)  # -1: nothing
    for r in range(rounds):
        sampled = coins[:, r, :]
        sent = held.copy()
        sent[:, 0] = np.where(answers[:, r], _BIT[1], _BIT[0])
        size = sampled.sum(axis=1)
        mean = (sent * sampled).sum(axis=1) / np.maximum(size, 1)
        model = np.where(size > 0, (1.0 - eta) * model + eta * mean, model)
        held = np.where(sampled, model[:, None], held)
        revealed[:, r, :] = np.where(sampled[:, 1:], model[:, None], -1.0)
    seen = revealed if strong else revealed[:, :, :1]
    # models that differ do so by more than rounding
    _, label = np.unique(np.round(seen, 11).reshape(count, -1), axis=0, return_inverse=True)
    return np.asarray(label).ravel()
