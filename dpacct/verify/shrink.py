"""Shrinking: the simplest point near a violation that is still one, as Hypothesis does it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpacct.domain import Integer
from dpacct.verify.search import Found, Search

# A witness that only just violates convinces nobody: simple points may keep a tenth of the excess.
_KEEP = 0.1
# Points judged at most; most witnesses take fewer than fifty.
_TRIES = 400


def shrink(case: Search, found: Found, *, tries: int = _TRIES) -> Found:
    """The same kind of violation at numbers with fewer digits and smaller whole numbers."""
    floor = max(case.truth.within, _KEEP * min(found.excess, 1.0))
    moved = True
    while moved:
        moved = False
        for name, value in found.point.items():
            for simpler in _simpler(case, name, value):
                if tries == 0:
                    return found
                tries -= 1
                tried = case.at({**found.point, name: simpler})
                if tried is not None and case.violated(tried) and tried.excess >= floor:
                    found, moved = tried, True
                    break
    return found


def _simpler(case: Search, name: str, value: Fraction | int) -> Iterator[Fraction | int]:
    """Candidates, the simplest first, each simpler than `value` itself."""
    if isinstance(case.entry.domain.domains[name], Integer):
        least = case.entry.domain.domains[name].lower
        low = int(least) if isinstance(least, Fraction) else 0
        whole = int(value)
        seen = [low, low + 1, 1, 2, 5, 10, 100, 1000, whole // 2, whole - 1]
        yield from (one for one in dict.fromkeys(seen) if one < whole)
        return
    exact = Fraction(value)
    if exact == 0:
        return
    cost = _cost(exact)
    for one in (Fraction(1), Fraction(1, 2), Fraction(2), Fraction(1, 10)):
        if _cost(one) < cost:
            yield one
    for digits in range(1, 9):
        one = Fraction(f"{float(exact):.{digits}g}")
        if _cost(one) < cost:
            yield one


def _cost(value: Fraction) -> int:
    """Digits of the shortest decimal; 1, then powers of ten, are the simplest."""
    digits = f"{float(value):.15e}".partition("e")
    mantissa = digits[0].rstrip("0").rstrip(".").replace(".", "").lstrip("-")
    return 3 * len(mantissa) + abs(int(digits[2])) + (value != 1)
