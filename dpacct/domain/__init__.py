"""Domains: one object validates a parameter, describes its range and draws values for tests."""

from __future__ import annotations

import math

from dpacct.domain.exact import Number, exact, fits, ln, shown, text
from dpacct.domain.interval import Bound, Integer, Real
from dpacct.domain.where import Where

__all__ = [
    "DELTA",
    "EPSILON",
    "POSITIVE",
    "RATE",
    "STEPS",
    "Bound",
    "Integer",
    "Number",
    "Real",
    "Where",
    "exact",
    "fits",
    "ln",
    "shown",
    "text",
]

POSITIVE = Real(0, math.inf, typical=(1e-2, 1e2))
"""A scale such as sigma, b or a clipping norm."""
RATE = Real(0, 1, "right")
"""The probability that a unit is in a sample."""
STEPS = Integer(1, 10**15)
"""How often something is released."""
DELTA = Real(0, 1, as_float=False)
"""The delta of a question: it may lie far below the range of floats (`ln` gives its logarithm)."""
EPSILON = Real(0, math.inf, "left", typical=(0, 20))
"""The epsilon of a question."""
