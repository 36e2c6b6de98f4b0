"""The runs of Tables 1 to 3, and their table in docs/federated.md: `python -m tests.federated.mu_max`."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpacct.answer import Answer
from dpacct.federated import PriFedSync
from dpacct.papers.formulas.federated_fdp import theorem2_clt
from dpacct.papers.tables import Cell, cells
from tests.structure.project import ROOT

CSV = Path(__file__).with_suffix(".csv")
PAGE = ROOT / "docs" / "federated.md"
HEADER = (
    "table",
    "client_rate",
    "sigma",
    "batch_size",
    "records",
    "local_steps",
    "rounds",
    "mu_printed",
    "mu",
    "epsilon_limit",
    "epsilon_exact_lower",
    "epsilon_exact",
    "epsilon_two_level_lower",
    "epsilon_two_level",
)
BEGIN, END = "<!-- mu_max -->", "<!-- end of mu_max -->"


DELTA = "1e-5"
RATE_OF_TABLE2 = "0.5"  # in its caption; the other tables have a column


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


def printed_runs() -> Iterator[PrintedRun]:
    """All 21, in the paper's order."""
    for cell in cells("federated_fdp"):
        if cell.formula is not theorem2_clt:
            continue
        run = cell.inputs
        first = cell.cell.partition(",")[0]
        plan = PriFedSync(
            clients=100,
            client_rate=first.removeprefix("p=") if first.startswith("p=") else RATE_OF_TABLE2,
            batch_size=int(run["batch"]),
            records=int(run["records"]),
            local_steps=int(run["local_steps"]),
            rounds=int(run["rounds"]),
            sigma=run["sigma"],
        )
        yield PrintedRun(cell.table, plan, cell.printed, cell)


ANSWERS: dict[str, tuple[float, Answer, Answer]] = {}


def answers(run: PrintedRun) -> tuple[float, Answer, Answer]:
    """Epsilon in the limit, without the client's coin, and with it: each row is asked once."""
    if repr(run.plan) not in ANSWERS:
        plan = run.plan
        limit = next(row.answer.value for row in plan.rows(delta=DELTA) if row.name == "clt")
        exact = plan.exact().epsilon(delta=DELTA)
        ANSWERS[repr(plan)] = limit, exact, plan.strong(delta=DELTA)
    return ANSWERS[repr(run.plan)]


@cache
def rows() -> list[tuple[str, ...]]:
    """One row per printed mu_max, numbers to ten digits."""
    results = []
    for run in printed_runs():
        plan, (limit, exact, two) = run.plan, answers(run)
        numbers = (run.mu, limit, exact.lower, exact.upper, two.lower, two.upper)
        results.append(
            (
                run.table,
                f"{float(plan.client_rate):g}",
                f"{float(plan.sigma):g}",
                *map(str, (plan.batch_size, plan.records, plan.local_steps, plan.rounds)),
                run.printed,
                *(f"{number:.10g}" for number in numbers if number is not None),
            )
        )
    return results


def as_csv(table: list[tuple[str, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(table)
    return text.getvalue()


def as_markdown(table: list[tuple[str, ...]]) -> str:
    lines = [
        "| table | p | sigma | B | K | R | mu printed | mu | limit | exact | with the coin |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, p, sigma, batch, _, steps, rounds, printed, *numbers in table:
        mu, limit, low, high, below, above = (float(number) for number in numbers)
        ends = f"{low:.2f} to {high:.2f} | {below:.2f} to {above:.2f}"
        shown = (name.removeprefix("Table "), p, sigma, batch, steps, rounds, printed)
        lines.append(f"| {' | '.join(shown)} | {mu:.4f} | {limit:.2f} | {ends} |")
    return "\n".join(lines) + "\n"


def block() -> re.Pattern[str]:
    return re.compile(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", re.DOTALL)


def write() -> None:
    table = rows()
    CSV.write_text(as_csv(table), encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    fresh = f"{BEGIN}\n\n{as_markdown(table)}\n{END}"
    PAGE.write_text(block().sub(lambda _: fresh, page), encoding="utf-8")


if __name__ == "__main__":
    write()
