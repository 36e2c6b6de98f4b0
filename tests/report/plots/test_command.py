"""`dpacct curve`: the kinds that came with the pictures, and what it refuses."""

import pytest

from dpacct.cli.commands.curve import KINDS
from tests.cli.runner import line

PLAN = "--sigma 1.1 --rate 0.01 --steps 1000"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ["replace-one"])
def test_other_adjacencies_are_said(kind: str, adjacency: str) -> None:
    words = f"curve --sigma 2 --kind {kind} --points 2 --adjacency {adjacency} --json"
    assert line(words).json["adjacency"] == adjacency


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--kind tradeoff --method rdp", "--method belongs to"),
        ("--kind profil", "did you mean profile"),
        ("--delta 2", "--delta must be"),
    ],
)
def test_refusals(words: str, says: str) -> None:
    failed = line(f"curve {PLAN} {words}")
    assert failed.code in (2, 3) and failed.stdout == ""
    assert says in failed.stderr and failed.stderr.count("\n") == 1
    assert failed.stderr.startswith("error: ")
