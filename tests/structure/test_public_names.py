"""The public names, frozen: adding one is a line here, taking one away is a decision."""

from __future__ import annotations

import enum
import inspect
import subprocess
import sys

import pytest

import dpacct

ERRORS = [
    "AssumptionViolated",
    "BudgetExceeded",
    "DpacctError",
    "InvalidArgument",
    "LedgerBusy",
    "LedgerDamaged",
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
    "Group",
    "LNMax",
    "Laplace",
    "Ledger",
    "LocalRandomizer",
    "Node",
    "Odometer",
    "Parallel",
    "Participation",
    "Poisson",
    "PureDP",
    "RandomizedResponse",
    "RecordsPerUser",
    "Report",
    "ReportDocument",
    "ReportSection",
    "Risk",
    "Shuffle",
    "Side",
    "Staircase",
    "Strength",
    "Table",
    "TradeOff",
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
    "table",
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
