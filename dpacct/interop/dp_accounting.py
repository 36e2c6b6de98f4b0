"""dp_accounting: an accountant that takes its events, and loss distributions for its users.

`DpacctAccountant` fits wherever a `PrivacyAccountant` does, such as `calibrate_dp_mechanism` and
jax_privacy: docs/migrate/dp-accounting.md. Its DpEvents become plans, and plans events again; what has no
exact counterpart is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpacct import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Custom,
    DiscreteGaussian,
    DiscreteLaplace,
    DpacctError,
    ExponentialMechanism,
    GaussianMixture,
    InvalidArgument,
    Laplace,
    Node,
    Poisson,
    PureDP,
    RandomizedResponse,
    RepeatAndSelect,
    TruncatedPoisson,
    Unsupported,
    WithoutReplacement,
)
from dpacct.interop.extras import absent
from dpacct.interop.history import answer, safe_delta
from dpacct.interop.meaning import AMBIGUOUS, EventMeaning, meaning

try:
    import dp_accounting
except ImportError as error:
    raise absent("dp_accounting", "dp-accounting") from error

__all__ = ["DpacctAccountant", "dp_accounting", "from_dp_event", "to_dp_event", "to_pld"]


class Refused(Unsupported):
    """An event that has no plan; `event` is the part that is to blame."""

    def __init__(self, message: str, event: Any = None) -> None:
        super().__init__(message, argument="event")
        self.event = event


@dataclass(frozen=True)
class Translated:
    """A plan, or None for nothing released; `open` where something is released without noise."""

    plan: Node | None = None
    open: bool = False

    def __add__(self, other: Translated) -> Translated:
        both = [part.plan for part in (self, other) if part.plan is not None]
        joined = sum(both[1:], start=both[0]) if both else None
        return Translated(joined, self.open or other.open)

    def times(self, count: int) -> Translated:
        """The event's plan repeated `count` times; None for 0."""
        if not count:
            return NOTHING
        return Translated(None if self.plan is None else self.plan * count, self.open)


NOTHING, OPEN = Translated(), Translated(open=True)


def relation(adjacency: Adjacency | str) -> Any:
    """dp_accounting's name of an adjacency."""
    kinds = dp_accounting.NeighboringRelation
    return {
        Adjacency.ADD_REMOVE: kinds.ADD_OR_REMOVE_ONE,
        Adjacency.REPLACE_ONE: kinds.REPLACE_ONE,
        Adjacency.ZERO_OUT: kinds.REPLACE_SPECIAL,
    }[Adjacency.parse(adjacency)]


def adjacency_of(kind: Any) -> Adjacency:
    """dpacct's name of a NeighboringRelation."""
    return next(word for word in Adjacency if relation(word) is kind)


# --- from events


def translate(event: Any, means: EventMeaning) -> Translated:
    """The plan of an event; raises `Refused`, naming the part that has none."""
    reader = _READERS.get(type(event).__name__)
    if reader is None or not isinstance(event, dp_accounting.DpEvent):
        raise Refused(f"dpacct has no counterpart of {type(event).__name__}", event)
    try:
        return reader(event, means)
    except (Refused, InvalidArgument):
        raise
    except DpacctError as error:
        raise Refused(str(error), event) from error


def _gaussian(event: Any, means: EventMeaning) -> Translated:
    if means.factor() is None:
        raise Refused(AMBIGUOUS, event)
    scale = event.noise_multiplier
    if scale < 0:
        message = f"Noise multiplier must be non-negative, got {scale}"
        raise InvalidArgument(message, argument="noise_multiplier")
    return Translated(means.gaussian(scale)) if scale else OPEN


def _laplace(event: Any, means: EventMeaning) -> Translated:
    factor = means.factor()
    if factor is None:
        raise Refused(AMBIGUOUS, event)
    if event.noise_multiplier == 0:
        return OPEN
    unit = Laplace(b=event.noise_multiplier)
    return Translated(unit if factor == 1 else Laplace(b=unit.b_under(means.adjacency) / factor))


