"""Small solvers: roots of falling functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.pld import roots


@given(target=st.floats(-700.0, -1e-6), rate=st.floats(1e-6, 1e6))
def test_decreasing_finds_the_root(target: float, rate: float) -> None:
    result = roots.decreasing(lambda x: (-rate * x, -rate), target, 0.0)
    assert result == pytest.approx(-target / rate, rel=1e-14)
    assert roots.decreasing(lambda x: (-rate * x - 1e3, -rate), target, 0.0) == 0.0
