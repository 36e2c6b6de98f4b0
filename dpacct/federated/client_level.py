"""Client-level plans: a noisy sum of clipped client updates per round, under a coin or lot per client.

DP-Fed and DP-Fed-LS (Liang, Wang, Gu, Osher, Yao 2020, Algorithm 1): noise at the server.
DP-FedAvg (the voting paper's Algorithms 3 to 6, after Geyer et al. and McMahan et al.).
DP-FedSAM (Shi, Liu, Wei, Shen, Wang, Tao 2023, Algorithm 1): clients' noise on sharpness-aware updates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, Self

from dpacct.declare.domain import DELTA, POSITIVE, RATE, Integer, Real, Word
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.errors import DpacctError, InvalidArgument, Unsupported
from dpacct.federated.plan import FederatedPlan, Notion, Printed, Row, attempted, published
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.plan.node import Node
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.participation import Participation
from dpacct.plan.samplers.poisson import Poisson
from dpacct.vocabulary import Adjacency, Unit

_MULTIPLIER = Real("1e-3", "1e9", "both")
_EXACT = "one sampled Gaussian per round, composed exactly"


class ClientLevel(FederatedPlan):
    """`rounds` noisy sums of updates clipped to l2 norm `clip`, `client_rate` of the clients in each.

    `noise_multiplier`: standard deviation of the noise in the sum over `clip`. `sampling`: `poisson`, a
    coin per client (add/remove), or `uniform`, a fixed number without replacement (replace-one). The sum
    is divided by a public number. Raises `InvalidArgument`.
    """

    clients: Parameter[int] = Parameter(Integer(1, 10**12), "number of clients", "M")
    client_rate: Parameter[Fraction] = Parameter(RATE, "share of the clients in a round", "P")
    rounds: Parameter[int] = Parameter(Integer(1, 10**12), "number of rounds", "R")
    noise_multiplier: Parameter[Fraction] = Parameter(
        _MULTIPLIER, "standard deviation / clip, instead of --sigma", "Z"
    )
    clip: Parameter[Fraction] = Parameter(
        POSITIVE, "clipping norm of a client's update; 1 unless given", "C", default=Fraction(1)
    )
    sampling: Parameter[str] = Parameter(
        Word("poisson", "uniform"),
        "clients of a round: poisson, a coin each; uniform, a fixed number",
        default="poisson",
    )

    unit: ClassVar[Unit] = Unit.CLIENT
    notions: ClassVar[tuple[Notion, ...]] = ("client",)

    def _complaint(self) -> DpacctError | None:
        if self.sampling == "poisson" or self.lot.denominator == 1:
            return None
        message = "client_rate times clients must be whole for samples of fixed size, got"
        return InvalidArgument(f"{message} {float(self.lot):g}", argument="client_rate")

    @property
    def lot(self) -> Fraction:
        """Clients per round: all that are sampled, or their expected number."""
        return self.client_rate * self.clients

    @property
    def numbers(self) -> tuple[float, Fraction, int]:
        """(noise_multiplier, client_rate, rounds), which a paper's formulas take."""
        return float(self.noise_multiplier), self.client_rate, self.rounds

    @property
    def effective_multiplier(self) -> Fraction | float:
        """The noise that really hides a client, over `clip`."""
        return self.noise_multiplier

    def tree(self) -> Node:
        """One sampled Gaussian per round."""
        noise = Gaussian(noise_multiplier=self.effective_multiplier, clip=self.clip)
        sampler = Poisson if self.sampling == "poisson" else WithoutReplacement
        return sampler(self.client_rate)(noise).under(unit="client") * self.rounds

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the sampling scheme."""
        return Adjacency.ADD_REMOVE if self.sampling == "poisson" else Adjacency.REPLACE_ONE

    @property
    def sigma(self) -> Fraction:
        """Standard deviation of the sum's noise over its sensitivity."""
        return self.noise_multiplier / self.adjacency.clip_factor

    def with_sigma(self, sigma: float) -> Self:
        """Return the plan with this noise."""
        multiplier = _MULTIPLIER.check("sigma", sigma) * self.adjacency.clip_factor
        return self.but(noise_multiplier=multiplier)

    @property
    def sensitivity(self) -> str:
        """Derived from the clip and the adjacency."""
        factor = self.adjacency.clip_factor
        size = float(factor * self.clip)
        why = "one client more or fewer" if factor == 1 else "one client exchanged for another"
        return f"{'C' if factor == 1 else '2C'} = {size:g} for the sum of clipped updates ({why})"

    def promises(self) -> tuple[str, ...]:
        """The assumptions about the run."""
        drawn = "each client by its own coin, and who was drawn stays secret"
        if self.sampling == "uniform":
            drawn = "a uniformly random subset of a fixed size, which stays secret"
        return (
            f"clients are sampled afresh each round: {drawn}",
            "the sum is divided by a public number, never by the realised number of clients",
            "only the noisy sum leaves the server",
        )

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """The exact composition, its Gaussian limit, and what the paper says."""
        yield Row("exact", "client", self.epsilon(delta=delta), about=_EXACT)
        limit = self.with_promises(self.tree().epsilon(delta=delta, method="clt"))
        yield Row("clt", "client", limit, about="the Gaussian limit, no guarantee")
        yield from self.paper_rows(delta=delta)

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """Yield the results of the paper's formulas."""
        return iter(())

    def sigma_rows(self, *, epsilon: Number, delta: Number) -> Iterator[Row]:
        """The smallest sigma for a target."""
        noise = self.sigma_for(epsilon=epsilon, delta=delta)
        yield Row("exact", "client", noise, about=_EXACT)

    @property
    def mu_clt(self) -> float:
        """mu of the Gaussian limit, no bound on anything; infinite where there is none."""
        from dpacct.plan.composition import Composition

        try:
            return Composition(self.tree(), self.adjacency).clt_mu
        except Unsupported:
            return math.inf


