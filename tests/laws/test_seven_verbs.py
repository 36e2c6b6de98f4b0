"""All that has an epsilon composes, is saved, sampled, calibrated, reported, proved and asked in JSON.

One test a verb, over all plans of the catalogue that are no single mechanism on a sample. A plan that cannot
be sampled, calibrated or proved says so in a sentence.
"""

from __future__ import annotations

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
def test_it_composes(name: str) -> None:
    node = COMPOSITES[name]
    other = dp.Gaussian(sigma=4).under(resolve_adjacency(node), unit=node.unit)
    both = node + other * 2
    assert both.facts.total == node.facts.total + 2
    assert float(both.epsilon(DELTA, method="exact")) > float(node.epsilon(DELTA, method="exact"))


@each
def test_it_is_saved_as_json_and_toml(name: str, tmp_path: Path) -> None:
    node = COMPOSITES[name]
    assert dp.from_json(node.to_json()) == node
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
        assert 0.0 < float(answer) <= float(node.epsilon(DELTA, method="exact")) * (1 + 1e-6)
        return
    assert name in UNSAMPLED and UNSAMPLED[name] in reasons[0], reasons


@each
def test_it_calibrates(name: str) -> None:
    """The Gaussian noise that may stand beside it."""
    node = COMPOSITES[name]
    adjacency, once = resolve_adjacency(node), float(node.epsilon(DELTA, method="exact"))

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
    exact = node.epsilon(DELTA, method="exact")
    assert answer.lower is not None and exact.upper is not None
    assert answer.lower <= exact.upper * (1 + 1e-9)


@each
def test_it_answers_in_json(name: str, tmp_path: Path) -> None:
    node = COMPOSITES[name]
    path = tmp_path / "plan.toml"
    path.write_text(node.to_toml(), encoding="utf-8")
    for words in (("--delta", "1e-5"), ("--eps", "0.5")):
        body = run("compose", str(path), *words, "--method", "exact", "--json").json
        assert body["schema"] == 1 and body["upper"] >= body["value"] >= 0.0
