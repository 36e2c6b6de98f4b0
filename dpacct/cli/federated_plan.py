"""Federated plans from options or a plan file, and their reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import bounded, grade, is_tight
from dpacct.cli.plan_file import (
    PlanFile,
    as_table,
    at,
    check_keys,
    contents,
    file_name,
    is_federated,
    plan_of_text,
    table_of,
    texts,
    told_of,
)
from dpacct.cli.target import MEANS
from dpacct.declare.domain import DELTA, EPSILON, POSITIVE, Word, did_you_mean, one_of
from dpacct.declare.number import down, listed, rounded, up
from dpacct.declare.record import Call, Exclusive, Parameter, Usage
from dpacct.display import aligned
from dpacct.errors import InvalidArgument, NotCertified, Unreachable

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import UDPFL, Client, FederatedPlan, Harmonized, Row
    from dpacct.plan.node import Node
    from dpacct.report.about import About
    from dpacct.report.document import ReportSection

_NOISE = {
    "sigma": Parameter(
        POSITIVE, "standard deviation / sensitivity (prifedsync: std / (2C))", "S", alias="sigma"
    ),
    "noise_multiplier": Parameter(
        POSITIVE, "standard deviation / clip, instead of --sigma", "Z", alias="noise_multiplier"
    ),
}
NOISE = (*_NOISE, "epsilon")
"""Ways to say how much noise there is, or what it is for."""
_ELSEWHERE = dict.fromkeys(("client", "assumptions", "report"), "")
_FOR_ALL = ("delta", "client_rate")  # may stand once for all clients of udp-fl


@cache
def kinds() -> dict[str, type[FederatedPlan]]:
    """The algorithms whose clients are all alike, by their names."""
    from dpacct.federated import FederatedPlan

    classes = FederatedPlan.__subclasses__()
    for each in classes:
        classes += each.__subclasses__()
    return {each.algorithm: each for each in classes if "algorithm" in vars(each)}


class AlgorithmName(Word):
    """The name of an algorithm, also as papers and training write it: DP-FedAvg, dp_fedavg."""

    def check(self, name: str, value: object) -> str:
        """The name as `dpacct federated --help` lists it."""
        self.choices = self.choices or _names()
        return super().check(name, str(value).lower().replace("_", "-"))


def _names() -> tuple[str, ...]:
    return (*sorted(kinds(), key=lambda name: name != "prifedsync"), "udp-fl")


def algorithms() -> str:
    """Every algorithm in the words of the help."""
    return f"{', '.join(_names())}; prifedsync unless given; udp-fl needs a plan file"


ALGORITHM = AlgorithmName()


@cache
def settings() -> dict[str, Parameter[Any]]:
    """The settings of all these algorithms."""
    declared: dict[str, Parameter[Any]] = {}
    for kind in reversed(kinds().values()):  # the last is PriFedSync, whose ranges are narrower
        declared = {**kind.parameters, **declared}
    return {**declared, **_NOISE}


@cache
def keys() -> dict[str, Parameter[Any]]:
    """The keys that a file may have outside its tables."""
    target = {
        "epsilon": Parameter(EPSILON, MEANS["epsilon"]),
        "delta": Parameter(DELTA, MEANS["delta"]),
    }
    return {"algorithm": Parameter(ALGORITHM, "name of the algorithm"), **settings(), **target}


def checked(typed: Mapping[str, str], call: Call) -> dict[str, Any]:
    """Settings as they were typed, made exact; raises `InvalidArgument`."""
    return {key: keys()[key].check(call(key), value) for key, value in typed.items()}


def option(name: str) -> str:
    """The command-line option of a setting."""
    return "--eps" if name == "epsilon" else "--" + name.replace("_", "-")


def settings_of(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings in a file's table; raises `InvalidArgument`."""
    if table.keys() & {"step", "plan"}:
        message = f"{name} is a plan of steps, which dpacct compose and dpacct report read"
        raise Usage(message, argument="PLAN")
    said, call = texts(table, keys(), name, _ELSEWHERE)
    told_of(table, name)
    with at(name):
        read = checked(said, call)
    return read | ({"client": table["client"]} if "client" in table else {})


