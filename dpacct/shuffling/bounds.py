"""Every bound of one shuffle by its name, and what a shuffle answers by them.

A bound gives epsilon at a delta and delta at an epsilon, each on the safe side. The answer is the smallest of
all upper bounds, above what randomised response realises.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpacct.answer import Answer
from dpacct.answer.ask import Delta, Epsilon, ask
from dpacct.citations import (
    ALONE,
    BENNETT,
    BLANKET,
    CLONES,
    COUNTED,
    ERLINGSSON,
    FELDMAN_2020,
    FELDMAN_2022,
    FEWER_CLONES,
    GIRGIS,
    GIRGIS_ROUNDS,
    HOEFFDING,
    NOT_COUNTED_ON,
    REALISED,
    UNAMPLIFIED,
    UNSPANNED,
    Citation,
)
from dpacct.declare.domain import DELTA, EPSILON
from dpacct.declare.number import Number, ln
from dpacct.errors import NotCertified
from dpacct.mechanisms.randomized_response import LocalRandomizer
from dpacct.plan.node import resolve_adjacency
from dpacct.pld import conversions
from dpacct.pld.roots import crossing, halved
from dpacct.shuffling import published
from dpacct.shuffling.count import BUDGET, Count, Inputs
from dpacct.shuffling.letters import Letters, hidden_log_delta, mixture
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpacct.shuffling.shuffle import Shuffle


BLOCKS = 1000
MANY_BLOCKS = 4800
_SAFE = 1.0 + 1e-12
_TINY = -745.0


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound of one shuffle by its name; a lower one where it is not `upper`.

    `of_epsilon` is log delta of an epsilon in [0, eps0), rounded to the bound's side. `stated` is epsilon of
    a log delta where a formula has that; elsewhere it is searched for.
    """

    name: str
    basis: Citation
    eps0: float
    of_epsilon: Callable[[float], float]
    stated: Callable[[float], float] | None = None
    upper: bool = True
    _epsilons: dict[float, float] = field(default_factory=dict, repr=False)

    def log_delta(self, epsilon: float) -> float:
        """log delta at this epsilon; -inf from eps0 on."""
        return -math.inf if epsilon >= self.eps0 else self.of_epsilon(epsilon)

    def epsilon(self, log_target: float) -> float:
        """An epsilon in [0, eps0] on the bound's side of where delta meets the target."""
        if log_target not in self._epsilons:  # an answer is printed beside all bounds
            self._epsilons[log_target] = (self.stated or self._searched)(log_target)
        return self._epsilons[log_target]

    def _searched(self, log_target: float) -> float:
        return crossing(lambda e: self.log_delta(e) - log_target, self.eps0)[self.upper]


def numeric(letters: Letters, *, upper: bool) -> Bound:
    """The bound from the counted pair of these letters: an upper bound, or a lower one without `upper`."""
    mixed = mixture(letters, upper, MANY_BLOCKS if letters.other > 0.0 else BLOCKS)
    name, basis = "feldman2022.clones", CLONES
    if letters.clones:
        name = "feldman2020.clones"
        basis = FEWER_CLONES
    elif letters.answers:
        name, basis = "balle2019.blanket", BLANKET
    read = lru_cache(8)(partial(hidden_log_delta, mixed, upper=upper))
    return Bound(name, basis, letters.eps0, read, upper=upper)


def local(eps0: float) -> Bound:
    """The bound of each message alone, as if nothing were shuffled: the fallback that always holds."""

    def log_delta(epsilon: float) -> float:
        fall = math.exp(-eps0)
        return math.log(-math.expm1(epsilon - eps0) / (1.0 + fall)) + 1e-13

    def epsilon(log_target: float) -> float:
        # delta = (e^eps0 - e^epsilon)/(e^eps0 + 1)
        kept = -math.expm1(log_target) - math.exp(log_target - eps0)
        return max(0.0, eps0 + math.log(kept)) * _SAFE if kept > 0.0 else 0.0

    return Bound("local", UNAMPLIFIED, eps0, log_delta, epsilon)


