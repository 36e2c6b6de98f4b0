"""One `[[step]]` of a plan file: its keys, and the node they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from dpacct.cli.refusal import Refusal
from dpacct.cli.suggest import did_you_mean
from dpacct.cli.values import RATE, STEPS, Choice, Number
from dpacct.declare.domain import Integer, one_of
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    from dpacct.mechanisms.mechanism import Mechanism
    from dpacct.tree import Node

MAX_DEPTH = 20


@cache
def kinds() -> dict[str, type[Mechanism]]:
    """The mechanisms that a step may name, the Gaussian first: where several fit its keys, it is meant."""
    from dpacct.mechanisms.mechanism import Mechanism

    found, classes = dict[str, type[Mechanism]](), Mechanism.__subclasses__()
    for each in classes:
        classes += each.__subclasses__()
        if each.in_files and each.parameters:
            found[each.kind] = each
    return dict(sorted(found.items(), key=lambda item: item[0] != "gaussian"))


def noise_keys() -> frozenset[str]:
    """The keys of all mechanisms."""
    return frozenset(name for each in kinds().values() for name in each.parameters)


def is_whole(key: str) -> bool:
    """Whether a key of a step takes whole numbers only."""
    declared = (each.parameters.get(key) for each in kinds().values())
    return key == "repeat" or any(one and isinstance(one.domain, Integer) for one in declared)


_SAMPLING = Choice(["poisson", "uniform", "none"])


def read_step(step: object, place: str, depth: int = 1) -> Node:
    """The node of one step.

    Args:
        step: the table as TOML gives it, numbers as text.
        place: where it stands, such as "plan.toml: step 2".
        depth: how deep it is nested; steps of the plan are at depth 1.

    Raises:
        Refusal: a key or a value is wrong; the sentence begins with the place.
    """
    table = as_table(step, place)
    if str(table.get("mechanism", "gaussian")) not in kinds():
        _plugins()
    known = ("mechanism", "sampling", "inner", "rate", "repeat", *sorted(noise_keys()))
    check_keys(table, known, place)
    if depth > MAX_DEPTH:
        raise Refusal(f"{place}: steps may be nested {MAX_DEPTH} deep at most.")
    node = _inner(table, place, depth) if "inner" in table else _mechanism(table, place)
    rate = _number(table, "rate", RATE, place)
    node = _sampled(node, table, rate, place)
    return node * int(_number(table, "repeat", STEPS, place) or 1)


def _plugins() -> None:
    """Mechanisms of other packages, for a name that is none of dpacct's own."""
    from dpacct.mechanisms import load_plugins

    load_plugins()
    kinds.cache_clear()


def _number(table: Mapping[str, Any], key: str, kind: Number, place: str) -> Fraction | None:
    if key not in table:
        return None
    return kind.read(as_text(table[key], f"{place}: {key}"), f"{place}: {key}")


def _inner(table: Mapping[str, Any], place: str, depth: int) -> Node:
    stray = [key for key in table if key in noise_keys()]
    stray += ["mechanism"] if "mechanism" in table else []
    if stray:
        raise Refusal(
            f"{place}: {stray[0]} belongs in one of the inner steps, as this step has some.",
            stray[0],
            kind="exclusive-options",
        )
    return sum_of_steps(table["inner"], place, "inner", depth + 1)


def sum_of_steps(steps: object, place: str, key: str, depth: int = 1) -> Node:
    """The composition of a list of steps, read in order."""
    if not isinstance(steps, list) or not steps:
        raise Refusal(f"{place.rstrip(':')}: {key} must be one or more [[{key}]] tables.", key)
    nodes = [
        read_step(step, f"{place}{', ' if depth > 1 else ' '}{key} {i}", depth)
        for i, step in enumerate(steps, 1)
    ]
    total = nodes[0]
    for node in nodes[1:]:
        total = total + node
    return total


def _mechanism(table: Mapping[str, Any], place: str) -> Node:
    given = {key: as_text(table[key], f"{place}: {key}") for key in table if key in noise_keys()}
    name = _named(table, given, place)
    kind = kinds()[name]
    if not kind.fits(given):
        got = " and ".join(sorted(given)) or "none of them"
        told = f"{place}: {name} takes {kind.offer()}, got {got}."
        raise Refusal(told, next(iter(kind.parameters)), kind="exclusive-options")
    try:
        return kind(**given)
    except InvalidArgument as error:
        where = f"{place}: {error.argument}"
        raise Refusal(f"{place}: {error.message}", where, kind="invalid-argument") from None


def _named(table: Mapping[str, Any], given: Iterable[str], place: str) -> str:
    """The mechanism's name, or the one mechanism that the given keys fit."""
    if "mechanism" in table:
        name = f"{place}: mechanism"
        return Choice(list(kinds())).read(as_text(table["mechanism"], name), name)
    fitting = [name for name, kind in kinds().items() if kind.fits(given)]
    if len(fitting) != 1 and "gaussian" not in fitting:
        names = fitting or list(kinds())
        raise Refusal(f"{place}: give mechanism ({one_of(names)}) and its noise.", "mechanism")
    return fitting[0]


def _sampled(node: Node, table: Mapping[str, Any], rate: Fraction | None, place: str) -> Node:
    import dpacct as dp

    name = f"{place}: sampling"
    sampling = _SAMPLING.read(as_text(table["sampling"], name), name) if "sampling" in table else ""
    if rate is None:
        if sampling in ("poisson", "uniform"):
            raise Refusal(f"{name} {sampling} needs a rate.", "rate")
        return node
    if sampling == "none":
        raise Refusal(f"{name} none contradicts the rate.", "sampling", kind="exclusive-options")
    return dp.WithoutReplacement(rate)(node) if sampling == "uniform" else dp.Poisson(rate)(node)


def as_table(value: object, place: str) -> Mapping[str, Any]:
    """A TOML table, or a sentence."""
    if isinstance(value, dict):
        return value
    raise Refusal(f"{place} must be a table of keys and values.")


def as_text(value: object, place: str) -> str:
    """A value as it was typed; lists, tables, dates and booleans are no numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Refusal(
        f"{place} must be a number or a text, got {str(value).lower()[:40]}.",
        kind="invalid-argument",
    )


def check_keys(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    """Refuse a key that nobody reads: it would be a setting silently without effect."""
    for key in table:
        if key not in known:
            raise Refusal(f"{place}: unknown key {key[:40]!r}" + did_you_mean(key, known), key)
