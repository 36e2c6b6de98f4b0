"""All that has an epsilon keeps the laws of plans, and does what a plan does.

Votes, shuffles, rounds, nested samples, what builds a plan or stands in one: all plans of the catalogue that
are no single mechanism on a sample. A verb that such a plan has not is refused with a sentence.
"""

import functools
import math
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.plan.node import Node, resolve_adjacency
from tests.cli.runner import run
from tests.laws.catalogue import COMPOSITES

DELTA = 1e-5
LONG_CURVES = ("bins",)
"""Whose report takes half a minute: whether its curves are quick is asked at points that are not."""
each = pytest.mark.parametrize("name", COMPOSITES)


@functools.cache
def exact(name: str, times: int = 1) -> dp.Answer:
    """Epsilon of so many repetitions by the fast method, for all laws at once."""
    return (COMPOSITES[name] * times).epsilon(DELTA, method="exact")


@each
def test_it_composes(name: str) -> None:
    """More releases cost more, and no more than as much again; equal neighbours merge."""
    node = COMPOSITES[name]
    once, twice = float(exact(name)), float(exact(name, 2))
    assert 0.0 < once < twice
    assert node + node == node * 2 and (node + node).releases() == (node * 2).releases()
    halves = float(node.epsilon(DELTA / 2, method="exact"))
    assert twice <= 2.0 * halves * (1.0 + 1e-9)
    other = dp.Gaussian(sigma=4).under(resolve_adjacency(node), unit=node.unit)
    both = node + other
    assert both.facts.total == node.facts.total + 1
    mixed = float(both.epsilon(DELTA, method="exact"))
    assert max(once, float(other.epsilon(DELTA, method="exact"))) < mixed


@each
def test_epsilon_and_delta_invert_each_other(name: str) -> None:
    plan, answer = COMPOSITES[name] * 2, exact(name, 2)
    assert answer.lower is not None and answer.upper is not None
    assert plan.delta(answer.upper * (1 + 1e-9), method="exact").lower <= DELTA * (1 + 1e-6)
    assert plan.delta(answer.lower * (1 - 1e-9), method="exact").upper >= DELTA * (1 - 1e-6)


@each
def test_its_renyi_divergence_bounds_it(name: str) -> None:
    plan = COMPOSITES[name] * 2
    orders = [1.5, 4.0, 16.0]
    moments = [float(plan.rdp(order)) for order in orders]
    assert moments == sorted(moments) and moments[0] > 0.0
    rdp = plan.epsilon(DELTA, method="rdp")
    assert float(exact(name, 2).lower or 0.0) <= float(rdp)
    # Canonne, Kamath, Steinke 2020, Proposition 12, at an order of no importance
    by_hand = moments[1] + math.log1p(-1 / 4.0) - (math.log(DELTA) + math.log(4.0)) / 3.0
    assert float(rdp) <= by_hand * (1 + 1e-9)


@each
def test_adaptive_use_counts_it(name: str) -> None:
    """A filter takes it like any release."""
    node = COMPOSITES[name]
    adjacency, unit = resolve_adjacency(node), node.unit
    budget = dp.Filter(epsilon=50, delta=DELTA, adjacency=adjacency, unit=unit)
    for _ in range(2):
        budget.spend(node)
    assert 0.0 < budget.spent() < 1.0


@each
def test_a_group_of_two_loses_more(name: str) -> None:
    node = COMPOSITES[name]
    pair = dp.Group(node, size=2)
    assert float(pair.epsilon(delta=DELTA)) > float(exact(name))
    assert dp.Group(node, size=1).releases() == node.releases()


UNSAMPLED = {
    "given votes": "its votes are fixed",
    "given votes, screened": "its votes are fixed",
    "given votes of neighbours": "its votes are fixed",
    "given votes, Laplace": "its votes are fixed",
    "a group": "form the group of the sampled plan",
    "a group, Gaussian": "form the group of the sampled plan",
}
"""What is in no sample, and a part of the sentence that says why."""


