"""`dpacct steps`: how many steps a budget allows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options, proof
from dpacct.cli.alternatives import by_every_method
from dpacct.cli.command import ExampleCommand
from dpacct.cli.output import show
from dpacct.cli.plan import PlanOptions, mechanism, repeated, sampling_rate
from dpacct.cli.rounding import short
from dpacct.domain import STEPS
from dpacct.errors import NotCertified

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.compose.certified import Proven


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
    from dpacct import calibrate

    plan = PlanOptions.take(values)
    noise = mechanism(plan)

    @cache
    def ask(method: str) -> Answer:
        return calibrate(
            lambda count: repeated(plan, noise, int(count)),
            epsilon=epsilon,
            delta=delta,
            method=method,
            integer=True,
            name="steps",
        )

    def fast() -> Answer:
        return ask("exact" if method in ("auto", "certified") else method)

    def prove(digits: int, effort: float) -> Proven:
        from dpacct.compose.certified import whole_parameter

        if int(fast()) == STEPS.upper:
            told = "the budget allows as many steps as can be asked about, so none more is proven too many"
            raise NotCertified(told, argument="steps")
        return whole_parameter(
            lambda count: repeated(plan, noise, count),
            guess=int(fast()),
            epsilon=epsilon,
            delta=delta,
            name="steps",
            effort=effort,
        )

    answer, why = proof.strongest(
        prove, fast, method=method, digits=digits, certificate=certificate
    )
    if as_json:
        answer = replace(answer, alternatives=by_every_method(ask, but=answer.method))
    rate = sampling_rate(plan)
    if rate is not None:
        answer = replace(answer, extra={**answer.extra, "epochs": float(answer) * float(rate)})
    show(
        "steps",
        answer,
        as_json=as_json,
        quiet=quiet,
        meaning=f"within epsilon {float(epsilon):.6g} at delta {short(delta)}",
        notes=why,
        more=[] if rate is None else [f"  {answer.extra['epochs']:.6g} epochs"],
        hint="dpacct noise turns the question round: the noise that a number of steps needs.",
    )
