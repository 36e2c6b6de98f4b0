"""Amplification by shuffling."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import DETAILS, QUIET, TARGET, CommandLine, command, group, option
from dpacct.declare.domain import Integer, Word
from dpacct.declare.number import number, short
from dpacct.declare.record import Usage

if TYPE_CHECKING:
    from dpacct.cli.output import Result

_RENYI = ("rdp", "rdp-mironov")
KINDS = Word("generic", "rr")


@command(
    "shuffle",
    group(
        "Shuffle",
        option("--eps0 E", "each client's randomiser is E-DP by itself, purely"),
        option("--clients N", "clients whose messages one shuffle mixes"),
        option("--mechanism", "any E-DP randomiser, or randomised response", choices=KINDS.choices),
        option("--k K", "number of possible answers of rr; default 2"),
        option("--rate Q", "each client takes part with this probability, in secret; default 1"),
        option("--rounds R", "rounds, each with fresh coins and a fresh shuffle", default="1"),
    ),
    TARGET,
    group("Output", QUIET, DETAILS),
    examples=(
        "shuffle --eps0 4 --clients 100000 --delta 1e-6",
        "shuffle --eps0 4 --clients 100000 --eps 0.1",
        "shuffle --eps0 1 --clients 1e6 --delta 1e-9 --rounds 100",
        "shuffle --eps0 2 --mechanism rr --k 16 --clients 10000 --delta 1e-6 --rate 0.1",
        "shuffle --eps 1 --delta 1e-6 --clients 10000",
    ),
)
def main(line: CommandLine) -> Result:
    """Bound the privacy loss of clients whose messages are shuffled.

    Give --delta for epsilon, --eps for delta, or both (and no --eps0) for the largest eps0 that meets them.
    The smallest valid bound is the answer, named in its basis; the lower end is what shuffled randomised
    response leaks. Neighbours differ in one client's value. A Renyi level of the randomiser is no eps0
    (dpacct theorems show udp_fl.lemma2_renyi_level).
    """
    from dpacct.answer.answer import leading
    from dpacct.answer.ask import BoundaryQuestion, Delta, Epsilon, ask
    from dpacct.cli import screens
    from dpacct.shuffling import bounds
    from dpacct.shuffling.shuffle import Shuffle

    target, said = line.pick(("epsilon", "delta")), line.pick(("clients", "k", "rate"))
    kind, rounds = line.read("mechanism", KINDS), line.read("rounds", Integer(1, 10**9)) or 1
    if "k" in said and kind != "rr":
        raise Usage("--k is the number of answers of --mechanism rr", argument="--k")
    of: dict[str, Any] = {"k": 2, **said} if kind == "rr" else said
    eps0 = line.get("eps0")
    line.needs("clients")
    if eps0 is None:
        if len(target) < 2:
            message = "--eps0 is missing; without it both --eps and --delta are needed"
            raise Usage(message, argument="--eps0")
        goal = BoundaryQuestion(**target, name="eps0", bounds=(1e-9, 500.0))
        answer = ask(goal, lambda size: Shuffle(eps0=size, **of) * rounds, method="exact")
        head = f"eps0 {leading(answer, 4)}    for {screens.target(goal.epsilon, goal.delta)}"
        sure = screens.sure(answer, "this eps0 meets the target; a larger one may meet it too")
        screen, size = screens.Screen(answer, head, sure), "that epsilon"
    elif len(target) != 1:
        message = "give either --delta (for epsilon) or --eps (for delta), and not both with --eps0"
        raise Usage(message, argument="--eps" if target else "--delta")
    else:
        question = (Epsilon if "delta" in target else Delta).read(target, line.option)
        plan = Shuffle.read({"eps0": eps0, **of}, line.option)
        answer = ask(question, plan * rounds)
        if line.json or line.get("details"):
            ((_, at),) = question.settings.items()
            others = [
                *(bounds.compare(plan, **question.settings) if rounds == 1 else ()),
                *(ask(question, plan, method=each) for each in _RENYI if rounds == 1),
                *(bounds.of_rounds(plan, rounds, question.quantity, at) if rounds > 1 else ()),
            ]
            beside = tuple(other for other in others if other.method != answer.method)
            answer = replace(answer, alternatives=beside)
        screen, size = screens.of_answer(answer, question.settings), f"epsilon {short(plan.eps0)}"
    times = f"{rounds:,} rounds of a" if rounds > 1 else "a"
    rate = of.get("rate", "1")
    coin = "" if rate == "1" else f", each in a round with probability {rate}"
    clients = f"{int(number(of['clients'])):,} clients{coin}, each of {size} by itself"
    trust = [assumption.text for assumption in answer.assumptions]
    what = f"{times} shuffle of the messages of {clients}"
    return replace(screen, plan=what, trust=trust).result(line)
