"""The order of what reaches the disk before `spend` returns: a kill cannot test it, a power cut would."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger.store import Head
from tests.ledger.ledgers import BUDGET, STEP


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
