"""`dpacct theorems` and `verify`: contracts, exit codes, refusals, and finding statements by words."""

from pathlib import Path

import pytest

import dpacct as dp
from dpacct.errors import DpacctError
from dpacct.papers import registry
from dpacct.papers.page import Statement
from dpacct.papers.registry import get, ids
from dpacct.papers.search import search
from tests.cli.runner import line, run
from tests.papers.statements import ALL, edited

REFUSED = [s for s in ALL if not s.is_answer and s.evaluable]
PLAN = dp.Poisson(0.1)(dp.Gaussian(sigma=1)) * 10


def test_the_list_has_the_keys_of_the_contract() -> None:
    done = line("theorems list --json")
    keys = {"id", "paper", "locus", "statement", "side", "domain", "status"}
    assert done.code == 0 and [row["id"] for row in done.json] == list(ids())
    for row in done.json:
        assert set(row) >= keys | {"printed_ok", "corrected_by"}
        assert isinstance(row["printed_ok"], bool)
        assert row["printed_ok"] == get(row["id"]).printed_ok
    by_name = line("theorems list dp_fed_ls --json").json
    assert {row["paper"] for row in by_name} == {"dp_fed_ls"}
    assert line("theorems list Laplacian smoothing --json").json == by_name
    by_ids = line("theorems list mironov2017 canonne2020.proposition12 --json").json
    assert [row["paper"] for row in by_ids] == ["mironov2017", "canonne2020"]


def test_it_lists_every_paper_in_words() -> None:
    shown = line("theorems").stdout
    assert all(name in shown for name in ids())
    assert max(map(len, shown.splitlines())) <= 125


def test_a_list_is_in_the_order_of_the_paper_and_says_what_is_claimed() -> None:
    shown = line("theorems list UDP-FL").stdout.splitlines()
    assert shown[0].startswith("Feng et al. (2024): Universally Harmonizing")
    places = [shown.index(row) for row in shown if "Theorem " in row and "  false  " in row]
    assert places == sorted(places)
    (row,) = [row for row in shown if row.startswith("  udp_fl.lemma4 ")]
    assert "holds" in row and "Lemma 4: " in row


@pytest.mark.parametrize("name", ids())
def test_each_can_be_shown(name: str) -> None:
    statement = get(name)
    done = line(f"theorems show {name}")
    assert done.code == 0
    assert f"{statement.verdict.upper()} ({statement.evidence})" in done.stdout
    assert statement.claim.split()[0] in done.stdout
    body = line(f"theorems show {name} --json").json
    assert body["id"] == name and body["verdict"] == statement.verdict
    assert set(body) >= {"maths", "reason", "looseness", "derivation", "relies_on", "witness"}
    assert len(body["vectors"]) == len(statement.values)


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


@pytest.mark.parametrize("statement", REFUSED, ids=lambda s: s.id)
def test_no_calculator_answers_with_what_is_false(statement: Statement) -> None:
    """Neither eval nor any method of any question; only --as-printed shows the number."""
    inputs = statement.values[0].inputs if statement.values else (statement.witness or ({}, ""))[0]
    words = [f"{name}={value.replace(' ', '')}" for name, value in inputs.items()]
    done = run("theorems", "eval", statement.id, *words)
    if statement.verdict != "asymptotic":
        assert done.code == 2 and done.stdout == "" and "as printed" in done.stderr
        if statement.corrected_by:
            assert statement.corrected_by in done.stderr
    assert run("theorems", "eval", statement.id, *words, "--as-printed").code == 0
    for ask in (PLAN.epsilon, PLAN.delta):
        argument = {"delta": 1e-5} if ask == PLAN.epsilon else {"epsilon": 1.0}
        with pytest.raises(DpacctError):
            ask(**argument, method=statement.id)
    assert line(f"eps --sigma 1 --delta 1e-5 --method {statement.id}").code == 2
    assert line(f"noise --eps 1 --delta 1e-5 --method {statement.id}").code == 2


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("theorems show dp_fed_ls.lema2", 2, "did you mean 'dp_fed_ls.lemma2'"),
        ("theorems show", 2, "theorems show needs the id of a theorem"),
        (
            "theorems prove",
            2,
            "theorems has the actions list, show, search or eval, got 'prove'",
        ),
        ("theorems search", 2, "needs words that the paper prints"),
        ("theorems search xyzzy", 2, "no statement of the papers matches"),
        ("theorems list nosuchpaper", 2, "must be that of a theorem"),
        ("theorems list Papernot", 2, "papernot2017, papernot2018"),
        ("theorems show lemma 2", 2, "dp_fed_ls.lemma2, dp_fedsam.lemma2, udp_fl.lemma2"),
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
def test_refusals(command: str, code: int, message: str) -> None:
    done = line(command)
    assert done.code == code and message in done.stderr and done.stdout == ""


