"""Text for a console or pipe whose encoding lacks some of the characters: something readable."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

_PLAIN = (
    dict.fromkeys("─━═", "-")
    | dict.fromkeys("│┃┤", "|")
    | dict.fromkeys("├└┌┐┘┼", "+")
    | dict.fromkeys("●■▲◆▼✚✖•", "*")
    | {"≤": "<=", "≥": ">=", "≠": "!=", "×": "x", "−": "-", "–": "-", "—": "-", "∞": "inf"}
    | {"ε": "epsilon", "δ": "delta", "σ": "sigma", "α": "alpha", "β": "beta", "μ": "mu"}
    | {"✓": "yes", "✗": "no", "…": "...", "’": "'", "é": "e", "ü": "u", "√": "sqrt", "·": "*"}
)


def in_plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that an encoding lacks; for `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), error.end


def made_readable(stream: TextIO | None) -> None:
    """Let a stream write what its encoding has, and plain text for the rest, and never fail.

    UTF-8 has everything; a pipe on Windows often has cp1252.
    """
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error("dpacct-plain", in_plain)
        stream.reconfigure(errors="dpacct-plain")


def in_utf8(stream: TextIO | None) -> None:
    """Let a pipe or file take a document whose form asks for UTF-8; a terminal keeps its own."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8")
