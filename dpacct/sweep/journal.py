"""The journal of a sweep: finished rows in a file that survives a kill at any moment.

The first line names the sweep; each further one holds a row behind its checksum. Lines are only
ever appended. One that was cut off, or changed since, fails its checksum and is computed again.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

from dpacct.errors import InvalidArgument
from dpacct.sweep.grid import Row

_FORMAT = "dpacct-sweep-1"


class Journal:
    """An open journal; one process at a time.

    Raises:
        InvalidArgument: another sweep's journal is there, or another process writes it.
        OSError: the file cannot be opened, or not be locked where it is.
    """

    def __init__(self, path: Path, fingerprint: str, *, restart: bool = False) -> None:
        self.path = path
        self._head = f"{_FORMAT} {fingerprint}\n".encode()
        from filelock import lock_descriptor

        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        if sys.platform == "win32":
            flags |= os.O_BINARY
        self._file = os.open(path, flags, 0o644)
        try:
            if not lock_descriptor(self._file, blocking=False):  # let go when the file is closed
                message = f"another sweep is writing {path.name} at this moment"
                raise InvalidArgument(message, argument="output")
            if restart:
                os.ftruncate(self._file, 0)
            self.rows = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def add(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Append rows; they are in the file when this returns."""
        lines = [_line(number, row) for number, row in rows]
        self._write(b"".join(lines))

    def remove(self) -> None:
        """Delete the journal, once its rows are stored elsewhere."""
        self.path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]

    def _read(self) -> dict[int, Row]:
        data = b""
        while block := os.read(self._file, 1 << 20):
            data += block
        if not data.startswith(self._head):
            if data and not self._head.startswith(data):
                message = (
                    f"{self.path.name} belongs to another sweep, or to another version of dpacct;"
                    " --restart discards it"
                )
                raise InvalidArgument(message, argument="output")
            os.ftruncate(self._file, 0)
            self._write(self._head)
            return {}
        if not data.endswith(b"\n"):
            self._write(b"\n")  # so that the next row does not grow onto a line that was cut off
        rows = {}
        for line in data[len(self._head) :].splitlines():
            result = _row(line)
            if result is not None:
                rows[result[0]] = result[1]
        return rows


def _line(number: int, row: Row) -> bytes:
    result = json.dumps([number, row.to_list()], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(result), result)


def _row(line: bytes) -> tuple[int, Row] | None:
    """The row in a line; None for a line that does not pass its checksum."""
    checksum, _, value = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(value):
        return None
    try:
        number, row = json.loads(value)
        return int(number), Row.from_list(row)
    except (ValueError, TypeError):
        return None
