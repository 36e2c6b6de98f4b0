"""One `[[step]]` of a plan file: its keys, and the node they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.noise_kind import KINDS
from dpacct.cli.refusal import Refusal
from dpacct.cli.suggest import did_you_mean
from dpacct.cli.values import (
    COUNT,
    DELTA,
    EPSILON,
    POSITIVE,
    RATE,
    SHARE,
    STEPS,
    Choice,
    Number,
)
from dpacct.declare.domain import one_of

if TYPE_CHECKING:
    from dpacct.tree import Node

MAX_DEPTH = 20

# The keys that give each mechanism its noise; each tuple is one complete way to say it.
_NOISE_KEYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gaussian": (("sigma",), ("noise_multiplier", "clip")),
    "laplace": (("b",),),
    "pure-dp": (("epsilon",),),
    "approx-dp": (("epsilon", "delta"),),
    "zcdp": (("rho",),),
    "staircase": (("eps0",), ("eps0", "nu")),
    "discrete-laplace": (("scale",), ("scale", "sensitivity")),
    "discrete-gaussian": (("scale",), ("scale", "sensitivity")),
    "randomized-response": (("eps0",), ("eps0", "k")),
    "local-randomizer": (("eps0",),),
    "exponential": (("eps0",),),
}
NUMBERS: dict[str, Number] = {
    "sigma": POSITIVE,
    "noise_multiplier": POSITIVE,
    "clip": POSITIVE,
    "b": POSITIVE,
    "epsilon": EPSILON,
    "delta": DELTA,
    "rho": POSITIVE,
    "eps0": POSITIVE,
    "nu": SHARE,
    "k": COUNT,
    "scale": POSITIVE,
    "sensitivity": COUNT,
    "rate": RATE,
    "repeat": STEPS,
}
"""What each number of a step may be."""
_STEP_KEYS = ("mechanism", "sampling", "inner", *NUMBERS)
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
    check_keys(table, _STEP_KEYS, place)
    if depth > MAX_DEPTH:
        raise Refusal(f"{place}: steps may be nested {MAX_DEPTH} deep at most.")
    numbers = {
        key: NUMBERS[key].read(as_text(value, f"{place}: {key}"), f"{place}: {key}")
        for key, value in table.items()
        if key in NUMBERS
    }
    node = _inner(table, place, depth) if "inner" in table else _mechanism(table, numbers, place)
    node = _sampled(node, table, numbers.get("rate"), place)
    return node * int(numbers.get("repeat", 1))


def _inner(table: Mapping[str, Any], place: str, depth: int) -> Node:
    stray = [key for keys in _NOISE_KEYS.values() for way in keys for key in way if key in table]
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


def _mechanism(table: Mapping[str, Any], numbers: Mapping[str, Fraction], place: str) -> Node:
    import dpacct as dp

    given = {key for keys in _NOISE_KEYS.values() for way in keys for key in way if key in numbers}
    name = _named(table, given, place)
    ways = _NOISE_KEYS[name]
    if given == {"noise_multiplier"}:
        ways = (*ways, ("noise_multiplier",))  # the ratio alone fixes the privacy
    if tuple(sorted(given)) not in {tuple(sorted(way)) for way in ways}:
        wanted = " or ".join(" and ".join(way) for way in _NOISE_KEYS[name])
        got = " and ".join(sorted(given)) or "none of them"
        raise Refusal(
            f"{place}: {name} takes {wanted}, got {got}.", ways[0][0], kind="exclusive-options"
        )
    whole = {"k", "sensitivity"}
    values = {key: int(numbers[key]) if key in whole else numbers[key] for key in given}
    if given == {"noise_multiplier"}:
        values["clip"] = Fraction(1)
    opaque = {"pure-dp": dp.PureDP, "approx-dp": dp.ApproxDP, "zcdp": dp.ZCDP}
    make = opaque[name] if name in opaque else KINDS[name].make
    node: Node = make(**values)
    return node


def _named(table: Mapping[str, Any], given: set[str], place: str) -> str:
    """The mechanism's name, or the one mechanism that the given keys fit."""
    if "mechanism" in table:
        name = f"{place}: mechanism"
        return Choice(list(_NOISE_KEYS)).read(as_text(table["mechanism"], name), name)
    fitting = [name for name, ways in _NOISE_KEYS.items() if any(given == set(way) for way in ways)]
    if given == {"noise_multiplier"}:
        return "gaussian"
    if len(fitting) != 1:
        names = fitting or list(_NOISE_KEYS)
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
