"""`dpacct federated`: what a federated plan costs, beside what its paper says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import federated_plan as plans
from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option, stack
from dpacct.cli.failure import SCHEMA
from dpacct.cli.federated_text import cell, number, row_json, tables, told
from dpacct.cli.output import must_be_finite, write_json, write_lines
from dpacct.cli.refusal import Refusal
from dpacct.cli.rounding import rounded, short
from dpacct.cli.table import aligned
from dpacct.cli.text import safe_number
from dpacct.cli.toml_file import file_name
from dpacct.cli.values import Choice, FilePath
from dpacct.report.rounding import Direction

if TYPE_CHECKING:
    from dpacct.federated import FederatedPlan, Harmonized, Row

_CLIENTS, _LOCAL, _NOISE, _TRUST = "Clients", "Local training", "Noise", "Who sees what"
_METAVARS = {
    "clients": (_CLIENTS, "M", "Number of clients."),
    "client_rate": (_CLIENTS, "P", "Share of the clients in a round; a coin for each, or a lot."),
    "rounds": (_CLIENTS, "R", "Number of rounds."),
    "batch_size": (_LOCAL, "B", "prifedsync: records of a client in a local step."),
    "records": (_LOCAL, "N", "prifedsync: records of a client."),
    "local_steps": (_LOCAL, "K", "prifedsync: noisy local steps in a round."),
    "sigma": (_NOISE, "S", "Standard deviation / sensitivity (prifedsync: std / (2C))."),
    "noise_multiplier": (_NOISE, "Z", "Standard deviation / clip, the other way to say it."),
    "clip": (_NOISE, "C", "Clipping norm of a client's update; 1 unless given."),
    "missing": (_TRUST, "N", "Clients of a round that drop out, or tell their noise."),
    "smoothing": (_NOISE, "S", "dp-fed-ls: smoothing factor; costs nothing."),
}
_WORDS = {
    "participation": "prifedsync: public, or secret (which is then not relied upon).",
    "sampling": "Clients of a round: poisson, a coin each; uniform, a fixed number.",
    "noise_by": "Who adds the noise: the server, or the clients a share each.",
}
_plan_options = stack(
    [
        option(plans.dashed(name), name, section=where, type=plans.NUMBERS[name], metavar=m, help=h)
        for name, (where, m, h) in _METAVARS.items()
    ]
    + [
        option(
            plans.dashed(name),
            name,
            section=_TRUST if name != "sampling" else _CLIENTS,
            type=plans.WORDS[name],
            help=text,
        )
        for name, text in _WORDS.items()
    ]
)


@click.command(
    "federated",
    cls=ExampleCommand,
    rank=57,
    short_help="A federated plan, and what its paper says.",
    examples=(
        "federated --clients 9 --batch-size 8 --records 80 --local-steps 9 --rounds 9 --sigma 2 --delta 1e-5",
        "federated prifedsync.toml --sigma 1",
        "federated prifedsync.toml --eps 8 --json",
        "federated --algorithm dp-fed --clients 900 --client-rate 0.05 --rounds 99 --sigma 1 --delta 1e-5",
        "federated udp-fl.toml",
    ),
)
@click.argument("path", metavar="[PLAN]", required=False, type=FilePath())
@option(
    "--algorithm",
    section="Plan",
    type=Choice(plans.ALGORITHMS),
    metavar="NAME",
    help=f"{', '.join(plans.ALGORITHMS)}; prifedsync unless given. udp-fl needs a plan file.",
)
@_plan_options
@options.epsilon_option(required=False)
@options.delta_option(required=False)
@option(
    "--prove",
    section="Output",
    is_flag=True,
    help="prifedsync: prove the two-level answer; takes some seconds.",
)
@options.json_option
@options.quiet_option
def command(
    path: str | None,
    algorithm: str | None,
    prove: bool,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Account a federated plan: epsilon, or with --eps the noise for it.

    prifedsync protects one record of a client from one other client (weak) and from all of them
    (strong); udp-fl a record of each client, by its own budget; the others protect a whole client. A
    statement of a paper that is refuted is shown with the truth, and is never an answer. PLAN is a
    TOML file with the same settings.
    """
    settings = {} if path is None else plans.read_file(path)
    given = {name: value for name, value in values.items() if value is not None}
    if given.keys() & set(plans.NOISE):  # the command line's noise takes the place of the file's
        settings = {name: value for name, value in settings.items() if name not in plans.NOISE}
    settings |= given
    chosen = algorithm or settings.pop("algorithm", "prifedsync")
    settings.pop("algorithm", None)
    if prove and (chosen != "prifedsync" or "epsilon" in settings):
        wrong = "--prove is about the epsilon of prifedsync; the grade of other answers says what is proven"
        raise Refusal(f"{wrong}.", "--prove", kind="exclusive-options")
    if chosen == "udp-fl":
        if path is None:
            raise Refusal("udp-fl needs a plan file with [[client]] tables.", "PLAN")
        _harmonize(plans.clients_of(settings, file_name(path)), as_json=as_json, quiet=quiet)
        return
    if "client" in settings:
        raise Refusal(f"[[client]] belongs to udp-fl, not to {chosen}.", "client")
    if "delta" not in settings:
        raise Refusal("dpacct federated needs --delta.", "--delta")
    plan = plans.plan_of(chosen, settings)
    delta, target = settings["delta"], settings.get("epsilon")
    quantity = "epsilon" if target is None else "sigma"
    if target is None:
        rows = list((plan.proved_rows if prove else plan.rows)(delta=delta))
    else:
        rows = [_in_words(row, plan) for row in plan.sigma_rows(epsilon=target, delta=delta)]
        plan = plan.with_sigma(float(rows[0].answer))
    first = next(row for row in rows if row.notion in ("strong", "client"))
    must_be_finite(first.answer)
    if quiet:
        click.echo(safe_number(first.answer))
        return
    if as_json:
        write_json(_json(plan, rows, first, float(delta), target))
        return
    at = f"delta {short(delta)}"
    at = at if target is None else f"epsilon {float(target):.6g}, {at}"
    lines = [f"{quantity} of {plan.algorithm} at {at}", *tables(rows, quantity)]
    lines += ["", *_limit(plan.mu_clt), *told(plan, plan.tree(), plan.promises())]
    write_lines(lines)


