"""`dpacct noise`: the smallest noise that meets a target."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options, proof
from dpacct.cli.calibration import in_other_words, noise_question, plan_of_noise
from dpacct.cli.command import ExampleCommand
from dpacct.cli.output import show
from dpacct.cli.plan import PlanOptions, check_mechanism, step_count
from dpacct.cli.risk_target import Power, as_guarantee, noise_for_power, risk_target_options
from dpacct.cli.rounding import rounded, short
from dpacct.cli.table import aligned
from dpacct.cli.text import grade, relation, safe_number

if TYPE_CHECKING:
    from dpacct.answer import Answer


@click.command(
    "noise",
    cls=ExampleCommand,
    rank=10,
    short_help="The smallest noise that meets a target.",
    examples=(
        "noise --eps 7 --delta 1e-5 --rate 0.01 --steps 1000",
        "noise --eps 7 --delta 1000^-1.1 --rate 0.01 --steps 1000 --clip 0.5",
        "noise --eps 2 --delta 1e-6 --batch-size 256 --dataset-size 60000 --epochs 60 --json",
        "noise --eps 4 --delta 1e-5 --sampling uniform --rate 0.05 --rounds 200 --unit client",
        "noise --eps 1 --delta 1e-6 --mechanism laplace --steps 10",
        "noise --eps 1 --delta 1e-5 --quiet",
        "noise --tpr 0.01@0.001 --rate 0.01 --steps 1000",
        "noise --advantage 0.1 --rate 0.01 --steps 1000",
    ),
)
@options.wanted_noise_options
@options.sampling_options
@options.steps_options
@options.epsilon_option(required=False)
@options.delta_option(required=False)
@risk_target_options
@options.meaning_options
@options.answer_options
@options.proof_options
def command(
    epsilon: Fraction | None,
    delta: Fraction | None,
    power: Power | None,
    advantage: Fraction | None,
    method: str,
    as_json: bool,
    quiet: bool,
    digits: Fraction | None,
    certificate: str | None,
    **values: Any,
) -> None:
    """Compute the smallest noise with which a plan is (epsilon, delta)-private.

    Gaussian noise is answered as sigma (standard deviation / sensitivity), as the noise multiplier
    (standard deviation / clip) and, with --clip, as a standard deviation; Laplace noise as b
    (scale / sensitivity). All are rounded up; what other methods would ask for is listed below.
    """
    plan = PlanOptions.take(values)
    check_mechanism(plan)
    _, note = step_count(plan)
    if power is not None:
        found = noise_for_power(plan, power, (epsilon, delta, advantage))
        found = replace(found, extra={**found.extra, **in_other_words(found, plan)})
        show(
            "noise",
            found,
            as_json=as_json,
            quiet=quiet,
            meaning=f"for a true positive rate of {float(power.hits):.6g} at a false positive rate"
            f" of {float(power.alarms):.6g}",
            notes=[note] if note else [],
            more=_sizes(found),
        )
        return
    target, failure = as_guarantee(epsilon, delta, advantage)

    from dpacct.answer.ask import alternatives

    question, of_noise = noise_question(plan, target, failure), plan_of_noise(plan)
    answer = proof.put(question, of_noise, method=method, digits=digits, certificate=certificate)
    others = () if quiet else alternatives(question, of_noise, but=answer.method)
    sizes = in_other_words(answer, plan)
    answer = replace(answer, alternatives=others, extra={**answer.extra, **sizes})
    table = [
        (
            other.method,
            f"{relation(other)} {safe_number(other)}",
            rounded(float(other) / float(answer), "nearest", 5),
            grade(other),
        )
        for other in others
    ]
    more = _sizes(answer)
    more += proof.ends(answer, digits)
    if table:
        more += ["", "other methods would ask for"]
        more += aligned(("method", answer.quantity, "ratio", "grade"), table)
    show(
        "noise",
        answer,
        as_json=as_json,
        quiet=quiet,
        meaning=f"for epsilon {float(target):.6g} at delta {short(failure)}",
        notes=[*([note] if note else []), *answer.notes],
        more=more,
    )


def _sizes(answer: Answer) -> list[str]:
    """The same noise in other units, and what else was found with it."""
    return [
        f"  {name.replace('_', ' ')} = {rounded(float(size), 'up')}"
        for name, size in answer.extra.items()
        if not name.endswith("_decimal")  # the ends of a proof, which --digits shows
    ]
