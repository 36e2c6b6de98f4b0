"""Whatever moment a process dies at, the ledger opens again and counts every intent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger.head import SECTOR, Head, beside
from dpacct.ledger.record import seal
from dpacct.ledger.store import Store
from tests.ledger.ledgers import BUDGET, OTHER, STEP, lines, small
from tests.structure.project import ROOT


def announced(path: Path) -> tuple[bytes, bytes]:
    """A ledger whose head announces one more intent: (the file before it, the intent's line)."""
    small(path)
    before = path.read_bytes()
    mark = lines(path)[-1][-65:-1].decode()
    fields = {"n": 4, "at": "now", "pid": 1, "intent": (OTHER * 5).to_dict()}
    line, _ = seal(fields, mark)
    Head(len(before), 4, mark, line).save(path)
    return before, line


def test_every_torn_write_counts(tmp_path: Path) -> None:
    """The announced line may be missing, cut off anywhere, or zeros from a sector's edge on."""
    path = tmp_path / "a.ledger"
    before, line = announced(path)
    head = beside(path).read_bytes()
    tails = [line[:cut] for cut in range(0, len(line), 7)]
    tails += [
        line[:cut] + bytes(len(line) - cut)
        for cut in range(len(line))
        if cut == 0 or (len(before) + cut) % SECTOR == 0
    ]
    assert len(tails) > 20
    for tail in tails:
        path.write_bytes(before + tail)
        beside(path).write_bytes(head)
        reader = Store(path, writable=False, timeout=5)
        with reader.session():
            assert reader.repaired == [4] and len(reader.records) == 5
        reader.close()
        with dp.Ledger(path) as ledger:
            assert ledger.recovered == (4,)
            assert ledger.intents[-1]["n"] == 4
            assert dict(ledger.plan.releases()) == {STEP: 11, OTHER: 6}
        with dp.Ledger(path) as ledger:  # and it is said for ever after
            assert ledger.recovered == (4,) and len(ledger.intents) == 4


def test_a_reader_of_a_torn_ledger_may_ask_twice(tmp_path: Path) -> None:
    """It counts the announced line from the head, and still does when somebody has completed it."""
    path = tmp_path / "a.ledger"
    before, line = announced(path)
    path.write_bytes(before + line[:20])
    with dp.Ledger(path, read_only=True) as reader:
        assert reader.spent().upper == reader.spent().upper
        assert reader.recovered == (4,)
        assert path.read_bytes() == before + line[:20]  # who only reads writes nothing
        with dp.Ledger(path) as writer:
            writer.spend(STEP)
        plan = reader.refresh().plan
        assert plan is not None
        assert dict(plan.releases()) == {STEP: 12, OTHER: 6}
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(dp.LedgerDamaged):
        dp.Ledger(path, read_only=True).spent()


def test_the_whole_line_without_the_close_is_nothing_special(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    before, line = announced(path)
    path.write_bytes(before + line)
    with dp.Ledger(path) as ledger:
        assert ledger.recovered == () and len(ledger.intents) == 4


@pytest.mark.parametrize("file", [None, b"", b'{"n":0,"led'])
def test_a_crash_while_the_ledger_is_made(tmp_path: Path, file: bytes | None) -> None:
    """Before the head: there is no ledger yet. After it: the first line is completed."""
    path = tmp_path / "a.ledger"
    dp.Ledger(path, budget=BUDGET, adaptive=False)._store.close()
    first = path.read_bytes()
    path.write_bytes(file or b"")
    if file is None:
        beside(path).unlink()
        with pytest.raises(dp.InvalidArgument, match="new ledger"):
            dp.Ledger(path)
        return
    with dp.Ledger(path, budget=BUDGET) as ledger:
        assert ledger.recovered == (0,) and lines(path)[0] == first


FULL_DISK = """
import resource, signal, sys
import dpacct as dp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = dp.Ledger(sys.argv[1])
most = ledger.path.stat().st_size + 50
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    ledger.spend(dp.Gaussian(sigma=50))
except OSError as error:
    print(error.strerror)
"""


def test_a_full_disk_counts_what_it_could_not_write(tmp_path: Path) -> None:
    """The append fails in the middle of a line (a limit on the file's size stands for the disk)."""
    path = tmp_path / "a.ledger"
    small(path)
    size = path.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("File too large; nothing may be released")
    assert path.stat().st_size == size + 50
    with dp.Ledger(path) as ledger:
        assert ledger.recovered == (4,) and dict(ledger.plan.releases()) == {STEP: 11, OTHER: 2}


def test_what_was_not_released_stays_spent(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with (
        dp.Ledger(path, budget=BUDGET, adaptive=False) as ledger,
        pytest.raises(ZeroDivisionError),
        ledger.release(STEP),
    ):
        _ = 1 / 0
    with dp.Ledger(path) as ledger:
        assert ledger.plan == STEP and ledger.outcomes == {1: "failed"}


def test_fifty_kills(tmp_path: Path) -> None:
    """`python -m tests.ledger.kill 1000` is the long run of the same."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.kill", "50", "--folder", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "50 kills" in done.stdout
