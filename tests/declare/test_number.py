"""One number language: what was typed is what is kept, and what is no number is none."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.declare.number import NotANumber, exact, ln, number, shown, text
from tests.work import calls, memory

TENTH = Fraction(1, 10)
finite = st.floats(allow_nan=False, allow_infinity=False)


TENTHS = [0.1, "0.1", " .1 ", "1e-1", "+0.10", "1/10", "2 / 20", "10^-1", Decimal("0.1"), TENTH]
TENTHS += [np.float64(0.1), np.float32(0.1), np.float16(0.1), np.longdouble("0.1")]

JUNK: list[object] = [None, True, False, np.bool_(True), math.nan, math.inf, -math.inf, 1j]
JUNK += [np.float32("nan"), complex(1, 0), np.complex128(1), b"1", [1], (1,), {}]
JUNK += [Decimal("NaN"), Decimal("Infinity"), Decimal("sNaN"), np.array([1.0, 2.0])]
JUNK += ["", " ", "nan", "inf", "1e", "e5", "1..2", "1__000", "0x10", "1/0", "1/2/0", "1//2"]
JUNK += ["one", "1,5", "١٢", "1e5.5", "--", "1 2", "1e999999999", "1e-999999999"]
JUNK += ["9" * 5000, "1" * 100_000, "1e4001", "1/" + "7" * 4001]
JUNK += [Decimal("1e999999"), Decimal("1e-999999"), 10**4001, Fraction(1, 10**4001)]


@pytest.mark.parametrize("tenth", TENTHS, ids=repr)
def test_a_tenth_however_typed_is_a_tenth(tenth: object) -> None:
    assert exact(tenth) == TENTH


def test_a_fraction_of_the_double_keeps_its_binary_value() -> None:
    assert exact(Fraction(0.1)) == Fraction(3602879701896397, 36028797018963968) != TENTH


@pytest.mark.parametrize("junk", JUNK, ids=lambda value: shown(value, 20))
def test_what_is_no_number_is_none_with_little_work(junk: object) -> None:
    """Few calls and little memory: no power of ten with a million digits is ever made."""
    assert exact(junk) is None
    assert calls(lambda: exact(junk)) < 1000
    assert memory(lambda: exact(junk)) < 1_000_000


@given(finite)
def test_a_float_is_its_shortest_decimal(value: float) -> None:
    result = exact(value)
    assert result == Fraction(repr(value))
    assert float(result) == value


@given(st.fractions() | finite.map(exact) | st.decimals(allow_nan=False, allow_infinity=False))
def test_text_reads_back_exactly(value: Fraction | Decimal) -> None:
    number = exact(value)
    if number is not None:  # Hypothesis also draws decimals of absurd exponents
        assert exact(text(number)) == number


def test_text_is_what_a_person_would_write() -> None:
    written = ["0", "1", "-1", "0.1", "-0.25", "1.1", "100", "1234.5", "0.00001", "1e-6", "1e16"]
    assert [text(Fraction(each)) for each in written] == written
    assert text(Fraction(1, 3)) == "1/3"
    assert text(Fraction(1, 2**13_000)) == str(Fraction(1, 2**13_000))


@given(st.fractions(Fraction(1, 10**6), 10**6))
def test_ln_agrees_with_the_library(value: Fraction) -> None:
    assert ln(value) == pytest.approx(math.log(value), rel=1e-14, abs=1e-15)


def test_ln_beyond_floats_and_near_one() -> None:
    assert ln(Fraction(1, 10**1000)) == pytest.approx(-1000 * math.log(10), rel=1e-15)
    assert ln(1 + Fraction(1, 10**30)) == 1e-30


def test_shown_never_fails_and_stays_short() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    for value in (Broken(), 10**5000, "a\nb" * 100, Fraction(1, 10**5000), np.arange(1000)):
        result = shown(value)
        assert len(result) <= 60 and "\n" not in result


# --- expressions, as people type them


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
        ("-2^2", Fraction(-4)),
        ("2^0", Fraction(1)),
        ("4^0.5", Fraction(2)),
    ],
)
def test_rational_values_are_exact(text: str, value: Fraction) -> None:
    assert number(text) == value


def test_irrational_powers_have_forty_digits() -> None:
    # (975^-1.1)^10 = 975^-11 is rational: an exact check of an irrational number.
    assert abs(number("975^-1.1") ** 10 * 975**11 - 1) < Fraction(1, 10**40)
    # A rational too long to write out: 50 digits of it, against a second precision.
    near = number("0.999999^1000000")
    assert abs(near - Fraction(number("0.999999^500000")) ** 2) < Fraction(1, 10**40)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "abc", "1+", "*2", "(1", "1)", "()", "1 2", "1e", "1e-5x", "0x10", "1__0",
        "1,5", "1;2",
        "__import__('os')", "1j", "1e5.5", "nan", "NaN", "inf", "-inf", "Infinity",
        "+oo", "1/0", "0^-1", "--1", "1/2/3", "2^3^2", "(1+2)",
        "1e999999999", "1e-999999", "9^9^9^9", "9**9**9**9",
        "10^1e6", "1+" * 101 + "1", "(" * 90, "2^" * 60 + "1", "-" * 150, "1e2999*1e2999*1e2999",
        "٣", "½", "1\x00", "٠.١",
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused_with_little_work(text: str) -> None:
    def ask() -> None:
        with pytest.raises(NotANumber) as caught:
            number(text)
        assert len(str(caught.value)) < 200

    assert calls(ask) < 20_000
    assert memory(ask) < 1_000_000


terms = st.decimals(0, 1000, places=3, allow_nan=False).map(str) | st.integers(0, 10**6).map(str)


@given(terms, terms)
def test_a_ratio_is_exact(over: str, under: str) -> None:
    if Fraction(under):
        assert number(f"{over} / {under}") == Fraction(over) / Fraction(under)
    else:
        with pytest.raises(NotANumber, match="divides by zero"):
            number(f"{over}/{under}")
