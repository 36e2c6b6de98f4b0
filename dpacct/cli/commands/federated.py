"""A federated plan, and what its paper says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import leading, safe_number
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
    words,
)
from dpacct.cli.federated_plan import PlanSettings, cell, row_json, tables
from dpacct.cli.output import Result, must_be_finite
from dpacct.cli.plan_file import contents, file_name, table_of
from dpacct.declare.domain import DELTA
from dpacct.declare.number import rounded
from dpacct.declare.record import Exclusive, Usage
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import UDPFL, Harmonized


@command(
    "federated",
    words("Settings", *plans.options().values()),
    group(
        "Plan",
        argument("[PLAN]"),
        option("--algorithm NAME", f"{', '.join(plans.kinds())}, or udp-fl with a plan file"),
    ),
    TARGET,
    group(
        "Output",
        switch("--prove", "prifedsync: prove the two-level answer; takes some seconds"),
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
    path = line.get("path")
    name = "" if path is None else file_name(path)
    settings = (
        PlanSettings() if path is None else plans.settings_of(table_of(contents(path), name), name)
    )
    settings = settings.under(line.pick((*plans.options(), "algorithm", "epsilon", "delta")))
    chosen = settings.algorithm
    if line.has("prove") and (chosen != "prifedsync" or "epsilon" in settings.typed):
        wrong = (
            "--prove is about the epsilon of prifedsync; the grade of other answers says what is"
        )
        raise Exclusive(f"{wrong} proven", argument="--prove")
    if chosen == "udp-fl":
        if not name:
            raise Usage("udp-fl needs a plan file with [[client]] tables", argument="PLAN")
        return _harmonized(plans.clients_of(settings, name))
    return _account(line, settings)


def _account(line: CommandLine, settings: PlanSettings) -> Result:
    """The answers about a plan whose clients are all alike."""
    plan, call, typed = plans.plan_of(settings), settings.call, settings.typed
    target: dict[str, Any] = {k: typed[k] for k in ("epsilon", "delta") if k in typed}
    notes, extra = list[str](), dict[str, Any]()
    if "epsilon" in target:
        target = BoundaryQuestion.read(target, call).settings
        found = [
            replace(row, answer=replace(row.answer, extra=_multiplier(row.answer)))
            for row in plan.sigma_rows(**target)
        ]
        plan = plan.with_sigma(float(found[0].answer))
    else:
        target = {"delta": DELTA.check(call("delta"), typed["delta"])}
        found = list((plan.proved_rows if line.has("prove") else plan.rows)(**target))
    first = next(row for row in found if row.notion in ("strong", "client"))
    answer, shown, quantity = must_be_finite(first.answer), found, "epsilon"
    if "epsilon" in target:
        noise, quantity = screens.per_clip(answer), "noise multiplier"
        shown = [replace(row, answer=screens.per_clip(row.answer)) for row in found]
        head = f"noise multiplier {leading(noise, 5)}    for {screens.target(**target)}"
        sure = screens.sure(noise, "with it the target is met")
        more, number = [f"({screens.MULTIPLIER})"], safe_number(noise)
        screen = screens.Screen(answer, head, sure, number=number, more=more)
        extra = {"epsilon": float(target["epsilon"]), **answer.extra}
    else:
        screen = screens.of_answer(answer, target)
        if "sigma" in typed:
            sigma, factor = (
                plans.options()["sigma"].check("sigma", typed["sigma"]),
                plan.adjacency.clip_factor,
            )

            def other() -> Answer:
                rows = plan.with_sigma(float(sigma / factor)).rows(**target)
                return next(row.answer for row in rows if row.notion == first.notion)

            notes = screens.two_readings("--sigma", sigma, plan.adjacency, other)
    limit = plan.mu_clt if math.isfinite(plan.mu_clt) else None
    mu = f"  mu_clt {rounded(limit or 0.0, 'nearest', 8)}; a limit, no guarantee"
    screen = replace(
        screen,
        plan=f"{plan.algorithm} ({plan.paper}); sensitivity {plan.sensitivity}",
        trust=plan.promises(),
        below=["", *tables(shown, quantity)],
        notes=notes,
        details=[mu] if limit is not None else [],
    )
    said = answer.to_dict()
    body = {
        "algorithm": plan.algorithm,
        "quantity": answer.quantity,
        "delta": float(target["delta"]),
        **{key: said[key] for key in ("value", "lower", "upper", "side", "strength", "method")},
        **extra,
        "mu_clt": limit,
        "unit": str(plan.unit),
        "adjacency": str(plan.adjacency),
        "sensitivity": plan.sensitivity,
        "assumptions": list(plan.promises()),
        "plan": plan.tree().to_dict(),
        "routes": [row_json(row, answer.quantity) for row in found],
    }
    return screen.result(line)._replace(body=lambda: body)


def _multiplier(sigma: Answer) -> dict[str, float]:
    return {"noise_multiplier": float(screens.per_clip(sigma))}


# --- clients with budgets of their own


def _harmonized(plan: UDPFL) -> Result:
    clients = list(plan.harmonized())
    rows = [row for harmonized in clients for row in plan.rows_of(harmonized)]

    def quiet() -> Iterator[str]:
        for each in clients:
            epsilon = "-" if each.epsilon is None else safe_number(each.epsilon)
            yield f"{each.client.name} {epsilon}"

    def lines() -> Iterator[str]:
        head = ("client", "noise", "by the paper's rule", "stops after", "by its rule", "epsilon")
        yield f"{plan.algorithm}: {plan.rounds} rounds of {plan.local_steps} local steps"
        yield from aligned((*head, "penalty"), [_cells(harmonized) for harmonized in clients])
        yield from ("", *tables(rows, "epsilon"), "")
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
        "routes": [row_json(row, "epsilon") for row in rows],
    }
    return Result(lambda: body, lines, quiet)


def _cells(one: Harmonized) -> tuple[str, ...]:
    """The row of a client; what is not known of it is left empty."""
    assert one.client.noise is not None
    size = rounded(float(one.client.noise), "nearest", 8)
    if one.noise is not None:
        size = safe_number(one.noise, 8)
    return (
        one.client.name,
        f"{one.client.parameter} = {size}",
        "" if one.paper_noise is None else rounded(one.paper_noise, "nearest", 8),
        "" if one.last_round is None else str(one.last_round),
        "" if one.paper_last_round is None else str(one.paper_last_round),
        "takes no part" if one.epsilon is None else cell(one.epsilon),
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
