"""`dpacct curve`: the kinds that came with the pictures, and what it refuses."""

import csv
import io

import pytest

import dpacct as dp
from dpacct.cli.commands.curve import KINDS
from tests.cli.runner import line
from tests.report.plots.charts import STEP

THEOREM_1 = "curve --rate 0.05 --steps 30 --sampling uniform --kind noise --delta 1000^-1.1"
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


def test_noise_by_a_paper_s_theorem() -> None:
    words = f"{THEOREM_1} --points 2 --from 6 --to 8"
    done = line(words + " --method exact --method dp_fed_ls.theorem1")
    result = table(done.stdout)
    assert done.code == 0, done.stderr
    asked = [float(cell) for cell in result["sigma_dp_fed_ls.theorem1"] if cell]
    assert asked and all(value > 0 for value in asked)
    for epsilon, sigma in zip((6, 8), result["sigma_exact"], strict=True):
        plan = dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=float(sigma))) * 30
        reached = float(plan.epsilon(delta=1000**-1.1, method="exact"))
        assert reached == pytest.approx(epsilon, rel=1e-6) and reached <= epsilon * (1 + 1e-12)


def test_laplace_noise_is_called_b() -> None:
    words = "curve --mechanism laplace --kind noise --points 2 --from 1 --to 2 --method exact"
    assert next(iter(table(line(words).stdout))) == "epsilon"
    assert "b_exact" in table(line(words).stdout)


def test_a_gap_in_a_line_is_said() -> None:
    """Theorem 1 has no noise for every epsilon: an empty cell and null, and a note."""
    words = f"{THEOREM_1} --from 1 --to 8 --points 3"
    words += " --method exact --method dp_fed_ls.theorem1"
    done = line(words)
    assert done.code == 0
    cells = table(done.stdout)["sigma_dp_fed_ls.theorem1"]
    assert cells[0] == "" and cells[-1] != ""
    assert "has no answer at" in done.stderr
    assert line(words + " --json").json["columns"]["sigma_dp_fed_ls.theorem1"][0] is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ["replace-one"])
def test_other_adjacencies_are_said(kind: str, adjacency: str) -> None:
    noise = "" if kind == "noise" else "--sigma 2"
    words = f"curve {noise} --kind {kind} --points 2 --adjacency {adjacency} --json"
    assert line(words).json["adjacency"] == adjacency


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--kind noise", "leave out --sigma"),
        ("--kind steps --from 0.5", "must each be a number from 1 to 1e15"),
        ("--kind profile --eps 2", "--eps belongs to --kind noise"),
        ("--kind tradeoff --method rdp", "--method belongs to"),
        ("--kind steps --method balle_wang.theorem8", ""),
        ("--kind nose", "did you mean noise"),
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
