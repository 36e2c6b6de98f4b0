"""Federated plans from options or a plan file, and their reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from dpacct.answer.answer import bounded, grade, is_tight
from dpacct.cli.command import MEANS
from dpacct.cli.plan_file import (
    PlanFile,
    as_table,
    at,
    contents,
    file_name,
    is_federated,
    plan_of_text,
    table_of,
    texts,
    told_of,
)
from dpacct.declare.domain import DELTA, POSITIVE, Word, did_you_mean
from dpacct.declare.number import down, listed, rounded, up
from dpacct.declare.record import Call, Exclusive, Parameter, Usage
from dpacct.display import aligned
from dpacct.errors import NotCertified
from dpacct.federated import UDPFL, Client, FederatedPlan
from dpacct.federated.udp_fl import NOISES

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.federated import Row

NOISE = {
    "sigma": "standard deviation / sensitivity (prifedsync: std / (2C))",
    "noise_multiplier": "standard deviation / clip, instead of --sigma",
    "epsilon": MEANS["epsilon"],
}
"""Ways to say how much noise there is, or what it is for."""
_FOR_ALL = ("delta", "client_rate")  # may stand once for all clients of udp-fl


@cache
def kinds() -> dict[str, type[FederatedPlan]]:
    """The algorithms whose clients are all alike, by their names; prifedsync is the first."""
    classes = FederatedPlan.__subclasses__()
    for each in classes:
        classes += each.__subclasses__()
    named = {each.algorithm: each for each in classes if "algorithm" in vars(each)}
    return dict(sorted(named.items(), key=lambda entry: (entry[0] != "prifedsync", entry[0])))


@cache
def options() -> dict[str, Parameter[Any]]:
    """The settings of all these algorithms."""
    found = {name: each for kind in kinds().values() for name, each in kind.parameters.items()}
    found |= kinds()["prifedsync"].parameters
    noise = (
        Parameter(POSITIVE, NOISE["sigma"], "S"),
        Parameter(POSITIVE, NOISE["noise_multiplier"], "Z"),
    )
    for name, each in zip(("sigma", "noise_multiplier"), noise, strict=True):
        each.__set_name__(FederatedPlan, name)
    return {**found, "sigma": noise[0], "noise_multiplier": noise[1]}


class PlanSettings(NamedTuple):
    """The settings of a plan as they were typed, what each is called there, and the tables of clients."""

    typed: Mapping[str, str] = {}
    call: Call = lambda name: "--eps" if name == "epsilon" else "--" + name.replace("_", "-")
    clients: object = None

    @property
    def algorithm(self) -> str:
        """The name of the algorithm, also as papers and training write it: DP-FedAvg, dp_fedavg."""
        name = self.typed.get("algorithm", "prifedsync").lower().replace("_", "-")
        return Word(*kinds(), "udp-fl").check(self.call("algorithm"), name)

    def under(self, typed: Mapping[str, str]) -> PlanSettings:
        """These settings, those of the command line before them; its noise takes the place of the file's."""
        noise = NOISE if typed.keys() & NOISE.keys() else ()
        kept = {key: value for key, value in self.typed.items() if key not in noise}
        option = PlanSettings().call
        call = lambda name: option(name) if name in typed or name not in kept else self.call(name)  # noqa: E731
        return PlanSettings({**kept, **typed}, call, self.clients)


def settings_of(table: Mapping[str, Any], name: str) -> PlanSettings:
    """The settings in a file's table; raises `InvalidArgument`."""
    if table.keys() & {"step", "plan"}:
        message = f"{name} is a plan of steps, which dpacct compose and dpacct report read"
        raise Usage(message, argument="PLAN")
    elsewhere = dict.fromkeys(("client", "assumptions", "report"), "")
    typed, _ = texts(table, [*options(), "algorithm", "epsilon", "delta"], name, elsewhere)
    told_of(table, name)
    return PlanSettings(typed, lambda key: f"{name}: {key}", table.get("client"))


def plan_of(settings: PlanSettings) -> FederatedPlan:
    """The plan; raises `InvalidArgument` for settings that are missing, or that the algorithm has not."""
    algorithm, call = settings.algorithm, settings.call
    option = PlanSettings().call
    if settings.clients is not None:
        raise Usage(f"[[client]] belongs to udp-fl, not to {algorithm}", argument="client")
    kind = kinds()[algorithm]
    beside = ("algorithm", "delta", *NOISE)
    said = {name: value for name, value in settings.typed.items() if name not in beside}
    for name in said:
        if name not in kind.parameters:
            takes = ", ".join(map(option, dict.fromkeys((*kind.parameters, "delta", *NOISE))))
            message = f"{option(name)} is not a setting of {algorithm}, which takes {takes}"
            raise Exclusive(message, argument=option(name))
    required = [n for n, each in kind.parameters.items() if each.required and n not in NOISE]
    missing = [option(name) for name in ("delta", *required) if name not in settings.typed]
    if missing:
        raise Usage(f"{algorithm} needs {listed(missing)}", argument=missing[0])
    ways = [name for name in NOISE if name in settings.typed]
    if len(ways) != 1:
        message = "give the noise with --sigma (standard deviation / sensitivity) or"
        message += " --noise-multiplier (standard deviation / clip), or a target with --eps"
        got = " and ".join(map(option, ways)) or "none of them"
        raise Exclusive(f"{message}, got {got}", argument="--sigma")
    # where a record or client is exchanged, the sensitivity is two clips; a target begins anywhere
    own = "sigma" if "sigma" in kind.parameters else "noise_multiplier"
    made = kind.read({**said, own: 1}, call)
    if ways[0] == "epsilon":
        return made
    size = POSITIVE.check(call(ways[0]), settings.typed[ways[0]])
    factor = Fraction(1 if ways[0] == own else made.adjacency.clip_factor)
    return kind.read({**said, own: size / factor if own == "sigma" else size * factor}, call)


