"""Ways from a plan to an answer, by name: epsilon or delta. Each applies or refuses; none reinterprets."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dpacct.answer import Answer
from dpacct.answer.ask import strict
from dpacct.citations import (
    BRACKET,
    CLOSED_FORM,
    CONVERSION,
    INVERSION,
    LIANG_POISSON,
    LIANG_UNIFORM,
    LIMIT,
    Citation,
)
from dpacct.citations import MIRONOV as MIRONOV_CONVERSION
from dpacct.declare.domain import Real, did_you_mean, one_of
from dpacct.declare.number import ln
from dpacct.errors import InvalidArgument, NotCertified, Unreachable, Unsupported
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.plan import smallest_noise
from dpacct.plan.composition import Composition, Direction, log_moments
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson
from dpacct.plan.samplers.sampled import SampledRelease, Sampler
from dpacct.pld import bracket, contour, conversions
from dpacct.pld.bracket.nested import merged
from dpacct.pld.budget import (
    MEMORY,
    MOST_WORK,
    SECONDS,
    WORK,
    Overspent,
    metered,
    one_question,
    spent,
)
from dpacct.pld.conversions import gaussian_log_delta
from dpacct.pld.interval import Interval
from dpacct.pld.loss import gaussian
from dpacct.pld.pair import PairMoments
from dpacct.pld.pieces import Sources
from dpacct.pld.roots import first_miss, halved, minimum
from dpacct.pld.stable import TooFine, quiet
from dpacct.vocabulary import Adjacency, Side, Strength

_UNSPANNED = (
    f"no lattice of {SECONDS:g} s and {MEMORY >> 30} GB spans the losses of this plan at this target, and "
    "the value is withheld; method='rdp' has an upper bound at any size, and a larger delta or fewer "
    "steps need a shorter lattice"
)
# relative error up to which an answer is called converged, and the bracket is not asked
CONVERGED = 1e-9
# of the work of a question, what contours may take before a grid is asked
WIDTH = bracket.WIDTH
"""Relative width of a bracket that is aimed at."""
WIDTHS = Real("1e-9", "0.1", "both")
"""Those that may be asked for, as in method="bracket@1e-6"."""
# of published guarantees
_HALVED = 1e-12


@dataclass(frozen=True)
class Finding:
    """A value with its known ends (None: unknown) and grade; for delta all three are logarithms."""

    value: float
    lower: float | None
    upper: float | None
    strength: Strength
    basis: tuple[Citation, ...]

    @property
    def side(self) -> Side:
        """The side, by which ends are known."""
        if self.upper is None:
            return Side.NONE
        return Side.UPPER if self.lower is None else Side.TWO_SIDED


_Way = TypeVar("_Way")


@dataclass(frozen=True)
class RouteQuestion:
    """Epsilon at this log delta, or log delta at this epsilon."""

    of_epsilon: bool
    at: float

    def pick(self, epsilon: _Way, log_delta: _Way) -> _Way:
        """The first function for epsilon, the second for log delta."""
        return epsilon if self.of_epsilon else log_delta

    def point(self, answer: float) -> tuple[float, float]:
        """The point (log delta, epsilon) of a candidate answer."""
        return (self.at, answer) if self.of_epsilon else (answer, self.at)


class Route(ABC):
    """A method for epsilon or delta of a composition."""

    name: str

    @abstractmethod
    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Epsilon or log delta; raises `Unsupported` where the route does not apply."""


# -- moments of real order, optimised continuously, and a published conversion ------------------------


