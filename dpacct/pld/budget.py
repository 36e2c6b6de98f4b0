"""How much memory and work one question may take: every allocation of the engine is bounded by these.

A plan that would need more gets the bracket that was reached, and `Bracket.wide` says so.
"""

from __future__ import annotations

MEMORY = 1 << 30
"""Bytes of working memory, about, at the worst place."""
# bytes while a law is cut and rounded, per cell; while a window is transformed, per place and law
_CELL, _PLACE, _LAW = 800, 120, 40
MOST_SPARSE = 1 << 33
"""Places of a window of which only few frequencies are asked for: they are never laid out."""
MOST_TERMS = 1 << 24
"""Products of frequencies and nodes that are summed one by one."""


def most_cells(laws: int) -> int:
    """Cells of one of so many laws, at most."""
    return max(1 << 11, MEMORY // (_CELL * max(laws, 1)))


def most_places(laws: int) -> int:
    """Places of a window that is laid out whole, at most, for so many distinct laws."""
    return max(1 << 14, MEMORY // (_PLACE + _LAW * laws))
