"""A plan as words, the same for the options of a command and the keys of a file; and files in TOML."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from functools import cache, reduce
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dpacct.declare.domain import EPSILON, PURE_DELTA, Word, did_you_mean, one_of
from dpacct.declare.number import text as exact_text
from dpacct.declare.record import Call, Exclusive, Parameter, Usage
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.plan.samplers.steps import Steps

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.plan.node import Node
    from dpacct.report.about import About
    from dpacct.report.assumptions import Declared

MAX_BYTES = 10_000_000
MAX_DEPTH = 20
MEANING = ("adjacency", "unit")
QUESTION = {"epsilon": EPSILON, "delta": PURE_DELTA}
_TABLES = ("step", "plan", "assumptions", "report")
KEYS = (*_TABLES, *QUESTION, *MEANING)
"""The keys allowed at the top of a plan file."""
ALIASES = {"sample_rate": "rate", "rounds": "steps"}
"""Further spellings of keys."""


def file_name(path: str) -> str:
    """The name of a file in messages."""
    return "standard input" if path == "-" else os.path.basename(path)


def contents(path: str) -> str:
    """The text of a file, or of standard input if the path is "-"; raises `Usage`."""
    if path == "-" and sys.stdin is None:
        raise Usage("cannot read standard input: it is closed", argument="PLAN")
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise Usage(f"cannot read {path[:80]!r}: {reason.lower()}", argument="PLAN") from None
    if len(content) > MAX_BYTES:
        raise Usage(f"{path!r} is larger than 10 MB, too large for a plan", argument="PLAN")
    if content.startswith(b"SQLite format 3"):
        message = f"{path!r} is a ledger, which dpacct ledger show, log, check and report read"
        raise Usage(message, argument="PLAN")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Usage(f"{path!r} is not text in UTF-8", argument="PLAN") from None


def table_of(text: str, name: str) -> Mapping[str, Any]:
    """The table in the text of the file `name`; raises `InvalidArgument` where it is not TOML."""
    import tomllib  # some milliseconds that a command without a file has no use for

    try:
        # Numbers stay text until they are read as expressions, so that 0.1 is one tenth.
        return tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{name} is not TOML: {error}", argument="PLAN") from None
    except (ValueError, RecursionError):  # of Python, which limits both
        message = f"{name} is not TOML: a number is too long or a list too deep"
        raise InvalidArgument(message, argument="PLAN") from None


# --- tables


@contextmanager
def at(place: str) -> Iterator[None]:
    """Every refusal within begins with the place, such as "plan.toml: step 2"."""
    try:
        yield
    except InvalidArgument as error:
        raise type(error)(f"{place}: {error.message}", argument=error.argument) from None


def as_table(value: object, place: str) -> Mapping[str, Any]:
    """A TOML table, or a sentence."""
    if isinstance(value, dict):
        return value
    raise Usage(f"{place} must be a table of keys and values")


def texts(
    table: Mapping[str, Any],
    names: Iterable[str],
    place: str,
    others: Mapping[str, str] = MappingProxyType({}),
) -> tuple[dict[str, str], Call]:
    """The values of these parameters in a table, as they were typed, and the name of each there.

    `others` are further keys, each with the parameter that it spells, or "" where somebody else reads it.
    An unknown key, which would be a setting silently without effect, is refused.
    """
    spelled = {name: name for name in names}
    spelled |= {also: name for also, name in ALIASES.items() if name in spelled} | dict(others)
    typed, said = dict[str, str](), dict[str, str]()
    for key, value in table.items():
        if key not in spelled:
            message = f"{place}: unknown key {key[:40]!r}{did_you_mean(key, spelled)}"
            raise Usage(message, argument=key)
        name = spelled[key]
        if not name:
            continue
        if name in typed:
            message = f"{typed[name]} and {key} are one setting; leave one of them out"
            raise Exclusive(f"{place}: {message}", argument=key)
        if not isinstance(value, str | int) or isinstance(value, bool):
            message = f"{place}: {key} must be a number or a text, got {str(value).lower()[:40]}"
            raise InvalidArgument(message, argument=key)
        typed[name], said[name] = key, str(value)
    return said, lambda name: typed.get(name, name)


# --- words


@cache
def kinds() -> dict[str, type[Mechanism]]:
    """The mechanisms that a step may name, the Gaussian first: where several fit its keys, it is meant."""
    import dpacct.mechanisms  # noqa: F401 - all of them

    by_kind, classes = dict[str, type[Mechanism]](), Mechanism.__subclasses__()
    for each in classes:
        classes += each.__subclasses__()
        if each.in_files and each.parameters:
            by_kind[each.kind] = each
    return dict(sorted(by_kind.items(), key=lambda entry: (entry[0] != "gaussian", entry[0])))


def noises() -> dict[str, type[Mechanism]]:
    """The mechanisms that have options."""
    return {name: kind for name, kind in kinds().items() if kind.sought}


def _heads(kind: type[Mechanism]) -> list[str]:
    """The parameters that say how much noise there is, one for each way to say it."""
    return [way[0] for way in kind.ways] or [kind.sought]


def sizes() -> frozenset[str]:
    """The parameters that say how much noise there is, of all mechanisms."""
    return frozenset(head for kind in noises().values() for head in _heads(kind))


def uses(of: Iterable[type[Mechanism]]) -> dict[str, tuple[Parameter[Any], str]]:
    """The parameters of several mechanisms, and what each means for which of them."""
    found: dict[str, tuple[Parameter[Any], dict[str, str]]] = {}
    for kind in of:
        for name, each in kind.parameters.items():
            _, means = found.setdefault(name, (each, {}))
            means[each.means] = ", ".join(filter(None, (means.get(each.means), kind.kind)))
    return {
        name: (each, "; ".join(f"{who}: {what}" for what, who in means.items()))
        for name, (each, means) in found.items()
    }


def words() -> tuple[str, ...]:
    """All words of a plan."""
    return ("mechanism", *uses(noises().values()), "rho", *Steps.parameters, *MEANING)


class StatedPlan(NamedTuple):
    """A plan as stated in words; if the noise is to be found, `noise` lacks it.

    `call` is what a word goes by where it was typed.
    """

    kind: type[Mechanism]
    noise: Mapping[str, Any]
    steps: Steps
    under: Mapping[str, Any]
    call: Call

    @property
    def clip(self) -> Fraction | None:
        """The clipping norm, where it was stated."""
        clip = self.noise.get("clip")
        return None if clip is None else self.kind.parameters["clip"].check(self.call("clip"), clip)

    def plan(self, count: int | None = None) -> Node:
        """The whole plan, or `count` of its steps."""
        release = self.kind.read(self.noise, self.call)
        return self.steps.of(release, self.call, count, **self.under)

    def sized(self, size: float | Fraction) -> Node:
        """The whole plan with this value of the noise to be found."""
        kind = self.kind
        beside = {name for way in kind.ways if kind.sought in way for name in way} or {*self.noise}
        kept = {name: value for name, value in self.noise.items() if name in beside}
        return self._replace(noise={**kept, kind.sought: size}).plan()


def stated(typed: Mapping[str, Any], call: Call) -> StatedPlan:
    """The plan of words that were typed; raises `InvalidArgument` in a sentence that names them so."""
    kind, noise = _noise(typed, noises(), call)
    steps = Steps.read({key: typed[key] for key in Steps.parameters if key in typed}, call)
    return StatedPlan(
        kind, noise, steps, {key: typed[key] for key in MEANING if key in typed}, call
    )


def _noise(
    typed: Mapping[str, Any], mechanisms: Mapping[str, type[Mechanism]], call: Call
) -> tuple[type[Mechanism], dict[str, Any]]:
    """The mechanism that is named, else the one that the noise is of, else the Gaussian; and its noise."""
    noise = {key: typed[key] for key in uses(mechanisms.values()) if key in typed}
    if "rho" in typed and "rho" not in noise:  # an option; a file names the mechanism
        if other := next(iter([*noise, *({"mechanism"} & typed.keys())]), ""):
            message = f"{call('rho')} is a release of its own: leave out {call(other)}"
            raise Exclusive(message, argument=call("rho"))
        return kinds()["zcdp"], {"rho": typed["rho"]}
    fitting = [kind for kind in mechanisms.values() if noise.keys() <= kind.parameters.keys()]
    if "mechanism" in typed:
        kind = mechanisms[Word(*mechanisms).check(call("mechanism"), typed["mechanism"])]
    elif len(fitting) < 2 or fitting[0].kind == "gaussian":
        kind = (*fitting, mechanisms["gaussian"])[0]
    # of several, the one whose parameters are all there
    elif len(whole := [kind for kind in fitting if {*_needed(kind, noise)} <= noise.keys()]) == 1:
        kind = whole[0]
    else:
        first, listed = call(next(iter(noise))), one_of([kind.kind for kind in fitting])
        message = f"{first} needs {call('mechanism')}, for it is a parameter of {listed}"
        raise Usage(message, argument=first)
    for key in noise:
        if key not in kind.parameters:
            message = f"{call(key)} is not a parameter of {kind.kind}, whose noise is given by"
            heads = one_of([call(head) for head in _heads(kind)])
            raise Exclusive(f"{message} {heads}", argument=call(key))
    return kind, noise


def _needed(kind: type[Mechanism], noise: Mapping[str, Any]) -> list[str]:
    """The parameters that must stand beside these."""
    heads = [way[0] for way in kind.ways if noise.keys() & {*way}][:1]
    return [*heads, *(name for name, each in kind.parameters.items() if each.required)]


# --- steps of a file


def read_step(step: object, place: str, depth: int = 1) -> Node:
    """The node of one step, whose numbers are text; every refusal begins with the place."""
    table = as_table(step, place)
    if depth > MAX_DEPTH:
        raise Usage(f"{place}: steps may be nested {MAX_DEPTH} deep at most")
    if str(table.get("mechanism", "gaussian")) not in kinds():
        from dpacct.mechanisms import load_plugins

        load_plugins()  # another package may have it
        kinds.cache_clear()
    mechanisms = uses(kinds().values())
    others = {"mechanism": "mechanism", "repeat": "steps", "inner": ""}
    said, call = texts(table, [*mechanisms, *Steps.parameters], place, others)
    said |= {} if said.keys() & {"steps", "epochs"} else {"steps": "1"}
    if "inner" in table:
        for key in said:
            if key in mechanisms or key == "mechanism":
                message = f"{key} belongs in one of the inner steps, as this step has some"
                raise Exclusive(f"{place}: {message}", argument=key)
        release: Node = _sum_of_steps(table["inner"], place, "inner", depth + 1)
    with at(place):
        if "inner" not in table:
            kind, noise = _noise(said, kinds(), call)
            release = kind.read(noise, call)
        steps = Steps.read({key: said[key] for key in Steps.parameters if key in said}, call)
        return steps.of(release, call)


def _sum_of_steps(steps: object, place: str, key: str, depth: int = 1) -> Node:
    """The composition of a list of steps, read in order."""
    if not isinstance(steps, list) or not steps:
        message = f"{place.rstrip(':')}: {key} must be one or more [[{key}]] tables"
        raise Usage(message, argument=key)
    joined = f"{place}{', ' if depth > 1 else ' '}{key}"
    return reduce(add, (read_step(step, f"{joined} {i}", depth) for i, step in enumerate(steps, 1)))


# --- whole files


class PlanFile(NamedTuple):
    """A plan, the question its file asks, if it asks one, and what it says for a report.

    `account` gives the guarantee at a delta, where the kind of file knows it better than the plan alone does.
    """

    node: Node
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    assumptions: Mapping[str, Declared] = MappingProxyType({})
    about: About | None = None
    account: Callable[[Fraction], Answer] | None = None

    def guarantee(self, node: Node, delta: Fraction) -> Answer:
        """The epsilon that a report of the plan, protected as `node`, states."""
        return node.epsilon(delta) if self.account is None else self.account(delta)


def read_plan(path: str) -> PlanFile:
    """Read a plan from a file, or from standard input if the path is "-".

    Raises `InvalidArgument` where the file cannot be read, or is no plan; the sentence says where.
    """
    return plan_of_text(contents(path), file_name(path))


def plan_of_text(text: str, name: str) -> PlanFile:
    """The plan in a file's text; raises `InvalidArgument`."""
    from dpacct import from_dict

    if text.lstrip().startswith("{"):
        return _of_json(text)
    table = table_of(text, name)
    if is_federated(table):
        message = f"{name} is a federated plan, which dpacct federated and dpacct report read"
        raise InvalidArgument(message, argument="PLAN")
    said, _ = texts(table, (*QUESTION, *MEANING), name, dict.fromkeys(_TABLES, ""))
    if ("step" in table) == ("plan" in table):
        message = f"{name} has no [[step]]"
        if "step" in table:
            message = f"{name} has both [[step]] and [plan]: a plan is stated by one of them"
        raise InvalidArgument(message, argument="step")
    steps = _sum_of_steps(table["step"], f"{name}:", "step") if "step" in table else None
    with at(name):
        node = steps or from_dict(table["plan"])
        node = node.under(said.get("adjacency"), unit=said.get("unit", ""))
        asked = {k: domain.check(k, said[k]) for k, domain in QUESTION.items() if k in said}
    return PlanFile(node, asked.get("epsilon"), asked.get("delta"), *told_of(table, name))


