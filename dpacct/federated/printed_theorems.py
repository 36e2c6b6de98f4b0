"""What Theorems 1 and 2 of Federated f-DP say of a PriFedSync plan, with the true values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dpacct.answer import Answer
from dpacct.declare.domain import DELTA
from dpacct.declare.number import Number
from dpacct.errors import DpacctError
from dpacct.federated.plan import Notion, Printed, Row, attempted, published
from dpacct.federated.rounds_of_steps import theorem1_epsilon
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.tree import Node

if TYPE_CHECKING:
    from dpacct.federated.prifedsync import PriFedSync

_LEAST = 1e-11  # below this delta the printed form drowns in the rounding of its transform
_MEMORY = "the server remembers: rounds are not independent mechanisms"
_LIMIT = "a limit says nothing about a finite number of steps"


def shift(mu: float) -> Node:
    """A mu-GDP release."""
    return Gaussian(sigma=1.0 / mu).under("replace-one")


def theorem1(
    plan: PriFedSync, true: Mapping[Notion, Answer], full: Answer, delta: Number
) -> Iterator[Row]:
    """g_p tensor-R and tensor-(m-1)R: refuted, unless there is one round or no coin.

    `true` are the answers that stand in for what is refuted, `full` that of all steps without a coin.
    """
    at = float(DELTA.check("delta", delta))
    holds = plan.client_rate == 1 or plan.rounds == 1
    for notion in plan.notions:
        observers = 1 if notion == "weak" else plan.clients - 1
        name = "federated_fdp.theorem1" + ("" if notion == "weak" else "_strong")
        try:
            value = _theorem1(plan, observers, at)
        except (DpacctError, OverflowError):  # more steps than any plan may have
            continue
        if not math.isfinite(value):
            continue
        if not holds:
            yield Row("paper", notion, true[notion], Printed(name, value, "refuted", _MEMORY))
            continue
        answer = published(full, name)
        if plan.client_rate < 1 or notion == "strong":
            answer = replace(answer, value=value, upper=value)
        remark = "holds" if observers == 1 else "holds, but pays for each observer of one release"
        yield Row("paper", notion, answer, Printed(name, value, "published", remark))


def _theorem1(plan: PriFedSync, observers: int, delta: float) -> float:
    """Epsilon of g_p tensor-`observers` R; nan where it cannot be computed."""
    times = plan.rounds * observers
    variation = plan.local().delta(epsilon=0, method="exact").upper
    if plan.client_rate == 1 or (variation or 1.0) <= plan.client_rate**2:
        # the line 1 - alpha - p^2 lies below f_j everywhere: g_p is f_j
        return float((plan.local() * times).epsilon(delta=delta, method="exact"))
    if delta < _LEAST:
        return math.nan
    rate = plan.batch_size / plan.records
    coin = float(plan.client_rate)
    return theorem1_epsilon(rate, float(plan.sigma), plan.local_steps, coin, times, delta)


def theorem2(
    plan: PriFedSync, true: Mapping[Notion, Answer], mu: float, delta: Number
) -> Iterator[Row]:
    """'Consequently' G_mu and G_{sqrt(m-1) mu}: a limit is no guarantee."""
    from dpacct.papers.formulas.federated_fdp import theorem2_strong

    for notion in plan.notions:
        moved = mu if notion == "weak" else theorem2_strong(mu, plan.clients)

        def row(notion: Notion = notion, moved: float = moved) -> Row:
            value = shift(moved).epsilon(delta=delta).value
            printed = Printed("federated_fdp.theorem2_gdp", value, "refuted", _LIMIT)
            return Row("paper", notion, true[notion], printed)

        yield from attempted(row)
