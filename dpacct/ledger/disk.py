"""What a ledger asks of the disk: a lock that dies with its process, and writes that last."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from dpacct.errors import LedgerBusy, Unsupported


def _fcntl() -> ModuleType:
    try:
        import fcntl
    except ImportError:
        raise Unsupported(
            "a ledger needs file locks that die with their process (flock), and this system has"
            " none: keep it on Linux or macOS",
            argument="path",
        ) from None
    return fcntl


GAP = 1e-3
"""Seconds that a process leaves a lock free before it takes it again: others look twice as often."""


@contextmanager
def locked(handle: int, path: Path, *, timeout: float, shared: bool = False) -> Iterator[None]:
    """Hold the file's lock; raises `LedgerBusy` if another process keeps it for `timeout` seconds.

    The lock belongs to the open file: the system drops it when the process dies, however it dies.
    """
    fcntl = _fcntl()
    kind = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    until = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(handle, kind)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                told = f"another process has held the ledger {str(path)!r} for {timeout:g} seconds"
                raise LedgerBusy(told, argument="path") from None
            time.sleep(0.5 * GAP)
        except OSError as error:
            told = f"the ledger {str(path)!r} cannot be locked where it is: {error.strerror}"
            raise Unsupported(told, argument="path") from None
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def flush(handle: int) -> None:
    """Return when what was written is on the disk itself, not in a cache above it."""
    full = getattr(_fcntl(), "F_FULLFSYNC", None)  # macOS: fsync alone stops at the drive's cache
    if full is not None:
        with suppress(OSError):  # file systems without it fall back to fsync
            _fcntl().fcntl(handle, full)
            return
    os.fsync(handle)


def write(handle: int, data: bytes, at: int) -> None:
    """Write all of `data` at an offset, and flush it."""
    done = 0
    while done < len(data):
        done += os.pwrite(handle, data[done:], at + done)
    flush(handle)


def replace(path: Path, data: bytes) -> None:
    """Give a small file new contents: after a crash it holds the old ones or the new, whole."""
    fresh = path.with_name(path.name + ".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        write(handle, data, 0)
    finally:
        os.close(handle)
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
