"""dp_accounting: an accountant that takes its events, and loss distributions for its users.

`DpacctAccountant` fits wherever a `PrivacyAccountant` does, such as `calibrate_dp_mechanism` and
jax_privacy: docs/migrate/dp-accounting.md.
"""

from __future__ import annotations

import math
from typing import Any

from dpacct import Adjacency, InvalidArgument, Node, Unsupported
from dpacct.interop.dp_events import (
    NOTHING,
    Refused,
    adjacency_of,
    dp_accounting,
    from_dp_event,
    to_dp_event,
    translate,
)
from dpacct.interop.history import answer, safe_delta
from dpacct.interop.meaning import meaning

__all__ = ["DpacctAccountant", "dp_accounting", "from_dp_event", "to_dp_event", "to_pld"]


class DpacctAccountant(dp_accounting.PrivacyAccountant):  # type: ignore[misc]
    """dp_accounting's interface, answered by the exact engine: the safe end of each number.

    Under REPLACE_ONE the noise multiplier of a Gaussian or Laplace event is ambiguous, and refused
    unless `noise_multiplier_of` is "clip" or "sensitivity".

    >>> accountant = DpacctAccountant()
    >>> event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1))
    >>> print(f"{accountant.compose(event, 1000).get_epsilon(1e-5):.6f}")
    1.515362
    """

    def __init__(
        self,
        neighboring_relation: Any = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        *,
        noise_multiplier_of: str | None = None,
    ) -> None:
        super().__init__(neighboring_relation)
        self._means = meaning(adjacency_of(neighboring_relation), noise_multiplier_of)
        self._spent = NOTHING

    def __repr__(self) -> str:
        return f"<DpacctAccountant: {self.plan}>"

    @property
    def plan(self) -> Node | None:
        """What was composed, as a plan; None where nothing was."""
        return self._spent.plan

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        details = dp_accounting.PrivacyAccountant.CompositionErrorDetails
        try:
            translated = translate(event, self._means)
            if translated.plan is not None:
                translated.plan.releases()  # a sample that is held over several kinds of noise
            if do_compose:
                self._spent += translated.times(count)
        except Refused as refusal:
            return details(invalid_event=refusal.event, error_message=str(refusal))
        except (InvalidArgument, Unsupported) as error:
            return details(invalid_event=event, error_message=str(error))
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """The safe end of epsilon; infinite where something was released without noise.

        `target_delta` in [0, 1]; at 0 it is the pure epsilon, infinite for Gaussian noise. Raises
        `InvalidArgument` (a ValueError).
        """
        if not 0 <= target_delta <= 1:
            message = f"target_delta must be a number from 0 to 1, got {target_delta}"
            raise InvalidArgument(message, argument="target_delta")
        if self._spent.open:
            return math.inf
        if self._spent.plan is None or target_delta == 1:
            return 0.0
        return float(answer(self._spent.plan, target_delta, self._means.adjacency))

    def get_delta(self, target_epsilon: float) -> float:
        """The safe end of delta; 1 where something was released without noise.

        `target_epsilon` in [0, inf]. Raises `InvalidArgument` (a ValueError).
        """
        if not target_epsilon >= 0:
            message = f"target_epsilon must be a number of at least 0, got {target_epsilon}"
            raise InvalidArgument(message, argument="target_epsilon")
        if self._spent.open:
            return 1.0
        if self._spent.plan is None or math.isinf(target_epsilon):
            return 0.0  # none of the events that have a plan loses everything with any probability
        return safe_delta(self._spent.plan, target_epsilon, self._means.adjacency)


def to_pld(
    plan: Node,
    value_discretization_interval: float = 1e-4,
    *,
    adjacency: Adjacency | str | None = None,
    tail: float = 1e-15,
    points: int = 50_000,
) -> Any:
    """A pessimistic privacy loss distribution of a plan, for dp_accounting, riskcal and others.

    It joins the safe ends of the exact profile by chords (Doroshenko et al., Connect the Dots), so
    its delta is never below the plan's own, and the same at whole multiples of the interval (of
    several intervals, where these would be more than `points`: fewer are quicker, and looser). Losses
    beyond the epsilon at which delta is `tail` become infinite. Raises `InvalidArgument`.

    >>> import dpacct as dp
    >>> pld = to_pld(dp.Gaussian(sigma=2) * 10, 1e-3)
    >>> exact = (dp.Gaussian(sigma=2) * 10).delta(epsilon=5)
    >>> bool(exact.value <= pld.get_delta_for_epsilon(5.0) < 1.000001 * exact.value)
    True
    """
    import numpy as np
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    step = float(value_discretization_interval)
    if not 0 < step <= 1:
        message = (
            f"value_discretization_interval must be a number above 0 and at most 1, got {step}"
        )
        raise InvalidArgument(message, argument="value_discretization_interval")
    reach = float(answer(plan, tail, adjacency))
    if not reach / step <= 4e6:
        message = f"losses up to {reach:.4g} must take at most 4e6 intervals, got {step}"
        raise InvalidArgument(message, argument="value_discretization_interval")
    stride = max(1, math.ceil(reach / step / points))
    last = max(1, math.ceil(reach / (step * stride)))
    places = stride * np.arange(last + 1)
    positive = np.asarray(plan.profile(step * places, adjacency=adjacency))
    # Of the worse of both directions, P and Q exchanged: delta(-e) = 1 - e^-e (1 - delta(e)).
    negative = 1.0 - np.exp(-step * places[1:]) * (1.0 - positive[1:])
    deltas = np.concatenate([negative[::-1], positive])
    deltas = np.minimum(1.0, np.maximum.accumulate(deltas[::-1])[::-1])
    places = np.concatenate([-places[:0:-1], places])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, places, deltas)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)
