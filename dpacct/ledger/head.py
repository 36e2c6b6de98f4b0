"""The head: a small file beside the ledger that says how far it must reach, and what comes next.

It is replaced, atomically, *before* each line is appended, and holds that line. So a line that a
crash tore apart is completed from the head, and a file that lost its end no longer matches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpacct.errors import LedgerDamaged
from dpacct.ledger import disk
from dpacct.ledger.record import GENESIS, seal, unseal

SECTOR = 512
"""Bytes that a disk writes together: a torn write may leave zeros from such a boundary on."""


_TYPES = {"length": int, "count": int, "mark": str, "line": str}


def beside(path: Path) -> Path:
    """Where the head of a ledger is."""
    return path.with_name(path.name + ".head")


@dataclass(frozen=True)
class Head:
    """The first `length` bytes are `count` lines whose last mark is `mark`; `line` follows them."""

    length: int
    count: int
    mark: str
    line: bytes = b""

    @property
    def end(self) -> int:
        """How long the ledger is once `line` has been appended."""
        return self.length + len(self.line)

    def save(self, path: Path) -> None:
        """Make it durable beside the ledger `path`."""
        fields = {
            "length": self.length,
            "count": self.count,
            "mark": self.mark,
            "line": self.line.decode("ascii"),
        }
        disk.replace(beside(path), seal(fields, GENESIS)[0])

    @classmethod
    def load(cls, path: Path) -> Head | None:
        """The head of the ledger `path`; None where there is none, `LedgerDamaged` if it's bad."""
        try:
            data = beside(path).read_bytes()
        except FileNotFoundError:
            return None
        found = unseal(data, GENESIS)
        fields = {} if found is None else found[0]
        if {name: type(value) for name, value in fields.items()} != _TYPES:
            told = f"the head {str(beside(path))!r} of a ledger is damaged: its checksum is wrong"
            raise LedgerDamaged(told, argument="path")
        return cls(fields["length"], fields["count"], fields["mark"], fields["line"].encode())

    def torn(self, tail: bytes) -> bool:
        """Whether a write of `line` that a crash cut short can have left `tail` in its place.

        >>> head = Head(0, 0, GENESIS, b"abc")
        >>> [head.torn(tail) for tail in (b"", b"ab", b"a0", b"abc"[:0] + bytes(3), b"ab" + bytes(1))]
        [True, True, False, True, False]
        """
        if len(tail) > len(self.line):
            return False
        kept = tail.rstrip(b"\0")
        if not self.line.startswith(kept):
            return False
        whole_sectors = not kept or (self.length + len(kept)) % SECTOR == 0
        return kept == tail or whole_sectors
