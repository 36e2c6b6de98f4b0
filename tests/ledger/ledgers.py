"""Small ledgers for the tests."""

from pathlib import Path

import dpacct as dp

# Plain Gaussians: their epsilon is a closed form, so that a thousand ledgers cost next to nothing.
STEP = dp.Gaussian(sigma=30)
OTHER = dp.Gaussian(sigma=50)
BUDGET = (4, 1e-5)


def small(path: Path, *, closed: bool = True) -> dp.Ledger:
    """Three intents, of which the second is of another kind."""
    ledger = dp.Ledger(path, budget=BUDGET)
    ledger.spend(STEP)
    ledger.spend(OTHER, label="a histogram")
    ledger.spend(STEP * 10)
    if closed:
        ledger.close()
    return ledger
