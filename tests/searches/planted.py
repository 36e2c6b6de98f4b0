"""Plant sixty errors, drawn by a seed over all packages, and say which of them the tests notice.

    python -m tests.searches.planted CHECKOUT [--first N] [--last N] [--store FILE]

Files in CHECKOUT, a clone of its own, are edited and restored. A change turns a sign, grows a decimal by 5 %,
drops a term, or turns a comparison. Packages are drawn in proportion to their lines, then a file of the
package, then a kind of change, then its place, so the same seed asks the same of every state of the tree.
The tests of the package run first, then those of everything that stands on it.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

SEED, COUNT = 20261120, 60
SECONDS = 900  # for one set of tests
_TURNED = {ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<")}
_NEXT = ("laws", "golden", "answer", "cli", "report", "docs", "structure")
"""Tests that stand on every package, asked when those of the package itself notice nothing."""


@dataclass(frozen=True)
class Error:
    """One change: the text at a place of a file, and what stands there instead."""

    file: str
    function: str
    line: int
    start: int  # in the file's text
    stop: int
    kind: str
    before: str
    after: str


class _Places(ast.NodeVisitor):
    """Collect every place of a file at which an error can be planted."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._names: list[str] = []
        self.errors: list[Error] = []

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(
            node.end_lineno, node.end_col_offset
        )

    def _add(self, node: ast.expr, span: tuple[int, int], kind: str, after: str) -> None:
        before, name = self.text[slice(*span)], ".".join(self._names)
        self.errors.append(Error(self.file, name, node.lineno, *span, kind, before, after))

    def _replaced(
        self, node: ast.expr, span: tuple[int, int], kind: str, old: str, new: str
    ) -> None:
        text = self.text[slice(*span)]
        if text.count(old) == 1:
            self._add(node, span, kind, text.replace(old, new))

    def _named(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self._names.append(node.name)
        for child in node.body:
            self.visit(child)
        self._names.pop()

    visit_FunctionDef = visit_ClassDef = _named

    def _passed(self, node: ast.AST) -> None:
        """Leave out messages, other text and annotations."""

    visit_Raise = visit_JoinedStr = _passed

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        whole = isinstance(node.right, ast.Constant) and not isinstance(node.right.value, float)
        if (
            whole
            or isinstance(node.right, ast.Tuple)
            or isinstance(node.left, ast.List | ast.Tuple)
        ):
            return
        if not isinstance(node.op, ast.Add | ast.Sub):
            return
        left, right = self._span(node.left), self._span(node.right)
        between = self.text[left[1] : right[0]]
        sign, other = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
        self._replaced(node, (left[1], right[0]), "sign", sign, other)
        if between.strip() == sign:
            self._add(node, (left[1], right[1]), "term", "")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(node.value, ast.Constant):
            span = self._span(node.target)[1], self._span(node.value)[0]
            old, new = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            self._replaced(node.value, span, "sign", old, new)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, float) and node.value:
            self._add(node, self._span(node), "constant", repr(node.value * 1.05))

    def visit_Compare(self, node: ast.Compare) -> None:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            span = self._span(node.left)[1], self._span(node.comparators[0])[0]
            self._replaced(node, span, "comparison", *_TURNED[type(node.ops[0])])


def places(checkout: Path, file: str) -> list[Error]:
    """List the errors that can be planted in one file."""
    text = (checkout / file).read_text(encoding="utf-8")
    finder = _Places(file, text)
    finder.visit(ast.parse(text))
    return finder.errors


def package(file: str) -> str:
    """Name the folder of tests that guards a file: `pld`, `cli`, ..., `training`."""
    parts = Path(file).parts
    return parts[0] if parts[0] == "training" else parts[1] if len(parts) > 2 else "answer"


def drawn(checkout: Path, count: int = COUNT, seed: int = SEED) -> list[Error]:
    """Draw errors: a package in proportion to its lines, a file of it, a kind of change, a place."""
    draw = Random(seed)
    packages: dict[str, list[str]] = {}
    weights: dict[str, int] = {}
    for top in ("dpacct", "training/dpacct_training"):
        for path in sorted((checkout / top).rglob("*.py")):
            file = path.relative_to(checkout).as_posix()
            packages.setdefault(package(file), []).append(file)
            lines = len(path.read_text(encoding="utf-8").splitlines())
            weights[package(file)] = weights.get(package(file), 0) + lines
    names = sorted(packages)
    chosen: list[Error] = []
    while len(chosen) < count:
        name = draw.choices(names, [weights[name] for name in names])[0]
        kinds: dict[str, list[Error]] = {}
        for error in places(checkout, draw.choice(packages[name])):
            kinds.setdefault(error.kind, []).append(error)
        if kinds:
            error = draw.choice(kinds[draw.choice(sorted(kinds))])
            if error not in chosen:
                chosen.append(error)
    return chosen


def planted(text: str, error: Error) -> str:
    """Return the file's text with the error in it."""
    return text[: error.start] + error.after + text[error.stop :]


def noticed(checkout: Path, error: Error) -> dict[str, Any]:
    """Plant an error, run the tests until one fails, and restore the file."""
    path = checkout / error.file
    text = path.read_text(encoding="utf-8")
    own = checkout / "tests" / package(error.file)
    sets = [[str(own)] if own.is_dir() else [], [f"tests/{n}" for n in _NEXT if n != own.name]]
    started = time.monotonic()
    path.write_text(planted(text, error), encoding="utf-8")
    try:
        for tests in filter(None, sets):
            became, by = _asked(checkout, tests)
            if became != "not noticed":
                break
    finally:
        path.write_text(text, encoding="utf-8")
    return {"became": became, "by": by, "seconds": round(time.monotonic() - started)}


def _asked(checkout: Path, tests: list[str]) -> tuple[str, str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    where = {**os.environ, "PYTHONPATH": f"{checkout}{os.pathsep}{checkout / 'training'}"}
    try:
        run = subprocess.run(
            command,
            cwd=checkout,
            env=where,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "out of time", ""
    if run.returncode == 0:
        return "not noticed", ""
    failures = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "noticed", failures[0].split(" - ")[0][:160] if failures else run.stdout[-80:]


def main(arguments: list[str]) -> int:
    """Plant one error after the other, and store what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=COUNT)
    parser.add_argument("--store", type=Path, default=Path("planted.json"))
    chosen = parser.parse_args(arguments)
    results = []
    for error in drawn(chosen.checkout)[chosen.first : chosen.last]:
        results.append({**asdict(error), **noticed(chosen.checkout, error)})
        chosen.store.write_text(json.dumps({"seed": SEED, "errors": results}, indent=1) + "\n")
        print(json.dumps(results[-1]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