@each
def test_it_is_saved_as_json_and_toml(name: str, tmp_path: Path) -> None:
    node = COMPOSITES[name]
    again = dp.from_json(node.to_json())
    assert again == node and hash(again) == hash(node) and repr(again) == repr(node)
    if "Votes(" not in repr(node):  # whose print says how many
        assert eval(repr(node), vars(dp)) == node
    assert dp.from_json((node * 3).to_json()) == node * 3
    (tmp_path / "plan.toml").write_text(node.to_toml(), encoding="utf-8")
    (tmp_path / "plan.json").write_text(node.to_json(), encoding="utf-8")
    bodies = [
        run("compose", str(tmp_path / file), "--delta", "1e-5", "--method", "exact", "--json").json
        for file in ("plan.toml", "plan.json")
    ]
    for body in bodies:
        assert dp.from_dict(body["plan"]) == node
    assert bodies[0]["upper"] == bodies[1]["upper"]


@each
def test_it_runs_on_a_sample(name: str) -> None:
    """By the coin of a round, at least, which amplifies; or a sentence says why there is none."""
    node = COMPOSITES[name]
    sampled = (dp.Participation, dp.Poisson, dp.WithoutReplacement)
    reasons = []
    for sampler in sampled:
        try:
            plan = sampler("0.5")(node)
            answer = plan.epsilon(DELTA, method="exact")
        except dp.DpacctError as refusal:
            reasons.append(str(refusal))
            continue
        assert 0.0 < float(answer) <= float(exact(name)) * (1 + 1e-6)
        return
    assert name in UNSAMPLED and UNSAMPLED[name] in reasons[0], reasons


@each
def test_it_calibrates(name: str) -> None:
    """The Gaussian noise that may stand beside it."""
    node = COMPOSITES[name]
    adjacency, once = resolve_adjacency(node), float(exact(name))

    def beside(sigma: float) -> Node:
        return node + dp.Gaussian(sigma=sigma).under(adjacency, unit=node.unit)

    bound = float(node.epsilon(DELTA, method="rdp"))
    least = float(dp.calibrate(beside, epsilon=1.5 * bound, delta=DELTA, method="rdp"))
    assert once < float(beside(least).epsilon(DELTA, method="exact")) <= 1.5 * bound


@pytest.mark.parametrize("name", [name for name in COMPOSITES if name not in LONG_CURVES])
def test_it_is_reported(name: str, tmp_path: Path) -> None:
    node = COMPOSITES[name]
    path = tmp_path / "plan.toml"
    path.write_text(node.to_toml(), encoding="utf-8")
    unit = ("--unit", node.unit or "record") if node.facts.unit is None else ()
    asked = ("--delta", "1e-5", "--adjacency", str(resolve_adjacency(node)))
    done = run("report", str(path), *map(str, unit), *asked, "--format", "json")
    assert done.code == 0, done.stderr
    assert dp.from_dict(done.json["plan"]).releases() == node.releases()


@each
def test_it_is_proved_where_it_can_be(name: str) -> None:
    node = COMPOSITES[name]
    try:
        answer = node.epsilon(DELTA, method="certified")
    except (dp.NotCertified, dp.Unsupported) as refusal:
        assert len(str(refusal)) > 20
        return
    assert answer.strength is dp.Strength.PROVED
    computed = exact(name)
    assert answer.lower is not None and computed.upper is not None
    assert answer.lower <= computed.upper * (1 + 1e-9)


@each
def test_it_answers_in_json(name: str, tmp_path: Path) -> None:
    node = COMPOSITES[name]
    path = tmp_path / "plan.toml"
    path.write_text(node.to_toml(), encoding="utf-8")
    for words in (("--delta", "1e-5"), ("--eps", "0.5")):
        body = run("compose", str(path), *words, "--method", "exact", "--json").json
        assert body["schema"] == 1 and body["upper"] >= body["value"] >= 0.0
