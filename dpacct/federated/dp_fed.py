"""DP-Fed and DP-Fed-LS (Liang, Wang, Gu, Osher, Yao 2020, Algorithm 1): noise at the server."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from dpacct.declare.domain import DELTA, Real
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.federated.client_level import ClientLevel
from dpacct.federated.plan import Printed, Row, attempted, published


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
        "dp-fed-ls: smoothing factor; costs nothing",
        "S",
        default=Fraction(1),
    )

    algorithm: ClassVar[str] = "dp-fed-ls"

    def promises(self) -> tuple[str, ...]:
        """That the smoothing knows nothing else."""
        smooth = "the smoothing matrix is public: smoothing is post-processing of the noisy sum"
        return (*super().promises(), smooth)
