"""An answer in words: the answer line, its grade, its bracket, its assumptions.

Numbers are rounded towards the safe side, so what is printed is still true.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dpacct.report import rounding
from dpacct.report.rounding import Direction
from dpacct.vocabulary import Side

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.tree import Node


DIGITS = 12


def rounded(value: float, direction: Direction, digits: int = DIGITS) -> str:
    """`value` to `digits` significant digits, rounded in `direction`.

    >>> rounded(1.5153619166637, "up"), rounded(1.5153619166637, "down")
    ('1.51536191667', '1.51536191666')
    >>> rounded(2.5e-7, "up"), rounded(3.0, "up"), rounded(0.1, "up", 3), rounded(0.00025, "up")
    ('2.5e-7', '3', '0.1', '0.00025')
    """
    return rounding.rounded(value, direction, digits)


def power_of_ten(log_value: float, direction: Direction, digits: int = 9) -> str:
    """A positive number too small for a float, from its natural logarithm, as a power of ten.

    >>> power_of_ten(-1000.0, "up")
    '10^-434.294481'
    """
    return f"10^{rounded(log_value / math.log(10), direction, digits)}"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], indent: int = 2) -> list[str]:
    """The rows under their header, columns two spaces apart; no colours, no rules.

    >>> lines = aligned(("method", "epsilon"), [("exact", "1.5"), ("rdp", "1.7117")])
    >>> for line in lines:
    ...     print(line)
      method  epsilon
      exact   1.5
      rdp     1.7117
    """
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        " " * indent
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]


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
    return rounded(float(answer), direction)


def grade(answer: Answer) -> str:
    """`two-sided, converged`."""
    return f"{answer.side}, {answer.strength}"


def answer_line(answer: Answer, meaning: str = "") -> str:
    """`epsilon = 1.51536191667   (at delta 1e-5)`."""
    line = f"{answer.quantity} {relation(answer)} {safe_number(answer)}"
    return f"{line}   ({meaning})" if meaning else line


def detail_lines(answer: Answer) -> list[str]:
    """Everything that is known about the answer beyond its number, one item to a line."""
    meaning = f"adjacency {answer.adjacency}; unit {answer.unit}"
    lines = [f"  {grade(answer)}; method {answer.method}; {meaning}"]
    lines += bracket(answer)
    if answer.tree is not None:
        lines.append(f"  plan: {plan_line(answer.tree)}")
    lines += [f"  basis: {source}" for source in answer.basis]
    lines += [f"  assumes: {assumption}" for assumption in answer.assumptions]
    return lines


def plan_line(plan: Node, width: int = 300) -> str:
    """The plan as it would be typed in Python; a very long one is cut."""
    line = str(plan)
    return line if len(line) <= width else line[: width - 4] + " ..."


def bracket(answer: Answer, most: int = 16) -> Iterable[str]:
    """The interval, with two digits past where its ends part; nothing where it is a point."""
    if answer.lower is None or answer.upper is None or answer.lower == answer.upper:
        return []
    if _below_floats(answer) or (answer.safe_end == "lower" and is_tight(answer)):
        return []
    if not math.isfinite(answer.lower) or not math.isfinite(answer.upper):
        return []
    digits = 12
    size = max(abs(answer.lower), abs(answer.upper))
    width = answer.upper - answer.lower
    if width > 0 and size > 0:
        # Two digits past where the ends part, so that a narrow bracket is seen to be one.
        digits = min(most, max(6, 2 + math.ceil(math.log10(size / width))))
    low, high = rounded(answer.lower, "down", digits), rounded(answer.upper, "up", digits)
    return [f"  between {low} and {high}"]
