"""Domains: one object checks, describes and draws; the three must agree."""

from __future__ import annotations

import builtins
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.declare.domain import DELTA, EPSILON, POSITIVE, RATE, STEPS, Bound, Integer, Real, Where
from dpacct.errors import InvalidArgument, MissingExtra, OutsideDomain

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
    Integer(1, 10, "neither"),
]
domains = st.sampled_from(DOMAINS)
rngs = st.randoms(use_true_random=False)


@given(domains, rngs)
def test_what_is_drawn_inside_is_accepted_exactly(domain: Real | Integer, rng: Any) -> None:
    value = domain.draw(rng)
    assert domain.contains(value)
    assert domain.check("x", value) == value


@given(domains, rngs)
def test_what_is_drawn_on_the_boundary_is_accepted(domain: Real | Integer, rng: Any) -> None:
    ends = (domain.lower, domain.upper)
    if all(math.isinf(end) for end in ends):  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="no boundary"):
            domain.draw(rng, "boundary")
    else:
        assert domain.contains(domain.draw(rng, "boundary"))


@given(domains, rngs)
def test_what_is_drawn_outside_is_refused_by_name(domain: Real | Integer, rng: Any) -> None:
    if str(domain) == "(-inf, inf)":
        with pytest.raises(InvalidArgument, match="no outside"):
            domain.draw(rng, "outside")
        return
    value = domain.draw(rng, "outside")
    with pytest.raises(InvalidArgument) as caught:
        domain.check("x", value)
    assert str(caught.value).startswith(f"x must be {domain.words}, got ")
    assert caught.value.argument == "x"


@given(st.data(), domains)
def test_strategies_stay_inside(data: st.DataObject, domain: Real | Integer) -> None:
    assert domain.contains(data.draw(domain.strategy()))


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


@pytest.mark.parametrize("value", [1e-400, "1e-400", "1e-310", "1e309"])
def test_what_a_double_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument, match="sigma must be a number above 0, got "):
        POSITIVE.check("sigma", value)


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


def test_a_theorem_may_ask_for_its_own_error() -> None:
    with pytest.raises(OutsideDomain, match="got 2"):
        RATE.check("rate", 2, error=OutsideDomain)


def test_an_end_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="endpoint"):
        Real("zero", 1)


def test_domains_are_values() -> None:
    assert Real(0, 1, "right") == RATE
    assert hash(Real(0, 1, "right")) == hash(RATE)
    assert Real(0, 1) != RATE
    assert Integer(1, 5) != Real(1, 5, "both")


def test_without_hypothesis_a_strategy_says_what_to_install(monkeypatch: Any) -> None:
    real_import = builtins.__import__

    def no_hypothesis(name: str, *rest: Any) -> Any:
        if name.startswith("hypothesis"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_hypothesis)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[dev\]' in dpacct's checkout"):
        RATE.strategy()


SHUFFLE = Where(
    eps0=Real(
        0,
        Bound(
            "log(n/(16 log(2/delta)))", lambda n, delta: math.log(n / (16 * math.log(2 / delta)))
        ),
    ),
    n=Integer(10**3, 10**6),
    delta=Real("1e-12", "1e-2"),
)


def test_where_describes_itself() -> None:
    text = "eps0 in (0, log(n/(16 log(2/delta)))), n in [1000, 1000000], delta in (1e-12, 0.01)"
    assert str(SHUFFLE) == text


@given(rngs)
def test_where_accepts_what_it_draws(rng: random.Random) -> None:
    for part in ("inside", "boundary"):
        drawn = SHUFFLE.draw(rng, part)  # type: ignore[arg-type]
        assert list(drawn) == ["eps0", "n", "delta"]
        assert SHUFFLE.check(**drawn) == drawn


@given(rngs)
def test_where_refuses_what_it_draws_outside(rng: random.Random) -> None:
    with pytest.raises(OutsideDomain):
        SHUFFLE.check(**SHUFFLE.draw(rng, "outside"))


def test_where_names_the_dependent_end() -> None:
    with pytest.raises(OutsideDomain, match=r"got 9 \(where the end is log\(n/") as caught:
        SHUFFLE.check(n=1000, delta=1e-6, eps0=9)
    assert caught.value.argument == "eps0"


def test_where_wants_all_arguments_and_no_others() -> None:
    with pytest.raises(InvalidArgument, match="delta is missing"):
        SHUFFLE.check(n=1000, eps0=1)
    with pytest.raises(InvalidArgument, match="q is not one of the arguments"):
        SHUFFLE.check(n=1000, eps0=1, delta=1e-6, q=2)
    with pytest.raises(InvalidArgument, match="n must be a whole number"):
        SHUFFLE.check(n=1000.5, eps0=1, delta=1e-6)


def test_a_dependent_end_alone_cannot_be_checked() -> None:
    with pytest.raises(InvalidArgument, match="check with Where"):
        SHUFFLE.domains["eps0"].check("eps0", 1)
