"""Amplification by shuffling."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import DETAILS, QUIET, CommandLine, command, group, option, switch
from dpacct.cli.target import target
from dpacct.declare.domain import RATE, Integer, Real, Word
from dpacct.declare.number import short
from dpacct.declare.record import Usage
from dpacct.errors import OutsideDomain

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Question
    from dpacct.cli.output import Result
    from dpacct.cli.screens import Screen
    from dpacct.shuffling.shuffle import Shuffle


@command(
    "shuffle",
    group(
        "Shuffle",
        option(
            "--eps0 E", "each client's randomiser is E-DP by itself, purely", Real(0, 500, "right")
        ),
        option("--clients N", "clients whose messages one shuffle mixes", Integer(1, 10**9)),
        option(
            "--mechanism NAME",
            "generic: any E-DP randomiser; rr: randomised response",
            Word("generic", "rr"),
            default="generic",
        ),
        option("--k K", "number of possible answers of rr; default 2", Integer(2, 10**9)),
        option(
            "--rate Q",
            "each client takes part in a round with this probability, in secret",
            RATE,
            default=Fraction(1),
        ),
        option(
            "--rounds R",
            "rounds, each with fresh coins and a fresh shuffle",
            Integer(1, 10**9),
            default=1,
        ),
        option(
            "--gamma G",
            "refused with an explanation: a Renyi level of the randomiser is not an eps0",
            Real(0),
        ),
    ),
    target(),
    group("Output", switch("-q --quiet", QUIET), switch("--details", DETAILS)),
    examples=(
        "shuffle --eps0 4 --clients 100000 --delta 1e-6",
        "shuffle --eps0 4 --clients 100000 --eps 0.1",
        "shuffle --eps0 1 --clients 1e6 --delta 1e-9 --rounds 100",
        "shuffle --eps0 2 --mechanism rr --k 16 --clients 10000 --delta 1e-6 --rate 0.1",
        "shuffle --eps 1 --delta 1e-6 --clients 10000",
    ),
)
def main(
    line: CommandLine,
    *,
    eps0: Fraction | None,
    clients: int | None,
    mechanism: str,
    k: int | None,
    rate: Fraction,
    rounds: int,
    gamma: Fraction | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    quiet: bool,
    details: bool,
) -> Result:
    """Bound the privacy loss of clients whose messages are shuffled.

    Give --delta for epsilon, --eps for delta, or both (and no --eps0) for the largest eps0 that meets them.
    The smallest valid bound is the answer, named in its basis; the lower end is what shuffled randomised
    response leaks. Neighbours differ in one client's value.
    """
    if gamma is not None:
        raise OutsideDomain(
            "--gamma, a Renyi level of the randomiser, cannot be amplified by shuffling: the theorems"
            " take the largest privacy loss eps0 of a purely eps0-DP randomiser (--eps0), and Gaussian"
            " noise has none; "
            "with gamma for eps0 the bound is false (dpacct theorems show udp_fl.lemma2_renyi_level)",
            argument="--gamma",
        )
    if clients is None:
        message = "--clients must be given: clients whose messages one shuffle mixes"
        raise Usage(message, argument="--clients")
    if k is not None and mechanism != "rr":
        raise Usage("--k is the number of answers of --mechanism rr", argument="--k")
    shuffle: dict[str, Any] = {
        "clients": clients,
        "k": (k or 2) if mechanism == "rr" else None,
        "rate": rate,
    }
    if eps0 is None:
        if epsilon is None or delta is None:
            message = "--eps0 is missing; without it both --eps and --delta are needed"
            raise Usage(message, argument="--eps0")
        screen = _largest(epsilon, delta, rounds, shuffle)
    elif (delta is None) == (epsilon is None):
        message = "give either --delta (for epsilon) or --eps (for delta), and not both with --eps0"
        raise Usage(message, argument="--delta" if delta is None else "--eps")
    else:
        from dpacct.answer.ask import Delta, Epsilon

        question = Delta(epsilon) if delta is None else Epsilon(delta)
        screen = _answered(eps0, question, rounds, shuffle, every=line.json or details)
    return _shown(screen, clients, rounds, rate, eps0).result(details)


def _largest(epsilon: Fraction, delta: Fraction, rounds: int, shuffle: dict[str, Any]) -> Screen:
    from dpacct.answer.answer import leading
    from dpacct.cli.screens import Screen, target
    from dpacct.shuffling.local_epsilon import largest_eps0

    answer = largest_eps0(epsilon=epsilon, delta=delta, rounds=rounds, **shuffle)
    said = "a bound from a theorem: this eps0 meets the target; a larger one may meet it too"
    return Screen(answer, f"eps0 {leading(answer, 4)}    for {target(epsilon, delta)}", said)


def _answered(
    eps0: Fraction, question: Question, rounds: int, shuffle: dict[str, Any], *, every: bool
) -> Screen:
    from dpacct.answer.ask import ask
    from dpacct.cli.screens import of_answer
    from dpacct.shuffling.shuffle import Shuffle

    plan = Shuffle(eps0=eps0, **shuffle)
    # the first screen of one shuffle shows no other bound: they take as long as the answer
    if rounds == 1 and not every:
        return of_answer(ask(question, plan), question.settings)
    answer, *others = _asked(plan, rounds, question)
    return of_answer(replace(answer, alternatives=tuple(others)), question.settings)


def _shown(
    screen: Screen, clients: int, rounds: int, rate: Fraction, eps0: Fraction | None
) -> Screen:
    from dpacct.cli.screens import alternatives

    answer = screen.answer
    times = f"{rounds:,} rounds of a" if rounds > 1 else "a"
    size = "that epsilon" if eps0 is None else f"epsilon {short(eps0)}"
    coin = "" if rate == 1 else f", each in a round with probability {short(rate)}"
    return replace(
        screen,
        plan=f"{times} shuffle of the messages of {clients:,} clients{coin}, each of {size} by itself",
        trust=[assumption.text for assumption in answer.assumptions],
        details=alternatives(answer, "other bounds"),
    )


def _asked(shuffle: Shuffle, rounds: int, question: Question) -> tuple[Answer, ...]:
    """The answer with all other bounds as alternatives."""
    from dpacct.answer.ask import ask
    from dpacct.shuffling.bounds import compare, of_rounds

    ((_, at),) = question.settings.items()
    if rounds > 1:
        return of_rounds(shuffle, rounds, question.quantity, at)
    answer = ask(question, shuffle)
    beside = [ask(question, shuffle, method=method) for method in ("rdp", "rdp-mironov")]
    listed = [*compare(shuffle, **question.settings), *beside]
    return (answer, *(other for other in listed if other.method != answer.method))
