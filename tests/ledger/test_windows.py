"""The ledger under the rules of Windows, as far as these can be simulated on another system.

A lock is one byte that nobody reads or writes through another handle, a file that is open cannot be replaced
or removed, and no folder is opened. What breaks a rule fails with the error that Windows gives.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import filelock
import pytest

import dpacct as dp
from dpacct.ledger import disk

STEP = dp.Gaussian(sigma=20)
Identity = tuple[int, int]


def identity(handle: int) -> Identity:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino


def refused(path: object) -> PermissionError:
    return PermissionError(errno.EACCES, "Permission denied", str(path))


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> dict[Identity, int]:
    """Which handle holds the lock of which file."""
    holders: dict[Identity, int] = {}
    lock, unlock = filelock.lock_descriptor, filelock.unlock_descriptor

    def locked(handle: int, **how: Any) -> bool:
        done = lock(handle, **how)
        if done:
            holders[identity(handle)] = handle
        return done

    def unlocked(handle: int) -> None:
        holders.pop(identity(handle))
        unlock(handle)

    def guarded(name: str) -> Callable[..., Any]:
        plain = getattr(os, name)

        def call(handle: int, *rest: Any) -> Any:
            first = os.lseek(handle, 0, os.SEEK_CUR) == 0 or name == "ftruncate"
            if first and holders.get(identity(handle), handle) != handle:
                raise refused(handle)
            return plain(handle, *rest)

        return call

    def is_open(path: Any) -> bool:
        if not os.path.exists(path):
            return False
        status = os.stat(path)
        for handle in os.listdir("/dev/fd"):
            try:
                if identity(int(handle)) == (status.st_dev, status.st_ino):
                    return True
            except OSError:
                continue
        return False

    replace, open_file = os.replace, os.open

    def replaced(source: Any, target: Any) -> None:
        if is_open(source) or is_open(target):
            raise refused(target)
        replace(source, target)

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        if os.path.isdir(path):
            raise refused(path)
        return open_file(path, *rest, **more)

    monkeypatch.setattr(filelock, "lock_descriptor", locked)
    monkeypatch.setattr(filelock, "unlock_descriptor", unlocked)
    for name in ("read", "write", "ftruncate"):
        monkeypatch.setattr(os, name, guarded(name))
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "O_BINARY", 0, raising=False)
    monkeypatch.setattr(disk, "sys", SimpleNamespace(platform="win32"))
    return holders


def test_the_rules_are_those_of_windows(tmp_path: Path, windows: dict[Identity, int]) -> None:
    path = tmp_path / "run.ledger"
    with dp.Ledger(path, budget=(4, "1e-5"), plan=STEP * 10) as ledger, ledger._store.session():
        assert len(windows) == 1
        other = os.open(path, os.O_RDONLY)
        with pytest.raises(PermissionError):
            os.read(other, 1)
        with pytest.raises(PermissionError):
            os.replace(path, tmp_path / "elsewhere")
        os.close(other)
    with pytest.raises(PermissionError):
        os.open(tmp_path, os.O_RDONLY)


def test_two_writers_and_a_reader(tmp_path: Path, windows: dict[Identity, int]) -> None:
    path = tmp_path / "run.ledger"
    with (
        dp.Ledger(path, budget=(4, "1e-5"), plan=STEP * 40) as writer,
        dp.Ledger(path) as other_writer,
        dp.Ledger(path, read_only=True) as reader,
    ):
        for k in range(10):
            with writer.release(STEP, label="step"):
                other_writer.spend(STEP)
            with other_writer.release({"client 3": STEP, "client 4": STEP}, label=f"round {k}"):
                assert reader.spent().value <= writer.spent().value
        assert reader.refresh().plan == STEP * 20
    assert not windows
    with dp.Ledger(path) as again:
        assert again.plan == STEP * 20 and again.account("client 3").plan == STEP * 10
        assert again.dropped == () and not again.would_exceed(STEP * 20)


def test_a_torn_line_is_dropped_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    crashed = dp.Ledger(path, budget=(4, "1e-5"), plan=STEP * 40)
    crashed.spend(STEP)
    crashed._store.close()  # as a process that dies: nothing is settled
    with path.open("ab") as file:
        file.write(b'{"n":2,"at":"20')
    with dp.Ledger(path) as ledger:
        assert ledger.dropped == (2,) and ledger.plan == STEP
        ledger.spend(STEP)
    with dp.Ledger(path, read_only=True) as reader:
        assert reader.plan == STEP * 2
