"""Random histories of spending, crashing and reopening, against a model that only counts."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import dpacct as dp
from tests.ledger.ledgers import OTHER, STEP

PLAN = STEP * 40 + OTHER * 15
SPENDS = st.sampled_from([STEP, STEP * 3, OTHER, OTHER * 2 + STEP, STEP * 41])


class Histories(RuleBasedStateMachine):
    """Two open ledgers of one file; each may spend, die, and come back."""

    @initialize()
    def make(self) -> None:
        self.path = Path(tempfile.mkdtemp()) / "a.ledger"
        self.open = [dp.Ledger(self.path, budget=(9, 1e-5), plan=PLAN), dp.Ledger(self.path)]
        self.spent: Counter[dp.Node] = Counter()

    def fits(self, plan: dp.Node) -> bool:
        left = dict(PLAN.releases())
        return all(self.spent[leaf] + n <= left[leaf] for leaf, n in plan.releases())

    @rule(who=st.integers(0, 1), plan=SPENDS)
    def spend(self, who: int, plan: dp.Node) -> None:
        if not self.fits(plan):
            with pytest.raises(dp.BudgetExceeded):
                self.open[who].spend(plan)
            return
        self.open[who].spend(plan)
        self.spent.update(dict(plan.releases()))

    @rule(who=st.integers(0, 1), plan=SPENDS)
    def ask(self, who: int, plan: dp.Node) -> None:
        assert self.open[who].would_exceed(plan) is not self.fits(plan)

    @rule(who=st.integers(0, 1))
    def close(self, who: int) -> None:
        self.open[who].close()
        self.open[who] = dp.Ledger(self.path)

    @rule(who=st.integers(0, 1))
    def die(self, who: int) -> None:
        """As SIGKILL leaves it: nothing more is written."""
        self.open[who]._store._db.close()
        self.open[who] = dp.Ledger(self.path)

    @invariant()
    def every_intent_is_counted_once(self) -> None:
        for ledger in getattr(self, "open", ()):
            plan = ledger.plan
            assert (Counter() if plan is None else Counter(dict(plan.releases()))) == self.spent

    def teardown(self) -> None:
        for ledger in getattr(self, "open", ()):
            ledger.close()
        shutil.rmtree(self.path.parent)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
