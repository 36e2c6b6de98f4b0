"""A federated plan, and what its paper says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import KNOWN, leading, safe_number
from dpacct.cli import federated_plan as plans
from dpacct.cli import screens
from dpacct.cli.command import (
    DETAILS,
    QUIET,
    CommandLine,
    OptionGroup,
    argument,
    command,
    group,
    option,
    switch,
    words,
)
from dpacct.cli.federated_plan import cell, number, row_json, tables
from dpacct.cli.output import Result, must_be_finite
from dpacct.cli.plan_file import contents, file_name, table_of
from dpacct.cli.screens import MULTIPLIER, Screen, of_answer, per_clip, two_readings
from dpacct.cli.target import target
from dpacct.declare.number import Direction, rounded
from dpacct.declare.record import Exclusive, Usage
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import UDPFL, FederatedPlan, Harmonized, Row


def _settings() -> tuple[OptionGroup, ...]:
    return (words("Settings", *plans.settings().values()),)


@command(
    "federated",
    _settings,
    group(
        "Plan",
        argument("path", "[PLAN]", required=False),
        option("--algorithm NAME", plans.algorithms(), plans.ALGORITHM),
    ),
    target(),
    group(
        "Output",
        switch("--prove", "prifedsync: prove the two-level answer; takes some seconds"),
        switch("-q --quiet", QUIET),
        switch("--details", DETAILS),
    ),
    examples=(
        "federated --clients 9 --batch-size 8 --records 80 --local-steps 9 --rounds 9 --sigma 2 --delta 1e-5",
        "federated prifedsync.toml --noise-multiplier 2",
        "federated prifedsync.toml --eps 8 --json",
        "federated --algorithm dp-fed --clients 90 --client-rate 0.1 --rounds 9 --sigma 2 --delta 1e-5",
        "federated udp-fl.toml",
    ),
)
def main(
    line: CommandLine,
    *,
    path: str | None,
    algorithm: str | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    prove: bool,
    quiet: bool,
    details: bool,
) -> Result:
    """Compute the epsilon of a federated plan, or with --eps the noise for a target.

    prifedsync protects one record of a client from one other client (weak) and from all of them
    (strong); udp-fl a record of each client, by its own budget; the others protect a whole client. A
    statement of a paper that is refuted is shown with the truth, and is never an answer. PLAN is a
    TOML file with the same settings.
    """
    name = "" if path is None else file_name(path)
    table = {} if path is None else table_of(contents(path), name)
    settings = plans.settings_of(table, name)
    own = {"algorithm": algorithm, "epsilon": epsilon, "delta": delta}
    typed = plans.checked(line.typed, line.option)
    typed |= {key: value for key, value in own.items() if value is not None}
    if typed.keys() & set(plans.NOISE):  # the line's noise takes the place of the file's
        settings = {key: value for key, value in settings.items() if key not in plans.NOISE}
    settings = {"algorithm": "prifedsync", **settings, **typed}
    chosen = str(settings.pop("algorithm"))
    if prove and (chosen != "prifedsync" or "epsilon" in settings):
        wrong = (
            "--prove is about the epsilon of prifedsync; the grade of other answers says what is"
        )
        raise Exclusive(f"{wrong} proven", argument="--prove")
    if chosen == "udp-fl":
        if not name:
            raise Usage("udp-fl needs a plan file with [[client]] tables", argument="PLAN")
        return _harmonized(plans.clients_of(settings, name))
    if "client" in settings:
        raise Usage(f"[[client]] belongs to udp-fl, not to {chosen}", argument="client")
    return _account(plans.plan_of(chosen, settings), settings, prove=prove, details=details)


def _account(
    plan: FederatedPlan, settings: Mapping[str, Any], *, prove: bool, details: bool
) -> Result:
    delta: Fraction = settings["delta"]
    epsilon: Fraction | None = settings.get("epsilon")
    sigma: Fraction | None = settings.get("sigma")
    if epsilon is None:
        rows = list((plan.proved_rows if prove else plan.rows)(delta=delta))
    else:
        rows = []
        for row in plan.sigma_rows(epsilon=epsilon, delta=delta):
            said = replace(row.answer, extra={"noise_multiplier": float(per_clip(row.answer))})
            rows.append(replace(row, answer=said))
        plan = plan.with_sigma(float(rows[0].answer))
    first = next(row for row in rows if row.notion in ("strong", "client"))
    must_be_finite(first.answer)
    if epsilon is None:
        screen = of_answer(first.answer, {"delta": delta})
    else:
        noise = per_clip(first.answer)
        head = f"noise multiplier {leading(noise, 5)}    for {screens.target(epsilon, delta)}"
        sure = f"{KNOWN[noise.strength].partition(';')[0]}: with it the target is met"
        screen = Screen(
            first.answer, head, sure, number=safe_number(noise), more=[f"({MULTIPLIER})"]
        )
    shown, notes = tables(rows, "epsilon"), list[str]()
    if epsilon is not None:
        shown = tables([replace(r, answer=per_clip(r.answer)) for r in rows], "noise multiplier")
    elif sigma is not None:

        def other() -> Answer:
            again = plan.with_sigma(float(sigma / plan.adjacency.clip_factor))
            rows = again.rows(delta=delta)
            return next(row.answer for row in rows if row.notion == first.notion)

        notes = two_readings("--sigma", sigma, plan.adjacency, other)
    limit = number(plan.mu_clt)
    mu = f"  mu_clt {rounded(limit or 0.0, 'nearest', 8)}; a limit, no guarantee"
    screen = replace(
        screen,
        plan=f"{plan.algorithm} ({plan.paper}); sensitivity {plan.sensitivity}",
        trust=plan.promises(),
        below=["", *shown],
        notes=notes,
        details=[mu] if limit is not None else [],
    )
    answer, quantity = first.answer.to_dict(), first.answer.quantity
    keys = ("value", "lower", "upper", "side", "strength", "method")
    body: dict[str, Any] = {
        "algorithm": plan.algorithm,
        "quantity": quantity,
        "delta": float(delta),
        **{key: answer[key] for key in keys},
        **({} if epsilon is None else {"epsilon": float(epsilon), **first.answer.extra}),
        "mu_clt": limit,
        "unit": str(plan.unit),
        "adjacency": str(plan.adjacency),
        "sensitivity": plan.sensitivity,
        "assumptions": list(plan.promises()),
        "plan": plan.tree().to_dict(),
        "routes": [row_json(row, quantity) for row in rows],
    }
    return screen.result(details)._replace(body=lambda: body)


# --- clients with budgets of their own


def _harmonized(plan: UDPFL) -> Result:
    clients = list(plan.harmonized())
    rows = [row for harmonized in clients for row in plan.rows_of(harmonized)]

    def quiet() -> Iterator[str]:
        for each in clients:
            epsilon = "-" if each.epsilon is None else safe_number(each.epsilon)
            yield f"{each.client.name} {epsilon}"

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
    return Result(lambda: body, lambda: _client_lines(plan, clients, rows), quiet)


def _client_lines(plan: UDPFL, clients: list[Harmonized], rows: list[Row]) -> list[str]:
    header = (
        "client",
        "noise",
        "by the paper's rule",
        "stops after",
        "by its rule",
        "epsilon",
        "penalty",
    )
    lines = [f"{plan.algorithm}: {plan.rounds} rounds of {plan.local_steps} local steps"]
    lines += aligned(header, [_client_line(harmonized) for harmonized in clients])
    lines += ["", *tables(rows, "epsilon"), ""]
    lines += [f"  protects one {plan.unit} of one client; sensitivity: {plan.sensitivity}"]
    return lines + [f"  assumes: {promise}" for promise in plan.promises()]


def _client_line(harmonized: Harmonized) -> tuple[str, ...]:
    size = harmonized.client.noise
    assert size is not None
    mode: Direction = "nearest"
    if harmonized.noise is not None:
        mode = "down" if harmonized.noise.safe_end == "lower" else "up"
    return (
        harmonized.client.name,
        f"{harmonized.client.parameter} = {rounded(float(size), mode, 8)}",
        "" if harmonized.paper_noise is None else rounded(harmonized.paper_noise, "nearest", 8),
        "" if harmonized.last_round is None else str(harmonized.last_round),
        "" if harmonized.paper_last_round is None else str(harmonized.paper_last_round),
        "takes no part" if harmonized.epsilon is None else cell(harmonized.epsilon),
        "" if harmonized.penalty is None else f"{harmonized.penalty:.4g}",
    )


def _client_json(harmonized: Harmonized) -> dict[str, Any]:
    noise: Any = None if harmonized.client.noise is None else float(harmonized.client.noise)
    if harmonized.noise is not None:
        noise = replace(harmonized.noise, alternatives=()).to_dict()
    return {
        "name": harmonized.client.name,
        "mechanism": harmonized.client.mechanism,
        "noise": noise,
        "paper_noise": harmonized.paper_noise,
        "stops_after": harmonized.last_round,
        "paper_stops_after": harmonized.paper_last_round,
        "rounds": harmonized.rounds,
        "epsilon": None if harmonized.epsilon is None else harmonized.epsilon.to_dict(),
        "penalty": harmonized.penalty,
    }