class SharedNoise(ClientLevel):
    """A plan whose noise the server adds, or each of the round's clients a share of it.

    Shares of variance (noise_multiplier clip)^2 / m add up to the noise of the sum, which is what is
    accounted. `missing` of the m clients of a round may drop out, or tell their share: what is left hides
    less. Raises `InvalidArgument`.
    """

    noise_by: Parameter[str] = Parameter(
        Word("server", "clients"),
        "who adds the noise: the server, or each client a share",
        default="server",
    )
    missing: Parameter[int] = Parameter(
        Integer(0), "clients of a round that drop out or reveal their noise", "N", default=0
    )

    notions: ClassVar[tuple[Notion, ...]] = ("client", "message")

    def _complaint(self) -> DpacctError | None:
        if (wrong := super()._complaint()) is not None:
            return wrong
        if self.missing >= self.participants:
            return Integer(0, self.participants - 1).refusal("missing", self.missing)
        if self.missing and self.noise_by == "server":
            message = f"missing must be 0 where the server adds the noise, got {self.missing}"
            return InvalidArgument(message, argument="missing")
        return None

    @property
    def participants(self) -> int:
        """m: the clients among which the noise is divided."""
        return max(1, math.ceil(self.lot))

    @property
    def effective_multiplier(self) -> Fraction | float:
        """The remaining noise over the clip, rounded down."""
        if not self.missing:
            return super().effective_multiplier
        from dpacct.papers.formulas.ae_dpfl import algorithm6_dropout

        left = algorithm6_dropout(self.numbers[0], 1.0, self.participants, self.missing)
        return left * (1.0 - 1e-15)

    def promises(self) -> tuple[str, ...]:
        """The assumptions about who adds and sees the noise."""
        shared = super().promises()
        if self.noise_by == "server":
            return *shared, "the server is trusted: it sees every update without noise"
        honest = f"all but {self.missing}" if self.missing else "all"
        return (
            *shared,
            f"{honest} of the {self.participants} clients of a round add their share of the noise and"
            " keep it secret; where fewer come, their shares are larger",
            "a secure sum: nobody, the server included, sees a single message",
        )

    def one_message(self) -> Node:
        """The plan of single messages: an update with a share of the noise, in each round of the client."""
        multiplier, rate, rounds = self.numbers
        share = multiplier / math.sqrt(self.participants)
        noise = Gaussian(noise_multiplier=share, clip=self.clip).under("replace-one", unit="client")
        return Participation(rate)(noise) * rounds

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """The rows of a client-level plan; with the clients' noise also one without a secure sum."""
        yield from super().rows(delta=delta)

        def message() -> Row:
            answer = self.with_promises(self.one_message().epsilon(delta=delta))
            about = (
                "without a secure sum: each message has 1/m of the noise's variance, replace-one"
            )
            return Row("single-messages", "message", answer, about=about)

        if self.noise_by == "clients":
            yield from attempted(message)


