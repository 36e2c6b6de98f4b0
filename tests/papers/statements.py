"""Statements as they are, and with something changed, for tests that must see the change."""

import dis
import importlib
import types
from collections.abc import Callable
from typing import Any

from dpacct.papers.page import Statement, parse
from dpacct.papers.registry import statements

ALL = statements()


def edited(statement: Statement, *changes: tuple[str, str], id: str = "") -> Statement:
    """The statement of a page on which each text is replaced by another."""
    text = statement.path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(text, id or statement.id, statement.path)


def with_formula(statement: Statement, formula: Callable[..., float]) -> Statement:
    """The statement as if its file had this formula."""
    vars(statement)["formula"] = formula
    return statement


# Names, domains and errors are common ground, not mathematics.
PLAIN = (
    "dpacct.errors",
    "dpacct.declare",
    "dpacct.vocabulary",
    "dpacct.papers.oracles.oracle",
)


def reached(function: Callable[..., Any]) -> set[str]:
    """module.qualname of every function of the project that `function` can call, itself included.

    Methods are followed on classes that are named, not on objects: what an oracle asks of a plan is the
    exact engine, which no formula may import (tests/structure).
    """
    seen: set[str] = set()
    _follow(function, seen)
    return seen


def _follow(thing: Any, seen: set[str]) -> None:
    thing = getattr(thing, "__wrapped__", thing)  # a cache
    if isinstance(thing, type):
        if thing.__module__.startswith("dpacct") and not thing.__module__.startswith(PLAIN):
            for member in vars(thing).values():
                if isinstance(member, types.FunctionType):
                    _follow(member, seen)
        return
    if not isinstance(thing, types.FunctionType):
        owner = type(thing)  # an instance in a module: Guarantee(3.5, 0.67)
        if owner.__module__.startswith("dpacct.plan.smallest_noise"):
            _follow(owner, seen)
        return
    key = f"{thing.__module__}.{thing.__qualname__}"
    if (
        key in seen
        or not thing.__module__.startswith(("dpacct.", "tests.papers."))
        or thing.__module__.startswith(PLAIN)
    ):
        return
    seen.add(key)
    codes = [thing.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        _follow_code(code, thing.__globals__, seen)


def _follow_code(code: types.CodeType, names: dict[str, Any], seen: set[str]) -> None:
    current: Any = None
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and str(step.argval).startswith("dpacct."):
            current = importlib.import_module(str(step.argval))
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            current = names.get(str(step.argval))
        elif step.opname in ("IMPORT_FROM", "LOAD_ATTR", "LOAD_METHOD"):
            inside = isinstance(current, types.ModuleType)
            current = vars(current).get(str(step.argval)) if inside else None
        else:
            continue
        if current is not None and not isinstance(current, types.ModuleType):
            _follow(current, seen)
