"""A plan file of either kind as a report states it: steps, or a federated plan with its own routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli import federated_plan as plans
from dpacct.cli.federated_text import answer_rows, printed_rows
from dpacct.cli.toml_file import contents, file_name, table_of
from dpacct.cli.words import PlanFile, is_federated, plan_of_text, told_of
from dpacct.declare.domain import did_you_mean, one_of
from dpacct.declare.record import Exclusive, Usage
from dpacct.errors import InvalidArgument, NotCertified, Unreachable

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import UDPFL, FederatedPlan, Harmonized, Row
    from dpacct.report.about import About
    from dpacct.report.document import ReportSection
    from dpacct.tree import Node


class MissingKey(Usage):
    """Something that a report does not leave to a default is not in the file."""

    kind = "missing-key"


_VIEWERS = {
    "strong": "the server and all other clients together",
    "client": "everyone who sees the released models",
    "record": "everyone who sees the client's models",
}


def read_stated(path: str, client: str | None = None) -> PlanFile:
    """The plan of a file, of steps or of `dpacct federated`; `client` chooses one of udp-fl's.

    Raises:
        InvalidArgument: the file cannot be read or is no plan, says no noise, or names no such client.
    """
    text, name = contents(path), file_name(path)
    if not text.lstrip().startswith("{"):
        table = table_of(text, name)
        if is_federated(table):
            return _federated(table, name, client)
    if client is not None:
        message = f"--client is about plans of udp-fl; {name} is a plan of steps"
        raise Exclusive(message, argument="--client")
    return plan_of_text(text, name)


def _federated(table: Mapping[str, Any], name: str, client: str | None) -> PlanFile:
    settings = plans.settings_of(table, name)
    algorithm = settings.pop("algorithm", "prifedsync")
    declared, about = told_of(table, name)
    if algorithm == "udp-fl":
        file = _of_client(plans.clients_of(settings, name), client, name)
        return replace(file, assumptions=declared, about=_told(about, "record", file.about))
    if client is not None or "client" in settings:
        message = f"a client can be chosen in a plan of udp-fl only; {name} is one of {algorithm}"
        raise Exclusive(message, argument="--client")
    if "epsilon" in settings:
        message = f"a report states the epsilon of a noise: in {name}, write the sigma that"
        raise Usage(f"{message} dpacct federated finds in place of `epsilon`", argument="epsilon")
    if not settings.keys() & set(plans.NOISE):
        message = f"{name} has no noise, without which there is nothing to report: add the line"
        raise Usage(f"{message} `sigma = 1` (standard deviation / sensitivity)", argument="sigma")
    plan = plans.plan_of(algorithm, settings)
    node = plan.tree().under(str(plan.adjacency), unit=str(plan.unit))
    # Towards whom: all others at once, and not who sees a single message of a secure sum.
    notion = next(each for each in plan.notions if each in ("strong", "client"))

    def account(delta: Fraction) -> tuple[Answer, tuple[ReportSection, ...]]:
        rows = _rows(plan, delta)
        first = next(row.answer for row in rows if row.notion == notion)
        return _for(node, first), _sections(plan, rows)

    return PlanFile(
        node,
        delta=settings.get("delta"),
        assumptions=declared,
        about=_told(about, notion),
        account=account,
    )


def _rows(plan: FederatedPlan, delta: Fraction) -> list[Row]:
    """Proven where that succeeds: a report is written once."""
    try:
        return list(plan.proved_rows(delta=delta))
    except NotCertified:
        return list(plan.rows(delta=delta))


def _of_client(plan: UDPFL, name: str | None, file: str) -> PlanFile:
    """What is promised to the records of one client."""
    names = [client.name for client in plan.clients]
    if name is None and len(names) > 1:
        message = (
            f"each client of {file} has a guarantee of its own: choose one with --client, such as"
        )
        raise MissingKey(f"{message} {one_of(names[:6])}", argument="--client")
    if name is not None and name not in names:
        message = f"--client must be one of {one_of(names[:6])}, got {name[:40]!r}"
        raise InvalidArgument(message + did_you_mean(name, names), argument="--client")
    harmonized = next(each for each in plan.harmonized() if name in (None, each.client.name))
    if harmonized.epsilon is None:
        message = f"client {harmonized.client.name} takes no part: its budget is less than one round costs"
        raise Unreachable(message, argument="--client")
    answer = harmonized.epsilon
    node = plan.tree(harmonized.client, harmonized.rounds).under(
        str(answer.adjacency), unit="record"
    )

    def account(delta: Fraction) -> tuple[Answer, tuple[ReportSection, ...]]:
        if delta != harmonized.client.delta:
            message = (
                f"--delta: the delta of client {harmonized.client.name} is in {file}, where it decides"
                " its noise or its last round."
            )
            raise Exclusive(message, argument="--delta")
        return _for(node, answer), _sections(plan, list(plan.rows_of(harmonized)))

    return PlanFile(
        node, delta=Fraction(harmonized.client.delta), about=_whose(harmonized), account=account
    )


def _whose(harmonized: Harmonized) -> About:
    from dpacct.report.about import About

    return About(unit=f"one record of the client {harmonized.client.name}")


def _told(about: About | None, notion: str, default: About | None = None) -> About:
    """What the file says of the deployment, and what the kind of plan says where the file does not."""
    from dpacct.report.about import About

    usual = {"setting": "Federated", "viewer": _VIEWERS[notion]}
    usual |= default.said if default else {}
    return About(**(usual | (about.said if about else {})))


def _for(node: Node, answer: Answer) -> Answer:
    return replace(answer, tree=node, unit=node.unit, alternatives=())


def _signs(cells: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """As the rest of a report writes them."""
    return tuple(
        tuple(cell.replace("<= ", "≤ ").replace(">= ", "≥ ") for cell in row) for row in cells
    )


def _sections(plan: FederatedPlan | UDPFL, rows: Sequence[Row]) -> tuple[ReportSection, ...]:
    from dpacct.report.document import NO_GUARANTEE, ReportSection

    sides = "Weak is towards one other client, strong towards all others and the server together."
    differs = any(row.notion == "weak" for row in rows)
    head, cells = answer_rows(rows, "epsilon", estimate=f"{NO_GUARANTEE}: ")
    routes = ReportSection(
        title="From whom, and by every route",
        paragraphs=(
            f"Algorithm {plan.algorithm} ({plan.paper}). One {plan.unit} moves what the noise is added to"
            f" as follows: {plan.sensitivity}.",
            *([sides] if differs else []),
        ),
        head=head,
        rows=_signs(cells),
    )
    head, cells = printed_rows(rows, refuted=f"{NO_GUARANTEE}: ")
    if not cells:
        return (routes,)
    return routes, ReportSection(
        title="What the paper's formulas give", head=head, rows=_signs(cells)
    )
