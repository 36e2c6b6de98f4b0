"""Plan: who takes part and who draws which noise, from which everything accounted follows.

Coins say which clients take part in a round, and which records in a step; `Records` are noisy steps inside
a client, on its own records sampled afresh.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import delta as probability
from dpacct_training.accept import one_of, positive, share, whole
from dpacct_training.accounts import RUN, RoundAccount, epsilon, rounds_within
from dpacct_training.keys import Keys, Stream
from dpacct_training.lattice import NoiseLattice
from dpacct_training.noise import Noise, Unprotected

SCHEMES = ("poisson", "uniform", "none")
NOISES = ("exact", "none")
"""[privacy] noise of algorithms that find their noise by settings of their own."""
Clients = NDArray[np.int64]
"""Numbers of clients, or of a client's records, ascending."""


def poisson(population: int, rate: Fraction, stream: Stream) -> Clients:
    """One coin for each client; nobody may take part.

    The threshold is rounded down to a multiple of 2^-64: the rate that runs is at most the one that
    is accounted.
    """
    words = stream.words(population)
    if rate == 1:
        return np.arange(population)
    return np.flatnonzero(words < np.uint64(rate.numerator * 2**64 // rate.denominator))


def fixed_size(population: int, size: int, stream: Stream) -> Clients:
    """A subset of `size` clients, each equally likely: those with the smallest random words.

    Equal words (chance below population^2 / 2^65) are all drawn again, so that no order is favoured.
    """
    words = stream.words(population)
    while len(np.unique(words)) < population:
        words = stream.words(population)
    return np.sort(np.argpartition(words, size - 1)[:size])


def drawn(scheme: str, population: int, rate: Fraction, stream: Stream) -> Clients:
    """A sample: "poisson" (a coin each), "uniform" (a subset of fixed size) or "none" (all of them)."""
    if scheme == "none":
        return np.arange(population)
    if scheme == "poisson":
        return poisson(population, rate, stream)
    return fixed_size(population, int(rate * population), stream)


def accounted(node: dp.Node, scheme: str, rate: Fraction) -> dp.Node:
    """`node` on such a sample."""
    if scheme == "none":
        return node
    sampled: dp.Node = (
        dp.Poisson(rate)(node) if scheme == "poisson" else dp.WithoutReplacement(rate)(node)
    )
    return sampled


# --- noisy steps inside a client


@dataclass(frozen=True, kw_only=True)
class Records:
    """The protection of one client's records: `steps` releases of `noise`, each on a fresh sample.

    `rate`: share of the client's records in a step. `coin`: the client's public chance to take part
    in a round. `epsilon`: the client's own budget, beyond which it takes part no more; None: in all
    rounds. Raises `InvalidArgument`.
    """

    noise: Noise
    steps: int
    rate: Fraction
    scheme: str = "poisson"
    coin: Fraction = Fraction(1)
    epsilon: float | None = None
    delta: Fraction = Fraction(1, 10**5)

    def __post_init__(self) -> None:
        whole("steps", self.steps, 1)
        one_of("scheme", self.scheme, SCHEMES)
        object.__setattr__(self, "rate", share("rate", self.rate))
        object.__setattr__(self, "coin", share("coin", self.coin))
        object.__setattr__(self, "delta", probability("delta", self.delta, 1))
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)

    @cached_property
    def node(self) -> dp.Node | None:
        """The plan of one round: `steps` releases, if the client's public coin says so."""
        return self._round(self.noise.node)

    @property
    def stated(self) -> dp.Node | None:
        """`node` with the experiment's own clip."""
        return self._round(self.noise.stated(self.noise.clip))

    @cached_property
    def claimed(self) -> dp.Node | None:
        """The cost of one round as the paper accounts it, if its noise is drawn as printed; else `node`."""
        return self._round(self.noise.claimed)

    @property
    def _sampled_by(self) -> str:
        return "none" if self.rate == 1 else self.scheme

    def _round(self, release: dp.Node | None) -> dp.Node | None:
        if release is None:
            return None
        steps = accounted(release, self._sampled_by, self.rate) * self.steps
        node = steps if self.coin == 1 else dp.Participation(self.coin)(steps)
        return node.under(unit="record")

    def rounds(self, most: int) -> int:
        """Return in how many of `most` rounds the client may take part, by its own accounting."""
        if self.epsilon is None or self.claimed is None:
            return most
        return rounds_within(self.claimed, self.epsilon, self.delta, most)

    def batch(self, held: int, stream: Stream) -> Clients:
        """The places of one step's records among the `held` ones: the coins that are accounted."""
        return drawn(self._sampled_by, held, self.rate, stream)


# --- the whole plan

SERVER, SHARES, EACH = "server", "shares", "each"
AS_PRINTED = "as-printed"


@dataclass(frozen=True, kw_only=True)
class Cohort:
    """[privacy]: sampling, rounds, clip and target.

    `rate`: share of clients per round, exact. `scheme`: "poisson" (a coin each), "uniform" (a subset
    of the fixed size rate * clients) or "none" (everyone). `epsilon`, `delta`: the target. `noise`:
    "exact" (the least that dpacct's accountant allows), a theorem's id (what a paper asks for),
    "as-printed" (what the paper itself draws), "none" (which sets the target aside), or a number: the
    standard deviation of the noise in the sum. `delta` may be written "clients^-1.1". Noise of sums is
    drawn, and sums are rounded, in whole steps of an exact grid, so that no bit of a double tells what it
    hides (Mironov 2012). Raises `InvalidArgument`.
    """

    clients: int
    rounds: int
    rate: Fraction = Fraction(1)
    scheme: str = "poisson"
    clip: float | None = None
    epsilon: float | None = None
    delta: Fraction | None = None
    noise: str | float = "exact"

    def __post_init__(self) -> None:
        whole("clients", self.clients, 1)
        whole("rounds", self.rounds, 1, 10**7)
        one_of("scheme", self.scheme, SCHEMES)
        object.__setattr__(self, "rate", share("rate", self.rate))
        if self.clip is not None:
            positive("clip", self.clip, 1e30)
        if not isinstance(self.noise, str):
            positive("noise", self.noise)
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)
        if self.delta is not None:
            object.__setattr__(self, "delta", probability("delta", self.delta, self.clients))
        if self.epsilon is not None and self.delta is None:
            message = "epsilon and delta must be given together"
            raise dp.InvalidArgument(f"{message}, got one of them", argument="epsilon")
        if self.scheme == "none" and self.rate != 1:
            message = f"rate must be 1 where scheme is none, got {float(self.rate):g}"
            raise dp.InvalidArgument(message, argument="rate")
        if self.scheme == "uniform" and self.denominator.denominator != 1:
            message = "rate times clients must be a whole number for samples of fixed size"
            raise dp.InvalidArgument(f"{message}, got {float(self.denominator):g}", argument="rate")

    @property
    def denominator(self) -> Fraction:
        """tau * K, public and the same every round: the realised size of a sample is a secret."""
        return self.rate * self.clients

    def bounded(self, algorithm: str) -> float:
        """The clip. Raises `InvalidArgument` where the algorithm's clip or target is missing."""
        if self.clip is None or self.delta is None or (self.epsilon is None and self._asks):
            message = f"clip and a privacy target must be given for {algorithm}"
            raise dp.InvalidArgument(f"{message}, got none", argument="privacy")
        return self.clip

    @property
    def _asks(self) -> bool:
        """Return whether the noise is calibrated to a target."""
        return isinstance(self.noise, str) and self.noise != "none"

    def multiplier(self, by: str = "server") -> float:
        """Standard deviation over clip, of one Gaussian a round; 0 without noise.

        `by`: who draws it (see `Plan`); where "each" message is seen, no coin hides who sent it.
        What is found for a target is verified by the very question that a ledger will ask, and goes up
        until it fits. Raises `Unreachable`, `InvalidArgument`, `OutsideDomain`.
        """
        if self.noise == "none":
            return 0.0
        if not isinstance(self.noise, str):
            # rounded downwards: the run adds at least the noise that is accounted
            clip = 1.0 if self.clip is None else self.clip
            return math.nextafter(self.noise / clip, 0.0)
        self.bounded("a noise that is found for a target")
        assert self.epsilon is not None and self.delta is not None
        scheme, rate = ("none", Fraction(1)) if by == EACH else (self.scheme, self.rate)
        return _least(self.epsilon, self.delta, rate, self.rounds, scheme, self.noise)

    def found(
        self, name: str, given: float | None, build: Callable[[float], dp.Node | None]
    ) -> float:
        """The noise that is `given`, or the least for the target: of one round, built by its size.

        Raises `InvalidArgument` where both or neither are said, `Unreachable`.
        """
        if (given is None) == (self.epsilon is None):
            message = f"[algorithm] {name} or [privacy] epsilon must be given, and not both"
            raise dp.InvalidArgument(
                f"{message}, got {given} and {self.epsilon}", argument="epsilon"
            )
        if self.epsilon is None or self.delta is None:
            return given or 0.0
        return least(build, self.rounds, self.epsilon, self.delta)

    def gaussian(
        self, size: int, *, by: str = "server", share: float = 1.0, clip: float | None = None
    ) -> Noise:
        """The noise of a clipped sum of `size` numbers, at the cohort's clip or another.

        `share`: of the precision, where several sums are released together: mechanisms at
        z / sqrt(share) whose shares add up to 1 cost what one at z does. Without noise the clip is left.
        """
        multiplier = self.multiplier(by)
        if not multiplier:
            bound = self.clip if clip is None else clip
            return Unprotected(size, math.inf if bound is None else bound)
        if share < 1.0:  # rounded up: together they must not cost more
            multiplier *= share**-0.5 * (1.0 + 1e-12)
        bound = self.bounded("a noisy sum") if clip is None else clip
        shares = float(self.denominator) if by == SHARES else 1.0
        return NoiseLattice(size, bound, multiplier, shares=shares)


