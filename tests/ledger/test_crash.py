"""Whatever moment a process dies at, the ledger opens again and counts every intent."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger.store import GENESIS, SECTOR, Head, Store, beside, unseal
from tests.ledger.ledgers import BUDGET, OTHER, STEP, lines, old, small
from tests.structure.project import ROOT


def test_every_torn_append_is_dropped(tmp_path: Path) -> None:
    """What never returned may be cut off anywhere, or zeros from a sector's edge on, or between two."""
    path = tmp_path / "a.ledger"
    small(path, closed=False)._store.close()
    before, head = path.read_bytes(), beside(path).read_bytes()
    with dp.Ledger(path) as ledger:
        ledger.spend(OTHER * 5)
        line = path.read_bytes()[len(before) :]
    edges = [cut for cut in range(1, len(line)) if (len(before) + cut) % SECTOR == 0]
    tails = [line[:cut] for cut in range(1, len(line))]
    tails += [line[:cut] + bytes(len(line) - cut) for cut in (0, *edges)]
    tails += [bytes(cut) + line[cut:] for cut in edges]
    assert len(tails) > 60 and edges
    for tail in tails:
        path.write_bytes(before + tail)
        beside(path).write_bytes(head)
        reader = Store(path, writable=False, timeout=5)
        with reader.session():
            assert reader.dropped == [4] and len(reader.records) == 4
        reader.close()
        assert path.read_bytes() == before + tail  # who only reads writes nothing
        with dp.Ledger(path) as ledger:
            assert ledger.dropped == (4,) and ledger.recovered == ()
            assert dict(ledger.plan.releases()) == {STEP: 11, OTHER: 1}
        with dp.Ledger(path) as ledger:  # and it is said for ever after
            assert ledger.dropped == (4,) and len(ledger.intents) == 3


def test_a_crash_before_the_head_counts_the_line(tmp_path: Path) -> None:
    """The line is on the disk, and the head does not say so: whole, or with a slot half written."""
    path = tmp_path / "a.ledger"
    ledger = small(path, closed=False)
    before = beside(path).read_bytes()
    ledger.spend(OTHER * 5)
    ledger._store.close()
    after = beside(path).read_bytes()
    slot = next(at for at in (0, SECTOR) if before[at : at + SECTOR] != after[at : at + SECTOR])
    heads = [
        before[:slot] + after[slot : slot + cut] + before[slot + cut :]
        for cut in range(0, SECTOR, 9)
    ]
    assert len(heads) > 50
    whole = path.read_bytes()
    for head in heads:
        path.write_bytes(whole)
        beside(path).write_bytes(head)
        with dp.Ledger(path, read_only=True) as reader:
            assert dict(reader.plan.releases()) == {STEP: 11, OTHER: 6}
        with dp.Ledger(path) as again:
            assert dict(again.plan.releases()) == {STEP: 11, OTHER: 6}
            assert again.dropped == ()
        with pytest.raises(dp.LedgerDamaged):  # from now on the head counts it
            path.write_bytes(whole[: len(whole) - 1])
            dp.Ledger(path)


def test_every_torn_write_of_version_1_counts(tmp_path: Path) -> None:
    """There the head came first: the line that it announces is completed, and noise may have been drawn."""
    path = tmp_path / "a.ledger"
    before, line = old(path, more=1)
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
            assert reader.recovered == [4] and len(reader.records) == 5
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
    before, line = old(path, more=1)
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


@pytest.mark.parametrize("more", [0, 1])
def test_a_ledger_of_version_1_is_read_and_continued(tmp_path: Path, more: int) -> None:
    """A line says so, and no dpacct that knows only version 1 reads the head that is written then."""
    path = tmp_path / "a.ledger"
    old(path, more=more)
    before = path.read_bytes(), beside(path).read_bytes()
    with dp.Ledger(path) as ledger:  # asking changes nothing
        assert ledger.recovered == () and len(ledger.intents) == 3 + more
        assert (path.read_bytes(), beside(path).read_bytes()) == before
        ledger.spend(STEP)
        ledger.release({"client 1": OTHER}, label="round 1").__enter__()
    assert json.loads(lines(path)[4 + more][:-66])["version"] == 2
    assert unseal(beside(path).read_bytes(), GENESIS) is None  # what version 1 calls damaged
    with dp.Ledger(path) as ledger:
        assert dict(ledger.plan.releases()) == {STEP: 12, OTHER: 1 + 5 * more}
        assert ledger.account("client 1").plan == OTHER


