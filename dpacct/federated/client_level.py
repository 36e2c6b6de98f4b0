"""Client-level plans: a noisy sum of clipped client updates per round, under a coin or lot per client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

from dpacct.declare.domain import POSITIVE, RATE, Integer, Real
from dpacct.declare.number import Number
from dpacct.errors import InvalidArgument
from dpacct.federated.plan import FederatedPlan, Notion, Row
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.sampling.fixed_size import WithoutReplacement
from dpacct.sampling.poisson import Poisson
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency, Unit

Sampling = Literal["poisson", "uniform"]
_CLIENTS = Integer(1, 10**12)
_ROUNDS = Integer(1, 10**12)
_MULTIPLIER = Real("1e-3", "1e9", "both")


@dataclass(frozen=True, kw_only=True)
class ClientLevel(FederatedPlan):
    """`rounds` noisy sums of updates clipped to l2 norm `clip`, `client_rate` of the clients in each.

    `noise_multiplier`: standard deviation of the noise in the sum over `clip`. `sampling`: `poisson`, a
    coin per client (add/remove), or `uniform`, a fixed number without replacement (replace-one). The sum
    is divided by a public number. Raises `InvalidArgument`.
    """

    clients: int
    client_rate: Number
    rounds: int
    noise_multiplier: Number
    clip: Number = 1
    sampling: Sampling = "poisson"

    unit: ClassVar[Unit] = Unit.CLIENT
    notions: ClassVar[tuple[Notion, ...]] = ("client",)

    def __post_init__(self) -> None:
        """Check every argument."""
        checks: dict[str, Any] = {
            "clients": _CLIENTS,
            "client_rate": RATE,
            "rounds": _ROUNDS,
            "noise_multiplier": _MULTIPLIER,
            "clip": POSITIVE,
        }
        for field in fields(self):
            if field.name in checks:
                value = checks[field.name].check(field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)
        if self.sampling not in ("poisson", "uniform"):
            message = f"sampling must be poisson or uniform, got {self.sampling!r:.40}"
            raise InvalidArgument(message, argument="sampling")
        if self.sampling == "uniform" and self.lot.denominator != 1:
            message = "client_rate times clients must be whole for samples of fixed size"
            raise InvalidArgument(f"{message}, got {float(self.lot):g}", argument="client_rate")

    @property
    def lot(self) -> Fraction:
        """Clients per round: all that are sampled, or their expected number."""
        return Fraction(self.client_rate) * self.clients

    @property
    def effective_multiplier(self) -> Number:
        """The noise that really hides a client, over `clip`."""
        return self.noise_multiplier

    def tree(self) -> Node:
        """One sampled Gaussian per round."""
        noise = Gaussian(noise_multiplier=self.effective_multiplier, clip=self.clip)
        sampler = Poisson if self.sampling == "poisson" else WithoutReplacement
        return sampler(self.client_rate)(noise).under(unit="client") * self.rounds

    @property
    def adjacency(self) -> Adjacency:
        """As the sampling has it."""
        return Adjacency.ADD_REMOVE if self.sampling == "poisson" else Adjacency.REPLACE_ONE

    @property
    def sigma(self) -> Fraction:
        """Standard deviation of the sum's noise over its sensitivity."""
        return Fraction(self.noise_multiplier) / self.adjacency.clip_factor

    def with_sigma(self, sigma: float) -> Self:
        """The same plan with other noise."""
        multiplier = _MULTIPLIER.check("sigma", sigma) * self.adjacency.clip_factor
        return replace(self, noise_multiplier=multiplier)

    @property
    def sensitivity(self) -> str:
        """Derived from the clip and the adjacency."""
        factor = self.adjacency.clip_factor
        size = float(factor * Fraction(self.clip))
        why = "one client more or fewer" if factor == 1 else "one client exchanged for another"
        return f"{'C' if factor == 1 else '2C'} = {size:g} for the sum of clipped updates ({why})"

    def promises(self) -> tuple[str, ...]:
        """What the run must do."""
        drawn = "each client by its own coin, and who was drawn stays secret"
        if self.sampling == "uniform":
            drawn = "a subset of a fixed size, drawn uniformly, and who was drawn stays secret"
        return (
            f"clients are sampled afresh each round: {drawn}",
            "the sum is divided by a public number, never by the realised number of clients",
            "only the noisy sum leaves the server",
        )

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """The exact composition, its Gaussian limit, and what the paper says."""
        yield Row("exact", "client", self.epsilon(delta=delta), about=_EXACT)
        limit = self.told(self.tree().epsilon(delta=delta, method="clt"))
        yield Row("clt", "client", limit, about="the Gaussian limit, no guarantee")
        yield from self.paper_rows(delta=delta)

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """What the paper's formulas give."""
        return iter(())

    def sigma_rows(self, *, epsilon: Number, delta: Number) -> Iterator[Row]:
        """The smallest sigma for a target."""
        noise = self.sigma_for(epsilon=epsilon, delta=delta)
        yield Row("exact", "client", noise, about=_EXACT)

    @property
    def mu_clt(self) -> float:
        """mu of the Gaussian limit, no bound on anything; infinite where there is none."""
        from dpacct.compose.composition import Composition
        from dpacct.errors import Unsupported

        try:
            return Composition(self.tree(), self.adjacency).clt_mu
        except Unsupported:
            return float("inf")


_EXACT = "one sampled Gaussian per round, composed exactly"