def _in_words(row: Row, plan: FederatedPlan) -> Row:
    """The noise per clip, too."""
    factor = row.answer.adjacency.clip_factor
    answer = replace(row.answer, extra={"noise_multiplier": factor * float(row.answer)})
    return replace(row, answer=answer)


def _limit(mu: float) -> list[str]:
    shown = number(mu)
    return (
        [] if shown is None else [f"  mu_clt {rounded(shown, 'nearest', 8)}; a limit, no guarantee"]
    )


def _json(
    plan: FederatedPlan, rows: list[Row], first: Row, delta: float, target: Any
) -> dict[str, Any]:
    quantity = first.answer.quantity
    told = first.answer.to_dict()
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "command": "federated",
        "algorithm": plan.algorithm,
        "quantity": quantity,
        "delta": delta,
        **{key: told[key] for key in ("value", "lower", "upper", "side", "strength", "method")},
    }
    if target is not None:
        body["epsilon"] = float(target)
    return body | {
        "mu_clt": number(plan.mu_clt),
        "unit": str(plan.unit),
        "adjacency": str(plan.adjacency),
        "sensitivity": plan.sensitivity,
        "assumptions": list(plan.promises()),
        "plan": plan.tree().to_dict(),
        "routes": [row_json(row, quantity) for row in rows],
    }


# --- clients with budgets of their own


def _harmonize(plan: Any, *, as_json: bool, quiet: bool) -> None:
    found = list(plan.harmonized())
    rows = [row for one in found for row in plan.rows_of(one)]
    if quiet:
        for one in found:
            click.echo(
                f"{one.client.name} {'-' if one.epsilon is None else safe_number(one.epsilon)}"
            )
        return
    if as_json:
        write_json(
            {
                "schema": SCHEMA,
                "command": "federated",
                "algorithm": plan.algorithm,
                "quantity": "epsilon",
                "mu_clt": None,
                "unit": str(plan.unit),
                "sensitivity": plan.sensitivity,
                "assumptions": list(plan.promises()),
                "clients": [_client_json(one) for one in found],
                "routes": [row_json(row, "epsilon") for row in rows],
            }
        )
        return
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
    lines += aligned(header, [_client_line(one) for one in found])
    lines += ["", *tables(rows, "epsilon"), ""]
    lines += [f"  protects one {plan.unit} of one client; sensitivity: {plan.sensitivity}"]
    write_lines(lines + [f"  assumes: {promise}" for promise in plan.promises()])


def _client_line(one: Harmonized) -> tuple[str, ...]:
    size = one.client.noise
    assert size is not None
    mode: Direction = "nearest"
    if one.noise is not None:
        mode = "down" if one.noise.safe_end == "lower" else "up"
    return (
        one.client.name,
        f"{one.client.parameter} = {rounded(float(size), mode, 8)}",
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
