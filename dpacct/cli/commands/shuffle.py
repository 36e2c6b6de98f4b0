"""`dpacct shuffle`: amplification by shuffling, upper and lower."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import show
from dpacct.cli.refusal import Refusal
from dpacct.cli.rounding import short
from dpacct.cli.table import aligned
from dpacct.cli.text import grade, relation, safe_number
from dpacct.cli.values import Choice, Number
from dpacct.declare.domain import RATE, Integer, Real
from dpacct.errors import NotCertified

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.shuffling.shuffle import Shuffle

_SECTION = "Shuffle"
_EPS0 = Number(Real(0, 500, "right"))
_CLIENTS = Number(Integer(1, 10**9))
_RATE = Number(RATE)
_ROUNDS = Number(Integer(1, 10**9))
_ANSWERS = Number(Integer(2, 10**9))
_RENYI = Number(Real(0))


@click.command(
    "shuffle",
    cls=ExampleCommand,
    rank=52,
    short_help="Amplification by shuffling.",
    examples=(
        "shuffle --eps0 4 --clients 100000 --delta 1e-6",
        "shuffle --eps0 4 --clients 100000 --eps 0.1",
        "shuffle --eps0 1 --clients 1e6 --delta 1e-9 --rounds 100",
        "shuffle --eps0 2 --mechanism rr --k 16 --clients 10000 --delta 1e-6 --rate 0.1",
        "shuffle --eps 1 --delta 1e-6 --clients 10000",
    ),
)
@option(
    "--eps0",
    section=_SECTION,
    type=_EPS0,
    metavar="E",
    help="Each client's randomiser is E-DP by itself, purely.",
)
@option(
    "--clients",
    section=_SECTION,
    type=_CLIENTS,
    required=True,
    metavar="N",
    help="Clients whose messages one shuffle mixes.",
)
@option(
    "--mechanism",
    section=_SECTION,
    type=Choice(("generic", "rr")),
    default="generic",
    show_default=True,
    metavar="NAME",
    help="generic: any E-DP randomiser; rr: randomised response.",
)
@option("--k", section=_SECTION, type=_ANSWERS, metavar="K", help="rr: answers; default 2.")
@option(
    "--rate",
    section=_SECTION,
    type=_RATE,
    metavar="Q",
    help="Each client takes part in a round with this probability, in secret; default 1.",
)
@option(
    "--rounds",
    section=_SECTION,
    type=_ROUNDS,
    metavar="R",
    help="Rounds, each with fresh coins and a fresh shuffle; default 1.",
)
@option(
    "--gamma",
    section=_SECTION,
    type=_RENYI,
    metavar="G",
    help="Refused, with the reason: a Renyi level of the randomiser is not an eps0.",
)
@options.epsilon_option(required=False)
@options.delta_option(required=False)
@options.json_option
@options.quiet_option
def command(
    eps0: Fraction | None,
    clients: Fraction,
    mechanism: str,
    k: Fraction | None,
    rate: Fraction | None,
    rounds: Fraction | None,
    gamma: Fraction | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Bound what shuffling the messages of many clients leaves of their local privacy.

    Give --delta for epsilon, --eps for delta, or both (and no --eps0) for the largest eps0 that meets them.
    The smallest valid bound is the answer, named in its basis; the lower end is what shuffled randomised
    response leaks. Neighbours differ in one client's value.
    """
    if gamma is not None:
        raise Refusal(
            "--gamma, a Renyi level of the randomiser, cannot be amplified by shuffling: the "
            "theorems take the "
            "largest privacy loss eps0 of a purely eps0-DP randomiser (--eps0), and Gaussian noise has none; "
            "with gamma for eps0 the bound is false (dpacct theorems show udp_fl.lemma2_renyi_level).",
            "--gamma",
            kind="outside-domain",
            status=ExitStatus.OUTSIDE_DOMAIN,
        )
    if k is not None and mechanism != "rr":
        raise Refusal("--k is the number of answers of --mechanism rr.", "--k")
    answers = None if mechanism != "rr" else int(k or 2)
    times = int(rounds or 1)

    def once(eps0: Any) -> Shuffle:
        from dpacct.shuffling.shuffle import Shuffle

        return Shuffle(eps0=eps0, clients=int(clients), k=answers, rate=rate or 1)

    if eps0 is None:
        if epsilon is None or delta is None:
            raise Refusal(
                "--eps0 is missing; without it both --eps and --delta are needed.", "--eps0"
            )
        from dpacct.shuffling.local_epsilon import largest_eps0

        largest = largest_eps0(
            epsilon=epsilon,
            delta=delta,
            clients=int(clients),
            k=answers,
            rate=rate or 1,
            rounds=times,
        )
        told = f"the largest that meets epsilon {float(epsilon):.6g}, delta {short(delta)}"
        show("shuffle", largest, as_json=as_json, quiet=quiet, meaning=told)
        return
    if (epsilon is None) == (delta is None):
        told = "give either --delta (for epsilon) or --eps (for delta)"
        raise Refusal(f"{told}, and not both with --eps0.", "--delta" if delta is None else "--eps")
    quantity, asked, given = (
        ("epsilon", "delta", delta) if delta is not None else ("delta", "epsilon", epsilon)
    )
    question = {asked: given or Fraction(0)}
    answer, others = _asked(once(eps0), times, question)
    more = []
    if others:
        rows = [(a.method, f"{relation(a)} {safe_number(a)}", grade(a)) for a in others]
        more = ["", *aligned(("other bounds", quantity, "grade"), rows)]
    show(
        "shuffle",
        replace(answer, alternatives=tuple(others)),
        as_json=as_json,
        quiet=quiet,
        meaning=f"at {asked} {float(question[asked]):.6g}",
        more=more,
    )


def _asked(
    shuffle: Shuffle, rounds: int, question: dict[str, Fraction]
) -> tuple[Answer, list[Answer]]:
    """The smallest upper bound, with the lower end that is known, and all the others."""
    from dpacct.shuffling.alternatives import over_rounds
    from dpacct.shuffling.questions import compare

    node = shuffle * rounds

    def ask(method: str) -> Answer:
        if "delta" in question:
            return node.epsilon(delta=question["delta"], method=method)
        return node.delta(epsilon=question["epsilon"], method=method)

    if rounds == 1:
        answer = ask("auto")
        listed = [*compare(shuffle, **question), ask("rdp"), ask("rdp-mironov")]
        return answer, [other for other in listed if other.method != answer.method]
    others = [ask("rdp"), ask("rdp-mironov")]
    others += over_rounds(shuffle, rounds, question)
    try:
        answer = ask("exact")
    except NotCertified:
        # hundreds of nats beside rare clones are more than the lattice spans: the other bounds hold
        answer = min(others, key=lambda a: a.value)
        answer = replace(answer, basis=(*answer.basis, "no lattice spans this composition"))
        return answer, [other for other in others if other.method != answer.method]
    best = min([answer, *others], key=lambda a: a.value if a is not answer else float(a))
    if best is not answer and best.value < float(answer):
        lower = min(answer.lower or 0.0, best.value)
        others = [other for other in others if other is not best] + [answer]
        answer = replace(best, lower=lower, side=answer.side)
    return answer, [other for other in others if math.isfinite(other.value)]