def rounded_up(value: float, digits: int = 7) -> float:
    """`value` rounded up to so many significant digits, as it can be printed and pasted elsewhere.

    What a better accountant changes in the twelfth digit then changes no bit of a run.
    """
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float(exact.quantize(step, ROUND_CEILING))


def least(
    build: Callable[[float], dp.Node | None], rounds: int, target: float, delta: Fraction
) -> float:
    """The smallest noise, in seven digits, at which `rounds` releases cost at most `target`.

    Calibration stops on one route's value, and a ledger asks for the safe end of the best route; so the
    result goes up until that question is answered too, and no more than a thousandth further. Where that
    is a proof, it is the least: a bracket's width would change with the accountant. Raises `Unreachable`.
    """

    def release(noise: float) -> dp.Node:
        node = build(noise)
        assert node is not None
        return node

    def fits(noise: float) -> bool:
        return float(epsilon(release(noise), rounds, delta)) <= target

    found = dp.calibrate(lambda z: release(z) * rounds, epsilon=target, delta=delta, method="exact")
    noise, step = rounded_up(float(found)), 1e-7
    short = noise
    while not fits(noise):
        short, noise, step = noise, rounded_up(noise * (1.0 + step)), 4.0 * step
    answer, apart = epsilon(release(noise), rounds, delta), 1e-3
    if answer.strength is dp.Strength.PROVED and float(answer) < target * (1.0 - 1e-6):
        short, apart = min(short, rounded_up(noise * (1.0 - 1e-4))), 0.0
    while noise > short * (1.0 + apart):
        middle = rounded_up((short + noise) / 2.0)
        if middle >= noise:  # no number of seven digits between them
            break
        short, noise = (short, middle) if fits(middle) else (middle, noise)
    return noise


