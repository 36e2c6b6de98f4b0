"""jax_privacy: the same accountant, with the meaning that jax_privacy gives a noise multiplier.

Its execution plans add noise of noise multiplier times *sensitivity* (twice the clipping norm under
replace-one), so that is what `accountant` takes a noise multiplier for.
"""

from __future__ import annotations

from typing import Any

from dpacct import Adjacency, InvalidArgument, Node
from dpacct.interop.dp_accounting import (
    DpacctAccountant,
    adjacency_of,
    dp_accounting,
    from_dp_event,
)

_ZERO_OUT = dp_accounting.NeighboringRelation.REPLACE_SPECIAL


def accountant(neighboring_relation: Any = _ZERO_OUT) -> DpacctAccountant:
    """An accountant for `BandMFExecutionPlanConfig(accountant=...)` and `accountant_fn=`.

    >>> accountant().neighboring_relation.name
    'REPLACE_SPECIAL'
    """
    return DpacctAccountant(neighboring_relation, noise_multiplier_of="sensitivity")


def from_execution_plan(plan: Any, *, adjacency: Adjacency | str | None = None) -> Node:
    """The dpacct plan of a `DPExecutionPlan`; `adjacency` is needed where it does not know its own.

    Raises `Unsupported` for events without a counterpart, `InvalidArgument`.
    """
    relation = getattr(plan, "neighboring_relation", None)
    if relation is not None and adjacency is None:
        adjacency = adjacency_of(relation)
    if adjacency is None:
        message = "adjacency must be given: this execution plan does not say it"
        raise InvalidArgument(message, argument="adjacency")
    return from_dp_event(plan.dp_event, adjacency=adjacency, noise_multiplier_of="sensitivity")
