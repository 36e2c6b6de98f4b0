"""UDP-FL (the paper's Algorithms 1 and 3): clients with budgets, mechanisms and last rounds of their own.

The Harmonizer, its Algorithm 3, is for the noise with which a client stays within its budget for all rounds,
or the round after which it must stop. Here by the exact composition, beside the paper's rule (a sum of
Renyi divergences and the classical conversion).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from dpacct.answer import Answer
from dpacct.answer.calibration import calibrate
from dpacct.declare.domain import DELTA, POSITIVE, RATE, SHARE, Integer, Text, Word
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter, Record
from dpacct.errors import DpacctError, InvalidArgument, Unreachable
from dpacct.federated.plan import Printed, Row, promised, published
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.staircase import Staircase
from dpacct.plan.node import Node
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.participation import Participation
from dpacct.plan.samplers.poisson import Poisson
from dpacct.vocabulary import Strength, Unit

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
    nu: Parameter[Fraction | None] = Parameter(SHARE, Staircase.nu.means, default=None)
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
        """The plan of these local steps, each on its own sample."""
        step, rate = self.step(noise), self.sample_rate
        return (step if rate == 1 else _SAMPLERS[self.sampling](rate)(step)) * steps

    def plan(self, rounds: int, local_steps: int, noise: Number | None = None) -> Node:
        """Rounds of so many local steps; each takes place by the client's coin."""
        local, rate = self.run(local_steps, noise), self.client_rate
        return (local if rate == 1 else Participation(rate)(local)) * rounds

    def without_coin(self) -> Client:
        """The client in every round, without its coin, as the paper's rule accounts."""
        return self.but(client_rate=1)

    def with_noise(self, noise: Number) -> Client:
        """Return the client with this noise."""
        return self.but(noise=noise)

    def spent(self, rounds: int, local_steps: int, method: str = "auto") -> Answer:
        """The cost of these rounds."""
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


# --- all clients

_ROUNDS = Integer(1, 10**9)


@dataclass(frozen=True)
class Harmonized:
    """The Harmonizer's result for one client.

    `noise` is the smallest that meets the budget for all rounds, or None where it was given; `paper_noise`
    that of the paper's rule; `last_round` after how many rounds the client must stop (None: no budget);
    `paper_last_round` by the paper's rule; `rounds` in how many it takes part; `penalty` the coefficient
    with which Section 3.3 holds its model to that of the weakest guarantee.
    """

    client: Client
    noise: Answer | None
    paper_noise: float | None
    last_round: int | None
    paper_last_round: int | None
    rounds: int
    epsilon: Answer | None
    penalty: float | None


