"""Repeated plain Laplace steps: a finite sum of residues, eq. (11), as one power series."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, arb_series, ctx

from .balls import ball
from .effort import spend_on_series, spend_once


@lru_cache(maxsize=4)
def _summed(count: int, last: int, b: Fraction, bits: int) -> list[arb]:
    """Coefficients of (1+u)^{T-1} S(u)/(u-1) below u^T, S = sum_{j <= J} binom(T, j) q(u)^j."""
    size, rate = count + 1, 1 / ball(b)
    before, ctx.cap = ctx.cap, size
    try:
        u = arb_series([0, 1], prec=size)
        below, above = (1 - u).log(), (1 + u).log()
        log_q = below - above - rate * u  # of -q
        # 1 + q = u a(u)
        a = arb_series((1 - log_q.exp()).coeffs()[1:], prec=size)
        log_a = a.log()
        sign = -1 if last % 2 == 0 else 1  # of q^{J+1}
        slope = -2 / (1 - u * u) - rate
        w = sign * ((last + 1) * log_q - (count + 1) * log_a).exp() * slope
        ways = -(count - last) * arb(count).bin(last)
        risen = [ways * w[n] / (n - count) for n in range(count)]
        whole = (count * log_a + (count - 1) * above).exp() / (u - 1)
        series = whole * arb_series(risen, prec=size)
        return [series[n] for n in range(count)]
    finally:
        ctx.cap = before


def residues(count: int, b: Fraction, epsilon: arb) -> arb:
    """Delta of so many plain steps of scale b.

    >>> bool(abs(residues(1, Fraction(1), arb(0.5)) - (1 - arb(-0.25).exp())) < 1e-12)
    True
    """
    lam = 1 / ball(b)
    highest = lam * count - epsilon
    if highest <= 0:
        return arb(0)
    # y_j = lam (T - 2j) - eps > 0 up to j = last; where eps is at a lattice point, both neighbours
    edge = (count - epsilon / lam) / 2
    first, last = (int(end.ceil().fmpz()) - 1 for end in (edge.lower(), edge.upper()))
    value: arb | None = None
    for j in range(max(first, 0), max(min(last, count - 1), 0) + 1):
        reading = _reading(count, j, b, highest)
        value = reading if value is None else value.union(reading)
    assert value is not None
    return value if highest > 0 else value.union(arb(0))


def _reading(count: int, last: int, b: Fraction, highest: arb) -> arb:
    spend_once((count, last, b, ctx.prec), lambda: spend_on_series(count))
    coefficients = _summed(count, last, b, ctx.prec)
    total, term = arb(0), arb(1)
    for m in range(count):
        total += term * coefficients[count - 1 - m]
        term = term * highest / (2 * (m + 1))
    return 1 + total * (-highest / 2).exp() * arb(2) ** (1 - count)
