"""A federated plan, and what its paper says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import bounded, grade, is_tight, leading, safe_number
from dpacct.answer.ask import BoundaryQuestion
from dpacct.cli import federated_plan as plans
from dpacct.cli import screens
from dpacct.cli.command import (
    DETAILS,
    QUIET,
    TARGET,
    CommandLine,
    argument,
    command,
    group,
    option,
    switch,
)
from dpacct.cli.federated_plan import PlanSettings
from dpacct.cli.output import Result, must_be_finite
from dpacct.cli.plan_file import contents, file_name, table_of
from dpacct.declare.domain import DELTA
from dpacct.declare.number import down, near, up
from dpacct.declare.record import Exclusive, Usage
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import UDPFL, Harmonized, Row

_DIGITS = 8


@command(
    "federated",
    group("Settings", *plans.options().values()),
    group(
        "Plan",
        argument("[PLAN]"),
        option("--algorithm NAME", f"{', '.join(plans.kinds())}, or udp-fl with a plan file"),
    ),
    TARGET,
    group(
        "Output",
        switch("--prove", "prifedsync: prove the two-level answer, in seconds"),
        QUIET,
        DETAILS,
    ),
    examples=(
        "federated --clients 9 --batch-size 8 --records 80 --local-steps 9 --rounds 9 --sigma 2 --delta 1e-5",
        "federated prifedsync.toml --noise-multiplier 2",
        "federated prifedsync.toml --eps 8 --json",
        "federated --algorithm dp-fed --clients 90 --client-rate 0.1 --rounds 9 --sigma 2 --delta 1e-5",
        "federated udp-fl.toml",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute the epsilon of a federated plan, or with --eps the noise for a target.

    prifedsync protects one record of a client from one other client (weak) and from all of them
    (strong); udp-fl a record of each client, by its own budget; the others protect a whole client. A
    statement of a paper that is refuted is shown with the truth, and is never an answer. PLAN is a
    TOML file with the same settings.
    """
    path, settings, name = line.get("path"), PlanSettings(), ""
    if path is not None:
        name = file_name(path)
        settings = plans.settings_of(table_of(contents(path), name), name)
    settings = settings.under(line.pick((*plans.options(), "algorithm", "epsilon", "delta")))
    if line.get("prove") and (settings.algorithm != "prifedsync" or "epsilon" in settings.typed):
        raise Exclusive("--prove is about the epsilon of prifedsync", argument="--prove")
    if settings.algorithm != "udp-fl":
        return _account(line, settings)
    if not name:
        raise Usage("udp-fl needs a plan file with [[client]] tables", argument="PLAN")
    return _harmonized(plans.clients_of(settings, name))


def _account(line: CommandLine, settings: PlanSettings) -> Result:
    """The answers about a plan whose clients are all alike."""
    plan, call, typed = plans.plan_of(settings), settings.call, settings.typed
    notes, extra, quantity = list[str](), dict[str, Any](), "epsilon"
    if "epsilon" in typed:
        goal = BoundaryQuestion.read({k: typed[k] for k in ("epsilon", "delta")}, call).settings
        rows, quantity = list(plan.sigma_rows(**goal)), "noise multiplier"
        shown = [replace(row, answer=screens.per_clip(row.answer)) for row in rows]
        rows = [
            replace(
                row, answer=replace(row.answer, extra={"noise_multiplier": float(other.answer)})
            )
            for row, other in zip(rows, shown, strict=True)
        ]
        plan = plan.with_sigma(float(rows[0].answer))
        first = next(row for row in rows if row.notion in ("strong", "client"))
        answer = must_be_finite(first.answer)
        noise = screens.per_clip(answer)
        head = f"noise multiplier {leading(noise, 5)}    for {screens.target(**goal)}"
        sure = screens.sure(noise, "with it the target is met")
        more, number = [f"({screens.MULTIPLIER})"], safe_number(noise)
        screen = screens.Screen(answer, head, sure, number=number, more=more)
        extra = {"epsilon": float(goal["epsilon"]), **answer.extra}
    else:
        goal = {"delta": DELTA.check(call("delta"), typed["delta"])}
        rows = shown = list((plan.proved_rows if line.get("prove") else plan.rows)(**goal))
        first = next(row for row in rows if row.notion in ("strong", "client"))
        answer = must_be_finite(first.answer)
        screen = screens.of_answer(answer, goal)
        if "sigma" in typed:
            sigma = plans.options()["sigma"].check("sigma", typed["sigma"])

            def other() -> Answer:
                of_clip = plan.with_sigma(float(sigma / plan.adjacency.clip_factor)).rows(**goal)
                return next(row.answer for row in of_clip if row.notion == first.notion)

            notes = screens.readings("--sigma", sigma, plan.adjacency, other)
    limit = plan.mu_clt if math.isfinite(plan.mu_clt) else None
    screen = replace(
        screen,
        plan=f"{plan.algorithm} ({plan.paper}); sensitivity {plan.sensitivity}",
        trust=plan.promises(),
        below=["", *_tables(shown, quantity)],
        notes=notes,
        details=[f"  mu_clt {near(limit, 8)}; a limit, no guarantee"] if limit is not None else [],
    )
    said = answer.to_dict()
    body = {
        "algorithm": plan.algorithm,
        "quantity": answer.quantity,
        "delta": float(goal["delta"]),
        **{key: said[key] for key in ("value", "lower", "upper", "side", "strength", "method")},
        **extra,
        "mu_clt": limit,
        "unit": str(plan.unit),
        "adjacency": str(plan.adjacency),
        "sensitivity": plan.sensitivity,
        "assumptions": list(plan.promises()),
        "plan": plan.tree().to_dict(),
        "routes": [_row_json(row, answer.quantity) for row in rows],
    }
    return screen.result(line)._replace(body=lambda: body)