def _of_delta(name: str, basis: Citation, at: Callable[[float], float], eps0: float) -> Bound:
    """A bound from a formula for delta that decreases in epsilon on (0, eps0)."""

    def log_delta(epsilon: float) -> float:
        value = at(epsilon) if epsilon > 0.0 else 1.0
        return math.log(value) + 1e-12 if value > 0.0 else _TINY

    return Bound(name, basis, eps0, log_delta)


def _of_epsilon(
    name: str, basis: Citation, at: Callable[[float], float | None], eps0: float
) -> Bound:
    """A bound from a formula for epsilon at a delta; where the formula is None, eps0 holds."""

    def epsilon(log_target: float) -> float:
        result = at(math.exp(log_target)) if _TINY < log_target < 0.0 else None
        return eps0 if result is None else min(eps0, result * _SAFE)

    def log_delta(wanted: float) -> float:
        return halved(lambda target: epsilon(target) > wanted, -700.0, 0.0, 1e-15)[1]

    return Bound(name, basis, eps0, log_delta, epsilon)


def girgis_epsilon(eps0: float, clients: int, rounds: int, log_delta: float) -> float | None:
    """Girgis et al. 2021 over rounds, at the best whole order that its condition allows; None if none."""
    best: float | None = None
    if published.girgis_fewest(2, min(eps0, 9.0)) >= clients:
        return None
    for alpha in range(2, 4096):
        if clients <= published.girgis_fewest(alpha, eps0):
            break
        moment = rounds * (alpha - 1) * published.girgis_divergence(alpha, eps0, clients)
        answer = conversions.epsilon(moment, alpha - 1.0, log_delta)
        best = answer if best is None else min(best, answer)
    return None if best is None else max(best, 0.0)


def closed_forms(eps0: float, clients: int, answers: int) -> Iterator[Bound]:
    """The published formulas for a shuffle in which everyone takes part, where they hold."""

    def feldman2022(delta: float) -> float | None:
        if eps0 > published.feldman2022_most_eps0(clients, delta):
            return None
        return published.feldman2022_epsilon(delta, clients, eps0)

    def feldman2020(delta: float) -> float | None:
        if eps0 > published.feldman2020_most_eps0(clients, delta):
            return None
        return published.feldman2020_epsilon(delta, clients, eps0)

    def girgis(delta: float) -> float | None:
        return girgis_epsilon(eps0, clients, 1, math.log(delta))

    def erlingsson(delta: float) -> float | None:
        if clients < 1000 or eps0 >= 0.5 or delta >= 0.01:
            return None
        return published.erlingsson_epsilon(delta, clients, eps0)

    def bennett(epsilon: float) -> float:
        if answers:
            return published.bennett_rr(eps0, epsilon, clients, answers)
        return published.bennett(eps0, epsilon, clients)

    def hoeffding(epsilon: float) -> float:
        if answers:
            return published.hoeffding_rr(eps0, epsilon, clients, answers)
        return published.hoeffding(eps0, epsilon, clients)

    for name, basis, at in (
        ("feldman2022.closed", FELDMAN_2022, feldman2022),
        ("feldman2020.theorem3_1", FELDMAN_2020, feldman2020),
        ("girgis2021.upper", GIRGIS, girgis),
        ("erlingsson2019.closed", ERLINGSSON, erlingsson),
    ):
        yield _of_epsilon(name, basis, at, eps0)
    if eps0 <= 20.0:
        yield _of_delta("balle2019.bennett", BENNETT, bennett, eps0)
        yield _of_delta("balle2019.hoeffding", HOEFFDING, hoeffding, eps0)


# --- what a shuffle answers

_PROFILE_BUDGET = BUDGET // 20  # of each epsilon, where many are asked


@lru_cache(maxsize=8)  # an answer is printed beside all its bounds
def upper_bounds(shuffle: Shuffle) -> list[Bound]:
    """Every upper bound that may apply, the counted ones first; the last always does."""
    n, eps0, rate = int(shuffle.clients), float(shuffle.eps0), float(shuffle.rate)
    answers = int(shuffle.k or 0)
    bounds = [numeric(Letters(n, eps0, answers, rate), upper=True)]
    if answers:
        bounds.append(numeric(Letters(n, eps0, 0, rate), upper=True))
    if rate == 1.0:
        bounds.append(numeric(Letters(n, eps0, clones=True), upper=True))
        bounds += closed_forms(eps0, n, answers)
    return [*bounds, local(eps0)]


