"""What a ledger answers, under each of its rules."""

import copy
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpacct as dp
from tests.ledger.ledgers import BUDGET, small
from tests.ledger.ledgers import STEP as SMALL_STEP

STEP = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
OTHER = dp.Laplace(b=20)

RULES = [{}, {"plan": STEP * 100 + OTHER * 4}]
NAMES = ["adaptive", "planned"]
each_rule = pytest.mark.parametrize("rule", RULES, ids=NAMES)


EARLY = "ignore:this ledger has:UserWarning"  # as the filter does, and says so


@each_rule
@pytest.mark.filterwarnings(EARLY)
def test_spending_to_the_end(tmp_path: Path, rule: dict[str, object]) -> None:
    """`remaining.steps` is how many spends are granted, exactly; then none is, and none is kept."""
    ledger = dp.Ledger(tmp_path / "a", budget=BUDGET, **rule)
    block = STEP if "plan" in rule else STEP * 1000
    left = ledger.remaining.steps(block)
    assert left >= 1
    for done in range(left):
        assert not ledger.would_exceed(block)
        ledger.spend(block)
        assert ledger.remaining.steps(block) == left - done - 1
    assert ledger.would_exceed(block)
    with pytest.raises(dp.BudgetExceeded, match="does not fit"):
        ledger.spend(block)
    assert len(ledger.intents) == left
    assert float(ledger.spent()) <= BUDGET[0]
    ledger.close()
    with dp.Ledger(tmp_path / "a") as again:
        assert again.would_exceed(block) and again.plan == block * left
        plan = rule.get("plan")  # a declared plan costs what it costs, which the budget allows
        cost = plan.epsilon(BUDGET[1], method="exact").upper if isinstance(plan, dp.Node) else None
        assert again.guarantee().upper == (cost or BUDGET[0]) <= BUDGET[0]


def test_a_planned_ledger_takes_any_order_and_no_stranger(tmp_path: Path) -> None:
    plan = STEP * 3 + OTHER * 2 + dp.Poisson(0.1)(dp.Gaussian(sigma=5) * 4) * 2
    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=plan) as ledger:
        for part in (OTHER, STEP * 2, dp.Poisson(0.1)(dp.Gaussian(sigma=2.5)), OTHER, STEP):
            ledger.spend(part)  # four releases of sigma 5 on one sample are one of sigma 2.5
        assert ledger.would_exceed(STEP) and ledger.would_exceed(OTHER)
        assert ledger.would_exceed(dp.Gaussian(sigma=1e6))


@pytest.mark.parametrize(
    "wish",
    [
        {"budget": (5, 1e-5)},
        {"budget": (4, 1e-6)},
        {"adjacency": "replace-one"},
        {"unit": "user"},
        {"plan": STEP},
    ],
    ids=str,
)
def test_reopening_as_another_ledger_is_refused(tmp_path: Path, wish: dict[str, object]) -> None:
    small(tmp_path / "a")
    with pytest.raises(dp.InvalidArgument):
        dp.Ledger(tmp_path / "a", **wish)
    dp.Ledger(tmp_path / "a", budget=("4.0", "0.00001")).close()


@pytest.mark.parametrize(
    "wish",
    [
        {"budget": (4, None)},
        {"budget": 4},
        {"budget": (4, 0)},
        {"budget": (float("nan"), 1e-5)},
        {"budget": {"epsilon": 4}},
        {"plan": dp.WithoutReplacement(0.1)(dp.Gaussian(sigma=9)), "adjacency": "add-remove"},
    ],
    ids=str,
)
def test_a_bad_wish_is_refused(tmp_path: Path, wish: dict[str, object]) -> None:
    with pytest.raises(dp.InvalidArgument):
        dp.Ledger(tmp_path / "a", **{"budget": BUDGET, **wish})
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_charged_is_refused(tmp_path: Path) -> None:
    with dp.Ledger(tmp_path / "a", budget=BUDGET) as ledger:
        with pytest.raises(dp.InvalidArgument, match="replace-one"):
            ledger.spend(dp.WithoutReplacement(0.1)(dp.Gaussian(sigma=9)))
        with pytest.raises(dp.InvalidArgument, match="unit"):
            ledger.spend(STEP.under(unit="user"))
        with pytest.raises(dp.InvalidArgument, match="plan must be"):
            ledger.spend(0.5)
        assert ledger.plan is None


def test_two_open_ledgers_of_one_process_and_threads(tmp_path: Path) -> None:
    """Every object sees what the others spent; threads share one object."""
    first = dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 50)
    two = dp.Ledger(tmp_path / "a")
    first.spend(STEP * 10)
    assert two.remaining.steps(STEP) == 40
    refused = []

    def work() -> None:
        for _ in range(15):
            try:
                two.spend(STEP)
            except dp.BudgetExceeded as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 20 and first.would_exceed(STEP)
    assert first.plan == STEP * 50


