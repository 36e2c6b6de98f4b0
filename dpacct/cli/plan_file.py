"""Plan files: TOML as docs/plan-format.md describes it, or the JSON that `to_json` writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.plan_step import as_table, as_text, check_keys, sum_of_steps
from dpacct.cli.refusal import Refusal
from dpacct.cli.toml_file import contents, file_name, table_of
from dpacct.cli.values import EPSILON, PURE_DELTA, Choice
from dpacct.vocabulary import Adjacency, Unit

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.report.about import About
    from dpacct.report.premise import Declared
    from dpacct.report.section import ReportSection
    from dpacct.tree import Node

Account = Callable[[Fraction], tuple["Answer", tuple["ReportSection", ...]]]
_KEYS = ("step", "epsilon", "delta", "adjacency", "unit", "assumptions", "report")


@dataclass(frozen=True)
class PlanFile:
    """A plan, the question its file asks, if it asks one, and what it says for a report.

    `account` gives the guarantee at a delta, and more sections of the report, where the kind of file knows
    them better than the plan alone does.
    """

    node: Node
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    assumptions: dict[str, Declared] = field(default_factory=dict)
    about: About | None = None
    account: Account | None = None


def read_plan(path: str) -> PlanFile:
    """Read a plan from a file, or from standard input if the path is "-".

    Raises:
        Refusal: the file cannot be read, or is no plan; the sentence says where.
    """
    return plan_of_text(contents(path), file_name(path))


def plan_of_text(text: str, name: str) -> PlanFile:
    """The plan in a file's text; raises `Refusal`."""
    if text.lstrip().startswith("{"):
        from dpacct import from_json

        return PlanFile(from_json(text))
    table = table_of(text, name)
    if is_federated(table):
        told = f"{name} is a federated plan, which dpacct federated and dpacct report read."
        raise Refusal(told, "PLAN", kind="invalid-argument")
    check_keys(table, _KEYS, name)
    if "step" not in table:
        raise Refusal(f"{name} has no [[step]].", "step", kind="invalid-argument")
    node = sum_of_steps(table["step"], f"{name}:", "step")
    numbers = {
        key: kind.read(as_text(table[key], f"{name}: {key}"), f"{name}: {key}")
        for key, kind in (("epsilon", EPSILON), ("delta", PURE_DELTA))
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
    declared, about = told_of(table, name)
    return PlanFile(node, numbers.get("epsilon"), numbers.get("delta"), declared, about)


def is_federated(table: Mapping[str, Any]) -> bool:
    """Whether a file is one of `dpacct federated`."""
    return "step" not in table and bool(table.keys() & {"algorithm", "clients", "client"})


def told_of(table: Mapping[str, Any], name: str) -> tuple[dict[str, Declared], About | None]:
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
