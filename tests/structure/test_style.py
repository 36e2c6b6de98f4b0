"""Lint, format and types are tests, so that one command says whether a change is fit."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.structure.project import ROOT


def check(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


def test_lint() -> None:
    check("ruff", "check", ".")


def test_format() -> None:
    check("ruff", "format", "--check", "--diff", ".")


@pytest.mark.timeout(300)
def test_types() -> None:
    check("mypy")
