"""`dpacct curve`: the kinds that came with the pictures, and what it refuses."""

import csv
import io

import pytest

from dpacct.cli.commands.curve import KINDS
from tests.cli.runner import line
from tests.report.plots.charts import STEP

PLAN = "--sigma 1.1 --rate 0.01 --steps 1000"


def table(text: str) -> dict[str, list[str]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_steps() -> None:
    result = table(line("curve --sigma 1.1 --rate 0.01 --kind steps --to 1000 --points 4").stdout)
    assert list(result) == ["steps", "epsilon_exact", "epsilon_rdp", "epsilon_clt"]
    assert result["steps"] == ["1.0", "10.0", "100.0", "1000.0"]
    answer = (STEP * 1000).epsilon(delta="1e-5", method="exact")
    assert float(result["epsilon_exact"][-1]) == float(answer)


def test_steps_end_at_ten_times_the_plan() -> None:
    result = table(line(f"curve {PLAN} --kind steps --points 2 --method rdp").stdout)
    assert result["steps"] == ["1.0", "1000.0", "10000.0"] and list(result) == [
        "steps",
        "epsilon_rdp",
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ["replace-one"])
def test_other_adjacencies_are_said(kind: str, adjacency: str) -> None:
    words = f"curve --sigma 2 --kind {kind} --points 2 --adjacency {adjacency} --json"
    assert line(words).json["adjacency"] == adjacency


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--kind steps --from 0.5", "must each be a number from 1 to 1e15"),
        ("--kind tradeoff --method rdp", "--method belongs to"),
        ("--kind steps --method balle_wang.theorem8", ""),
        ("--kind stepz", "did you mean steps"),
        ("--delta 2", "--delta must be"),
    ],
)
def test_refusals(words: str, says: str) -> None:
    failed = line(f"curve {PLAN} {words}")
    assert failed.code in (2, 3) and failed.stdout == ""
    assert says in failed.stderr and failed.stderr.count("\n") == 1
    assert failed.stderr.startswith("error: ")


def test_json_or_csv() -> None:
    failed = line(f"curve {PLAN} --json --csv")
    assert failed.code == 2 and "give one of" in failed.json["error"]["message"]
