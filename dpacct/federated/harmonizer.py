"""The Harmonizer of UDP-FL: each client's own noise, budget and last round, in one account.

What the paper's Algorithm 3 is for: the noise with which a client stays within its budget for all rounds,
or the round after which it must stop. Here by the exact composition, beside the paper's rule (a sum of
Renyi divergences and the classical conversion).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from dpacct.answer import Answer
from dpacct.calibration import calibrate
from dpacct.domain import DELTA, POSITIVE, RATE, Integer, Number, Real, shown
from dpacct.errors import InvalidArgument, Unreachable
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.staircase import Staircase
from dpacct.sampling.fixed_size import WithoutReplacement
from dpacct.sampling.poisson import Poisson
from dpacct.tree import Node

NOISES: dict[str, str] = {"gaussian": "sigma", "laplace": "b", "staircase": "eps0"}
"""The mechanisms, and the name of the parameter that is their noise."""
_SAMPLERS = {"poisson": Poisson, "uniform": WithoutReplacement}
_COORDINATES = Integer(1, 10**9)
_BOUNDS = {"sigma": (0.01, 1e9), "b": (0.01, 1e9), "eps0": (1e-6, 100.0)}
MOST_ROUNDS = 10**9
"""Rounds that are looked at for a client's last one."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """One client of UDP-FL: a mechanism for its gradients, and a budget that may stop it.

    `noise`: `sigma` (std / l2 sensitivity), `b` (scale / sensitivity) or `eps0` (staircase, per number);
    None asks for the noise that meets the budget. `epsilon` and `delta` are the budget. `sample_rate` of its
    records are in each local step. `coordinates`: how many numbers Laplace or staircase noise is added to;
    under `clip="l2"` Laplace noise is paid for in l1, which is sqrt(coordinates) times more; staircase
    noise is per number, each clipped by itself. Raises `InvalidArgument`.

    >>> Client(name="a", noise=2, delta=1e-5).step()
    Gaussian(sigma=2)
    """

    name: str
    mechanism: Literal["gaussian", "laplace", "staircase"] = "gaussian"
    noise: Number | None = None
    nu: Number | None = None
    epsilon: Number | None = None
    delta: Number
    sample_rate: Number = 1
    sampling: Literal["poisson", "uniform"] = "poisson"
    coordinates: int = 1
    clip: Literal["l1", "l2"] = "l2"

    positive: ClassVar[Real] = POSITIVE

    def __post_init__(self) -> None:
        """Check every argument."""
        for field, words in (
            ("mechanism", tuple(NOISES)),
            ("sampling", tuple(_SAMPLERS)),
            ("clip", ("l1", "l2")),
        ):
            if getattr(self, field) not in words:
                listed = ", ".join(words[:-1]) + " or " + words[-1]
                told = f"{field} must be {listed}, got {shown(getattr(self, field))}"
                raise InvalidArgument(told, argument=field)
        checks = {"noise": POSITIVE, "epsilon": POSITIVE, "delta": DELTA, "sample_rate": RATE}
        for field, domain in checks.items():
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, domain.check(field, value))
        _COORDINATES.check("coordinates", self.coordinates)
        if self.noise is None and self.epsilon is None:
            told = f"noise or epsilon must be given for client {self.name!r:.40}, got neither"
            raise InvalidArgument(told, argument="noise")
        if self.nu is not None and self.mechanism != "staircase":
            raise InvalidArgument(
                f"nu belongs to staircase noise, got it with {self.mechanism}", argument="nu"
            )

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
            one = Staircase(eps0=size) if self.nu is None else Staircase(eps0=size, nu=self.nu)
            return one * self.coordinates
        if self.clip == "l1" or self.coordinates == 1:
            return Laplace(b=size)
        return Laplace(b=float(size) / math.sqrt(self.coordinates) * (1.0 - 1e-15))

    def run(self, steps: int, noise: Number | None = None) -> Node:
        """So many local steps, each on its own sample."""
        step = self.step(noise)
        rate = Fraction(self.sample_rate)
        sampled = step if rate == 1 else _SAMPLERS[self.sampling](rate)(step)
        return sampled * steps

    def smallest_noise(self, steps: int, method: str = "auto") -> Answer:
        """The noise with which `steps` local steps stay within the budget (the largest eps0 for staircase).

        Raises `Unreachable` where no noise does, `InvalidArgument` without a budget.
        """
        epsilon = self._budget()
        return calibrate(
            lambda noise: self.run(steps, noise),
            epsilon=epsilon,
            delta=self.delta,
            method=method,
            name=self.parameter,
            bounds=_BOUNDS[self.parameter],
        )

    def last_round(self, steps_per_round: int, method: str = "auto") -> int:
        """After how many rounds the client must stop; 0 where one is too many.

        Raises `InvalidArgument` without a budget. Never more than `MOST_ROUNDS`.
        """
        epsilon = self._budget()
        try:
            found = calibrate(
                lambda rounds: self.run(steps_per_round * int(rounds)),
                epsilon=epsilon,
                delta=self.delta,
                method=method,
                integer=True,
                bounds=(1, MOST_ROUNDS),
                name="rounds",
            )
        except Unreachable:
            return 0
        return int(float(found))

    def with_noise(self, noise: Number) -> Client:
        """The same client with this noise."""
        return replace(self, noise=noise)

    def _budget(self) -> Number:
        if self.epsilon is None:
            told = f"epsilon must be given for client {self.name!r:.40} to have a budget, got None"
            raise InvalidArgument(told, argument="epsilon")
        return self.epsilon
