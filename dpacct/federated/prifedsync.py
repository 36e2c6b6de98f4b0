"""PriFedSync (Zheng, Chen, Long, Su 2021, Algorithms 1 and 2): noisy local SGD, clients sampled per round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Self

from dpacct.answer import Answer
from dpacct.citations import LAST_ROUND, statement
from dpacct.declare.domain import DELTA, RATE, Integer, Real, Word
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.errors import DpacctError
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
from dpacct.federated.proved import Rounds
from dpacct.federated.rounds_of_steps import theorem1_epsilon
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.plan.node import Node
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.participation import Participation
from dpacct.vocabulary import Side, Strength, Unit

_COUNT = Integer(1, 10**12)
_ROUNDS = Integer(1, 10**9)
_SIGMA = Real("0.01", "1e9", "both")
_NEARLY_ONE = 1 - Fraction(1, 10**9)
_FARTHEST = 1e4  # above this mu, the limit is given by mu alone: its epsilon is in the millions
_LEAST = 1e-11  # below this delta the printed form drowns in the rounding of its transform
_ABOUT = {
    "two-level": "K steps with probability p in each of R rounds; one release serves all helper models",
    "exact": "Theorem 2 without its limit, C_{B/n}(G_{1/sigma}) K R times: a client of every round",
    "last-sync": "as two-level, but one observer learns nothing after its own last round",
    "clt": "the Gaussian limit, no guarantee",
}


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

    clients: Parameter[int] = Parameter(Integer(2, 10**9), "number of clients", "M")
    client_rate: Parameter[Fraction] = Parameter(
        RATE, "chance that a client takes part in a round", "P", default=Fraction(1)
    )
    batch_size: Parameter[int] = Parameter(
        _COUNT, "prifedsync: records of a client in a local step", "B"
    )
    records: Parameter[int] = Parameter(_COUNT, "prifedsync: records of a client", "N")
    local_steps: Parameter[int] = Parameter(
        _ROUNDS, "prifedsync: noisy local steps in a round", "K"
    )
    rounds: Parameter[int] = Parameter(_ROUNDS, "number of rounds", "R")
    sigma: Parameter[Fraction] = Parameter(
        _SIGMA, "standard deviation / sensitivity (prifedsync: std / (2C))", "S"
    )
    participation: Parameter[str] = Parameter(
        Word("public", "secret"),
        "prifedsync: public, or secret (which is then not relied upon)",
        default="public",
    )

    algorithm: ClassVar[str] = "prifedsync"
    paper: ClassVar[str] = "Zheng, Chen, Long, Su 2021"
    unit: ClassVar[Unit] = Unit.RECORD
    notions: ClassVar[tuple[Notion, ...]] = ("weak", "strong")

    def _complaint(self) -> DpacctError | None:
        if self.batch_size <= self.records:
            return None
        return Integer(1, self.records).refusal("batch_size", self.batch_size)

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
        return self.but(sigma=sigma)

    @property
    def sensitivity(self) -> str:
        """The sensitivity that Algorithm 2 has, in words."""
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
            "a client sends nothing but its model after the K noisy steps, once a round; each step is"
            " taken as seen, so the lower end is towards who sees them, and the model may show less",
            "the server and all other clients may be curious, may collude, and may remember everything",
            seen,
        )

    # --- answers

    @property
    def mu_clt(self) -> float:
        """Theorem 2's limit: no bound on anything. Infinite where it overflows."""
        from dpacct.papers.formulas.federated_fdp import theorem2_clt

        try:
            return theorem2_clt(
                self.batch_size, self.records, float(self.sigma), self.local_steps, self.rounds
            )
        except OverflowError:
            return math.inf

    def epsilon(self, *, delta: Number) -> Answer:
        """Epsilon towards everyone who sees all that leaves the client. Raises `InvalidArgument`."""
        return self._at(DELTA.check("delta", delta))

    def _at(self, delta: Fraction) -> Answer:
        """One round is a share p of the delta of its steps, which are asked at delta / p."""
        if self.rounds > 1:
            return self.with_promises(self.tree().epsilon(delta=delta))
        inner = min(delta / self.client_rate, _NEARLY_ONE)
        return replace(self.with_promises(self.local().epsilon(delta=inner)), tree=self.tree())

    def strong(self, *, delta: Number, prove: bool = False) -> Answer:
        """Epsilon towards all other clients together; `prove` takes seconds.

        Raises `InvalidArgument`, and `NotCertified` where there is no proof.
        """
        answer = self._seen(self.epsilon(delta=delta))
        return self._taking_place.proved(answer, DELTA.check("delta", delta)) if prove else answer

    def weak(self, *, delta: Number, prove: bool = False) -> Answer:
        """Epsilon towards one other client, whatever the server remembers; `prove` takes seconds.

        All helper models of all rounds are functions of the same R releases, so it is that of `strong`.
        Its lower end is lower: the observer sees everything only if it is sampled in the last round.
        """
        return self._towards_one(self.strong(delta=delta, prove=prove), delta, prove)

    def _towards_one(self, strong: Answer, delta: Number, prove: bool) -> Answer:
        if strong.lower is None or self.client_rate == 1:
            return strong
        seen = DELTA.check("delta", delta) / self.client_rate
        lower = None
        if seen < _NEARLY_ONE:
            end = self._at(seen)
            lower = end.lower
            if prove and end.strength is not Strength.PROVED:
                lower = self._taking_place.proved_lower(lower, seen)
        return replace(strong, lower=min(lower or 0.0, strong.lower), side=Side.TWO_SIDED)

    @property
    def _taking_place(self) -> Rounds:
        local = self.local()
        return Rounds(lambda k: local * k, self.client_rate, self.rounds)

    def until_last_sync(self, *, delta: Number) -> Answer:
        """Epsilon towards one other client, who learns nothing after its own last round.

        At most `weak`, by a few percent at some rounds; takes time with many. Raises `InvalidArgument`.
        """
        most = self.strong(delta=delta)
        at = DELTA.check("delta", delta)
        if self.rounds == 1:  # both coins: p^2 of the delta of the steps
            value = float(self._at(min(at / self.client_rate, _NEARLY_ONE)))
        else:
            value = last_sync.epsilon(
                lambda t: self.but(rounds=t).tree(),
                float(self.client_rate),
                self.rounds,
                float(at),
                float(most),
            )
        return replace(
            most,
            value=value,
            lower=None,
            upper=value,
            side=Side.UPPER,
            strength=Strength.weakest((most.strength, Strength.BOUND)),
            method="last-sync",
            basis=(*most.basis, LAST_ROUND),
            tree=None,
        )

    def _seen(self, answer: Answer) -> Answer:
        if self.participation == "public" or self.client_rate == 1:
            return answer
        return replace(answer, side=Side.UPPER, lower=None)

    # --- rows

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """Two-level, exact and the limit for both notions; then the theorems as they are printed."""
        return self._rows(delta, prove=False)

    def proved_rows(self, *, delta: Number) -> Iterator[Row]:
        """The same with the two-level answer proven, which takes seconds. Raises `NotCertified`."""
        return self._rows(delta, prove=True)

    def _both(self, name: str, weak: Answer, strong: Answer) -> Iterator[Row]:
        """A row for each notion."""
        yield Row(name, "weak", weak, about=_ABOUT[name])
        yield Row(name, "strong", strong, about=_ABOUT[name])

    def _rows(self, delta: Number, *, prove: bool) -> Iterator[Row]:
        theorem = "federated_fdp.theorem2_thinned"
        strong = _resting(self.strong(delta=delta, prove=prove), theorem)
        weak = self._towards_one(strong, delta, prove)
        full = _resting(
            self.with_promises(self.exact().epsilon(delta=delta)), "federated_fdp.theorem2"
        )
        yield from self._both("two-level", weak, strong)
        yield from self._both("exact", full, full)
        few = self.client_rate < 1 and self.rounds <= last_sync.MOST_ROUNDS
        if few and float(weak) <= last_sync.MOST_EPSILON:
            spared = self.until_last_sync(delta=delta)
            yield Row("last-sync", "weak", spared, about=_ABOUT["last-sync"])
        true: dict[Notion, Answer] = {"weak": weak, "strong": strong}
        mu = self.mu_clt
        if mu <= _FARTHEST:
            limit = _limit(self.with_promises(_shift(mu).epsilon(delta=delta)))
            yield from self._both("clt", limit, limit)
        yield from self._theorem1(true, full, delta)
        if mu <= _FARTHEST:
            yield from self._theorem2(true, mu, delta)

    def _theorem1(
        self, true: Mapping[Notion, Answer], full: Answer, delta: Number
    ) -> Iterator[Row]:
        """g_p tensor-R and tensor-(m-1)R: refuted, unless there is one round or no coin.

        `true` are the answers that stand in for what is refuted, `full` that of all steps without a coin.
        """
        at = float(DELTA.check("delta", delta))
        holds = self.client_rate == 1 or self.rounds == 1
        for notion in self.notions:
            observers = 1 if notion == "weak" else self.clients - 1
            name = "federated_fdp.theorem1" + ("" if notion == "weak" else "_strong")
            try:
                value = self._printed_epsilon(observers, at)
            except (DpacctError, OverflowError):  # more steps than any plan may have
                continue
            if not math.isfinite(value):
                continue
            if not holds:
                memory = "the server remembers: rounds are not independent mechanisms"
                yield Row("paper", notion, true[notion], Printed(name, value, "refuted", memory))
                continue
            answer = published(full, name)
            if self.client_rate < 1 or notion == "strong":
                answer = replace(answer, value=value, upper=value)
            remark = (
                "holds" if observers == 1 else "holds, but pays for each observer of one release"
            )
            yield Row("paper", notion, answer, Printed(name, value, "published", remark))

    def _printed_epsilon(self, observers: int, delta: float) -> float:
        """Epsilon of g_p tensor-`observers` R; nan where it cannot be computed."""
        times = self.rounds * observers
        variation = self.local().delta(epsilon=0, method="exact").upper
        if self.client_rate == 1 or (variation or 1.0) <= self.client_rate**2:
            # the line 1 - alpha - p^2 lies below f_j everywhere: g_p is f_j
            return float((self.local() * times).epsilon(delta=delta, method="exact"))
        if delta < _LEAST:
            return math.nan
        rate, coin = self.batch_size / self.records, float(self.client_rate)
        return theorem1_epsilon(rate, float(self.sigma), self.local_steps, coin, times, delta)

    def _theorem2(self, true: Mapping[Notion, Answer], mu: float, delta: Number) -> Iterator[Row]:
        """'Consequently' G_mu and G_{sqrt(m-1) mu}: a limit is no guarantee."""
        from dpacct.papers.formulas.federated_fdp import theorem2_strong

        def row(notion: Notion, moved: float) -> Row:
            value = _shift(moved).epsilon(delta=delta).value
            reason = "a limit says nothing about a finite number of steps"
            printed = Printed("federated_fdp.theorem2_gdp", value, "refuted", reason)
            return Row("paper", notion, true[notion], printed)

        yield from attempted(
            lambda: row("weak", mu), lambda: row("strong", theorem2_strong(mu, self.clients))
        )

    # --- the noise for a target

    def sigma_for(self, *, epsilon: Number, delta: Number) -> Answer:
        """The smallest sigma that meets a target. Raises `Unreachable`, `InvalidArgument`."""
        if self.rounds > 1:
            return super().sigma_for(epsilon=epsilon, delta=delta)
        inner = min(DELTA.check("delta", delta) / self.client_rate, _NEARLY_ONE)
        noise = self._calibrated(lambda s: self.with_sigma(s).local(), epsilon, inner)
        return replace(noise, tree=self.with_sigma(float(noise)).tree())

    def sigma_rows(self, *, epsilon: Number, delta: Number) -> Iterator[Row]:
        """The smallest sigma by each way that is an answer, and by the limit."""

        def limit(sigma: float) -> Node:
            return _shift(max(self.with_sigma(sigma).mu_clt, 1e-100))

        two = self._seen(self.sigma_for(epsilon=epsilon, delta=delta))
        full = self._calibrated(lambda s: self.with_sigma(s).exact(), epsilon, delta)
        yield from self._both("two-level", two, two)
        yield from self._both("exact", full, full)
        limiting = _limit(self._calibrated(limit, epsilon, delta))
        yield from self._both("clt", limiting, limiting)


def _shift(mu: float) -> Node:
    """A mu-GDP release."""
    return Gaussian(sigma=1.0 / mu).under("replace-one")


def _limit(answer: Answer) -> Answer:
    """What Theorem 2's limit gives."""
    return estimate(answer, "clt", statement("federated_fdp.theorem2_clt"))


def _resting(answer: Answer, theorem: str) -> Answer:
    """With the statement of the paper that it is an instance of."""
    return replace(answer, basis=(*answer.basis, statement(theorem)))
