"""What is not a number in range is an error that says so: one sentence, and never an answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct.declare.domain import Real
from tests.laws.catalogue import MECHANISMS, SAMPLERS, limited

PLAN = dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 100
NOT_NUMBERS: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    Decimal("nan"),
    Decimal("-inf"),
    True,
    False,
    np.True_,
    None,
    "",
    " ",
    "junk",
    "1e",
    "--",
    "1,5",
    "0x10",
    "1__000",
    "nan",
    "inf",
    "1/0",
    "1e999999999",
    "؁",
    b"1",
    1j,
    [],
    [1.0],
    {},
    object(),
    np.array([1.0, 2.0]),
)
POSITIVE: tuple[Any, ...] = (0, 0.0, -0.0, "0", -1, -1e-300, "-1e-5", Fraction(-1, 3), Decimal(-2))
RATE: tuple[Any, ...] = (*POSITIVE, 1.0000001, 2, "1.1", Fraction(3, 2), 1e300)
DELTA: tuple[Any, ...] = (*POSITIVE, 1, 1.0, "1", 1.5, 2, Fraction(4, 3))
EPSILON: tuple[Any, ...] = (-1, -1e-300, "-0.5", Fraction(-1, 7))
STEPS: tuple[Any, ...] = (0, -1, 1.5, "2.5", 10**15 + 1, 2.0, Fraction(1, 2), "0", "-3")


def shown(value: object) -> str:
    return f"{type(value).__name__}-{value!r:.20}"


def refused(ask: Callable[[], object], argument: str) -> None:
    """One sentence that names the argument, the value and the range; no number, no traceback."""
    with limited(), pytest.raises(dp.InvalidArgument) as caught:
        ask()
    error = caught.value
    assert error.argument == argument
    assert argument in error.message
    assert "must" in error.message or "takes" in error.message
    assert "\n" not in error.message
    assert len(error.message) < 400
    assert error.exit_code == 2
    assert error.__suppress_context__ or error.__context__ is None


def bad(*ranges: tuple[Any, ...]) -> pytest.MarkDecorator:
    values = [value for some in ranges for value in some]
    return pytest.mark.parametrize("value", values, ids=shown)


def outside(domain: Real) -> list[Any]:
    """Values that a mechanism's domain doesn't hold."""
    candidates = (*POSITIVE, 1, 1.0, 2)
    return [x for x in candidates if not domain.contains(Fraction(str(x)))]


@pytest.mark.parametrize("kind", MECHANISMS, ids=str)
@bad(NOT_NUMBERS)
def test_parameters_that_are_not_numbers(kind: Any, value: Any) -> None:
    for name in kind.parameters:
        others = {other: "0.5" for other in kind.parameters if other != name}
        with limited(), pytest.raises(dp.InvalidArgument) as caught:
            kind.make(**{name: value}, **others)
        if value is not None:
            assert name in caught.value.message
            assert caught.value.argument == name


@pytest.mark.parametrize("kind", MECHANISMS, ids=str)
def test_parameters_out_of_range(kind: Any) -> None:
    for name in kind.parameters:
        others = {other: "0.5" for other in kind.parameters if other != name}
        for value in outside(kind.domains[name]):
            refused(partial(kind.make, **{name: value}, **others), name)


@pytest.mark.parametrize("sampler", [s for s in SAMPLERS if s], ids=lambda s: s.kind)
@bad(NOT_NUMBERS, RATE)
def test_rate(sampler: Any, value: Any) -> None:
    refused(lambda: sampler(value), "rate")


@bad(NOT_NUMBERS, tuple(value for value in DELTA if value not in (0, "0")))
def test_delta_of_a_question(value: Any) -> None:
    refused(lambda: PLAN.epsilon(delta=value), "delta")
    refused(lambda: PLAN.epsilon(delta=value, method="rdp"), "delta")


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, "0", Fraction(0)])
def test_at_delta_zero_only_added_losses_answer(zero: Any) -> None:
    """The plan has Gaussian noise, whose losses have no end: infinity, and never a finite number."""
    assert PLAN.epsilon(zero).lower is None and math.isinf(float(PLAN.epsilon(zero)))
    refused(lambda: PLAN.epsilon(zero, method="rdp"), "method")
    refused(lambda: PLAN.epsilon(zero, method="certified"), "method")


@bad(NOT_NUMBERS, DELTA)
def test_delta_of_a_target(value: Any) -> None:
    refused(lambda: dp.noise_multiplier(epsilon=1, delta=value), "delta")
    refused(lambda: dp.calibrate(lambda s: dp.Gaussian(sigma=s), epsilon=1, delta=value), "delta")


@bad(NOT_NUMBERS, EPSILON)
def test_epsilon(value: Any) -> None:
    refused(lambda: dp.noise_multiplier(epsilon=value, delta=1e-5), "epsilon")
    if isinstance(value, list | np.ndarray) and len(value):  # several epsilons: an answer each
        assert np.array_equal(PLAN.delta(value).upper, [PLAN.delta(each).upper for each in value])
    else:
        refused(lambda: PLAN.delta(epsilon=value), "epsilon")
    if not isinstance(value, list | np.ndarray):
        refused(lambda: PLAN.profile(value), "epsilon")
        refused(lambda: PLAN.profile([0.5, value]), "epsilon")


@bad(NOT_NUMBERS, STEPS)
def test_steps(value: Any) -> None:
    refused(lambda: PLAN * value, "steps")
    refused(lambda: value * PLAN, "steps")
    refused(lambda: dp.noise_multiplier(epsilon=1, delta=1e-5, steps=value), "steps")


@bad(NOT_NUMBERS, (1, 0, -2, "1", 0.999999))
def test_order(value: Any) -> None:
    if not isinstance(value, list | np.ndarray):
        refused(lambda: PLAN.rdp(value), "order")


@bad(NOT_NUMBERS, (-1e-9, 1.1, "2", -1))
def test_alpha(value: Any) -> None:
    if not isinstance(value, list | np.ndarray):
        refused(lambda: PLAN.tradeoff(value), "alpha")


def test_words() -> None:
    refused(lambda: PLAN.epsilon(delta=1e-5, method="exactt"), "method")
    refused(lambda: PLAN.epsilon(delta=1e-5, adjacency="replace"), "adjacency")
    refused(lambda: PLAN.under("add"), "adjacency")
    refused(lambda: dp.noise_multiplier(epsilon=1, delta=1e-5, sampling="bernoulli"), "sampling")
    refused(lambda: dp.Gaussian(), "sigma")
    refused(lambda: dp.Gaussian(sigma=1, noise_multiplier=1, clip=1), "sigma")
    refused(lambda: dp.Gaussian(sigma=1, clip=1), "clip")
    refused(lambda: PLAN.compare(), "delta")
    refused(lambda: PLAN.compare(delta=1e-5, epsilon=1), "delta")


@pytest.mark.parametrize("name", ["epsilon", "delta", "steps"])
def test_a_question_left_out_is_a_type_error(name: str) -> None:
    """Not a default: there is no number to fall back to."""
    with pytest.raises(TypeError):
        PLAN.epsilon()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        PLAN.delta()  # type: ignore[call-arg]
