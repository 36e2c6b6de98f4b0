"""DP-Fed and DP-Fed-LS (Liang, Wang, Gu, Osher, Yao 2020, Algorithm 1): noise at the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpacct.answer import Answer
from dpacct.declare.domain import DELTA, Real
from dpacct.declare.number import Number
from dpacct.declare.record import Parameter
from dpacct.federated.client_level import ClientLevel
from dpacct.federated.plan import Printed, Row, attempted, published
from dpacct.vocabulary import Side, Strength

_SMOOTHING = Real(0, "1e12", "both")


@dataclass(frozen=True, kw_only=True)
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
        uniform = self.sampling == "uniform"
        theorem = "dp_fed_ls.theorem1" if uniform else "dp_fed_ls.theorem2"

        def closed() -> Row:
            answer = self.told(self.tree().epsilon(delta=delta, method=theorem))
            gap = "its proof has a gap, and no counter-example is known"
            return Row("paper", "client", answer, Printed(theorem, answer.value, "published", gap))

        yield from attempted(closed)
        yield from attempted(lambda: self._accountant(delta))

    def _accountant(self, delta: Number) -> Row:
        """The moments accountant of Tables 2 and 3, under the conventions that reproduce them."""
        from dpacct.papers.formulas import dp_fed_ls

        exact = self.epsilon(delta=delta)
        compute = dp_fed_ls.uniform if self.sampling == "uniform" else dp_fed_ls.poisson
        value = compute(
            float(self.noise_multiplier),
            float(self.client_rate),
            self.rounds,
            float(DELTA.check("delta", delta)),
        )
        if self.sampling == "uniform":
            reason = "takes sensitivity G where exchanging a client moves the sum by 2G"
            return Row(
                "paper", "client", exact, Printed("wang2018.theorem9", value, "misapplied", reason)
            )
        answer = _bounded(exact, value)
        accountant = "the moments accountant of Tables 2 and 3, orders 1.1 to 63"
        return Row(
            "paper", "client", answer, Printed("mironov2019", value, "published", accountant)
        )


def _bounded(answer: Answer, value: float) -> Answer:
    """A verified bound above the answer."""
    upper = value * (1.0 + 1e-9)
    bound = replace(published(answer, "mironov2019"), value=upper, upper=upper)
    return replace(bound, strength=Strength.BOUND, side=Side.UPPER)


@dataclass(frozen=True, kw_only=True)
class DPFedLS(DPFed):
    """DP-Fed whose noisy mean is smoothed by (I + smoothing L)^-1: post-processing, so no cost and no gain.

    >>> plan = DPFedLS(clients=1000, client_rate="0.05", rounds=30, noise_multiplier=2, smoothing=1)
    >>> plan.tree() == DPFed(clients=1000, client_rate="0.05", rounds=30, noise_multiplier=2).tree()
    True
    """

    smoothing: Number = 1

    algorithm: ClassVar[str] = "dp-fed-ls"
    settings: ClassVar[Mapping[str, Parameter[Any]]] = {
        "smoothing": Parameter(_SMOOTHING, "dp-fed-ls: smoothing factor; costs nothing", "S")
    }

    def __post_init__(self) -> None:
        """Check every argument."""
        super().__post_init__()
        object.__setattr__(self, "smoothing", _SMOOTHING.check("smoothing", self.smoothing))

    def promises(self) -> tuple[str, ...]:
        """That the smoothing knows nothing else."""
        smooth = "the smoothing matrix is public: smoothing is post-processing of the noisy sum"
        return (*super().promises(), smooth)
