"""Every code block of the README and the docs is run, or read by what it is written for.

Sessions are run by tests/structure/test_readme.py. This asks that no other kind of block hides among them.
"""

import json
import re
import shlex
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import dpacct as dp
from dpacct.answer.answer import KNOWN, PROTECTS
from dpacct.cli.main import Root
from dpacct.papers.oracles.oracle import oracle_of
from dpacct.papers.registry import get
from dpacct.vocabulary import Adjacency, Side, Strength, Unit
from figures.record import from_csv
from tests.cli.runner import line
from tests.structure import console
from tests.structure.project import ROOT, relative

FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<kind>[^\n]*)\n(?P<text>.*?)^(?P=mark)$", re.M | re.S)
RUN = {"python", "pycon", "console"}
READ = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}
PAGES = [*console.pages(), ROOT / "CONTRIBUTING.md"]
BLOCKS = [
    pytest.param(page, block, id=f"{relative(page)}:{block['kind']}{i}")
    for page in PAGES
    for i, block in enumerate(FENCE.finditer(page.read_text(encoding="utf-8")))
]
# Text that is printed by a longer program may stand under a comment that names the test of it.
TRIED_BY = re.compile(r"<!-- (tests/\S+\.py) [^>]*-->\s*$")


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_a_block_is_of_a_kind_that_is_tried(page: Path, block: re.Match[str]) -> None:
    kind, text = block["kind"], block["text"]
    if kind == "text":
        named = TRIED_BY.search(block.string[: block.start()])
        assert named, f"{relative(page)}: nothing tries this text"
        assert page.name in (ROOT / named[1]).read_text(encoding="utf-8")
    elif kind in READ:
        READ[kind](text)
    elif kind in ("sh", "bash"):
        for line in text.splitlines():
            words = shlex.split(line, comments=True)
            named = [w for w in words if w.endswith(".py") and "/" in w]
            assert not [w for w in named if not (ROOT / w).is_file()]
    else:
        assert kind in RUN, f"{relative(page)}: nothing runs a block of kind {kind!r}"


def test_only_readme_installs() -> None:
    """A shell block is only looked at, so it may stand where CI runs it, or where a run takes hours."""
    shell = {relative(p.values[0]) for p in BLOCKS if p.values[1]["kind"] in ("sh", "bash")}
    assert shell <= {"README.md", "docs/benchmarks.md"}


# --- The table of printed and true numbers in docs/findings.md says what the code computes.

FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
TRUTHS = {
    name: (says, [float(x) for x in re.findall(r"\d+\.\d+", true)])
    for name, says, true in re.findall(
        r"^\| ([^|]+) \| ([\d.]+) \| ([^|]+) \|", FINDINGS, flags=re.M
    )
}


@cache
def table(paper: str) -> list[dict[str, Any]]:
    """`dpacct tables` of one paper."""
    rows: list[dict[str, Any]] = json.loads(console.run(f"dpacct tables {paper} --json"))
    return rows


@pytest.mark.parametrize(
    ("name", "paper", "part"),
    [
        ("DP-Fed-LS, Table 2, SVHN, uniform, z = 1", "dp_fed_ls", "Table 2, SVHN, uniform, z = 1"),
        ("DP-Fed-LS, Theorem 1, promise 6", "dp_fed_ls", "MNIST, uniform, epsilon = 6"),
        ("DP-FedSAM, Table 2, budget 8, met by its Eq. (17)", "dp_fedsam", "epsilon = 8"),
    ],
)
def test_rows_of_printed_tables(name: str, paper: str, part: str) -> None:
    says, (low, high) = TRUTHS[name]
    results = [r for r in table(paper) if f"{r['table']}, {r['cell']}".endswith(part)]
    (row,) = results
    assert float(says) == row["printed"]
    digits = 1 if high > 10 else 2
    assert 0 <= row["exact"]["lower"] - low < 10**-digits, "rounded down"
    assert 0 <= high - row["exact"]["upper"] < 10**-digits, "rounded up"


