"""Functions of a number that is a float or a ball: a formula in them is written once for both."""

from __future__ import annotations

import math
from typing import Any


def exp(x: Any) -> Any:
    """e^x, in the numbers of the caller."""
    return math.exp(x) if isinstance(x, float) else x.exp()


def expm1(x: Any) -> Any:
    """e^x - 1."""
    return math.expm1(x) if isinstance(x, float) else x.expm1()


def pi(x: Any) -> Any:
    """Pi, to as many digits as x has."""
    return math.pi if isinstance(x, float) else x.pi()


def log(x: Any) -> Any:
    """The natural logarithm."""
    return math.log(x) if isinstance(x, float) else x.log()