def _discrete_laplace(event: Any, means: EventMeaning) -> Translated:
    rate = Fraction(repr(float(event.noise_parameter)))
    if rate == 0:
        return OPEN
    if rate < 0:
        message = f"noise_parameter must be a number above 0, got {event.noise_parameter}"
        raise InvalidArgument(message, argument="noise_parameter")
    return Translated(DiscreteLaplace(scale=1 / rate, sensitivity=event.sensitivity))


def _randomized_response(event: Any, means: EventMeaning) -> Translated:
    share, buckets = event.noise_parameter, event.num_buckets
    if means.adjacency is Adjacency.ADD_REMOVE:
        raise Refused("randomised response has one answer per unit: not under add-remove", event)
    if not 0 <= share <= 1 or buckets < 1:
        message = f"noise_parameter must be in [0, 1] and num_buckets at least 1, got {event}"
        raise InvalidArgument(message, argument="event")
    if buckets == 1 or share == 1:
        return NOTHING
    if share == 0:
        return OPEN
    if means.adjacency is Adjacency.ZERO_OUT:  # the special record's answer is uniform
        true, guess = min(1.0, _up(1.0 - share * (1.0 - 1.0 / buckets))), 1.0 / buckets
        return Translated(Custom(tables=([true, 1.0 - true], [guess, 1.0 - guess])))
    eps0 = math.log1p((1.0 - share) * buckets / share)
    return Translated(RandomizedResponse(eps0=_up(eps0), k=buckets))


def _discrete_gaussian(event: Any, means: EventMeaning) -> Translated:
    if event.dimension != 1:
        raise Refused("discrete Gaussian noise is known in one dimension only", event)
    if event.sensitivity == 0:
        return NOTHING
    if event.sigma == 0:
        return OPEN
    sensitivity = repr(float(event.sensitivity)).removesuffix(".0")  # refused unless whole
    return Translated(DiscreteGaussian(scale=event.sigma, sensitivity=sensitivity))


def _epsilon_delta(event: Any, means: EventMeaning) -> Translated:
    if not (event.epsilon or event.delta):
        return NOTHING
    if event.epsilon == math.inf or event.delta == 1:
        return OPEN
    if not event.delta:
        return Translated(PureDP(event.epsilon))
    return Translated(ApproxDP(epsilon=event.epsilon, delta=event.delta))


def _exponential(event: Any, means: EventMeaning) -> Translated:
    return Translated(ExponentialMechanism(event.epsilon)) if event.epsilon else NOTHING


def _permute_and_flip(event: Any, means: EventMeaning) -> Translated:
    """It is epsilon-DP (McKenna and Sheldon 2020), and that much is used."""
    return Translated(PureDP(event.epsilon)) if event.epsilon else NOTHING


def _mixture(event: Any, means: EventMeaning) -> Translated:
    if not any(event.sensitivities):
        return NOTHING
    if event.standard_deviation == 0:
        return OPEN
    pairs = zip(event.sensitivities, event.sampling_probs, strict=True)
    some = [(move, weight) for move, weight in pairs if weight]  # what can happen at all
    moves, weights = [move for move, _ in some], [weight for _, weight in some]
    return Translated(GaussianMixture(sigma=event.standard_deviation, moves=moves, weights=weights))


def _truncated(event: Any, means: EventMeaning) -> Translated:
    if event.sampling_probability == 0 or event.truncated_batch_size == 0:
        return NOTHING
    if means.factor() is None:
        raise Refused(AMBIGUOUS, event)
    if event.noise_multiplier == 0:
        return OPEN
    size, most = event.dataset_size, event.truncated_batch_size
    rate, noise = event.sampling_probability, means.gaussian(event.noise_multiplier)
    if most >= size:
        return Translated(Poisson(rate)(noise))
    return Translated(TruncatedPoisson(rate, max_batch=most, dataset_size=size)(noise))


def _tree(event: Any, means: EventMeaning) -> Translated:
    """A record is in one leaf of one tree, so that it moves no more sums than the deepest tree has levels."""
    if means.adjacency is not Adjacency.ZERO_OUT:  # a record that comes or goes moves all after it
        raise Refused("tree aggregation is accounted under replace-special only", event)
    counts = event.step_counts
    steps = list(counts) if isinstance(counts, Iterable) else [counts]
    if not steps or min(steps) < 0:
        message = f"step_counts must be non-negative whole numbers, got {counts}"
        raise InvalidArgument(message, argument="step_counts")
    return _gaussian(event, means).times(int(max(steps)).bit_length())