FORK = """
import os, sys
import dpacct as dp
step = dp.Gaussian(sigma=30)
with dp.Ledger(sys.argv[1], budget=(4, 1e-5), plan=step * 5) as ledger:
    ledger.spend(step)
    child = os.fork()
    if child == 0:
        ledger.spend(step)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.remaining.steps(step) == 3
    with ledger._store.session(write=True):  # while the parent holds the lock the child must not get it
        child = os.fork()
        if child == 0:
            ledger._store.timeout = 0.05
            try:
                ledger.spend(step)
            except dp.LedgerBusy:
                os._exit(9)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
"""


def test_a_forked_child_takes_a_lock_of_its_own(tmp_path: Path) -> None:
    """It shares its parent's open file, and would share the lock with it."""
    done = subprocess.run(
        [sys.executable, "-c", FORK, tmp_path / "a"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_ledger_that_is_held_is_waited_for_so_long(tmp_path: Path) -> None:
    holder = dp.Ledger(tmp_path / "a", budget=BUDGET)
    with holder._store.session(write=True), pytest.raises(dp.LedgerBusy, match="another process"):
        dp.Ledger(tmp_path / "a", timeout=0.05).spend(STEP)


@pytest.mark.parametrize(
    "name", ["no/such/folder/a", ".", "/dev/null", "/dev/full", "pipe", "n" * 300, "a\0b"]
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_path_that_cannot_be_opened(tmp_path: Path, name: str, read_only: bool) -> None:
    """Nothing but a file; a pipe is not waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(dp.InvalidArgument, match=r"path must be|cannot be opened"):
        dp.Ledger(tmp_path / name, budget=BUDGET, read_only=read_only)


def test_names_and_labels_in_any_script(tmp_path: Path) -> None:
    path = tmp_path / "журнал π\n.ledger"
    with dp.Ledger(path, budget=BUDGET) as ledger:
        ledger.spend(STEP, label="ヒストグラム \0\n")
        with pytest.raises(dp.InvalidArgument, match="label must be a text"):
            ledger.spend(STEP, label=5)  # type: ignore[arg-type]
        with pytest.raises(dp.InvalidArgument, match="label must be a text"):
            ledger.spend(STEP, label="\ud800")
    with dp.Ledger(path) as ledger:
        assert [record["label"] for record in ledger.intents] == ["ヒストグラム \0\n"]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_is_the_same_file_opened_again(tmp_path: Path, again: Callable[..., Any]) -> None:
    """As a worker process that was started afresh gets it."""
    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 5) as first, again(first) as second:
        for ledger in (first, second, first, second):
            ledger.spend(STEP)
        assert first.remaining.steps(STEP) == second.remaining.steps(STEP) == 1
    reader = dp.Ledger(tmp_path / "a", read_only=True)
    with pytest.raises(dp.InvalidArgument, match="read-only"):
        again(reader).spend(STEP)


def test_a_filter_says_how_many_fit_and_how_more_would(tmp_path: Path) -> None:
    """52 weekly counts, then a run that does not fit: both numbers are those that a ledger grants."""
    step = dp.Laplace(b=100)
    with dp.Ledger(tmp_path / "a", budget=(2, "1e-6")) as ledger:
        ledger.spend(step * 52)
        room = ledger.room(step)
        few, many = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+\d", room)[:3:2])
        assert "because later releases may depend on earlier results" in room
        assert few == ledger.remaining.steps(step)
        with pytest.raises(dp.BudgetExceeded, match=r"no room for .*plan="):
            ledger.spend(step * (few + 1))
    with dp.Ledger(tmp_path / "b", budget=(2, "1e-6"), plan=step * (52 + many)) as planned:
        planned.spend(step * (52 + many))
    with pytest.raises(dp.BudgetExceeded, match="declared plan costs"):
        dp.Ledger(tmp_path / "c", budget=(2, "1e-6"), plan=step * (53 + many))


def test_what_a_reader_and_a_closed_ledger_say(tmp_path: Path) -> None:
    ledger = small(tmp_path / "a.ledger")
    with pytest.raises(dp.InvalidArgument, match="was closed: open it again to ask it anything"):
        ledger.spent()
    with (
        dp.Ledger(tmp_path / "a.ledger", read_only=True) as reader,
        pytest.raises(
            dp.InvalidArgument, match="was opened read-only, so nothing can be counted in it"
        ),
    ):
        reader.spend(SMALL_STEP)