# --- clients with budgets of their own


def _harmonized(plan: UDPFL) -> Result:
    clients = list(plan.harmonized())
    rows = [row for harmonized in clients for row in plan.rows_of(harmonized)]

    def quiet() -> Iterator[str]:
        for each in clients:
            yield f"{each.client.name} {'-' if each.epsilon is None else safe_number(each.epsilon)}"

    def lines() -> Iterator[str]:
        head = ("client", "noise", "by the paper's rule", "stops after", "by its rule", "epsilon")
        yield f"{plan.algorithm}: {plan.rounds} rounds of {plan.local_steps} local steps"
        yield from aligned((*head, "penalty"), [_cells(harmonized) for harmonized in clients])
        yield from ("", *_tables(rows, "epsilon"), "")
        yield f"  protects one {plan.unit} of one client; sensitivity: {plan.sensitivity}"
        yield from (f"  assumes: {promise}" for promise in plan.promises())

    body = {
        "algorithm": plan.algorithm,
        "quantity": "epsilon",
        "mu_clt": None,
        "unit": str(plan.unit),
        "sensitivity": plan.sensitivity,
        "assumptions": list(plan.promises()),
        "clients": [_client_json(harmonized) for harmonized in clients],
        "routes": [_row_json(row, "epsilon") for row in rows],
    }
    return Result(lambda: body, lines, quiet)


def _cells(one: Harmonized) -> tuple[str, ...]:
    """The row of a client; what is not known of it is left empty."""
    assert one.client.noise is not None
    size = near(float(one.client.noise), _DIGITS)
    if one.noise is not None:
        size = safe_number(one.noise, _DIGITS)
    return (
        one.client.name,
        f"{one.client.parameter} = {size}",
        "" if one.paper_noise is None else near(one.paper_noise, _DIGITS),
        "" if one.last_round is None else str(one.last_round),
        "" if one.paper_last_round is None else str(one.paper_last_round),
        "takes no part" if one.epsilon is None else _cell(one.epsilon),
        "" if one.penalty is None else f"{one.penalty:.4g}",
    )


def _client_json(one: Harmonized) -> dict[str, Any]:
    noise: Any = None if one.client.noise is None else float(one.client.noise)
    if one.noise is not None:
        noise = replace(one.noise, alternatives=()).to_dict()
    return {
        "name": one.client.name,
        "mechanism": one.client.mechanism,
        "noise": noise,
        "paper_noise": one.paper_noise,
        "stops_after": one.last_round,
        "paper_stops_after": one.paper_last_round,
        "rounds": one.rounds,
        "epsilon": None if one.epsilon is None else one.epsilon.to_dict(),
        "penalty": one.penalty,
    }


# --- rows in words and in JSON


def _cell(answer: Answer) -> str:
    """`<= 14.523766 (>= 11.261744)`: the safe end first."""
    if not math.isfinite(float(answer)):
        return "none is finite"
    bound, upward = bounded(answer, _DIGITS), answer.safe_end == "upper"
    other = answer.lower if upward else answer.upper
    if other is None or is_tight(answer) or answer.is_estimate:
        return bound
    return f"{bound} ({f'>= {down(other, _DIGITS)}' if upward else f'<= {up(other, _DIGITS)}'})"


def _tables(rows: Sequence[Row], quantity: str) -> list[str]:
    """The answers, where routes that differ in the notion alone are one; then the papers' numbers."""
    answers, numbers = [row for row in rows if row.printed is None], list[tuple[str, ...]]()
    cells = []
    for _, alike in groupby(answers, key=lambda row: (row.name, row.who, row.about, row.answer)):
        same = [*alike]
        first, notions = same[0], " and ".join(dict.fromkeys(row.notion for row in same))
        cells.append(
            (
                first.name,
                _whose(first, notions),
                _cell(first.answer),
                grade(first.answer),
                first.about,
            )
        )
    for row in rows:
        if (printed := row.printed) is not None:
            true = "as printed" if printed.holds else _cell(row.answer)
            value = near(printed.value, _DIGITS)
            whose = _whose(row, row.notion)
            numbers.append((printed.theorem, whose, value, printed.status, true, printed.told))
    lines = aligned(("route", "from whom", quantity, "grade", "what it is"), cells)
    if not numbers:
        return lines
    head = ("statement", "from whom", "printed", "status", "true", "why")
    return [*lines, "", "what the paper's formulas give:", *aligned(head, numbers)]


def _whose(row: Row, notion: str) -> str:
    return f"{row.who}: {notion}" if row.who else notion


def _row_json(row: Row, quantity: str) -> dict[str, Any]:
    """One route; its answer stands under the quantity's name."""
    body: dict[str, Any] = {"name": row.name, "notion": row.notion}
    body |= {"client": row.who} if row.who else {}
    body[quantity] = replace(row.answer, alternatives=()).to_dict()
    body |= {"about": row.about} if row.about else {}
    if (printed := row.printed) is not None:
        body["printed"] = {
            "theorem": printed.theorem,
            "value": printed.value if math.isfinite(printed.value) else None,
            "status": printed.status,
            "is_answer": printed.holds,
            "told": printed.told,
        }
    return body
