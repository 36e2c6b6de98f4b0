"""An answer in the hands of a user: formats, comparisons, arrays, tables, notebooks."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer.ask import Epsilon, ask
from tests.cli.runner import line

UPPER = {"quantity": "epsilon", "method": "exact", "strength": "bound", "side": "upper"}
LOWER = {"quantity": "steps", "method": "exact", "strength": "bound", "side": "lower"}


def at_most(value: float) -> dp.Answer:
    return dp.Answer(**UPPER, value=value, upper=value)  # type: ignore[arg-type]


def at_least(value: float) -> dp.Answer:
    return dp.Answer(**LOWER, value=value, lower=value, safe_end="lower")  # type: ignore[arg-type]


@given(st.floats(1e-300, 1e300), st.integers(0, 12), st.sampled_from("feg"))
def test_formats_never_fall_on_the_unsafe_side(value: float, digits: int, kind: str) -> None:
    spec = f".{max(digits, 1)}{kind}"
    assert Decimal(format(at_most(value), spec)) >= Decimal(repr(value))
    assert Decimal(format(at_least(value), spec)) <= Decimal(repr(value))


def test_formats_are_those_of_numbers() -> None:
    answer = at_most(1.51536)
    assert (f"{answer:.3f}", f"{answer:8.2f}", f"{answer:.2e}") == ("1.516", "    1.52", "1.52e+0")
    assert f"{answer}" == str(answer) and f"{at_most(float('inf')):.2f}" == "inf"
    estimate = dp.Answer(
        quantity="epsilon", value=1.5151, side="none", strength="estimate", method="clt"
    )
    assert f"{estimate:.3f}" == "1.515"


def test_comparisons_are_by_the_safe_end() -> None:
    wide = dp.Answer(
        quantity="epsilon", value=1, lower=0.5, upper=2, side="two-sided", strength="bound",
        method="bracket",
    )  # fmt: skip
    other = at_most(1.5)
    assert other < wide and wide > other and max(other, wide) is wide
    assert wide <= 2 and not wide < Fraction(2) and wide >= Decimal(2)
    assert sorted([wide, other]) == [other, wide]
    assert (wide <= np.array([1.0, 2.0, 3.0])).tolist() == [False, True, True]
    with pytest.raises(TypeError):
        _ = wide < "2"


def test_a_notebook_sees_one_line_and_the_reasons() -> None:
    answer = dp.Gaussian(sigma=2).epsilon(1e-5, method="exact")
    assert repr(answer) == f"<{answer}>" and len(repr(answer)) < 200
    shown = answer._repr_html_()
    assert shown.startswith("<b>epsilon = 1.99") and "<details>" in shown
    assert all(assumption.text in shown for assumption in answer.assumptions)
    assert "&lt;" in at_most(1.0)._repr_html_()


@pytest.mark.parametrize("values", [[1e-5, 1e-6], ("1e-5", 1e-6), np.array([[1e-5], [1e-6]])])
def test_arrays_in_arrays_out(values: object) -> None:
    plan = dp.Gaussian(sigma=2)
    single = [plan.epsilon(delta, method="exact") for delta in (1e-5, 1e-6)]
    answers = plan.epsilon(values, method="exact")  # type: ignore[call-overload]
    assert isinstance(answers, dp.Answers) and answers.shape == np.shape(values)
    assert [answer.value for answer in answers] == [answer.value for answer in single]
    assert np.asarray(answers).ravel().tolist() == [float(answer) for answer in single]
    assert answers.upper.shape == answers.lower.shape == answers.value.shape == answers.shape
    assert answers[1].value == single[1].value and len(answers[:1]) == 1
    assert (answers.side, answers.strength) == (dp.Side.TWO_SIDED, dp.Strength.CONVERGED)


SIZES = {"batch_size": 300, "dataset_size": 1000, "epochs": 20}


def test_noise_of_epochs_is_that_of_a_data_loader() -> None:
    """ceil(N / B) batches in each epoch, each record in one with probability B / N."""
    target = {"epsilon": 3, "delta": 1e-5, "method": "exact"}
    by_steps = dp.noise_multiplier(sample_rate="0.3", steps=80, **target)  # type: ignore[arg-type]
    assert dp.noise_multiplier(**SIZES, **target) == by_steps  # type: ignore[arg-type]
    by_rate = dp.noise_multiplier(sample_rate="0.3", epochs=20, **target)  # type: ignore[arg-type]
    at_67 = dp.noise_multiplier(sample_rate="0.3", steps=67, **target)  # type: ignore[arg-type]
    assert by_rate == at_67 < by_steps


@pytest.mark.parametrize(
    ("wrong", "argument", "sentence"),
    [
        ({"steps": 3}, "epochs", "steps and epochs do not go together: give steps or epochs"),
        ({"sample_rate": 0.1}, "sample_rate", "sample_rate and batch_size do not go together"),
        ({"dataset_size": None}, "dataset_size", "batch_size needs dataset_size"),
        ({"batch_size": 1001}, "batch_size", r"batch_size must be at most dataset_size \(1000\)"),
        ({"epochs": 0}, "epochs", "epochs must be a number above 0, got 0"),
        ({"sampling": "none"}, "sampling", "sampling none contradicts a sampling rate"),
        (
            {"sampling": "shuffle"},
            "sampling",
            "sampling must be one of poisson, uniform, balls-in-bins, records-per-user, truncated",
        ),
        ({"sampling": "records-per-user"}, "records_per_user", "needs records_per_user"),
        ({"records_per_user": 3}, "sampling", "belongs to sampling records-per-user"),
    ],
)
def test_what_does_not_go_together_is_named(
    wrong: dict[str, object], argument: str, sentence: str
) -> None:
    with pytest.raises(dp.InvalidArgument, match=sentence) as caught:
        dp.noise_multiplier(epsilon=3, delta=1e-5, **{**SIZES, **wrong})  # type: ignore[arg-type]
    assert caught.value.argument in (argument, "steps", "batch_size")


def test_at_delta_zero_what_is_pure_answers() -> None:
    plan = dp.Laplace(b=2) * 3 + dp.RandomizedResponse(eps0="0.5")
    answer = plan.epsilon(0)
    assert (answer.method, float(answer), answer.lower) == ("pure", 2.0, None)
    assert float(plan.epsilon([0, 1e-5])[0]) == 2.0
    unbounded = (plan + dp.Gaussian(sigma=9)).epsilon(delta=0)
    assert math.isinf(float(unbounded)) and "Gaussian(sigma=9)" in unbounded.notes[0]
    for method in ("rdp", "certified", "clt"):
        with pytest.raises(dp.InvalidArgument, match="method must be auto or exact at delta 0"):
            plan.epsilon(0, method=method)
    with pytest.raises(dp.InvalidArgument, match="delta must be a number strictly between"):
        ask(Epsilon(0), plan, digits=5)
    assert line("eps --b 2 --delta 0").stdout.startswith("epsilon 0.5    at delta 0\n")
    refused = line("eps --sigma 2 --delta 0")
    assert refused.code == 4 and "no finite epsilon" in refused.stderr
