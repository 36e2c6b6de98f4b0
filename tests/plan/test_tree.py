"""The tree: building, equality laws, multisets of releases, adjacency."""

import copy
import json
import pickle
import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import DpacctError, InvalidArgument
from dpacct.mechanisms.gaussian import Gaussian, GaussianStatistic
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.opaque import ZCDP, ApproxDP, PureDP
from dpacct.plan.combine import Compose, Repeat, composed, repeated
from dpacct.plan.node import MAX_DEPTH, Node, from_dict, from_json, resolve_adjacency
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.vocabulary import Adjacency, Unit
from tests.laws.catalogue import COMPOSITES
from tests.plans import plans
from tests.work import calls

A, B, C = Gaussian(sigma=1), Laplace(b=2), PureDP(epsilon="0.1")
STEP = Poisson(0.01)(Gaussian(sigma=1.1))
# What the printed form of a plan is made of.
NAMES = {
    kind.__name__: kind
    for kind in (Gaussian, GaussianStatistic, Laplace, PureDP, ApproxDP, ZCDP, Poisson)
} | {"WithoutReplacement": WithoutReplacement}
few = st.integers(1, 1000)


def counts(plan: Node) -> dict[Any, int]:
    return dict(plan.releases())


# --- laws


@given(plans())
def test_the_printed_form_is_the_plan(plan: Node) -> None:
    assert eval(repr(plan), NAMES) == plan


@given(plans())
def test_copies_are_equal_and_hash_alike(plan: Node) -> None:
    for again in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan), eval(repr(plan), NAMES)):
        assert again == plan
        assert hash(again) == hash(plan)
        assert again.releases() == plan.releases()


@given(plans(), plans())
def test_composition_commutes(a: Node, b: Node) -> None:
    assert (a + b).equivalent(b + a)


@given(plans(), plans(), plans())
def test_composition_associates(a: Node, b: Node, c: Node) -> None:
    assert ((a + b) + c).equivalent(a + (b + c))
    assert sum([a, b, c]).equivalent(composed(a, b, c))  # type: ignore[arg-type]


@given(plans(), st.integers(1, 12))
def test_n_copies_are_a_repetition(plan: Node, n: int) -> None:
    assert composed(*[plan] * n).equivalent(plan * n)
    assert (plan * n).equivalent(n * plan)


@given(plans(), few, few)
def test_repetitions_multiply(plan: Node, n: int, m: int) -> None:
    assert (plan * n) * m == plan * (n * m) == m * (n * plan)


@given(plans(), plans(), few)
def test_repetition_distributes(a: Node, b: Node, n: int) -> None:
    assert ((a + b) * n).equivalent(a * n + b * n)


@given(plans(), few, few)
def test_repetitions_add(plan: Node, n: int, m: int) -> None:
    assert (plan * n + plan * m).equivalent(plan * (n + m))


@given(plans())
def test_releases_are_distinct_leaves_that_release_themselves(plan: Node) -> None:
    result = plan.releases()
    assert len(counts(plan)) == len(result)
    assert sum(counts(plan).values()) == plan.facts.total
    for leaf, count in result:
        assert count >= 1
        assert leaf.releases() == ((leaf, 1),)
        assert leaf.facts.total == 1


@given(plans())
def test_plans_cite_and_assume_without_repeating_themselves(plan: Node) -> None:
    assumed = plan.assumptions(resolve_adjacency(plan))
    assert assumed and len(set(assumed)) == len(assumed)
    assert plan.citations() and len(set(plan.citations())) == len(plan.citations())


# --- canonical forms


def test_once_is_the_plan_itself() -> None:
    assert A * 1 is A
    assert composed(A) is A


def test_equal_neighbours_merge() -> None:
    assert A + A == A * 2
    assert A * 2 + A + A * 3 == A * 6
    assert (A + B) + B * 2 == A + B * 3
    assert repr(A + B + B + C) == "Gaussian(sigma=1) + Laplace(b=2) * 2 + PureDP(epsilon=0.1)"
    assert (A + B) + (A + B) == (A + B) * 2
    assert B + (B + A) == B * 2 + A
    assert (A + B + A) != (A * 2 + B)
    assert (A + B + A).equivalent(A * 2 + B)