def _selection(event: Any, means: EventMeaning) -> Translated:
    inner = translate(event.event, means)
    if inner.plan is None or inner.open:
        return inner
    shape = "poisson" if event.shape == math.inf else event.shape
    return Translated(RepeatAndSelect(inner.plan, mean=event.mean, shape=shape))


def _zcdp(event: Any, means: EventMeaning) -> Translated:
    if event.xi:
        rho, xi = float(event.rho), float(event.xi)
        return Translated(Custom(rdp=lambda order: xi + rho * order))
    return Translated(ZCDP(rho=event.rho)) if event.rho else NOTHING


def _poisson(event: Any, means: EventMeaning) -> Translated:
    inner = translate(event.event, means)
    if not 0 <= event.sampling_probability <= 1:
        message = f"Sampling rate must be from 0 to 1, got {event.sampling_probability}"
        raise InvalidArgument(message, argument="sampling_probability")
    if event.sampling_probability == 0:
        return NOTHING
    sampler = Poisson(event.sampling_probability)
    return Translated(None if inner.plan is None else sampler(inner.plan), inner.open)


def _fixed_size(event: Any, means: EventMeaning) -> Translated:
    if means.adjacency is not Adjacency.REPLACE_ONE:
        raise Refused("a fixed-size sample is accounted under replace-one only", event)
    inner = translate(event.event, means)
    if event.sample_size == 0:
        return NOTHING
    sampler = WithoutReplacement(Fraction(event.sample_size, event.source_dataset_size))
    return Translated(None if inner.plan is None else sampler(inner.plan), inner.open)


def _self_composed(event: Any, means: EventMeaning) -> Translated:
    if not isinstance(event.count, int) or event.count < 0:
        message = f"count must be a whole number of at least 0, got {event.count}"
        raise InvalidArgument(message, argument="count")
    return translate(event.event, means).times(event.count)


def _composed(event: Any, means: EventMeaning) -> Translated:
    total = NOTHING
    for part in event.events:
        total += translate(part, means)
    return total


_READERS: dict[str, Callable[[Any, EventMeaning], Translated]] = {
    "NoOpDpEvent": lambda event, means: NOTHING,
    "NonPrivateDpEvent": lambda event, means: OPEN,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": _selection,
    "ZCDpEvent": _zcdp,
    "EpsilonDeltaDpEvent": _epsilon_delta,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "ExponentialMechanismDpEvent": _exponential,
    "PermuteAndFlipDpEvent": _permute_and_flip,
    "MixtureOfGaussiansDpEvent": _mixture,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "PoissonSampledDpEvent": _poisson,
    "SampledWithoutReplacementDpEvent": _fixed_size,
    "SelfComposedDpEvent": _self_composed,
    "ComposedDpEvent": _composed,
}


def from_dp_event(
    event: Any, *, adjacency: Adjacency | str | None = None, noise_multiplier_of: str | None = None
) -> Node:
    """The plan of an event, its adjacency declared.

    Raises `Unsupported` for what has no counterpart, is not private or releases nothing, and for a
    noise multiplier under replace-one whose meaning was not said.

    >>> event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1))
    >>> from_dp_event(dp_accounting.SelfComposedDpEvent(event, 1000))
    (Poisson(0.01)(Gaussian(noise_multiplier=1.1, clip=1)) * 1000).under('add-remove')
    """
    means = meaning(adjacency, noise_multiplier_of)
    translated = translate(event, means)
    if translated.open or translated.plan is None:
        what = "is not private" if translated.open else "releases nothing"
        raise Refused(f"{type(event).__name__} {what}: there is no such plan", event)
    return translated.plan.under(means.adjacency)


# --- to events


def to_dp_event(
    plan: Node, *, adjacency: Adjacency | str | None = None, noise_multiplier_of: str | None = None
) -> Any:
    """The event of a plan; raises `Unsupported` where dp_accounting has none.

    >>> import dpacct as dp
    >>> to_dp_event(dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 3)
    SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01,
                        event=GaussianDpEvent(noise_multiplier=1.1)), count=3)
    """
    word = adjacency or plan.facts.declared or plan.fixed_adjacency
    return _event(plan.to_dict(), meaning(word, noise_multiplier_of))


