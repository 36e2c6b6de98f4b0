"""`dpacct delta`: the delta of a plan at a given epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from dpacct.cli import options, question
from dpacct.cli.command import ExampleCommand
from dpacct.cli.plan import PlanOptions, whole


@click.command(
    "delta",
    cls=ExampleCommand,
    rank=30,
    short_help="The delta of a plan.",
    examples=(
        "delta --sigma 1.1 --rate 0.01 --steps 1000 --eps 1.5",
        "delta --sigma 1 --sampling uniform --rate 0.05 --steps 200 --eps 5",
        "delta --sigma 1 --rate 0.01 --steps 1000 --eps 200 --json",
        "delta --mechanism laplace --b 20 --steps 100 --eps 2",
        "delta --sigma 1.1 --rate 0.01 --steps 1000 --eps 1.5 --digits 20",
    ),
)
@options.noise_options
@options.sampling_options
@options.steps_options
@options.epsilon_option(required=True)
@options.meaning_options
@options.answer_options
@options.proof_options
def command(epsilon: Fraction, **values: Any) -> None:
    """Compute the smallest delta for which a plan is (epsilon, delta)-private.

    The number printed is the safe end of what is known, rounded up. A delta below the range of
    floats is printed as a power of ten.
    """
    from dpacct.answer.ask import Delta

    how = question.taken(values)
    node, notes = whole(PlanOptions.take(values))
    question.answer(
        "delta", Delta(epsilon), node, notes, meaning=f"at epsilon {float(epsilon):.6g}", **how
    )
