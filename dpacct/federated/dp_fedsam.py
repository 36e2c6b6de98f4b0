"""DP-FedSAM (Shi, Liu, Wei, Shen, Wang, Tao 2023, Algorithm 1): clients' noise on sharpness-aware updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dpacct.declare.domain import DELTA
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.federated.client_level import SharedNoise
from dpacct.federated.plan import Printed, Row, attempted, published


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

    sampling: Parameter[str] = SharedNoise.parameters["sampling"].but(default="uniform")
    noise_by: Parameter[str] = SharedNoise.parameters["noise_by"].but(default="clients")

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
            reason = "mixes twice, so the rate becomes q^2"
            return refuted("theorem2", formulas.theorem2(*run), reason)

        def algorithm1() -> Row:
            reason = "the formula for a coin per client; Algorithm 1 draws a fixed number"
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