@pytest.mark.parametrize("file", [None, b"", b'{"n":0,"led'])
def test_a_crash_while_the_ledger_is_made(tmp_path: Path, file: bytes | None) -> None:
    """Nothing was counted: there is no ledger yet."""
    path = tmp_path / "a.ledger"
    if file is not None:
        path.write_bytes(file)
        Head(0, 0, GENESIS).renew(path)
    with pytest.raises(dp.InvalidArgument, match="new ledger"):
        dp.Ledger(path)
    with dp.Ledger(path, budget=BUDGET, adaptive=False) as ledger:
        assert ledger.plan is None
    with dp.Ledger(path) as ledger:
        assert ledger.rule == "fixed"


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


def test_a_full_disk_counts_nothing_and_says_so(tmp_path: Path) -> None:
    """The append fails in the middle of a line (a limit on the file's size stands for the disk)."""
    path = tmp_path / "a.ledger"
    small(path)
    size = path.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("File too large; nothing may be released")
    assert path.stat().st_size == size
    with dp.Ledger(path) as ledger:
        assert ledger.dropped == () and dict(ledger.plan.releases()) == {STEP: 11, OTHER: 1}


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


# --- Two processes on one ledger: together they never spend more than it holds.


@pytest.mark.parametrize(("spends", "fit"), [(1000, 1200), (300, 200)])
def test_two_writers(tmp_path: Path, spends: int, fit: int) -> None:
    """In a process of its own, as it forks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.race", str(spends), str(fit), "--folder", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"counted {min(fit, 2 * spends)}," in done.stdout
    spent, spent_elsewhere = map(int, re.findall(r"\d+", done.stdout)[:2])
    assert min(spent, spent_elsewhere) >= fit // 10, "one kept the other out"


# --- The order of what reaches the disk before `spend` returns: a kill cannot test it, a power cut would.


class Watched:
    """The system calls that matter, passed through and noted in order with the file's name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, str]] = []
        for name in ("write", "fsync"):
            monkeypatch.setattr(os, name, self._by_handle(name, getattr(os, name)))
        real = os.replace

        def replace(source: Path, target: Path) -> None:
            self.calls.append(("replace", target.name))
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)

    def _by_handle(self, name, real):  # type: ignore[no-untyped-def]
        def called(handle: int, *rest: object) -> object:
            self.calls.append((name, Path(os.readlink(f"/proc/self/fd/{handle}")).name))
            return real(handle, *rest)

        return called


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads names from /proc")
def test_line_then_head_each_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flushes a call, whatever the number of accounts; what returned is on the disk and counted."""
    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 9) as ledger:
        for charges in (STEP, {f"client {i}": STEP for i in range(50)}):
            watched = Watched(monkeypatch)
            ledger.spend(charges, label="round")
            assert watched.calls == [
                ("write", "a"),
                ("fsync", "a"),
                ("write", "a.head"),
                ("fsync", "a.head"),
            ]


def test_a_closed_ledger_is_opened_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first line the head says that something follows, replaced as a whole."""
    dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 9).close()
    with dp.Ledger(tmp_path / "a") as ledger:
        watched = Watched(monkeypatch)
        ledger.spend(STEP)
        assert watched.calls[:4] == [
            ("write", "a.head.new"),
            ("fsync", "a.head.new"),
            ("replace", "a.head"),
            ("fsync", tmp_path.name),
        ]
        assert watched.calls[4][1] == "a" and len(watched.calls) == 8


def test_the_line_is_there_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the moment the head counts a line, the file on the disk already holds it."""
    seen = []
    real = Head.save

    def save(head: Head, path: Path) -> None:
        data = path.read_bytes()
        seen.append((head.length, data[-65:-1].decode()) == (len(data), head.mark))
        real(head, path)

    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 9) as ledger:
        monkeypatch.setattr(Head, "save", save)
        for _ in range(3):
            ledger.spend(STEP)
    assert seen == [True] * 3
