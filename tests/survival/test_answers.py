"""Every interval of today meets the one that 52db4043 gave to the same question.

answers.json holds its answers to mainstream questions (exact, Renyi, calibrations, PriFedSync's tables) and
to 43 extreme ones: both held the truth, so they must overlap. How wide an interval may be is the promise's
affair (docs/answers.md). Where 52db4043 had no end, the value's own rounding is all that is known.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import scipy.stats

import dpacct as dp

ROWS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("answers.json").read_text(encoding="utf-8")
)
NAMES = {name: getattr(dp, name) for name in dp.__all__} | {"sst": scipy.stats}
SAMPLED = 6
"""One of so many is asked in every run; all of them in the long one."""
QUICK = 0.3
"""CPU seconds that 52db4043 took for what is asked in every run."""
_ROUNDED = 1e-9


def asked(text: str) -> tuple[float | None, float, float | None]:
    """Lower end, value and upper end; a noise multiplier is a mere number."""
    answer = eval(text, dict(NAMES))
    return (
        (None, answer, None)
        if isinstance(answer, float)
        else (answer.lower, answer.value, answer.upper)
    )


def ends(lower: float | None, upper: float | None) -> tuple[float, float]:
    return -math.inf if lower is None else lower, math.inf if upper is None else upper


def check(row: dict[str, Any], text: str) -> None:
    lower, value, upper = asked(text)
    low, high = ends(lower, upper)
    before, after = ends(row["lower"], row["upper"])
    slack = _ROUNDED * abs(row["value"])
    assert low <= after + slack and before <= high + slack, (text, (low, high), row)
    if row["lower"] is None and row["upper"] is None:  # a calibrated parameter
        assert math.isclose(value, row["value"], rel_tol=1e-4), (text, value, row)


def by_bracket(row: dict[str, Any]) -> str | None:
    """The same question to the bracket; None where it is none of epsilon or delta, or by another method."""
    text = str(row["python"])
    question = text.rpartition(").")[2]
    if "method=" in text or not question.startswith(("epsilon(", "delta(")):
        return None
    return f"{text[:-1]}, method='bracket')"


def meets(row: dict[str, Any]) -> None:
    """Check the default answer, and the bracket where the question has one."""
    check(row, row["python"])
    bracket = by_bracket(row)
    if bracket is not None:
        check(row, bracket)


FEW = [row for k, row in enumerate(ROWS) if k % SAMPLED == 0 and row["cpu"] <= QUICK]


@pytest.mark.parametrize("row", FEW, ids=lambda row: row["python"])
def test_it_meets_what_was_answered(row: dict[str, Any]) -> None:
    meets(row)


@pytest.mark.search
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["python"])
def test_all_of_them_meet_what_was_answered(row: dict[str, Any]) -> None:
    meets(row)


def test_enough_is_written_down() -> None:
    assert len(ROWS) >= 400 and len({row["class"] for row in ROWS}) >= 20
