"""Plans as JSON: they come back equal, and anything else is refused with a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import InvalidArgument
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.plan.node import Node, from_dict, from_json
from dpacct.plan.samplers.poisson import Poisson
from tests.plans import plans

RUN = Poisson(0.01)(Gaussian(sigma=1.1)) * 1000
SAVED = {
    "schema": 1,
    "node": "repeat",
    "steps": 1000,
    "of": {"node": "poisson", "rate": "0.01", "of": {"node": "gaussian", "sigma": "1.1"}},
}


def test_the_form_is_this_for_ever() -> None:
    assert RUN.to_dict() == SAVED
    assert from_dict(SAVED) == RUN
    both = (RUN + Gaussian(noise_multiplier=1, clip="1/3")).under("zero-out", unit="client")
    assert both.to_dict() == {
        "schema": 1,
        "node": "under",
        "adjacency": "zero-out",
        "unit": "client",
        "of": {
            "node": "compose",
            "parts": [
                {key: value for key, value in SAVED.items() if key != "schema"},
                {"node": "gaussian", "noise_multiplier": "1", "clip": "1/3"},
            ],
        },
    }
    assert from_dict(both.to_dict()) == both


@given(plans(), st.sampled_from([None, 2]))
def test_round_trip(plan: Node, indent: int | None) -> None:
    again = from_json(plan.to_json(indent=indent))
    assert again == plan
    assert repr(again) == repr(plan)
    assert from_dict(plan.to_dict()) == plan
    assert from_json(plan.to_json().encode()) == plan


def test_reading_does_not_consume_its_input() -> None:
    before = json.dumps(SAVED)
    from_dict(SAVED)
    assert json.dumps(SAVED) == before


def test_numbers_by_hand_keep_every_digit() -> None:
    saved = '{"schema": 1, "node": "gaussian", "sigma": 1.10000000000000000000000000001}'
    assert from_json(saved) == Gaussian(sigma="1.10000000000000000000000000001")
    assert from_json('{"schema": 1, "node": "laplace", "b": 2}').to_dict()["b"] == "2"


def test_a_plan_written_the_long_way_is_read_in_canonical_form() -> None:
    step = {"node": "gaussian", "sigma": "1"}
    long = {"node": "compose", "parts": [step, {"node": "repeat", "steps": 1, "of": step}]}
    assert from_dict({"schema": 1, **long}) == Gaussian(sigma=1) * 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "a plan must be an object with the keys 'schema' and 'node', got None"),
        ([], "a plan must be an object"),
        ({}, "a plan must be an object with the keys 'schema' and 'node', got {}"),
        ({"node": "gaussian", "sigma": 1}, "a plan must be an object with the keys"),
        ({"schema": 2, "node": "x"}, r"schema of a plan must be 1, got 2 \(a newer dpacct"),
        ({"schema": "1", "node": "x"}, "schema of a plan must be 1, got '1'$"),
        ({"schema": True, "node": "x"}, "schema of a plan must be 1, got True"),
        ({"schema": None}, "schema of a plan must be 1, got None"),
        ({"schema": 1}, "must have the key 'node'"),
        ({"schema": 1, "node": 7}, "node must be one of .*, got 7"),
        ({"schema": 1, "node": ["gaussian"]}, "node must be one of .*, got"),
        ({"schema": 1, "node": "gausian"}, r"got 'gausian' \(did you mean 'gaussian'\?\)"),
        ({"schema": 1, "node": "gaussian"}, "sigma .* or noise_multiplier"),
        ({"schema": 1, "node": "gaussian", "sigma": 1, "b": 2}, "gaussian node has no key 'b'"),
        ({"schema": 1, "node": "gaussian", "sigma": None}, "sigma .* or noise_multiplier"),
        ({"schema": 1, "node": "laplace"}, "b .* or noise_multiplier"),
        ({"schema": 1, "node": "laplace", "b": None}, "b .* or noise_multiplier"),
        ({"schema": 1, "node": "approx-dp", "epsilon": 1}, "must have the key 'delta'"),
        ({"schema": 1, "node": "repeat", "steps": 2}, "must have the key 'of'"),
        ({"schema": 1, "node": "repeat", "of": SAVED["of"]}, "must have the key 'steps'"),
        ({**SAVED, "steps": 2.0}, "steps must be a whole number"),
        ({**SAVED, "steps": True}, "steps must be a whole number"),
        ({**SAVED, "of": 3}, "a node of a plan must be an object with the key 'node', got 3"),
        ({"schema": 1, "node": "compose", "parts": []}, "parts of a compose node must be a list"),
        ({"schema": 1, "node": "compose", "parts": {}}, "parts of a compose node must be a list"),
        ({"schema": 1, "node": "under", "adjacency": "x", "of": SAVED["of"]}, "adjacency must be"),
        ({"schema": 1, "node": "under", "unit": 3, "of": SAVED["of"]}, "unit must be"),
    ],
)
def test_garbage_is_refused_in_one_sentence(data: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as caught:
        from_dict(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a plan must be JSON text"),
        ("{", "a plan must be JSON text"),
        ("not json", "a plan must be JSON text"),
        ("[" * 100_000, "a plan must be JSON text"),
        (b"\xff\xfe\x00", "a plan must be JSON text"),
        (None, "a plan must be JSON text"),
        ('{"schema": 1, "schema": 1, "node": "gaussian"}', "given once, got 'schema' twice"),
        ('{"schema": 1, "node": "gaussian", "sigma": NaN}', "sigma must be a number"),
        ('{"schema": 1, "node": "gaussian", "sigma": Infinity}', "sigma must be a number"),
        ('{"schema": 1, "node": "gaussian", "sigma": 1e999999999}', "sigma must be a number"),
    ],
)
def test_text_that_is_no_plan(text: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        from_json(text)


def test_a_plan_nested_without_end_is_refused() -> None:
    data: Any = SAVED["of"]
    for _ in range(5_000):
        data = {"node": "repeat", "steps": 1, "of": data}
    with pytest.raises(InvalidArgument, match="levels deep"):
        from_dict({"schema": 1, **data})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(["schema", "node", "steps", "of", "rate", "sigma"]), json_values)
def test_a_plan_with_any_one_value_replaced_is_read_or_refused(key: str, value: Any) -> None:
    def replaced(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        return {k: value if k == key else replaced(v) for k, v in node.items()}

    try:
        plan = from_dict(replaced(SAVED))
    except InvalidArgument as refused:
        assert "\n" not in str(refused)
    else:
        assert from_dict(plan.to_dict()) == plan
