"""Domains: one object checks, describes and draws; the three must agree."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpacct.declare.domain import DELTA, EPSILON, POSITIVE, RATE, STEPS, Integer, Real
from dpacct.errors import InvalidArgument, OutsideDomain
from tests.drawing import draw

DOMAINS: list[Real | Integer] = [
    DELTA,
    EPSILON,
    POSITIVE,
    RATE,
    STEPS,
    Real(),
    Real(2, 3, "both"),
    Real(0, 1, "left"),
    Real(-math.inf, 5),
    Real("0.1", "0.3"),
    Real(Fraction(1, 3), Fraction(2, 3)),
    Integer(),
    Integer(1, 3),
    Integer(0),
    Integer(-math.inf, -4),
]
domains = st.sampled_from(DOMAINS)
rngs = st.randoms(use_true_random=False)


@given(domains, rngs)
def test_what_is_drawn_inside_is_accepted_exactly(domain: Real | Integer, rng: Any) -> None:
    value = draw(domain, rng)
    assert domain.contains(value)
    assert domain.check("x", value) == value


@given(domains, st.integers(1, 10**6), st.booleans())
def test_what_lies_outside_is_refused_by_name(domain: Real | Integer, far: int, up: bool) -> None:
    end = domain.upper if up else domain.lower
    assume(math.isfinite(end))
    for value in (
        end + far if up else end - far,
        *([] if domain.contains(Fraction(end)) else [end]),
    ):
        with pytest.raises(InvalidArgument) as caught:
            domain.check("x", value if isinstance(domain, Real) else int(value))
        assert str(caught.value).startswith(f"x must be {domain.words}, got ")
        assert caught.value.argument == "x"


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize(
    "junk", [None, True, np.bool_(False), math.nan, math.inf, -math.inf, 1j, "one", "", [1]]
)
def test_junk_is_refused_in_one_sentence(domain: Real | Integer, junk: object) -> None:
    with pytest.raises(InvalidArgument) as caught:
        domain.check("sigma", junk, error=OutsideDomain)
    message = str(caught.value)
    assert message.startswith(f"sigma must be {domain.words}, got ")
    assert "\n" not in message and len(message) < 160


def test_descriptions() -> None:
    assert [str(d) for d in (RATE, DELTA, EPSILON, POSITIVE, Real(), Integer(2))] == [
        "(0, 1]",
        "(0, 1)",
        "[0, inf)",
        "(0, inf)",
        "(-inf, inf)",
        "[2, inf)",
    ]
    assert str(Real("1/3", 2.5, "both")) == "[1/3, 2.5]"


def test_delta_may_lie_below_the_range_of_floats() -> None:
    assert DELTA.check("delta", "1e-1000") == Fraction(1, 10**1000)


@pytest.mark.parametrize("value", [1, 10**15, "1000", "1e6", np.int32(7), np.uint64(7)])
def test_steps_that_are_whole(value: object) -> None:
    checks = STEPS.check("steps", value)
    assert type(checks) is int
    assert checks == int(float(value))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2.0, np.float64(2), 2.5, "2.5", Fraction(2), 0, -1, 10**15 + 1])
def test_steps_that_are_not(value: object) -> None:
    with pytest.raises(
        InvalidArgument, match=r"^steps must be a whole number from 1 to 1e15, got "
    ):
        STEPS.check("steps", value)
