"""The Harmonizer of UDP-FL: each client's own noise, budget and last round, in one account.

What the paper's Algorithm 3 is for: the noise with which a client stays within its budget for all rounds,
or the round after which it must stop. Here by the exact composition, beside the paper's rule (a sum of
Renyi divergences and the classical conversion).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpacct.answer import Answer
from dpacct.answer.calibration import calibrate
from dpacct.declare.domain import DELTA, POSITIVE, RATE, Integer, Text, Word
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter, Record
from dpacct.errors import InvalidArgument, Unreachable
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.staircase import Staircase
from dpacct.plan.node import Node
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.participation import Participation
from dpacct.plan.samplers.poisson import Poisson

NOISES: dict[str, str] = {"gaussian": "sigma", "laplace": "b", "staircase": "eps0"}
"""The mechanisms, and the name of the parameter that is their noise."""
_SAMPLERS = {"poisson": Poisson, "uniform": WithoutReplacement}
_BOUNDS = {"sigma": (0.01, 1e9), "b": (0.01, 1e9), "eps0": (1e-6, 100.0)}
MOST_ROUNDS = 10**9
"""Rounds that are looked at for a client's last one."""


class Client(Record):
    """One client of UDP-FL: a mechanism for its gradients, and a budget that may stop it.

    `noise`: `sigma` (std / l2 sensitivity), `b` (scale / sensitivity) or `eps0` (staircase, per number);
    None asks for the noise that meets the budget. `epsilon` and `delta` are the budget. `client_rate`: it
    takes part in each round by a coin of its own, which may be seen. `sample_rate` of its records are in each
    local step. `coordinates`: how many numbers Laplace or staircase noise is added to;
    under `clip="l2"` Laplace noise is paid for in l1, which is sqrt(coordinates) times more; staircase
    noise is per number, each clipped by itself. Raises `InvalidArgument`.

    >>> Client(name="a", noise=2, delta=1e-5).step()
    Gaussian(sigma=2)
    """

    name: Parameter[str] = Parameter(Text(), "what the client is called")
    mechanism: Parameter[str] = Parameter(
        Word(*NOISES), "noise on its gradients", default="gaussian"
    )
    noise: Parameter[Fraction | None] = Parameter(
        POSITIVE, "sigma, b or eps0 of the mechanism", default=None
    )
    nu: Parameter[Fraction | None] = Staircase.parameters["nu"].but()
    epsilon: Parameter[Fraction | None] = Parameter(POSITIVE, "the budget", default=None)
    delta: Parameter[Fraction] = Parameter(DELTA, "the budget's delta")
    client_rate: Parameter[Fraction] = Parameter(
        RATE, "chance that it takes part in a round", default=Fraction(1)
    )
    sample_rate: Parameter[Fraction] = Parameter(
        RATE, "share of its records in a local step", default=Fraction(1)
    )
    sampling: Parameter[str] = Parameter(Word(*_SAMPLERS), "how these are drawn", default="poisson")
    coordinates: Parameter[int] = Parameter(
        Integer(1, 10**9), "numbers that noise is added to", default=1
    )
    clip: Parameter[str] = Parameter(
        Word("l1", "l2"), "norm in which gradients are clipped", default="l2"
    )

    def _complaint(self) -> InvalidArgument | None:
        if self.noise is None and self.epsilon is None:
            message = f"noise or epsilon must be given for client {self.name!r:.40}, got neither"
            return InvalidArgument(message, argument="noise")
        if self.nu is not None and self.mechanism != "staircase":
            message = f"nu belongs to staircase noise, got it with {self.mechanism}"
            return InvalidArgument(message, argument="nu")
        return None

    @property
    def parameter(self) -> str:
        """The name of the noise: sigma, b or eps0."""
        return NOISES[self.mechanism]

    def step(self, noise: Number | None = None) -> Node:
        """One noisy gradient of all records."""
        size = self.noise if noise is None else noise
        assert size is not None
        if self.mechanism == "gaussian":
            return Gaussian(sigma=size)
        if self.mechanism == "staircase":
            return Staircase(eps0=size, nu=self.nu) * self.coordinates
        if self.clip == "l1" or self.coordinates == 1:
            return Laplace(b=size)
        return Laplace(b=float(size) / math.sqrt(self.coordinates) * (1.0 - 1e-15))

    def run(self, steps: int, noise: Number | None = None) -> Node:
        """So many local steps, each on its own sample."""
        step, rate = self.step(noise), self.sample_rate
        return (step if rate == 1 else _SAMPLERS[self.sampling](rate)(step)) * steps

    def plan(self, rounds: int, local_steps: int, noise: Number | None = None) -> Node:
        """Rounds of so many local steps; each takes place by the client's coin."""
        local, rate = self.run(local_steps, noise), self.client_rate
        return (local if rate == 1 else Participation(rate)(local)) * rounds

    def without_coin(self) -> Client:
        """The same client, of every round: what the paper's rule accounts for."""
        return self.but(client_rate=1)

    def with_noise(self, noise: Number) -> Client:
        """The same client with this noise."""
        return self.but(noise=noise)

    def spent(self, rounds: int, local_steps: int, method: str = "auto") -> Answer:
        """What so many rounds cost."""
        plan = self.plan(rounds, local_steps).under(unit="record")
        return plan.epsilon(delta=self.delta, method=method)

    def smallest_noise(self, rounds: int, local_steps: int = 1, method: str = "exact") -> Answer:
        """The noise with which the rounds stay within the budget (the largest eps0 for staircase).

        Raises `Unreachable` where no noise does, `InvalidArgument` without a budget.
        """
        return self._within_budget(
            lambda noise: self.plan(rounds, local_steps, noise),
            method=method,
            name=self.parameter,
            bounds=_BOUNDS[self.parameter],
        )

    def last_round(self, local_steps: int, method: str = "exact") -> int:
        """After how many rounds the client must stop; 0 where one is too many.

        Raises `InvalidArgument` without a budget. Never more than `MOST_ROUNDS`.
        """
        try:
            rounds = self._within_budget(
                lambda rounds: self.plan(int(rounds), local_steps),
                method=method,
                name="rounds",
                bounds=(1, MOST_ROUNDS),
                integer=True,
            )
        except Unreachable:
            return 0
        return int(float(rounds))

    def _within_budget(self, build: Callable[[float], Node], **search: Any) -> Answer:
        if self.epsilon is None:
            message = (
                f"epsilon must be given for client {self.name!r:.40} to have a budget, got None"
            )
            raise InvalidArgument(message, argument="epsilon")
        return calibrate(build, epsilon=self.epsilon, delta=self.delta, **search)
