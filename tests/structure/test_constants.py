"""Numbers with names in the numeric core: few, each with a row in docs/theory/constants.md.

Other numbers stand at their line, beside the reason.
"""

import ast
import importlib
import io
import numbers
import re
import tokenize
from collections.abc import Iterator
from fractions import Fraction

import pytest

from tests.structure.project import ROOT

PACKAGES = ("pld", "plan", "proof", "mechanisms")
MOST = 120
"""Names in all four packages."""
BRACKET = re.compile(r"pld/(bracket/.*|grid|layout|compose|spectrum|nested|pieces|stack|rows)")
"""Modules of the bracket, whose numbers docs/theory/bracket.md explains."""
ROW = re.compile(r"^\| `([\w/.]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def is_number(value: object) -> bool:
    return isinstance(value, numbers.Number) and not isinstance(value, bool)


def constants() -> Iterator[tuple[str, object]]:
    """Each name that a module binds to a number, or to a tuple of numbers, as pld/budget.WORK."""
    for package in PACKAGES:
        for path in sorted((ROOT / "dpacct" / package).rglob("*.py")):
            place = path.relative_to(ROOT).with_suffix("")
            module = importlib.import_module(".".join(place.parts).removesuffix(".__init__"))
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                    value = getattr(module, name)
                    if is_number(value) or (
                        isinstance(value, tuple) and value and all(map(is_number, value))
                    ):
                        yield f"{'/'.join(place.parts[1:])}.{name}", value


NAMED = dict(constants())
ROWS = {
    name: (value, reason, tests)
    for name, value, reason, tests in ROW.findall(
        (ROOT / "docs" / "theory" / "constants.md").read_text(encoding="utf-8")
    )
}


def test_numbers_with_names_are_few() -> None:
    assert len(NAMED) <= MOST, "write a number that is used once at its line, with the reason"


def test_each_has_a_row_and_each_row_is_one() -> None:
    wanted = {name for name in NAMED if not BRACKET.fullmatch(name.rpartition(".")[0])}
    assert set(ROWS) == wanted


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_what_the_number_is_and_which_tests_notice(name: str) -> None:
    value, reason, tests = ROWS[name]
    stated = NAMED[name]
    if not isinstance(stated, tuple) or len(stated) < 4:
        assert eval(value, {"Fraction": Fraction}) == stated
    assert len(reason) > 5
    place = ROOT / "tests" / tests
    assert place.is_dir() or place.with_suffix(".py").exists()


# --- comments, which stand at the equations that they explain

REACHED = {"pld": 5.5, "proof": 4.5}
"""Comment lines per 100 lines of code; 12 are aimed at."""
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@pytest.mark.parametrize("package", REACHED)
def test_equations_are_explained_at_their_line(package: str) -> None:
    comments, code = 0, 0
    for path in (ROOT / "dpacct" / package).rglob("*.py"):
        source, lines = path.read_text(encoding="utf-8"), set()
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            comments += token.type == tokenize.COMMENT
            if token.type not in LAYOUT | {tokenize.COMMENT}:
                lines |= {*range(token.start[0], token.end[0] + 1)}
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                lines -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        code += len(lines)
    assert comments >= REACHED[package] / 100 * code
