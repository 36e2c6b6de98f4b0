"""Planted errors: every constant of every usable formula changed by 5 percent, one at a time.

A constant is a number in the body of a function in a paper's file, or a printed threshold (a decimal
written as text) in a domain. A change counts if it makes some answer unsafe: an upper bound smaller, a
lower bound larger, an exact value different, a domain larger. It is caught if a stored number or
refusal breaks, or if a short search finds a violation.

`python -m tests.theorems.mutation` tries them all and writes docs/theorems/mutation.md.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from dpacct.errors import DpacctError
from dpacct.theorems.entry import Entry
from dpacct.theorems.registry import modules, of_module
from dpacct.verify.examine import close, vectors
from dpacct.verify.search import Search, search
from dpacct.verify.truth import truths
from dpacct.vocabulary import Side
from tests.structure.project import ROOT

PAGE = ROOT / "docs" / "theorems" / "mutation.md"
STORE = Path(__file__).with_name("mutation.json")
CHANGE = Fraction(5, 100)
# Lines of a paper's file, and calls of anything, after which a formula is taken never to end.
PATIENCE = 3_000_000
# Not part of what is claimed: examples, descriptions, and how points are drawn.
_ASIDE = {"at", "Vector", "Witness", "Paper", "Cell", "range"}
_DOMAINS = {"Real", "Integer", "Where", "Entry"}  # there, only printed thresholds count
_ASIDE_WORDS = {"typical", "vectors", "refuses", "witness", "within"}


@dataclass(frozen=True)
class Place:
    """A constant in a file, and the direction of its change."""

    module: str
    line: int
    column: int
    text: str
    up: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.text} {'+' if self.up else '-'}5%"


def _constants(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.Constant, bool]]:
    """Constants that matter, and whether each stands in a function's body."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in _ASIDE or (inside and name in _DOMAINS):
            return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg in _ASIDE_WORDS:
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(child, ast.Subscript | ast.JoinedStr | ast.Raise | ast.AnnAssign):
            continue
        if isinstance(child, ast.Constant):
            yield child, inside
            continue
        if isinstance(child, ast.FunctionDef):
            for decorator in child.decorator_list:
                yield from _constants(decorator, False)
            for statement in child.body:
                yield from _constants(ast.Module([statement], []), True)
            continue
        formula = isinstance(child, ast.Lambda) or (
            isinstance(node, ast.Module) and isinstance(child, ast.Assign)
        )
        yield from _constants(child, inside or formula)


def places(module: types.ModuleType) -> list[Place]:
    """Every constant of a module that is worth changing, both ways."""
    assert module.__file__ is not None
    source = Path(module.__file__).read_text(encoding="utf-8")
    found = []
    for constant, inside in _constants(ast.parse(source)):
        value = constant.value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        threshold = isinstance(value, str) and _decimal(value)
        if (inside and number and value != 0) or (not inside and threshold):
            found += [
                Place(module.__name__, constant.lineno, constant.col_offset, repr(value), up)
                for up in (False, True)
            ]
    return found


def _decimal(text: str) -> bool:
    try:
        return Fraction(text) != 0 and "." in text
    except ValueError:
        return False


