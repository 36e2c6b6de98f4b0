"""Truth: how a statement is judged, by a way that shares no formula with it."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from random import Random
from typing import TypeAlias, TypeVar

import dpacct.verify.proofs
import dpacct.verify.truths
from dpacct.errors import InvalidArgument, OutsideDomain
from dpacct.theorems.entry import Entry, Values
from dpacct.verify.comparison import Comparison

Point: TypeAlias = Mapping[str, Fraction | int]
"""Exact arguments, as the domain draws them."""
Judgement: TypeAlias = float | tuple[float, float] | Comparison | None
"""The truth as a number or as two ends; a whole comparison; or None where it can't be told."""
Judge = TypeVar("Judge", bound=Callable[..., Judgement])
_ATTRIBUTE = "__truth__"


@dataclass(frozen=True)
class Truth:
    """The judge of one entry.

    `draws` is how many points the default search tries. `within` is the relative error of the judge:
    less is no violation. `claimed` hands the judge the claim too, as its first argument, for recipes
    that are judged by what they deliver. `draw` replaces the domain's own way to draw points.
    """

    id: str
    judge: Callable[..., Judgement]
    how: str
    draws: int = 2000
    within: float = 1e-9
    claimed: bool = False
    draw: Callable[[Random], Mapping[str, float | int]] | None = None

    def compare(self, entry: Entry, values: Values) -> Comparison | None:
        """The claim beside the truth; a formula that fails inside its domain claims nan."""
        try:
            assert entry.formula is not None
            value = float(entry.formula(**values))
        except OutsideDomain:  # a hypothesis that only the formula itself can see
            return None
        except (ArithmeticError, ValueError):
            value = math.nan
        if math.isnan(value):
            return Comparison(math.nan, -math.inf, math.inf)
        told = self.judge(value, **values) if self.claimed else self.judge(**values)
        if told is None or isinstance(told, Comparison):
            return told
        lower, upper = told if isinstance(told, tuple) else (told, told)
        if math.isnan(lower) or math.isnan(upper):
            raise InvalidArgument(f"the truth of {self.id} is nan at {dict(values)}")
        return Comparison(value, lower, upper)


def truth(
    *ids: str,
    draws: int = 2000,
    within: float = 1e-9,
    claimed: bool = False,
    draw: Callable[[Random], Mapping[str, float | int]] | None = None,
) -> Callable[[Judge], Judge]:
    """Make the function below the judge of these entries; its docstring says how it knows."""

    def attach(judge: Judge) -> Judge:
        how = " ".join((inspect.getdoc(judge) or "").split("\n\n")[0].split())
        found = tuple(Truth(one, judge, how, draws, within, claimed, draw) for one in ids)
        setattr(judge, _ATTRIBUTE, (*getattr(judge, _ATTRIBUTE, ()), *found))
        return judge

    return attach


@cache
def truths() -> dict[str, Truth]:
    """Every judge by the id of its entry."""
    found: dict[str, Truth] = {}
    for info in pkgutil.walk_packages(
        dpacct.verify.truths.__path__, f"{dpacct.verify.truths.__name__}."
    ):
        for judge in vars(importlib.import_module(info.name)).values():
            for one in getattr(judge, _ATTRIBUTE, ()):
                if judge.__module__ != info.name:
                    continue
                if one.id in found:
                    raise InvalidArgument(f"{one.id} has two truths", argument="id")
                found[one.id] = one
    return found


Proof: TypeAlias = Callable[[], bool]
_Prover = TypeVar("_Prover", bound=Callable[[], bool])
_PROVES = "__proves__"


def proof(*ids: str) -> Callable[[_Prover], _Prover]:
    """Make the function below the proof of these entries: it returns whether every step held."""

    def attach(prover: _Prover) -> _Prover:
        setattr(prover, _PROVES, ids)
        return prover

    return attach


@cache
def proofs() -> dict[str, tuple[Proof, ...]]:
    """Every machine-checked proof by the id of what it proves."""
    found: dict[str, tuple[Proof, ...]] = {}
    for info in pkgutil.walk_packages(
        dpacct.verify.proofs.__path__, f"{dpacct.verify.proofs.__name__}."
    ):
        for prover in vars(importlib.import_module(info.name)).values():
            if getattr(prover, "__module__", "") == info.name:
                for one in getattr(prover, _PROVES, ()):
                    found[one] = (*found.get(one, ()), prover)
    return found
