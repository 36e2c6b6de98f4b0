"""DP-FedSAM (Shi, Liu, Wei, Shen, Wang, Tao 2023, Algorithm 1): clients' noise on sharpness-aware updates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from dpacct.declare.domain import DELTA
from dpacct.declare.number import Number
from dpacct.federated.client_level import Sampling
from dpacct.federated.dp_fedavg import NoiseBy, SharedNoise
from dpacct.federated.plan import Notion, Printed, Row, attempted, published
from dpacct.vocabulary import Strength


@dataclass(frozen=True, kw_only=True)
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

    sampling: Sampling = "uniform"
    noise_by: NoiseBy = "clients"

    algorithm: ClassVar[str] = "dp-fedsam"
    paper: ClassVar[str] = "Shi, Liu, Wei, Shen, Wang, Tao 2023"
    notions: ClassVar[tuple[Notion, ...]] = ("client", "message")

    def paper_rows(self, *, delta: Number) -> Iterator[Row]:
        """Theorem 2 as printed, as used for Algorithm 1, and what it should be."""
        from dpacct.papers.formulas import dp_fedsam as formulas

        exact = self.epsilon(delta=delta)
        run = (
            float(self.client_rate),
            float(self.effective_multiplier),
            self.rounds,
            float(DELTA.check("delta", delta)),
        )

        def wrong(name: str, value: float, reason: str) -> Row:
            return Row(
                "paper", "client", exact, Printed(f"dp_fedsam.{name}", value, "refuted", reason)
            )

        mixed = "mixes twice, so the rate becomes q^2"
        yield from attempted(lambda: wrong("theorem2", formulas.theorem2(*run), mixed))
        poisson = "the formula for a coin per client; Algorithm 1 draws a fixed number"
        corrected, name = formulas.theorem2_corrected, "theorem2_corrected"
        if self.sampling == "uniform":
            yield from attempted(
                lambda: wrong("theorem2_algorithm1", formulas.theorem2_algorithm1(*run), poisson)
            )
            corrected, name = formulas.theorem2_without_replacement, "theorem2_without_replacement"

        def right() -> Row:
            value = corrected(*run)
            upper = value * (1.0 + 1e-9)
            bound = published(exact, f"dp_fedsam.{name}")
            answer = replace(bound, value=upper, upper=upper, strength=Strength.BOUND)
            remark = "Theorem 2 corrected"
            return Row(
                "paper-corrected",
                "client",
                answer,
                Printed(f"dp_fedsam.{name}", value, "corrected", remark),
            )

        yield from attempted(right)
