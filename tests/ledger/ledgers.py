"""Small ledgers for the tests, and what may be done to their two files."""

import shutil
from collections.abc import Callable
from pathlib import Path

import dpacct as dp
from dpacct.ledger.store import GENESIS, beside, seal

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


def announce(path: Path, length: int, count: int, mark: str, line: bytes = b"") -> None:
    """The head of version 1: what the ledger holds, and the line that comes next."""
    fields = {"length": length, "count": count, "mark": mark, "line": line.decode()}
    beside(path).write_bytes(seal(fields, GENESIS)[0])


def old(path: Path, *, more: int = 0) -> tuple[bytes, bytes]:
    """`small`, as dpacct wrote it in version 1, and announced by its head the last `more` lines (0 or 1).

    Returns (the file without these, these).
    """
    intents = [(STEP, ""), (OTHER, "a histogram"), (STEP * 10, ""), (OTHER * 5, "")][: 3 + more]
    budget = {"epsilon": "4", "delta": "0.00001", "adjacency": "add-remove", "unit": "record"}
    about = {"id": "0" * 32, "made": "now", "by": "dpacct 1", "budget": budget, "rule": "fixed"}
    records: list[dict[str, object]] = [{"n": 0, "ledger": "dpacct", "version": 1, **about}]
    for plan, label in intents:
        fields = {"n": len(records), "at": "now", "pid": 1, "intent": plan.to_dict()}
        records.append({**fields, "label": label} if label else fields)
    marks, data = [GENESIS], []
    for record in records:
        line, mark = seal(record, marks[-1])
        data.append(line)
        marks.append(mark)
    kept = b"".join(data[: len(data) - more])
    path.write_bytes(b"".join(data))
    announce(
        path, len(kept), len(data) - more, marks[-1 - more], b"".join(data[len(data) - more :])
    )
    return kept, b"".join(data[len(data) - more :])


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
