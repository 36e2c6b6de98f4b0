"""What an answer's numbers are to a reader: their side, their grade, and as many digits as are true."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpacct.declare.rounding import Direction, down, near, power_of_ten, rounded, up
from dpacct.vocabulary import Side, Strength

if TYPE_CHECKING:
    from dpacct.answer.answer import Answer

DIGITS = 12
# A bracket narrower than this is one number to any reader of twelve digits.
_TIGHT = 1e-9


def relation(answer: Answer) -> str:
    """The sign between the quantity and its number: =, <=, >= or ~."""
    if answer.is_estimate:
        return "~"
    bound = "<=" if answer.safe_end == "upper" else ">="
    if answer.side is not Side.TWO_SIDED:
        return bound
    return "=" if is_tight(answer) else bound


def is_tight(answer: Answer) -> bool:
    """Whether the two ends are one number to a reader of what is printed."""
    if answer.lower is None or answer.upper is None or _below_floats(answer):
        return True
    if answer.safe_end == "lower" and answer.upper - answer.lower == 1:
        return True  # whole numbers: the most that is within, and the least that is not
    return answer.upper - answer.lower <= _TIGHT * abs(answer.upper)


def _below_floats(answer: Answer) -> bool:
    """Whether the number is so small that only its logarithm is shown."""
    return answer.log_value is not None and float(answer) < 1e-300


def safe_number(answer: Answer) -> str:
    """The safe end, rounded to its safe side; an estimate has none and is rounded to nearest."""
    direction: Direction = "nearest"
    if not answer.is_estimate:
        direction = "up" if answer.safe_end == "upper" else "down"
    if answer.log_value is not None and _below_floats(answer):
        return power_of_ten(answer.log_value, direction)
    if float(answer).is_integer() and abs(float(answer)) < 1e16:
        return str(int(float(answer)))
    return rounded(float(answer), direction, DIGITS)


def grade(answer: Answer) -> str:
    """`two-sided, converged`."""
    return f"{answer.side}, {answer.strength}"


def bracket(answer: Answer, most: int = 16) -> str:
    """The interval as "between ... and ..."; nothing where it is a point, or no interval."""
    low, high = answer.lower, answer.upper
    if low is None or high is None or low == high or not math.isfinite(low + high):
        return ""
    if _below_floats(answer) or (answer.safe_end == "lower" and is_tight(answer)):
        return ""
    digits = told_apart(low, high, most=most, least=6)
    return f"between {rounded(low, 'down', digits)} and {rounded(high, 'up', digits)}"


def told_apart(low: float, high: float, *, most: int, least: int, beyond: int = 2) -> int:
    """Digits that show where two ends part, and so many beyond."""
    size = max(abs(low), abs(high))
    return min(most, max(least, beyond + math.ceil(math.log10(size / (high - low)))))


def is_bound(answer: Answer) -> bool:
    """Whether the answer's safe end is a guarantee: an upper end that a theorem supports."""
    return (
        answer.side in (Side.TWO_SIDED, Side.UPPER)
        and answer.strength >= Strength.BOUND
        and math.isfinite(float(answer))
    )


def safe(answer: Answer, digits: int) -> str:
    """The end that may be quoted; an answer that bounds nothing is rounded to nearest."""
    return up(float(answer), digits) if is_bound(answer) else near(answer.value, digits)


def interval(answer: Answer) -> str:
    """What is known to hold the truth, as many digits as the two ends share and two more."""
    lower, upper = answer.lower, answer.upper
    if answer.strength <= Strength.PUBLISHED or (lower is None and upper is None):
        return "none"
    if lower is None:
        return f"at most {up(upper, 6)}" if upper is not None else "none"
    if upper is None:
        return f"at least {down(lower, 6)}"
    if lower == upper:
        return f"exactly {near(lower, 17)}"
    digits = 10
    if math.isfinite(lower + upper):
        digits = told_apart(lower, upper, most=16, least=4)
    return f"[{down(lower, digits)}, {up(upper, digits)}]"