def test_the_shuffled_row() -> None:
    says, (true,) = TRUTHS["UDP-FL, Lemma 2, 100 clients with ε₀ = 2"]
    drawn = from_csv((ROOT / "figures" / "shuffle_bounds.csv").read_text(encoding="utf-8"))
    results = {r["bound"]: r["epsilon"] for r in drawn if (r["eps0"], r["clients"]) == (2, 100)}
    assert float(says) == pytest.approx(float(results["udp_fl.lemma2"]), abs=5e-4)
    assert 0 <= float(results["truth, at least"]) - true < 0.01


def test_the_voting_row() -> None:
    says, (true,) = TRUTHS["AE-DPFL, Theorem 14, votes 6 to 0, noise 1, order 6"]
    statement = get("ae_dpfl.theorem14")
    judge = oracle_of(statement)
    assert statement.witness and judge
    values = statement.checked(statement.witness[0])
    assert values == {"votes": (6, 0), "sigma": 1.0, "alpha": 6.0}
    comparison = judge.compare(statement, values)
    assert comparison
    assert (comparison.claimed, comparison.lower) == pytest.approx((float(says), true), abs=5e-4)


def test_each_row_is_tried() -> None:
    """The limit's row is run by the block under the table."""
    assert len(TRUTHS) == 6
    assert "1.13 3.09" in FINDINGS


# --- Every word of the first screens stands in the glossary.

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = re.findall(r"^\| ([^|]+?) \|", GLOSSARY, flags=re.MULTILINE)


def test_each_term_stands_once() -> None:
    named = [term for term in TERMS if term not in ("term", "---")]
    assert len(named) == len({*named}) > 40


def test_words_of_answers_are_explained() -> None:
    words = [*Strength, *Unit, *Adjacency, *Side, *PROTECTS]
    value = {str(word) for word in words} - {"refuted", "none"}
    assert not [word for word in value if word not in GLOSSARY]
    shown = {text.split()[0].strip(",:;") for text in KNOWN.values()} - {"an", "as"}
    assert shown == {"proved", "bracketed", "computed"} and all(
        f"| {word} |" in GLOSSARY for word in shown
    )


def test_words_of_the_first_line_are_explained() -> None:
    for word in ("epsilon", "delta", "noise multiplier", "sigma", "step", "epoch", "advantage"):
        assert word in TERMS


# --- What the pages for newcomers say of other libraries is what the benchmark measured.

MIGRATE = ROOT / "docs" / "migrate"
RESULTS = json.loads((ROOT / "tests" / "benchmarks" / "results.json").read_text(encoding="utf-8"))
CASE = "W1 a"  # sigma 1.1, rate 0.01, 1000 steps, delta 1e-5
PEERS = {
    "dpacct": "dpacct",
    "[dp_accounting](dp-accounting.md), PLD": "dpa_pld",
    "dp_accounting, RDP": "dpa_rdp",
    "[prv_accountant](prv-accountant.md)": "prv",
    "[Opacus](opacus.md), PRV": "opacus_prv",
    "[autodp](autodp.md), RDP": "autodp_rdp",
}


def measured(peer: str) -> float:
    (row,) = (r for r in RESULTS["rows"] if r["case"] == CASE and r["peer"] == peer)
    return float(row["values"][0])


def test_the_table_side_by_side() -> None:
    text = (MIGRATE / "README.md").read_text(encoding="utf-8")
    result = dict(re.findall(r"^\| ([^|]+) \| `[^|]*` \| ([\d.]+) \|$", text, flags=re.M))
    assert set(result) == set(PEERS)
    for name, peer in PEERS.items():
        digits = len(result[name].partition(".")[2])
        assert float(result[name]) == pytest.approx(measured(peer), abs=0.5001 * 10**-digits), name


def test_numbers_of_peers_beside_our_code() -> None:
    """In comments of the blocks, where the code of another library can't run."""
    results = {
        ("prv-accountant.md", "prv"): r"upper end ([\d.]+)",
        ("autodp.md", "autodp_rdp"): r"autodp's RDP: ([\d.]+)",
    }
    for (page, peer), pattern in results.items():
        said = re.search(pattern, (MIGRATE / page).read_text(encoding="utf-8"))
        assert said
        assert float(said[1]) == pytest.approx(measured(peer), abs=1e-3)


# --- Every flag, JSON key and name of the notation table exists.

