"""Laws of a shuffle's answers, and the published numbers they meet or improve."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpacct as dp
from tests.cli.runner import line, run
from tests.work import calls, memory

EPS0 = st.floats(0.02, 8.0)
CLIENTS = st.integers(1, 10**6)
DELTAS = st.floats(1e-12, 0.1)
SOME = settings(max_examples=12)


def epsilon(delta: float, **shuffle: Any) -> dp.Answer:
    return dp.Shuffle(**shuffle).epsilon(delta=delta)


def test_published_values_are_met_or_improved() -> None:
    """apple/ml-shuffling-amplification, n 1e5, eps0 4, delta 1e-6: 0.16754 to 0.17279, closed form 0.5378."""
    shuffle = dp.Shuffle(eps0=4, clients=10**5)
    by = {answer.method: float(answer) for answer in shuffle.compare(delta=1e-6)}
    assert 0.16754 <= by["feldman2020.clones"] <= 0.17279
    assert by["feldman2020.theorem3_1"] <= 0.5378
    best = shuffle.epsilon(delta=1e-6)
    assert best.method == "feldman2022.clones" and float(best) < 0.16754
    assert best.lower is not None and 0.117 < best.lower < float(best) < 0.1182
    assert best.unit is dp.Unit.CLIENT and best.adjacency is dp.Adjacency.REPLACE_ONE


def test_a_published_numerical_bound_with_a_fine_step() -> None:
    """The same program, n 1000, eps0 3, step 1 (ecosystem.md 2.11): 1.1138; with step 50 2.99998."""
    by = {a.method: float(a) for a in dp.Shuffle(eps0=3, clients=1000).compare(delta=1e-6)}
    assert by["feldman2022.clones"] < 1.1138


@SOME
@given(eps0=EPS0, clients=CLIENTS, delta=DELTAS, k=st.sampled_from([None, 2, 3, 17]))
def test_ends_are_in_order(eps0: float, clients: int, delta: float, k: int | None) -> None:
    answer = epsilon(delta, eps0=eps0, clients=clients, k=k)
    assert answer.lower is not None and answer.upper is not None
    assert 0.0 <= answer.lower <= answer.value == answer.upper <= eps0
    assert answer.strength is dp.Strength.BOUND and answer.side is dp.Side.TWO_SIDED
    # delta at that epsilon is at most what was asked
    if answer.upper > 0.0:
        back = dp.Shuffle(eps0=eps0, clients=clients, k=k).delta(epsilon=answer.upper)
        assert back.value <= delta * (1 + 1e-6)


@SOME
@given(eps0=EPS0, clients=st.integers(1, 10**5), delta=DELTAS, factor=st.floats(1.0, 20.0))
def test_monotone(eps0: float, clients: int, delta: float, factor: float) -> None:
    spent = epsilon(delta, eps0=eps0, clients=clients).value
    slack = 1.0 + 1e-4
    assert epsilon(delta, eps0=eps0, clients=math.ceil(clients * factor)).value <= spent * slack
    assert epsilon(min(0.5, delta * factor), eps0=eps0, clients=clients).value <= spent * slack
    assert epsilon(delta, eps0=eps0 / factor, clients=clients).value <= spent * slack
    assert epsilon(delta, eps0=eps0, clients=clients, k=9).value <= spent * slack


@settings(max_examples=5)
@given(eps0=st.floats(0.1, 5.0), clients=st.integers(2, 10**5), rate=st.floats(0.02, 0.9))
def test_taking_part_by_chance_tells_less(eps0: float, clients: int, rate: float) -> None:
    all_in = epsilon(1e-6, eps0=eps0, clients=clients).value
    some = epsilon(1e-6, eps0=eps0, clients=clients, rate=rate)
    assert some.value <= all_in * (1 + 3e-3)
    assert some.lower is not None and some.lower <= some.value


@settings(max_examples=3)
@given(eps0=st.floats(0.5, 3.0), clients=st.integers(500, 10**5), rounds=st.integers(2, 40))
def test_rounds(eps0: float, clients: int, rounds: int) -> None:
    shuffle = dp.Shuffle(eps0=eps0, clients=clients)
    plan = shuffle * rounds
    answer = plan.epsilon(delta=1e-6)
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= answer.value <= answer.upper
    assert shuffle.epsilon(delta=1e-6).value <= answer.upper * (1 + 1e-4)
    assert answer.upper <= float(plan.epsilon(delta=1e-6, method="rdp")) * (1 + 1e-6)
    assert answer.upper <= rounds * eps0 * (1 + 1e-4)
    assert (shuffle * (rounds - 1) + shuffle).equivalent(plan)


def test_rounds_commute() -> None:
    first, second = dp.Shuffle(eps0=2, clients=1000), dp.Shuffle(eps0=1, clients=300)
    there = (first * 2 + second).epsilon(delta=1e-5)
    back = (second + first * 2).epsilon(delta=1e-5)
    assert there.upper == pytest.approx(back.upper, rel=1e-4)


@pytest.mark.parametrize("shuffle", [{"eps0": 6, "clients": 3}, {"eps0": 0.5, "clients": 1}])
def test_where_nothing_helps_eps0_is_left(shuffle: dict[str, Any]) -> None:
    answer = dp.Shuffle(**shuffle).epsilon(delta=1e-9)
    assert shuffle["eps0"] * (1 - 1e-3) < answer.value <= shuffle["eps0"]
    closed = dp.Shuffle(**shuffle).epsilon(delta=1e-9, method="feldman2022.closed")
    assert closed.value <= shuffle["eps0"]
    assert any("not counted on" in line for line in closed.basis)


def test_past_eps0_nothing_is_left() -> None:
    for k in (None, 2):
        assert dp.Shuffle(eps0=1, clients=10, k=k).delta(epsilon=1).value == 0.0


@pytest.mark.parametrize("eps0", [1, 4])
def test_a_billion_clients_are_hardly_more_work(eps0: float) -> None:
    few, many = (dp.Shuffle(eps0=eps0, clients=n, k=None) for n in (10**4, 10**9))
    assert calls(lambda: many.epsilon(delta=1e-9)) < 3 * calls(lambda: few.epsilon(delta=1e-9))
    assert memory(lambda: many.epsilon(delta="1.1e-9")) < 2e8  # bytes
    answer = many.epsilon(delta=1e-9)
    assert answer.lower is not None and answer.value < 1.15 * answer.lower


def test_the_largest_eps0_meets_the_target() -> None:
    result = run("shuffle", "--clients", "10000", "--eps", "1", "--delta", "1e-6", "--json").json[
        "lower"
    ]
    assert 5.46 < result < 5.48
    assert float(dp.Shuffle(eps0=result, clients=10**4).delta(epsilon=1)) <= 1e-6


def test_only_pure_randomisers() -> None:
    assert dp.Shuffle.of(dp.Laplace(b=2), clients=9) == dp.Shuffle(eps0="0.5", clients=9)
    assert dp.Shuffle.of(dp.RandomizedResponse(eps0=1, k=4), clients=9).k == 4
    assert dp.Shuffle.of(dp.PureDP(epsilon=1), clients=9) == dp.Shuffle(eps0=1, clients=9)
    for other in (dp.Gaussian(sigma=1), dp.ZCDP(rho=1), dp.ApproxDP(epsilon=1, delta=1e-6)):
        with pytest.raises(dp.OutsideDomain, match="purely eps0-DP"):
            dp.Shuffle.of(other, clients=9)
    with pytest.raises(dp.Unsupported, match="rate=q"):
        dp.Poisson(0.1)(dp.Shuffle(eps0=1, clients=9)).epsilon(delta=1e-6, method="exact")
    with pytest.raises(dp.InvalidArgument):
        dp.Shuffle(eps0=1, clients=9).epsilon(delta=1e-6, adjacency="add-remove")


def test_a_trade_off_curve_is_little_work() -> None:
    shuffle = dp.Shuffle(eps0=2, clients=1000)
    assert calls(lambda: shuffle.tradeoff([0.05, 0.5])) < 1_000_000
    errors = shuffle.tradeoff([0.05, 0.5])
    # no test does better than the total variation allows, but for the width of a curve
    assert np.all(errors >= 1.0 - np.array([0.05, 0.5]) - 1.002 * shuffle.delta(epsilon=0).value)
    assert np.all(errors <= 1.0 - np.array([0.05, 0.5]))


def test_many_epsilons_at_once() -> None:
    shuffle = dp.Shuffle(eps0=1, clients=1000)
    deltas = shuffle.profile(np.array([[0.0, 0.05], [0.1, 2.0]]))
    assert deltas.shape == (2, 2) and deltas[1, 1] == 0.0
    assert deltas[0, 0] > deltas[0, 1] > deltas[1, 0] > 0.0


# --- `dpacct shuffle`: answers, JSON, and nonsense.


BASE = ["shuffle", "--eps0", "4", "--clients", "100000"]


def test_json_is_an_answer_with_all_bounds() -> None:
    document = run(*BASE, "--delta", "1e-6", "--json").json
    assert document["command"] == "shuffle" and document["quantity"] == "epsilon"
    assert document["lower"] <= document["value"] == document["upper"] < 0.1182
    assert (document["side"], document["strength"]) == ("two-sided", "bound")
    assert (document["adjacency"], document["unit"]) == ("replace-one", "client")
    assert "Feldman, McMillan, Talwar 2022" in document["basis"][0]
    methods = {other["method"]: other["value"] for other in document["alternatives"]}
    assert {"feldman2020.clones", "feldman2022.closed", "feldman2020.theorem3_1", "rdp"} <= set(
        methods
    )
    assert min(methods.values()) >= document["value"]


def test_delta_at_an_epsilon() -> None:
    document = run(*BASE, "--eps", "0.2", "--json").json
    assert document["quantity"] == "delta" and 0 < document["lower"] <= document["value"] < 1e-6


def test_rounds_name_what_they_were_compared_with() -> None:
    document = run(*BASE, "--delta", "1e-6", "--rounds", "5", "--json").json
    assert document["method"] == "exact" and 0.118 < document["lower"] < document["upper"] < 1
    assert {"rdp", "local"} <= {other["method"] for other in document["alternatives"]}


def test_words() -> None:
    out = run(*BASE, "--delta", "1e-6", "--details").stdout
    assert (
        out.startswith("epsilon 0.1182    at delta 1e-6\n") and "\n  feldman2022.closed: <= " in out
    )
    assert "\nepsilon <= 0.118153165" in out and "at least 0.117\n" in out
    first = run(*BASE, "--delta", "1e-6").stdout
    assert out.startswith(first) and "the shuffler drops who sent what" in first
    sought = run("shuffle", "--clients", "10000", "--eps", "1", "--delta", "1e-6").stdout
    assert sought.startswith("eps0 5.469    for epsilon 1 at delta 1e-6\n")


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (["--clients", "10", "--eps0", "1"], 2, "--delta"),
        (["--clients", "10", "--delta", "1e-6"], 2, "--eps0"),
        (["--clients", "10", "--eps0", "1", "--eps", "1", "--delta", "1e-6"], 2, "--eps"),
        (["--clients", "10", "--eps0", "1", "--delta", "1e-6", "--k", "3"], 2, "--k"),
        (["--eps0", "1", "--delta", "1e-6"], 2, "--clients"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_nonsense(args: list[str], code: int, word: str, as_json: bool) -> None:
    ended = run("shuffle", *args, *(["--json"] if as_json else []))
    assert ended.code == code
    entry = json.loads(ended.stdout)["error"]["message"] if as_json else ended.stderr
    assert word in entry and "Traceback" not in entry


def test_what_no_lattice_spans_falls_back_to_the_messages_alone() -> None:
    document = line(
        "shuffle --eps0 500 --mechanism rr --clients 2 --delta 1e-14 --rounds 10 --json"
    ).json
    assert document["method"] == "local" and document["side"] in ("upper", "two-sided")
    assert 4999 < document["value"] < 5001