@lru_cache(maxsize=256)
def _least(
    target: float, delta: Fraction, rate: Fraction, rounds: int, scheme: str, noise: str
) -> float:
    """The smallest multiplier for a target, or that of a theorem; cached for the runs of a study."""
    if noise == "exact":

        def release(multiplier: float) -> dp.Node:
            gaussian = dp.Gaussian(noise_multiplier=multiplier, clip=1)
            return accounted(gaussian, scheme, rate).under(unit="client")

        return least(release, rounds, target, delta)
    settings: dict[str, Any] = {"sample_rate": rate, "steps": rounds, "sampling": scheme}
    by_theorem = dp.noise_multiplier(epsilon=target, delta=delta, method=noise, **settings)
    return rounded_up(float(by_theorem))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`noise`: by field of the clients' messages; several fields are released and paid together.

    `by`: who draws it, which is who has to be trusted. "server": on the sum. "shares": each client
    1 / (rate * clients) of the variance, and the server what is missing (a secure sum is trusted).
    "each": every client all of it (nobody is). `records`: noise inside a client, which protects its
    records from everyone. `enforced`: whether targets are budgets, or what a paper says that its own
    noise costs. Raises `InvalidArgument`.
    """

    cohort: Cohort
    noise: Mapping[str, Noise] = field(default_factory=dict)
    by: str = SERVER
    records: Mapping[int, Records] = field(default_factory=dict)
    enforced: bool = True

    def __post_init__(self) -> None:
        one_of("by", self.by, (SERVER, SHARES, EACH))
        if self.noise:
            self.step(self.noise)  # refuses what cannot be accounted

    # --- what runs

    @property
    def denominator(self) -> Fraction:
        """The divisor of a sum."""
        return self.cohort.denominator

    def sample(self, round: int, keys: Keys) -> Clients:
        """The clients of this round, by the coins that are accounted."""
        cohort, stream = self.cohort, keys.stream("sample", round=round)
        return drawn(cohort.scheme, cohort.clients, cohort.rate, stream)

    def part(self, clients: int = 1) -> Fraction:
        """The share of the noise's variance that `clients` clients contribute."""
        each = {SERVER: Fraction(0), SHARES: 1 / self.denominator, EACH: Fraction(1)}
        return clients * each[self.by]

    def missing(self, clients: int) -> Fraction:
        """The share of the variance that the server must add when `clients` clients answered."""
        return max(Fraction(0), 1 - self.part(clients))

    def mechanisms(self, name: str) -> list[Noise]:
        """The noises that draw under a name."""
        if name in self.noise:
            return [self.noise[name]]
        return [records.noise for records in self.records.values()]

    # --- what is accounted

    def step(self, noise: Mapping[str, Noise]) -> dp.Node | None:
        """One round's release by these mechanisms; None where one of them guarantees nothing."""
        return self._joint(noise, [m.node for m in noise.values()])

    def stated(self, account: str, fixed: bool) -> dp.Node:
        """An account's step with the experiment's own clips, or without any where they are not `fixed`."""
        if account == RUN:
            nodes = [m.stated(m.clip if fixed else None) for m in self.noise.values()]
            step = self._joint(self.noise, nodes)
        else:
            records = self.records[int(account.removeprefix("client "))]
            step = records.stated
        assert step is not None
        return step

    def _joint(self, noise: Mapping[str, Noise], each: Sequence[dp.Node | None]) -> dp.Node | None:
        """Compose a round's fields; where each message is seen (`by` "each") no coin hides its sender."""
        scheme = "none" if self.by == EACH else self.cohort.scheme
        nodes = [node for node in each if node is not None]
        if not nodes or len(nodes) < len(noise):
            return None
        joint: dp.Node = reduce(add, nodes)
        protects = {mechanism.protects for mechanism in noise.values()}
        unit = "record" if "record" in protects else "client"
        if self.by == EACH:  # that a message exists is public: only its content is hidden
            return joint.under("zero-out", unit=unit)
        return accounted(joint, scheme, self.cohort.rate).under(unit=unit)

    @cached_property
    def accounts(self) -> dict[str, RoundAccount]:
        """The accounts that protect: "run" every client, "client 3" each record of client 3."""
        cohort, accounts = self.cohort, {}
        step = self.step(self.noise)
        if step is not None:
            if cohort.delta is None:
                raise dp.InvalidArgument("delta must be given, got none", argument="delta")
            accounts[RUN] = RoundAccount(
                step=step,
                times=cohort.rounds,
                epsilon=cohort.epsilon if self.enforced else None,
                delta=cohort.delta,
            )
        for client, records in self.records.items():
            if records.node is not None:
                accounts[f"client {client}"] = RoundAccount(
                    step=records.node,
                    times=records.rounds(cohort.rounds),
                    epsilon=records.epsilon if self.enforced else None,
                    delta=records.delta,
                )
        return accounts

    @property
    def tree(self) -> dp.Node | None:
        """The plan of every round of the run's account."""
        account = self.accounts.get(RUN)
        return None if account is None else account.step * account.times

    @cached_property
    def mark(self) -> str:
        """A digest of the plan, which every host must share with the server."""
        parts = (self.cohort, sorted(self.noise.items()), self.by, sorted(self.records.items()))
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()

    # --- what must have been counted

    def counts(self, sizes: Sequence[int], answers: Mapping[int, int]) -> dict[str, int]:
        """Bounds and draws of a run with samples of these sizes.

        `answers`: in how many rounds each client took noisy steps inside.
        """
        taken, rounds = sum(sizes), len(sizes)
        topped = sum(self.missing(size) > 0 for size in sizes)
        vectors = topped + (0 if self.by == SERVER else taken)
        counts = {"rounds": rounds}
        for name, noise in self.noise.items():
            drawn = 0 if noise.node is None else vectors
            counts |= counted(name, taken if noise.bounds else 0, drawn, drawn * noise.size)
        if self.records:
            counts |= counted("records", *self._inside(answers))
        return counts

    def _inside(self, answers: Mapping[int, int]) -> tuple[int, int, int]:
        """(rows bounded for a sum, vectors, numbers) of noisy steps inside clients."""
        records = [(self.records[client], n) for client, n in answers.items()]
        noisy = [(r.noise.size, r.steps * n) for r, n in records if r.node is not None]
        return 0, sum(n for _, n in noisy), sum(size * n for size, n in noisy)

    def brought(self, clients: Sequence[int]) -> dict[str, tuple[int, int, int]]:
        """Return what one message of each client has measured: (rows bounded, vectors, numbers) by name."""
        brought = {}
        for name, noise in self.noise.items() if self.by != SERVER else ():
            drawn = 0 if noise.node is None else len(clients)
            brought[name] = (len(clients), drawn, drawn * noise.size)
        if any(self.records[client].node is not None for client in clients if self.records):
            brought["records"] = self._inside(dict.fromkeys(clients, 1))
        return brought


def counted(name: str, bounded: int, vectors: int, numbers: int) -> dict[str, int]:
    """The counts of one field of the messages, by what a report calls them."""
    said = ("rows clipped", "noise vectors", "noise numbers")
    values = (bounded, vectors, numbers)
    return {f"{name}: {what}": value for what, value in zip(said, values, strict=True)}
