"""An append-only file of chained lines: what was appended stays, or the file is refused.

Nothing here knows of privacy. A line is JSON, then the SHA-256 of that text chained to the line before.
Every append is two durable steps, the line and then the head, under the file's lock; docs/decisions/0008
has the argument, case by case.

The head is a small file beside the ledger that says how much of it was acknowledged. Two slots, each a disk
sector of its own, are written in turn and in place, once the line that they count is on the disk: a torn
write leaves the other slot, and one line beyond it. Where a session starts and ends the head is replaced as
a whole: a changed byte of a closed ledger is never taken for a crash.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, LedgerDamaged
from dpacct.ledger import disk

GENESIS = "0" * 64
"""The mark before the first line."""
_HASH = len(GENESIS)


def seal(fields: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    """A line with its end, and its mark: the hash of the mark before it and of its own text.

    >>> line, mark = seal({"n": 0}, GENESIS)
    >>> line.decode() == '{"n":0} ' + mark + chr(10)
    True
    """
    text = json.dumps(fields, separators=(",", ":"), allow_nan=False)  # ASCII, and no line break
    mark = _mark(text.encode("ascii"), previous)
    return f"{text} {mark}\n".encode("ascii"), mark


def unseal(line: bytes, previous: str) -> tuple[dict[str, Any], str] | None:
    """The fields and the mark of a line, or None where a single byte of it is not as written.

    >>> line, mark = seal({"n": 0}, GENESIS)
    >>> unseal(line, GENESIS) == ({"n": 0}, mark), unseal(line.replace(b"n", b"m"), GENESIS)
    (True, None)
    """
    text, mark = line[: -_HASH - 2], line[-_HASH - 1 : -1]
    if line[-1:] != b"\n" or line[-_HASH - 2 : -_HASH - 1] != b" ":
        return None
    if mark != _mark(text, previous).encode("ascii"):
        return None
    fields = json.loads(text)
    return (fields, mark.decode("ascii")) if isinstance(fields, dict) else None


def number(line: bytes) -> int | None:
    """The number that a line claims, whether or not its checksum holds: for error messages."""
    try:
        fields = json.loads(line[: -_HASH - 2])
    except ValueError:
        return None
    claimed = fields.get("n") if isinstance(fields, dict) else None
    return claimed if isinstance(claimed, int) and not isinstance(claimed, bool) else None


def _mark(text: bytes, previous: str) -> str:
    return hashlib.sha256(previous.encode("ascii") + text).hexdigest()


# --- the head

SECTOR = 512
"""Bytes that a disk writes together: a torn write may leave zeros from such a boundary on."""
_TYPES = {"serial": int, "length": int, "count": int, "mark": str, "closed": bool}
_TYPES_OF_VERSION_1 = {"length": int, "count": int, "mark": str, "line": str}


def beside(path: Path) -> Path:
    """The path of a ledger's head."""
    return path.with_name(path.name + ".head")


@dataclass(frozen=True)
class Head:
    """The first `length` bytes are `count` lines whose last mark is `mark`; `closed`: nothing follows them.

    `torn`: its other slot cannot be read, as a crash leaves it once one more line is on the disk. `line`: in
    version 1 the head came first, and announced the line that follows; None in later ones.
    """

    length: int
    count: int
    mark: str
    closed: bool = False
    serial: int = 0
    torn: bool = False
    line: bytes | None = None

    @classmethod
    def load(cls, path: Path) -> Head | None:
        """The head of the ledger `path`; None where there is none, `LedgerDamaged` if it's bad."""
        try:
            content = beside(path).read_bytes()
        except FileNotFoundError:
            return None
        old = _fields(content, _TYPES_OF_VERSION_1)
        if old is not None:
            line = old.pop("line").encode()
            return cls(**old, closed=not line, line=line)
        slots = [_fields(_unpadded(content[at : at + SECTOR]), _TYPES) for at in (0, SECTOR)]
        heads = sorted((cls(**slot) for slot in slots if slot), key=lambda head: head.serial)
        if len(content) == 2 * SECTOR and heads:
            newest = heads[-1]
            if len(heads) == 2 and heads[0].serial == newest.serial - 1:
                return newest
            if len(heads) == 1 and not newest.closed:
                return replace(newest, torn=True)
        message = f"the head {str(beside(path))!r} of a ledger is damaged: its checksum is wrong"
        raise LedgerDamaged(message, argument="path")

    def _slot(self) -> bytes:
        fields = {name: vars(self)[name] for name in _TYPES}
        return seal(fields, GENESIS)[0].ljust(SECTOR, b"\0")

    def renew(self, path: Path) -> None:
        """Replace the head as a whole: after a crash it is the old one or this."""
        both = [replace(self, serial=serial)._slot() for serial in (self.serial, self.serial + 1)]
        disk.replace(beside(path), b"".join(both if self.serial % 2 == 0 else both[::-1]))

    def save(self, path: Path) -> None:
        """Write it into the slot of its serial number, and flush."""
        handle = disk.opened(beside(path), os.O_RDWR)
        try:
            disk.write(handle, self._slot(), SECTOR * (self.serial % 2))
        finally:
            os.close(handle)