def _event(node: dict[str, Any], means: EventMeaning) -> Any:
    """An event from a plan's JSON form."""
    kind = node["node"]
    if kind == "repeat":
        return dp_accounting.SelfComposedDpEvent(_event(node["of"], means), node["steps"])
    if kind == "compose":
        return dp_accounting.ComposedDpEvent([_event(part, means) for part in node["parts"]])
    if kind == "under":
        return _event(node["of"], means)
    if kind == "poisson":
        return dp_accounting.PoissonSampledDpEvent(
            float(Fraction(node["rate"])), _event(node["of"], means)
        )
    if kind == "without-replacement":
        rate = Fraction(node["rate"])
        return dp_accounting.SampledWithoutReplacementDpEvent(
            rate.denominator, rate.numerator, _event(node["of"], means)
        )
    if kind == "gaussian":
        return dp_accounting.GaussianDpEvent(_multiplier(node, means, "sigma"))
    if kind == "laplace":
        return dp_accounting.LaplaceDpEvent(_multiplier(node, means, "b"))
    if kind == "discrete-laplace":
        return dp_accounting.dp_event.DiscreteLaplaceDpEvent(
            float(1 / Fraction(node["scale"])), int(node["sensitivity"])
        )
    if kind == "gaussian-mixture":
        lists = ([float(Fraction(x)) for x in node[name]] for name in ("moves", "weights"))
        return dp_accounting.dp_event.MixtureOfGaussiansDpEvent(
            float(Fraction(node["sigma"])), *lists
        )
    if kind == "truncated-poisson" and node["of"]["node"] == "gaussian":
        return dp_accounting.dp_event.TruncatedSubsampledGaussianDpEvent(
            int(node["dataset_size"]),
            float(Fraction(node["rate"])),
            int(node["max_batch"]),
            _multiplier(node["of"], means, "sigma"),
        )
    if kind == "zcdp":
        return dp_accounting.ZCDpEvent(float(Fraction(node["rho"])))
    raise Refused(f"dp_accounting has no event for a {kind} node")


def _multiplier(node: dict[str, Any], means: EventMeaning, per_sensitivity: str) -> float:
    """The event's noise multiplier of a Gaussian or Laplace node, under its convention."""
    factor = means.factor()
    if factor is None:
        raise Refused(AMBIGUOUS)
    twice = means.adjacency.clip_factor
    if per_sensitivity in node:  # std / sensitivity
        return float(Fraction(node[per_sensitivity]) * factor)
    return float(Fraction(node["noise_multiplier"]) * factor / twice)  # std / clip


def _up(value: float) -> float:
    """A few units in the last place more: what a logarithm may have lost."""
    return value * (1.0 + 4e-16)


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
        """The composed plan; None before anything was composed."""
        return self._spent.plan

    def supports(self, event: Any) -> bool:
        """Return whether the event has a plan; one with a number out of range has none."""
        try:
            return bool(super().supports(event))
        except InvalidArgument:  # composing it raises this
            return False

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
        except Unsupported as error:
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

    def get_true_positive_rates(self, false_positive_rates: Any) -> Any:
        """The largest true positive rate of any attack at each false positive rate, at most."""
        import numpy as np

        alphas = np.asarray(false_positive_rates, np.float64)
        if self._spent.open:
            rates = np.ones(alphas.shape)
        elif self._spent.plan is None:
            rates = alphas
        else:
            curve = self._spent.plan.tradeoff(alphas, adjacency=self._means.adjacency)
            rates = 1.0 - np.asarray(curve)
        return float(rates) if rates.ndim == 0 else rates

    def get_gdp_parameter_estimate(self, false_positive_rates: Any = None) -> float:
        """The least mu of which mu-GDP allows these rates at each of some false positive rates.

        It is an estimate: between the rates (1e-12 to .5 if none are given) a larger mu may be needed.
        """
        import numpy as np
        from scipy.special import ndtri

        given = false_positive_rates is not None
        alphas = np.asarray(false_positive_rates) if given else np.logspace(-12, np.log10(0.5), 100)
        rates = self.get_true_positive_rates(alphas)
        return float(max(0.0, np.max(ndtri(rates) - ndtri(alphas))))


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
