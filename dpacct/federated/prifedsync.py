"""PriFedSync (Zheng, Chen, Long, Su 2021, Algorithms 1 and 2): noisy local SGD, clients sampled per round.

**A proof of the two-level epsilon** (`Rounds`): public coins make delta(eps) = sum over k of C(R,k) p^k
(1-p)^{R-k} delta_k(eps), delta_k that of k rounds. The engine's answer, moved outwards by a hair, is proven
by one such sum above and one below: every delta_k is enclosed by the certificate, weights are exact, and
what is left out is charged, since delta_k grows with k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from dpacct.answer import Answer
from dpacct.citations import MEAN_OF_ROUNDS, statement
from dpacct.declare.domain import DELTA, RATE, Integer, Real, Word
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.errors import DpacctError, NotCertified
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
from dpacct.plan.node import Node
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.participation import Participation
from dpacct.vocabulary import Side, Strength, Unit

# --- a proof

MOST_TERMS = 600
"""The most terms of one sum: each needs a proof for its number of rounds."""
_HAIR = Fraction(1, 10**8)
_LEFT_OUT = 1e-9  # of delta: what may be left out of a sum


@dataclass(frozen=True)
class Rounds:
    """Rounds that each take place by a coin of this rate; `plan(k)` is the plan of k actual rounds."""

    plan: Callable[[int], Node]
    rate: Fraction
    count: int

    @cached_property
    def _whole(self) -> int:
        return int(self.rate.denominator**self.count)

    def weight(self, k: int) -> Fraction:
        """The probability, exactly, that k rounds take place."""
        taken = self.rate.numerator**k
        rest = (self.rate.denominator - self.rate.numerator) ** (self.count - k)
        return Fraction(math.comb(self.count, k) * taken * rest, self._whole)

    def _ends(self, k: int, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        answer = self.plan(k).delta(epsilon=epsilon, method="certified")
        assert answer.lower is not None and answer.upper is not None
        return Fraction(answer.lower), Fraction(answer.upper)

    def above(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether delta at epsilon is proved to be at most `delta`."""
        small = delta * Fraction(_LEFT_OUT)
        # from above: all rounds beyond `k` are charged in full
        k, charged = self.count, Fraction(0)
        while k > 0 and charged + self.weight(k) <= small:
            charged += self.weight(k)
            k -= 1
        total, left = charged, 1 - charged
        for _ in range(MOST_TERMS):
            if total > delta:
                return False
            if k == 0:
                return True
            _, upper = self._ends(k, epsilon)
            if upper * left <= small:  # no smaller number of rounds loses more
                return total + upper * left <= delta
            weight = self.weight(k)
            total, left, k = total + weight * upper, left - weight, k - 1
        message = f"a proof takes more than {MOST_TERMS} numbers of rounds: it is withheld"
        raise NotCertified(message)

    def below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether delta at epsilon, for a pair of real data sets, is proved to be at least `delta`."""
        k, total = self.count, Fraction(0)
        while k > 0 and self.weight(k) <= delta * Fraction(_LEFT_OUT):
            k -= 1
        for _ in range(MOST_TERMS):
            if total >= delta or k == 0:
                return total >= delta
            lower, upper = self._ends(k, epsilon)
            total, k = total + self.weight(k) * lower, k - 1
            if total < delta and upper * 2 <= (delta - total) * Fraction(_LEFT_OUT):
                return False
        return False

    def proved_lower(self, lower: float | None, delta: Fraction) -> float | None:
        """A lower end of epsilon, moved a hair and proven; None stays None. Raises `NotCertified`."""
        if lower is None or lower <= 0.0:
            return lower
        moved = lower * (1.0 - float(_HAIR))
        if not self.below(Fraction(moved), delta):
            raise NotCertified(f"the lower end {moved:.9g} could not be proven: it is withheld")
        return moved

    def proved(self, answer: Answer, delta: Fraction) -> Answer:
        """The answer with its two ends proven, each moved outwards by a part in 10^8.

        Raises `NotCertified` where an end can't be proven.
        """
        if answer.strength is Strength.PROVED:
            return answer
        assert answer.upper is not None
        upper = float(answer.upper * (1.0 + float(_HAIR)))
        if not self.above(Fraction(upper), delta):
            raise NotCertified(f"epsilon {upper:.9g} could not be proven: it is withheld")
        return replace(
            answer,
            lower=self.proved_lower(answer.lower, delta),
            upper=upper,
            strength=Strength.PROVED,
            method="certified",
            basis=(*answer.basis, MEAN_OF_ROUNDS),
        )


# --- the plan

_COUNT = Integer(1, 10**12)
_ROUNDS = Integer(1, 10**9)
_SIGMA = Real("0.01", "1e9", "both")
_NEARLY_ONE = 1 - Fraction(1, 10**9)
_FARTHEST = 1e4  # above this mu, the limit is given by mu alone: its epsilon is in the millions
_ABOUT = {
    "two-level": "K steps with probability p in each of R rounds; one release serves all helper models",
    "exact": "Theorem 2 without its limit, C_{B/n}(G_{1/sigma}) K R times: a client of every round",
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
        "prifedsync: whether the sample of clients is public; a secret sample earns no extra privacy",
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
        """Return the plan with this noise."""
        return self.but(sigma=sigma)

    @property
    def sensitivity(self) -> str:
        """The sensitivity that Algorithm 2 has, in words."""
        return (
            "2C for the sum of a batch's clipped gradients (one record exchanged, its size fixed)"
        )

    def promises(self) -> tuple[str, ...]:
        """The assumptions about a run of Algorithms 1 and 2."""
        seen = "everyone may see who takes part in a round"
        if self.participation == "secret":
            seen = "who takes part is secret, which is not relied upon: what a round without the client"
            seen += " looks like is not known, so no lower end either"
        return (
            "each client takes part in a round by a coin of its own, independent of all data",
            "a client sends nothing but its model after the K noisy steps, once a round; the lower end"
            " assumes that the attacker sees every step, and who sees only the model may learn less",
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

    def _seen(self, answer: Answer) -> Answer:
        if self.participation == "public" or self.client_rate == 1:
            return answer
        return replace(answer, side=Side.UPPER, lower=None)

    # --- rows

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """Two-level, exact and the limit for both notions; then the theorems as they are printed."""
        return self._rows(delta, prove=False)

    def proved_rows(self, *, delta: Number) -> Iterator[Row]:
        """The rows with the two-level answer proved, which takes seconds. Raises `NotCertified`."""
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
        true: dict[Notion, Answer] = {"weak": weak, "strong": strong}
        mu = self.mu_clt
        if mu <= _FARTHEST:
            limit = _limit(self.with_promises(_shift(mu).epsilon(delta=delta, method="exact")))
            yield from self._both("clt", limit, limit)
        yield from self._theorem1(true, full, delta)
        if mu <= _FARTHEST:
            yield from self._theorem2(true, mu, delta)

    def _theorem1(
        self, true: Mapping[Notion, Answer], full: Answer, delta: Number
    ) -> Iterator[Row]:
        """g_p tensor-R and tensor-(m-1)R, where it is f_j: refuted, unless there is one round or no coin.

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
            if value is None or not math.isfinite(value):
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

    def _printed_epsilon(self, observers: int, delta: float) -> float | None:
        """Epsilon of g_p tensor-`observers` R, g_p = max(f_j, 1 - alpha - p^2); None where g_p is not f_j.

        Its line lies below f_j everywhere where the total variation of f_j is at most p^2. By Pinsker's
        inequality that is at most sqrt(D/2), D the divergence, which is at most that of order 2.
        """
        local = self.local()
        if self.client_rate < 1 and float(local.rdp(2)) > 2.0 * float(self.client_rate) ** 4:
            return None
        return float((local * (self.rounds * observers)).epsilon(delta=delta, method="exact"))

    def _theorem2(self, true: Mapping[Notion, Answer], mu: float, delta: Number) -> Iterator[Row]:
        """'Consequently' G_mu and G_{sqrt(m-1) mu}: a limit is no guarantee."""
        from dpacct.papers.formulas.federated_fdp import theorem2_strong

        def row(notion: Notion, moved: float) -> Row:
            value = _shift(moved).epsilon(delta=delta, method="exact").value
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
    """The answer by the limit of Theorem 2."""
    return estimate(answer, "clt", statement("federated_fdp.theorem2_clt"))


def _resting(answer: Answer, theorem: str) -> Answer:
    """The answer with the paper's statement among its sources."""
    return replace(answer, basis=(*answer.basis, statement(theorem)))
