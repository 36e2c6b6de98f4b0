"""Memory and work are bounded: hostile plans under a hard limit, grids that stop, budgets that share."""

import json
import math
import subprocess
import sys

import pytest

import dpacct as dp
from dpacct.pld.budget import (
    MOST_WORK,
    WORK,
    Overspent,
    metered,
    remaining,
    rounded,
)

LIMIT = 3 * 2**30
"""Bytes of address space for the child."""
HOSTILE = [
    # (sigma, rate, steps, question): each once took gigabytes, minutes, or both
    ("10", "1e-9", 10**6, {"epsilon": 0}),
    ("0.5", "1e-9", 10**6, {"delta": "1e-20"}),
    ("1", "1e-9", 10**6, {"delta": "1e-40"}),
    ("0.1", "1e-7", 10**12, {"epsilon": 1e-6}),
    ("0.5", "1e-7", 10**12, {"epsilon": 700}),
    ("0.1", "1e-4", 10**12, {"epsilon": 0}),
    ("0.5", "0.01", 10**6, {"epsilon": 700}),
    ("10000", "1e-170", 10**6, {"epsilon": 0}),
    ("1", "1e-170", 10**12, {"delta": "1e-20"}),
    ("0.01", "1e-9", 10**6, {"delta": "1e-40"}),
    ("1", "1e-9", 1, {"delta": "0.99"}),
]
CHILD = """
import json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
warnings.simplefilter("error")
import dpacct as dp
for sigma, rate, steps, asked in json.load(sys.stdin):
    run = dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * steps
    try:
        question = run.epsilon if "delta" in asked else run.delta
        found = question(**asked, method="bracket")
        print(json.dumps([found.lower, found.upper]))
    except dp.DpacctError as told:
        print(json.dumps(str(told)))
""".replace("MOST", str(LIMIT))


def test_hostile_plans_get_a_bracket_or_a_sentence_within_three_gigabytes() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(answers) == len(HOSTILE)
    for plan, answer in zip(HOSTILE, answers, strict=True):
        if isinstance(answer, str):
            assert "withheld" in answer, plan
        else:
            assert 0.0 <= answer[0] <= answer[1], plan
    # most have a bracket, and that of plain cases is narrow
    assert sum(isinstance(answer, list) for answer in answers) >= 9
    low, high = answers[0]
    assert high - low <= 1e-4 * high


def test_a_meter_counts_the_same_each_time_and_only_what_is_inside() -> None:
    plan = dp.Poisson("0.1")(dp.Laplace(b=3)) * 30 + dp.Laplace(b=20)
    spent = []
    for _ in range(2):
        with metered() as work:
            plan.profile([0.1, 1.0])
        spent.append(work.spent)
        plan.profile([2.0])
        assert work.spent == spent[-1] > 0.0
    assert spent[0] == spent[1]


def test_a_meter_stops_what_costs_more_than_it_may() -> None:
    plan = dp.Poisson("0.01")(dp.Gaussian(sigma=1)) * 100
    with pytest.raises(Overspent), metered(2e-4) as work:
        plan.profile([0.1, 1.0])
    assert work.spent <= 2e-4
    assert 0.0 < plan.profile([1.0])[0] < 1.0  # and nothing is counted any more


def test_sums_of_many_different_laws_stay_within_the_budget() -> None:
    """Sixty sampled Laplaces: every law has its own transform, each time."""
    run: dp.Node = dp.Poisson("0.01")(dp.Laplace(b=1))
    for k in range(1, 60):
        run = run + dp.Poisson("0.01")(dp.Laplace(b=f"{1 + 0.02 * k:.2f}"))
    with metered() as work:
        answer = run.epsilon(delta=1e-5, method="bracket")
    assert 0.0 < work.spent < WORK
    assert answer.lower is not None and answer.upper is not None
    assert 0.0 < answer.upper - answer.lower <= 1e-4 * answer.upper


@pytest.mark.parametrize(
    ("plan", "delta"),
    [
        # two hundred readings of rare jumps, and tables of 10^9 entries: both were charged to nobody
        (dp.Group(dp.Poisson("5.087e-11")(dp.Gaussian(sigma="83.14")) * 582, size=5), "4.618e-7"),
        (dp.Poisson("0.00001")(dp.Gaussian(sigma="0.02759")) * 825, "1.716e-250"),
    ],
)
def test_rare_jumps_keep_the_budget(plan: dp.Node, delta: str) -> None:
    with metered() as work:
        answer = plan.epsilon(delta=delta, method="exact")
    assert answer.upper is not None
    assert 0.0 < work.spent <= MOST_WORK


def test_what_is_over_the_budget_is_withheld_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry is limited by itself; a caller with a limit of its own sees `Overspent`."""
    monkeypatch.setattr("dpacct.pld.budget._ENTRY_SECONDS", 1.0)
    monkeypatch.setattr("dpacct.pld.budget._FUNCTION_SECONDS", 1.0)
    plan = dp.Poisson("0.01")(dp.Gaussian(sigma=1) * 3 + dp.Laplace(b=20)) * 2
    with pytest.raises(dp.NotCertified, match="5 s of CPU and 2 GB"):
        plan.profile([1.0])


def test_a_block_within_a_limited_one_ends_with_it() -> None:
    with pytest.raises(Overspent), metered(1.0) as work, metered():
        assert remaining() == 1.0
        rounded(10**9)
    assert work.spent == 0.0 and remaining() == math.inf


def test_six_thousand_kinds_of_noise_are_read_by_the_line() -> None:
    kinds = [dp.Poisson("0.01")(dp.Gaussian(sigma=f"{1 + k / 6000:.5f}")) * 2 for k in range(6000)]
    answer = sum(kinds[1:], start=kinds[0]).epsilon(1e-6, method="exact")
    assert answer.upper < 4.49 and answer.upper - answer.lower < 1e-8