NOTATION = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
WORDS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in NOTATION.splitlines()
    if line.startswith("|") and not line.startswith(("| symbol", "| word", "|---"))
]
CODE = re.compile(r"`([^`]+)`")


def test_every_flag_is_an_option() -> None:
    root = Root("dpacct")
    above = click.Context(root)
    commands = [root.get_command(above, name) for name in root.list_commands(above)]
    options = {opt for command in commands if command for p in command.params for opt in p.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", NOTATION))
    assert len(named) > 15
    assert not named - options


def test_every_key_of_a_plan_is_saved_under_that_name() -> None:
    step = dp.Gaussian(noise_multiplier=1, clip=2)
    plans = [
        dp.Poisson("0.1")(step) * 3,
        dp.Gaussian(sigma=1),
        dp.Laplace(b=1),
        dp.Staircase(eps0=1, nu="0.3"),
        dp.RandomizedResponse(eps0=1, k=3),
        dp.ZCDP(rho=1),
        dp.Shuffle(eps0=1, clients=100),
    ]
    saved = set(re.findall(r'"(\w+)":', " ".join(plan.to_json() for plan in plans)))
    named = set(re.findall(r"`plan\.(\w+)`", NOTATION))
    assert {"sigma", "rate", "steps", "rho"} <= named
    assert not named - saved


@pytest.mark.parametrize("kind", ["profile", "tradeoff", "rdp"])
def test_columns_of_curves(kind: str) -> None:
    (row,) = (r for r in WORDS if f"curve --kind {kind}" in r[2])
    column = CODE.findall(row[3])[0].removeprefix("columns.")
    document = json.loads(console.run(f"dpacct curve --sigma 1 --kind {kind} --json"))
    assert column in document["columns"]


def test_keys_and_attributes_of_an_answer() -> None:
    answer = dp.Gaussian(sigma=1).epsilon(delta="1e-5")
    words = [r for r in WORDS if r[1].startswith(("`.", "`float"))]
    assert len(words) >= 5
    for _, code, keys, _ in words:
        names = [name for name in CODE.findall(code) if name.startswith(".")]
        assert all(hasattr(answer, name[1:]) for name in names)
        results = [key for key in CODE.findall(keys) if not key.startswith("-")]
        assert set(results) <= set(answer.to_dict())


def test_constructors_and_calls() -> None:
    """Each name with a bracket is a public name, or a method of a plan or a trade-off function."""
    column = [name for r in WORDS for name in CODE.findall(r[1]) if "(" in name]
    heads = {name.partition("(")[0] for name in column}
    for head in heads - {"float"}:
        of, _, method = head.rpartition(".")
        owner = dp.TradeOff if of == "f" else dp.Node
        assert hasattr(dp, head) or hasattr(owner, method or head), head


# --- What README and docs say of the registry as a whole is counted in it.


@cache
def listed() -> list[dict[str, Any]]:
    """`dpacct theorems list --json`."""
    document: list[dict[str, Any]] = line("theorems list --json").json
    return document


def page(name: str) -> str:
    """Its text on one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_the_counts_of_the_readme() -> None:
    papers = Counter(entry["paper"] for entry in listed())
    five = sum(count for _, count in papers.most_common(5))
    verdicts = Counter(entry["verdict"] for entry in listed())
    refuted = sum(entry["status"] == "refuted" for entry in listed())
    text = page("README.md")
    assert (
        f"{len(listed())} statements of {len(papers)} papers ({five} of them from five) with verdicts: "
        f"{verdicts['false']} are false as printed and {verdicts['ill-posed']} ill-posed; "
        f"{refuted} have a counter-example"
    ) in text
    assert f"the statements of {len(papers)} papers" in text


def test_every_status_and_verdict_that_is_explained_is_used() -> None:
    text = (ROOT / "docs/registry.md").read_text(encoding="utf-8")
    for heading, key in (("**Verdicts.**", "verdict"), ("**Statuses**", "status")):
        paragraph = text.split(heading, 1)[1].split("\n\n", 1)[0]
        paragraph = paragraph.split(" A `refuted` or", 1)[0]
        explained = set(re.findall(r"`([a-z-]+)`", paragraph))
        assert explained == {entry[key] for entry in listed()}
