"""Small ledgers for the tests, and what may be done to their two files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import dpacct as dp
from dpacct.ledger.head import beside

# Plain Gaussians: their epsilon is a closed form, so that a thousand ledgers cost next to nothing.
STEP = dp.Gaussian(sigma=30)
OTHER = dp.Gaussian(sigma=50)
BUDGET = (4, 1e-5)


def small(path: Path, *, closed: bool = True) -> dp.Ledger:
    """Three intents, of which the second is of another kind."""
    ledger = dp.Ledger(path, budget=BUDGET, adaptive=False)
    ledger.spend(STEP)
    ledger.spend(OTHER, label="a histogram")
    ledger.spend(STEP * 10)
    if closed:
        ledger.close()
    return ledger


def copied(path: Path, to: Path) -> Path:
    """The ledger's two files under another name."""
    shutil.copy(path, to)
    shutil.copy(beside(path), beside(to))
    return to


def edited(path: Path, change: Callable[[bytes], bytes]) -> Path:
    """The file, changed in place."""
    path.write_bytes(change(path.read_bytes()))
    return path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)
