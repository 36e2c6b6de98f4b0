"""In a process of its own: start-up time, pipes, signals, no colours, no warnings."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.runner import process

EPS = ["eps", "--sigma", "1.1", "--rate", "0.01", "--steps", "1000", "--delta", "1e-5"]
LATE = {"rich", "matplotlib", "sympy", "mpmath", "scipy.stats", "scipy.optimize"}
NUMBERS = {"numpy", "scipy", "rich", "matplotlib"}


@pytest.mark.parametrize(
    ("words", "most", "most_own", "late"),
    [(["--help"], 320, 80, NUMBERS), (["--version"], 260, 30, NUMBERS), (EPS, 520, 150, LATE)],
    ids=["help", "version", "eps"],
)
def test_a_cold_start_loads_little(
    words: list[str], most: int, most_own: int, late: set[str]
) -> None:
    """So many modules at most, so many of the package's own, and none of these."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "dpacct", *words], capture_output=True, text=True
    )
    assert done.returncode == 0
    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    modules = [name for name in loaded if name.partition(".")[0] == "dpacct"]
    assert modules and len(modules) <= most_own and len(loaded) <= most
    assert "click" in loaded and not late.intersection(loaded)


def test_no_colour_codes_and_no_warnings() -> None:
    for words in (EPS, ["compare", *EPS[1:]], ["eps", "--help"], ["eps", "--nope"]):
        done = process(*words, PYTHONWARNINGS="default", FORCE_COLOR="1")
        assert "\x1b" not in done.stdout + done.stderr
        assert "Warning" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_leaves_is_no_error() -> None:
    # Unbuffered, Python itself takes a write cut short for a whole one.
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    command = f"{sys.executable} -m dpacct curve --sigma 2 --points 100000 --kind rdp"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env=buffered,
    )
    head, code = done.stdout.splitlines()
    assert head.startswith("order,epsilon,")
    assert code == "141"
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_130(tmp_path: Path) -> None:
    fifo = tmp_path / "plan.toml"
    os.mkfifo(fifo)  # nobody writes: the command waits until it is interrupted
    started = subprocess.Popen(
        [sys.executable, "-m", "dpacct", "compose", str(fifo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(fifo, "w", encoding="utf-8"):  # opens when the command has opened it to read
        started.send_signal(signal.SIGINT)
        stdout, stderr = started.communicate(timeout=100)
    assert started.returncode == 130
    assert stdout == "" and stderr == "error: interrupted.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("words", [EPS, [*EPS, "--json"], ["theorems", "list"], ["eps", "--x"]])
def test_a_full_disk_is_one_sentence(words: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpacct", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 1
    wrong = "has no option" if words[-1] == "--x" else "cannot write to standard output: No space"
    assert wrong in lines[0]
