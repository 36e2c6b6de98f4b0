"""An append-only file of chained lines: what was appended stays, or the file is refused.

Nothing here knows of privacy. Every append is two durable steps, the head and then the line, under
the file's lock; docs/decisions/0008 has the argument, case by case.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, LedgerDamaged
from dpacct.ledger import disk
from dpacct.ledger.head import Head, beside
from dpacct.ledger.record import GENESIS, number, seal, unseal

Record = dict[str, Any]
_START = b'{"n":0,"ledger":"dpacct",'


class Store:
    """An open file of lines; `records` are those read so far, verified.

    `writable` stores finish what a crash left half written, and say so in `repaired`; the others
    only read, and take the missing line from the head.
    """

    def __init__(self, path: str | os.PathLike[str], *, writable: bool, timeout: float) -> None:
        if "\0" in os.fsdecode(path):
            told = f"path must be the name of a file, got {shown(path)}"
            raise InvalidArgument(told, argument="path")
        self.path = Path(os.path.realpath(path))
        self.writable = writable
        self.timeout = timeout
        self.records: list[Record] = []
        self.repaired: list[int] = []
        self.length, self.mark = 0, GENESIS
        self.marks: set[str] = set()
        self._thread = threading.RLock()
        self._depth = 0
        self._left = -1.0
        self._handle, self._process = -1, -1
        self._open()

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT if self.writable else os.O_RDONLY
        try:
            if not self.path.exists() and beside(self.path).exists():
                told = "is gone, and its head is still there: something was counted in it"
                raise self._damaged(told)
            if self.path.exists() and not self.path.is_file():
                raise self._unopened("not a regular file")
            self._handle = disk.opened(self.path, flags)
        except OSError as error:
            raise self._unopened(error.strerror) from None
        self._process = os.getpid()

    def _unopened(self, why: str | None) -> InvalidArgument:
        told = f"the ledger {str(self.path)!r} cannot be opened: {why}"
        return InvalidArgument(told, argument="path")

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            os.close(self._handle)

    @property
    def is_open(self) -> bool:
        """Whether `close` is still to come."""
        return self._handle >= 0

    def close(self) -> None:
        """Give the file back to the system."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @contextmanager
    def session(self) -> Iterator[None]:
        """Hold the lock, and know every line that any process has appended."""
        if not self.is_open:
            told = f"the ledger {str(self.path)!r} was closed: open it again to ask it anything"
            raise InvalidArgument(told, argument="path")
        if os.getpid() != self._process:
            # A forked child shares its parent's lock, also one that is held just now: it needs an
            # open file and locks of its own.
            self._thread, self._depth = threading.RLock(), 0
            self._open()
        with self._thread:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            # Who counts step after step would else keep everybody out: nobody queues for a flock.
            time.sleep(max(0.0, self._left + disk.GAP - time.monotonic()))
            with disk.locked(self._handle, self.path, timeout=self.timeout):
                self._depth = 1
                try:
                    self._catch_up()
                    yield
                finally:
                    self._depth = 0
                    self._left = time.monotonic()

    # --- reading

    def _catch_up(self) -> None:
        there = os.fstat(self._handle)
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            raise self._damaged("was removed while it was in use") from None
        if (there.st_dev, there.st_ino) != (named.st_dev, named.st_ino):
            raise self._damaged("was replaced by another file while it was in use")
        head = Head.load(self.path)
        if head is None:
            if there.st_size:
                self._refuse_foreign()
                told = f"has lost its head {str(beside(self.path))!r}, which belongs to it"
                raise self._damaged(told)
            if not self.writable:
                raise self._damaged("is empty")
            return  # a new ledger
        if head.end == self.length and there.st_size == self.length:
            if (head.line and not head.line.endswith(f" {self.mark}\n".encode())) or (
                not head.line and head.mark != self.mark
            ):
                raise self._damaged("has the head of another ledger")
            return
        self._read_on(head, there.st_size)

    def _read_on(self, head: Head, size: int) -> None:
        """Verify what is new up to the head's length, then the line that the head announces."""
        taken = self.length == head.end and head.line.endswith(f" {self.mark}\n".encode())
        if head.length < self.length and not taken:
            raise self._damaged("was put back to an earlier state while it was in use")
        if size < head.length:
            lines = f"{head.count} lines, {head.length} bytes"
            raise self._damaged(f"is cut short: it has {size} bytes, and its head counts {lines}")
        self._refuse_foreign()
        with os.fdopen(os.dup(self._handle), "rb") as file:
            file.seek(min(self.length, head.length))
            while self.length < head.length:
                self._take(file.readline())
            here = (self.length, len(self.records), self.mark)
            if not taken and here != (head.length, head.count, head.mark):
                raise self._damaged(f"does not match its head at line {len(self.records)}")
            tail = file.read()
        if not head.line:
            if tail:
                raise self._damaged(f"has {len(tail)} bytes after its end, byte {head.length}")
            return
        if tail != head.line:
            if not head.torn(tail):
                raise self._wrong_line(tail, "is not the line that its head announces")
            if taken:  # by a reader, from the head: the file still has it half written
                return
            self.repaired.append(head.count)
            if self.writable:
                with self._told():
                    os.ftruncate(self._handle, head.length)
                    disk.write(self._handle, head.line, head.length)
        if not taken:
            self._take(head.line)

    def _take(self, line: bytes) -> None:
        """Verify one more line."""
        found = unseal(line, self.mark)
        if found is None:
            raise self._wrong_line(line, "was changed: its checksum does not hold")
        record, mark = found
        if record.get("n") != len(self.records):
            raise self._wrong_line(line, "is out of place")
        self.records.append(record)
        self.marks.add(mark)
        self.length, self.mark = self.length + len(line), mark

    def _refuse_foreign(self) -> None:
        start = disk.read(self._handle, len(_START), 0)
        if not _START.startswith(start):
            raise self._damaged(f"is not a ledger of dpacct: it begins with {shown(start)}")

    def _wrong_line(self, line: bytes, what: str) -> LedgerDamaged:
        here, claimed = len(self.records), number(line)
        if claimed is not None and claimed != here:
            what = f"is out of place: line {claimed} stands where line {here} belongs"
        return self._damaged(f"is damaged at byte {self.length}: line {here} {what}")

    def _damaged(self, what: str) -> LedgerDamaged:
        return LedgerDamaged(f"the ledger {str(self.path)!r} {what}", argument="path")

    # --- writing

    @contextmanager
    def _told(self) -> Iterator[None]:
        """A full or failing disk, with what it means for the caller."""
        try:
            yield
        except OSError as error:
            told = f"{error.strerror}; nothing may be released for a line that could not be written"
            raise OSError(error.errno, told, str(self.path)) from None

    def append(self, fields: Mapping[str, Any]) -> Record:
        """Append a line, durable when this returns; must be inside a `session`.

        If it raises, the line may still be counted when the file is next read: never the reverse.
        """
        if not self._depth:
            raise RuntimeError("a line is appended within a session only, under the file's lock")
        if not self.writable:
            told = f"the ledger {str(self.path)!r} was opened read-only, so nothing can be counted in it"
            raise InvalidArgument(told, argument="read_only")
        record = {"n": len(self.records), **fields}
        line, mark = seal(record, self.mark)
        with self._told():
            Head(self.length, len(self.records), self.mark, line).save(self.path)
            disk.write(self._handle, line, self.length)
        self.records.append(record)
        self.marks.add(mark)
        self.length, self.mark = self.length + len(line), mark
        return record

    def settle(self) -> None:
        """Say in the head that nothing is under way, so that even the last byte is covered."""
        Head(self.length, len(self.records), self.mark).save(self.path)
