"""A publishable data-dependent cost, with Gaussian noise scaled to its smooth sensitivity.

Papernot et al. 2018, Appendix B (the GNSS mechanism), at one Renyi order that is fixed beforehand. What the
publication itself costs is added; the published value is raised so that it hides the private one with the
asked confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpacct.answer import Answer
from dpacct.citations import CONVERSION, statement
from dpacct.declare.domain import DELTA, POSITIVE, Real
from dpacct.declare.number import Number, ln
from dpacct.errors import InvalidArgument
from dpacct.pld.roots import halved
from dpacct.vocabulary import Assumption, Side, Strength
from dpacct.voting.bounds import Bounds
from dpacct.voting.exact import converted
from dpacct.voting.histograms import Histograms
from dpacct.voting.published import publication
from dpacct.voting.sensitivity import Steps, smooth_sensitivity
from dpacct.voting.votes import Votes
from dpacct.voting.voting_cost import FIXED

if TYPE_CHECKING:
    from dpacct.pld.stable import Floats
    from dpacct.voting.aggregator import Aggregator

ORDER = Real(1, 10**5, "right", typical=(2, 64))
CONFIDENCE = Real("0.5", 1, "left")
_ORDERS = 1.0 + np.geomspace(0.05, 3000.0, 400)
_FINENESS, _COARSER = 0.01, 0.05  # of steps of log q; with a threshold there are rows of them
_SHARE = 0.3  # of 1/(2 order), which beta must stay below


@dataclass(frozen=True)
class Sanitized:
    """A publishable result: `answer`, and parameters that do not depend on the votes.

    `answer` covers the labels and its own publication. `order`, `beta` and `noise` are those of the
    release, `publication` its Renyi cost, `confidence` the chance that the published value is no less
    than the private one. `seeded`: a repeatable seed was used, so the noise protects nothing.
    """

    answer: Answer
    order: float
    beta: float
    noise: float
    confidence: float
    publication: float
    seeded: bool

    @property
    def private(self) -> bool:
        """False: this result may be published."""
        return False


def sanitized(
    aggregator: Aggregator,
    votes: Votes,
    baseline: Floats | None,
    delta: Number,
    *,
    order: Number | None,
    beta: Number | None,
    noise: Number | None,
    confidence: Number,
    seed: int | None,
) -> Sanitized:
    """See `Aggregator.sanitized`."""
    screening = aggregator.screening
    from scipy.special import ndtri

    target = DELTA.check("delta", delta)
    log_delta = ln(target)
    level = aggregator.neighbouring
    histograms = Histograms.of(votes.counts, baseline, level.shares)
    bounds = Bounds(histograms, level, aggregator.noise, screening)
    if order is None:
        each = votes.queries * bounds.plain(_ORDERS)
        chosen = float(_ORDERS[int(np.argmin(converted(each, _ORDERS, log_delta)))])
    else:
        chosen = float(ORDER.check("order", order))
    decay = _SHARE * 0.5 / chosen if beta is None else float(POSITIVE.check("beta", beta))
    if 2.0 * chosen * decay >= 1.0:
        message = f"beta must be below 1/(2 order) = {0.5 / chosen:.6g}, got {decay:.6g}"
        raise InvalidArgument(message, argument="beta")
    raised = float(ndtri(float(CONFIDENCE.check("confidence", confidence))))
    spread = _default_noise(chosen, decay, raised, log_delta)
    if noise is not None:
        spread = float(POSITIVE.check("noise", noise))
    price = publication(chosen, decay, spread, raised)
    private, smooth = _private(bounds, chosen, decay)
    value = private + smooth * spread * (_draw(seed) + raised)
    most = votes.queries * float(bounds.plain(np.array([chosen]))[0])
    rate = np.array([min(max(value, 0.0), most) + price])
    epsilon = float(converted(rate, np.array([chosen]), log_delta)[0])
    answer = Answer(
        quantity="epsilon",
        value=epsilon,
        upper=epsilon,
        side=Side.UPPER,
        strength=Strength.BOUND,
        method="smooth-sensitivity",
        basis=(*bounds.theorems, statement("papernot2018.theorem23_corrected"), CONVERSION),
        assumptions=(
            Assumption(level.sentence, source=f"{aggregator.level} level"),
            FIXED,
            Assumption(
                f"the noise of the publication is above its {1.0 - float(confidence):.6g} quantile, which"
                f" has probability {float(confidence):.6g}"
            ),
            Assumption("order, beta and noise were chosen without a look at the votes"),
        ),
        adjacency=level.adjacency,
        unit=level.unit,
    )
    return Sanitized(answer, chosen, decay, spread, float(confidence), price, seed is not None)


def _private(bounds: Bounds, order: float, beta: float) -> tuple[float, float]:
    """The cost of the run at this order as a sum of steps, and its smooth sensitivity."""
    first, _, many = bounds.histograms.alike()
    kinds, count = bounds.histograms.rows(first), many.astype(np.float64)
    steps = Steps(
        bounds.noise,
        bounds.level,
        order,
        kinds.counts.shape[1],
        _FINENESS if bounds.screening is None else _COARSER,
        bounds.screening,
        whole=kinds.residual is None,
    )
    near = steps.noise.log_mismatch((kinds.margins - steps.level.margin).astype(np.float64))
    cost = steps.cost[steps.row(kinds.top), steps.at(np.minimum(near, 0.0))]
    return float(count @ cost), smooth_sensitivity(steps, kinds, count, beta)


def _default_noise(order: float, beta: float, raised: float, log_delta: float) -> float:
    """Noise whose publication costs a tenth of what delta costs at this order; needs no look at the votes."""
    budget = publication(order, beta, 1e12) - 0.1 * log_delta / (order - 1.0)

    def too_dear(log_noise: float) -> bool:
        return publication(order, beta, math.exp(log_noise), raised) > budget

    return math.exp(halved(too_dear, math.log(1e-3), math.log(1e9))[1])


def _draw(seed: int | None) -> float:
    """One standard normal number; from the system's own randomness unless a seed is given."""
    import secrets

    source = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
    return float(source.standard_normal())
