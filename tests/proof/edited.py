"""A certificate with one thing in it changed."""

from __future__ import annotations

import copy
from typing import Any

Path = tuple[str | int, ...]


def changed(told: Any, at: Path, value: Any) -> Any:
    told = copy.deepcopy(told)
    inner = told
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    return told