def mutated(module: types.ModuleType, place: Place) -> list[Entry] | None:
    """The module's entries with one constant changed; None if it no longer loads."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and (node.lineno, node.col_offset) == (
            place.line,
            place.column,
        ):
            factor = 1 + CHANGE if place.up else 1 - CHANGE
            if isinstance(node.value, str):
                node.value = str(float(Fraction(node.value) * factor))
            elif isinstance(node.value, int | float):
                node.value = node.value * float(factor)
    copy = types.ModuleType(module.__name__)
    copy.__file__ = module.__file__
    copy.__package__ = module.__package__
    try:
        # dataclasses look their module up by name while it loads; it stays the original
        exec(compile(tree, module.__file__, "exec"), copy.__dict__)
        return of_module(copy) or _of_siblings(module.__name__, copy)
    except Exception:
        return None


def siblings(name: str) -> list[types.ModuleType]:
    """The files of the same paper that import from this one."""
    package, _, short = name.rpartition(".")
    if package == "dpacct.theorems":  # the registry's own files
        return []
    return [
        other
        for other in modules()
        if other.__name__.startswith(f"{package}.")
        and f"{package}.{short} import" in Path(str(other.__file__)).read_text(encoding="utf-8")
    ]


def _of_siblings(name: str, copy: types.ModuleType) -> list[Entry]:
    """The entries of the files that use a file which has none itself, loaded anew upon the copy."""
    found: list[Entry] = []
    original = sys.modules[name]
    sys.modules[name] = copy
    try:
        for other in siblings(name):
            again = types.ModuleType(other.__name__)
            source = Path(str(other.__file__)).read_text(encoding="utf-8")
            exec(compile(source, str(other.__file__), "exec"), again.__dict__)
            found += of_module(again)
    finally:
        sys.modules[name] = original
    return found


def _value(entry: Entry, point: dict[str, object]) -> float | None:
    try:
        return entry.evaluate(point, as_printed=True)
    except (DpacctError, ArithmeticError, ValueError, TypeError):
        return None


def sample(entry: Entry, count: int = 12) -> list[dict[str, object]]:
    """Points of the domain: the stored ones, and some drawn."""
    rng = Random(entry.id)
    found: list[dict[str, object]] = [dict(vector.inputs) for vector in entry.vectors]
    for index in range(count):
        try:
            found.append(dict(entry.domain.draw(rng, "boundary" if index % 4 == 3 else "inside")))
        except (DpacctError, ArithmeticError, ValueError, TypeError):
            continue  # an end that a changed constant makes nonsense of
    return found


def unsafe(entry: Entry, other: Entry) -> bool:
    """Whether some answer is now on the wrong side, or given where it should be refused."""
    for point in [*sample(entry), *sample(other)]:
        value, changed = _value(entry, point), _value(other, point)
        if changed is None:
            continue
        if value is None:
            if entry.domain.domains != other.domain.domains:
                return True
            continue
        if close(changed, value, 1e-7) or math.isinf(value) or math.isinf(changed):
            continue
        wrong = {
            Side.UPPER: changed < value,
            Side.LOWER: changed > value,
            Side.TWO_SIDED: True,
            Side.NONE: False,
        }
        if wrong[entry.side]:
            return True
    return False


def caught(other: Entry) -> bool:
    """Whether the stored numbers, or a short search, say that something is wrong."""
    quick = replace(other, vectors=tuple(replace(v, truth=None) for v in other.vectors))
    try:
        if vectors(quick):
            return True
    except (DpacctError, ArithmeticError, ValueError, TypeError):
        return True
    truth = truths().get(other.id)
    if truth is None:
        return False
    case = Search(other, truth)
    try:
        return search(case, draws=min(25, truth.draws), seed=5).violated
    except (ArithmeticError, ValueError, TypeError):
        return True


@dataclass(frozen=True)
class Outcome:
    """What became of a planted error: `harmless` if no answer became unsafe."""

    place: Place
    entry: str
    told: str  # caught, survived or harmless


def outcome(module: types.ModuleType, place: Place, patience: int = PATIENCE) -> Outcome:
    """Plant one error, and look at every usable entry of the file.

    A formula that never comes to an end (a series that no longer converges) is caught by counting the
    lines that it runs, which is the same on every machine.
    """
    left = patience
    papers = str(Path(str(module.__file__)).parent)

    def count(frame: types.FrameType, event: str, argument: object) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Endless
        return count if frame.f_code.co_filename.startswith(papers) else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return _outcome(module, place)
    except Endless:
        return Outcome(place, "", "caught")
    finally:
        sys.settrace(before)


class Endless(BaseException):
    """The count is used up; no `except` of a formula or a judge swallows it."""


def _outcome(module: types.ModuleType, place: Place) -> Outcome:
    changed = mutated(module, place)
    if changed is None:
        return Outcome(place, "", "caught")
    originals = {entry.id: entry for entry in _entries(module)}
    alive = ""
    for other in changed:
        entry = originals.get(other.id)
        if entry is None or entry.formula is None or not entry.is_answer:
            continue
        if not unsafe(entry, other):
            continue
        if caught(other):
            return Outcome(place, entry.id, "caught")
        alive = entry.id
    return Outcome(place, alive, "survived" if alive else "harmless")


def _entries(module: types.ModuleType) -> list[Entry]:
    """A file's own entries, or those of the files that use it."""
    own = of_module(module)
    return own or [entry for other in siblings(module.__name__) for entry in of_module(other)]


def targets() -> list[tuple[types.ModuleType, Place]]:
    """Every place in every file that has a usable entry."""
    return [
        (module, place)
        for module in modules()
        if any(e.is_answer and e.formula is not None for e in _entries(module))
        and module.__name__.rpartition(".")[2] != "tables"
        for place in places(module)
    ]


def fingerprint(module: types.ModuleType) -> str:
    """Changes with the file."""
    assert module.__file__ is not None
    return hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()[:16]


def stored() -> dict[str, dict[str, Any]]:
    """What was found, file by file; a file that changed is tried again."""
    return dict(json.loads(STORE.read_text(encoding="utf-8"))) if STORE.exists() else {}


def main() -> int:
    """Try every file that has changed since it was tried, print the survivors, write the page."""
    by_room: dict[str, list[tuple[types.ModuleType, Place]]] = {}
    for module, place in targets():
        room = module.__name__.removeprefix("dpacct.theorems.")
        by_room.setdefault(room, []).append((module, place))
    for room, those in by_room.items():
        mark = fingerprint(those[0][0])
        if stored().get(room, {}).get("file") == mark:
            continue
        found = [outcome(module, place) for module, place in those]
        kinds = Counter(one.told for one in found)
        alive = [f"{one.place}, in {one.entry}" for one in found if one.told == "survived"]
        result = {"file": mark, **kinds, "not_caught": alive}
        print(room, f"after {time.process_time():.0f} s", result, flush=True)
        done = {name: told for name, told in stored().items() if name in by_room} | {room: result}
        STORE.write_text(json.dumps(dict(sorted(done.items())), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(stored()), encoding="utf-8")
    return 0


def page(results: dict[str, dict[str, Any]]) -> str:
    """docs/theorems/mutation.md."""
    lines = ["# Planted errors", "", " ".join((__doc__ or "").split("\n\n")[1].split()), ""]
    lines += ["| file | unsafe changes | caught | harmless changes |", "|---|---|---|---|"]
    total = hit = 0
    for room, found in results.items():
        caught, alive = found.get("caught", 0), found.get("survived", 0)
        total, hit = total + caught + alive, hit + caught
        lines += [f"| {room} | {caught + alive} | {caught} | {found.get('harmless', 0)} |"]
    lines += ["", f"Score: {hit} of {total} unsafe changes are caught, {100 * hit / total:.1f} %."]
    survivors = [one for found in results.values() for one in found["not_caught"]]
    if survivors:
        lines += ["", "Not caught:", "", *(f"- {one}" for one in survivors)]
    return "\n".join([*lines, "", "Made by `python -m tests.theorems.mutation`."]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