def plan_of(algorithm: str, settings: Mapping[str, Any]) -> FederatedPlan:
    """The plan; raises `InvalidArgument` for settings that are missing, or that the algorithm has not."""
    kind = kinds()[algorithm]
    said = {name: value for name, value in settings.items() if name not in (*NOISE, "delta")}
    for name in said:
        if name not in kind.parameters:
            takes = ", ".join(map(option, dict.fromkeys((*kind.parameters, "delta", *NOISE))))
            message = f"{option(name)} is not a setting of {algorithm}, which takes {takes}"
            raise Exclusive(message, argument=option(name))
    required = [name for name, each in kind.parameters.items() if each.required]
    missing = [n for n in ("delta", *required) if n not in settings and n not in NOISE]
    if missing:
        message = f"{algorithm} needs {listed([*map(option, missing)])}"
        raise Usage(message, argument=option(missing[0]))
    return kind.read(said | _noise(kind, settings), option)


def _noise(kind: type[FederatedPlan], settings: Mapping[str, Any]) -> dict[str, Fraction]:
    """The noise as the class takes it; None if a target is given instead."""
    ways = [name for name in NOISE if name in settings]
    if len(ways) != 1:
        message = "give the noise with --sigma (standard deviation / sensitivity) or"
        message += " --noise-multiplier (standard deviation / clip), or a target with --eps"
        got = " and ".join(map(option, ways)) or "none of them"
        raise Exclusive(f"{message}, got {got}", argument="--sigma")
    way, value = ways[0], settings[ways[0]]
    accepted = kind.parameters
    if "sigma" in accepted:  # sensitivity 2C: one record is exchanged
        return {"sigma": Fraction(1) if way == "epsilon" else value / (1 + (way != "sigma"))}
    if way == "epsilon":
        return {"noise_multiplier": Fraction(1)}
    usual = accepted["sampling"].default if "sampling" in accepted else ""
    uniform = settings.get("sampling", usual) == "uniform"
    return {"noise_multiplier": value * (1 + uniform) if way == "sigma" else value}


def clients_of(settings: Mapping[str, Any], name: str) -> UDPFL:
    """The plan of a file with [[client]] tables; raises `InvalidArgument`."""
    from dpacct.federated import UDPFL

    with at(name):
        check_keys(settings, ("client", "rounds", "local_steps", *_FOR_ALL), "udp-fl")
        tables = settings.get("client")
        if not isinstance(tables, list) or not tables:
            raise Usage("there must be one or more [[client]] tables", argument="client")
        if "rounds" not in settings:
            raise Usage("udp-fl needs rounds", argument="rounds")
    shared = {key: settings[key] for key in _FOR_ALL if key in settings}
    members = [_client(table, f"{name}: client {i}", shared) for i, table in enumerate(tables, 1)]
    steps = {key: int(settings[key]) for key in ("rounds", "local_steps") if key in settings}
    with at(name):
        return UDPFL(clients=members, **steps)


def _client(table: object, place: str, shared: Mapping[str, Fraction]) -> Client:
    from dpacct.federated import Client
    from dpacct.federated.udp_fl import NOISES

    sizes = dict.fromkeys(NOISES.values(), Client.noise)
    declared = {**Client.parameters, **sizes}
    del declared["noise"]
    said, call = texts(as_table(table, place), declared, place)
    with at(place):
        kind = Client.mechanism.check("mechanism", said.get("mechanism", "gaussian"))
        size = NOISES[kind]
        for key in said.keys() & sizes.keys() - {size}:
            raise Exclusive(f"the noise of {kind} is {size}, not {key}", argument=key)
        values: dict[str, Any] = {"name": place.rpartition(": ")[2], **shared, **said}
        if size not in said:
            return Client.read(values, call)
        values["noise"] = values.pop(size)
        return Client.read(values, lambda name: size if name == "noise" else name)


# --- what a report states


class MissingKey(Usage):
    """A key that a report requires is missing from the file."""

    kind = "missing-key"


_VIEWERS = {
    "strong": "the server and all other clients together",
    "client": "everyone who sees the released models",
    "record": "everyone who sees the client's models",
}


