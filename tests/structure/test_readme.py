"""The README is a test: CI runs its command, and what it shows is what is printed."""

import ast
import doctest
import fnmatch
import functools
import importlib
import math
import os
import re
import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import dpacct as dp
from dpacct.papers.registry import get
from figures.noise_by_method import DELTA, noise, plan
from tests.cli.runner import run
from tests.structure import console
from tests.structure.project import ROOT, modules, pyproject, relative, sources

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [c for page in console.pages() for c in console.shown(page)]


def shell_commands() -> list[str]:
    return re.findall(r"^```bash\n(.*?)\n```$", README, flags=re.MULTILINE | re.DOTALL)


def test_two_commands_do_everything() -> None:
    """Each is one line, valid on a bare Python 3.11."""
    main, test = shell_commands()[:2]
    assert all(c.startswith("python3.11 -m venv ") and "\n" not in c for c in (main, test))
    assert "dpacct noise --eps 7 " in main
    assert test.endswith("-m pytest -n 2")


def test_ci_runs_the_second() -> None:
    script = ROOT / ".ci" / "run"
    assert shell_commands()[1] in script.read_text(encoding="utf-8").splitlines()
    assert os.access(script, os.X_OK), "'chmod +x .ci/run'"


def test_the_first_command_is_shown_with_its_output() -> None:
    words = shlex.split(shell_commands()[0])
    ran = words[[w.endswith("/dpacct") for w in words].index(True) + 1 :]
    assert ["dpacct", *ran] in [shlex.split(c.command) for c in console.shown(ROOT / "README.md")]


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda s: f"{relative(s.page)}: {s.command}")
def test_output_is_what_is_printed(shown: console.Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's by the installed program; of other pages in this process, which takes a third of it."""
    if shown.page.name == "README.md":
        printed = console.normal(console.run(shown.command))
    else:
        monkeypatch.chdir(ROOT)
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setenv("NO_COLOR", "1")
        result = run(*console.words_of(shown.command))
        printed = console.normal(console.lines(result.stdout + result.stderr))
    assert printed == console.normal(shown.output), "python -m tests.structure.console rewrites it"


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")

ALL_PAGES = sorted({*console.pages(), *ROOT.glob("*.md"), *ROOT.glob("*/README.md")})


@pytest.mark.parametrize("page", ALL_PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    local = [u for u in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in u]
    assert not [u for u in local if not (page.parent / u).exists()]


# --- What answers, messages and helps send a reader to can be opened, from a wheel too.

PAGE = re.compile(r"docs/[\w/.-]+\.md")


def texts(tree: ast.AST) -> list[str]:
    """Every text in a module that may be printed: docstrings only of what a command's help shows."""
    helps = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and not (isinstance(node, ast.FunctionDef) and node.name == "command")
    }
    results = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in helps]
    return [node.value for node in results if isinstance(node.value, str)]


@functools.cache
def cited() -> dict[str, str]:
    """Each page that is named in a text, and where."""
    pages = {}
    for path in sources("dpacct", "training"):
        source = path.read_text(encoding="utf-8")
        for text in texts(ast.parse(source)) if PAGE.search(source) else ():
            pages.update(dict.fromkeys(PAGE.findall(text), relative(path)))
    return pages


def test_answers_cite_pages() -> None:
    assert "docs/theory/certificate.md" in cited()


@pytest.mark.parametrize("page", sorted(cited()))
def test_a_cited_page_is_there_and_shipped(page: str) -> None:
    """It comes with a wheel as share/doc/dpacct/docs/..."""
    assert (ROOT / page).is_file(), f"{cited()[page]} names {page}"
    shipped = pyproject()["tool"]["setuptools"]["data-files"]
    folder = "share/doc/dpacct/" + page.rpartition("/")[0]
    assert any(fnmatch.fnmatch(page, pattern) for pattern in shipped.get(folder, ())), page


def test_lines_that_install_work_from_a_checkout() -> None:
    """No index has a package of this name: what is printed installs the folder, with extras it has."""
    extras = set(pyproject()["project"]["optional-dependencies"])
    pages = [ROOT / "README.md", ROOT / "training/README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [
        (relative(path), line)
        for path in [*pages, *sources("dpacct", "training")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if "pip install" in line
    ]
    assert len(lines) > 8
    for where, line in lines:
        assert not re.search(r"pip install ['\"]?dpacct", line), f"{where}: {line}"
        for extra in re.findall(r"'\.\[([a-z-]+)\]'", line):
            assert extra in extras, f"{where}: there is no extra {extra}"


# --- Every example in a docstring, the README and docs runs and gives what is printed beside it.

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WITH_EXAMPLES = [n for n, p in modules() if ">>>" in p.read_text(encoding="utf-8")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstrings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert tried, f"{name} has '>>>' in its source and no example that doctest finds"
    assert not failed, capsys.readouterr().out


def python_blocks(page: Path) -> list[str]:
    return PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if python_blocks(p)], ids=relative)
def test_pages(page: Path) -> None:
    """The blocks of one page share their names, as a reader typing them along would."""
    text = "\n\n".join(python_blocks(page))
    assert ">>>" in text, "a Python block without a prompt is never run: write it as a session"
    example = doctest.DocTestParser().get_doctest(text, {}, relative(page), str(page), 0)
    report: list[str] = []
    with warnings.catch_warnings():
        if "migrate" in page.parts:  # other people's libraries warn about each other
            warnings.simplefilter("ignore")
        doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append)
    assert not report, "".join(report)


# --- The README's table of what papers claim: each number is computed again, and rounded as printed.

HEADING = "## What papers claim"