def _of_json(text: str) -> PlanFile:
    """A plan as `to_json` wrote it, or the JSON of an answer or a report about one."""
    import json

    from dpacct import from_dict, from_json

    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return PlanFile(from_json(text))  # whose sentence says what is wrong
    if not (isinstance(body, dict) and isinstance(body.get("plan"), dict) and "command" in body):
        return PlanFile(from_json(text))
    node = from_dict(body["plan"]).under(body.get("adjacency"), unit=body.get("unit", ""))
    delta = body.get("delta")  # a report says it
    return PlanFile(node, delta=PURE_DELTA.check("delta", delta) if delta else None)


def is_federated(table: Mapping[str, Any]) -> bool:
    """Return whether a file describes a federated plan (`dpacct federated`)."""
    keys = table.keys()
    return not keys & {"step", "plan"} and bool(keys & {"algorithm", "clients", "client"})


def told_of(table: Mapping[str, Any], name: str) -> tuple[dict[str, Declared], About | None]:
    """The tables [assumptions] and [report]; every command checks them, `dpacct report` uses them."""
    declared, about = dict[str, "Declared"](), None
    if "assumptions" in table:
        from dpacct.report.assumptions import read_declared

        assumptions = as_table(table["assumptions"], f"{name}: assumptions")
        declared = read_declared(assumptions, f"{name}: [assumptions]")
    if "report" in table:
        from dpacct.report.about import About

        about = About.of_table(as_table(table["report"], f"{name}: report"), f"{name}: [report]")
    return declared, about


_NUMBER = r"[+-]?(\d[\d_]*(?:\.[\d_]*)?|\.\d+)([eE][+-]?\d+)?"


def written(said: Mapping[str, Any]) -> str:
    """The plan file that says the same as these words, every number as it was typed."""
    from dpacct.plan.node import as_toml

    def line(key: str) -> str:
        text = exact_text(said[key]) if isinstance(said[key], Fraction) else str(said[key])
        return f"{key} = {text if re.fullmatch(_NUMBER, text, re.ASCII) else as_toml(text)}"

    top = (*QUESTION, *MEANING)
    steps = [line(key) for key in words() if key in said and key not in top]
    return "\n".join([*(line(key) for key in top if key in said), "", "[[step]]", *steps]) + "\n"
