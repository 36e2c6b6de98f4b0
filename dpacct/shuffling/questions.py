"""What one shuffle answers: the smallest of all upper bounds, above what randomised response realises."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer import Answer
from dpacct.declare.domain import DELTA, EPSILON
from dpacct.declare.number import Number, ln
from dpacct.tree.node import resolve_adjacency
from dpacct.vocabulary import Adjacency, Side, Strength

from . import bounds
from .bounds import Bound
from .count import Count
from .inputs import BUDGET, Inputs
from .letters import Letters
from .pair import REALISED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .shuffle import Shuffle

COUNTED = (
    "the count of ones at the worst of all inputs of the others, both directions "
    "(docs/theory/shuffling.md)"
)
_PROFILE_BUDGET = BUDGET // 20  # of each epsilon, where many are asked
_MISSED = "no bound is below the randomiser's own eps0: shuffling is not counted on"
Ask = Callable[[Bound], float]


@lru_cache(maxsize=8)  # an answer is printed beside all its bounds
def upper_bounds(shuffle: Shuffle) -> list[Bound]:
    """Every upper bound that may apply, the counted ones first; the last always does."""
    n, eps0, rate = int(shuffle.clients), float(shuffle.eps0), float(shuffle.rate)
    answers = int(shuffle.k or 0)
    results = [bounds.numeric(Letters(n, eps0, answers, rate), upper=True)]
    if answers:
        results.append(bounds.numeric(Letters(n, eps0, 0, rate), upper=True))
    if rate == 1.0:
        results.append(bounds.numeric(Letters(n, eps0, clones=True), upper=True))
        results += bounds.closed_forms(eps0, n, answers)
    return [*results, bounds.local(eps0)]


def lower_bounds(shuffle: Shuffle) -> list[Bound]:
    """What shuffled randomised response leaks at least."""
    n, eps0, rate = int(shuffle.clients), float(shuffle.eps0), float(shuffle.rate)
    answers = int(shuffle.k or 0)
    results = []
    if answers != 2:
        results.append(bounds.numeric(Letters(n, eps0, answers, rate, realised=True), upper=False))
    if answers in (0, 2):
        results.append(_counted(Count(n, eps0, rate)))
    return results


def _counted(count: Count) -> Bound:
    """The count of ones, one client against all zero, the worse direction."""
    return Bound("count", REALISED, count.epsilon, count.log_delta)


def inputs_of(shuffle: Shuffle) -> Inputs | None:
    """Binary response of everybody, which is known exactly."""
    if shuffle.k != 2 or shuffle.rate != 1:
        return None
    return Inputs(int(shuffle.clients), float(shuffle.eps0))


def _answer(
    shuffle: Shuffle,
    quantity: str,
    value: float,
    lower: float,
    bound: Bound,
    adjacency: Adjacency,
    started: float,
    basis: tuple[str, ...] = (),
    side: Side = Side.TWO_SIDED,
) -> Answer:
    log_value = None
    if quantity == "delta":
        log_value = value if math.isfinite(value) else None
        value, lower = math.exp(value), math.exp(lower)
        if value > 0.0:
            value = min(1.0, math.nextafter(value, 1.0))
        lower = math.nextafter(lower, 0.0) if lower > 0.0 else 0.0
    return Answer(
        quantity=quantity,
        value=value,
        lower=min(lower, value) if side is Side.TWO_SIDED else None,
        upper=value,
        side=side,
        strength=Strength.BOUND,
        method=bound.name,
        basis=(bound.basis, *basis),
        assumptions=shuffle.assumptions(adjacency),
        adjacency=adjacency,
        unit=shuffle.unit,
        tree=shuffle,
        seconds=time.perf_counter() - started,
        log_value=log_value,
    )


def _every(
    shuffle: Shuffle,
    quantity: str,
    ask: Ask,
    adjacency: Adjacency,
    useless: Callable[[float], bool],
) -> list[Answer]:
    """Each upper bound that says more than the randomiser alone, the smallest first, and that one."""
    results = []
    for bound in upper_bounds(shuffle):
        started = time.perf_counter()
        value = ask(bound)
        if bound.name == "local" or not useless(value):
            results.append(
                _answer(shuffle, quantity, value, 0.0, bound, adjacency, started, side=Side.UPPER)
            )
    return sorted(results, key=lambda answer: answer.value)


def _ask(
    shuffle: Shuffle,
    quantity: str,
    method: str,
    ask: Ask,
    adjacency: Adjacency | str | None,
    useless: Callable[[float], bool],
    exact: Callable[[Inputs], tuple[float, float]],
) -> Answer | None:
    word = resolve_adjacency(shuffle, adjacency)
    started = time.perf_counter()
    binary = inputs_of(shuffle)
    if method in ("auto", "count") and binary is not None:
        lower, upper = exact(binary)
        bound = replace(bounds.local(0.0), name="count", basis=COUNTED)
        return _answer(shuffle, quantity, upper, lower, bound, word, started)
    named = {bound.name: bound for bound in upper_bounds(shuffle)}
    if method not in ("auto", *named):
        return None
    if method != "auto":
        value, chosen = ask(named[method]), named[method]
        extra: tuple[str, ...] = ()
        if useless(value) and method != "local":
            value, extra = ask(named["local"]), (_MISSED,)
        return _answer(shuffle, quantity, value, 0.0, chosen, word, started, extra, Side.UPPER)
    values = {name: ask(bound) for name, bound in named.items()}
    best = min(values, key=values.__getitem__)
    lower = max(ask(bound) for bound in lower_bounds(shuffle))
    basis: tuple[str, ...] = (REALISED,)
    if best == "local":
        basis = (_MISSED, REALISED)
    return _answer(shuffle, quantity, values[best], lower, named[best], word, started, basis)


def epsilon(
    shuffle: Shuffle, delta: Number, method: str, adjacency: Adjacency | str | None
) -> Answer | None:
    """See `Shuffle.epsilon`; None for a method of compositions."""
    log_delta = ln(DELTA.check("delta", delta))
    eps0 = float(shuffle.eps0)
    return _ask(
        shuffle,
        "epsilon",
        method,
        lambda bound: min(bound.epsilon(log_delta), eps0),
        adjacency,
        lambda value: value >= eps0,
        lambda binary: binary.epsilon(log_delta),
    )


def delta(
    shuffle: Shuffle, epsilon: Number, method: str, adjacency: Adjacency | str | None
) -> Answer | None:
    """See `Shuffle.delta`; None for a method of compositions."""
    exact = EPSILON.check("epsilon", epsilon)
    at, alone = float(exact), bounds.local(float(shuffle.eps0))
    past = exact >= shuffle.eps0
    return _ask(
        shuffle,
        "delta",
        method,
        lambda bound: -math.inf if past else bound.log_delta(at),
        adjacency,
        lambda value: value > alone.log_delta(at),
        lambda binary: (-math.inf, -math.inf) if past else binary.log_delta(at),
    )


def profile(
    shuffle: Shuffle, epsilons: ArrayLike, adjacency: Adjacency | str | None
) -> NDArray[np.floating[Any]]:
    """See `Shuffle.profile`."""
    resolve_adjacency(shuffle, adjacency)
    array = np.atleast_1d(np.asarray(epsilons))
    asked = [EPSILON.check("epsilon", value) for value in array.ravel().tolist()]
    binary = inputs_of(shuffle)
    if binary is None:
        results = [float(shuffle.delta(epsilon=at)) for at in asked]
    else:
        logs = [binary.log_delta(float(at), _PROFILE_BUDGET)[1] for at in asked]
        results = [min(1.0, math.nextafter(math.exp(log), 1.0)) for log in logs]
    return np.reshape(np.array(results), array.shape)


def compare(shuffle: Shuffle, **question: Any) -> list[Answer]:
    """Every bound's answer to `delta=` or `epsilon=`, the smallest first."""
    word = resolve_adjacency(shuffle, question.get("adjacency"))
    eps0 = float(shuffle.eps0)
    if question.get("delta") is not None and question.get("epsilon") is None:
        log_delta = ln(DELTA.check("delta", question["delta"]))
        return _every(
            shuffle, "epsilon", lambda b: min(b.epsilon(log_delta), eps0), word, lambda v: v >= eps0
        )
    if question.get("epsilon") is not None and question.get("delta") is None:
        at = float(EPSILON.check("epsilon", question["epsilon"]))
        alone = bounds.local(eps0).log_delta(at)
        return _every(shuffle, "delta", lambda b: b.log_delta(at), word, lambda v: v > alone)
    return []
