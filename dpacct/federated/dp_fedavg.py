"""DP-FedAvg (the voting paper's Algorithms 3 to 6, after Geyer et al. and McMahan et al.)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from dpacct.declare.domain import Integer
from dpacct.declare.number import Number
from dpacct.errors import InvalidArgument
from dpacct.federated.client_level import ClientLevel
from dpacct.federated.plan import Notion, Printed, Row, attempted
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.sampling.participation import Participation
from dpacct.tree import Node

NoiseBy = Literal["server", "clients"]


@dataclass(frozen=True, kw_only=True)
class SharedNoise(ClientLevel):
    """A plan whose noise the server adds, or each of the round's clients a share of it.

    Shares of variance (noise_multiplier clip)^2 / m add up to the noise of the sum, which is what is
    accounted. `missing` of the m clients of a round may drop out, or tell their share: what is left hides
    less. Raises `InvalidArgument`.
    """

    noise_by: NoiseBy = "server"
    missing: int = 0

    def __post_init__(self) -> None:
        """Check every argument."""
        super().__post_init__()
        if self.noise_by not in ("server", "clients"):
            message = f"noise_by must be server or clients, got {self.noise_by!r:.40}"
            raise InvalidArgument(message, argument="noise_by")
        most = max(math.ceil(self.lot) - 1, 0)
        missing = Integer(0, most).check("missing", self.missing)
        if missing and self.noise_by == "server":
            message = f"missing must be 0 where the server adds the noise, got {missing}"
            raise InvalidArgument(message, argument="missing")
        object.__setattr__(self, "missing", missing)

    @property
    def participants(self) -> int:
        """m: the clients among which the noise is divided."""
        return max(1, math.ceil(self.lot))

    @property
    def effective_multiplier(self) -> Number:
        """What is left of the noise, over the clip, rounded down."""
        if not self.missing:
            return self.noise_multiplier
        from dpacct.papers.formulas.ae_dpfl import algorithm6_dropout

        left = algorithm6_dropout(
            float(self.noise_multiplier), 1.0, self.participants, self.missing
        )
        return left * (1.0 - 1e-15)

    def promises(self) -> tuple[str, ...]:
        """Who must be trusted."""
        if self.noise_by == "server":
            return (
                *super().promises(),
                "the server is trusted: it sees every update without noise",
            )
        honest = f"all but {self.missing}" if self.missing else "all"
        return (
            *super().promises(),
            f"{honest} of the {self.participants} clients of a round add their share of the noise and"
            " keep it secret; where fewer come, their shares are larger",
            "a secure sum: nobody, the server included, sees a single message",
        )

    def one_message(self) -> Node:
        """What single messages show: an update with a share of the noise, whenever the client takes part."""
        share = float(self.noise_multiplier) / math.sqrt(self.participants)
        noise = Gaussian(noise_multiplier=share, clip=self.clip).under("replace-one", unit="client")
        return Participation(self.client_rate)(noise) * self.rounds

    def rows(self, *, delta: Number) -> Iterator[Row]:
        """As any client-level plan; with the clients' noise also what happens without a secure sum."""
        yield from super().rows(delta=delta)
        if self.noise_by == "clients":
            yield from attempted(lambda: self._message(delta))

    def _message(self, delta: Number) -> Row:
        answer = self.told(self.one_message().epsilon(delta=delta))
        about = "without a secure sum: each message has 1/m of the noise's variance, replace-one"
        return Row("single-messages", "message", answer, about=about)


@dataclass(frozen=True, kw_only=True)
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
    notions: ClassVar[tuple[Notion, ...]] = ("client", "message")

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """Algorithm 3 divides by the realised number of agents, which makes the noise itself a witness."""
        exact = self.epsilon(delta=delta)
        reason = (
            "divides by the realised number of agents, so the noise tells who is there; it is the"
        )
        reason += " number of a public divisor"
        full = ClientLevel.tree(self) if not self.missing else self._complete()
        value = full.epsilon(delta=delta).value
        yield Row("paper", "client", exact, Printed("ae_dpfl.algorithm3", value, "refuted", reason))

    def _complete(self) -> Node:
        """The tree if nobody is missing."""
        return replace(self, missing=0).tree()
