"""Oracles: how a statement is judged, by a way that shares no code with its formula.

They stand in the file of the paper here, or in truths.py where several papers have the same.
A test follows the calls of both: none is common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.papers.page import Ends, Plain, Statement
from dpacct.vocabulary import Side

Floats: TypeAlias = NDArray[np.float64]
ORACLES: dict[str, Oracle] = {}
"""The oracles of the files imported so far, by the ids of their statements."""


@dataclass(frozen=True)
class Comparison:
    """A claim, and the true interval in the same unit.

    >>> Comparison(1.0, 2.0, 3.0).excess(Side.UPPER)  # half of the truth is missing
    0.5
    >>> Comparison(2.0, 1.5, 1.6).excess(Side.UPPER) < 0
    True
    """

    claimed: float
    lower: float
    upper: float

    def excess(self, side: Side) -> float:
        """Return by how much the claim is missed, relative to the larger number: positive if violated."""
        if math.isnan(self.claimed):
            return math.inf
        below, above = _relative(self.lower, self.claimed), _relative(self.claimed, self.upper)
        ends = {Side.UPPER: below, Side.LOWER: above, Side.TWO_SIDED: max(below, above)}
        return ends.get(side, -math.inf)


def _relative(larger: float, smaller: float) -> float:
    """The difference of two numbers relative to the larger size; 1 or -1 beside an infinite one."""
    if larger == smaller:
        return 0.0
    if math.isinf(larger) or math.isinf(smaller):
        return 1.0 if larger > smaller else -1.0
    return (larger - smaller) / max(abs(larger), abs(smaller))


Judgement: TypeAlias = float | Ends | Comparison | None
"""The truth as a number or as two ends; a whole comparison; or None where it can't be told."""
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Oracle:
    """A judge of one statement: a computation without its formula.

    `draws` is how many points the default search tries; `within` the oracle's relative error, less than which
    is no violation; `claimed` hands it the claim too, as its first argument, for recipes that are judged by
    what they deliver.
    """

    judge: Callable[..., Judgement]
    draws: int = 2000
    within: float = 1e-9
    claimed: bool = False

    def compare(self, statement: Statement, values: Mapping[str, Plain]) -> Comparison | None:
        """The claim beside the truth; a formula that fails inside its domain claims nan."""
        assert statement.formula is not None
        try:
            value = float(statement.formula(**values))
        except OutsideDomain:  # a hypothesis that only the formula itself can see
            return None
        except (ArithmeticError, ValueError):
            value = math.nan
        if math.isnan(value):
            return Comparison(math.nan, -math.inf, math.inf)
        truth = self.judge(value, **values) if self.claimed else self.judge(**values)
        if truth is None or isinstance(truth, Comparison):
            return truth
        lower, upper = truth if isinstance(truth, tuple) else (truth, truth)
        if math.isnan(lower) or math.isnan(upper):
            raise InvalidArgument(f"the truth of {statement.id} is nan at {dict(values)}")
        return Comparison(value, lower, upper)


def oracle(
    *names: str,
    draws: int = 2000,
    within: float = 1e-9,
    claimed: bool = False,
) -> Callable[[Function], Function]:
    """Decorator: make a function the oracle of these statements; its docstring says how it works."""

    def attach(judge: Function) -> Function:
        paper = judge.__module__.rpartition(".")[2]
        for name in names:
            key = name if "." in name else f"{paper}.{name}"
            ORACLES[key] = Oracle(judge, draws, within, claimed)
        return judge

    return attach


def oracle_of(statement: Statement) -> Oracle | None:
    """The oracle of a statement or, without one, of the statement whose formula it reuses."""
    ids = [statement.id]
    if (formula := statement.formula) is not None:
        ids.append(f"{formula.__module__.rpartition('.')[2]}.{formula.__name__}")
    for file in (*(id.partition(".")[0] for id in ids), "truths"):
        if find_spec(f"{__package__}.{file}") is not None:
            import_module(f"{__package__}.{file}")
    return next((ORACLES[id] for id in ids if id in ORACLES), None)
