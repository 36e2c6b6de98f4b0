"""Axes: any numbers give an evenly spread axis, or one sentence."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.declare.number import number
from dpacct.errors import InvalidArgument
from dpacct.sweep.grid import Spread, SweepAxis, SweepGrid


def spread(name: str, start: Any, stop: Any, points: int, scale: str, *, whole: bool) -> SweepAxis:
    said = {"from": start, "to": stop, "points": points, "scale": scale}
    return Spread(**said).axis(name, whole=whole)


positive = st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**9)
any_number = st.fractions(-(10**6), 10**6, max_denominator=10**6)
points = st.integers(2, 60)


@given(any_number, any_number, points)
def test_linear_steps_are_equal_and_exact(start: Fraction, stop: Fraction, count: int) -> None:
    if start == stop:
        with pytest.raises(InvalidArgument, match="must differ"):
            spread("x", start, stop, count, "linear", whole=False)
        return
    axis = spread("x", start, stop, count, "linear", whole=False)
    numbers = [
        number(value) if not value.startswith("-") else -number(value[1:]) for value in axis.values
    ]
    assert len(numbers) == count and (numbers[0], numbers[-1]) == (start, stop)
    assert len({b - a for a, b in pairwise(numbers)}) == 1
    assert not axis.log


@given(positive, positive, points)
def test_log_steps_have_one_ratio(start: Fraction, stop: Fraction, count: int) -> None:
    if start == stop:
        return
    axis = spread("x", start, stop, count, "log", whole=False)
    numbers = [number(value) for value in axis.values]
    assert (numbers[0], numbers[-1]) == (start, stop) and axis.log
    if abs(float(stop / start) - 1) > 1e-6:
        assert len(numbers) == count
        ratio = float(stop / start) ** (1 / (count - 1))
        assert all(float(b / a) == pytest.approx(ratio, rel=1e-9) for a, b in pairwise(numbers))


@given(st.integers(1, 10**9), st.integers(1, 10**9), points, st.sampled_from(["linear", "log"]))
def test_whole_parameters_get_whole_values_once(a: int, b: int, count: int, scale: str) -> None:
    if a == b:
        return
    values = spread("x", Fraction(a), Fraction(b), count, scale, whole=True).values
    numbers = [number(value) for value in values]
    assert all(number.denominator == 1 for number in numbers)
    assert len(set(numbers)) == len(numbers) <= count
    assert numbers == sorted(numbers, reverse=a > b) and (numbers[0], numbers[-1]) == (a, b)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((Fraction(0), Fraction(1), 3, "log"), "must be above 0"),
        ((Fraction(-1), Fraction(1), 3, "log"), "must be above 0"),
        ((Fraction(1), Fraction(2), 1, "log"), "points must be a whole number from 2"),
        ((Fraction(1), Fraction(2), 10**7, "log"), "points must be a whole number from 2"),
        ((Fraction(1), Fraction(2), 3, "cubic"), "one of linear or log"),
        ((Fraction(1), Fraction(10**400), 3, "log"), "range of floats"),
    ],
)
def test_refusals(arguments: tuple[Fraction, Fraction, int, str], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        spread("x", *arguments, whole=False)


def test_an_axis_has_values_and_each_once() -> None:
    with pytest.raises(InvalidArgument, match="must have a value"):
        SweepAxis("x", ())
    with pytest.raises(InvalidArgument, match="axis x must have each value once, got '1' twice"):
        SweepGrid("eps", (), (SweepAxis("x", ("1", "2", "1")),), ())


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_tied_axes_are_one_side(sizes: list[int], data: st.DataObject) -> None:
    from itertools import product

    # every side has a partner that tells its place, put anywhere in the file
    sides = [(f"a{i}", f"b{i}") for i in range(len(sizes))]
    pairs = [(name, n) for names, n in zip(sides, sizes, strict=True) for name in names]
    shuffled = data.draw(st.permutations(pairs))
    axes = tuple(SweepAxis(name, tuple(f"{name[0]}{k}" for k in range(n))) for name, n in shuffled)
    grid = SweepGrid("eps", (), axes, (), tuple(sides))
    rows = [
        dict(zip((n for n, _ in shuffled), grid.point(r), strict=True)) for r in range(grid.size)
    ]
    places = [tuple(int(row[f"a{i}"][1:]) for i in range(len(sizes))) for row in rows]
    assert sorted(places) == sorted(product(*(range(n) for n in sizes)))
    for row in rows:
        assert all(row[f"a{i}"][1:] == row[f"b{i}"][1:] for i in range(len(sizes)))


def test_tied_axes_that_cannot_be() -> None:
    long, short = SweepAxis("x", ("1", "2", "2")), SweepAxis("y", ("1", "2"))
    for tied, says in (
        ((("x", "y"),), "x and y have 3 and 2"),
        ((("x", "z"),), "got 'z'"),
        ((("y", "y"),), "each once, got 'y'"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            SweepGrid("eps", (), (long, short), (), tied)
    # a value may come twice where its partner tells the rows apart
    partner = SweepAxis("y", ("1", "2", "3"))
    assert SweepGrid("eps", (), (long, partner), (), (("x", "y"),)).size == 3
    with pytest.raises(InvalidArgument, match="axis x and y must have each value once, got '2, 1'"):
        SweepGrid("eps", (), (long, SweepAxis("y", ("1", "1", "1"))), (), (("x", "y"),))


def test_a_grid_is_no_larger_than_any_use() -> None:
    long = SweepAxis("x", tuple(map(str, range(10_000))))
    other = SweepAxis("y", tuple(map(str, range(10_000))))
    with pytest.raises(InvalidArgument, match="at most 10000000 rows, got 100000000"):
        SweepGrid("eps", (), (long, other), ())
    with pytest.raises(InvalidArgument, match="must have an axis"):
        SweepGrid("eps", (), (), ())


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_rows_are_all_combinations_in_order(sizes: list[int], data: st.DataObject) -> None:
    from itertools import product

    axes = tuple(SweepAxis(f"a{i}", tuple(map(str, range(n)))) for i, n in enumerate(sizes))
    grid = SweepGrid("eps", (), axes, ())
    assert [grid.point(row) for row in range(grid.size)] == list(product(*(a.values for a in axes)))
