"""The README is a test: CI runs its command, and what it shows is what is printed."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.runner import run
from tests.structure import console
from tests.structure.project import ROOT, relative

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