@dataclass(frozen=True)
class Renyi(Route):
    """Upper bounds from moments; `at_epsilon` and `at_delta` are the conversion, per order."""

    name: str
    basis: Citation
    at_delta: Callable[[float, float, float], float]  # (log moment, s, log delta) -> epsilon
    at_epsilon: Callable[[float, float, float], float]  # (log moment, s, epsilon) -> log delta

    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Answer by the Rényi order with the best conversion."""
        convert = question.pick(self.at_delta, self.at_epsilon)

        def for_direction(way: list[tuple[PairMoments, int]]) -> float:
            def bound(log_s: float) -> float:
                s = math.exp(log_s)
                try:
                    with quiet():
                        moment = float(log_moments(way, np.array([s]))[0])
                except TooFine:  # an order far outside the useful range
                    return math.inf
                return convert(moment, s, question.at) if math.isfinite(moment) else math.inf

            return minimum(bound, math.log(1e-8), math.log(1e12))

        best = max(for_direction(way) for way in plan.moments)
        value = max(0.0, best) * (1.0 + 1e-13) if question.of_epsilon else min(0.0, best + 1e-13)
        return Finding(value, None, value, Strength.BOUND, (self.basis,))


CANONNE = Renyi(
    "rdp",
    CONVERSION,
    conversions.epsilon,
    conversions.log_delta,
)
MIRONOV = Renyi(
    "rdp-mironov",
    MIRONOV_CONVERSION,
    conversions.mironov_epsilon,
    conversions.mironov_log_delta,
)


# -- losses on a grid, rounded up and down, so that the truth lies between -----------------------------

_Ask = Callable[[Direction, Interval | None], Interval | None]


def sources(direction: Direction) -> Sources:
    """The sources of all losses of one direction, for grids."""
    return merged(direction.sources)


@dataclass(frozen=True)
class Bracket(Route):
    """Composition of a measure above and one below each law; for any law at all.

    A plan too large to reach the width within the memory it may use gets the bracket that was reached.
    """

    width: float = WIDTH

    name = "bracket"

    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Answer from two measures of each law, one above it and one below it."""
        if plan.renyi_only:
            message = (
                f"method 'bracket' needs a dominating pair, and {plan.renyi_only[0][0]!r} has none"
            )
            raise Unsupported(message, argument="method")

        def ask(way: Direction, best: Interval | None) -> Interval | None:
            if best is not None and (
                (question.of_epsilon and _largest(way) <= best.lower)
                or _below(way, *question.point(best.lower))
            ):
                return None
            if question.of_epsilon:
                if way.log_touched <= question.at < 0.0:
                    return Interval.about(0.0, 0.0)
                least = -math.inf if best is None else best.lower
                return bracket.epsilon(sources(way), question.at, self.width, beaten=least)
            least = -math.inf if best is None else best.lower
            result = bracket.log_delta(sources(way), question.at, self.width, least)
            most = way.log_touched
            return (
                result if result.upper <= most else Interval.between(min(result.lower, most), most)
            )

        try:
            return self._bracket(plan, ask, log_scale=not question.of_epsilon)
        except TooFine as error:
            raise NotCertified(_UNSPANNED) from error

    def _bracket(self, plan: Composition, ask: _Ask, log_scale: bool) -> Finding:
        upper = _worst(plan.upper, ask)
        value = upper.upper
        lower = upper.lower
        if plan.lower is not None:
            lower = _worst(plan.lower, ask).lower
        size = 1.0 if log_scale or value <= 0.0 or value == math.inf else value
        charged = all(source.charged for way in plan.upper for source, _ in way.sources)
        sharp = upper.upper == upper.lower or upper.upper - upper.lower <= 2.0 * CONVERGED * size
        return Finding(
            value=value,
            lower=min(lower, value),
            upper=upper.upper,
            strength=Strength.BRACKETED
            if charged
            else Strength.CONVERGED
            if sharp
            else Strength.BOUND,
            basis=(*plan.basis, BRACKET),
        )


def _worst(directions: list[Direction], ask: _Ask) -> Interval:
    """The bracket of the larger direction; one that a cheap bound shows to be smaller is skipped."""
    best: Interval | None = None
    for direction in directions:
        result = ask(direction, best)
        if result is not None:
            best = result if best is None else best.larger(result)
    assert best is not None
    return best


def _largest(direction: Direction) -> float:
    """An upper bound of the direction's losses, up to negligible mass; inf if losses can be infinite."""
    if direction.log_kept < 0.0:
        return math.inf
    return float(sum(count * source.span(-745.0)[1] for source, count in direction.sources))


def _below(direction: Direction, log_target: float, epsilon: float) -> bool:
    """Return whether a cheap bound shows delta(epsilon) < e^log_target."""
    if direction.log_kept < 0.0 or not math.isfinite(epsilon) or log_target == -math.inf:
        return False
    try:
        return bracket.surely_below(sources(direction), epsilon, log_target)
    except Overspent:
        return False


# -- moments of the dominating pairs, inverted on a contour in the complex plane ------------------------


