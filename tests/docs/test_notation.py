"""Every flag, JSON key and name of the notation table exists."""

from __future__ import annotations

import json
import re

import click
import pytest

import dpacct as dp
from dpacct.cli.root import Root
from tests.structure import console
from tests.structure.project import ROOT

PAGE = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| symbol", "| word", "|---"))
]
CODE = re.compile(r"`([^`]+)`")


def test_every_flag_is_an_option() -> None:
    root = Root("dpacct")
    above = click.Context(root)
    commands = [root.get_command(above, name) for name in root.list_commands(above)]
    options = {opt for command in commands if command for p in command.params for opt in p.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", PAGE))
    assert len(named) > 15
    assert not named - options


def test_every_key_of_a_plan_is_saved_under_that_name() -> None:
    step = dp.Gaussian(noise_multiplier=1, clip=2)
    plans = [
        dp.Poisson("0.1")(step) * 3,
        dp.Gaussian(sigma=1),
        dp.Laplace(b=1),
        dp.Staircase(eps0=1, nu="0.3"),
        dp.RandomizedResponse(eps0=1, k=3),
        dp.ZCDP(rho=1),
        dp.Shuffle(eps0=1, clients=100),
    ]
    saved = set(re.findall(r'"(\w+)":', " ".join(plan.to_json() for plan in plans)))
    named = set(re.findall(r"`plan\.(\w+)`", PAGE))
    assert {"sigma", "rate", "steps", "rho"} <= named
    assert not named - saved


@pytest.mark.parametrize("kind", ["profile", "tradeoff", "rdp"])
def test_columns_of_curves(kind: str) -> None:
    (row,) = (r for r in ROWS if f"curve --kind {kind}" in r[2])
    column = CODE.findall(row[3])[0].removeprefix("columns.")
    document = json.loads(console.run(f"dpacct curve --sigma 1 --kind {kind} --json"))
    assert column in document["columns"]


def test_keys_and_attributes_of_an_answer() -> None:
    answer = dp.Gaussian(sigma=1).epsilon(delta="1e-5")
    words = [r for r in ROWS if r[1].startswith(("`.", "`float"))]
    assert len(words) >= 5
    for _, code, keys, _ in words:
        names = [name for name in CODE.findall(code) if name.startswith(".")]
        assert all(hasattr(answer, name[1:]) for name in names)
        results = [key for key in CODE.findall(keys) if not key.startswith("-")]
        assert set(results) <= set(answer.to_dict())


def test_constructors_and_calls() -> None:
    """Each name with a bracket is a public name, or a method of a plan or a trade-off function."""
    column = [name for r in ROWS for name in CODE.findall(r[1]) if "(" in name]
    heads = {name.partition("(")[0] for name in column}
    for head in heads - {"float"}:
        of, _, method = head.rpartition(".")
        owner = dp.TradeOff if of == "f" else dp.Node
        assert hasattr(dp, head) or hasattr(owner, method or head), head