@dataclass(frozen=True, kw_only=True)
class UDPFL:
    """`rounds` rounds of `local_steps` noisy gradients at each client, every one with its own budget.

    Each guarantee is about one record of one client, and holds whatever the others do: their data are
    disjoint. A client's own coin counts; shuffling messages is given no credit, as a noisy model is no
    purely private message. Raises `InvalidArgument`.

    >>> plan = UDPFL(rounds=100, local_steps=1, clients=[
    ...     Client(name="a", epsilon=1, delta="1e-5"),
    ...     Client(name="b", mechanism="laplace", noise=30, epsilon=2, delta="1e-5"),
    ... ])
    >>> [(each.client.name, each.rounds, each.penalty) for each in plan.harmonized()]
    [('a', 100, 0.5), ('b', 100, 0.0)]
    """

    clients: Sequence[Client]
    rounds: int
    local_steps: int = 1

    algorithm: ClassVar[str] = "udp-fl"
    paper: ClassVar[str] = "UDP-FL"
    unit: ClassVar[Unit] = Unit.RECORD

    def __post_init__(self) -> None:
        """Check every argument."""
        for name in ("rounds", "local_steps"):
            object.__setattr__(self, name, _ROUNDS.check(name, getattr(self, name)))
        members = tuple(self.clients)
        names = [client.name for client in members]
        if not members or len(set(names)) < len(names):
            message = "clients must be at least one, with names that differ"
            raise InvalidArgument(
                f"{message}, got {', '.join(names)[:60] or 'none'}", argument="clients"
            )
        object.__setattr__(self, "clients", members)

    @property
    def sensitivity(self) -> str:
        """The quantity that each client's noise parameter multiplies."""
        return (
            "one record moves the clipped gradient by 1 sensitivity, in the norm of its mechanism"
        )

    def promises(self) -> tuple[str, ...]:
        """The assumptions about the run."""
        promises = [
            "a client sends nothing but its model, which rests on its data through noisy gradients only",
            "a client stops for good after its last round",
        ]
        if any(client.client_rate != 1 for client in self.clients):
            promises.append(
                "a client takes part in a round by a coin of its own, independent of all data; "
                "everyone may see who does"
            )
        return (*promises, "shuffling the clients' messages is given no credit")

    def tree(self, client: Client, rounds: int) -> Node:
        """A client's local steps of so many rounds."""
        return client.plan(rounds, self.local_steps).under(unit="record")

    def harmonized(self) -> Iterator[Harmonized]:
        """Noise, last round and guarantee of each client, in order."""
        budgets = [Fraction(c.epsilon) for c in self.clients if c.epsilon is not None]
        weakest = max(budgets, default=Fraction(0))
        for client in self.clients:
            penalty = None
            if client.epsilon is not None:
                penalty = float((weakest - Fraction(client.epsilon)) / weakest)
            yield self._of(client, penalty)

    def _of(self, client: Client, penalty: float | None) -> Harmonized:
        noise = paper_noise = last = paper_last = None
        rounds = self.rounds
        if client.noise is None:
            noise = self._promised(client.smallest_noise(self.rounds, self.local_steps))
            paper_noise = self._paper_noise(client)
            client = client.with_noise(float(noise))
        if client.epsilon is not None:
            if noise is None:
                last = client.last_round(self.local_steps)
                paper_last = client.without_coin().last_round(self.local_steps, "rdp-mironov")
            else:  # found for all rounds
                last = self.rounds
            rounds = min(rounds, last)
        epsilon = self.epsilon(client, rounds) if rounds else None
        if epsilon is not None and client.epsilon is not None:
            epsilon = _within(epsilon, float(client.epsilon))
        return Harmonized(client, noise, paper_noise, last, paper_last, rounds, epsilon, penalty)

    def _paper_noise(self, client: Client) -> float | None:
        """Return the noise by Algorithm 3, corrected: summed Renyi divergences, classical conversion."""
        try:
            if client.mechanism == "gaussian" and client.sample_rate == 1:
                from dpacct.papers.formulas.udp_fl import algorithm3_corrected

                assert client.epsilon is not None
                delta = float(DELTA.check("delta", client.delta))
                steps = self.local_steps * self.rounds
                return algorithm3_corrected(float(client.epsilon), delta, steps)
            paid = client.without_coin()
            return float(paid.smallest_noise(self.rounds, self.local_steps, "rdp-mironov"))
        except DpacctError:
            return None

    def epsilon(self, client: Client, rounds: int) -> Answer:
        """Return the epsilon of a client's records after so many rounds."""
        return self._promised(client.spent(rounds, self.local_steps))

    def rows(self) -> Iterator[Row]:
        """Yield each participating client's rows: exact, and by the paper's rule, printed and corrected."""
        for harmonized in self.harmonized():
            yield from self.rows_of(harmonized)

    def rows_of(self, harmonized: Harmonized) -> Iterator[Row]:
        """Yield the rows of one client; none, where it takes no part."""
        client, who, exact = harmonized.client, harmonized.client.name, harmonized.epsilon
        if exact is None:
            return
        about = f"{harmonized.rounds} rounds of {self.local_steps} steps, composed exactly"
        if client.client_rate != 1:
            about += f"; each with probability {float(client.client_rate):.6g}"
        yield Row("exact", "record", exact, about=about, who=who)
        try:
            one_round = client.run(1).epsilon(delta=client.delta, method="rdp-mironov")
            every = self.tree(client.without_coin(), harmonized.rounds)
            all_rounds = every.epsilon(delta=client.delta, method="rdp-mironov")
        except DpacctError:
            return
        reason = "the number of steps is missing in eps(delta, T)"
        wrong = Printed("udp_fl.conversion", one_round.value, "refuted", reason)
        yield Row("paper", "record", exact, wrong, who=who)
        bound = published(self._promised(all_rounds), "udp_fl.conversion_corrected")
        right = Printed("udp_fl.conversion_corrected", all_rounds.value, "corrected", "with it")
        answer = replace(bound, strength=Strength.BOUND)
        yield Row("paper-corrected", "record", answer, right, who=who)

    def _promised(self, answer: Answer) -> Answer:
        return promised(answer, self.promises(), self.paper)


def _within(answer: Answer, budget: float) -> Answer:
    """Cut the answer at the budget that noise or last round meet: its bracket may reach above it."""
    if answer.upper is None or answer.upper <= budget:
        return answer
    return replace(answer, value=min(answer.value, budget), upper=budget)
