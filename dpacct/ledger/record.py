"""One line of a ledger: JSON, then the SHA-256 of that text chained to the line before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

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
