"""Answer: what it refuses, what it prints, and its JSON."""

import copy
import dataclasses
import json
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.answer import RESERVED, Answer
from dpacct.errors import InvalidArgument
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.plan.node import from_dict
from dpacct.vocabulary import Assumption, Side, Strength

# docs/json.md; `command` is the command line's.
CONTRACT = ["schema", "quantity", "value", "lower", "upper", "side", "strength", "method"]
CONTRACT += ["adjacency", "unit", "basis", "assumptions", "plan", "seconds", "alternatives"]


def answer(**changed: Any) -> Answer:
    fields: dict[str, Any] = {
        "quantity": "epsilon",
        "value": 1.5,
        "lower": 1.25,
        "upper": 1.75,
        "side": Side.TWO_SIDED,
        "strength": Strength.CONVERGED,
        "method": "exact",
    }
    return Answer(**{**fields, **changed})


def test_float_is_the_safe_end() -> None:
    assert float(answer()) == 1.75
    assert float(answer(safe_end="lower")) == 1.25
    assert float(answer(upper=None, side="lower")) == 1.5
    assert int(answer(quantity="steps", value=7, lower=7, upper=8, safe_end="lower")) == 7
    with pytest.raises(InvalidArgument, match="must be whole"):
        int(answer())


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": 2},
        {"value": 1},
        {"lower": 3},
        {"value": math.nan},
        {"lower": math.nan},
        {"upper": math.nan},
        {"seconds": math.nan},
        {"log_value": math.nan},
        {"upper": None},
        {"lower": None},
        {"upper": None, "side": "upper"},
        {"lower": None, "side": "lower"},
        {"strength": Strength.REFUTED},
        {"strength": "splendid"},
        {"side": "inside"},
        {"adjacency": "next-to"},
        {"unit": "person"},
        {"safe_end": "middle"},
        {"extra": {"value": 3.0}},
        {"extra": {"error": "no"}},
    ],
    ids=str,
)
def test_contradictions_are_refused_in_one_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        answer(**wrong)
    assert "\n" not in str(caught.value)


def test_answers_are_immutable_values() -> None:
    made = answer(extra={"noise_multiplier": 1.5}, seconds=0.1, tree=Gaussian(sigma=1))
    assert made == answer(extra={"noise_multiplier": 1.5}, seconds=0.2, tree=Gaussian(sigma=1))
    assert hash(made) == hash(dataclasses.replace(made))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.value = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        made.extra["noise_multiplier"] = 0.0  # type: ignore[index]
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made


def test_the_printed_line_of_each_grade() -> None:
    exact = answer(value=1.515361916664, lower=1.51536191666, upper=1.51536191667)
    assert str(exact) == (
        "epsilon = 1.515361916664 [1.51536191666, 1.51536191667] "
        "two-sided, converged (exact), add-remove"
    )
    assert str(answer()).startswith("epsilon = 1.5 [1.25, 1.75] two-sided")
    upper = answer(value=1.7, lower=None, upper=1.71234567891, side="upper", strength="bound")
    assert str(upper).startswith("epsilon <= 1.712345679 upper, bound (exact)")
    assert str(answer(side="lower", upper=None)).startswith("epsilon >= 1.25 lower")
    clt = answer(side="none", strength="estimate", lower=None, upper=None, method="clt")
    assert str(clt) == "epsilon ~ 1.5 none, estimate (clt), add-remove"
    assert str(answer(value=2, lower=2, upper=2)).startswith("epsilon = 2 two-sided")
    assert str(answer(value=math.inf, upper=math.inf)).startswith("epsilon = inf [1.25, inf]")


def test_a_delta_below_the_range_of_floats_is_printed_from_its_logarithm() -> None:
    tiny = answer(quantity="delta", value=0, lower=0, upper=5e-324, log_value=-2302.585092994046)
    assert str(tiny).startswith("delta = 1e-1000 two-sided")
    assert tiny.to_dict()["log_value"] == -2302.585092994046


@given(
    st.floats(1e-300, 1e300),
    st.floats(0, 1e-3) | st.floats(1e-13, 1e-9),
    st.floats(0, 1),
)
def test_printed_ends_are_rounded_outward(lower: float, width: float, share: float) -> None:
    upper = lower * (1 + width)
    value = min(max(lower + (upper - lower) * share, lower), upper)
    line = str(answer(value=value, lower=lower, upper=upper))
    if lower < upper:
        low, high = line[line.index("[") + 1 : line.index("]")].split(", ")
        assert float(low) <= lower <= upper <= float(high)
        printed = float(line.split(" = ")[1].split()[0])
        assert printed == pytest.approx(value, rel=1e-3)
        # Not needlessly wide either: the printed bracket is at most a few times the true one.
        assert float(high) - float(low) <= (upper - lower) * 3 + upper * (4e-15 + 2e-3 * width)


@given(st.floats(1e-300, 1e300))
def test_a_single_end_is_rounded_outward(end: float) -> None:
    above = str(answer(value=end, lower=None, upper=end, side="upper"))
    below = str(answer(value=end, lower=end, upper=None, side="lower"))
    assert float(above.split()[2]) >= end
    assert float(below.split()[2]) <= end


def test_json_has_the_keys_of_the_contract() -> None:
    document = answer(
        basis=("a.theorem1",),
        assumptions=(Assumption("fresh noise"),),
        tree=Gaussian(sigma="1.1") * 10,
        seconds=0.03,
        alternatives=(answer(value=1.7, lower=None, upper=1.7, side="upper", method="rdp"),),
        extra={"noise_multiplier": 1.1},
    ).to_dict()
    ids = {"basis_ids", "assumption_ids"}  # beside the texts that they belong to
    assert [key for key in document if key not in ids] == [*CONTRACT, "noise_multiplier"]
    assert ids < set(document)
    assert document["schema"] == 1
    assert document["assumptions"] == ["fresh noise [declared]"]
    assert from_dict(document["plan"]) == Gaussian(sigma="1.1") * 10
    other = document["alternatives"][0]
    assert {"method", "value", "side", "strength", "lower", "upper", "seconds"} <= set(other)
    assert (other["method"], other["value"], other["lower"]) == ("rdp", 1.7, None)
    assert set(CONTRACT) | {"command", "error"} <= RESERVED


@given(
    st.floats(allow_nan=False) | st.just(math.inf),
    st.floats(allow_nan=False) | st.none(),
    st.floats(allow_nan=False) | st.none(),
)
def test_json_is_valid_for_every_number(
    value: float, lower: float | None, upper: float | None
) -> None:
    low = None if lower is None else min(lower, value)
    high = None if upper is None else max(upper, value)
    made = answer(value=value, lower=low, upper=high, side="none")
    document = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert float(document["value"]) == value
    assert document["lower"] is None if low is None else float(document["lower"]) == low
    assert document["upper"] is None if high is None else float(document["upper"]) == high
    assert str(made)
