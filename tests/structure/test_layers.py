"""Which package may import which: docs/decisions/0003 and the table below.

Every import counts, also one inside a function and one by `importlib.import_module("dpacct...")`.
Imports under `if TYPE_CHECKING:` name types and load nothing, so they are exempt.
"""

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.project import ROOT, modules, relative, sources

# `plan` has three layers of its own: what every mechanism is (a node), what wraps one, and what composes.
ALGEBRA, SAMPLERS = "plan.node", "plan.samplers"
LAYER = {"plan.node": ALGEBRA, "plan.combine": ALGEBRA}
FOUNDATION = {
    "vocabulary",
    "errors",
    "declare",
    "display",
    "citations",
    "bibliography",
    "answer",
    ALGEBRA,
}
LOSS = {"vocabulary", "errors", "declare", "citations", "pld"}
STATED = FOUNDATION | LOSS
MECHANISMS = STATED | {"mechanisms"}
SAMPLED = MECHANISMS | {SAMPLERS, "shuffling", "voting"}
PLAN = SAMPLED | {"plan", "proof"}
REPORT = PLAN | {"risk", "report"}
PUBLIC = {""}  # `import dpacct` and `from dpacct import Name`

MAY_IMPORT: dict[str, set[str]] = {
    "declare": {"vocabulary", "errors", "declare"},
    "pld": LOSS,
    **{package: FOUNDATION for package in FOUNDATION - {"declare"}},
    ALGEBRA: STATED,
    "proof": MECHANISMS | {SAMPLERS, "proof"},  # it reads plans, and base pairs off mechanisms
    "mechanisms": MECHANISMS,
    SAMPLERS: MECHANISMS | {SAMPLERS},
    "shuffling": MECHANISMS | {"shuffling"},
    "voting": MECHANISMS | {"voting"},
    "plan": PLAN,
    "ledger": PLAN | {"ledger"},
    "risk": PLAN | {"risk"},
    "federated": PLAN | {"federated", "papers"},
    "papers": SAMPLED | {"plan", "papers"} | PUBLIC,
    "report": REPORT | {"papers"},
    "auditing": REPORT | {"auditing"},
    "theorems": {"papers"},
    "cli": REPORT | {"risk", "auditing", "federated", "papers", "ledger", "cli"} | PUBLIC,
    "__main__": {"cli"},
    "interop": PUBLIC | {"interop"},
    "dpacct_training": PUBLIC | {"dpacct_training"},
}

# The upward edges, all inside a function (docs/decisions/0003): a question is put to a method, a curve, a
# proof, or the search of a calibration; reading a saved tree needs the files that bring its kinds of node.
NAMED_EXCEPTIONS = {
    ("dpacct.answer.ask", "dpacct.plan.certified"),
    ("dpacct.answer.ask", "dpacct.plan.routes"),
    ("dpacct.answer.calibration", "dpacct.plan.composition"),
    ("dpacct.answer.calibration", "dpacct.plan.routes"),
    ("dpacct.answer.calibration", "dpacct.plan.search"),
    ("dpacct.answer.calibration", "dpacct.mechanisms.gaussian"),
    ("dpacct.answer.calibration", "dpacct.plan.samplers.steps"),
    ("dpacct.plan.node", "dpacct.plan.curve"),
    ("dpacct.plan.node", "dpacct.plan.parallel"),
    ("dpacct.plan.node", "dpacct.plan.selection"),
    ("dpacct.plan.node", "dpacct.mechanisms"),
    ("dpacct.plan.node", "dpacct.plan.samplers"),
    ("dpacct.plan.node", "dpacct.shuffling.shuffle"),
    ("dpacct.plan.node", "dpacct.voting.aggregator"),
}

MODULES = dict(modules())


