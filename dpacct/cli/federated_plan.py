"""Federated plans from options or a plan file, as reports read them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
from dpacct.declare.domain import DELTA, POSITIVE, Word, one_of
from dpacct.declare.record import Call, Exclusive, Parameter, Usage
from dpacct.errors import NotCertified
from dpacct.federated import UDPFL, Client, FederatedPlan
from dpacct.federated.udp_fl import NOISES

if TYPE_CHECKING:
    from dpacct.answer import Answer

NOISE = {
    "sigma": ("S", "standard deviation / sensitivity (prifedsync: std / (2C))"),
    "noise_multiplier": ("Z", "standard deviation / clip, instead of --sigma"),
    "epsilon": ("E", "epsilon of the guarantee, at least 0"),
}
"""Ways to say how much noise there is, or what it is for."""


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
    for name in ("sigma", "noise_multiplier"):
        symbol, means = NOISE[name]
        found[name] = Parameter(POSITIVE, means, symbol, alias=name)
    return found


def on_the_line(name: str) -> str:
    """The option of a setting."""
    return "--eps" if name == "epsilon" else "--" + name.replace("_", "-")


class PlanSettings(NamedTuple):
    """The settings of a plan as they were typed, what each is called there, and the tables of clients."""

    typed: Mapping[str, str] = {}
    call: Call = on_the_line
    clients: object = None

    @property
    def algorithm(self) -> str:
        """The name of the algorithm, also as papers and training write it: DP-FedAvg, dp_fedavg."""
        name = self.typed.get("algorithm", "prifedsync").lower().replace("_", "-")
        return Word(*kinds(), "udp-fl").check(self.call("algorithm"), name)

    def under(self, typed: Mapping[str, str]) -> PlanSettings:
        """These settings, those of the command line before them; its noise takes the place of the file's."""
        noise = NOISE if typed.keys() & NOISE.keys() else ()
        kept = {key: value for key, value in self.typed.items() if key not in {*noise, *typed}}
        call = lambda name: (self.call if name in kept else on_the_line)(name)  # noqa: E731
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
    algorithm, typed, call = settings.algorithm, settings.typed, settings.call
    if settings.clients is not None:
        raise Usage(f"[[client]] belongs to udp-fl, not to {algorithm}", argument="client")
    kind = kinds()[algorithm]
    said = {n: value for n, value in typed.items() if n not in ("algorithm", "delta", *NOISE)}
    for name in said:
        if name not in kind.parameters:
            takes = ", ".join(map(on_the_line, dict.fromkeys((*kind.parameters, "delta", *NOISE))))
            message = f"{on_the_line(name)} is not a setting of {algorithm}, which takes {takes}"
            raise Exclusive(message, argument=on_the_line(name))
    required = [n for n, each in kind.parameters.items() if each.required and n not in NOISE]
    missing = [on_the_line(name) for name in ("delta", *required) if name not in typed]
    if missing:
        raise Usage(f"{algorithm} needs {one_of(missing, 'and')}", argument=missing[0])
    ways = [name for name in NOISE if name in typed]
    if len(ways) != 1:
        message = "give the noise with --sigma (standard deviation / sensitivity) or"
        message += " --noise-multiplier (standard deviation / clip), or a target with --eps"
        got = " and ".join(map(on_the_line, ways)) or "none of them"
        raise Exclusive(f"{message}, got {got}", argument="--sigma")
    # where a record or client is exchanged, the sensitivity is two clips; a target begins anywhere
    own = "sigma" if "sigma" in kind.parameters else "noise_multiplier"
    made = kind.read({**said, own: 1}, call)
    if ways[0] == "epsilon":
        return made
    size = POSITIVE.check(call(ways[0]), typed[ways[0]])
    factor = Fraction(1 if ways[0] == own else made.adjacency.clip_factor)
    return kind.read({**said, own: size / factor if own == "sigma" else size * factor}, call)


def clients_of(settings: PlanSettings, name: str) -> UDPFL:
    """The plan of a file with [[client]] tables; raises `InvalidArgument`."""
    tables = settings.clients
    shared = {key: settings.typed[key] for key in ("delta", "client_rate") if key in settings.typed}
    own = {k: v for k, v in settings.typed.items() if k not in ("algorithm", *shared)}
    if not isinstance(tables, list) or not tables:
        raise Usage(f"{name}: there must be one or more [[client]] tables", argument="client")
    members = [
        _client(table, f"{name}: client {index}", shared) for index, table in enumerate(tables, 1)
    ]
    with at(name):
        for key in own.keys() - {"rounds", "local_steps"}:
            raise Usage(f"udp-fl takes no {key}", argument=key)
        if "rounds" not in own:
            raise Usage("udp-fl needs rounds", argument="rounds")
        return UDPFL(clients=members, **own)  # type: ignore[arg-type]


def _client(table: object, place: str, shared: Mapping[str, str]) -> Client:
    names = [name for name in Client.parameters if name != "noise"]
    said, call = texts(as_table(table, place), [*names, *NOISES.values()], place)
    with at(place):
        kind = Client.mechanism.check("mechanism", said.get("mechanism", "gaussian"))
        size = NOISES[kind]
        for key in said.keys() & {*NOISES.values()} - {size}:
            raise Exclusive(f"the noise of {kind} is {size}, not {key}", argument=key)
        values = {"name": place.rpartition(": ")[2], **shared, **said}
        values |= {"noise": values.pop(size)} if size in values else {}
        return Client.read(values, lambda name: call(size) if name == "noise" else name)


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
