"""`dpacct steps`: how many steps a budget allows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options, proof
from dpacct.cli.command import ExampleCommand
from dpacct.cli.output import show
from dpacct.cli.plan import PlanOptions, mechanism, repeated, sampling_rate
from dpacct.cli.rounding import short

if TYPE_CHECKING:
    from dpacct.tree import Node


@click.command(
    "steps",
    cls=ExampleCommand,
    rank=40,
    short_help="The most steps within a budget.",
    examples=(
        "steps --sigma 1.1 --rate 0.01 --eps 2 --delta 1e-5",
        "steps --noise-multiplier 1 --batch-size 512 --dataset-size 50000 --eps 8 --delta 1e-5",
        "steps --sigma 20 --eps 1 --delta 1e-6 --quiet",
    ),
)
@options.noise_options
@options.sampling_options
@options.epsilon_option(required=True)
@options.delta_option(required=True)
@options.meaning_options
@options.answer_options
@options.proof_options
def command(
    epsilon: Fraction,
    delta: Fraction,
    method: str,
    as_json: bool,
    quiet: bool,
    digits: Fraction | None,
    certificate: str | None,
    **values: Any,
) -> None:
    """Compute the most steps that stay within (epsilon, delta).

    The number printed is rounded down: that many steps are within the budget.
    """
    from dpacct.answer.ask import Boundary, alternatives

    plan = PlanOptions.take(values)
    noise = mechanism(plan)

    question = Boundary(epsilon=epsilon, delta=delta, name="steps", whole=True)

    def of_steps(count: float) -> Node:
        return repeated(plan, noise, int(count))

    answer = proof.put(question, of_steps, method=method, digits=digits, certificate=certificate)
    if as_json:
        others = alternatives(question, of_steps, but=answer.method)
        answer = replace(answer, alternatives=others)
    rate = sampling_rate(plan)
    if rate is not None:
        answer = replace(answer, extra={**answer.extra, "epochs": float(answer) * float(rate)})
    show(
        "steps",
        answer,
        as_json=as_json,
        quiet=quiet,
        meaning=f"within epsilon {float(epsilon):.6g} at delta {short(delta)}",
        notes=answer.notes,
        more=[] if rate is None else [f"  {answer.extra['epochs']:.6g} epochs"],
        hint="dpacct noise turns the question round: the noise that a number of steps needs.",
    )
