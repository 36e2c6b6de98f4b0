"""The runs of the paper's Tables 1 to 3, each with what its mu_max says and what is true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.answer import Answer
from dpacct.declare.number import Number
from dpacct.federated.prifedsync import PriFedSync

if TYPE_CHECKING:
    from dpacct.papers.tables import Cell

DELTA = Fraction(1, 10**5)
_CLIENTS = 100
_RATE_OF_TABLE2 = "0.5"  # in its caption; the other tables have a column


@dataclass(frozen=True)
class PrintedRun:
    """One row of a table: its plan, and mu_max as printed."""

    table: str
    plan: PriFedSync
    printed: str
    cell: Cell

    @property
    def mu(self) -> float:
        """mu_max, recomputed."""
        return self.plan.mu_clt

    @property
    def matches(self) -> bool:
        """Whether it comes out to the printed digits."""
        return self.cell.matches(self.mu)

    def limit(self, *, delta: Number = DELTA) -> float:
        """Epsilon of G_mu: what the paper's guarantee amounts to."""
        rows = self.plan.rows(delta=delta)
        return next(row.answer.value for row in rows if row.name == "clt")

    def exact(self, *, delta: Number = DELTA) -> Answer:
        """Epsilon of K R steps without the limit."""
        return self.plan.exact().epsilon(delta=delta)

    def two_level(self, *, delta: Number = DELTA) -> Answer:
        """Epsilon with the client's coin: what the run costs."""
        return self.plan.strong(delta=delta)


def printed_runs() -> Iterator[PrintedRun]:
    """All 21, in the paper's order.

    >>> sum(run.matches for run in printed_runs())
    21
    """
    from dpacct.papers.formulas.federated_fdp import theorem2_clt
    from dpacct.papers.tables import cells

    for cell in cells("federated_fdp"):
        if cell.formula is not theorem2_clt:
            continue
        run = cell.inputs
        first = cell.cell.partition(",")[0]
        rate = first.removeprefix("p=") if first.startswith("p=") else _RATE_OF_TABLE2
        plan = PriFedSync(
            clients=_CLIENTS,
            client_rate=rate,
            batch_size=int(run["batch"]),
            records=int(run["records"]),
            local_steps=int(run["local_steps"]),
            rounds=int(run["rounds"]),
            sigma=run["sigma"],
        )
        yield PrintedRun(cell.table, plan, cell.printed, cell)
