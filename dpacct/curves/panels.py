"""Gauss-Legendre rules on panels, for integrands that are smooth between the edges."""

from __future__ import annotations

from functools import cache

import numpy as np

from dpacct.engine.law import TooFine
from dpacct.engine.stable import Floats

POINTS = 20
MOST_PANELS = 20_000


@cache
def _legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    return nodes, weights


def even_edges(low: float, high: float, count: int) -> Floats:
    """Edges of so many equal panels; raises `TooFine` before it holds more than are worth having."""
    if not count <= MOST_PANELS:
        raise TooFine
    return np.linspace(low, high, count + 1)


def panel_nodes(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and log weights of a rule of POINTS nodes on each panel between consecutive edges."""
    if edges.size > MOST_PANELS:
        raise TooFine
    nodes, weights = _legendre()
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    x = middle[:, None] + half[:, None] * nodes[None, :]
    return x.ravel(), np.log(half[:, None] * weights[None, :]).ravel()
