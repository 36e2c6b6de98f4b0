"""Pictures of grids: the cells are the numbers, the title is true, nothing lies on anything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import QuadMesh

from dpacct.report.plots.grid import GridData, GridSide, arranged, draw_grid
from dpacct.report.plots.style import to_bytes
from dpacct.sweep.grid import SweepAxis
from dpacct.vocabulary import Strength
from tests.report.plots.charts import no_text_on_another


def side(name: str, count: int) -> GridSide:
    return GridSide(SweepAxis(name, tuple(map(str, range(1, count + 1)))))


def data(*counts: int, quantity: str = "epsilon", holes: int = 0) -> GridData:
    """Numbers over three decades, some of them missing."""
    values = np.geomspace(0.0123456, 12.3456, int(np.prod(counts)))
    values[:holes] = np.nan
    sides = tuple(
        side(name, n) for name, n in zip(("sigma", "steps", "rate"), counts, strict=False)
    )
    return GridData(quantity, sides, values.reshape(counts), None, ("dpacct eps: delta 1e-5",))


def test_a_heat_map_s_cells_are_the_numbers() -> None:
    made = data(9, 8, holes=3)
    (axes, _) = draw_grid(made).axes
    (mesh,) = (c for c in axes.collections if isinstance(c, QuadMesh))
    shown = np.ma.filled(mesh.get_array(), np.nan)
    assert np.array_equal(shown, made.values.T, equal_nan=True)
    results = [text.get_text() for text in axes.texts]
    assert results.count("×") == 3 and len(results) == 72
    for text in axes.texts:
        if text.get_text() != "×":
            column, row = (int(place) for place in text.get_position())
            truth = made.values[column, row]
            assert truth <= float(text.get_text()) <= truth * 1.01, "rounded to the safe side"


def test_curves_are_the_numbers() -> None:
    made = data(10, 3)
    (axes,) = draw_grid(made).axes
    for index, line in enumerate(axes.lines):
        assert np.array_equal(line.get_ydata(), made.values[:, index])
        assert line.get_label() == f"steps {index + 1}"


def test_panels_are_the_side_with_the_fewest_values() -> None:
    made = data(10, 3, 2)
    axes = draw_grid(made).axes
    assert [a.get_title(loc="left") for a in axes] == ["rate 1", "rate 2"]
    for index, panel in enumerate(axes):
        for line, values in zip(panel.lines, made.values[:, :, index].T, strict=True):
            assert np.array_equal(line.get_ydata(), values)


def test_methods_are_compared_within_a_panel() -> None:
    methods = GridSide(SweepAxis("method", ("exact", "rdp")))
    assert arranged([side("sigma", 5), methods, side("steps", 3)]) == [0, 1, 2]
    values = np.stack([np.full(5, 2.0), np.full(5, 2.5)], axis=1)
    strengths = np.full(values.shape, Strength.CONVERGED, dtype=object)
    made = GridData("epsilon", (side("sigma", 5), methods), values, strengths)
    assert made.title == "Against the exact epsilon RDP gives 25 % more"


def test_an_estimate_is_dashed_and_said() -> None:
    values = np.array([1.0, 2.0, 3.0])
    strengths = np.full(3, Strength.ESTIMATE, dtype=object)
    made = GridData("epsilon", (side("sigma", 3),), values, strengths)
    (axes,) = draw_grid(made).axes
    assert axes.lines[0].get_linestyle() == "--"
    assert axes.lines[0].get_label() == "epsilon (estimate)"
    assert made.title == "Epsilon goes from about 1 (sigma 1) to about 3 (sigma 3)"


@pytest.mark.parametrize(
    ("quantity", "low", "high"),
    [("epsilon", "0.01235", "12.35"), ("lower", "0.01234", "12.34"), ("steps", "0.01234", "12.34")],
)
def test_the_title_names_the_ends_on_the_safe_side(quantity: str, low: str, high: str) -> None:
    made = data(4, 3, quantity=quantity)
    ends = f"goes from {low} (sigma 1, steps 1) to {high} (sigma 4, steps 3)"
    assert made.title == f"{quantity.capitalize()} {ends}"
    assert data(4, 3, holes=2).title.endswith("; 2 of 12 points have none")


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.one_of(st.floats(-10, 1e6), st.just(float("nan"))), min_size=64, max_size=64),
)
def test_any_title(counts: list[int], numbers: list[float]) -> None:
    values = np.array(numbers[: int(np.prod(counts))]).reshape(counts)
    names = ("sigma", "steps", "rate")
    sides = tuple(side(name, n) for name, n in zip(names, counts, strict=False))
    title = GridData("epsilon", sides, values).title
    assert "nan" not in title and "inf" not in title and title


@pytest.mark.parametrize(
    "counts", [(5,), (12, 10), (30, 20), (10, 3), (9, 8, 2), (9, 8, 6), (9, 3, 4)]
)
def test_no_text_on_another(counts: tuple[int, ...]) -> None:
    no_text_on_another(draw_grid(data(*counts)))


def test_the_same_bytes() -> None:
    first, second = (to_bytes(draw_grid(data(12, 13)), ".svg") for _ in range(2))
    assert first == second


def test_lines_of_equal_value_are_few_over_any_range() -> None:
    from matplotlib.contour import QuadContourSet

    places = np.arange(30.0)
    for span in (2.0, 20.0, 280.0):
        values = 10.0 ** (-span * np.add.outer(places, places) / 58.0)
        sides = tuple(GridSide(SweepAxis(n, tuple(map(str, range(30))))) for n in ("a", "b"))
        drawn = draw_grid(GridData("delta", sides, values))
        (lines,) = (c for c in drawn.axes[0].get_children() if isinstance(c, QuadContourSet))
        assert 2 <= len(lines.levels) <= 9
        # values fall by the same factor from cell to cell, so every line is straight
        for segment in lines.allsegs[len(lines.levels) // 2]:
            assert np.ptp(segment.sum(axis=1)) < 0.01


def test_tied_axes_are_told_together() -> None:
    partner = SweepAxis("delta", ("1e-5", "0.0000215443469003"))
    side = GridSide(SweepAxis("eps", ("1", "2")), partner)
    assert side.label == "eps (with delta)"
    assert side.sentence(1) == "eps 2, delta 2.154e-5" and side.short(1) == "2"
    words = GridSide(SweepAxis("mechanism", ("laplace", "gaussian")), SweepAxis("b", ("1", "2")))
    assert words.label == "mechanism, b" and words.short(0) == "laplace, 1"
