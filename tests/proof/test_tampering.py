"""Every field of a certificate that says something is checked: change it, and the check fails."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import dpacct as dp
from dpacct.answer.ask import BoundaryQuestion
from dpacct.errors import DpacctError
from dpacct.plan import certified
from dpacct.proof.check import check
from tests.proof.edited import Path, changed

run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
MADE = {
    "epsilon": lambda: certified.epsilon(run, delta=1e-5),
    "delta": lambda: certified.delta(run, epsilon=1.5),
    "sigma": lambda: certified.boundary(
        BoundaryQuestion(epsilon=1, delta=1e-6, name="sigma"),
        lambda s: dp.Gaussian(sigma=s) * 50,
        34.5,
    ),
    "steps": lambda: certified.boundary(
        BoundaryQuestion(epsilon=1, delta=1e-6, name="steps", whole=True),
        lambda n: dp.Gaussian(sigma=20) * n,
        22,
    ),
    "edge": lambda: certified.epsilon(dp.Laplace(b=100) * 10, delta="1e-200"),
}


def leaves(document: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(document, dict):
        for name, value in document.items():
            yield from leaves(value, (*at, name))
    elif isinstance(document, list):
        for k, value in enumerate(document):
            yield from leaves(value, (*at, k))
    else:
        yield at, document


def fails(document: Any) -> bool:
    try:
        return not all(holds for _, holds in check(document))
    except DpacctError:
        return True


def changes(at: Path, value: Any) -> list[Any]:
    """Statements that are false, or not what was proven."""
    if at[-1] in ("lower", "upper"):  # further in: the interval that was not proven
        inwards = 1 + 1e-6 if at[-1] == "lower" else 1 - 1e-6
        return [repr(float(value) * inwards), "1e-400" if at[-1] == "upper" else "1e400"]
    if at[-1] == "bound":
        return ["-1", "0"]  # beyond the largest loss 0 is true
    if at[-1] == "relation":
        return ["at least" if value == "at most" else "at most", "about"]
    if at[-1] == "side":
        return []  # one pair on both sides: no statement depends on it
    if at[-1] == "direction":
        return [value + 1]
    if isinstance(value, str) and value.startswith("{"):
        return [
            value.replace("20", "21").replace("1.1", "1.01"),
            value.replace("gaussian", "laplace"),
        ]
    if "terms" in at:
        return ["1e-3", "nothing"]
    if "contour" in at and at[-1] != "doublings":
        return [value * 2 if isinstance(value, int) else value * 0.9]
    if "evidence" in at and at[-1] != "form":
        return []  # how it is proven: whatever proves it is a proof
    return ["replaced-by-nothing"] if isinstance(value, str) else [value + 1]


@pytest.mark.parametrize("name", MADE)
def test_every_field_that_says_something_is_checked(name: str) -> None:
    document = json.loads(json.dumps(MADE[name]().certificate))
    assert not fails(document)
    tried = 0
    for at, value in leaves(document):
        for other in changes(at, value):
            zero = other == "0" and document["claims"][at[1]]["evidence"]["form"] == "ceiling"
            if other != value and not zero:
                tried += 1
                assert fails(changed(document, at, other)), (at, value, other)
    assert tried >= 15


@pytest.mark.parametrize("name", MADE)
def test_a_field_too_many_or_too_few_is_refused(name: str) -> None:
    document = json.loads(json.dumps(MADE[name]().certificate))
    assert fails({**document, "note": "trust me"})
    assert fails({**document, "question": {**document["question"], "note": ""}})
    for field in document:
        assert fails({key: value for key, value in document.items() if key != field})
    assert fails({**document, "claims": document["claims"][:-1]})
    assert fails({**document, "claims": document["claims"][1:]})