class Row(NamedTuple):
    """A line of the table, cell by cell."""

    statement: str
    setting: str
    promised: str
    true: str


def rows() -> list[Row]:
    """The table below the heading, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Row(*row) for row in cells]


def printed(theorem: str, **values: object) -> float:
    """What a statement says, as printed."""
    return float(get(theorem).evaluate(values, as_printed=True))


def coin(held: bool) -> float:
    """50 local steps of sigma 1 under one client coin of 0.1, or each under a coin of its own."""
    step = dp.Gaussian(sigma=1)
    sampled = dp.Poisson(0.1)(step * 50) if held else dp.Poisson(0.1)(step) * 50
    return float(sampled.epsilon(delta=1e-5))


def fedsam() -> dp.Answer:
    """The run of DP-FedSAM's Section 6.1 as its Algorithm 1 samples, with sigma as it is printed."""
    plan = dp.federated.DPFedSAM(
        clients=500, client_rate="0.1", rounds=200, noise_multiplier="0.95", noise_by="server"
    )
    return plan.epsilon(delta="1/500")


def dp_fed(route: str, end: str) -> float:
    """Epsilon of DP-Fed on MNIST at the noise that Theorem 1 asks for when it promises 20."""
    return float(getattr(plan("uniform", noise("uniform", route, 20.0)).epsilon(delta=DELTA), end))


def by(method: str) -> float:
    """Epsilon of a thousand steps, by one method."""
    run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    return float(run.epsilon(delta=1e-5, method=method).value)


def vote() -> float:
    """Renyi divergence of order 6 of the label, votes (6, 0) against (7, 0), noise 1 on each count."""
    few, fewer = (0.5 * math.erfc(gap / 2.0) for gap in (6.0, 7.0))
    return math.log(few**6 * fewer**-5 + (1.0 - few) ** 6 * (1.0 - fewer) ** -5) / 5.0


def shuffled_pair() -> float:
    """Renyi divergence of order 8 of two shuffled binary randomised responses with eps0 = 1."""
    p = math.e / (1.0 + math.e)
    # number of ones, the first client's bit being 1 or 0 and the other's 0 (Lemma 2's worst pair)
    sent = ((1 - p) * p, p * p + (1 - p) ** 2, p * (1 - p))
    none = (p * p, 2 * p * (1 - p), (1 - p) ** 2)
    both = [
        math.log(sum(a**8 * b**-7 for a, b in zip(x, y, strict=True))) / 7.0
        for x, y in ((sent, none), (none, sent))
    ]
    return max(both)


FIXED, POISSON = "fixed size; replace-one", "Poisson; add-remove"
COMPUTED: list[tuple[str, str, Callable[[], float], Callable[[], float | dp.Answer]]] = [
    (
        "DP-FedSAM, Theorem 2",
        FIXED,
        lambda: printed("dp_fedsam.theorem2", rate=0.1, sigma=0.95, rounds=200, delta=1 / 500),
        fedsam,
    ),
    (
        "Noise calibrated for epsilon 20 with the formula",
        FIXED,
        lambda: 20.0,
        lambda: dp_fed("no conditions", "lower"),
    ),
    (
        "The same target",
        FIXED,
        lambda: 20.0,
        lambda: dp_fed("theorem", "upper"),
    ),
    ("Clients sampled once per round", POISSON, lambda: coin(held=False), lambda: coin(held=True)),
    ("Central-limit (GDP) estimate", POISSON, lambda: by("clt"), lambda: by("exact")),
    (
        "UDP-FL, Theorem 2",
        "none; any",
        lambda: printed("udp_fl.theorem2", alpha=1.1, lam=10, nu=0.5),
        lambda: float(dp.Staircase(eps0=10, nu=0.5).rdp(1.1)),
    ),
    (
        "UDP-FL, Lemma 2",
        "none; replace-one",
        lambda: printed("udp_fl.lemma2", alpha=8, epsilon=1, clients=2),
        shuffled_pair,
    ),
    (
        "Private voting, Theorem 14",
        "none; add-remove",
        lambda: printed("ae_dpfl.theorem14", votes=[6, 0], sigma=1, alpha=6),
        vote,
    ),
]


@pytest.mark.parametrize("index", range(len(COMPUTED)), ids=[row[0] for row in COMPUTED])
def test_row(index: int) -> None:
    name, setting, promised, true = COMPUTED[index]
    row = rows()[index]
    assert row.statement.startswith(name) and row.setting == setting
    for text, value in ((row.promised, promised()), (row.true, true())):
        shown = re.findall(r"\d+\.?\d*", text)
        places = len(shown[-1].partition(".")[2])
        if isinstance(value, float):
            assert f"{value:.{places}f}" == shown[-1], (text, value)
        else:  # an interval, rounded outwards
            lower, upper = (float(end) for end in shown)
            assert value.lower is not None and value.upper is not None
            assert 0 <= value.lower - lower < 10**-places, (text, value)
            assert 0 <= upper - value.upper < 10**-places, (text, value)


def test_every_row_is_computed() -> None:
    assert len(rows()) == len(COMPUTED)


def test_the_settings_are_those_of_the_plans() -> None:
    """Fixed size fixes replace-one; coins are for add-remove unless another adjacency is asked for."""
    fixed = plan("uniform", 1.0)
    assert "without-replacement" in fixed.to_json()
    assert str(fixed.epsilon(delta=DELTA, method="exact").adjacency) == "replace-one"
    assert str(fedsam().adjacency) == "replace-one"
    coins = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
    assert str(coins.epsilon(delta=1e-5, method="exact").adjacency) == "add-remove"
