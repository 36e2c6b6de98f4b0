"""The largest eps0 of each client for which the shuffled messages meet a target."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from dpacct.answer import Answer
from dpacct.citations import BLANKET, CLONES, COUNTED
from dpacct.declare.domain import DELTA, EPSILON, Integer
from dpacct.declare.number import Number, ln
from dpacct.errors import Unreachable
from dpacct.pld import bracket
from dpacct.pld.roots import first_miss, halved
from dpacct.shuffling import bounds
from dpacct.shuffling.bounds import inputs_of
from dpacct.shuffling.letters import Letters
from dpacct.shuffling.pair import atoms
from dpacct.shuffling.shuffle import Shuffle
from dpacct.vocabulary import Adjacency, Side, Strength

_MOST = 500.0
_LEAST = 1e-9
ROUNDS = Integer(1, 10**9)
"""Rounds of shuffling."""
_BUDGET = 4000  # intervals of inputs at each eps0
# a part of eps0: what the search over rounds, each of which composes a lattice, leaves open
_STEP, _COARSE_STEP = 1e-9, 1e-4


def largest_eps0(
    *,
    epsilon: Number,
    delta: Number,
    clients: int,
    k: int | None = None,
    rate: Number = 1,
    rounds: int = 1,
) -> Answer:
    """The largest eps0 whose shuffle, over the rounds, is known to be (epsilon, delta)-DP.

    It meets the target; a slightly larger one is not known to. Raises `Unreachable` where none above 1e-9
    does, `InvalidArgument` out of range.

    >>> f"{float(largest_eps0(epsilon=1, delta=1e-6, clients=10**4)):.6f}"
    '5.470012'
    """
    started = time.perf_counter()
    target, failure = EPSILON.check("epsilon", epsilon), DELTA.check("delta", delta)
    times = int(ROUNDS.check("rounds", rounds))
    named = Shuffle(eps0=1, clients=clients, k=k, rate=rate)
    log_delta = ln(failure)

    def letters(eps0: float) -> Letters:
        return Letters(int(named.clients), eps0, int(k or 0), float(named.rate))

    def meets_once(eps0: float) -> bool:
        if eps0 <= target:
            return True
        binary = inputs_of(Shuffle(eps0=eps0, clients=clients, k=k, rate=rate))
        if binary is not None:
            return binary.log_delta(float(target), _BUDGET)[1] <= log_delta
        return bounds.numeric(letters(eps0), upper=True).log_delta(float(target)) <= log_delta

    def meets(eps0: float) -> bool:
        if eps0 * times <= target:
            return True
        return bracket.epsilon(
            [(atoms(letters(eps0), upper=True), float(times))], log_delta
        ).upper <= float(target)

    result = _largest(meets_once, float(target), _MOST, _STEP)
    if result is not None and times > 1:  # more rounds never allow more
        result = _largest(meets, float(target) / times, result, _COARSE_STEP)
    if result is None:
        message = f"no eps0 above {_LEAST:g} is known to meet epsilon {float(target):g} at delta "
        raise Unreachable(f"{message}{float(failure):g}", argument="epsilon")
    best = Shuffle(eps0=result, clients=clients, k=k, rate=rate)
    method, basis = ("balle2019.blanket", BLANKET) if k else ("feldman2022.clones", CLONES)
    if times == 1 and inputs_of(best) is not None:
        method, basis = "count", COUNTED
    return Answer(
        quantity="eps0",
        value=result,
        lower=result,
        side=Side.LOWER,
        strength=Strength.BOUND,
        method=method,
        basis=(basis,),
        assumptions=best.assumptions(Adjacency.REPLACE_ONE),
        adjacency=Adjacency.REPLACE_ONE,
        unit=best.unit,
        tree=best * times,
        seconds=time.perf_counter() - started,
        safe_end="lower",
    )


def _largest(
    meets: Callable[[float], bool], start: float, most: float, width: float
) -> float | None:
    """The end of an interval from 0 on which the target is met, to this part; None if it is too short."""
    low = min(max(start, _LEAST), most)
    if not meets(low):
        return None
    low, high = first_miss(meets, low, most=most)
    return low if high == math.inf else halved(meets, low, high, width)[0]
