"""Did you mean ...? And: completion, version."""

import compileall
import io
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.answer.answer import safe_number
from dpacct.cli import command
from dpacct.cli.main import COMMANDS, load
from tests.cli.runner import PLAN, line, run
from tests.structure.project import ROOT

ALGORITHM = "federated --clients 50 --client-rate .1 --rounds 20 --noise-multiplier 2 --delta .01 --algorithm"


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("nosie --eps 1", "noise"),
        ("epz --sigma 1", "eps"),
        ("comprae", "compare"),
        ("eps --detla 1e-5", "--delta"),
        ("eps --Delta 1e-5", "--delta"),
        ("eps --sgima 1 --delta 1e-5", "--sigma"),
        ("eps --noise_multiplier 1", "--noise-multiplier"),
        ("eps --sampling-rate=0.1", "--rate"),
        ("eps --q 0.1", "--rate"),
        ("eps --clients 100", "--dataset-size"),
        ("federated --per-round 0.1", "--client-rate"),
        ("eps --num-steps 10", "--steps"),
        ("noise --target-epsilon 3", "--eps"),
        ("noise --max-grad-norm 3", "--clip"),
        ("curve --knd rdp", "--kind"),
        ("eps --sigma 1 --delta .1 --adjacency substitute", "replace-one"),
        ("eps --sigma 1 --delta .1 --method pld", "exact"),
        ("eps --sigma 1 --delta .1 --sampling poison", "poisson"),
        ("curve --kind trade-off --sigma 1", "tradeoff"),
        ("--vresion", "--version"),
    ],
)
def test_a_near_miss(command: str, meant: str) -> None:
    failed = line(command)
    assert failed.code == 2
    assert f"did you mean {meant}?" in failed.stderr
    assert failed.stderr.count("\n") == 1


def test_options_come_after_the_command() -> None:
    assert "before the command's name" in line("--sigma 1 eps").stderr
    assert "before the command's name" in line("--json eps").json["error"]["message"]


def test_version() -> None:
    from importlib.metadata import version

    assert line("--version").stdout == f"dpacct {version('dpacct')}\n"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("tables --no-trut", "did you mean --no-truth?"),
        ("tables nan", "paper must be one of"),
        ("curve --sigma 1 -q", "dpacct curve has no option -q: its answer is not a single number"),
        ("noise --sigma 1 --eps 1 --delta 1e-5", "no option --sigma, which dpacct eps has"),
        ("federated --delta 1e-5 --clients 9", "needs --batch-size, --records, --local-steps and"),
        ("eps --sigma 1 --delta .1 stray", "dpacct eps got unexpected extra argument (stray)"),
        ("shuffle --eps0 1 --delta 1e-6", "--clients must be given: clients whose messages"),
        ("audit docs/examples/scores.csv --adjacency swap", "--adjacency must be add-remove,"),
        (
            "eps --sigma 1 --rate 0.1 --steps 9 --delta 1e-5 --sampling uniform --adjacency add-remove",
            "--adjacency must be replace-one for uniform sampling, got add-remove",
        ),
    ],
)
def test_what_would_help_is_said(typed: str, says: str) -> None:
    done = line(typed)
    assert done.code == 2 and says in done.stderr


# --- Every example in a command's --help runs and answers.


EXAMPLES = [example for name in COMMANDS for example in load(name).examples]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (ROOT / "docs" / "examples").glob("*.*"):
        shutil.copy(file, tmp_path)
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    Path("votes.csv").write_text("60,5,5\n30,20,20\n10,55,5\n", encoding="utf-8")
    words = shlex.split(example)
    if words[0] == "ledger" and words[1] != "init":
        with dp.Ledger("year.ledger", budget=(4, 1e-5)) as ledger:
            ledger.spend(dp.Gaussian(sigma=20) * 10)
    if words[0] == "verify":
        assert line("eps --sigma 4 --delta 1e-5 --certificate out.json").code == 0
    done = run(*words)
    assert done.code == 0, done.stderr
    assert done.stdout or (tmp_path / words[-1]).stat().st_size > 1000
    if "--json" in words:
        assert done.json["schema"] == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_examples(name: str) -> None:
    shown = line(f"{name} --help")
    assert shown.code == 0
    command = load(name)
    assert command.examples, f"{name} has no example"
    for example in command.examples:
        assert f"dpacct {example}\n" in shown.stdout
    assert "\\b" not in shown.stdout and "\b" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 110


def test_help_lists_every_command() -> None:
    shown = line("--help").stdout
    places = [shown.index(f"\n  {name} ") for name in ("noise", "eps", "delta", "steps", "compare")]
    assert places == sorted(places)
    assert all(f"\n  {name}" in shown for name in COMMANDS)
    assert line("").stdout == shown


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("help noise", "noise --help"),
        ("help epsilon", "eps --help"),
        ("help", "--help"),
        ("epsilon --sigma 1 --delta 1e-5 -q", "eps --sigma 1 --delta 1e-5 -q"),
        (
            "eps --sigma 1 --rate 1% --steps 9 --delta 1e-5 -q",
            "eps --sigma 1 --rate 0.01 --steps 9 --delta 1e-5 -q",
        ),
        (f"{ALGORITHM} DP-FedAvg", f"{ALGORITHM} dp-fedavg"),
        (f"{ALGORITHM} dp_fedsam --missing 0", f"{ALGORITHM} DP-FedSAM"),
    ],
)
def test_what_people_type_is_understood(typed: str, same: str) -> None:
    done, usual = line(typed), line(same)
    assert usual.code == 0 and usual.stdout
    assert done.stdout.replace("dpacct epsilon", "dpacct eps") == usual.stdout


def test_zcdp_by_its_rho() -> None:
    answer = dp.ZCDP(rho="0.1") * 3
    assert line("eps --zcdp .1 --steps 3 --delta 1e-5 -q").stdout.strip() == safe_number(
        answer.epsilon("1e-5")
    )
    refused = line("eps --zcdp .1 --sigma 1 --delta 1e-5")
    assert (
        refused.code == 2 and "--zcdp is a release of its own: leave out --sigma" in refused.stderr
    )


@pytest.mark.parametrize("name", ["noise", "eps", "steps", "compare", "shuffle", "compose"])
def test_a_command_alone_shows_one_line_to_copy(name: str) -> None:
    failed = line(name)
    assert failed.code == 2 and failed.stderr.count("\n") == 1
    assert (
        f"dpacct {load(name).examples[0]}" in failed.stderr
        or "dpacct compose PLAN" in failed.stderr
    )


def test_the_answer_is_bold_on_a_terminal_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert command._bold("epsilon 1") == "epsilon 1"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert command._bold("epsilon 1") == "\x1b[1mepsilon 1\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert command._bold("epsilon 1") == "epsilon 1"


def test_help_needs_no_sources(tmp_path: Path) -> None:
    """Compiled files are enough, as in a frozen program."""
    shutil.copytree(
        ROOT / "dpacct", tmp_path / "dpacct", ignore=shutil.ignore_patterns("__pycache__")
    )
    compileall.compile_dir(tmp_path / "dpacct", quiet=2, legacy=True)
    for source in (tmp_path / "dpacct").rglob("*.py"):
        source.unlink()
    for words in (["--help"], ["eps", "--help"], ["eps", "--sigma", "1", "--delta", ".1"]):
        done = subprocess.run(
            [sys.executable, "-m", "dpacct", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )
        assert done.returncode == 0 and done.stdout, done.stderr
