"""The order of what reaches the disk before `spend` returns: a kill cannot test it, a power cut would."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger.head import beside
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
def test_head_then_line_each_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 9) as ledger:
        watched = Watched(monkeypatch)
        ledger.spend(STEP)
        assert watched.calls == [
            ("write", "a.head.new"),
            ("fsync", "a.head.new"),
            ("replace", "a.head"),
            ("fsync", tmp_path.name),
            ("write", "a"),
            ("fsync", "a"),
        ]


def test_the_line_is_announced_before_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the moment the line is written, the head on the disk already holds it."""
    seen = []
    real = os.write

    def write(handle: int, data: bytes) -> int:
        head = beside(tmp_path / "a")
        if b'"intent"' in data and b'"length"' not in data:
            seen.append(data.strip().replace(b'"', b'\\"') in head.read_bytes())
        return real(handle, data)

    with dp.Ledger(tmp_path / "a", budget=BUDGET, plan=STEP * 9) as ledger:
        monkeypatch.setattr(os, "write", write)
        for _ in range(3):
            ledger.spend(STEP)
    assert seen == [True] * 3
