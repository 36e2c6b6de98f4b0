"""A certificate with one thing in it changed."""

import copy
from typing import Any

Path = tuple[str | int, ...]


def changed(document: Any, at: Path, value: Any) -> Any:
    document = copy.deepcopy(document)
    inner = document
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    return document