# --- the papers' algorithms


class DPFed(ClientLevel):
    """Clients' updates stay in a ball of radius G, the server sums a sample and adds N(0, nu^2).

    `noise_multiplier` = nu / G, the z of its tables; `client_rate` = tau, `rounds` = T. Raises
    `InvalidArgument`.

    >>> plan = DPFed(clients=2000, client_rate="0.05", rounds=200, noise_multiplier=1)
    >>> print(f"{float(plan.epsilon(delta=2000**-1.1)):.4f}")
    3.7005
    """

    algorithm: ClassVar[str] = "dp-fed"
    paper: ClassVar[str] = "Liang, Wang, Gu, Osher, Yao 2020"

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """Theorem 1 or 2 read for epsilon, and the accountant behind the paper's tables."""
        from dpacct.papers.formulas import dp_fed_ls

        uniform = self.sampling == "uniform"

        def closed() -> Row:
            theorem = "dp_fed_ls.theorem1" if uniform else "dp_fed_ls.theorem2"
            answer = self.with_promises(self.tree().epsilon(delta=delta, method=theorem))
            gap = "its proof has a gap, and no counter-example is known"
            return Row("paper", "client", answer, Printed(theorem, answer.value, "published", gap))

        def accountant() -> Row:
            """The moments accountant of Tables 2 and 3, under the conventions that reproduce them."""
            exact = self.epsilon(delta=delta)
            multiplier, rate, rounds = self.numbers
            at = float(DELTA.check("delta", delta))
            compute = dp_fed_ls.uniform if uniform else dp_fed_ls.poisson
            value = compute(multiplier, float(rate), rounds, at)
            if uniform:
                reason = "takes sensitivity G where exchanging a client moves the sum by 2G"
                printed = Printed("wang2018.theorem9", value, "misapplied", reason)
                return Row("paper", "client", exact, printed)
            remark = "the moments accountant of Tables 2 and 3, orders 1.1 to 63"
            printed = Printed("mironov2019", value, "published", remark)
            return Row("paper", "client", published(exact, "mironov2019", value), printed)

        yield from attempted(closed, accountant)


class DPFedLS(DPFed):
    """DP-Fed whose noisy mean is smoothed by (I + smoothing L)^-1: post-processing, so no cost and no gain.

    >>> plan = DPFedLS(clients=1000, client_rate="0.05", rounds=30, noise_multiplier=2, smoothing=1)
    >>> plan.tree() == DPFed(clients=1000, client_rate="0.05", rounds=30, noise_multiplier=2).tree()
    True
    """

    smoothing: Parameter[Fraction] = Parameter(
        Real(0, "1e12", "both"),
        "dp-fed-ls: smoothing factor; it has no privacy cost",
        "S",
        default=Fraction(1),
    )

    algorithm: ClassVar[str] = "dp-fed-ls"

    def promises(self) -> tuple[str, ...]:
        """The assumptions, with that of a smoothing independent of the data."""
        smooth = "the smoothing matrix is public: smoothing is post-processing of the noisy sum"
        return (*super().promises(), smooth)


