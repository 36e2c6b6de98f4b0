"""Planted errors: every constant of every usable formula changed by 5 percent, one at a time.

A constant is a number in a function that a usable formula can call (in the file of a paper, or in a
calculator's published bounds), or a decimal in a range on its page. A change counts if it makes some
answer unsafe: an upper bound smaller, a lower bound larger, an exact value different (by more than 1e-7,
or than what its page says it is computed to), a domain larger. It is caught if a stored number or refusal
breaks, or if a short search finds a violation.

`python -m tests.papers.mutation` tries them all and writes docs/theorems/mutation.md.
"""

import ast
import dis
import hashlib
import importlib
import json
import math
import re
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from dpacct.errors import DpacctError
from dpacct.papers.oracle import oracle_of
from dpacct.papers.page import Statement, parse
from dpacct.papers.registry import statements
from dpacct.papers.verify import CLIMBS, Case, close, search, values
from dpacct.vocabulary import Side
from tests.structure.project import ROOT

# Names, domains and errors are common ground, not mathematics.
PLAIN = (
    "dpacct.errors",
    "dpacct.declare",
    "dpacct.vocabulary",
    "dpacct.papers.oracle",
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


# --- Planted errors: every constant of every usable formula changed by 5 percent, one at a time.


PAGE = ROOT / "docs" / "theorems" / "mutation.md"
STORE = Path(__file__).with_name("mutation.json")
CHANGE = 0.05
# Rounds of loops after which a formula is taken never to end; a search has as many for a hundred points.
PATIENCE = 100_000
_TICK = "__tick__"
USABLE = [s for s in statements() if s.is_answer and s.formula is not None]
_MISHAPS = (DpacctError, ArithmeticError, ValueError, TypeError, IndexError)


@dataclass(frozen=True)
class Place:
    """A constant in a file, and the direction of its change."""

    file: str  # a module, or the id of a page
    line: int
    column: int
    text: str
    up: bool
    ids: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.text} {'+' if self.up else '-'}5%"


@cache
def called() -> dict[str, dict[str, tuple[str, ...]]]:
    """By module, each function that usable formulas call, with the ids of these formulas."""
    users: dict[str, dict[str, list[str]]] = {}
    for statement in USABLE:
        assert statement.formula is not None
        for name in reached(statement.formula):
            module = max((m for m in sys.modules if name.startswith(f"{m}.")), key=len)
            functions = users.setdefault(module, {})
            functions.setdefault(name.removeprefix(f"{module}."), []).append(statement.id)
    return {m: {f: tuple(ids) for f, ids in value.items()} for m, value in users.items()}


def places(module: str) -> list[Place]:
    """Every constant of a module that a usable formula meets, both ways."""
    users = called()[module]
    tree = ast.parse(source_of(module))
    owned: dict[tuple[int, int], tuple[ast.Constant, set[str]]] = {}

    def collect(node: ast.AST, ids: tuple[str, ...]) -> None:
        for constant in _constants(node):
            place = constant.lineno, constant.col_offset
            owned.setdefault(place, (constant, set()))[1].update(ids)

    names: dict[str, set[str]] = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in inner:
            if isinstance(function, ast.FunctionDef):
                ids = users.get(prefix + function.name, ())
                for statement in function.body:
                    collect(statement, ids)
                for part in ast.walk(function):
                    if isinstance(part, ast.Name):
                        names.setdefault(part.id, set()).update(ids)
    for node in tree.body:  # constants of the file, by who names them
        if isinstance(node, ast.Assign):
            targets = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            collect(node.value, tuple(set().union(*(names.get(t, set()) for t in targets))))
    return [
        Place(module, *place, repr(constant.value), up, tuple(sorted(ids)))
        for place, (constant, ids) in sorted(owned.items())
        if ids
        for up in (False, True)
    ]


def _constants(node: ast.AST) -> Iterator[ast.Constant]:
    """Numbers that are part of what is computed: no docstring, subscript, message or length of a loop."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Subscript | ast.JoinedStr | ast.Raise | ast.AnnAssign):
        return
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
        return
    if isinstance(node, ast.Constant):
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if number and node.value != 0:
            yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _constants(child)


def page_places(statement: Statement) -> list[Place]:
    """Every decimal in a range of a page, both ways."""
    rows = statement.table("", ("argument", "range", "drawn from", "meaning"))
    return [
        Place(statement.id, line, match.start(), match[0], up, (statement.id,))
        for line, row in rows
        for match in re.finditer(r"\d+\.\d+", row["range"])
        for up in (False, True)
    ]


def source_of(module: str) -> str:
    """The text of a module."""
    return Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")


def dependents(module: str) -> list[str]:
    """The papers' files that name the module, and those that name these, in the order to load them."""
    every = sorted(m for m in sys.modules if m.startswith("dpacct.papers.formulas."))
    chosen: list[str] = []
    grown = {module}
    while True:
        more = [m for m in every if m not in grown and any(_names(m, g) for g in grown)]
        if not more:
            return chosen
        chosen += more
        grown |= set(more)


