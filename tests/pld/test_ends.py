"""Roots of falling readings: smooth ones, steps, kinks and plateaus, always from the safe side."""

import math
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpacct.pld.roots import root

READINGS: dict[str, Callable[[float], float]] = {
    "line": lambda x: -x,
    "curve": lambda x: -x - 0.1 * x * x if x > 0.0 else -x,
    "kink": lambda x: -20.0 * x if x > 1.0 else -x - 19.0,
    "step": lambda x: 1e-8 if x < 3.25 else -1e-8,
    "flat": lambda x: -1e-9 * math.tanh(x - 2.0),
}


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("up", [False, True])
@given(start=st.floats(0.5, 6.0), slope=st.floats(0.01, 50.0), target=st.floats(-0.5, 0.5))
@example(start=1.0, slope=1.1, target=0.0)  # the first step ends where a line is 0
def test_the_end_is_near_and_safe(
    name: str, up: bool, start: float, slope: float, target: float
) -> None:
    read, asked = READINGS[name], []

    def counted(x: float) -> float:
        asked.append(x)
        return read(x)

    if name in ("step", "flat"):
        target, slope = 1e-9 * target, 1e-9 * slope
    if name == "kink":
        target -= 25.0
    result = root(counted, target, start, -10.0, slope, 1e-9, up=up)
    assert len(asked) <= 60
    assert read(result) <= target if up else read(result) >= target
    other = result + (-1 if up else 1) * 1e-7
    assert read(other) >= target if up else read(other) <= target