class DPFedAvg(SharedNoise):
    """Agents clip their updates to S; the sum carries N(0, sigma^2 S^2) and is divided by the public q N.

    `noise_multiplier` is the sigma of Algorithm 3. Raises `InvalidArgument`.

    >>> plan = DPFedAvg(clients=100, client_rate="0.5", rounds=10, noise_multiplier=4,
    ...     noise_by="clients", missing=10)
    >>> round(float(plan.effective_multiplier), 4)
    3.5777
    """

    algorithm: ClassVar[str] = "dp-fedavg"
    paper: ClassVar[str] = "voting paper (AE-DPFL), Algorithms 3 to 6"

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """Algorithm 3 divides by the realised number of agents, which makes the noise itself a witness.

        A sample of a fixed size has no such number: nothing is refuted there.
        """
        if self.sampling == "uniform":
            return
        reason = (
            "divides by the realised number of agents, so the noise reveals who took part; computed"
            " for a public divisor"
        )
        value = self.but(missing=0).tree().epsilon(delta=delta).value
        printed = Printed("ae_dpfl.algorithm3", value, "refuted", reason)
        yield Row("paper", "client", self.epsilon(delta=delta), printed)


class DPFedSAM(SharedNoise):
    """m = qM clients without replacement each add N(0, sigma^2 C^2/m); the mean carries std sigma C/m.

    `noise_multiplier` is the paper's sigma. Exchanging a client moves the sum by 2C, so std / sensitivity is
    sigma/2. How a client finds its update (SAM, top-k) plays no part after clipping. Raises
    `InvalidArgument`.

    >>> plan = DPFedSAM(clients=500, client_rate="0.1", rounds=200, noise_multiplier="0.95")
    >>> answer = plan.epsilon(delta="0.002")
    >>> f"[{answer.lower:.3f}, {answer.upper:.3f}]"
    '[36.984, 43.165]'
    """

    sampling: Parameter[str] = Parameter(
        Word("poisson", "uniform"), ClientLevel.sampling.means, default="uniform"
    )
    noise_by: Parameter[str] = Parameter(
        Word("server", "clients"), SharedNoise.noise_by.means, default="clients"
    )

    algorithm: ClassVar[str] = "dp-fedsam"
    paper: ClassVar[str] = "Shi, Liu, Wei, Shen, Wang, Tao 2023"

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """Theorem 2 as printed, as used for Algorithm 1, and what it should be."""
        from dpacct.papers.formulas import dp_fedsam as formulas

        exact, uniform = self.epsilon(delta=delta), self.sampling == "uniform"
        _, rate, rounds = self.numbers
        at = float(DELTA.check("delta", delta))
        run = float(rate), float(self.effective_multiplier), rounds, at

        def refuted(name: str, value: float, reason: str) -> Row:
            printed = Printed(f"dp_fedsam.{name}", value, "refuted", reason)
            return Row("paper", "client", exact, printed)

        def theorem2() -> Row:
            reason = "applies the sampling twice, so the rate becomes q^2"
            return refuted("theorem2", formulas.theorem2(*run), reason)

        def algorithm1() -> Row:
            reason = "the formula for Poisson sampling; Algorithm 1 samples a fixed number"
            return refuted("theorem2_algorithm1", formulas.theorem2_algorithm1(*run), reason)

        def corrected() -> Row:
            formula, name = formulas.theorem2_corrected, "dp_fedsam.theorem2_corrected"
            if uniform:
                formula = formulas.theorem2_without_replacement
                name = "dp_fedsam.theorem2_without_replacement"
            value = formula(*run)
            printed = Printed(name, value, "corrected", "Theorem 2 corrected")
            return Row("paper-corrected", "client", published(exact, name, value), printed)

        yield from attempted(theorem2, *[algorithm1] * uniform, corrected)
