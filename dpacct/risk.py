"""Privacy as attack success: bounds for every attacker against a plan, whatever it knows.

An attack is a test between two neighbouring data sets: a false positive rate alpha, and a true positive rate
of at most 1 - f(alpha), f being the trade-off function. What follows is a reading of f, or of delta(eps):

    advantage       max over tests of TPR - FPR = delta(0), the total variation
    Bayes accuracy  1 - min(p, 1 - p) (1 - delta(|log((1 - p)/p)|)), for a member with prior probability p
    precision       p TPR/(p TPR + (1 - p) FPR), the posterior of a record that the attack points at
    reconstruction  1 - f(k), where guessing without the release succeeds with probability k
                    (Hayes, Mahloujifar, Balle 2023, Theorem 2; Kaissis et al. 2023)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.answer import Answer
from dpacct.citations import BAYES, RECONSTRUCTION, TRADEOFF
from dpacct.declare.domain import Real
from dpacct.declare.number import Number, up
from dpacct.display import card
from dpacct.errors import Unreachable
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.vocabulary import Side, Strength

if TYPE_CHECKING:
    from dpacct.vocabulary import Adjacency

PROBABILITY = Real(0, 1)
"""A rate or prior probability, strictly between 0 and 1."""

_RATES = ("0.1", "0.01", "0.001")  # of false positives, as attacks are reported
_LEAST, _MOST = 1e-6, 1e9


@dataclass(frozen=True)
class Risk:
    """Attack success against a plan; every answer holds for any attacker and any pair of neighbours.

    Upper ends are safe. Raises `InvalidArgument` for rates and priors outside (0, 1).

    >>> import dpacct as dp
    >>> risk = dp.Risk(dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000)
    >>> f"{risk.advantage().upper:.6f}"
    '0.140321'
    >>> f"{risk.true_positive_rate(0.001).upper:.4f}"
    '0.0034'
    """

    node: Node
    adjacency: Adjacency | str | None = None

    def __post_init__(self) -> None:
        Node.checked(self.node)

    def _repr_html_(self) -> str:
        """Show the upper bounds on attacks in a notebook."""
        facts = {"advantage, at most": up(float(self.advantage()), 4)}
        for rate in _RATES:
            success = self.true_positive_rate(rate)
            facts[f"true positive rate at a false one of {rate}, at most"] = up(float(success), 4)
        return card(f"Risk of {self.node!r}", facts)

    def advantage(self) -> Answer:
        """Largest TPR - FPR of any membership attack: delta at epsilon 0.

        >>> import dpacct as dp
        >>> f"{dp.Risk(dp.PureDP(epsilon=1)).advantage().upper:.6f}"
        '0.462117'
        """
        answer = self.node.delta(epsilon=0, adjacency=self.adjacency, method="exact")
        return replace(answer, quantity="advantage", log_value=None)

    def true_positive_rate(self, false_positive_rate: Number) -> Answer:
        """Upper bound of the true positive rate of any attack with this false positive rate.

        Raises `InvalidArgument` for a rate outside (0, 1), and what the plan's `tradeoff` raises.

        >>> import dpacct as dp
        >>> f"{dp.Risk(dp.Gaussian(sigma=1)).true_positive_rate(0.01).upper:.4f}"
        '0.0924'
        """
        return self._beyond(false_positive_rate, "false_positive_rate", "true_positive_rate")

    def reconstruction(self, baseline: Number) -> Answer:
        """Upper bound of the success of a reconstruction that succeeds with `baseline` without the release.

        Raises `InvalidArgument` for a baseline outside (0, 1), and what the plan's `tradeoff` raises.

        >>> import dpacct as dp
        >>> f"{dp.Risk(dp.Gaussian(sigma=2)).reconstruction(0.01).upper:.5f}"
        '0.03390'
        """
        result = self._beyond(baseline, "baseline", "reconstruction")
        return replace(result, basis=(*result.basis, RECONSTRUCTION))

    def precision(self, false_positive_rate: Number, prior: Number = Fraction(1, 2)) -> Answer:
        """Upper bound of the posterior probability that a record which an attack points at is a member.

        Raises `InvalidArgument` for a rate or prior outside (0, 1), and what `tradeoff` raises.

        >>> import dpacct as dp
        >>> f"{dp.Risk(dp.Gaussian(sigma=1)).precision(0.01).upper:.4f}"
        '0.9023'
        """
        rate = PROBABILITY.check("false_positive_rate", false_positive_rate)
        p = float(PROBABILITY.check("prior", prior))
        result = self.true_positive_rate(rate)

        def posterior(hits: float) -> float:
            return p * hits / (p * hits + (1.0 - p) * float(rate))

        value = math.nextafter(posterior(float(result)), 1.0)
        return replace(result, quantity="precision", value=value, upper=value)

    def accuracy(self, prior: Number = Fraction(1, 2)) -> Answer:
        """Largest accuracy (1 - Bayes risk) in telling members, each with this prior probability.

        Raises `InvalidArgument` for a prior outside (0, 1), and what the plan's `delta` raises.

        >>> import dpacct as dp
        >>> f"{dp.Risk(dp.Gaussian(sigma=1)).accuracy().upper:.6f}"
        '0.691462'
        """
        p = PROBABILITY.check("prior", prior)
        odds = (1 - p) / p
        distance = abs(math.log(odds.numerator) - math.log(odds.denominator))
        answer = self.node.delta(epsilon=distance, adjacency=self.adjacency, method="exact")
        least = float(min(p, 1 - p))

        def right(delta: float, towards: float) -> float:
            return math.nextafter(1.0 - least * (1.0 - delta), towards)

        return replace(
            answer,
            quantity="accuracy",
            value=1.0 - least * (1.0 - answer.value),
            lower=None if answer.lower is None else right(answer.lower, 0.0),
            upper=None if answer.upper is None else right(answer.upper, 1.0),
            basis=(*answer.basis, BAYES),
            log_value=None,
        )

    def _beyond(self, rate: Number, argument: str, quantity: str) -> Answer:
        started = time.perf_counter()
        alpha = float(PROBABILITY.check(argument, rate))
        adjacency = resolve_adjacency(self.node, self.adjacency)
        value = math.nextafter(1.0 - float(self.node.tradeoff(alpha, adjacency=adjacency)), 1.0)
        return Answer(
            quantity=quantity,
            value=min(1.0, value),
            upper=min(1.0, value),
            side=Side.UPPER,
            strength=Strength.BOUND,
            method="tradeoff",
            basis=(TRADEOFF,),
            assumptions=self.node.assumptions(adjacency),
            adjacency=adjacency,
            unit=self.node.unit,
            tree=self.node,
            seconds=time.perf_counter() - started,
        )


def calibrate_risk(
    build: Callable[[float], Node],
    *,
    true_positive_rate: Number,
    false_positive_rate: Number,
    bounds: tuple[float, float] | None = None,
    name: str = "sigma",
) -> Answer:
    """The least noise at which no attack with this false positive rate has a larger true positive rate.

    `build` makes a plan from the noise, or from another number in which privacy is monotone; `bounds` limit
    the search (default 1e-6 to 1e9). Raises `Unreachable` where the target is below the false positive
    rate, which guessing attains, or no noise is enough.

    >>> import dpacct as dp
    >>> plan = lambda sigma: dp.Gaussian(sigma=sigma)
    >>> sigma = calibrate_risk(plan, true_positive_rate=0.01, false_positive_rate=0.001)
    >>> f"{float(sigma):.4f}"  # 1/(z(0.999) - z(0.99))
    '1.3091'
    """
    from dpacct.plan.search import making_plans, own_errors
    from dpacct.pld.roots import real

    started = time.perf_counter()
    build = making_plans(build)
    hits = PROBABILITY.check("true_positive_rate", true_positive_rate)
    alarms = PROBABILITY.check("false_positive_rate", false_positive_rate)
    message = f"no {name} keeps the true positive rate within {float(hits):g}"
    if hits <= alarms:
        message += f": a false positive rate of {float(alarms):g} is attained by guessing"
        raise Unreachable(message, argument="true_positive_rate")

    def excess(noise: float) -> float:
        value = float(Risk(build(noise)).true_positive_rate(alarms))
        return math.log(value / float(hits))

    low, high = bounds or (_LEAST, _MOST)
    with own_errors():
        safe, unsafe = real(excess, low, high, accepted=lambda: 1e-9)
    if safe is None:
        raise Unreachable(message, argument="true_positive_rate")
    witness = Risk(build(safe)).true_positive_rate(alarms)
    upward = unsafe is None or safe >= unsafe
    return replace(
        witness,
        quantity=name,
        value=safe,
        lower=None if upward else safe,
        upper=safe if upward else None,
        side=Side.UPPER if upward else Side.LOWER,
        safe_end="upper" if upward else "lower",
        seconds=time.perf_counter() - started,
        extra={"true_positive_rate": float(witness)},
    )
