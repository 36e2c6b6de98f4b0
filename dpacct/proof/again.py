"""A certificate of schema 1: its evidence is of proofs that are gone, so its statements are proved anew."""

from __future__ import annotations

from dpacct.errors import NotCertified, Unsupported

from .claims import AT_LEAST, AT_MOST, MORE, Claim, laws_of, number
from .direction import Direction
from .effort import TooCostly

_WIDTHS = (1e-9, 1e-13, 1e-17, 1e-25, 1e-40, 1e-80, 1e-160)


def proved_anew(claim: Claim) -> bool:
    """Whether a search proves the statement; raises `TooCostly`."""
    directions = laws_of(claim.plan, claim.adjacency, claim.side)
    if claim.direction not in range(len(directions)):
        return False
    direction = Direction(directions[claim.direction])
    epsilon, bound = number(claim.epsilon), number(claim.bound)
    try:
        within = direction.decide(epsilon, bound, only_edge=True)  # by the largest loss alone
        if within is not None and claim.relation != AT_LEAST:
            return within == (claim.relation == AT_MOST)
        if claim.relation == AT_MOST and direction.at_most(epsilon, bound):
            return True
        for width in _WIDTHS:
            low, high = (enclosure := direction.enclose(epsilon, width)).lower, enclosure.upper
            holds = {AT_MOST: high <= bound, MORE: low > bound, AT_LEAST: low >= bound}
            fails = {AT_MOST: low > bound, MORE: high <= bound, AT_LEAST: high < bound}
            if holds[claim.relation] or fails[claim.relation]:
                return holds[claim.relation]
    except TooCostly:
        raise
    except (NotCertified, Unsupported):
        return False
    return False
