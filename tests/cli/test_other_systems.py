"""A system without POSIX modules, and a console that lacks characters: as Windows has them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.project import ROOT

# Started as another program is: these modules cannot be had, and a warning is an error.
WITHOUT_POSIX = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "resource", "termios", "pwd", "grp", "tty", "pty"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules.pop(name, None)
from importlib import import_module
sys.exit(import_module(sys.argv[1]).main(sys.argv[2:]))
"""
PLAN = "docs/examples/plan.toml"
COMMANDS = (
    "--help",
    "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
    "noise --eps 2 --delta 1e-5 --quiet",
    "curve --sigma 1 --points 5",
    "report docs/examples/plan.toml --quiet",
    "theorems show dp_fedsam.theorem2",
    "ledger --help",
)


def started(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_needs_posix(command: str) -> None:
    done = started("-c", WITHOUT_POSIX, "dpacct.cli.main", *command.split())
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout


@pytest.mark.parametrize("command", ["--help", "run --help", "run docs/none.toml"])
def test_training_needs_no_posix(command: str) -> None:
    done = started("-c", WITHOUT_POSIX, "dpacct_training.cli.main", *command.split())
    assert b"Traceback" not in done.stderr and b"inside itself" not in done.stderr
    # 7: without the libraries of the training extra it says so before it reads the file
    assert done.returncode in ({2, 7} if "none" in command else {0})


STEP = """
delta = 1e-6
adjacency = "add-remove"
unit = "client"
[[step]]
noise_multiplier = 2
[assumptions]
sensitivity = { status = "held", evidence = "every update passes through clip(0.3)" }
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """The example's words about one release, whose report takes no time."""
    about = (ROOT / PLAN).read_text(encoding="utf-8").partition("[report]")
    (tmp_path / "plan.toml").write_text(STEP + "".join(about[1:]), encoding="utf-8")
    return str(tmp_path / "plan.toml")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
def test_a_pipe_gets_utf_8_on_every_system(encoding: str, plan: str) -> None:
    words = ("-m", "dpacct", "report", plan)
    done = started(*words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr.decode()
    assert re.search(r"epsilon: ≤ 2\.25\d{7,}\n", done.stdout.decode("utf-8"))


def test_a_path_that_the_console_cannot_show() -> None:
    """An error names the file all the same."""
    done = started(
        *("-m", "dpacct", "compose", "ключ.toml"), PYTHONIOENCODING="cp1252", PYTHONUTF8="0"
    )
    assert done.returncode == 2 and done.stderr.startswith(b"error: ")