def clients_of(settings: PlanSettings, name: str) -> UDPFL:
    """The plan of a file with [[client]] tables; raises `InvalidArgument`."""
    typed, tables = settings.typed, settings.clients
    own = ("algorithm", "rounds", "local_steps", *_FOR_ALL)
    with at(name):
        for key in typed:
            if key not in own:
                raise Usage(f"udp-fl takes no {key}{did_you_mean(key, own)}", argument=key)
        if not isinstance(tables, list) or not tables:
            raise Usage("there must be one or more [[client]] tables", argument="client")
        if "rounds" not in typed:
            raise Usage("udp-fl needs rounds", argument="rounds")
    shared = {key: typed[key] for key in _FOR_ALL if key in typed}
    members = [_client(table, f"{name}: client {i}", shared) for i, table in enumerate(tables, 1)]
    steps: Any = {key: typed[key] for key in ("rounds", "local_steps") if key in typed}
    with at(name):
        return UDPFL(clients=members, **steps)


def _client(table: object, place: str, shared: Mapping[str, str]) -> Client:
    sizes = [*NOISES.values()]
    names = [name for name in Client.parameters if name != "noise"]
    said, call = texts(as_table(table, place), [*names, *sizes], place)
    with at(place):
        kind = Client.mechanism.check("mechanism", said.get("mechanism", "gaussian"))
        size = NOISES[kind]
        for key in said:
            if key in sizes and key != size:
                raise Exclusive(f"the noise of {kind} is {size}, not {key}", argument=key)
        values = {"name": place.rpartition(": ")[2], **shared, **said}
        values |= {"noise": values.pop(size)} if size in values else {}
        return Client.read(
            values, lambda name: call(size) if name == "noise" and size in said else name
        )


# --- what a report states


_VIEWERS = {
    "strong": "the server and all other clients together",
    "client": "everyone who sees the released models",
}


def read_stated(path: str) -> PlanFile:
    """The plan of a file, of steps or of `dpacct federated`.

    Raises `InvalidArgument` where it cannot be read or is no plan, or says no noise.
    """
    text, name = contents(path), file_name(path)
    table = {} if text.lstrip().startswith("{") else table_of(text, name)
    if not is_federated(table):
        return plan_of_text(text, name)
    from dpacct.report.about import About

    settings = settings_of(table, name)
    if settings.algorithm == "udp-fl":
        message = (
            f"each client of {name} has a guarantee of its own: dpacct federated {name} has them"
        )
        raise Usage(message, argument="PLAN")
    if "epsilon" in settings.typed:
        message = f"a report states the epsilon of a noise: in {name}, write the sigma that"
        raise Usage(f"{message} dpacct federated finds in place of `epsilon`", argument="epsilon")
    if not settings.typed.keys() & NOISE.keys():
        message = f"{name} has no noise, without which there is nothing to report: add the line"
        raise Usage(f"{message} `sigma = 1` (standard deviation / sensitivity)", argument="sigma")
    given = settings.typed.get("delta")
    delta = None if given is None else DELTA.check(settings.call("delta"), given)
    # a report may also be told its delta
    plan = plan_of(settings._replace(typed={"delta": "", **settings.typed}))
    node = plan.tree().under(str(plan.adjacency), unit=str(plan.unit))
    # Towards whom: all others at once, and not who sees a single message of a secure sum.
    notion = next(each for each in plan.notions if each in _VIEWERS)

    def account(delta: Fraction) -> Answer:
        try:  # proven where that succeeds: a report is written once
            rows = list(plan.proved_rows(delta=delta))
        except NotCertified:
            rows = list(plan.rows(delta=delta))
        first = next(row.answer for row in rows if row.notion == notion)
        return replace(first, tree=node, unit=node.unit, alternatives=())

    # what the file says of the deployment comes before what the kind of plan says
    declared, about = told_of(table, name)
    said = About(**{"viewer": _VIEWERS[notion], **(about.said if about else {})})
    return PlanFile(node, None, delta, declared, said, account)


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
    return [*_answers(rows, quantity), *_printed(rows)]


def _answers(rows: Sequence[Row], quantity: str) -> list[str]:
    """The routes with answers; those that differ in the notion alone are one."""
    head = ("route", "from whom", quantity, "grade", "what it is")
    answers = [row for row in rows if row.printed is None]
    cells = []
    for _, group in groupby(answers, key=lambda row: (row.name, row.who, row.about, row.answer)):
        first, *others = group
        seen = _whose(first, " and ".join(dict.fromkeys(row.notion for row in (first, *others))))
        cells.append((first.name, seen, cell(first.answer), grade(first.answer), first.about))
    return aligned(head, cells)


def _printed(rows: Sequence[Row]) -> list[str]:
    """The papers' numbers."""
    head = ("statement", "from whom", "printed", "status", "true", "why")
    cells = [
        (
            printed.theorem,
            _whose(row, row.notion),
            rounded(printed.value, "nearest", _DIGITS),
            printed.status,
            "as printed" if printed.holds else cell(row.answer),
            printed.told,
        )
        for row in rows
        if (printed := row.printed) is not None
    ]
    return ["", "what the paper's formulas give:", *aligned(head, cells)] if cells else []


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
            "value": printed.value if math.isfinite(printed.value) else None,
            "status": printed.status,
            "is_answer": printed.holds,
            "told": printed.told,
        }
    return body
