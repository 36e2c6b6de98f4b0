"""Two writers on one ledger: `python -m tests.ledger.race 1000 1200` spends 1,000 each, 1,200 fit."""

import argparse
import os
import tempfile
from pathlib import Path

import dpacct as dp
from tests.ledger.ledgers import STEP

BUDGET = (8, 1e-5)


def writer(path: Path, spends: int) -> int:
    """How many of so many spends were granted."""
    granted = 0
    with dp.Ledger(path) as ledger:
        for _ in range(spends):
            try:
                ledger.spend(STEP)
            except dp.BudgetExceeded:
                continue
            granted += 1
    return granted


def race(path: Path, spends: int) -> list[int]:
    """What each of two processes was granted, running at the same time."""
    pipes = []
    for _ in range(2):
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(into, str(writer(path, spends)).encode())
            os._exit(0)
        os.close(into)
        pipes.append((child, out))
    granted = []
    for child, out in pipes:
        _, status = os.waitpid(child, 0)
        assert status == 0
        granted.append(int(os.read(out, 100)))
        os.close(out)
    return granted


def main() -> None:
    """Race once, and compare what was granted with what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spends", type=int)
    parser.add_argument("fit", type=int)
    parser.add_argument("--folder", default=None)
    chosen = parser.parse_args()
    path = Path(chosen.folder or tempfile.mkdtemp()) / "race.ledger"
    dp.Ledger(path, budget=BUDGET, plan=STEP * chosen.fit).close()
    granted = race(path, chosen.spends)
    with dp.Ledger(path) as ledger:
        counted = len(ledger.intents)
    assert counted == sum(granted) == min(chosen.fit, 2 * chosen.spends), (granted, counted)
    print(f"granted {granted[0]} + {granted[1]}, counted {counted}, {chosen.fit} fit")


if __name__ == "__main__":
    main()
