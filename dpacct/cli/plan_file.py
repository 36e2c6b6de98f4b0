"""Plan files: TOML as docs/plan-format.md describes it, or the JSON that `to_json` writes."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.cli.plan_step import as_table, as_text, check_keys, sum_of_steps
from dpacct.cli.refusal import Refusal
from dpacct.cli.values import DELTA, EPSILON, Choice
from dpacct.vocabulary import Adjacency, Unit

if TYPE_CHECKING:
    from dpacct.report.about import About
    from dpacct.report.premise import Declared
    from dpacct.tree import Node

MAX_BYTES = 10_000_000
_KEYS = ("step", "epsilon", "delta", "adjacency", "unit", "assumptions", "report")


@dataclass(frozen=True)
class PlanFile:
    """A plan, the question its file asks, if it asks one, and what it says for a report."""

    node: Node
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    assumptions: dict[str, Declared] = field(default_factory=dict)
    about: About | None = None


def read_plan(path: str) -> PlanFile:
    """Read a plan from a file, or from standard input if the path is "-".

    Raises:
        Refusal: the file cannot be read, or is no plan; the sentence says where.
    """
    text = contents(path)
    name = "standard input" if path == "-" else Path(path).name
    if text.lstrip().startswith("{"):
        from dpacct import from_json

        return PlanFile(from_json(text))
    try:
        # Numbers stay text until they are read as expressions, so that 0.1 is one tenth.
        raw = tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:
        # Python itself refuses integers of thousands of digits, and nesting without end.
        syntax = isinstance(error, tomllib.TOMLDecodeError)
        why = str(error) if syntax else "a number is too long or a list too deep"
        raise Refusal(f"{name} is not TOML: {why}.", "PLAN", kind="invalid-argument") from None
    table = as_table(raw, name)
    check_keys(table, _KEYS, name)
    if "step" not in table:
        raise Refusal(f"{name} has no [[step]].", "step", kind="invalid-argument")
    node = sum_of_steps(table["step"], f"{name}:", "step")
    numbers = {
        key: kind.read(as_text(table[key], f"{name}: {key}"), f"{name}: {key}")
        for key, kind in (("epsilon", EPSILON), ("delta", DELTA))
        if key in table
    }
    words = {
        key: Choice([str(word) for word in kind]).read(
            as_text(table[key], f"{name}: {key}"), f"{name}: {key}"
        )
        for key, kind in (("adjacency", Adjacency), ("unit", Unit))
        if key in table
    }
    if words:
        node = node.under(words.get("adjacency"), unit=words.get("unit", ""))
    declared, about = _told(table, name)
    return PlanFile(node, numbers.get("epsilon"), numbers.get("delta"), declared, about)


def _told(table: Mapping[str, Any], name: str) -> tuple[dict[str, Declared], About | None]:
    """What [assumptions] and [report] say; every command checks them, `dpacct report` uses them."""
    declared: dict[str, Declared] = {}
    about = None
    if "assumptions" in table:
        from dpacct.report.premise import read_declared

        told = as_table(table["assumptions"], f"{name}: assumptions")
        declared = read_declared(told, f"{name}: [assumptions]")
    if "report" in table:
        from dpacct.report.about import About

        about = About.read(as_table(table["report"], f"{name}: report"), f"{name}: [report]")
    return declared, about


def contents(path: str) -> str:
    """The text of a file, or of standard input if the path is "-"."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise Refusal(f"cannot read {path!r}: {reason.lower()}.", "PLAN") from None
    if len(data) > MAX_BYTES:
        raise Refusal(f"{path!r} is larger than 10 MB, which no plan is.", "PLAN")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{path!r} is not text in UTF-8.", "PLAN") from None
