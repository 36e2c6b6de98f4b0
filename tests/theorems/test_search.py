"""The counter-example search: quick here, at length by `dpacct verify`."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status, Verdict
from dpacct.theorems.registry import entries, get
from dpacct.verify.examine import examine
from dpacct.verify.search import Search, search
from dpacct.verify.truth import truths

JUDGED = [e for e in entries().values() if e.formula is not None and e.id in truths()]
FALSE = [entry for entry in JUDGED if entry.status is Status.REFUTED]
# Points per statement here, at most; `dpacct verify` takes each judge's own, and more with --draws.
SOUND = 24


@pytest.mark.parametrize("entry", [e for e in JUDGED if e not in FALSE], ids=lambda e: e.id)
def test_no_counter_example(entry: Entry) -> None:
    case = Search(entry, truths()[entry.id])
    result = search(case, draws=min(SOUND, case.truth.draws), seed=1, climbs=1)
    assert not result.violated, result.worst


@pytest.mark.parametrize("entry", FALSE, ids=lambda e: e.id)
def test_what_is_false_is_found(entry: Entry) -> None:
    """By the search alone: the stored witness isn't looked at."""
    case = Search(replace(entry, witness=None), truths()[entry.id])
    draws = truths()[entry.id].draws
    assert search(case, draws=draws, seed=0).violated


def test_the_witness_is_small() -> None:
    report = examine(get("dp_fed_ls.eq15"), seed=3)
    assert report.witness is not None and not report.surprising
    assert len(str(report.witness.point["nu2"])) <= 4


def test_the_same_seed_finds_the_same() -> None:
    case = Search(get("dp_fed_ls.lemma2"), truths()["dp_fed_ls.lemma2"])
    first, again = (search(case, draws=20, seed=7) for _ in range(2))
    assert first.worst is not None and again.worst is not None
    assert (first.judged, first.worst.point) == (again.judged, again.worst.point)


def test_a_planted_error_is_found() -> None:
    """Half of Lemma 3's constant is too small, and the search says so."""
    entry = get("dp_fed_ls.lemma3")
    wrong = replace(entry, formula=lambda tau, nu2, alpha: tau**2 * alpha / nu2)
    report = examine(replace(wrong, verdict=Verdict.HOLDS), draws=600)
    assert report.witness is not None and report.surprising


def test_a_search_asks_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged is counted, so that a slow machine judges the same points as a fast one."""
    case = Search(get("dp_fed_ls.lemma2"), truths()["dp_fed_ls.lemma2"])
    undisturbed = search(case, draws=20, seed=7)
    refuted = examine(get("dp_fed_ls.eq15"), seed=3)
    for clock in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, clock, lambda: pytest.fail("a verdict depends on a clock"))
    assert search(case, draws=20, seed=7) == undisturbed
    assert examine(get("dp_fed_ls.eq15"), seed=3) == refuted
