"""Nothing unfinished is committed: no promise in a comment, no stub, no empty function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.conftest import DEAR
from tests.structure.project import ROOT, relative, sources

# Spelt in pieces, so that this file does not contain what it looks for.
MARKS = re.compile(
    "|".join([r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bX" + r"XX\b", "NotImplemented" + "Error"])
)
FOLDERS = ("dpacct", "training", "tests", "figures")


def test_no_promise_in_a_comment() -> None:
    results = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in sources(*FOLDERS)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MARKS.search(line)
    ]
    assert not results, "\n" + "\n".join(results)


def is_empty(body: list[ast.stmt]) -> bool:
    """Nothing but a docstring, `pass` or `...`."""
    return all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in body
    )


def named(node: ast.expr) -> str:
    """'Protocol' for Protocol, typing.Protocol and Protocol[T]."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return getattr(node, "attr", getattr(node, "id", ""))


def stubs(node: ast.AST, in_protocol: bool = False) -> Iterator[ast.FunctionDef]:
    """Functions without a body, where no protocol, overload or abstract method asks for that."""
    for child in ast.iter_child_nodes(node):
        inside = in_protocol
        if isinstance(child, ast.ClassDef):
            inside = any(named(base) == "Protocol" for base in child.bases)
        elif isinstance(child, ast.FunctionDef):
            declared = {named(d) for d in child.decorator_list} & {"overload", "abstractmethod"}
            if is_empty(child.body) and not (in_protocol or declared):
                yield child
        yield from stubs(child, inside)


def test_no_stub() -> None:
    results = [
        f"{relative(path)}:{function.lineno}: {function.name} does nothing"
        for path in sources("dpacct", "training")
        for function in stubs(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not results, "\n" + "\n".join(results)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def f():\n    ...", 1),
        ('def f():\n    "Says so."', 1),
        ("class A:\n    def f(self): pass", 1),
        ("class A(Protocol):\n    def f(self): ...", 0),
        ("class A(typing.Protocol[T]):\n    def f(self): ...", 0),
        ("@overload\ndef f(): ...", 0),
        ("class A(ABC):\n    @abc.abstractmethod\n    def f(self): ...", 0),
        ("def f():\n    return None", 0),
    ],
)
def test_a_stub_is_seen(source: str, count: int) -> None:
    assert len(list(stubs(ast.parse(source)))) == count


def test_the_data_files_are_small() -> None:
    """Golden tables are text that a person can open; nothing binary or huge slips into tests."""
    big = [
        f"{relative(p)}: {p.stat().st_size / 1e6:.1f} MB"
        for p in (ROOT / "tests").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and p.stat().st_size > 2_000_000
    ]
    assert not big, big


def test_the_dear_tests_of_the_inner_loop_exist() -> None:
    """`tests/dear.txt` names test functions; one that was renamed would come back unseen."""
    for name in DEAR.read_text(encoding="utf-8").split():
        path, _, function = name.partition("::")
        assert f"\ndef {function}(" in (ROOT / path).read_text(encoding="utf-8"), name
