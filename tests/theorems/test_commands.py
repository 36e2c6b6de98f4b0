"""`dpacct theorems`, `verify` and `tables`: contracts, exit codes, refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dpacct as dp
from dpacct.errors import DpacctError
from dpacct.theorems import registry
from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status, Verdict
from dpacct.theorems.registry import entries, get
from tests.cli.runner import line, run

REFUSED = [e for e in entries().values() if not e.is_answer and e.formula is not None]
PLAN = dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 10


def test_the_list_has_the_keys_of_the_contract() -> None:
    done = line("theorems list --json")
    keys = {"id", "paper", "locus", "statement", "side", "domain", "status"}
    assert done.code == 0 and len(done.json) == len(entries())
    for row in done.json:
        assert set(row) >= keys | {"printed_ok", "corrected_by"}
        assert isinstance(row["printed_ok"], bool)
        assert row["printed_ok"] == entries()[row["id"]].verdict.printed_ok
    one = line("theorems list dp_fed_ls --json").json
    assert {row["paper"] for row in one} == {"dp_fed_ls"}


def test_it_lists_every_paper_in_words() -> None:
    shown = line("theorems").stdout
    assert all(entry in shown for entry in entries())
    assert max(map(len, shown.splitlines())) <= 125


@pytest.mark.parametrize("name", sorted(entries()))
def test_each_can_be_shown(name: str) -> None:
    entry = entries()[name]
    done = line(f"theorems show {name}")
    assert done.code == 0
    assert entry.claim in done.stdout and f"**{entry.verdict}**" in done.stdout
    body = line(f"theorems show {name} --json").json
    assert body["id"] == name and body["verdict"] == str(entry.verdict)


def test_eval_in_json() -> None:
    done = line("theorems eval dp_fed_ls.lemma2 tau=0.05 nu2=1 alpha=2 --json")
    assert done.code == 0
    assert done.json["id"] == "dp_fed_ls.lemma2" and done.json["status"] == "searched"
    assert done.json["value"] == pytest.approx(0.0175, rel=1e-12)
    third = line("theorems eval mironov2017.proposition3 alpha=8 rho=1/3 delta=10^-5 --json")
    assert third.json["value"] == pytest.approx(1 / 3 + 1.644703637853, rel=1e-9)


def test_outside_the_domain_exits_3() -> None:
    done = line("theorems eval dp_fed_ls.lemma2 tau=0.05 nu2=0.5 alpha=2 --json")
    assert done.code == 3
    assert done.json["error"]["argument"] == "nu2" and "got 1/2" in done.json["error"]["message"]
    empty = line("theorems eval dp_fed_ls.theorem1 epsilon=5 delta=5e-4 tau=0.05 clip=1 steps=30")
    assert empty.code == 3 and "epsilon must be at least 5.5009" in empty.stderr


@pytest.mark.parametrize("entry", REFUSED, ids=lambda e: e.id)
def test_no_calculator_answers_with_what_is_false(entry: Entry) -> None:
    """Neither eval nor any method of any question; only --as-printed shows the number."""
    inputs = (entry.vectors or (entry.witness,))[0].inputs  # type: ignore[union-attr]
    words = [f"{name}={value}" for name, value in inputs.items()]
    done = run("theorems", "eval", entry.id, *words)
    if entry.verdict is not Verdict.ASYMPTOTIC:
        assert done.code == 2 and done.stdout == "" and "as printed" in done.stderr
        if entry.corrected_by:
            assert entry.corrected_by in done.stderr
    assert run("theorems", "eval", entry.id, *words, "--as-printed").code == 0
    for ask in (PLAN.epsilon, PLAN.delta):
        argument = {"delta": 1e-5} if ask == PLAN.epsilon else {"epsilon": 1.0}
        with pytest.raises(DpacctError):
            ask(**argument, method=entry.id)
    assert line(f"eps --sigma 1 --delta 1e-5 --method {entry.id}").code == 2
    assert line(f"noise --eps 1 --delta 1e-5 --method {entry.id}").code == 2


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("theorems show dp_fed_ls.lema2", 2, "did you mean 'dp_fed_ls.lemma2'"),
        ("theorems show", 2, "theorems show needs the id of a theorem"),
        ("theorems prove", 2, "must be told list, show, eval or pages"),
        ("theorems eval dp_fed_ls.lemma2 tau", 2, "must be written NAME=VALUE"),
        ("theorems eval dp_fed_ls.lemma2 tau=x nu2=1 alpha=2", 2, "tau must be a number"),
        ("theorems eval dp_fed_ls.lemma2 tau=nan nu2=1 alpha=2", 2, "tau must be a number"),
        ("theorems eval dp_fed_ls.lemma2 tau=0.1 nu2=1", 2, "alpha is missing"),
        ("theorems eval dp_fed_ls.lemma2 tau=0.1 nu2=1 alpha=2 beta=1", 2, "beta is not one"),
        ("theorems eval dp_fed_ls.post_processing", 2, "nothing that can be evaluated"),
        ("verify no_such_theorem", 2, "must be that of a theorem"),
        ("verify dp_fed_ls.eq15 --draws 0", 2, "--draws must be"),
        ("verify dp_fed_ls.eq15 --seed -1", 2, "--seed must be"),
    ],
)
def test_refusals(command: str, code: int, told: str) -> None:
    done = line(command)
    assert done.code == code and told in done.stderr and done.stdout == ""


def test_verify_shows_the_witness_of_what_is_false() -> None:
    done = line("verify dp_fed_ls.eq15 dp_fed_ls.eq14")
    assert done.code == 0
    assert "VIOLATED at nu2=" in done.stdout
    assert "dp_fed_ls.eq14: holds, proved; no counter-example" in done.stdout
    body = line("verify dp_fed_ls.eq15 --json").json
    assert body["entries"][0]["witness"]["claimed"] < body["entries"][0]["witness"]["lower"]
    assert body["surprises"] == 0


def test_a_counter_example_exits_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a false statement listed as true, its witness would be printed."""
    wrong = replace(
        get("dp_fed_ls.eq15"), verdict=Verdict.HOLDS, status=Status.SEARCHED, witness=None
    )
    monkeypatch.setattr(registry, "select", lambda names: [wrong])
    done = line("verify dp_fed_ls.eq15")
    assert done.code == 5 and "VIOLATED at nu2=" in done.stdout
    assert line("verify dp_fed_ls.eq15 --json").code == 5


def test_the_seed_repeats_a_search() -> None:
    first, again = (line("verify udp_fl.theorem2 --seed 4 --json").json for _ in range(2))
    assert first["entries"] == again["entries"]


def test_pages_are_written(tmp_path: object) -> None:
    done = line(f"theorems pages {tmp_path}")
    assert done.code == 0 and str(len(entries()) + 1) in done.stdout
