"""Planted errors: how many does a stored number, or the property test of its statement, find?

`python -m tests.papers.mutation` plants up to three in each formula that may be used (a factor of 1.05,
a changed sign, an index or constant off by one; which, is drawn with a seed), and writes
docs/theorems/mutation.md.
"""

import ast
import copy
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from dpacct.errors import DpacctError
from dpacct.papers.oracles.oracle import oracle_of
from dpacct.papers.page import Statement
from dpacct.papers.refute import points, search
from dpacct.papers.verify import values
from dpacct.vocabulary import Side
from tests.papers.statements import ALL, with_formula
from tests.structure.project import ROOT

PAGE = ROOT / "docs" / "theorems" / "mutation.md"
USABLE = [s for s in ALL if s.is_answer and s.formula is not None and oracle_of(s) is not None]
DRAWS = 24
"""As many as the property test of a statement has (test_search.py)."""
Formula = Callable[..., float]
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add}


def scaled(statement: Statement) -> Formula:
    """Five per cent off, on the unsafe side."""
    formula = statement.formula
    assert formula is not None
    factor = 1.05 if statement.side is Side.LOWER else 1 / 1.05
    return lambda **inputs: factor * formula(**inputs)


def edited(statement: Statement, kind: str, random: Random) -> Formula | None:
    """The formula with one sign, or one constant, of its own function changed; None if it has none."""
    formula = statement.formula
    assert formula is not None
    if formula.__module__ != statement.module.__name__:
        return None
    tree = ast.parse(textwrap.dedent(inspect.getsource(formula)))
    places = [
        (node, node.op) if kind == "sign" else (node, node.value)  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        if (kind == "sign" and isinstance(node, ast.BinOp) and type(node.op) in SWAPPED)
        or (kind == "index" and isinstance(node, ast.Constant) and type(node.value) in (int, float))
    ]
    if not places:
        return None
    node, old = random.choice(places)
    if isinstance(node, ast.BinOp):
        node.op = SWAPPED[type(old)]()
    else:
        node.value = old + 1  # type: ignore[attr-defined]
    space = dict(vars(statement.module))
    exec(compile(ast.fix_missing_locations(tree), "<planted>", "exec"), space)
    planted: Formula = space[formula.__name__]
    return planted


def called(formula: Formula, inputs: Any) -> float:
    """Its value; nan where it fails."""
    try:
        return float(formula(**inputs))
    except (DpacctError, ArithmeticError, ValueError, TypeError, IndexError):
        return math.nan


def unsafe(statement: Statement, changed: Formula) -> bool:
    """Whether some answer of the changed formula claims more than that of the formula."""
    formula = statement.formula
    assert formula is not None
    seen: list[bool] = []

    def differs(inputs: Any) -> None:
        was, now = called(formula, inputs), called(changed, inputs)
        room = max(1e-7, statement.accuracy) * abs(was)
        sides = {Side.UPPER: now < was - room, Side.LOWER: now > was + room}
        seen.append(math.isfinite(was) and sides.get(statement.side, abs(now - was) > room))

    for row in statement.values:
        differs(statement.checked(row.inputs))
    if not any(seen):
        how = settings(
            max_examples=40,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        how(given(points(statement))(differs))()
    return any(seen)


def found(statement: Statement, changed: Formula) -> tuple[bool, bool]:
    """Whether a stored number finds it, and whether the property test of the statement does."""
    wrong = with_formula(copy.copy(statement), changed)
    oracle = oracle_of(statement)
    assert oracle is not None
    try:
        stored = bool(values(wrong))
    except (DpacctError, ArithmeticError, ValueError, TypeError, IndexError):
        stored = True  # it fails at a stored point
    try:
        _, witness = search(wrong, oracle, draws=min(DRAWS, oracle.draws), seed=1)
    except (TypeError, IndexError):
        return stored, True
    return stored, witness is not None


def planted(seed: int = 0) -> Iterator[tuple[Statement, str, bool, bool]]:
    """Each unsafe error: its statement, its kind, and by what it is found."""
    for statement in USABLE:
        random = Random(f"{seed}:{statement.id}")
        for kind in ("factor", "sign", "index"):
            wrong = scaled(statement) if kind == "factor" else edited(statement, kind, random)
            if wrong is not None and unsafe(statement, wrong):
                yield statement, kind, *found(statement, wrong)


def page(errors: list[tuple[Statement, str, bool, bool]]) -> str:
    """The page of the documentation."""
    rows = []
    for name in (*dict.fromkeys(s.paper for s, *_ in errors), ""):
        some = [e for e in errors if name in ("", e[0].paper)]
        counts = (
            len({s.id for s, *_ in some}),
            len(some),
            *(sum(e[k] for e in some) for k in (2, 3)),
        )
        either = sum(stored or searched for *_, stored, searched in some)
        rows.append(f"| {name or 'all'} | {' | '.join(map(str, (*counts, either)))} |")
    missed = [f"`{s.id}` ({kind})" for s, kind, stored, searched in errors if not stored | searched]
    last = f"Found by neither: {', '.join(missed)}." if missed else "None is missed by both."
    return HEAD + "\n".join(rows) + f"\n\n{last}\n\nMade by `python -m tests.papers.mutation`.\n"


HEAD = f"""# Planted errors

In each formula that may be used and has an oracle up to three errors are planted: five per cent, on
the unsafe side; a changed sign; an index or constant of its own function off by one, drawn with a
seed. Those count that make some answer unsafe: an upper bound smaller, a lower bound larger, an
exact value different. One is found by a stored number (the page's reference values), or by the
statement's property test ({DRAWS} points against its oracle; tests/papers/test_search.py).

| paper | formulas | unsafe errors | found by a stored number | by the property test | by either |
|---|---|---|---|---|---|
"""

if __name__ == "__main__":
    PAGE.write_text(page(list(planted())), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
