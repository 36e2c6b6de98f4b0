"""Plan: the one object from which everything that privacy rests on is derived.

Sampler, clip, noise, denominators, ledger events and the accounted tree are all read off it, so they
cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import dpacct as dp
from dpacct_training import sampling
from dpacct_training.accept import one_of, positive, real, share, whole
from dpacct_training.keys import Keys

SERVER, CLIENTS = "server", "clients"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`rounds` releases of a noisy sum of clipped updates, each from a fresh sample of clients.

    `rate`: share of clients per round, exact. `scheme`: "poisson" (a coin each), "uniform" (a subset
    of the fixed size rate * clients) or "none" (everyone). `clip`: l2 bound of one client's update.
    `noise_multiplier`: standard deviation of the noise in the sum, over `clip`. `noise_by`: who draws
    it. Without clip and noise the plan is not private, and `tree` is None. Raises `InvalidArgument`.

    >>> plan = Plan(clients=1000, rate="0.05", scheme="poisson", rounds=30, clip=0.3,
    ...     noise_multiplier=2)
    >>> str(plan.tree.epsilon(delta=1e-5).adjacency), int(plan.denominator), round(plan.noise_std, 12)
    ('add-remove', 50, 0.6)
    """

    clients: int
    rate: Fraction
    scheme: str
    rounds: int
    clip: float | None = None
    noise_multiplier: float = 0.0
    noise_by: str = SERVER

    def __post_init__(self) -> None:
        whole("clients", self.clients, 1)
        whole("rounds", self.rounds, 1)
        one_of("scheme", self.scheme, sampling.SCHEMES)
        one_of("noise_by", self.noise_by, (SERVER, CLIENTS))
        object.__setattr__(self, "rate", share("rate", self.rate))
        real("noise_multiplier", self.noise_multiplier, 0.0)
        if self.clip is not None:
            positive("clip", self.clip)
        if self.noise_multiplier and self.clip is None:
            told = "clip must be given where there is noise: without it the noise protects nothing"
            raise dp.InvalidArgument(f"{told}, got None", argument="clip")
        if self.scheme == "none" and self.rate != 1:
            told = f"rate must be 1 where scheme is none, got {float(self.rate):g}"
            raise dp.InvalidArgument(told, argument="rate")
        if self.scheme == "uniform" and self.denominator.denominator != 1:
            told = "rate times clients must be a whole number for samples of fixed size"
            raise dp.InvalidArgument(f"{told}, got {float(self.denominator):g}", argument="rate")

    # --- what runs

    @property
    def denominator(self) -> Fraction:
        """tau * K, public and the same every round: the realised size of a sample is a secret."""
        return self.rate * self.clients

    @cached_property
    def noise_std(self) -> float:
        """Standard deviation of the noise in the sum, rounded upwards."""
        exact = Fraction(self.noise_multiplier) * Fraction(self.clip or 0)
        near = float(exact)
        return near if Fraction(near) >= exact else math.nextafter(near, math.inf)

    def sample(self, round: int, keys: Keys) -> sampling.Sample:
        """The clients of this round."""
        if self.scheme == "none":
            return sampling.everyone(self.clients)
        stream = keys.stream("sample", round=round)
        if self.scheme == "poisson":
            return sampling.poisson(self.clients, self.rate, stream)
        return sampling.fixed_size(self.clients, int(self.denominator), stream)

    # --- what is accounted

    @property
    def private(self) -> bool:
        """Whether anything is guaranteed."""
        return self.noise_multiplier > 0.0

    @cached_property
    def step(self) -> dp.Node | None:
        """One round, as dpacct sees it; None where nothing is guaranteed."""
        if not self.private:
            return None
        noise = dp.Gaussian(noise_multiplier=self.noise_multiplier, clip=self.clip)
        if self.scheme == "none":
            return noise.under(unit="client")
        sampler: Any = dp.Poisson if self.scheme == "poisson" else dp.WithoutReplacement
        node: dp.Node = sampler(self.rate)(noise)
        return node.under(unit="client")

    @cached_property
    def tree(self) -> dp.Node | None:
        """The whole run."""
        return None if self.step is None else self.step * self.rounds

    def epsilon(self, delta: Fraction, rounds: int | None = None) -> dp.Answer | None:
        """Epsilon after `rounds` rounds (all of them by default); None where there is none."""
        return _epsilon(self, delta, self.rounds if rounds is None else rounds)

    # --- what must have been counted when the run is over

    def counts(self, sizes: Sequence[int], dimension: int) -> dict[str, int]:
        """Coins, samples, clips and noise draws of a complete run with samples of these sizes."""
        taken = sum(sizes)
        shares = taken if self.noise_by == CLIENTS else 0
        drawn = shares + sizes.count(0) if self.noise_by == CLIENTS else self.rounds
        return {
            "rounds": self.rounds,
            "coins": self.clients * self.rounds if self.scheme == "poisson" else 0,
            "clips": 0 if self.clip is None else taken,
            "noise_vectors": drawn if self.private else 0,
            "noise_numbers": drawn * dimension if self.private else 0,
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what the report prints."""
        return {
            "clients": self.clients,
            "rate": str(self.rate),
            "scheme": self.scheme,
            "rounds": self.rounds,
            "clip": self.clip,
            "noise_multiplier": self.noise_multiplier,
            "noise_std": self.noise_std,
            "noise_by": self.noise_by,
            "denominator": str(self.denominator),
            "tree": None if self.tree is None else self.tree.to_dict(),
        }


@lru_cache(maxsize=1024)
def _epsilon(plan: Plan, delta: Fraction, rounds: int) -> dp.Answer | None:
    return None if plan.step is None else (plan.step * rounds).epsilon(delta=delta)
