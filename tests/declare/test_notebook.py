"""What a user sees of each object at a prompt and in a notebook cell."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dpacct as dp
from dpacct.interop.budget_guard import BudgetGuard
from dpacct.interop.opacus import Accountant

STEP = dp.Poisson("0.01")(dp.Gaussian(noise_multiplier="1.1", clip=1))
RUN = STEP * 1000


def ledger(folder: Path) -> dp.Ledger:
    made = dp.Ledger(folder / "run.ledger", budget=(3, "1e-5"), plan=RUN)
    made.spend(STEP * 400)
    return made


def spent_filter() -> dp.Filter:
    made = dp.Filter(epsilon=2, delta="1e-6")
    made.spend(dp.Gaussian(sigma=20) * 40)
    return made


def accountant() -> Accountant:
    made = Accountant()
    made.step(noise_multiplier=1.1, sample_rate=0.01)
    return made


def audit() -> dp.Audit:
    scores = np.linspace(0, 1, 40)
    return dp.audit(scores + 0.3, scores, delta="1e-5", design="two-worlds")


VOTES = dp.Votes(np.array([[3, 1], [2, 2]]))
OBJECTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "answer": (lambda _: RUN.epsilon("1e-5"), "1.515"),
    "many answers": (lambda _: RUN.epsilon(["1e-5"] * 40), "40 answers"),
    "report": (lambda _: dp.Report.of(RUN.under("add-remove", unit="user"), delta="1e-5"), "1.516"),
    "report document": (lambda _: dp.ReportDocument(title="Run 1", lead="x " * 999), "Run 1"),
    "plan": (lambda _: RUN + dp.Laplace(b=2), "Laplace(b=2)"),
    "risk": (lambda _: dp.Risk(RUN), "Gaussian"),
    "ledger": (ledger, "40 % of the declared plan"),
    "account": (lambda folder: ledger(folder).account("run"), "40 % of the declared plan"),
    "remaining": (lambda folder: ledger(folder).remaining, "60 % of the declared plan"),
    "guard": (lambda folder: BudgetGuard(ledger(folder), STEP), "0 steps taken"),
    "filter": (lambda _: spent_filter(), "epsilon 2 at delta 1e-6"),
    "Opacus' accountant": (lambda _: accountant(), "1 step"),
    "curve of a plan": (lambda _: dp.TradeOff.of(RUN), "TradeOff.of("),
    "certificate": (lambda _: dp.certificate(RUN, delta="1e-5"), "1.5153619"),
    "audit": (lambda _: audit(), "epsilon at least"),
    "cost of votes": (lambda _: dp.GNMax(sigma=5).cost(VOTES, delta="1e-5"), "2 queries"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_prompt_shows_one_short_line_with_what_matters(name: str, tmp_path: Path) -> None:
    make, expected = OBJECTS[name]
    shown = repr(make(tmp_path))
    assert expected in shown and " at 0x" not in shown
    assert len(shown) <= 400 or name == "many answers"
    assert shown.count("\n") <= 8


def test_what_was_closed_is_shown_all_the_same(tmp_path: Path) -> None:
    closed = ledger(tmp_path)
    left = closed.remaining
    closed.close()
    assert (
        "run.ledger" in repr(closed) and "closed" in repr(left) and "closed" in left._repr_html_()
    )
