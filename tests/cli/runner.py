"""Runs `dpacct` the way users do, in this process (quick) or in one of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from dpacct.cli.main import root

PLAN = """
delta = 1e-5

[[step]]
sigma = 1.1
rate = 0.01
repeat = 1000

[[step]]
mechanism = "laplace"
b = 20
"""


@dataclass(frozen=True)
class Run:
    """What one command line did."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def run(*words: str) -> Run:
    """In this process; any exception that is no exit is the test's failure."""
    result = CliRunner().invoke(root, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def line(command: str) -> Run:
    """The words of `command`, split at blanks."""
    return run(*command.split())


def process(*words: str, cwd: Path | None = None, **environment: str) -> Run:
    """In a process of its own, with pipes for stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "dpacct", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
    )
    return Run(done.returncode, done.stdout, done.stderr)
