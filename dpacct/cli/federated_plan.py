"""From options, or a plan file, to a federated plan: which settings each algorithm takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from dpacct.cli.toml_file import contents, file_name, table_of
from dpacct.cli.words import as_table, as_text, check_keys, told_of
from dpacct.declare.domain import (
    DELTA,
    EPSILON,
    POSITIVE,
    RATE,
    SHARE,
    Domain,
    Word,
)
from dpacct.declare.record import Exclusive, Parameter, Usage
from dpacct.declare.words import COUNT
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    from dpacct.federated import UDPFL, Client, FederatedPlan

_Made = TypeVar("_Made")
_NOISE = {
    "sigma": Parameter(POSITIVE, "standard deviation / sensitivity (prifedsync: std / (2C))", "S"),
    "noise_multiplier": Parameter(
        POSITIVE, "standard deviation / clip, the other way to say it", "Z"
    ),
}
NOISE = (*_NOISE, "epsilon")
"""Ways to say how much noise there is, or what it is for."""
_SHARED = ("delta", *NOISE)
_FOR_REPORTS = ("assumptions", "report")


@cache
def kinds() -> dict[str, type[FederatedPlan]]:
    """The algorithms whose plan one set of numbers describes, by their names."""
    from dpacct.federated import FederatedPlan

    classes = FederatedPlan.__subclasses__()
    for each in classes:
        classes += each.__subclasses__()
    return {each.algorithm: each for each in classes if "algorithm" in vars(each)}


def algorithms() -> tuple[str, ...]:
    """Every algorithm, the usual one first."""
    return (*sorted(kinds(), key=lambda name: name != "prifedsync"), "udp-fl")


@cache
def settings() -> dict[str, Parameter[Any]]:
    """What a plan of any of them is given."""
    declared: dict[str, Parameter[Any]] = {}
    for kind in reversed(kinds().values()):  # the last is PriFedSync, whose ranges are narrower
        declared = {**kind.parameters, **declared}
    return {name: each.optional() for name, each in {**declared, **_NOISE}.items()}


@cache
def domains() -> dict[str, Domain[Any]]:
    """What each setting of a file may be."""
    said = {name: each.domain for name, each in settings().items()}
    return {**said, "epsilon": EPSILON, "delta": DELTA}


def takes(algorithm: str) -> tuple[list[str], list[str]]:
    """(what must be given, what may be), but for the noise and its target."""
    named = [each for name, each in kinds()[algorithm].parameters.items() if name not in NOISE]
    needs = [each.name for each in named if each.required]
    return needs, [each.name for each in named if each.name not in needs]


_WHOLE = ("clients", "batch_size", "records", "local_steps", "rounds", "missing", "coordinates")
_CLIENT_NUMBERS: dict[str, Domain[Any]] = {
    "sigma": POSITIVE,
    "b": POSITIVE,
    "eps0": POSITIVE,
    "nu": SHARE,
    "epsilon": POSITIVE,
    "delta": DELTA,
    "client_rate": RATE,
    "sample_rate": RATE,
    "coordinates": COUNT,
}
_FOR_ALL = ("delta", "client_rate")  # may stand once for all clients of udp-fl
_CLIENT_WORDS: dict[str, Word] = {
    "mechanism": Word("gaussian", "laplace", "staircase"),
    "sampling": Word("poisson", "uniform"),
    "clip": Word("l1", "l2"),
}


def dashed(name: str) -> str:
    """The option of a setting."""
    return "--eps" if name == "epsilon" else "--" + name.replace("_", "-")


def read_file(path: str) -> dict[str, Any]:
    """The settings of a plan file; raises `InvalidArgument`."""
    name = file_name(path)
    return settings_of(table_of(contents(path), name), name)


def settings_of(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings in a file's table; raises `InvalidArgument`."""
    check_keys(table, ("algorithm", "client", *domains(), *_FOR_REPORTS), name)
    told_of(table, name)
    readers = {"algorithm": Word(*algorithms()), **domains()}
    return {
        key: value
        if key == "client"
        else readers[key].check(f"{name}: {key}", as_text(value, f"{name}: {key}"))
        for key, value in table.items()
        if key not in _FOR_REPORTS
    }


