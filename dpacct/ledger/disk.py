"""Disk access of a ledger: a lock that dies with its process, and durable writes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpacct.errors import LedgerBusy, Unsupported

GAP = 1e-3
"""Seconds that a process leaves a lock free before it takes it again: others look twice as often."""


@contextmanager
def locked(handle: int, path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the file's lock; raises `LedgerBusy` if another process keeps it for `timeout` seconds.

    The lock belongs to the open file: the system drops it when the process dies, however it dies.
    """
    from filelock import lock_descriptor, unlock_descriptor

    until = time.monotonic() + timeout
    try:
        while not lock_descriptor(handle, blocking=False):
            if time.monotonic() > until:
                message = (
                    f"another process has held the ledger {str(path)!r} for {timeout:g} seconds"
                )
                raise LedgerBusy(message, argument="path")
            time.sleep(0.5 * GAP)
    except OSError as error:
        message = f"the ledger {str(path)!r} cannot be locked where it is: {error.strerror}"
        raise Unsupported(message, argument="path") from None
    try:
        yield
    finally:
        unlock_descriptor(handle)


def opened(path: Path, flags: int) -> int:
    """A handle of the file, for bytes as they are; a child process does not inherit it."""
    if sys.platform == "win32":
        flags |= os.O_BINARY
    return os.open(path, flags, 0o666)


def flush(handle: int) -> None:
    """Return when what was written is on the disk itself, not in a cache above it."""
    if sys.platform == "darwin":  # there fsync alone stops at the drive's cache
        import fcntl

        with suppress(OSError):  # file systems without it fall back to fsync
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def read(handle: int, count: int, at: int) -> bytes:
    """`count` bytes from an offset; fewer where the file ends."""
    os.lseek(handle, at, os.SEEK_SET)
    parts = []
    while count > 0 and (part := os.read(handle, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write(handle: int, content: bytes, at: int) -> None:
    """Write all of `data` at an offset, and flush it."""
    os.lseek(handle, at, os.SEEK_SET)
    while content:
        content = content[os.write(handle, content) :]
    flush(handle)


def replace(path: Path, content: bytes) -> None:
    """Give a small file new contents: after a crash it holds the old ones or the new, whole."""
    fresh = path.with_name(path.name + ".new")
    handle = opened(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write(handle, content, 0)
    finally:
        os.close(handle)
    os.replace(fresh, path)
    if sys.platform == "win32":  # it opens no folders, and its file system logs renames by itself
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