def test_brackets_are_printed_where_needed() -> None:
    plan = (A + B * 2) * 3 + Poisson("1/3")(A * 5) * 2
    assert repr(plan) == (
        "(Gaussian(sigma=1) + Laplace(b=2) * 2) * 3 + Poisson('1/3')(Gaussian(sigma=1) * 5) * 2"
    )
    assert repr((A + B).under("replace-one", unit="client") * 2) == (
        "(Gaussian(sigma=1) + Laplace(b=2)).under('replace-one', unit='client') * 2"
    )


def test_the_two_sided_multiset_of_a_nested_plan() -> None:
    plan = 5 * (2 * (A + 3 * B) + C) + A
    assert plan.releases() == ((A, 11), (B, 30), (C, 5))


# --- speed and size


def test_long_loops_are_cheap() -> None:
    """Work grows with the number of rounds, and not with its square."""

    def alike(rounds: int) -> None:
        plan: Node = STEP
        for _ in range(rounds):
            plan = plan + STEP
        assert plan == STEP * (rounds + 1)

    def mixed(rounds: int) -> None:
        plan: Node = A
        for step in range(rounds):
            plan = plan + (B if step % 2 else STEP)
        assert counts(plan) == {A: 1, B: rounds // 2, STEP: rounds // 2}

    for loop in (alike, mixed):
        assert calls(lambda loop=loop: loop(4000)) < 2.2 * calls(lambda loop=loop: loop(2000))


def test_doubling_is_cheap() -> None:
    plan: Node = A + B
    for _ in range(48):
        plan = plan + plan
    assert counts(plan) == {A: 2**48, B: 2**48}


def test_as_deep_as_counts_allow() -> None:
    plan: Node = A + B
    for _ in range(45):
        plan = (plan + A) * 2 + B
    assert plan == eval(repr(plan), NAMES)
    assert hash(plan) == hash(copy.deepcopy(plan))
    assert counts(plan)[B] == 2**46 - 1


def test_ten_to_the_fifteen_steps_and_no_more() -> None:
    assert counts(STEP * 10**15) == {STEP: 10**15}
    limit = r"steps must be a whole number from 1 to 1e15, got "
    for build in (
        lambda: STEP * 10**15 * 2,
        lambda: STEP * 10**15 + A,
        lambda: (A + B * 10**10) * 10**6,
        lambda: STEP * (10**15 + 1),
    ):
        with pytest.raises(InvalidArgument, match=limit):
            build()


def test_a_sample_held_over_many_steps_is_one_release() -> None:
    plan = Poisson(0.5)(A * 10**15) * 10**15
    assert plan.facts.total == 10**15


def test_nesting_beyond_reason_is_refused() -> None:
    plan: Node = A
    with pytest.raises(InvalidArgument, match=f"at most {MAX_DEPTH} levels deep"):
        for _ in range(10_000):
            plan = Poisson(0.5)(plan + B)
    assert plan.facts.depth <= MAX_DEPTH
    assert plan == eval(repr(plan), NAMES)


# --- refusals


@pytest.mark.parametrize(
    "steps", [0, -1, 2.5, 2.0, True, None, "many", float("nan"), 10**16, np.float64(3), A, [2]]
)
def test_counts_that_are_none(steps: Any) -> None:
    for build in (lambda: STEP * steps, lambda: repeated(STEP, steps)):
        with pytest.raises(InvalidArgument, match=r"^steps must be a whole number from") as caught:
            build()
        assert caught.value.argument == "steps"


def test_numpy_integers_count() -> None:
    for three in (np.int64(3), np.uint8(3)):
        assert STEP * three == STEP * 3 == three * STEP


@pytest.mark.parametrize("other", [1, "plan", None, 0.5])
def test_only_plans_compose(other: Any) -> None:
    with pytest.raises(TypeError):
        STEP + other
    with pytest.raises(TypeError):
        other + STEP


def test_plans_cannot_be_changed() -> None:
    for plan in (STEP * 2, STEP + A, STEP.under("zero-out"), STEP, Poisson(0.5)(A * 2)):
        for name in ("node", "steps", "parts", "facts", "novel"):
            with pytest.raises(AttributeError):
                setattr(plan, name, A)


def test_raw_nodes_are_checked_too() -> None:
    with pytest.raises(InvalidArgument, match="steps must be"):
        Repeat(A, 0)
    assert isinstance(A + B, Compose)


# --- adjacency and unit


def test_the_adjacency_of_a_question() -> None:
    fixed = WithoutReplacement(0.1)(A) * 5
    assert resolve_adjacency(STEP) is Adjacency.ADD_REMOVE
    assert resolve_adjacency(STEP, "zero_out") is Adjacency.ZERO_OUT
    assert resolve_adjacency(STEP.under("replace-one")) is Adjacency.REPLACE_ONE
    assert resolve_adjacency(fixed) is Adjacency.REPLACE_ONE
    assert resolve_adjacency(fixed + STEP) is Adjacency.REPLACE_ONE
    assert resolve_adjacency(fixed, Adjacency.REPLACE_ONE) is Adjacency.REPLACE_ONE
    assert fixed.fixed_adjacency is Adjacency.REPLACE_ONE
    assert STEP.under("replace-one").fixed_adjacency is None
    # A rate of 1 samples everything, and its size is still public: no jump as the rate goes to 1.
    assert resolve_adjacency(WithoutReplacement(1)(A)) is Adjacency.REPLACE_ONE


@given(plans(), st.sampled_from(Adjacency))
def test_a_clash_is_found_wherever_it_is_declared(plan: Node, adjacency: Adjacency) -> None:
    stated = plan.facts.declared or plan.facts.fixed
    if stated in (None, adjacency):
        declared = plan.under(adjacency)
        assert resolve_adjacency(declared) is resolve_adjacency(plan, adjacency) is adjacency
        assert declared.releases() == plan.releases()
        assert declared.under(str(adjacency)) is declared
    else:
        with pytest.raises(InvalidArgument, match="adjacency must be"):
            plan.under(adjacency)
        with pytest.raises(InvalidArgument, match="adjacency must be"):
            resolve_adjacency(plan, adjacency)


def test_parts_must_agree() -> None:
    for build in (
        lambda: STEP.under("add-remove") + A.under("replace-one"),
        lambda: WithoutReplacement(0.1)(A) + STEP.under("add-remove"),
        lambda: WithoutReplacement(0.1)(A.under("zero-out")),
        lambda: STEP.under(unit="client") + A.under(unit="record"),
        lambda: STEP.under("sideways"),
        lambda: STEP.under(unit="person"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            build()
        assert caught.value.argument in ("adjacency", "unit")
        assert "\n" not in str(caught.value)


def test_the_unit_is_a_record_unless_declared() -> None:
    assert STEP.unit is Unit.RECORD
    assert (STEP.under(unit="client") * 3 + A).unit is Unit.CLIENT
    assert STEP.under("add-remove", unit="user").under(unit="user").unit is Unit.USER
    assert STEP.under() is STEP
    assert STEP.under("replace-one").unit is Unit.RECORD
    assert STEP.under("replace-one").under(unit="client").facts.declared is Adjacency.REPLACE_ONE


# --- many random operations against a plain counter


@given(st.integers(0, 2**32))
def test_against_counting_by_hand(seed: int) -> None:
    rng = random.Random(seed)
    pool: list[tuple[Node, dict[Any, int]]] = [(leaf, {leaf: 1}) for leaf in (A, B, C, STEP)]
    for _ in range(30):
        (left, first), (right, second) = rng.choice(pool), rng.choice(pool)
        n = rng.randint(1, 9)
        try:
            plan = left * n + right
        except DpacctError:
            assert sum(first.values()) * n + sum(second.values()) > 10**15
            continue
        by_hand = {leaf: first.get(leaf, 0) * n + second.get(leaf, 0) for leaf in first | second}
        assert counts(plan) == by_hand
        pool.append((plan, by_hand))


def test_rates_and_scales_stay_exact() -> None:
    ((leaf, count),) = (Poisson("1/3")(Poisson(0.3)(Gaussian(sigma="0.1"))) * 7).releases()
    assert leaf == Poisson(Fraction(1, 10))(Gaussian(sigma=0.1))
    assert count == 7


# --- Plans as JSON: they come back equal, and anything else is refused with a sentence.


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
        ({"schema": 1, "node": "gausian"}, r"got 'gausian'; did you mean gaussian\?"),
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


READ_ALONE = """
import sys
from dpacct.plan.node import from_json
for line in sys.stdin:
    assert from_json(line).to_json() == line.strip(), line
"""


def test_a_process_that_imported_nothing_else_reads_every_kind_of_plan() -> None:
    """Reading a saved plan brings the files that define its nodes."""
    plans = [Poisson("0.1")(Gaussian(sigma=2)) * 3 + Laplace(b=1), *COMPOSITES.values()]
    text = "\n".join(plan.to_json() for plan in plans)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALONE], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
