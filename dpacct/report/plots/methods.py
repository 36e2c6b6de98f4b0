"""One question put to several methods at many points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from dpacct.errors import DpacctError, NotCertified, Unreachable, Unsupported
from dpacct.report.plots.chart import Line
from dpacct.report.plots.style import METHOD_NAMES
from dpacct.report.plots.words import more_or_less
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer

DEFAULT = ("exact", "rdp", "clt")
"""The methods that are compared by default."""
T = TypeVar("T")


def method_name(method: str) -> str:
    """What a legend calls a method.

    >>> method_name("rdp"), method_name("udp_fl.theorem7")
    ('RDP', 'udp_fl.theorem7')
    """
    return METHOD_NAMES.get(method, method)


def lines_by_method(
    column: str,
    points: Sequence[T],
    ask: Callable[[T, str], Answer],
    methods: Sequence[str] | None,
) -> tuple[Line, ...]:
    """A line for each method; points it can't answer are left out of it.

    Args:
        column: what the values are, such as "epsilon"; the columns are named after it.
        points: where to ask.
        ask: puts the question at one point to one method.
        methods: their names; None for the default ones, less those that don't apply.

    Raises:
        DpacctError: a method that was named applies nowhere, no default one does, or the exact
            value is infinite everywhere.
    """
    import numpy as np

    lines = []
    failed: DpacctError | None = None
    for method in DEFAULT if methods is None else methods:
        answers: list[Answer | None] = []
        for point in points:
            try:
                answer = ask(point, method)
                # An infinite epsilon is no guarantee, and nothing that could be drawn.
                answers.append(answer if math.isfinite(float(answer)) else None)
            except (NotCertified, Unreachable, Unsupported) as error:
                failed = error
                answers.append(None)
        finite = [answer for answer in answers if answer is not None]
        if not finite:
            # Where the true value is infinite, an estimate by its side would be all there is to see.
            if methods is not None or (method == "exact" and not isinstance(failed, Unsupported)):
                raise failed or Unreachable(f"{method} gives no finite {column} on this axis")
            continue
        values = [np.nan if answer is None else float(answer) for answer in answers]
        grades = tuple(finite[0].strength if a is None else a.strength for a in answers)
        name = f"{column}_{method}"
        lines.append(Line(name, method_name(method), np.array(values), grades, method))
    if not lines:
        raise failed or Unreachable(f"no finite {column} holds anywhere on this axis")
    return tuple(lines)


def span_of(line: Line, standard: Line) -> str:
    """How far a line is from the standard one: `RDP asks 9.1 % to 45 % more`."""
    import numpy as np

    both = np.isfinite(line.values) & np.isfinite(standard.values) & (standard.values > 0)
    if not both.any():
        return ""
    shares = line.values[both] / standard.values[both] - 1
    low, high = sorted((float(shares.min()), float(shares.max())), key=abs)
    near_end, far_end = more_or_less(low), more_or_less(high)
    if near_end == far_end:
        return f"{spoken(line.method)} {_verb(line.strength)} {far_end}"
    if near_end.partition(" % ")[2] == far_end.partition(" % ")[2] != "":
        near_end = near_end.rpartition(" ")[0]
    return f"{spoken(line.method)} {_verb(line.strength)} {near_end} to {far_end}"


def compared(method: str, answer: Answer, standard: float) -> str:
    """How far one answer is: `RDP asks 13 % more`, `the central limit estimates 9 % less`."""
    difference = more_or_less(float(answer) / standard - 1)
    return f"{spoken(method)} {_verb(answer.strength)} {difference}"


def spoken(method: str) -> str:
    """A method's name inside a sentence.

    >>> spoken("clt"), spoken("rdp")
    ('the central limit', 'RDP')
    """
    return f"the {method_name(method)}" if method in ("clt", "lattice") else method_name(method)


def _verb(strength: Strength) -> str:
    return "estimates" if strength <= Strength.ESTIMATE else "asks"


def asked(ask: Callable[[str], Answer], methods: Sequence[str]) -> dict[str, Answer]:
    """The same question at one point, less the methods that can't answer there."""
    answers = {}
    for method in methods:
        try:
            answer = ask(method)
        except DpacctError:
            continue
        if math.isfinite(float(answer)):
            answers[method] = answer
    return answers