class Exact(Route):
    """Composition of the dominating pairs: the line, else the bracket, else at most the moments' bound."""

    name = "exact"

    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Answer by the first of them that carries the plan."""
        finding = self._on_lines(plan, question) if plan.has_contour else None
        if finding is None:
            try:
                finding = Bracket().answer(plan, question)
            except (NotCertified, Overspent):
                if not plan.has_contour:
                    raise
                return CANONNE.answer(plan, question)
        return _lesser(finding, CANONNE.answer(plan, question)) if plan.loose else finding

    def _on_lines(self, plan: Composition, question: RouteQuestion) -> Finding | None:
        """The answer by contours; None where one of them refuses."""

        def ask(way: Direction, best: Interval | None) -> Interval | None:
            if best is not None and way.surely_below(*question.point(best.lower)):
                return None
            result = question.pick(way.epsilon, way.log_delta)(question.at)
            # log of the smallest normal double
            if not question.of_epsilon and result.upper < -708.0:
                return result  # nothing is left that a double could hold
            if not (result.resolved and _error(result, question.of_epsilon) <= CONVERGED):
                raise TooFine
            return result

        try:
            # a bracket of very many kinds takes longer than their line
            many = len(plan.upper[0].sources) > 1000
            # else three tenths of the work are left for brackets
            with metered((MOST_WORK if many else 0.7 * WORK) - spent()):
                upper = _worst(plan.upper, ask)
                lower = upper if plan.lower is None else _worst(plan.lower, ask)
        except (TooFine, Overspent):
            return None
        return Finding(
            value=upper.value,
            lower=min(lower.lower, upper.value),
            upper=upper.upper,
            strength=Strength.CONVERGED,
            basis=(*plan.basis, INVERSION),
        )


def _lesser(finding: Finding, bound: Finding) -> Finding:
    """The finding with the smaller upper end: the given one, or a moment bound's."""
    assert finding.upper is not None and bound.upper is not None
    if finding.upper <= bound.upper:
        return finding
    upper = max(bound.upper, finding.lower or -math.inf)
    basis = (*finding.basis, *bound.basis)
    return replace(finding, value=upper, upper=upper, strength=Strength.BOUND, basis=basis)


def _error(solved: Interval, relative: bool) -> float:
    if solved.value == solved.lower == solved.upper:
        return 0.0
    half = 0.5 * (solved.upper - solved.lower)
    return half / solved.value if relative and solved.value > 0.0 else half


# -- closed forms, limits, proofs and published guarantees ----------------------------------------------


class CentralLimit(Route):
    """mu-GDP in the limit of many small steps; asymptotic, so it may lie below the truth."""

    name = "clt"

    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Answer by the Gaussian limit, on either side of the truth."""
        if not plan.clt_mu > 1e-100:
            raise Unsupported("clt does not apply: the limit's mu is zero", argument="method")
        limit = [(gaussian(plan.clt_mu), 1.0)]
        if question.of_epsilon:
            value = contour.epsilon(limit, question.at).value
        else:
            value = contour.log_delta(limit, question.at).value
        return Finding(value, None, None, Strength.ESTIMATE, (LIMIT,))


class BalleWang(Route):
    """delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle, Wang 2018, Theorem 8)."""

    name = "balle_wang.theorem8"

    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Answer by the formula, where it does not cancel to nothing."""
        mu = plan.gaussian_mu
        if mu is None:
            message = f"method {self.name!r} applies to plans of plain Gaussian releases only"
            raise Unsupported(message, argument="method")
        if question.of_epsilon:
            solved = contour.gaussian_epsilon(mu, question.at)
        else:
            solved = Interval.of_log(*gaussian_log_delta(mu, question.at))
        if solved is None or not solved.resolved:
            message = f"method {self.name!r} cancels to nothing at mu = {mu:.3g} and this question"
            raise Unsupported(message, argument="method")
        ends = solved.value, solved.lower, solved.upper
        return Finding(*ends, Strength.CONVERGED, (CLOSED_FORM,))