def _names(module: str, other: str) -> bool:
    package, _, short = other.rpartition(".")
    text = source_of(module)
    whole = f"from {other} import" in text
    return whole or bool(re.search(rf"from {re.escape(package)} import [\w, ]*\b{short}\b", text))


def mutated(place: Place) -> list[Statement] | None:
    """The usable statements with one constant changed; None if a file no longer loads."""
    factor = 1.0 + CHANGE if place.up else 1.0 - CHANGE
    originals = {s.id: s for s in USABLE if s.id in place.ids}
    if place.file in originals:  # a page
        statement = originals[place.file]
        lines = statement.path.read_text(encoding="utf-8").split("\n")
        number = str(float(place.text) * factor)
        row = lines[place.line - 1]
        lines[place.line - 1] = row.replace(place.text, number, 1)
        return [parse("\n".join(lines), statement.id, statement.path)]
    tree = ast.parse(source_of(place.file))
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if number and (node.lineno, node.col_offset) == (place.line, place.column):
            node.value = node.value * factor
    loaded: dict[str, types.ModuleType] = {}
    before = {name: sys.modules[name] for name in (place.file, *dependents(place.file))}
    try:
        for name in before:
            code = tree if name == place.file else ast.parse(source_of(name))
            loaded[name] = _loaded(name, code, before[name])
    except Exception:
        return None
    finally:
        for name, module in before.items():
            _install(name, module)
    copies = []
    for statement in originals.values():
        copy = parse(statement.path.read_text(encoding="utf-8"), statement.id, statement.path)
        module = loaded.get(f"dpacct.papers.formulas.{statement.paper}", statement.module)
        vars(copy)["formula"] = vars(module)[statement.name]
        copies.append(copy)
    return copies


def _loaded(name: str, tree: ast.Module, original: types.ModuleType) -> types.ModuleType:
    copy = types.ModuleType(name)
    copy.__file__, copy.__package__ = original.__file__, original.__package__
    copy.__dict__[_TICK] = ROUNDS.tick
    exec(compile(ROUNDS.visit(tree), str(original.__file__), "exec"), copy.__dict__)
    _install(name, copy)
    return copy


def _install(name: str, module: types.ModuleType) -> None:
    package, _, short = name.rpartition(".")
    sys.modules[name] = module
    setattr(sys.modules[package], short, module)


def _value(statement: Statement, point: dict[str, object]) -> float | None:
    ROUNDS.left = PATIENCE
    try:
        return statement.evaluate(point, as_printed=True)
    except _MISHAPS:
        return None


def sample(statement: Statement) -> list[dict[str, object]]:
    """Points of the domain: the stored ones, and some drawn, unless the formula takes long."""
    rng, count = Random(statement.id), 0 if statement.accuracy else 12
    points: list[dict[str, object]] = [dict(row.inputs) for row in statement.values]
    for index in range(count):
        try:
            points.append(dict(statement.domain.draw(rng, boundary=index % 4 == 3)))
        except _MISHAPS:
            continue  # an end that a changed constant makes nonsense of
    return points


def unsafe(statement: Statement, other: Statement) -> bool:
    """Whether some answer is now on the wrong side, or given where it should be refused."""
    for point in [*sample(statement), *sample(other)]:
        value, changed = _value(statement, point), _value(other, point)
        if changed is None:
            continue
        if value is None:
            if statement.arguments != other.arguments:
                return True
            continue
        if (
            close(changed, value, max(1e-7, statement.accuracy))
            or math.isinf(value)
            or math.isinf(changed)
        ):
            continue
        wrong = {
            Side.UPPER: changed < value,
            Side.LOWER: changed > value,
            Side.TWO_SIDED: True,
            Side.NONE: False,
        }
        if wrong[statement.side]:
            return True
    return False


def caught(other: Statement) -> bool:
    """Whether the stored numbers, or a short search, say that something is wrong."""
    ROUNDS.left = 100 * PATIENCE
    try:
        if values(other):
            return True
    except _MISHAPS:
        return True
    judge = oracle_of(other)
    if judge is None:
        return False
    ROUNDS.left = 100 * PATIENCE
    try:
        draws, climbs = (6, 0) if other.accuracy else (min(60, judge.draws), CLIMBS)
        return search(Case(other, judge), draws=draws, seed=5, climbs=climbs).violated
    except _MISHAPS:
        return True


@dataclass(frozen=True)
class Outcome:
    """What became of a planted error: `harmless` if no answer became unsafe."""

    place: Place
    statement: str
    became: str  # caught, survived or harmless


