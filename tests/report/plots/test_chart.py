"""A chart's scales: places in order, round ticks inside, no two labels alike."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpacct.report.plots.chart import Axis, Chart, Line, Scale

NUMBERS = st.floats(-1e12, 1e12) | st.floats(1e-300, 1e300) | st.sampled_from([0.0, math.nan])
FINITE = NUMBERS.map(lambda value: 0.0 if abs(value) < 1e-300 else value)  # is not drawn
ANY = FINITE | st.floats() | st.sampled_from([5e-324, 1.7e308, -1.7e308, 1e-300, 1.0000001e-300])


@given(st.lists(FINITE, min_size=1, max_size=9), st.booleans(), st.booleans(), st.integers(4, 8))
def test_places_and_ticks(values: list[float], log: bool, zero: bool, most: int) -> None:
    scale = Scale.of(Axis("x", "x", log), values, zero=zero)
    shown = sorted(v for v in values if v == v and (v > 0 or not log))
    places = [scale.place(value) for value in shown]
    assert all(value in scale for value in shown)
    assert places == sorted(places) and all(0 <= place <= 1 for place in places)
    assert (scale.place(scale.low), scale.place(scale.high)) == (0, 1)
    ticks = scale.ticks(most)
    slack = 1e-8 * (scale.high - scale.low)
    assert 1 <= len(ticks) <= 3 * most and ticks == sorted(set(ticks))
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)


@given(st.lists(ANY, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_any_numbers_have_a_scale(values: list[float], log: bool, zero: bool) -> None:
    scale = Scale.of(Axis("x", "x", log), values, zero=zero)
    assert all(0 <= scale.place(tick) <= 1 and scale.label(tick) for tick in scale.ticks())
    assert all(0 <= scale.place(value) <= 1 for value in values if value == value)


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e6), st.booleans())
def test_labels_tell_ticks_apart(low: float, factor: float, log: bool) -> None:
    scale = Scale.of(Axis("x", "x", log), [low, low * factor])
    labels = [scale.label(tick) for tick in scale.ticks()]
    assert len(labels) == len(set(labels)) >= 2


def test_round_ticks() -> None:
    assert Scale(0.0, 1.0).ticks() == [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
    assert [Scale(1e-9, 3.0, log=True).label(v) for v in (1e-9, 0.01, 1.0)] == ["1e-9", "0.01", "1"]
    assert Scale(0.4, 1.1, log=True).ticks() == pytest.approx(np.arange(0.4, 1.15, 0.1))


@given(st.lists(FINITE, min_size=2, max_size=9), st.booleans())
def test_spots_are_the_values_in_the_frame(values: list[float], log: bool) -> None:
    assume(any(value == value for value in values))
    points, heights = np.arange(1.0, len(values) + 1), np.array(values)
    lines = (Line("y", "y", heights),)
    chart = Chart("", Axis("x", "x"), Axis("y", "y", log), points, lines, "t")
    spots = chart.spots(heights)
    assert len(spots) == sum(v == v and (v > 0 or not log) for v in values)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in spots)