@dataclass(frozen=True)
class ClosedGuarantee(Route):
    """An upper bound as published: its proof has a gap, and no counter-example is known."""

    name: str
    theorem: smallest_noise.Guarantee
    sampler: type[Sampler]
    basis: Citation

    def answer(self, plan: Composition, question: RouteQuestion) -> Finding:
        """Answer by the formula for this question."""
        return question.pick(self.epsilon, self.log_delta)(plan, question.at)

    def sigma(self, plan: Composition, epsilon: float, log_delta: float) -> float:
        """Smallest standard deviation / sensitivity; raises `Unreachable` where no lambda exists.

        The theorem's nu is 2 G sqrt(x) whatever the adjacency; the sensitivity is G or 2G.
        """
        rate, steps, _ = self._facts(plan)
        result = self.theorem.smallest(epsilon, -log_delta, rate, steps)
        if result is None:
            least = self.theorem.least_epsilon(-log_delta, rate, steps)
            message = (
                f"no lambda meets the conditions of {self.name} at epsilon {epsilon:.6g}: the"
                f" smallest feasible epsilon is {least:.14g}"
            )
            raise Unreachable(message, argument="epsilon")
        return 2.0 * math.sqrt(result[0]) / plan.adjacency.clip_factor * (1.0 + 1e-14)

    def epsilon(self, plan: Composition, log_delta: float) -> Finding:
        """The smallest epsilon for which the plan's noise is enough."""
        rate, steps, sigma = self._facts(plan)
        least = self.theorem.least_epsilon(-log_delta, rate, steps) * (1.0 + _HALVED)

        def enough(epsilon: float) -> bool:
            return self.sigma(plan, epsilon, log_delta) <= sigma

        if enough(least):
            return self._finding(least)
        low, high = first_miss(lambda epsilon: not enough(epsilon), least, most=1e9)
        if high == math.inf:
            raise Unsupported(f"{self.name} gives no epsilon for this plan", argument="method")
        return self._finding(halved(enough, high, low, _HALVED)[0])

    def log_delta(self, plan: Composition, epsilon: float) -> Finding:
        """The smallest delta for which the plan's noise is enough; log 1 where there is none."""
        rate, steps, sigma = self._facts(plan)

        def enough(log_inverse: float) -> bool:
            result = self.theorem.smallest(epsilon, log_inverse, rate, steps)
            return result is not None and (
                2.0 * math.sqrt(result[0]) / plan.adjacency.clip_factor <= sigma
            )

        if not epsilon > 0.0 or not enough(1e-9):
            return self._finding(0.0)
        return self._finding(-halved(enough, *first_miss(enough, 1e-9), _HALVED)[0])

    def _facts(self, plan: Composition) -> tuple[float, int, float]:
        """Rate, number of steps and sigma; raises `Unsupported` for any other kind of plan."""
        if len(plan.releases) == 1:
            leaf, steps = plan.releases[0]
            if (
                isinstance(leaf, SampledRelease)
                and isinstance(leaf.sampler, self.sampler)
                and isinstance(leaf.node, Gaussian)
            ):
                return float(leaf.sampler.rate), steps, leaf.node.sigma_under(plan.adjacency)
        message = (
            f"method {self.name!r} applies to repeated Gaussian releases only, where "
            f"{self.sampler.drawing}"
        )
        raise Unsupported(message, argument="method")

    def _finding(self, value: float) -> Finding:
        return Finding(value, None, value, Strength.PUBLISHED, (self.basis,))


THEOREM1 = ClosedGuarantee(
    "dp_fed_ls.theorem1", smallest_noise.UNIFORM, WithoutReplacement, LIANG_UNIFORM
)
THEOREM2 = ClosedGuarantee("dp_fed_ls.theorem2", smallest_noise.POISSON, Poisson, LIANG_POISSON)
PUBLISHED = {route.name: route for route in (THEOREM1, THEOREM2)}
"""The theorems that answer by name; they are never the default."""


# -- by name --------------------------------------------------------------------------------------------

ROUTES: dict[str, Route] = {
    route.name: route
    for route in (Exact(), Bracket(), BalleWang(), CANONNE, MIRONOV, CentralLimit())
}
"""Every method that is compared, the strongest first."""
OFFERED = (*ROUTES, "certified", *PUBLISHED)
"""Every method's name: proofs, which `ask` makes, and the papers' theorems are not compared."""
QUICK = "quick"
"""The strongest method that answers in milliseconds: exact, or Renyi where only that is known."""


