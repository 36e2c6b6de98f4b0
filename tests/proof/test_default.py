"""What is proved without being asked for, and what happens where a proof is withheld or too dear."""

import json

import pytest

import dpacct as dp
from dpacct.plan import certified
from dpacct.proof import effort
from dpacct.vocabulary import Strength
from tests.cli.runner import line

run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
ATOMS = dp.Poisson("0.08732")(dp.Laplace(b="3569")) * 11_300
DEAR = dp.Poisson("0.0003")(dp.Gaussian(sigma=2)) * 20_000


def test_python_proves_what_is_cheap() -> None:
    for answer in (run.epsilon(delta=1e-5), run.delta(epsilon=1.5)):
        assert answer.method == "certified"
        assert answer.strength is Strength.PROVED
        assert answer.lower is not None
        assert answer.upper is not None
        assert answer.upper - answer.lower <= 1e-11 * answer.upper
    assert run.epsilon(delta=1e-5, method="exact").strength is Strength.CONVERGED


@pytest.mark.parametrize(
    ("node", "delta"), [(ATOMS, "2.67e-25"), (DEAR, "1e-190")], ids=["withheld", "too dear"]
)
def test_python_falls_back_and_says_so(node: dp.Node, delta: str) -> None:
    answer = node.epsilon(delta, effort=0.2)
    assert answer.method == "exact"
    assert answer.notes[0].startswith("not proven: ")
    assert answer.strength < Strength.PROVED
    assert answer == node.epsilon(delta=delta, method="exact")


def test_a_proof_that_is_forced_may_take_longer() -> None:
    answer = DEAR.epsilon(delta="1.853e-192", method="certified")
    assert answer.strength is Strength.PROVED
    with pytest.raises(effort.TooCostly, match="would take more than"):
        certified.epsilon(DEAR, delta="1.853e-192", effort=0.2)


def test_what_a_proof_may_cost_is_the_caller_s_to_say() -> None:
    assert DEAR.epsilon("1e-190", effort=3).method == "certified"
    assert DEAR.epsilon("1e-190", effort="1/5").method == "exact"
    for bad in (-1, "nan", None, True, "much"):
        with pytest.raises(dp.InvalidArgument, match="effort must be a number of at least 0"):
            DEAR.epsilon("1e-190", effort=bad)


def test_a_calibration_is_proved_where_nobody_says_otherwise() -> None:
    def plan(sigma: float) -> dp.Node:
        return dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000

    calibrated = dp.calibrate(plan, epsilon=7, delta=1e-5)
    assert calibrated.method == "certified" and calibrated.certificate is not None
    quick = dp.calibrate(plan, epsilon=7, delta=1e-5, method="exact")
    assert quick.method == "exact"
    assert abs(float(quick) / float(calibrated) - 1) < 1e-9


def test_the_tighter_allowance_holds_and_only_work_that_is_done_is_charged() -> None:
    with effort.allowance(1.0):
        with effort.allowance(0.5):
            effort.spend(0.4)
            with pytest.raises(effort.TooCostly):
                effort.spend(0.2)  # refused, so not done
        effort.spend(0.5)
        with pytest.raises(effort.TooCostly):
            effort.spend(0.2)
    effort.spend(1e9)  # nothing is charged where nothing was allowed


SAMPLED = "--rate 0.01 --delta 1e-5 --json"


@pytest.mark.parametrize(
    "command",
    [
        f"eps --sigma 1.1 --steps 1000 {SAMPLED}",
        "delta --sigma 1.1 --rate 0.01 --steps 1000 --eps 1.5 --json",
        f"noise --steps 1000 --eps 7 {SAMPLED}",
        f"steps --sigma 1.1 --eps 2 {SAMPLED}",
    ],
)
def test_the_command_line_proves_by_default(command: str) -> None:
    document = json.loads(line(command).stdout)
    assert (document["method"], document["strength"]) == ("certified", "proved")
    assert document["side"] == "two-sided"
    assert "exact" in {other["method"] for other in document["alternatives"]}
    exact = json.loads(line(f"{command} --method exact").stdout)
    assert (exact["method"], exact["strength"]) == ("exact", "converged")
    assert abs(document["value"] / exact["value"] - 1) < 1e-9


def test_the_command_line_says_why_there_is_no_proof() -> None:
    atoms = "delta --sigma 100 --sampling uniform --rate 0.9 --steps 2 --eps 0.8"
    result = " ".join(line(f"{atoms} --details").stdout.split())
    assert "method exact" in result
    assert "note not proven: " in result
    assert line(f"{atoms} --method certified").code == 8