def plan_of(algorithm: str, settings: Mapping[str, Any]) -> FederatedPlan:
    """The plan; raises `InvalidArgument` for settings that are missing, or that the algorithm has not."""
    needs, may = takes(algorithm)
    listed = (*needs, *may, *_SHARED)
    for name in settings:
        if name not in listed:
            message = f"{dashed(name)} is no setting of {algorithm}; it takes "
            raise Exclusive(message + ", ".join(map(dashed, listed)), argument=dashed(name))
    for name in needs:
        if name not in settings:
            raise Usage(f"{algorithm} needs {dashed(name)}", argument=dashed(name))
    arguments = {name: _value(name, v) for name, v in settings.items() if name not in _SHARED}
    arguments |= _noise(kinds()[algorithm], settings)
    make: Callable[..., FederatedPlan] = kinds()[algorithm]
    return _made(lambda: make(**arguments))


def _noise(kind: type[FederatedPlan], settings: Mapping[str, Any]) -> dict[str, Fraction]:
    """The noise as the class has it; a target in its place is searched for later."""
    ways = [name for name in NOISE if name in settings]
    if len(ways) != 1:
        message = "give the noise with --sigma (standard deviation / sensitivity) or"
        message += " --noise-multiplier (standard deviation / clip), or a target with --eps"
        got = " and ".join(map(dashed, ways)) or "none of them"
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
    import dpacct as dp

    for key in settings:
        if key not in ("client", "rounds", "local_steps", *_FOR_ALL):
            message = f"{key} is no setting of udp-fl; it takes rounds, local_steps, {', '.join(_FOR_ALL)}"
            raise Exclusive(f"{message} and [[client]]", argument=key)
    tables = settings.get("client")
    if not isinstance(tables, list) or not tables:
        raise Usage(f"{name} must have one or more [[client]] tables", argument="client")
    if "rounds" not in settings:
        raise Usage(f"{name} must say rounds", argument="rounds")
    shared = {key: settings[key] for key in _FOR_ALL if key in settings}
    members = [_client(table, f"{name}: client {i}", shared) for i, table in enumerate(tables, 1)]
    steps = int(settings.get("local_steps", 1))
    rounds = int(settings["rounds"])
    return _made(lambda: dp.federated.UDPFL(clients=members, rounds=rounds, local_steps=steps))


def _client(raw: object, place: str, shared: Mapping[str, Fraction]) -> Client:
    import dpacct as dp

    table = as_table(raw, place)
    check_keys(table, ("name", *_CLIENT_NUMBERS, *_CLIENT_WORDS), place)
    arguments: dict[str, Any] = dict(shared)
    for key, value in table.items():
        word = as_text(value, f"{place}: {key}")
        if key == "name":
            arguments[key] = word
            continue
        reader = _CLIENT_NUMBERS.get(key) or _CLIENT_WORDS[key]
        arguments[key] = _value(key, reader.check(f"{place}: {key}", word))
    arguments.setdefault("name", place.rpartition(": ")[2])
    if "delta" not in arguments:
        raise Usage(f"{place}: give delta, here or for all clients", argument="delta")
    wanted = {"laplace": "b", "staircase": "eps0"}.get(arguments.get("mechanism", ""), "sigma")
    for key in ("sigma", "b", "eps0"):
        if key in arguments and key != wanted:
            message = f"{place}: the noise of {arguments.get('mechanism', 'gaussian')} is {wanted}"
            raise Exclusive(f"{message}, not {key}", argument=key)
    if wanted in arguments:
        arguments["noise"] = arguments.pop(wanted)
    return _made(lambda: dp.federated.Client(**arguments), place)


def _value(name: str, value: Any) -> Any:
    return int(value) if name in _WHOLE else value


def _made(make: Callable[[], _Made], place: str = "") -> _Made:
    """What `make` makes; an argument's name in its refusal becomes the option's."""
    try:
        return make()
    except InvalidArgument as wrong:
        name = wrong.argument or ""
        message = wrong.message
        shown = f"{place}: {name}" if place else dashed(name)
        if name and message.startswith(name):
            message = shown + message[len(name) :]
        elif place:
            message = f"{place}: {message}"
        raise InvalidArgument(f"{message}", argument=shown) from None
