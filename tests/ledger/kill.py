"""Kill a writing loop with SIGKILL, again and again: `python -m tests.ledger.kill 1000`.

A child counts a step, and only then "releases": it writes one byte into a pipe. The parent kills it at
a random moment and reopens the ledger. What was counted before must all be there; of the child's
own, at least what it released and at most what it tried.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import dpacct as dp
from tests.ledger.ledgers import STEP

BUDGET = (1000, 1e-5)


def loop(path: Path, tried: int, released: int) -> None:
    """The child: spend, then release, for ever."""
    with dp.Ledger(path) as ledger:
        while True:
            os.write(tried, b"t")
            with ledger.release(STEP):
                os.write(released, b"r")


def drained(pipe: int) -> int:
    """How many bytes a dead child had written."""
    count = 0
    while chunk := os.read(pipe, 65536):
        count += len(chunk)
    os.close(pipe)
    return count


def one_kill(path: Path, after: float) -> tuple[int, int]:
    """(releases, tries) of a child that lived about `after` seconds past its first try."""
    tried_out, tried_in = os.pipe()
    released_out, released_in = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            loop(path, tried_in, released_in)
        finally:
            os._exit(1)
    os.close(tried_in)
    os.close(released_in)
    first = len(os.read(tried_out, 1))
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return drained(released_out), first + drained(tried_out)


def main() -> None:
    """Print what was counted, or fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--folder")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    folder = Path(chosen.folder or tempfile.mkdtemp())
    path = folder / "killed.ledger"
    dp.Ledger(path, budget=BUDGET, plan=STEP * 10**6).close()
    before = between = 0
    for kill in range(chosen.kills):
        if before > 2000:  # a fresh file now and then keeps the reopening quick
            path = folder / f"killed-{kill}.ledger"
            dp.Ledger(path, budget=BUDGET, plan=STEP * 10**6).close()
            before = 0
        released, tried = one_kill(path, random.expovariate(1 / 0.006))
        with dp.Ledger(path) as ledger:
            counted = 0 if ledger.plan is None else ledger.plan.facts.total
            assert counted == len(ledger.intents), (counted, len(ledger.intents))
        assert before + released <= counted <= before + tried, (before, released, counted, tried)
        between += counted - before - released
        before = counted
    print(
        f"{chosen.kills} kills: every release was counted; {between} intents were counted whose"
        " release never came"
    )


if __name__ == "__main__":
    main()
