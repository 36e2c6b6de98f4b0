"""Named accounts in one file: one entry for all, all or none, replays, equal ones decided once."""

from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger import decision
from tests.ledger.ledgers import BUDGET, OTHER, STEP

NAMES = [f"client {i}" for i in range(50)]


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    ledger = dp.Ledger(tmp_path / "a.ledger", budget=None)
    ledger.open(NAMES, budget=BUDGET, plan=STEP * 10, unit="record")
    return ledger


def test_one_entry_charges_all_and_a_replay_is_free(ledger: dp.Ledger, tmp_path: Path) -> None:
    for again in (False, True):
        everyone = dict.fromkeys(NAMES, STEP)
        with ledger.release(everyone, label="round 1", replay=again) as receipt:
            assert receipt.number == 2
    assert len(ledger) == 3 and ledger.accounts == ("run", *NAMES)
    assert all(ledger.account(name).plan == STEP for name in NAMES)
    assert ledger.plan is None
    more = {NAMES[0]: STEP, "another": OTHER}  # one more name under it
    ledger.spend(more, label="round 1", replay=True)
    assert ledger.account(NAMES[0]).plan == STEP and ledger.account("another").plan == OTHER
    ledger.close()
    with dp.Ledger(tmp_path / "a.ledger") as again:
        assert again.accounts == ("run", *NAMES, "another")
        assert again.spend({NAMES[1]: STEP}, label="round 1", replay=True).number == 2
        assert again.account(NAMES[1]).plan == STEP
        assert again.account(NAMES[1]).spent.upper == STEP.epsilon(1e-5, method="exact").upper


def test_a_label_is_free_again_only_until_its_release_is_known(ledger: dp.Ledger) -> None:
    """A crash in the middle leaves no outcome; a release that was made is charged each time."""
    ledger.spend({NAMES[0]: STEP}, label="crashed")
    assert ledger.spend({NAMES[0]: STEP}, label="crashed").number == 2
    assert ledger.account(NAMES[0]).plan == STEP
    for made in range(1, 4):
        with ledger.release({NAMES[1]: STEP}, label="made"):
            pass
        assert ledger.account(NAMES[1]).plan == STEP * made
    with pytest.raises(ZeroDivisionError), ledger.release({NAMES[2]: STEP}, label="failed"):
        _ = 1 / 0
    ledger.spend({NAMES[2]: STEP}, label="failed")
    assert ledger.account(NAMES[2]).plan == STEP * 2


def test_all_or_none(ledger: dp.Ledger) -> None:
    ledger.spend({NAMES[7]: STEP * 10}, label="much")
    before = ledger.head
    with pytest.raises(dp.BudgetExceeded, match=r"plan has ended, all 10 of .*client 7"):
        ledger.spend(dict.fromkeys(NAMES, STEP), label="round 2")
    assert ledger.head == before
    assert ledger.account(NAMES[0]).plan is None
    assert not ledger.account(NAMES[0]).would_exceed(STEP)
    assert ledger.account(NAMES[7]).would_exceed(STEP)
    assert ledger.account(NAMES[7]).remaining.steps(STEP) == 0
    cost = (STEP * 10).epsilon(BUDGET[1], method="exact").upper  # of the plan that it declared
    assert ledger.account(NAMES[7]).guarantee().upper == cost < BUDGET[0]


@pytest.mark.parametrize(
    ("charges", "label", "message"),
    [
        ({"client 1": STEP}, "", "with a label"),
        ({}, "round", "with a label"),
        ({"": STEP}, "round", "with a label"),
        ({5: STEP}, "round", "with a label"),
        ({"client 1": OTHER}, "used", "was used to charge"),
        ({"client 1": 0.5}, "round", "plan must be"),
        ({"client 1": STEP.under(unit="client")}, "round", "unit"),
    ],
)
def test_what_cannot_be_charged(
    ledger: dp.Ledger, charges: dict[str, dp.Node], label: str, message: str
) -> None:
    ledger.spend({"client 1": STEP}, label="used")
    with pytest.raises(dp.InvalidArgument, match=message):
        ledger.spend(charges, label=label)
    assert len(ledger) == 3


def test_opening_again_is_nothing_or_refused(ledger: dp.Ledger) -> None:
    ledger.open([*NAMES, "one more"], budget=BUDGET, plan=STEP * 10)
    assert len(ledger) == 3 and ledger.account("one more").rule == "planned"
    ledger.open(NAMES, budget=BUDGET, plan=STEP * 10)
    assert len(ledger) == 3
    for wish in ({"budget": (5, 1e-5)}, {"budget": BUDGET, "plan": STEP}, {"budget": None}):
        with pytest.raises(dp.InvalidArgument):
            ledger.open(NAMES, **wish)
    with pytest.raises(dp.BudgetExceeded, match="declared plan costs"):
        ledger.open(["x"], budget=(0.1, 1e-5), plan=STEP * 10)
    for names in ("client", [""], [5]):
        with pytest.raises(dp.InvalidArgument, match="names must be"):
            ledger.open(names, budget=BUDGET)
    assert len(ledger) == 3


def test_equal_accounts_are_priced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted, not time: a thousand accounts are two decisions."""
    asked = []
    real = decision.cost
    monkeypatch.setattr(decision, "cost", lambda *a, **k: asked.append(a) or real(*a, **k))
    with dp.Ledger(tmp_path / "a", budget=None) as ledger:
        for kind in range(2):
            names = [f"{kind} {i}" for i in range(500)]
            ledger.open(names, budget=("3.7", "2e-5"), plan=STEP * (5 + kind))
        everyone = {name: STEP for name in ledger.accounts if name != "run"}
        ledger.spend(everyone, label="round")
        states = {ledger._of(name) for name in everyone}
        assert len(asked) == 2 and len(states) == 2 and len(ledger) == 4


def test_without_a_budget_nothing_is_refused(tmp_path: Path) -> None:
    with dp.Ledger(tmp_path / "a", budget=(None, 1e-5)) as ledger:
        ledger.spend(STEP * 1000)
        assert ledger.rule == "none" and not ledger.would_exceed(STEP * 10**6)
        assert ledger.remaining.share == 1.0
        assert ledger.spent().upper == (STEP * 1000).epsilon(1e-5, method="exact").upper
        with pytest.raises(dp.Unsupported, match="guarantees nothing"):
            ledger.guarantee()
    with (
        dp.Ledger(tmp_path / "b", budget=None) as ledger,
        pytest.raises(dp.InvalidArgument, match="delta must be given"),
    ):
        ledger.spent()
    with dp.Ledger(tmp_path / "c", budget=(None, 1e-5), plan=STEP * 20) as ledger:
        ledger.spend(STEP * 20)
        assert ledger.guarantee().upper == (STEP * 20).epsilon(1e-5, method="exact").upper
        with pytest.raises(dp.BudgetExceeded, match="plan has ended"):
            ledger.spend(STEP)
