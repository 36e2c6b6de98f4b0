"""Lint, format and types are tests, so that one command says whether a change is fit."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import DEAR
from tests.structure.project import ROOT, relative, sources


def check(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


def test_lint() -> None:
    check("ruff", "check", ".")


def test_format() -> None:
    check("ruff", "format", "--check", "--diff", ".")


@pytest.mark.timeout(300)
def test_types() -> None:
    check("mypy")


# --- Nothing unfinished is committed: no promise in a comment, no stub, no empty function.


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
    for name in (line.split()[0] for line in DEAR.read_text(encoding="utf-8").splitlines()):
        path, _, function = name.partition("::")
        assert f"\ndef {function}(" in (ROOT / path).read_text(encoding="utf-8"), name


# --- An assert tells the type checker what holds; what may fail is raised, for `python -O` drops asserts.


def narrows(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(narrows, values))
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
    return isinstance(test, ast.Call) and ast.unparse(test.func) == "isinstance"


def test_an_assert_only_narrows_a_type() -> None:
    assert not [
        f"{relative(path)}:{node.lineno}: {ast.unparse(node)}"
        for path in sources("dpacct", "training")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert) and not narrows(node.test)
    ]


# --- A class name exists once, so that a search by name finds one thing.

NAMED_BY_OTHERS = {"Accountant", "BudgetCallback"}  # two frameworks' words for theirs
NAMED_BY_OTHERS |= {
    "DPFed",
    "DPFedAvg",
    "DPFedLS",
    "DPFedSAM",
    "PriFedSync",
    "UDPFL",
}  # papers' algorithms
NAMED_BY_OTHERS |= {
    "Gaussian",
    "Laplace",
    "Staircase",
    "Votes",
}  # noises: words of training's plan files


def test_a_class_name_exists_once() -> None:
    places: dict[str, list[str]] = {}
    for path in sources("dpacct", "training"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in NAMED_BY_OTHERS:
                places.setdefault(node.name, []).append(f"{relative(path)}:{node.lineno}")
    assert not {name: where for name, where in places.items() if len(where) > 1}


# --- Docstrings are sentences or names of things, and no riddles that the code answers.

OPENINGS = {"What", "How", "Of", "By", "That", "Whether", "As", "At", "Where", "Which", "Whose"}
OPENINGS |= {"Who", "Why", "When", "To", "From", "With", "In", "On", "For", "And", "But"}


def openings(source: str) -> Iterator[tuple[str, int]]:
    """The first word of each docstring, also of those below a constant or a field, and its line."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for line in body if isinstance(body, list) else []:
            match line:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield (re.findall(r"\w+", text) or [""])[0], line.lineno


def test_no_docstring_is_a_riddle() -> None:
    results = [
        f"{relative(path)}:{line}: {word} ..."
        for path in sources("dpacct", "training", "figures", "docs")
        for word, line in openings(path.read_text(encoding="utf-8"))
        if word in OPENINGS
    ]
    assert not results, "\n" + "\n".join(results)


def test_a_riddle_is_seen() -> None:
    source = 'X = 1\n"""What X is."""\nclass A:\n    def f(self):\n        "By the base."'
    assert [word for word, _ in openings(source) if word in OPENINGS] == ["What", "By"]