# --- verify


def test_a_file_is_taken_for_a_certificate(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("{}")
    refused = run("verify", str(path))
    assert refused.code == 2 and "certificate" in refused.stderr
    assert run("eps", *["--sigma", "4", "--delta", "1e-5", "--certificate"], str(path)).code == 0
    assert run("verify", str(path)).stdout == run("verify", "--certificate", str(path)).stdout


def test_verify_shows_the_witness_of_what_is_false() -> None:
    done = line("verify dp_fed_ls.eq15 dp_fed_ls.eq14")
    assert done.code == 0
    assert "VIOLATED at nu2=" in done.stdout
    assert "dp_fed_ls.eq14: holds, proved; no counter-example" in done.stdout
    assert "2 statements, all as the registry says" in done.stdout
    body = line("verify dp_fed_ls.eq15 --json").json
    assert body["entries"][0]["witness"]["claimed"] < body["entries"][0]["witness"]["lower"]
    assert body["surprises"] == 0 and body["not_judged"] == []


def test_verify_counts_in_english() -> None:
    assert "1 statement, as the registry says (" in line("verify dp_fed_ls.eq14").stdout


def test_a_counter_example_exits_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a false statement listed as true, its witness would be printed."""
    wrong = edited(
        get("dp_fed_ls.eq15"),
        ("verdict: false", "verdict: holds"),
        ("evidence: refuted", "evidence: searched"),
        ("## Counter-example", "## Note"),
    )
    monkeypatch.setattr(registry, "select", lambda names: [wrong])
    done = line("verify dp_fed_ls.eq15")
    assert done.code == 5 and "VIOLATED at nu2=" in done.stdout
    assert "1 statement, 1 not as the registry says: dp_fed_ls.eq15" in done.stdout
    assert line("verify dp_fed_ls.eq15 --json").code == 5


def test_what_no_oracle_can_judge_exits_10(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another word, so that it is taken neither for a proof nor for a counter-example."""
    far = edited(
        get("girgis2021.lower"), ("| (0, 10) |", "| (0, 1e-9) |"), ("\n## Ref", "\n## Note\n\n##")
    )
    monkeypatch.setattr(registry, "select", lambda names: [far])
    done = line("verify girgis2021.lower --draws 5")
    assert done.code == 10 and "NOT JUDGED: girgis2021.lower" in done.stdout
    assert line("verify girgis2021.lower --draws 5 --json").json["not_judged"] == [far.id]


def test_what_states_nothing_to_judge_exits_10() -> None:
    done = line("verify udp_fl.table3_staircase")
    assert done.code == 10 and "nothing to search" in done.stdout


def test_the_seed_repeats_a_search() -> None:
    first, again = (
        line("verify udp_fl.theorem2 --draws 50 --seed 4 --json").json for _ in range(2)
    )
    assert first["entries"] == again["entries"]


# --- finding


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("UDP-FL lemma 2", "udp_fl.lemma2"),
        ("laplacian smoothing theorem 1", "dp_fed_ls.theorem1"),
        ("Zheng Chen Long Su lemma 3.8", "federated_fdp.lemma3_8"),
        ("DP-FedSAM Privacy calculation theorem 2", "dp_fedsam.theorem2"),
        ("Theorem 14 Restatement of Theorem 5", "ae_dpfl.theorem14"),
    ],
)
def test_words_of_the_paper_find_the_statement(words: str, first: str) -> None:
    assert run("theorems", "search", words, "--json").json[0]["id"] == first
    shown = run("theorems", "show", *words.split())
    assert shown.code == 0 and shown.stdout.startswith(f"{first}\n")


