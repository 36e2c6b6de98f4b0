"""Planted errors: forty small changes, drawn by a seeded program, of the files that charge and bound.

    python -m tests.searches.planted CHECKOUT [--first N]    # a checkout of its own: files there are edited

A change turns a sign, grows a decimal by 5 %, drops a term, or turns a comparison. For each the tests
named beside its file are run, for at most fifteen minutes, until one fails. `planted.json` has the list, what
became of each, and for a change that nothing noticed what was done about it: a test (`test`), or why it is
harmless (`harmless`).
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

STORE = Path(__file__).with_name("planted.json")
SEED, COUNT, SECONDS = 20261119, 40, 900

_GRIDS = (
    "tests/pld/test_charges.py tests/pld/test_grid.py tests/pld/test_brackets.py "
    "tests/pld/test_small_plans.py tests/pld/test_ends.py tests/pld/test_nested.py "
    "tests/pld/test_budget.py tests/pld/test_profile.py"
)
_CONTOURS = (
    "tests/pld/test_charges.py tests/pld/test_contour.py tests/pld/test_loss.py tests/pld/test_ends.py "
    "tests/pld/test_small_plans.py tests/pld/test_rare.py tests/pld/test_profile.py tests/golden"
)
_PROOFS = (
    "tests/proof/test_bounds.py tests/proof/test_sabotage.py tests/proof/test_sabotage_closed.py "
    "tests/proof/test_truth.py tests/proof/test_discrete.py tests/proof/test_certificate.py"
)
TARGETS: dict[str, str] = {
    **{
        f"dpacct/pld/{name}.py": _GRIDS
        for name in ("grid", "pieces", "layout", "compose", "spectrum", "brackets", "outcomes")
    },
    "dpacct/pld/coin.py": f"tests/pld/test_nested.py {_GRIDS}",
    "dpacct/pld/nested.py": f"tests/pld/test_nested.py {_GRIDS}",
    "dpacct/pld/moments.py": _CONTOURS,
    "dpacct/pld/contour.py": _CONTOURS,
    "dpacct/pld/lines.py": _CONTOURS,
    "dpacct/plan/adaptive.py": "tests/plan/test_adaptive.py tests/ledger/test_ledger.py",
    **{
        file: "tests/pld/test_roots.py tests/answer tests/pld/test_rare.py tests/laws/test_monotone.py"
        for file in ("dpacct/plan/search.py", "dpacct/pld/roots.py")
    },
    "dpacct/plan/certified.py": f"tests/answer {_PROOFS}",
    **{
        f"dpacct/proof/{name}.py": _PROOFS
        for name in ("moments", "direction", "solve", "far_search", "between", "rule")
    },
}
"""Files, and the tests that are to notice."""
_TURNED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}


NAMED: dict[str, tuple[str, str, str]] = {
    "input rounding of the inversion": (
        "dpacct/pld/contour.py",
        "(epsilons, epsilons + slip, epsilons - slip)",
        "(epsilons, epsilons, epsilons)",
    ),
    "guard of the filter": (
        "dpacct/plan/adaptive.py",
        "budget - 1e-13 * (1.0 + abs(log_share) + s * float(self.epsilon))",
        "budget",
    ),
    "rounding of the filter's moments": (
        "dpacct/plan/adaptive.py",
        "max(0.0, total) * (1.0 + SLACK)",
        "max(0.0, total)",
    ),
    "union bound over orders": ("dpacct/plan/adaptive.py", " - math.log(share)", ""),
    "other end of a proved calibration": (
        "dpacct/proof/solve.py",
        "if at_low is not None and at_high is not None and at_low != at_high:",
        "if at_low is not None or at_high is not None:",
    ),
    "other end of a calibration": (
        "dpacct/plan/search.py",
        "sure = trials.realised and result.lower > self.log_delta",
        "sure = True",
    ),
    "_within_one": ("dpacct/pld/pieces.py", "favoured = _within_one(favoured)", "pass"),
    "rounding of C_q": (
        "dpacct/pld/pieces.py",
        "(_REST if upper else -_REST)",
        "(-_REST if upper else _REST)",
    ),
    "below a window's lower edge": (
        "dpacct/pld/compose.py",
        "self.missing if epsilon >= self.spectrum.low else self.wrapped",
        "self.missing",
    ),
    "a tangent replaced by a chord": (
        "dpacct/mechanisms/laws/knots.py",
        "corners.append((float(meet), float(level)))",
        "pass",
    ),
    "precision from the value": (
        "dpacct/plan/routes.py",
        "_UNIT * abs(log_value) if math.isfinite(log_value) else 0.0",
        "0.0",
    ),
    "group factor": (
        "dpacct/plan/group.py",
        "log_profile(_composed(self.node, adjacency), share) + factor",
        "log_profile(_composed(self.node, adjacency), share)",
    ),
}
"""Errors that no test once noticed: file, what stands there, and what is planted instead."""
_NAMED_TESTS = {
    "dpacct/pld/contour.py": "tests/pld/test_charges.py",
    "dpacct/pld/pieces.py": "tests/pld/test_charges.py",
    "dpacct/pld/compose.py": "tests/pld/test_charges.py",
    "dpacct/plan/routes.py": "tests/pld/test_charges.py",
    "dpacct/plan/adaptive.py": "tests/plan/test_adaptive.py",
    "dpacct/plan/group.py": "tests/plan/test_group_and_parallel.py",
    "dpacct/plan/search.py": "tests/answer/test_calibration.py",
    "dpacct/proof/solve.py": "tests/answer/test_calibration.py tests/proof/test_certificate.py",
    "dpacct/mechanisms/laws/knots.py": "tests/mechanisms/test_custom.py",
}


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
    """Every place of a file at which an error may be planted."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))
        self._lines = lines
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
        before = self.text[slice(*span)]
        name = ".".join(self._names)
        self.errors.append(Error(self.file, name, node.lineno, *span, kind, before, after))

    def _named(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self._names.append(node.name)
        for child in node.body:
            self.visit(child)
        self._names.pop()

    visit_FunctionDef = visit_ClassDef = _named

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages are nothing to plant errors in."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nor is other text."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Nor are places in arrays."""
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Annotations are not looked at."""
        if node.value is not None:
            self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """A sign is turned, or a term dropped."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Add | ast.Sub) or (
            isinstance(node.right, ast.Constant | ast.Tuple)
            and not isinstance(getattr(node.right, "value", 0.0), float)
        ):
            return
        if isinstance(node.left, ast.List | ast.Tuple):
            return
        left, right = self._span(node.left), self._span(node.right)
        between = self.text[left[1] : right[0]]
        sign, other = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
        if between.count(sign) != 1:
            return
        self._add(node, (left[1], right[0]), "sign", between.replace(sign, other))
        closing = between[: between.index(sign)]
        if not closing.strip() and "(" not in between:
            self._add(node, (left[1], right[1]), "term", "")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The same of what is added in place."""
        self.visit(node.value)
        if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(node.value, ast.Constant):
            start, stop = self._span(node.target)[1], self._span(node.value)[0]
            text = self.text[start:stop]
            after = text.replace("+=", "-=") if "+=" in text else text.replace("-=", "+=")
            self._add(node.value, (start, stop), "sign", after)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A decimal grows by a twentieth."""
        if isinstance(node.value, float) and node.value:
            self._add(node, self._span(node), "constant", repr(node.value * 1.05))

    def visit_Compare(self, node: ast.Compare) -> None:
        """A comparison is turned."""
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            start, stop = self._span(node.left)[1], self._span(node.comparators[0])[0]
            text = self.text[start:stop]
            sign = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}[type(node.ops[0])]
            if text.count(sign) == 1:
                self._add(
                    node,
                    (start, stop),
                    "comparison",
                    text.replace(sign, _TURNED[type(node.ops[0])]),
                )


def places(checkout: Path, file: str) -> list[Error]:
    """All of one file."""
    text = (checkout / file).read_text(encoding="utf-8")
    finder = _Places(file, text)
    finder.visit(ast.parse(text))
    return finder.errors


def drawn(checkout: Path, count: int = COUNT, seed: int = SEED) -> list[Error]:
    """So many errors: files in turn, in a random order, and in a file first the kind, then the place."""
    draw = Random(seed)
    files = sorted(TARGETS)
    chosen: list[Error] = []
    while len(chosen) < count:
        draw.shuffle(files)
        for file in files:
            kinds: dict[str, list[Error]] = {}
            for error in places(checkout, file):
                kinds.setdefault(error.kind, []).append(error)
            error = draw.choice(kinds[draw.choice(sorted(kinds))])
            if error not in chosen and len(chosen) < count:
                chosen.append(error)
    return chosen


def named(checkout: Path) -> list[Error]:
    """Those with a name."""
    errors = []
    for name, (file, before, after) in NAMED.items():
        text = (checkout / file).read_text(encoding="utf-8")
        if text.count(before) != 1:
            raise ValueError(f"{name}: {text.count(before)} places")
        start = text.index(before)
        line = text[:start].count("\n") + 1
        errors.append(Error(file, name, line, start, start + len(before), "named", before, after))
    return errors


def noticed(checkout: Path, error: Error, tests: str) -> dict[str, Any]:
    """Plants it, runs the tests of its file, and takes it out again."""
    path = checkout / error.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: error.start] + error.after + text[error.stop :], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    where = {**os.environ, "PYTHONPATH": str(checkout)}
    started = time.monotonic()
    try:
        run = subprocess.run(
            [*command, *tests.split()],
            cwd=checkout,
            env=where,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        became = "noticed" if run.returncode in (1, 2) else "not noticed"
        by = _first_failure(run.stdout) if run.returncode else ""
    except subprocess.TimeoutExpired:
        became, by = "out of time", ""
    finally:
        path.write_text(text, encoding="utf-8")
    return {"became": became, "by": by, "seconds": round(time.monotonic() - started)}


def _first_failure(output: str) -> str:
    """The first test that pytest says failed, or the end of what it says."""
    for line in output.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            return line.split(" - ")[0][:160]
    return output[-80:]


def main(arguments: list[str]) -> int:
    """Plants one after the other, and stores what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=len(NAMED) + COUNT)
    parser.add_argument("--store", type=Path, default=STORE)
    chosen = parser.parse_args(arguments)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=chosen.checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    store: dict[str, Any] = {"seed": SEED, "commit": commit, "errors": []}
    if chosen.first:
        store = json.loads(chosen.store.read_text())
    errors = [*named(chosen.checkout), *drawn(chosen.checkout)]
    for error in errors[chosen.first : chosen.last]:
        tests = (_NAMED_TESTS if error.kind == "named" else TARGETS)[error.file]
        result = {**asdict(error), **noticed(chosen.checkout, error, tests)}
        print(
            result["file"],
            result["function"],
            result["line"],
            result["kind"],
            repr(result["before"][:60]),
            "->",
            repr(result["after"][:40]),
            result["became"],
            result["by"],
            f"{result['seconds']} s",
            flush=True,
        )
        store["errors"].append(result)
        chosen.store.write_text(json.dumps(store, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
