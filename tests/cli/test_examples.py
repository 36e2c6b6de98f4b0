"""Every example in a command's --help runs and answers."""

import shlex
import shutil
from pathlib import Path

import click
import pytest

import dpacct as dp
from dpacct.cli.main import load, names, root
from tests.cli.runner import PLAN, SWEEP, line, run
from tests.structure.project import ROOT

EXAMPLES = [example for name in names() for example in load(name).declared.examples]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (ROOT / "docs" / "examples").glob("*.*"):
        shutil.copy(file, tmp_path)
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    Path("sweep.toml").write_text(SWEEP, encoding="utf-8")
    Path("votes.csv").write_text("60,5,5\n30,20,20\n10,55,5\n", encoding="utf-8")
    words = shlex.split(example)
    if words[0] == "ledger":
        with dp.Ledger("run.ledger", budget=(4, 1e-5), adaptive=False) as ledger:
            ledger.spend(dp.Gaussian(sigma=20) * 10)
    if words[0] == "verify":
        assert line("eps --sigma 4 --delta 1e-5 --certificate out.json").code == 0
    done = run(*words)
    assert done.code == 0, done.stderr
    assert done.stdout or (tmp_path / words[-1]).stat().st_size > 1000
    if "--json" in words:
        assert done.json["schema"] == 1


@pytest.mark.parametrize("name", names())
def test_help_shows_the_examples(name: str) -> None:
    shown = line(f"{name} --help")
    assert shown.code == 0
    command = load(name)
    assert command.declared.examples, f"{name} has no example"
    for example in command.declared.examples:
        assert f"dpacct {example}\n" in shown.stdout
    assert "\\b" not in shown.stdout and "\b" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 110


def test_help_lists_every_command() -> None:
    shown = line("--help").stdout
    places = [shown.index(f"\n  {name} ") for name in ("noise", "eps", "delta", "steps", "compare")]
    assert places == sorted(places)
    assert all(f"\n  {name}" in shown for name in names())
    assert line("").stdout == shown


def test_a_command_without_a_parent_has_the_short_help_too() -> None:
    """A sweep parses its command by itself, and click keeps the help option of the first parse."""
    for name in root.list_commands(click.Context(root)):
        command = root.get_command(click.Context(root), name)
        assert command is not None
        assert command.get_help_option_names(click.Context(command)) == ["--help", "-h"], name
