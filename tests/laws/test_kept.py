"""Every example that once broke a law keeps it, and one that breaks a law is stored."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from tests.laws import kept
from tests.laws.catalogue import DISTINCT, Combination, epsilons, limited, over, rates

HOLDS: dict[str, Any] = {
    "law": ["tests.laws.test_monotone", "test_delta_of_epsilon_is_delta"],
    "arguments": {"cell": {"cell": "gaussian-poisson-add-remove"}, "delta": 1e-5},
    "drawn": [
        {"plan": ["gaussian", "poisson", "add-remove", {"sigma": 1}, {"fraction": "1/10"}, 9]}
    ],
}
"""An example that never broke its law: the store may be empty."""


@pytest.mark.parametrize(
    "example", [HOLDS, *kept.stored()], ids=lambda example: ".".join(example["law"])
)
def test_it_keeps_its_law(example: dict[str, Any]) -> None:
    with limited():
        kept.again(example)


@over(DISTINCT[::7])
@settings(max_examples=2, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), rate=rates, several=st.lists(epsilons), pair=st.tuples(epsilons, rates))
def test_what_is_drawn_is_written_and_read(cell: Combination, data: Any, **drawn: Any) -> None:
    drawn |= {"cell": cell, "plan": data.draw(cell.plans(common=True))}
    again = {name: kept.read(json.loads(json.dumps(kept.plain(x)))) for name, x in drawn.items()}
    assert again == drawn


class Data:
    def draw(self, strategy: Any, label: Any = None) -> int:
        return 7


@pytest.mark.parametrize("error", [AssertionError, ZeroDivisionError, UnsatisfiedAssumption])
def test_what_breaks_a_law_is_stored_once(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But an example that does not fit the law's assumptions breaks nothing."""
    monkeypatch.setattr(kept, "STORE", tmp_path / "examples.jsonl")

    def law(cell: Combination, data: Any, delta: float) -> None:
        assert data.draw(st.integers()) == 7
        raise error

    for _ in range(2):
        with (
            pytest.raises(error),
            kept.noted(law, {"cell": DISTINCT[0], "data": Data(), "delta": 0.1}) as arguments,
        ):
            law(**arguments)
    if error is UnsatisfiedAssumption:
        assert not kept.STORE.exists()
        return
    (example,) = kept.stored()
    assert example["law"] == [__name__, "law"] and example["drawn"] == [7]
    assert kept.read(example["arguments"]["cell"]) is DISTINCT[0]
