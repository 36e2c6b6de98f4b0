"""The public names, frozen: adding one is a line here, taking one away is a decision."""

import enum
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dpacct
import dpacct as dp

ERRORS = [
    "AssumptionViolated",
    "BudgetExceeded",
    "DpacctError",
    "InvalidArgument",
    "LedgerBusy",
    "LedgerDamaged",
    "LedgerNotWritten",
    "MissingExtra",
    "NotCertified",
    "OutsideDomain",
    "Unreachable",
    "Unsupported",
]
NAMES = [
    "Adjacency",
    "Answer",
    "Answers",
    "ApproxDP",
    "Assumption",
    "Audit",
    "AuditBound",
    "BLT",
    "Banded",
    "BallsInBins",
    "Certificate",
    "Custom",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Execution",
    "ExponentialMechanism",
    "Filter",
    "GNMax",
    "Gaussian",
    "GaussianMixture",
    "Group",
    "LNMax",
    "Laplace",
    "Ledger",
    "LocalRandomizer",
    "Matrix",
    "Node",
    "Parallel",
    "Participation",
    "Poisson",
    "PureDP",
    "RandomizedResponse",
    "RecordsPerUser",
    "RepeatAndSelect",
    "Report",
    "ReportDocument",
    "ReportSection",
    "Risk",
    "Shuffle",
    "Side",
    "Staircase",
    "Strategy",
    "Strength",
    "TradeOff",
    "Tree",
    "TruncatedPoisson",
    "Unit",
    "Votes",
    "WithoutReplacement",
    "ZCDP",
    "audit",
    "auditing",
    "calibrate",
    "calibrate_risk",
    "certificate",
    "federated",
    "from_dict",
    "from_json",
    "noise_multiplier",
    "plot",
    "plots",
    "theorems",
]
PUBLIC = [*ERRORS, *NAMES, "__version__"]

# The questions that any plan answers.
QUESTIONS = ("epsilon", "delta", "rdp", "profile", "tradeoff", "compare")


def test_the_names_are_these() -> None:
    assert sorted(dpacct.__all__) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_can_be_had(name: str) -> None:
    assert getattr(dpacct, name) is not None
    assert name in dir(dpacct)


def test_errors_are_errors() -> None:
    assert all(issubclass(getattr(dpacct, name), dpacct.DpacctError) for name in ERRORS)


def test_star_import_gives_exactly_these() -> None:
    space: dict[str, object] = {}
    exec("from dpacct import *", space)
    assert sorted(set(space) - {"__builtins__"}) == sorted(PUBLIC)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Gausian"):
        _ = dpacct.Gausian


@pytest.mark.parametrize("name", ERRORS + NAMES)
def test_each_says_what_it_is(name: str) -> None:
    thing = getattr(dpacct, name)
    assert inspect.getdoc(thing), f"dpacct.{name} has no docstring"


@pytest.mark.parametrize("name", NAMES)
def test_each_has_an_example(name: str) -> None:
    """A callable shows its use; a class may show it in a public method instead."""
    thing = getattr(dpacct, name)
    if isinstance(thing, enum.EnumMeta):  # its members are its use
        return
    texts = [inspect.getdoc(thing) or ""]
    if inspect.isclass(thing):
        texts += [inspect.getdoc(m) or "" for n, m in vars(thing).items() if not n.startswith("_")]
    assert any(">>>" in text for text in texts), f"dpacct.{name} has no example"


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_an_example(question: str) -> None:
    assert ">>>" in (inspect.getdoc(getattr(dpacct.Gaussian, question)) or "")


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpacct", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert dpacct.__version__ in done.stdout


# --- What users call says what it takes and what it raises, and shows its use.


MODULES = ("auditing", "federated", "plots")
CLASSES = (
    *("Answer", "Answers", "Audit", "AuditBound", "Certificate", "Execution", "Filter", "Ledger"),
    *("Node", "Report", "ReportDocument", "Risk", "TradeOff", "Votes"),
    "auditing.Curve",
)
"""Classes whose methods users call; those of mechanisms and samplers are called by accountants."""
FOR_ACCOUNTANTS = {
    *("Node.assumptions", "Node.citations", "Node.equivalent", "Node.fields", "Node.from_fields"),
    *("Node.gather", "Node.gathered", "Node.releases", "Node.sharper", "Node.sharper_repeated"),
}
NOTHING_TO_REFUSE = {
    *(
        "Answer.to_dict",
        "Certificate.check",
        "Ledger.account",
        "Ledger.has_mark",
        "Ledger.charges",
        "Ledger.end",
    ),
    *(
        "Ledger.account",
        "Ledger.release",
        "Node.to_json",
        "plots.draw",
        "plots.figure",
        "plots.look_of",
        "plots.plot_line",
        "plots.style",
    ),
}
"""They take anything of their types."""


def named(name: str) -> Any:
    value: Any = dp
    for part in name.split("."):
        value = getattr(value, part)
    return value


def methods(name: str) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are written in dpacct."""
    for attribute, value in inspect.getmembers(named(name)):
        call = value.fget if isinstance(value, property) else value
        if attribute.startswith("_") or f"{name}.{attribute}" in FOR_ACCOUNTANTS:
            continue
        if inspect.isroutine(call) and str(call.__module__).startswith("dpacct"):
            yield f"{name}.{attribute}", value


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dp.__all__:
        if inspect.isfunction(named(name)):
            yield name, named(name)
    for module in MODULES:
        for name, value in vars(named(module)).items():
            ours = inspect.isfunction(value) and value.__module__.startswith("dpacct")
            if ours and not name.startswith("_"):
                yield f"{module}.{name}", value


METHODS = [each for name in CLASSES for each in methods(name)]
FUNCTIONS = [*functions()]
TAKING = [
    (name, call)
    for name, call in [*METHODS, *FUNCTIONS]
    if not isinstance(call, property)
    and set(inspect.signature(call).parameters) - {"self", "cls", "indent", "progress"}
    and name not in NOTHING_TO_REFUSE
]
ids = [name for name, _ in TAKING]


@pytest.mark.parametrize(("name", "call"), [*METHODS, *FUNCTIONS])
def test_it_says_what_it_is(name: str, call: Any) -> None:
    text = inspect.getdoc(call) or ""
    assert len(text) >= 9, f"{name}: {text!r}"


@pytest.mark.parametrize(("name", "call"), TAKING, ids=ids)
def test_it_says_what_it_raises(name: str, call: Any) -> None:
    text = inspect.getdoc(call) or ""
    assert "aises" in text or "see `" in text or "As `" in text, f"{name}: {text!r}"


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_shows_its_use(name: str) -> None:
    kind = named(name)
    if issubclass(kind, enum.Enum):
        return
    texts = [inspect.getdoc(kind) or "", *(inspect.getdoc(m) or "" for _, m in methods(name))]
    assert any(">>>" in text for text in texts)


@pytest.mark.parametrize(("name", "call"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_function_shows_its_use(name: str, call: Any) -> None:
    text = inspect.getdoc(call) or ""
    assert ">>>" in text or "axes" in inspect.signature(call).parameters, name