class Endless(BaseException):
    """The count is used up; no `except` of a formula or an oracle swallows it."""


class Rounds(ast.NodeTransformer):
    """Counts the rounds of every `while`: the count is the same on every machine, as no clock is."""

    left = PATIENCE

    def visit_While(self, node: ast.While) -> ast.While:
        """The loop, with a call at the beginning of each round."""
        self.generic_visit(node)
        call = ast.Call(ast.Name(_TICK, ast.Load()), [], [])
        node.body.insert(0, ast.Expr(call))
        return ast.fix_missing_locations(node)

    def tick(self) -> None:
        """One round more."""
        self.left -= 1
        if self.left < 0:
            raise Endless


ROUNDS = Rounds()


def outcome(place: Place) -> Outcome:
    """Plant one error, and look at every usable statement that meets it.

    A formula that never comes to an end (a series that no longer converges) is caught by its rounds.
    """
    try:
        return _outcome(place)
    except Endless:
        return Outcome(place, "", "caught")


def _outcome(place: Place) -> Outcome:
    changed = mutated(place)
    if changed is None:
        return Outcome(place, "", "caught")
    originals = {s.id: s for s in USABLE}
    alive = ""
    for other in changed:
        if not unsafe(originals[other.id], other):
            continue
        if caught(other):
            return Outcome(place, other.id, "caught")
        alive = other.id
    return Outcome(place, alive, "survived" if alive else "harmless")


@cache
def targets() -> dict[str, tuple[Place, ...]]:
    """Every place, by module and, for the ranges on pages, by paper."""
    results = {m: those for m in sorted(called()) if (those := tuple(places(m)))}
    for statement in USABLE:
        key = f"pages of {statement.paper}"
        if more := page_places(statement):
            results[key] = (*results.get(key, ()), *more)
    return results


def _is_docstring(node: ast.stmt) -> bool:
    """A text alone, below what it describes."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def fingerprint(places: tuple[Place, ...]) -> str:
    """Changes with the code of the file, not its docstrings, and with the pages that are held against it."""
    ids = sorted({name for place in places for name in place.ids})
    used = (s for s in USABLE if s.id in ids)
    texts = [f"{s.domain} {s.side} {s.accuracy} {s.refuses} {_numbers(s)}" for s in used]
    modules = sorted({place.file for place in places} - set(ids))
    trees = [ast.parse(source_of(module)) for module in modules]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _is_docstring(each)]
    texts += [ast.dump(tree) for tree in trees]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _numbers(statement: Statement) -> list[tuple[object, ...]]:
    return [(dict(v.inputs), v.formula, v.truth, v.within) for v in statement.values]


def stored() -> dict[str, dict[str, Any]]:
    """What was found, file by file; a file that changed is tried again."""
    return dict(json.loads(STORE.read_text(encoding="utf-8"))) if STORE.exists() else {}


def main(names: list[str]) -> int:
    """Try every file that has changed since it was tried, print the survivors, write the page."""
    for key, those in targets().items():
        mark = fingerprint(those)
        if (names and key not in names) or stored().get(key, {}).get("file") == mark:
            continue
        outcomes = [outcome(place) for place in those]
        kinds = Counter(each.became for each in outcomes)
        alive = [f"{o.place}, in {o.statement}" for o in outcomes if o.became == "survived"]
        result = {"file": mark, **kinds, "not_caught": alive}
        print(key, f"after {time.process_time():.0f} s", result, flush=True)
        done = {k: r for k, r in stored().items() if k in targets()} | {key: result}
        STORE.write_text(json.dumps(dict(sorted(done.items())), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(stored()), encoding="utf-8")
    return 0


def page(results: dict[str, dict[str, Any]]) -> str:
    """docs/theorems/mutation.md."""
    lines = ["# Planted errors", "", " ".join((__doc__ or "").split("\n\n")[1].split()), ""]
    lines += ["| where | unsafe changes | caught | harmless changes |", "|---|---|---|---|"]
    total = hit = 0
    for key, result in results.items():
        held, alive = result.get("caught", 0), result.get("survived", 0)
        total, hit = total + held + alive, hit + held
        where = key.removeprefix("dpacct.").replace("papers.formulas.", "")
        lines += [f"| {where} | {held + alive} | {held} | {result.get('harmless', 0)} |"]
    share = 100 * hit / total
    lines += ["", f"Score: {hit} of {total} unsafe changes are caught, {share:.1f} %."]
    survivors = [each for result in results.values() for each in result["not_caught"]]
    if survivors:
        lines += ["", "Not caught:", "", *(f"- {each}" for each in survivors)]
    return "\n".join([*lines, "", "Made by `python -m tests.papers.mutation`."]) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
