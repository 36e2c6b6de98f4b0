"""The search for counter-examples by Hypothesis: what is false is refuted anew, and what holds is not."""

import sys

import pytest

from dpacct.errors import MissingExtra
from dpacct.papers.oracles.oracle import Oracle, oracle_of
from dpacct.papers.page import Statement
from dpacct.papers.refute import judge, search
from dpacct.papers.registry import get
from dpacct.papers.verify import examine
from tests.cli.runner import line
from tests.papers.statements import ALL, edited, with_formula

JUDGED = [s for s in ALL if s.formula is not None and oracle_of(s) is not None]
FALSE = [s for s in JUDGED if s.evidence == "refuted"]
POINTS = 24
"""Of a statement that holds; `dpacct verify` takes more."""


def known(statement: Statement) -> Oracle:
    oracle = oracle_of(statement)
    assert oracle is not None
    return oracle


@pytest.mark.parametrize("statement", [s for s in JUDGED if s not in FALSE], ids=lambda s: s.id)
def test_no_counter_example(statement: Statement) -> None:
    oracle = known(statement)
    _, witness = search(statement, oracle, draws=min(POINTS, oracle.draws), seed=1)
    assert witness is None, witness


@pytest.mark.parametrize("statement", FALSE, ids=lambda s: s.id)
def test_what_is_false_is_found(statement: Statement) -> None:
    """By the search alone: it never looks at the stored counter-example."""
    oracle = known(statement)
    _, witness = search(statement, oracle, draws=oracle.draws, seed=0)
    assert witness is not None
    # what it was shrunk to lies within the hypotheses, and violates when it is asked again
    again = judge(statement, oracle, statement.checked(witness.point))
    assert again is not None and again.excess > oracle.within


def test_the_witness_is_small() -> None:
    report = examine(get("dp_fed_ls.eq15"), draws=100, seed=3)
    assert report.witness is not None and not report.surprising
    assert report.witness.point["nu2"] == int(report.witness.point["nu2"])  # type: ignore[arg-type]


def test_the_same_seed_finds_the_same() -> None:
    false = get("udp_fl.theorem2")
    first, again = (search(false, known(false), draws=60, seed=7) for _ in range(2))
    assert first == again and first[0] > 5


def test_a_planted_error_is_found() -> None:
    """Half of Lemma 3's constant is too small, and the search says so."""
    lemma = edited(get("dp_fed_ls.lemma3"), ("verdict: proof-gap", "verdict: holds"))
    wrong = with_formula(lemma, lambda tau, nu2, alpha: tau**2 * alpha / nu2)
    report = examine(wrong, draws=600)
    assert report.witness is not None and report.surprising


def test_a_truth_below_the_range_of_floats_is_not_judged() -> None:
    """1e-313 beside 0 is rounding, not a counter-example."""
    statement = get("dong2019.definition2_6")
    point = statement.checked({"mu": 37, "alpha": "4/5"})
    assert judge(statement, known(statement), point) is None


def test_stored_counter_examples_need_no_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    done = line("verify dp_fed_ls.eq15")
    assert done.code == 0 and "VIOLATED at nu2=4" in done.stdout
    with pytest.raises(MissingExtra, match=r"pip install '\.\[verify\]'"):
        examine(get("dp_fed_ls.lemma2"))
    refused = line("verify dp_fed_ls.lemma2")
    assert refused.code == 7 and len(refused.stderr.splitlines()) == 1