def test_a_numbered_place_finds_it_in_every_paper() -> None:
    results = [row["id"] for row in run("theorems", "search", "Lemma 2", "--json").json]
    assert set(results[:3]) == {"dp_fed_ls.lemma2", "dp_fedsam.lemma2", "udp_fl.lemma2"}


# --- Phrases from the papers' own texts, typed as a reader would, each find their statement at once.

PHRASES = {
    "Differential Privacy Guarantee for DP-Fed-LS with Uniform Subsampling": "dp_fed_ls.theorem1",
    "RDP of the Gaussian mechanism with Poisson Subsampling, Lemma 3": "dp_fed_ls.lemma3",
    "Laplacian smoothing risk eigen-decomposition bias variance": "dp_fed_ls.proposition1",
    "weak federated f-differential privacy": "federated_fdp.definition3_5",
    "R-fold composition of GDP algorithms is GDP": "federated_fdp.lemma3_4",
    "PriFedSync Theorem 1": "federated_fdp.theorem1",
    "optimal choice of parameter theta for mode connectivity": "udp_fl.theorem5",
    "Laplace mechanism satisfies Renyi DP UDP-FL theorem 7": "udp_fl.theorem7",
    "UDP-FL Rényi divergence of the shuffle model lower bound N clients": "udp_fl.lemma3",
    "standard DP-FedAvg Geyer et al. algorithm 3": "ae_dpfl.algorithm3",
    "there is a singleton output that happens with probability 1 - q": "ae_dpfl.lemma13",
    "objective function of agents piecewise linear Proposition 10": "ae_dpfl.proposition10_a",
    "accumulative privacy budget after T communication rounds": "dp_fedsam.theorem2",
    "sub-sampling uniformly without replacement Lemma 4 FedSAM": "dp_fedsam.lemma4",
    "delta-approximate max divergence": "dp_fedsam.definition2",
    "Staircase mechanism minimum expectation of noise amplitude": "udp_fl.lemma1",
    "one-vs-all privacy notion other clients make allies": "federated_fdp.definition3_6",
    "(1+x)^n <= 1/(1-nx) Bernoulli": "dp_fed_ls.eq14",
}


@pytest.mark.parametrize(("phrase", "wanted"), PHRASES.items())
def test_a_phrase_finds_its_statement_first(phrase: str, wanted: str) -> None:
    assert search(phrase)[0].id == wanted


def test_there_are_phrases_of_all_five_papers() -> None:
    assert {wanted.partition(".")[0] for wanted in PHRASES.values()} == {
        *("dp_fed_ls", "federated_fdp", "udp_fl", "ae_dpfl", "dp_fedsam"),
    }


@pytest.mark.parametrize(
    ("misspelt", "wanted"),
    [
        ("convergance bound", "dp_fedsam.theorem3"),
        ("sensitvity of clipped updates", "dp_fedsam.lemma1"),
        ("shufle model lower bound", "udp_fl.lemma3"),
    ],
)
def test_a_misspelt_word_finds_it_all_the_same(misspelt: str, wanted: str) -> None:
    assert search(misspelt)[0].id == wanted


def test_a_number_is_not_taken_for_a_misspelling() -> None:
    assert search("Lemma 99") == []
