"""From the options of `dpacct curve` to the chart they ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.answer.ask import ask
from dpacct.cli.calibration import noise_question, plan_of_noise
from dpacct.cli.plan import PlanOptions, check_mechanism, mechanism, repeated, step_count, whole
from dpacct.cli.refusal import Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.report.plots.chart import Chart

KINDS = ("profile", "tradeoff", "rdp", "steps", "noise", "gap")
_ONE_METHOD = ("tradeoff", "rdp")
_POINTS = {"profile": 101, "tradeoff": 101, "rdp": 101, "steps": 41, "noise": 25, "gap": 41}
_DELTA = Fraction(1, 10**5)


@dataclass(frozen=True)
class Wish:
    """What was asked of a curve; None leaves it to the kind.

    Attributes:
        points: how many.
        start: where the horizontal axis begins.
        stop: where it ends.
        methods: by their names.
        delta: of the guarantee, or of the finding in the title.
        epsilon: that the title of a noise curve speaks of.
    """

    points: int | None = None
    start: float | None = None
    stop: float | None = None
    methods: tuple[str, ...] = ()
    delta: Fraction | None = None
    epsilon: Fraction | None = None

    @property
    def asked_delta(self) -> Fraction:
        """Delta, 1e-5 unless said."""
        return _DELTA if self.delta is None else self.delta

    def ends(self, start: float, stop: Callable[[], float] | float) -> tuple[float, float]:
        """Both ends; refuses an empty range."""
        first = start if self.start is None else self.start
        if self.stop is not None:
            last = self.stop
        else:
            last = stop() if callable(stop) else stop
        if not first < last:
            raise Refusal(f"--from must be below --to, got {first:g} and {last:g}.", "--from")
        return first, last

    def between(self, kind: str, first: float, last: float, *, log: bool) -> NDArray[np.float64]:
        """The points of the axis."""
        import numpy as np

        count = self.points or _POINTS[kind]
        made = np.geomspace(first, last, count) if log else np.linspace(first, last, count)
        made[0], made[-1] = first, last  # rounding must not move an end out of its domain
        return made


def chart(kind: str, options: PlanOptions, wish: Wish) -> tuple[Chart, list[str]]:
    """The chart, and notes on what was rounded or is missing.

    Raises:
        Refusal: an option that the kind has no use for, or an axis that it can't have.
        DpacctError: the plan has no such curve.
    """
    if kind in _ONE_METHOD and wish.methods not in ((), ("auto",)):
        raise Refusal(
            "--method belongs to --kind profile, steps, noise and gap;"
            f" a {kind} curve has one method.",
            "--method",
        )
    if kind != "noise" and wish.epsilon is not None:
        raise Refusal("--eps belongs to --kind noise, whose title speaks of it.", "--eps")
    if kind == "noise":
        return _noise(options, wish)
    if kind == "steps":
        return _steps(options, wish), []
    return _of_plan(kind, options, wish)


def _of_plan(kind: str, options: PlanOptions, wish: Wish) -> tuple[Chart, list[str]]:
    node, notes = whole(options)
    if kind == "profile":
        from dpacct.report.plots.profile import profile, usual_end

        first, last = wish.ends(0.0, lambda: usual_end(node))
        axis = wish.between(kind, first, last, log=False)
        methods = wish.methods or ("auto",)
        made = profile(node, epsilons=axis, methods=methods, delta=wish.asked_delta)
    elif kind == "tradeoff":
        from dpacct.report.plots.tradeoff import tradeoff

        first, last = wish.ends(0.0, 1.0)
        if last > 1:
            raise Refusal("--from and --to of a trade-off curve must be from 0 to 1.", "--from")
        made = tradeoff(node, alphas=wish.between(kind, first, last, log=False))
    elif kind == "rdp":
        from dpacct.report.plots.rdp import rdp

        axis = None
        if (wish.start, wish.stop) != (None, None):
            first, last = wish.ends(1.1, 256.0)
            if first <= 1:
                told = f"--from of an rdp curve must be an order above 1, got {first:g}."
                raise Refusal(told, "--from")
            axis = wish.between(kind, first, last, log=True)
        count = wish.points or _POINTS[kind]
        made = rdp(node, orders=axis, delta=wish.asked_delta, count=count)
    else:
        from dpacct.report.plots.gap import gap

        first, last = wish.ends(1e-12, 0.01)
        if not 0 < first < last < 1:
            told = "--from and --to of a gap curve are deltas, strictly between 0 and 1."
            raise Refusal(told, "--from")
        axis = wish.between(kind, first, last, log=True)
        made = gap(node, deltas=axis, methods=_named(wish))
    return made, notes


def _steps(options: PlanOptions, wish: Wish) -> Chart:
    from dpacct.report.plots.steps import steps, whole_counts

    usual = 1000
    if options.steps is not None or options.epochs is not None:
        usual, _ = step_count(options)
    step = repeated(options, mechanism(options), 1)
    first, last = wish.ends(1.0, min(10.0 * usual, 1e15))
    if first < 1 or last > 1e15:
        raise Refusal("--from and --to of a steps curve must be from 1 to 1e15.", "--from")
    counts = whole_counts(round(first), round(last), wish.points or _POINTS["steps"])
    return steps(step, counts=counts, delta=wish.asked_delta, methods=_named(wish))


def _noise(options: PlanOptions, wish: Wish) -> tuple[Chart, list[str]]:
    from dpacct.report.plots.noise import noise

    if options.has_noise:
        told = "--kind noise looks for the noise: leave --sigma, --b and the like out."
        raise Refusal(told, "--sigma", kind="exclusive-options")
    check_mechanism(options)
    _, note = step_count(options)
    target = Fraction(1) if wish.epsilon is None else wish.epsilon
    first, last = wish.ends(float(target) / 10, 10 * float(target))
    if first <= 0:
        raise Refusal("--from of a noise curve must be above 0.", "--from")
    made = noise(
        plan_of_noise(options),
        epsilons=wish.between("noise", first, last, log=True),
        delta=wish.asked_delta,
        epsilon=target,
        methods=_named(wish),
        name=options.noise_parameter,
        ask=lambda epsilon, method: ask(
            noise_question(options, Fraction(epsilon), wish.asked_delta),
            plan_of_noise(options),
            method=method,
        ),
    )
    return made, [note] if note else []


def _named(wish: Wish) -> tuple[str, ...] | None:
    """The methods asked for; auto is the exact one here, since a proof takes its time."""
    if not wish.methods:
        return None
    return tuple(dict.fromkeys("exact" if name == "auto" else name for name in wish.methods))
