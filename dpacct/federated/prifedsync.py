"""PriFedSync (Zheng, Chen, Long, Su 2021, Algorithms 1 and 2): noisy local SGD, clients sampled per round."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

from dpacct.answer import Answer
from dpacct.domain import DELTA, RATE, Integer, Number, Real
from dpacct.errors import DpacctError, InvalidArgument
from dpacct.federated import last_sync
from dpacct.federated.plan import (
    FederatedPlan,
    Notion,
    Printed,
    Row,
    attempted,
    estimate,
    published,
)
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.sampling.fixed_size import WithoutReplacement
from dpacct.sampling.participation import Participation
from dpacct.theorems.federated_fdp.local_training import theorem2_clt, theorem2_strong
from dpacct.theorems.federated_fdp.rounds_of_steps import theorem1_epsilon
from dpacct.tree import Node
from dpacct.vocabulary import Side, Strength, Unit

_CLIENTS = Integer(2, 10**9)
_COUNT = Integer(1, 10**12)
_ROUNDS = Integer(1, 10**9)
_SIGMA = Real("0.01", "1e9", "both")
_FARTHEST = 1e4  # a limit beyond is told as mu alone: its epsilon has millions in front
_LEAST_PRINTED = 1e-11  # below this delta the printed form drowns in the rounding of its transform


@dataclass(frozen=True, kw_only=True)
class PriFedSync(FederatedPlan):
    """R rounds; in each, a client takes part with probability p and runs K steps of noisy SGD.

    `batch_size` of a client's `records` are drawn without replacement at each step, and `sigma` is the
    noise's standard deviation over 2C, as in Algorithm 2. `participation` says whether it shows which
    clients took part; a secret coin is not relied upon. Neighbours differ in one record of one client,
    which is exchanged. Raises `InvalidArgument`.

    >>> plan = PriFedSync(clients=100, client_rate="0.5", batch_size=16, records=600, local_steps=38,
    ...     rounds=194, sigma=1)
    >>> print(f"{plan.mu_clt:.2f} {float(plan.exact().epsilon(delta=1e-5)):.4f} "
    ...     f"{float(plan.strong(delta=1e-5)):.4f}")
    3.92 22.2766 14.5238
    """

    clients: int
    client_rate: Fraction
    batch_size: int
    records: int
    local_steps: int
    rounds: int
    sigma: Fraction
    participation: Literal["public", "secret"] = "public"

    algorithm: ClassVar[str] = "prifedsync"
    paper: ClassVar[str] = "Zheng, Chen, Long, Su 2021"
    unit: ClassVar[Unit] = Unit.RECORD
    notions: ClassVar[tuple[Notion, ...]] = ("weak", "strong")

    def __init__(
        self,
        *,
        clients: int,
        client_rate: Number = 1,
        batch_size: int,
        records: int,
        local_steps: int,
        rounds: int,
        sigma: Number,
        participation: str = "public",
    ) -> None:
        size = _COUNT.check("records", records)
        told = {
            "clients": _CLIENTS.check("clients", clients),
            "client_rate": RATE.check("client_rate", client_rate),
            "batch_size": Integer(1, size).check("batch_size", batch_size),
            "records": size,
            "local_steps": _ROUNDS.check("local_steps", local_steps),
            "rounds": _ROUNDS.check("rounds", rounds),
            "sigma": _SIGMA.check("sigma", sigma),
            "participation": participation,
        }
        if participation not in ("public", "secret"):
            wrong = f"participation must be public or secret, got {participation!r:.40}"
            raise InvalidArgument(wrong, argument="participation")
        for name, value in told.items():
            object.__setattr__(self, name, value)

    # --- what is accounted

    def local(self) -> Node:
        """The K steps of one client in one round."""
        rate = Fraction(self.batch_size, self.records)
        return WithoutReplacement(rate)(Gaussian(sigma=self.sigma)) * self.local_steps

    def tree(self) -> Node:
        """Two levels: a coin per round around K steps, each on its own batch."""
        return Participation(self.client_rate)(self.local()) * self.rounds

    def exact(self) -> Node:
        """Theorem 2 without its limit: K R steps, no credit for the client's coin."""
        return self.local() * self.rounds

    def with_sigma(self, sigma: float) -> Self:
        """The same plan with other noise."""
        return replace(self, sigma=_SIGMA.check("sigma", sigma))

    @property
    def sensitivity(self) -> str:
        """That of Algorithm 2."""
        return (
            "2C for the sum of a batch's clipped gradients (one record exchanged, its size fixed)"
        )

    def promises(self) -> tuple[str, ...]:
        """What Algorithms 1 and 2 must really do."""
        seen = "everyone may see who takes part in a round"
        if self.participation == "secret":
            seen = "who takes part is secret, which is not relied upon: what a round without the client"
            seen += " looks like is not known, so no lower end either"
        return (
            "each client takes part in a round by a coin of its own, independent of all data",
            "a client sends nothing but its model after the K noisy steps, once a round",
            "the server and all other clients may be curious, may collude, and may remember everything",
            seen,
        )

    # --- answers

    @property
    def mu_clt(self) -> float:
        """Theorem 2's limit: no bound on anything. Infinite where it overflows."""
        try:
            return theorem2_clt(
                self.batch_size, self.records, float(self.sigma), self.local_steps, self.rounds
            )
        except OverflowError:
            return math.inf

    def weak(self, *, delta: Number) -> Answer:
        """Epsilon towards one other client, whatever the server remembers.

        All helper models of all rounds are functions of the same R releases, so this is `strong`.
        """
        return self.strong(delta=delta)

    def strong(self, *, delta: Number) -> Answer:
        """Epsilon towards all other clients together. Raises `InvalidArgument`."""
        return self._seen(self.epsilon(delta=delta))

    def until_last_sync(self, *, delta: Number) -> Answer:
        """Epsilon towards one other client, who learns nothing after its own last round.

        At most `weak`, by a few percent at some rounds; takes time with many. Raises `InvalidArgument`.
        """
        most = self.strong(delta=delta)
        value = last_sync.epsilon(
            lambda t: replace(self, rounds=t).tree(),
            float(self.client_rate),
            self.rounds,
            float(DELTA.check("delta", delta)),
            float(most),
        )
        basis = (*most.basis, "one observer sees nothing after its own last round")
        strength = Strength.weakest((most.strength, Strength.BOUND))
        return replace(
            most,
            value=value,
            lower=None,
            upper=value,
            side=Side.UPPER,
            strength=strength,
            method="last-sync",
            basis=basis,
            tree=None,
        )

    def _seen(self, answer: Answer) -> Answer:
        if self.participation == "public" or self.client_rate == 1:
            return answer
        return replace(answer, side=Side.UPPER, lower=None)

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """Two-level, exact and the limit for both notions; then the theorems as they are printed."""
        true = _resting(self.strong(delta=delta), "federated_fdp.theorem2_thinned")
        full = _resting(self.told(self.exact().epsilon(delta=delta)), "federated_fdp.theorem2")
        for notion in self.notions:
            yield Row("two-level", notion, true, about=_ABOUT["two-level"])
        for notion in self.notions:
            yield Row("exact", notion, full, about=_ABOUT["exact"])
        few = self.client_rate < 1 and self.rounds <= last_sync.MOST_ROUNDS
        if few and float(true) <= last_sync.MOST_EPSILON:
            spared = self.until_last_sync(delta=delta)
            yield Row("last-sync", "weak", spared, about=_ABOUT["last-sync"])
        mu = self.mu_clt
        if mu <= _FARTHEST:
            limit = estimate(
                self.told(_shift(mu).epsilon(delta=delta)), "clt", "federated_fdp.theorem2_clt"
            )
            for notion in self.notions:
                yield Row("clt", notion, limit, about=_ABOUT["clt"])
        yield from self._theorem1(true, full, delta)
        if mu <= _FARTHEST:
            yield from self._theorem2(true, mu, delta)

    def _theorem1(self, true: Answer, full: Answer, delta: Number) -> Iterator[Row]:
        """g_p tensor-R and tensor-(m-1)R: refuted, unless there is one round or no coin."""
        at = float(DELTA.check("delta", delta))
        holds = self.client_rate == 1 or self.rounds == 1
        for notion in self.notions:
            observers = 1 if notion == "weak" else self.clients - 1
            name = "federated_fdp.theorem1" + ("" if notion == "weak" else "_strong")
            try:
                value = self._printed_theorem1(observers, at)
            except (DpacctError, OverflowError):  # more steps than any plan may have
                continue
            if not math.isfinite(value):
                continue
            if not holds:
                told = "the server remembers: rounds are not independent mechanisms"
                yield Row("paper", notion, true, Printed(name, value, "refuted", told))
                continue
            answer = true
            if self.client_rate == 1 and notion == "weak":
                answer = published(full, name)
            else:
                answer = replace(published(full, name), value=value, upper=value)
            told = "holds" if observers == 1 else "holds, but pays for each observer of one release"
            yield Row("paper", notion, answer, Printed(name, value, "published", told))

    def _printed_theorem1(self, observers: int, delta: float) -> float:
        """Epsilon of g_p tensor-`observers` R; nan where it can't be told."""
        times = self.rounds * observers
        variation = self.local().delta(epsilon=0, method="exact").upper
        if self.client_rate == 1 or (variation or 1.0) <= self.client_rate**2:
            # the line 1 - alpha - p^2 lies below f_j everywhere: g_p is f_j
            found = (self.local() * times).epsilon(delta=delta, method="exact")
            return float(found)
        if delta < _LEAST_PRINTED:
            return math.nan
        return theorem1_epsilon(
            self.batch_size / self.records,
            float(self.sigma),
            self.local_steps,
            float(self.client_rate),
            times,
            delta,
        )

    def _theorem2(self, true: Answer, mu: float, delta: Number) -> Iterator[Row]:
        """'Consequently' G_mu and G_{sqrt(m-1) mu}: a limit is no guarantee."""
        told = "a limit says nothing about a finite number of steps"
        for notion in self.notions:
            shift = mu if notion == "weak" else theorem2_strong(mu, self.clients)

            def row(notion: Notion = notion, shift: float = shift) -> Row:
                value = _shift(shift).epsilon(delta=delta).value
                printed = Printed("federated_fdp.theorem2_gdp", value, "refuted", told)
                return Row("paper", notion, true, printed)

            yield from attempted(row)

    # --- the noise for a target

    def sigma_rows(self, *, epsilon: Number, delta: Number) -> Iterator[Row]:
        """The smallest sigma by each way that is an answer, and by the limit."""

        def exact(sigma: float) -> Node:
            return self.with_sigma(sigma).exact()

        def limit(sigma: float) -> Node:
            return _shift(max(self.with_sigma(sigma).mu_clt, 1e-100))

        two = self._seen(self.sigma_for(epsilon=epsilon, delta=delta))
        full = self._calibrated(exact, epsilon, delta)
        for notion in self.notions:
            yield Row("two-level", notion, two, about=_ABOUT["two-level"])
        for notion in self.notions:
            yield Row("exact", notion, full, about=_ABOUT["exact"])
        found = estimate(
            self._calibrated(limit, epsilon, delta), "clt", "federated_fdp.theorem2_clt"
        )
        for notion in self.notions:
            yield Row("clt", notion, found, about=_ABOUT["clt"])


def _resting(answer: Answer, theorem: str) -> Answer:
    """With the statement of the paper that it is an instance of."""
    return replace(answer, basis=(*answer.basis, theorem))


def _shift(mu: float) -> Node:
    """A mu-GDP release."""
    return Gaussian(sigma=1.0 / mu).under("replace-one")


_ABOUT = {
    "two-level": "K steps with probability p in each of R rounds; one release serves all helper models",
    "exact": "Theorem 2 without its limit: C_{B/n}(G_{1/sigma}), K R times; the coin counts for nothing",
    "last-sync": "as two-level, but one observer learns nothing after its own last round",
    "clt": "the Gaussian limit, no guarantee",
}