def named(method: str) -> Route:
    """The route of that name; raises `InvalidArgument` with the choices.

    "bracket@1e-6" is the lattice with brackets of that relative width.
    """
    if isinstance(method, str):
        route = ROUTES.get(method) or PUBLISHED.get(method)
        if route is not None:
            return route
        if method.startswith("bracket@"):
            return Bracket(width=float(WIDTHS.check("method", method.removeprefix("bracket@"))))
    choices = ["auto", *OFFERED]
    hint = did_you_mean(str(method), choices)
    message = f"method must be one of {one_of(choices)}, got {method!r:.60}{hint}"
    raise InvalidArgument(message, argument="method")


def _route(plan: Composition, method: str) -> Route:
    return named(method) if method != QUICK else ROUTES["rdp" if plan.renyi_only else "exact"]


def fast_method(node: Node, adjacency: Adjacency | str | None = None) -> str:
    """The name of the strongest method that answers in milliseconds."""
    return _route(Composition(node, resolve_adjacency(node, adjacency)), QUICK).name


# -- answers --------------------------------------------------------------------------------------------


@strict
@one_question()
def epsilon(node: Node, delta: Fraction, method: str, adjacency: Adjacency | None) -> Answer:
    """Epsilon at this delta in (0, 1), by one method."""
    started = time.perf_counter()
    plan = Composition(node, resolve_adjacency(node, adjacency))
    route = _route(plan, method)
    finding, most = route.answer(plan, RouteQuestion(True, ln(delta))), plan.promised(delta)
    if most is not None and finding.upper is not None and finding.upper > most:
        finding = replace(finding, value=min(finding.value, most), upper=most)
    return _answer(plan, "epsilon", finding, route, started)


def delta(node: Node, epsilon: Fraction, method: str, adjacency: Adjacency | None) -> Answer:
    """Delta at this epsilon >= 0, by one method."""
    return safe_log_delta(node, epsilon, method=method, adjacency=adjacency)[0]


@strict
@one_question()
def safe_log_delta(
    node: Node,
    epsilon: float | Fraction,
    *,
    method: str = QUICK,
    adjacency: Adjacency | str | None = None,
    tilts: Mapping[int, float] | None = None,
) -> tuple[Answer, float]:
    """Delta's answer, and the log of its safe end (of its value, where no end is known)."""
    started = time.perf_counter()
    plan = Composition(node, resolve_adjacency(node, adjacency), tilts)
    route = _route(plan, method)
    at = float(epsilon)
    # rounding must not put what is past all losses below them
    if isinstance(epsilon, Fraction) and plan.past_all_losses(epsilon):
        at = math.nextafter(at * (1 + 1e-14), math.inf)
    finding = route.answer(plan, RouteQuestion(False, at))
    end = finding.value if finding.upper is None else finding.upper
    return _answer(plan, "delta", finding, route, started), end


def _answer(
    plan: Composition, quantity: str, finding: Finding, route: Route, started: float
) -> Answer:
    node = plan.node
    value, lower, upper = finding.value, finding.lower, finding.upper
    log_value = None
    if quantity == "delta":
        log_value = value if math.isfinite(value) else None
        value, lower, upper = math.exp(value), _power(lower, down=True), _power(upper, up=True)
    return Answer(
        quantity=quantity,
        value=value,
        lower=lower,
        upper=upper,
        side=finding.side,
        strength=finding.strength,
        method=route.name,
        basis=finding.basis,
        assumptions=node.assumptions(plan.adjacency),
        adjacency=plan.adjacency,
        unit=node.unit,
        tree=node,
        seconds=time.perf_counter() - started,
        log_value=log_value,
    )


def _power(log_value: float | None, *, up: bool = False, down: bool = False) -> float | None:
    """e^{log_value} as a probability, rounded outwards where an end is asked for."""
    if log_value is None:
        return None
    # the logarithm is a float itself, and half a unit of its last place is more than one of the value's
    margin = (2.0**-52) * abs(log_value) if math.isfinite(log_value) else 0.0
    if up:
        return min(1.0, math.nextafter(math.exp(log_value + margin), 1.0))
    if down:
        return max(0.0, math.nextafter(math.exp(log_value - margin), 0.0))
    return math.exp(log_value)
