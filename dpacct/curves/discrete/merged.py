"""Steps that are one step together, exactly: Gaussians, and few outcomes each."""

from __future__ import annotations

import math

from dpacct.engine.discrete.pieces import Sources

from .listed import Listed, may_be_listed
from .normal import NormalSource


def merged(sources: Sources) -> Sources:
    """The same composition of fewer sources, where that is exact.

    Gaussians compose to one (the squares of mu add); few outcomes are listed.
    """
    normal = [(source, n) for source, n in sources if isinstance(source, NormalSource)]
    if len(normal) > 1 or (normal and normal[0][1] > 1.0):
        mu = math.sqrt(math.fsum(n * source.mu**2 for source, n in normal))
        rest = [(source, n) for source, n in sources if not isinstance(source, NormalSource)]
        return [(NormalSource(mu), 1.0), *rest]
    if may_be_listed(sources):
        return [(Listed(tuple((source, round(n)) for source, n in sources)), 1.0)]
    return sources
