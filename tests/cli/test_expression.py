"""Numbers as people write them."""

from __future__ import annotations

import contextlib
import time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.cli.expression import ExpressionError, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", Fraction(1, 100_000)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1E3", Fraction(1000)),
        ("60_000", Fraction(60_000)),
        ("256/60000", Fraction(256, 60_000)),
        ("2**-20", Fraction(1, 2**20)),
        ("2^-20", Fraction(1, 2**20)),
        ("1/3", Fraction(1, 3)),
        ("1/3/3", Fraction(1, 9)),
        ("2-1-1", Fraction(0)),
        ("-2^2", Fraction(-4)),
        ("(-2)^2", Fraction(4)),
        ("2^3^2", Fraction(512)),
        ("2^0", Fraction(1)),
        (" ( 1 + 2 ) * 3 ", Fraction(9)),
        ("--3", Fraction(3)),
        ("4^0.5", Fraction(2)),
    ],
)
def test_rational_values_are_exact(text: str, value: Fraction) -> None:
    assert parse(text) == value


def test_irrational_powers_have_forty_digits() -> None:
    # (975^-1.1)^10 = 975^-11 is rational: an exact check of an irrational number.
    assert abs(parse("975^-1.1") ** 10 * 975**11 - 1) < Fraction(1, 10**40)
    # A rational too long to write out: 50 digits of it, against a second precision.
    near = parse("(1-1e-6)^1000000")
    assert abs(near - Fraction(parse("0.999999^500000")) ** 2) < Fraction(1, 10**40)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "abc", "1+", "*2", "(1", "1)", "()", "1 2", "1e", "1e-5x", "0x10", "1__0",
        "1,5", "1;2", "__import__('os')", "1j", "1e5.5", "nan", "NaN", "inf", "-inf", "Infinity",
        "+oo", "1/0", "0^-1", "(-8)^(1/3)", "1e999999999", "1e-999999", "9^9^9^9", "9**9**9**9",
        "10^1e6", "1" * 300, "(" * 90, "2^" * 60 + "1", "-" * 150, "1e2999*1e2999*1e2999",
        "٣", "½", "1\x00", "٠.١",
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert time.perf_counter() - start < 0.1
    assert len(str(caught.value)) < 200


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value="-1e300", max_value="1e300"))
def test_every_decimal_reads_back(value: Decimal) -> None:
    if len(str(value)) <= 200 and abs(value.adjusted()) < 2000:
        assert parse(str(value)) == Fraction(value)


numbers = st.one_of(
    st.integers(0, 10**6).map(str), st.decimals(0, 1000, places=3, allow_nan=False).map(str)
)


@given(st.lists(st.tuples(numbers, st.sampled_from("+-*/")), max_size=8), numbers)
def test_arithmetic_is_pythons(pairs: list[tuple[str, str]], last: str) -> None:
    text = "".join(number + sign for number, sign in pairs) + last
    exact = "".join(f"Fraction({number!r}){sign}" for number, sign in pairs)
    try:
        expected = eval(f"{exact}Fraction({last!r})", {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="divides by zero"):
            parse(text)
    else:
        assert parse(text) == expected


@given(st.text(alphabet="0123456789.eE+-*/^() _naif", max_size=40))
def test_any_text_is_a_number_or_a_refusal(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        assert isinstance(parse(text), Fraction)
