"""`dpacct compose`: the privacy of a plan whose steps differ, described in a file."""

from __future__ import annotations

from fractions import Fraction

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand
from dpacct.cli.output import show
from dpacct.cli.plan_file import read_plan
from dpacct.cli.refusal import Refusal
from dpacct.cli.rounding import short
from dpacct.cli.values import FilePath


@click.command(
    "compose",
    cls=ExampleCommand,
    rank=70,
    short_help="A plan of different steps, from a file.",
    examples=(
        "compose plan.toml",
        "compose plan.toml --delta 1e-6 --json",
        "compose plan.toml --eps 3",
    ),
)
@click.argument("plan", type=FilePath(), metavar="PLAN")
@options.epsilon_option(required=False)
@options.delta_option(required=False)
@options.meaning_options
@options.answer_options
def command(
    plan: str,
    epsilon: Fraction | None,
    delta: Fraction | None,
    adjacency: str | None,
    unit: str | None,
    method: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compute the epsilon (or, with --eps, the delta) of the plan in a file; "-" is stdin.

    \b
    A plan, in TOML, is a list of steps, which may differ in everything:
      delta = 1e-5
      [[step]]
      sigma = 1.1
      rate = "256/60000"
      repeat = 14063
      [[step]]
      mechanism = "laplace"
      b = 20

    docs/plan-format.md has the rest. --delta and --eps take precedence over what the file asks.
    """  # noqa: D301 (\b tells click to leave the lines as they are)
    file = read_plan(plan)
    node = file.node
    if adjacency is not None or unit is not None:
        node = node.under(adjacency, unit=unit or "")
    if epsilon is None and delta is None:
        epsilon, delta = file.epsilon, file.delta
    if epsilon is not None and delta is not None:
        raise Refusal(
            "give epsilon or delta, not both: a plan has one for each value of the other.",
            "--delta",
            kind="exclusive-options",
        )
    if delta is not None:
        answer = node.epsilon(delta=delta, method=method)
        meaning = f"at delta {short(delta)}"
    elif epsilon is not None:
        answer = node.delta(epsilon=epsilon, method=method)
        meaning = f"at epsilon {float(epsilon):.6g}"
    else:
        raise Refusal("give --delta or --eps, or write one of them into the plan.", "--delta")
    show("compose", answer, as_json=as_json, quiet=quiet, meaning=meaning)