def _fields(line: bytes, types: dict[str, type]) -> dict[str, Any] | None:
    unsealed = unseal(line, GENESIS)
    if unsealed is None or {name: type(value) for name, value in unsealed[0].items()} != types:
        return None
    return unsealed[0]


def _unpadded(slot: bytes) -> bytes:
    return slot.rstrip(b"\0") if len(slot) == SECTOR else b""


Record = dict[str, Any]
_START = b'{"n":0,"ledger":"dpacct",'


class Store:
    """An open file of lines; `records` are those read so far, verified.

    `recovered` are lines of version 1 that a crash had left half written, completed from the head;
    `dropped` are later ones, whose append never returned: a writable store takes them off the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, writable: bool, timeout: float) -> None:
        if "\0" in os.fsdecode(path):
            message = f"path must be the name of a file, got {shown(path)}"
            raise InvalidArgument(message, argument="path")
        self.path = Path(os.path.realpath(path))
        self.writable = writable
        self.timeout = timeout
        self.records: list[Record] = []
        self.recovered: list[int] = []
        self.dropped: list[int] = []
        self.length = 0
        self.marks = [GENESIS]
        self._head: Head | None = None
        self._thread = threading.RLock()
        self._depth = 0
        self._left = -1.0
        self._handle, self._process = -1, -1
        self._open()

    @property
    def mark(self) -> str:
        """The hash of the last line, which covers all before it."""
        return self.marks[-1]

    @property
    def outdated(self) -> bool:
        """Return whether a version of dpacct that knows only format 1 wrote last."""
        return self._head is not None and self._head.line is not None

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT if self.writable else os.O_RDONLY
        try:
            if not self.path.exists() and beside(self.path).exists():
                message = "is gone, and its head is still there: something was counted in it"
                raise self._damaged(message)
            if self.path.is_dir():
                inside = self.path / "ledger.jsonl"  # as a folder of dpacct-training has it
                raise self._unopened(
                    f"a folder; try {inside.name} in it" if inside.exists() else "a folder"
                )
            if self.path.exists() and not self.path.is_file():
                raise self._unopened("not a regular file")
            self._handle = disk.opened(self.path, flags)
        except OSError as error:
            raise self._unopened(error.strerror) from None
        self._process = os.getpid()

    def _unopened(self, why: str | None) -> InvalidArgument:
        message = f"the ledger {shown(str(self.path), 200)} cannot be opened: {why}"
        return InvalidArgument(message, argument="path")

    def __del__(self) -> None:
        if "_handle" in self.__dict__ and self._handle >= 0:
            os.close(self._handle)

    @property
    def is_open(self) -> bool:
        """Return whether the file is still open."""
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
            message = f"the ledger {str(self.path)!r} was closed: open it again to ask it anything"
            raise InvalidArgument(message, argument="path")
        if os.getpid() != self._process:
            # A forked child shares its parent's lock, even one that is held at the moment, so it
            # opens the file again and makes new locks.
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
            # flock has no queue: a process that charges step after step would keep all others out.
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
                message = f"has lost its head {str(beside(self.path))!r}, which belongs to it"
                raise self._damaged(message)
            if not self.writable:
                raise self._damaged("is empty")
            return  # a new ledger
        if head != self._head or there.st_size != self.length:
            self._read_on(head, there.st_size)

    def _read_on(self, head: Head, size: int) -> None:
        """Verify what is new: first what the head counts, then what a crash may have left beyond."""
        if head.count < len(self.records) - 1:
            raise self._damaged("was put back to an earlier state while it was in use")
        if size < head.length or (size < self.length and head.line is None):
            lines = f"{head.count} lines, {head.length} bytes"
            raise self._damaged(f"is cut short: it has {size} bytes, and its head counts {lines}")
        if head.count:
            self._refuse_foreign()
        verified = min(self.length, head.length)
        tail = disk.read(self._handle, size - verified, verified)
        if head.line:
            tail = self._completed(
                head, tail[: head.length - verified], tail[head.length - verified :]
            )
        tail = tail[self.length - verified :]
        while self.length < head.length:
            tail = self._take(tail)
        if (self.marks[head.count] if head.count < len(self.marks) else None) != head.mark:
            raise self._damaged(f"does not match its head at line {len(self.records)}")
        if tail and (head.closed or self.length > head.length):
            raise self._damaged(f"has {len(tail)} bytes after its end, byte {self.length}")
        if tail and self._torn(tail):
            self._drop()
        elif tail and (rest := self._take(tail)):
            raise self._damaged(f"has {len(rest)} bytes after its end, byte {self.length}")
        if head.torn and self.length == head.length:
            raise self._damaged(f"has a head {str(beside(self.path))!r} that was changed")
        self._head = head
        if self.writable and head.line is None and self.length > head.length:
            with self._disk_errors():
                self._acknowledge()

    def _completed(self, head: Head, before: bytes, tail: bytes) -> bytes:
        """Version 1: the line that the head announces, where a crash left none or a part of it."""
        line = head.line or b""
        if tail == line:
            return before + line
        kept = tail.rstrip(b"\0")
        at_a_sector = not kept or (head.length + len(kept)) % SECTOR == 0
        if len(tail) > len(line) or not line.startswith(kept) or not (kept == tail or at_a_sector):
            raise self._wrong_line(tail, "is not the line that its head announces", head.count)
        if head.count not in self.recovered:
            self.recovered.append(head.count)
        if self.writable:
            with self._disk_errors():
                os.ftruncate(self._handle, head.length)
                disk.write(self._handle, line, head.length)
        return before + line

    def _torn(self, tail: bytes) -> bool:
        """Return whether an interrupted append can have left this: a line's beginning, or zeros in it."""
        start = b'{"n":%d,' % len(self.records)
        begun = zip(tail, start, strict=False)
        ended = tail.find(b"\n") + 1 or len(tail)
        whole = tail.endswith(b"\n") and b"\0" not in tail
        return all(byte in (0, as_is) for byte, as_is in begun) and ended == len(tail) and not whole

    def _drop(self) -> None:
        if len(self.records) not in self.dropped:
            self.dropped.append(len(self.records))
        if self.writable:
            with self._disk_errors():
                os.ftruncate(self._handle, self.length)
                disk.flush(self._handle)

    def _take(self, tail: bytes) -> bytes:
        """Verify one more line; returns what follows it."""
        end = tail.find(b"\n") + 1 or len(tail)
        line = tail[:end]
        unsealed = unseal(line, self.mark)
        if unsealed is None:
            raise self._wrong_line(line, "was changed: its checksum does not hold")
        record, mark = unsealed
        if record.get("n") != len(self.records):
            raise self._wrong_line(line, "is out of place")
        self._keep(record, len(line), mark)
        return tail[end:]

    def _keep(self, record: Record, length: int, mark: str) -> None:
        self.records.append(record)
        self.marks.append(mark)
        self.length += length

    def _refuse_foreign(self) -> None:
        start = disk.read(self._handle, len(_START), 0)
        if not _START.startswith(start):
            raise self._damaged(
                f"is not a ledger of dpacct: it begins with {shown(start.decode(errors='replace').strip())}"
            )

    def _wrong_line(self, line: bytes, what: str, position: int | None = None) -> LedgerDamaged:
        position, claimed = len(self.records) if position is None else position, number(line)
        if claimed is not None and claimed != position:
            what = f"is out of place: line {claimed} stands where line {position} belongs"
        return self._damaged(f"is damaged at byte {self.length}: line {position} {what}")

    def _damaged(self, what: str) -> LedgerDamaged:
        return LedgerDamaged(f"the ledger {str(self.path)!r} {what}", argument="path")

    # --- writing

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """A full or failing disk, with what it means for the caller."""
        try:
            yield
        except OSError as error:
            message = (
                f"{error.strerror}; nothing may be released for a line that could not be written"
            )
            raise OSError(error.errno, message, str(self.path)) from None

    def append(self, fields: Mapping[str, Any]) -> Record:
        """Append a line, durable when this returns; must be inside a `session`.

        If it raises, the line may still be counted when the file is next read: never the reverse.
        """
        if not self._depth:
            raise RuntimeError("a line is appended within a session only, under the file's lock")
        if not self.writable:
            message = f"the ledger {str(self.path)!r} was opened read-only, so nothing can be counted in it"
            raise InvalidArgument(message, argument="read_only")
        record = {"n": len(self.records), **fields}
        line, mark = seal(record, self.mark)
        with self._disk_errors():
            if self._head is None or self._head.closed or self._head.line is not None:
                self._renew(closed=False)
            try:
                disk.write(self._handle, line, self.length)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, self.length)
                raise
            self._keep(record, len(line), mark)
            self._acknowledge()
        return record

    def _acknowledge(self) -> None:
        """Count in the head what is on the disk."""
        serial = self._head.serial + 1 if self._head else 0
        self._head = Head(self.length, len(self.records), self.mark, serial=serial)
        self._head.save(self.path)

    def _renew(self, *, closed: bool) -> None:
        head = Head(self.length, len(self.records), self.mark, closed)
        head.renew(self.path)
        self._head = replace(head, serial=1)

    def settle(self) -> None:
        """Mark the head as closed: any bytes beyond what it counts are refused from then on."""
        if self.records and not (self._head and self._head.closed):
            self._renew(closed=True)
