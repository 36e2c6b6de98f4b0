"""What users call says what it takes and what it raises, and shows its use."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dpacct as dp

MODULES = ("auditing", "federated", "plot")
CLASSES = (
    *("Answer", "Answers", "Audit", "AuditBound", "Certificate", "Execution", "Filter", "Ledger"),
    *("Node", "Odometer", "Report", "ReportDocument", "Risk", "Table", "TradeOff", "Votes"),
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
        "plot.draw",
        "plot.figure",
        "plot.look_of",
        "plot.plot_line",
        "plot.style",
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
