"""What is not a number in range is an error that says so: one sentence, and never an answer.

`declared.py` has the one table of bad values, over all that is declared: here it is typed in Python, in a
saved plan, in a plan file and on the command line.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct.cli.plan_file import kinds, read_step
from dpacct.declare.domain import DELTA, EPSILON, PURE_DELTA, SHARE, STEPS, Domain, Integer, Real
from dpacct.declare.record import Record
from tests.cli.runner import run
from tests.laws.catalogue import limited
from tests.laws.declared import RANGES, bad_values, declared_range, records, stated

PLAN = dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 100


def shown(value: object) -> str:
    return f"{type(value).__name__}-{value!r:.20}"


def refused(ask: Callable[[], object], argument: str) -> None:
    """One sentence that names the argument, the value and the range; no number, no traceback."""
    with limited(), pytest.raises(dp.InvalidArgument) as caught:
        ask()
    error = caught.value
    assert error.argument == argument
    assert argument in error.message
    assert any(word in error.message for word in ("must", "takes", "give"))
    assert "\n" not in error.message
    assert len(error.message) < 400
    assert error.exit_code == 2
    assert error.__suppress_context__ or error.__context__ is None


def bad(domain: Domain[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("value", [None, *bad_values(domain)], ids=shown)


def texts(domain: Domain[Any]) -> list[str]:
    """Bad values that can be typed; a whole number is one as a text, whatever it was before."""
    values = bad_values(domain)
    whole = [value for value in values if isinstance(value, Fraction) and value.denominator == 1]
    return [
        text for text in [*values, *map(str, whole)] if isinstance(text, str) and text.isascii()
    ]


def test_ranges_are_those_of_the_table() -> None:
    ranges: dict[str, set[str]] = {}
    for kind in records():
        for name, parameter in kind.parameters.items():
            if isinstance(parameter.domain, Real | Integer):
                ranges.setdefault(declared_range(parameter.domain), set()).add(name)
    assert ranges == {text: set(names.split()) for text, names in RANGES.items()}


@pytest.mark.parametrize("kind", records(), ids=lambda kind: kind.__qualname__)
def test_declared_values(kind: type[Record]) -> None:
    """By the name that was typed: a mechanism's, a sampler's, an algorithm's, a question's, an option's."""
    for values, name in stated(kind):
        parameter = kind.parameters[name]
        for value in bad_values(parameter.domain):
            typed = {**values, name: value}
            for call in (str, "--{}".format):
                refused(partial(kind.read, typed, call), call(name))
        if parameter.required:
            with pytest.raises(dp.InvalidArgument, match=name):
                kind.read({**values, name: None}, str)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_declared_values_in_saved_plans_and_plan_files(kind: str) -> None:
    for values, name in stated(kinds()[kind]):
        for text in texts(kinds()[kind].parameters[name].domain):
            typed = {**{key: str(value) for key, value in values.items()}, name: text}
            refused(partial(dp.from_dict, {"schema": 1, "node": kind, **typed}), name)
            refused(partial(read_step, {"mechanism": kind, **typed}, "step 1"), name)


OWN = {
    "risk --sigma 1": {"--fpr": Real(0, 1), "--prior": Real(0, 1), "--baseline": Real(0, 1)},
    "curve --sigma 1": {"--points": Integer(2, 100_000), "--delta": DELTA, "--from": EPSILON},
    "check docs/examples/plan.toml": {"--max-eps": EPSILON, "--max-delta": PURE_DELTA},
    "report docs/examples/plan.toml": {"--delta": PURE_DELTA},
    "shuffle --eps0 1 --clients 9 --delta .1": {"--rounds": Integer(1, 10**9)},
    "eps --sigma 1": {"--delta": PURE_DELTA},
    "delta --sigma 1": {"--eps": EPSILON},
    "eps --sigma 1 --delta .1": {
        "--effort": Real(0, math.inf, "left"),
    },
    "noise --eps 1": {"--delta": DELTA},
    "steps --sigma 1 --delta .1": {"--eps": EPSILON},
    "verify": {"--draws": STEPS, "--seed": Integer(0, 10**18)},
    "audit docs/examples/scores.csv": {"--delta": PURE_DELTA, "--confidence": Real(0, 1)},
}
"""Options of the commands themselves; the words of a plan stay text until a constructor reads them."""


@pytest.mark.parametrize(("line", "options"), OWN.items(), ids=OWN)
def test_options(line: str, options: dict[str, Domain[Any]]) -> None:
    for option, domain in options.items():
        for value in texts(domain)[::5]:
            words = [*line.split(), f"{option}={value}"]
            failed = run(*words)
            assert failed.code == 2 and failed.stdout == ""
            assert failed.stderr.startswith(f"error: {option} must be "), (words, failed.stderr)
            assert failed.stderr.count("\n") == 1
        output = run(*words, "--json")
        error = output.json["error"]
        assert output.code == 2 and output.stderr == ""
        assert error["argument"] == option and error["code"] == 2
        assert error["message"] in failed.stderr


@bad(PURE_DELTA)
def test_delta_of_a_question(value: Any) -> None:
    refused(lambda: PLAN.epsilon(delta=value), "delta")
    refused(lambda: PLAN.epsilon(delta=value, method="rdp"), "delta")


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, "0", Fraction(0)])
def test_at_delta_zero_only_added_losses_answer(zero: Any) -> None:
    """The plan has Gaussian noise, whose losses have no end: infinity, and never a finite number."""
    assert PLAN.epsilon(zero).lower is None and math.isinf(float(PLAN.epsilon(zero)))
    refused(lambda: PLAN.epsilon(zero, method="rdp"), "method")
    refused(lambda: PLAN.epsilon(zero, method="certified"), "method")


@bad(DELTA)
def test_delta_of_a_target(value: Any) -> None:
    if is_zero(value):  # asked of noise of bounded losses; Gaussian noise has none
        with pytest.raises(dp.Unreachable, match="at delta 0"):
            dp.noise_multiplier(epsilon=1, delta=value)
        return
    refused(lambda: dp.noise_multiplier(epsilon=1, delta=value), "delta")
    refused(lambda: dp.calibrate(lambda s: dp.Gaussian(sigma=s), epsilon=1, delta=value), "delta")


def is_zero(value: Any) -> bool:
    return isinstance(value, int | float | Fraction | str) and str(value) in ("0", "0.0", "-0.0")


@bad(EPSILON)
def test_epsilon(value: Any) -> None:
    refused(lambda: dp.noise_multiplier(epsilon=value, delta=1e-5), "epsilon")
    if isinstance(value, list | np.ndarray) and len(value):  # several epsilons: an answer each
        assert np.array_equal(PLAN.delta(value).upper, [PLAN.delta(each).upper for each in value])
    else:
        refused(lambda: PLAN.delta(epsilon=value), "epsilon")
    if not isinstance(value, list | np.ndarray):
        refused(lambda: PLAN.profile(value), "epsilon")
        refused(lambda: PLAN.profile([0.5, value]), "epsilon")


@bad(STEPS)
def test_steps(value: Any) -> None:
    refused(lambda: PLAN * value, "steps")
    refused(lambda: value * PLAN, "steps")
    refused(lambda: dp.noise_multiplier(epsilon=1, delta=1e-5, steps=value), "steps")


@bad(Real(1))
def test_order(value: Any) -> None:
    if not isinstance(value, list | np.ndarray):
        refused(lambda: PLAN.rdp(value), "order")


@bad(SHARE)
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