def package(module: str) -> str:
    """'dpacct.pld.pair' -> 'pld'; 'dpacct' -> ''; the training package -> its name."""
    head, _, rest = module.partition(".")
    first, _, inner = rest.partition(".")
    inner = f"{first}.{inner.partition('.')[0]}"
    if head == "dpacct_training":
        return head
    return SAMPLERS if inner == SAMPLERS else LAYER.get(inner, first)


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below `node`, less what stands under `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            for other in child.orelse:
                yield other
                yield from statements(other)
            continue
        yield child
        yield from statements(child)


def imported(name: str, path: Path, source: str) -> Iterator[tuple[int, str]]:
    """(line, module of this project) for each import in a module's source."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(ast.parse(source)):
        results: list[str] = []
        if isinstance(node, ast.Import):
            results = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*up, *filter(None, [node.module])]) if node.level else node.module
            full = [f"{base}.{alias.name}" for alias in node.names]
            results = [f if f in MODULES else str(base) for f in full]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func
            by_name = getattr(called, "attr", getattr(called, "id", ""))
            if by_name in {"import_module", "__import__"}:
                results = [str(node.args[0].value)]
        for target in results:
            if target.partition(".")[0] in {"dpacct", "dpacct_training"}:
                yield getattr(node, "lineno", 0), target


def breaches(name: str, path: Path, source: str) -> list[str]:
    """One line for each import that the table does not allow."""
    importer = package(name)
    if not importer:
        return []  # dpacct/__init__.py hands out everyone's names
    if importer not in MAY_IMPORT:
        return [
            f"{relative(path)}: the package {importer!r} is not in the table of {relative(Path(__file__))}"
        ]
    return [
        f"{relative(path)}:{line}: {name} imports {target}; {importer} may import: "
        + ", ".join(sorted(r or "dpacct (public names)" for r in MAY_IMPORT[importer]))
        for line, target in dict.fromkeys(imported(name, path, source))
        if package(target) not in MAY_IMPORT[importer] and (name, target) not in NAMED_EXCEPTIONS
    ]


def test_every_import_points_down() -> None:
    results = [b for name, path in MODULES.items() for b in breaches(name, path, path.read_text())]
    assert not results, "\n" + "\n".join(results)


def test_the_table_has_no_cycle() -> None:
    """Were two packages of different layers allowed each other, the order would mean nothing."""
    for upper, below in MAY_IMPORT.items():
        for lower in below - {upper} - PUBLIC:
            same_layer = {upper, lower} <= FOUNDATION
            assert same_layer or upper not in MAY_IMPORT[lower], f"{upper} <-> {lower}"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("dpacct.pld.contour", "from dpacct.mechanisms import gaussian"),
        ("dpacct.pld.contour", "from dpacct.answer import Answer"),
        ("dpacct.mechanisms.gaussian", "def f():\n    from ..plan import curve"),
        (
            "dpacct.mechanisms.gaussian",
            "import importlib\nimportlib.import_module('dpacct.cli.main')",
        ),
        ("dpacct.plan.node", "from dpacct.plan import product"),
        ("dpacct.papers.formulas.balle_wang", "from dpacct.federated import plan"),
        ("dpacct.plan.product", "from dpacct import risk"),
        ("dpacct.cli.eps", "import dpacct_training"),
        ("dpacct.plan.samplers.poisson", "import dpacct"),
        ("dpacct.unheard_of.room", "import math"),
        ("dpacct_training.clip", "from dpacct.pld import pair"),
    ],
)
def test_a_forbidden_import_is_seen(
    name: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (
        "plan",
        "plan.curve",
        "plan.product",
        "risk",
    ):
        monkeypatch.setitem(MODULES, f"dpacct.{module}", ROOT / "dpacct")
    assert len(breaches(name, ROOT / "dpacct" / "x.py", source)) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("dpacct.plan.node", "def epsilon():\n    from dpacct.plan.curve import rdp"),
        ("dpacct.plan.node", "def epsilon():\n    from dpacct.plan import curve"),
        ("dpacct.answer", "if TYPE_CHECKING:\n    from dpacct.pld.pair import Pairs"),
        (
            "dpacct.cli.eps",
            "import dpacct as dp\nfrom dpacct import Gaussian\nfrom . import output",
        ),
        ("dpacct_training.clip", "import torch\nfrom dpacct import Gaussian"),
    ],
)
def test_an_allowed_import_is_not(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("plan.curve", "cli", "cli.output"):
        monkeypatch.setitem(MODULES, f"dpacct.{module}", ROOT / "dpacct")
    assert breaches(name, ROOT / "dpacct" / "x.py", source) == []


# --- Files are as large as their idea, and never above 800 lines (docs/decisions/0021).


LIMIT = 800


def test_no_file_is_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    length = {p: p.read_text(encoding="utf-8").count("\n") for p in sources("dpacct", "training")}
    with capsys.disabled():
        longest = max(length, key=lambda p: length[p])
        print(
            f"\n{len(length)} modules, median {statistics.median(length.values()):.0f} lines, "
            f"longest {relative(longest)} with {length[longest]}"
        )
    assert not [f"{relative(p)}: {n} lines" for p, n in length.items() if n > LIMIT]


def test_no_file_is_named_after_nothing() -> None:
    """A name such as 'helpers' says that nobody knew where the thing belongs."""
    vague = re.compile(r"^_?(utils?|helpers?|misc|common|stuff|tools?)$")
    assert not [relative(p) for p in sources("dpacct", "training") if vague.match(p.stem)]
