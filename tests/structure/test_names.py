"""Names say what they hold: none is called told, found, given, one, own, known or here."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.structure.project import relative, sources

VAGUE = {"told", "found", "given", "one", "own", "known", "here", "thing", "things", "stuff"}
VAGUE |= {"result2", "data2", "tmp", "foo", "misc"}
"""Each stood for a message, a table, a root, a law, ...; the thing itself has a name."""
KEPT = {
    ("dpacct/federated/plan.py", "told"),  # Printed.told: public, and a key in JSON
    ("tests/papers/calls.py", "thing"),  # any object of any module
    ("tests/papers/fifty.py", "thing"),
    ("tests/structure/test_public_names.py", "thing"),
    ("tests/survival/dump.py", "thing"),
    ("tests/survival/test_survival.py", "thing"),
}
"""A file, and a name that stays in it."""


def bound(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that is given to something, and its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno


def test_no_name_is_vague() -> None:
    results = [
        f"{relative(path)}:{line}: {name}"
        for path in sources("dpacct", "training", "tests", "figures", "docs")
        for name, line in bound(ast.parse(path.read_text(encoding="utf-8")))
        if name.strip("_") in VAGUE and (relative(path), name) not in KEPT
    ]
    assert not results, "\n" + "\n".join(results)


@pytest.mark.parametrize(
    "source",
    [
        "one = 1",
        "def f(found): ...",
        "def known(): ...",
        "[own for own in x]",
        "self._told = 2",
        "for here in x: pass",
        "if (given := 3): pass",
        "match x:\n    case [thing]: pass",
    ],
)
def test_a_vague_name_is_seen(source: str) -> None:
    assert [name for name, _ in bound(ast.parse(source)) if name.strip("_") in VAGUE]