def lower_bounds(shuffle: Shuffle) -> list[Bound]:
    """Lower bounds from shuffled randomised response."""
    n, eps0, rate = int(shuffle.clients), float(shuffle.eps0), float(shuffle.rate)
    answers = int(shuffle.k or 0)
    realised_bounds = []
    if answers != 2:
        realised_bounds.append(numeric(Letters(n, eps0, answers, rate, realised=True), upper=False))
    if answers in (0, 2):  # the count of ones, one client against all zero, the worse direction
        counted = Count(n, eps0, rate).log_delta
        realised_bounds.append(Bound("count", REALISED, eps0, counted, upper=False))
    return realised_bounds


def inputs_of(shuffle: Shuffle) -> Inputs | None:
    """The shuffle of binary responses of all clients, which is known exactly; else None."""
    if shuffle.k != 2 or shuffle.rate != 1:
        return None
    return Inputs(int(shuffle.clients), float(shuffle.eps0))


@dataclass(frozen=True)
class ShuffleQuestion:
    """Epsilon of one shuffle at a log delta, or log delta at an epsilon; `past`: none is left there."""

    shuffle: Shuffle
    quantity: str
    at: float
    past: bool
    adjacency: Adjacency

    @classmethod
    def of(
        cls, shuffle: Shuffle, quantity: str, at: Number, adjacency: Adjacency | str | None
    ) -> ShuffleQuestion:
        """Make checked inputs. Raises `InvalidArgument`."""
        word = resolve_adjacency(shuffle, adjacency)
        if quantity == "epsilon":
            return cls(shuffle, quantity, ln(DELTA.check("delta", at)), False, word)
        exact = EPSILON.check("epsilon", at)
        return cls(shuffle, quantity, float(exact), exact >= shuffle.eps0, word)

    def by(self, bound: Bound) -> float:
        """The number that a bound gives for this question."""
        if self.quantity == "epsilon":
            return min(bound.epsilon(self.at), float(self.shuffle.eps0))
        return -math.inf if self.past else bound.log_delta(self.at)

    def counted(self, binary: Inputs) -> tuple[float, float]:
        """Both ends of the exact count."""
        if self.quantity == "epsilon":
            return binary.epsilon(self.at)
        return (-math.inf, -math.inf) if self.past else binary.log_delta(self.at)

    def useless(self, value: float) -> bool:
        """Return whether this is no better than the randomiser's own guarantee."""
        return value > self.by(local(float(self.shuffle.eps0)))

    def answer(
        self, bound: Bound, value: float, lower: float | None, started: float, *basis: Citation
    ) -> Answer:
        """The value as an `Answer`; without a lower end it is an upper bound."""
        log_value = None
        if self.quantity == "delta":
            log_value = value if math.isfinite(value) else None
            value, lower = math.exp(value), None if lower is None else math.exp(lower)
            if value > 0.0:
                value = min(1.0, math.nextafter(value, 1.0))
            lower = math.nextafter(lower, 0.0) if lower else lower
        return Answer(
            quantity=self.quantity,
            value=value,
            lower=None if lower is None else min(lower, value),
            upper=value,
            side=Side.UPPER if lower is None else Side.TWO_SIDED,
            strength=Strength.BOUND,
            method=bound.name,
            basis=(bound.basis, *basis),
            assumptions=self.shuffle.assumptions(self.adjacency),
            adjacency=self.adjacency,
            unit=self.shuffle.unit,
            tree=self.shuffle,
            seconds=time.perf_counter() - started,
            log_value=log_value,
        )


