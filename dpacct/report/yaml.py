"""Writes nested mappings, lists, numbers and text as YAML that every reader of YAML 1.1 or 1.2 agrees on.

Text is written so that it cannot be read as anything else: in double quotes on one line, or as a
block of lines. A remark stands behind the value that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def dump(data: Mapping[str, Any], remarks: Mapping[str, str] | None = None) -> str:
    """`data` as YAML; `remarks` are comments, by the path of the value that they follow ("a.b").

    >>> print(dump({"a": {"b": 0.5, "c": ["x"]}}, {"a.b": "half"}), end="")
    a:
      b: 0.5  # half
      c:
        - "x"
    """
    return "".join(f"{line}\n" for line in _mapping(data, "", remarks or {}, ""))


def _mapping(
    data: Mapping[str, Any], margin: str, remarks: Mapping[str, str], path: str
) -> Iterator[str]:
    for key, value in data.items():
        where = f"{path}{key}"
        remark = f"  # {remarks[where]}" if where in remarks else ""
        if isinstance(value, Mapping):
            yield f"{margin}{key}:{remark}"
            yield from _mapping(value, margin + "  ", remarks, where + ".")
        elif isinstance(value, list | tuple):
            yield f"{margin}{key}:{remark}"
            yield from (f"{margin}  - {_scalar(item)}" for item in value)
        elif isinstance(value, str) and "\n" in value and _can_be_block(value):
            yield f"{margin}{key}: |{remark}"
            yield from ((margin + "  " + line).rstrip() for line in value.splitlines())
        else:
            yield f"{margin}{key}: {_scalar(value)}{remark}"


def _can_be_block(text: str) -> bool:
    """Whether a literal block gives the text back: no odd line ends, no leading blank, no tabs."""
    plain = all(letter == "\n" or letter.isprintable() for letter in text)
    return plain and text.strip() != "" and text == text.strip() + "\n"


def _scalar(value: object) -> str:
    """A number, or text in double quotes (JSON's escapes are YAML's)."""
    if isinstance(value, float):
        # YAML 1.1 reads 1e-06 as text: a mantissa with a point, and a sign in the exponent.
        mantissa, e, exponent = repr(value).partition("e")
        if not e:
            return mantissa
        point = mantissa if "." in mantissa else f"{mantissa}.0"
        return f"{point}e{int(exponent):+d}"
    quoted = json.dumps(value, ensure_ascii=False)
    # JSON and YAML write letters beyond 16 bits differently, so what is not printable is done here.
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)
