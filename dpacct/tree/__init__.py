"""The tree: one immutable description of a mechanism, for accounting, printing and saving.

A leaf releases something once. `*` repeats, `+` composes, a sampler wraps whatever runs while one
sample is held, and `under` declares the adjacency. Equal plans compare equal and hash alike.
"""

from __future__ import annotations

from dpacct.tree.combine import Compose, Repeat, Under, composed, repeated
from dpacct.tree.node import SCHEMA, Leaf, Node, resolve_adjacency
from dpacct.tree.saved import from_dict, from_json

__all__ = [
    "SCHEMA",
    "Compose",
    "Leaf",
    "Node",
    "Repeat",
    "Under",
    "composed",
    "from_dict",
    "from_json",
    "repeated",
    "resolve_adjacency",
]