def sharper(
    shuffle: Shuffle, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
) -> Answer | None:
    """See `Shuffle.sharper`; None for a method of compositions."""
    question, started = ShuffleQuestion.of(shuffle, quantity, at, adjacency), time.perf_counter()
    binary = inputs_of(shuffle)
    if method in ("auto", "count") and binary is not None:
        lower, upper = question.counted(binary)
        counted = replace(local(0.0), name="count", basis=COUNTED)
        return question.answer(counted, upper, lower, started)
    named = {bound.name: bound for bound in upper_bounds(shuffle)}
    if method in named:
        value, chosen = question.by(named[method]), named[method]
        if method != "local" and question.useless(value):
            return question.answer(
                chosen, question.by(named["local"]), None, started, NOT_COUNTED_ON
            )
        return question.answer(chosen, value, None, started)
    if method != "auto":
        return None
    values = {name: question.by(bound) for name, bound in named.items()}
    best = min(values, key=values.__getitem__)
    lower = max(map(question.by, lower_bounds(shuffle)))
    basis = (NOT_COUNTED_ON, REALISED) if best == "local" else (REALISED,)
    return question.answer(named[best], values[best], lower, started, *basis)


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


def compare(shuffle: Shuffle, **asked: Any) -> list[Answer]:
    """Every bound's answer to `delta=` or `epsilon=` that says more than the randomiser, and that one.

    The smallest comes first.
    """
    stated = [name for name in ("delta", "epsilon") if asked.get(name) is not None]
    if len(stated) != 1:
        return []
    quantity = "epsilon" if stated == ["delta"] else "delta"
    question = ShuffleQuestion.of(shuffle, quantity, asked[stated[0]], asked.get("adjacency"))
    answers = []
    for bound in upper_bounds(shuffle):
        started = time.perf_counter()
        value = question.by(bound)
        if bound.name == "local" or not question.useless(value):
            answers.append(question.answer(bound, value, None, started))
    return sorted(answers, key=lambda answer: answer.value)


def over_rounds(shuffle: Shuffle, rounds: int, **asked: Fraction) -> list[Answer]:
    """Without shuffling (one client's messages composed exactly), and Girgis et al. where they apply."""
    node, eps0 = shuffle * rounds, float(shuffle.eps0)
    alone = LocalRandomizer(eps0=eps0) * rounds
    if "delta" in asked:
        composed = alone.epsilon(asked["delta"], adjacency="replace-one")
    else:
        composed = alone.delta(asked["epsilon"], adjacency="replace-one")
    start = Answer(
        quantity=composed.quantity,
        value=float(composed),
        upper=float(composed),
        side=Side.UPPER,
        strength=Strength.weakest((composed.strength, Strength.BOUND)),
        method="local",
        basis=(ALONE, *composed.basis),
        assumptions=node.assumptions(Adjacency.REPLACE_ONE),
        adjacency=Adjacency.REPLACE_ONE,
        unit=node.unit,
        tree=node,
        seconds=composed.seconds,
    )
    started = time.perf_counter()
    value = None
    if shuffle.rate == 1 and "delta" in asked:
        value = girgis_epsilon(eps0, int(shuffle.clients), rounds, ln(asked["delta"]))
    if value is None:
        return [start]
    upper, seconds = value * (1.0 + 1e-12), time.perf_counter() - started
    girgis = replace(
        start, value=upper, upper=upper, method="girgis2021.upper", basis=(GIRGIS_ROUNDS,)
    )
    return [start, replace(girgis, strength=Strength.BOUND, seconds=seconds)]


@lru_cache(maxsize=8)  # an answer is printed beside all its bounds
def of_rounds(shuffle: Shuffle, rounds: int, quantity: str, at: Fraction) -> tuple[Answer, ...]:
    """The smallest upper bound over rounds, with the lower end that is known; then all others."""
    node = shuffle * rounds
    question = Epsilon(at) if quantity == "epsilon" else Delta(at)
    others = [ask(question, node, method=method) for method in ("rdp", "rdp-mironov")]
    others += over_rounds(shuffle, rounds, **question.settings)
    try:
        answer = ask(question, node, method="exact")
    except NotCertified:
        # hundreds of nats beside rare clones are more than the lattice spans: the other bounds hold
        answer = min(others, key=lambda a: a.value)
        answer = replace(answer, basis=(*answer.basis, UNSPANNED))
        return (answer, *(other for other in others if other.method != answer.method))
    best = min([answer, *others], key=lambda a: a.value if a is not answer else float(a))
    if best is not answer and best.value < float(answer):
        lower = min(answer.lower or 0.0, best.value)
        others = [other for other in others if other is not best] + [answer]
        answer = replace(best, lower=lower, side=answer.side)
    return (answer, *(other for other in others if math.isfinite(other.value)))