def read_stated(path: str, client: str | None = None) -> PlanFile:
    """The plan of a file, of steps or of `dpacct federated`; `client` chooses one of udp-fl's.

    Raises `InvalidArgument` where it cannot be read or is no plan, says no noise, or has no such client.
    """
    text, name = contents(path), file_name(path)
    table = {} if text.lstrip().startswith("{") else table_of(text, name)
    if not is_federated(table):
        if client is not None:
            message = f"--client is for plans of udp-fl; {name} is a plan of steps"
            raise Exclusive(message, argument="--client")
        return plan_of_text(text, name)
    settings = settings_of(table, name)
    chosen = settings.pop("algorithm", "prifedsync")
    declared, about = told_of(table, name)
    if chosen == "udp-fl":
        file = _of_client(clients_of(settings, name), client, name)
    elif client is not None or "client" in settings:
        message = f"--client is for plans of udp-fl; {name} is a plan of {chosen}"
        raise Exclusive(message, argument="--client")
    else:
        file = _of_all(chosen, settings, name)
    # what the file says of the deployment comes before what the kind of plan says
    said = dict(file.about.said) if file.about else {}
    said |= about.said if about else {}
    return file._replace(assumptions=declared, about=_about(said))


def _about(said: dict[str, Any]) -> About:
    from dpacct.report.about import About

    return About(**said)


def _of_all(chosen: str, settings: dict[str, Any], name: str) -> PlanFile:
    """The stated guarantee of a plan whose clients are all alike."""
    if "epsilon" in settings:
        message = f"a report states the epsilon of a noise: in {name}, write the sigma that"
        raise Usage(f"{message} dpacct federated finds in place of `epsilon`", argument="epsilon")
    if not settings.keys() & set(NOISE):
        message = f"{name} has no noise, without which there is nothing to report: add the line"
        raise Usage(f"{message} `sigma = 1` (standard deviation / sensitivity)", argument="sigma")
    plan = plan_of(chosen, {"delta": None, **settings})  # a report may be told its delta
    node = plan.tree().under(str(plan.adjacency), unit=str(plan.unit))
    # Towards whom: all others at once, and not who sees a single message of a secure sum.
    notion = next(each for each in plan.notions if each in ("strong", "client"))

    def account(delta: Fraction) -> tuple[Answer, tuple[ReportSection, ...]]:
        try:  # proven where that succeeds: a report is written once
            rows = list(plan.proved_rows(delta=delta))
        except NotCertified:
            rows = list(plan.rows(delta=delta))
        first = next(row.answer for row in rows if row.notion == notion)
        return _for(node, first), _sections(plan, rows)

    about = _about({"viewer": _VIEWERS[notion]})
    return PlanFile(node, delta=settings.get("delta"), about=about, account=account)


def _of_client(plan: UDPFL, name: str | None, file: str) -> PlanFile:
    """The stated guarantee for the records of one client."""
    names = [client.name for client in plan.clients]
    if name is None and len(names) > 1:
        message = f"each client of {file} has a guarantee of its own: choose one with --client,"
        raise MissingKey(f"{message} such as {one_of(names[:6])}", argument="--client")
    if name is not None and name not in names:
        message = f"--client must be one of {one_of(names[:6])}, got {name[:40]!r}"
        raise InvalidArgument(message + did_you_mean(name, names), argument="--client")
    chosen: Harmonized = next(
        each for each in plan.harmonized() if name in (None, each.client.name)
    )
    who, answer = chosen.client.name, chosen.epsilon
    if answer is None:
        message = f"client {who} takes no part: its budget is less than one round costs"
        raise Unreachable(message, argument="--client")
    node = plan.tree(chosen.client, chosen.rounds).under(str(answer.adjacency), unit="record")

    def account(delta: Fraction) -> tuple[Answer, tuple[ReportSection, ...]]:
        if delta != chosen.client.delta:
            message = (
                f"--delta: the delta of client {who} is in {file}, where it decides its noise or"
            )
            raise Exclusive(f"{message} its last round.", argument="--delta")
        return _for(node, answer), _sections(plan, list(plan.rows_of(chosen)))

    about = _about({"viewer": _VIEWERS["record"], "unit": f"one record of the client {who}"})
    return PlanFile(node, delta=Fraction(chosen.client.delta), about=about, account=account)


def _for(node: Node, answer: Answer) -> Answer:
    return replace(answer, tree=node, unit=node.unit, alternatives=())


