"""What a page's verdict and evidence ask for, and what the page lacks of it."""

import math

from dpacct.papers.oracles.oracle import oracle_of
from dpacct.papers.page import Statement
from dpacct.papers.registry import get, ids
from dpacct.papers.tables import cells
from tests.papers.proofs import PROOFS

_LEAST = 80  # characters of a derivation or a reason that says anything


def missing(statement: Statement) -> list[str]:
    """List what the statement's evidence and verdict still lack, as sentences."""
    evidence, verdict, other = statement.evidence, statement.verdict, statement.corrected_by
    why, formula, open_ = statement.section("Why"), statement.formula, statement.printed_ok
    ours, refuted = evidence in ("derived", "corrected"), evidence == "refuted"
    needs: list[tuple[bool, object, str]] = [
        (
            ours or refuted or evidence == "searched",
            formula and oracle_of(statement),
            "independent oracle",
        ),
        (ours, len(statement.section("Derivation")) >= _LEAST, "derivation"),
        (ours, statement.values, "reference value"),
        (evidence == "proved", PROOFS.get(statement.id), "machine-checked proof"),
        (refuted, statement.witness, "counter-example"),
        (refuted, not open_, "verdict that says so"),
        (verdict == "false", refuted, "refutation"),
        (evidence == "asymptotic", verdict == "asymptotic", "verdict that says so"),
        (not open_ or verdict == "holds-with-condition", why, "reason"),
        (formula is None, len(why) >= _LEAST, "reason why nothing is evaluated"),
        (
            other in ids(),
            other in ids() and get(str(other)).is_answer,
            "correction that may be used",
        ),
    ]
    same = other not in ids() or get(str(other)).setting == statement.setting
    needs.append((other is not None, same, f"setting that {other} shares"))
    for linked in (*statement.relies_on, *([other] if other else [])):
        needs.append((True, linked in ids(), f"statement {linked} to refer to"))
    if evidence == "reproduced":
        printed = [c for c in cells(statement.paper) if c.formula.__name__ == statement.name]
        needs.append((True, printed and formula, "number in a table of the paper"))
        for cell in printed:
            value = float(formula(**cell.arguments())) if formula else math.nan
            what = f"{cell.printed} of {cell.table}, {cell.cell}, but {value!r}"
            needs.append((True, formula and cell.matches(value), what))
    head = f"{statement.id} is {evidence}, {verdict}, and has no"
    return [f"{head} {what}" for asked, there, what in needs if asked and not there]
