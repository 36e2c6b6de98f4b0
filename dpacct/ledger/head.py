"""The head: a small file beside the ledger that says how much of it was acknowledged.

Two slots, each a disk sector of its own, are written in turn and in place, once the line that they count
is on the disk: a torn write leaves the other slot, and one line beyond it. Where a session starts and ends
the head is replaced as a whole: a changed byte of a closed ledger is never taken for a crash.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpacct.errors import LedgerDamaged
from dpacct.ledger import disk
from dpacct.ledger.record import GENESIS, seal, unseal

SECTOR = 512
"""Bytes that a disk writes together: a torn write may leave zeros from such a boundary on."""
_TYPES = {"serial": int, "length": int, "count": int, "mark": str, "closed": bool}
_TYPES_OF_VERSION_1 = {"length": int, "count": int, "mark": str, "line": str}


def beside(path: Path) -> Path:
    """Where the head of a ledger is."""
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
            data = beside(path).read_bytes()
        except FileNotFoundError:
            return None
        old = _fields(data, _TYPES_OF_VERSION_1)
        if old is not None:
            line = old.pop("line").encode()
            return cls(**old, closed=not line, line=line)
        slots = [_fields(_unpadded(data[at : at + SECTOR]), _TYPES) for at in (0, SECTOR)]
        heads = sorted((cls(**slot) for slot in slots if slot), key=lambda head: head.serial)
        if len(data) == 2 * SECTOR and heads:
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


def _fields(data: bytes, types: dict[str, type]) -> dict[str, Any] | None:
    unsealed = unseal(data, GENESIS)
    if unsealed is None or {name: type(value) for name, value in unsealed[0].items()} != types:
        return None
    return unsealed[0]


def _unpadded(slot: bytes) -> bytes:
    return slot.rstrip(b"\0") if len(slot) == SECTOR else b""
