"""DP-FedAvg (the voting paper's Algorithms 3 to 6, after Geyer et al. and McMahan et al.)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dpacct.declare.number import Number
from dpacct.federated.client_level import SharedNoise
from dpacct.federated.plan import Printed, Row


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
        """Algorithm 3 divides by the realised number of agents, which makes the noise itself a witness."""
        reason = (
            "divides by the realised number of agents, so the noise tells who is there; it is the"
            " number of a public divisor"
        )
        value = self.but(missing=0).tree().epsilon(delta=delta).value
        printed = Printed("ae_dpfl.algorithm3", value, "refuted", reason)
        yield Row("paper", "client", self.epsilon(delta=delta), printed)
