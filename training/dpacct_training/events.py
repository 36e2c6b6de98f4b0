"""TensorBoard's event files, written without it: scalars over rounds, which `tensorboard --logdir` reads.

A file is a row of records: length, checksum of the length, content, checksum of the content (TFRecord). The
content is a message of event.proto: wall_time (field 1), step (2), and in the first record file_version (3),
in all others summary (5), whose value (1) has a tag (1) and a simple_value (2).
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), bits reversed


def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [c >> 1 ^ (_POLYNOMIAL if c & 1 else 0) for c in table]
    return table


_TABLE = _table()


def crc(content: bytes) -> int:
    """CRC-32C.

    >>> hex(crc(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in content:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _checksum(content: bytes) -> bytes:
    """Return the checksum of a record: turned by 15 bits, and with a constant added."""
    value = crc(content)
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) % 2**32)


def _framed(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return length + _checksum(length) + content + _checksum(content)


def _whole(field: int, number: int) -> bytes:
    """A field with a whole number, seven bits a byte; the number 0 goes without saying."""
    digits = [field << 3]
    while number:
        digits.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
    return bytes(digits) if len(digits) > 1 else b""


def _text(field: int, content: bytes) -> bytes:
    """A field with bytes of its own length."""
    return bytes([field << 3 | 2]) + _whole(0, len(content))[1:] + content


def header(seconds: float) -> bytes:
    """The first record of a file, written so many seconds after 1970."""
    return _framed(struct.pack("<Bd", 1 << 3 | 1, seconds) + _text(3, b"brain.Event:2"))


def scalar(name: str, value: float, step: int, seconds: float) -> bytes:
    """The record of one number."""
    number = _text(1, name.encode()) + struct.pack("<Bf", 2 << 3 | 5, value)
    when = struct.pack("<Bd", 1 << 3 | 1, seconds) + _whole(2, step)
    return _framed(when + _text(5, _text(1, number)))


class Events:
    """A file of its own in `folder`, as each process writes one."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        self.path = folder / f"events.out.tfevents.{now:.6f}.{os.getpid()}"
        self.path.write_bytes(header(now))

    def add(self, values: Mapping[str, float], step: int) -> None:
        """The numbers of one step."""
        now = time.time()
        with self.path.open("ab") as file:
            file.write(b"".join(scalar(name, value, step, now) for name, value in values.items()))