def _sections(plan: FederatedPlan | UDPFL, rows: list[Row]) -> tuple[ReportSection, ...]:
    from dpacct.report.document import NO_GUARANTEE, ReportSection

    def section(
        title: str, head: tuple[str, ...], cells: list[tuple[str, ...]], *said: str
    ) -> ReportSection:
        """A federated plan's routes as a section of a report."""
        signs = tuple(
            tuple(cell.replace("<= ", "≤ ").replace(">= ", "≥ ") for cell in row) for row in cells
        )
        return ReportSection(title=title, paragraphs=said, head=head, rows=signs)

    what = f"Algorithm {plan.algorithm} ({plan.paper}). One {plan.unit} moves what the noise is"
    said = [f"{what} added to as follows: {plan.sensitivity}."]
    if any(row.notion == "weak" for row in rows):
        sides = "Weak is towards one other client, strong towards all others and the server"
        said.append(f"{sides} together.")
    answers = answer_rows(rows, "epsilon", estimate=f"{NO_GUARANTEE}: ")
    printed = printed_rows(rows, refuted=f"{NO_GUARANTEE}: ")
    routes = section("From whom, and by every route", *answers, *said)
    if not printed[1]:
        return (routes,)
    return routes, section("What the paper's formulas give", *printed)


# --- rows in words and in JSON

_DIGITS = 8


def cell(answer: Answer) -> str:
    """`<= 14.523766 (>= 11.261744)`: the safe end first."""
    if not math.isfinite(float(answer)):
        return "none is finite"
    bound = bounded(answer, _DIGITS)
    upward = answer.safe_end == "upper"
    other = answer.lower if upward else answer.upper
    if other is None or is_tight(answer) or answer.is_estimate:
        return bound
    return f"{bound} ({f'>= {down(other, _DIGITS)}' if upward else f'<= {up(other, _DIGITS)}'})"


def tables(rows: Sequence[Row], quantity: str) -> list[str]:
    """The tables of a federated plan: answers first, then the papers' printed numbers."""
    lines = aligned(*answer_rows(rows, quantity))
    head, printed = printed_rows(rows)
    if printed:
        lines += ["", "what the paper's formulas give:", *aligned(head, printed)]
    return lines


Cells = tuple[str, ...]


def answer_rows(
    rows: Sequence[Row], quantity: str, *, estimate: str = ""
) -> tuple[Cells, list[Cells]]:
    """Head and cells of the routes with answers; `estimate` is put before an estimate.

    Rows that differ in the notion alone are one.
    """
    head = ("route", "from whom", quantity, "grade", "what it is")
    answers = [row for row in rows if row.printed is None]
    cells: list[Cells] = []
    for _, group in groupby(answers, key=lambda row: (row.name, row.who, row.about, row.answer)):
        first, *others = group
        seen = " and ".join(dict.fromkeys(row.notion for row in (first, *others)))
        about = f"{estimate}{first.about}" if first.answer.is_estimate else first.about
        cells.append(
            (first.name, _whose(first, seen), cell(first.answer), grade(first.answer), about)
        )
    return head, cells


def printed_rows(rows: Sequence[Row], *, refuted: str = "") -> tuple[Cells, list[Cells]]:
    """Head and cells of the papers' numbers; `refuted` is put before a false one."""
    head = ("statement", "from whom", "printed", "status", "true", "why")
    cells: list[Cells] = [
        (
            printed.theorem,
            _whose(row, row.notion),
            rounded(printed.value, "nearest", _DIGITS),
            printed.status if printed.holds else f"{refuted}{printed.status}",
            "as printed" if printed.holds else cell(row.answer),
            printed.told,
        )
        for row in rows
        if (printed := row.printed) is not None
    ]
    return head, cells


def _whose(row: Row, notion: str) -> str:
    return f"{row.who}: {notion}" if row.who else notion


def row_json(row: Row, quantity: str) -> dict[str, Any]:
    """One route; its answer stands under the quantity's name."""
    body: dict[str, Any] = {"name": row.name, "notion": row.notion}
    if row.who:
        body["client"] = row.who
    body[quantity] = replace(row.answer, alternatives=()).to_dict()
    if row.about:
        body["about"] = row.about
    if row.printed is not None:
        printed = row.printed
        body["printed"] = {
            "theorem": printed.theorem,
            "value": number(printed.value),
            "status": printed.status,
            "is_answer": printed.holds,
            "told": printed.told,
        }
    return body


def number(value: float) -> float | None:
    """A number that JSON can hold, or null."""
    return value if math.isfinite(value) else None
