"""A target of `dpacct noise` said as attack success, instead of epsilon and delta."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli.calibration import plan_of_noise
from dpacct.cli.command import option, stack
from dpacct.cli.plan import PlanOptions
from dpacct.cli.refusal import Refusal
from dpacct.cli.values import Number, option_name
from dpacct.declare.domain import Real
from dpacct.declare.number import shown

if TYPE_CHECKING:
    from dpacct.answer import Answer

    PowerParam = click.ParamType["Power"]
else:  # older clicks have no generic types
    PowerParam = click.ParamType

_SECTION = "Target"
_CHANCE = Number(Real(0, 1))


@dataclass(frozen=True)
class Power:
    """At most this true positive rate at this false positive rate."""

    hits: Fraction
    alarms: Fraction


class PowerType(PowerParam):
    """`0.01@0.001`: a true positive rate at a false positive rate."""

    name = "tpr@fpr"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Power:
        """Read both rates; refuse what has not two of them."""
        if isinstance(value, Power):
            return value
        name = option_name(param)
        hits, at, alarms = str(value).partition("@")
        if not at:
            raise Refusal(
                f"{name} must be a true positive rate at a false positive rate, such as 0.01@0.001;"
                f" got {shown(str(value))}.",
                name,
                kind="invalid-argument",
            )
        return Power(_CHANCE.read(hits, name), _CHANCE.read(alarms, name))


risk_target_options = stack(
    [
        option(
            "--tpr",
            "power",
            section=_SECTION,
            type=PowerType(),
            metavar="T@F",
            help="Instead: no attack with false positive rate F has a true positive rate above T.",
        ),
        option(
            "--advantage",
            section=_SECTION,
            type=_CHANCE,
            metavar="A",
            help="Instead: no attack's true and false positive rates differ by more than A.",
        ),
    ]
)


def as_guarantee(
    epsilon: Fraction | None, delta: Fraction | None, advantage: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Epsilon and delta; an advantage is the delta at epsilon 0.

    Raises:
        Refusal: one of them is missing, or the target is said twice.
    """
    if advantage is not None:
        if epsilon is not None or delta is not None:
            raise _twice("--advantage")
        return Fraction(0), advantage
    if epsilon is None or delta is None:
        missing = "--eps" if epsilon is None else "--delta"
        raise Refusal(
            "give the target with --eps and --delta, or with --tpr or --advantage;"
            f" {missing} is missing.",
            missing,
        )
    return epsilon, delta


def noise_for_power(plan: PlanOptions, power: Power, others: tuple[Fraction | None, ...]) -> Answer:
    """The least noise that keeps every attack's true positive rate within the target.

    Raises:
        Refusal: the target is said twice.
        Unreachable: the target is below the false positive rate, or no noise is enough.
    """
    from dpacct.risk import calibrate_risk

    if any(other is not None for other in others):
        raise _twice("--tpr")
    started = time.perf_counter()
    answer = calibrate_risk(
        plan_of_noise(plan),
        true_positive_rate=power.hits,
        false_positive_rate=power.alarms,
        bounds=plan.kind.bounds,
        name=plan.noise_parameter,
    )
    return replace(answer, seconds=time.perf_counter() - started)


def _twice(name: str) -> Refusal:
    return Refusal(
        f"{name} is a target by itself: leave out --eps, --delta and other targets.",
        name,
        kind="exclusive-options",
    )
