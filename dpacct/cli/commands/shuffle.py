"""Amplification by shuffling."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import DETAILS, QUIET, Command
from dpacct.cli.output import Result
from dpacct.declare.domain import RATE, Integer, Real, Word
from dpacct.declare.number import short
from dpacct.declare.record import Maybe, Parameter, Usage
from dpacct.declare.words import Target
from dpacct.errors import OutsideDomain

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Question
    from dpacct.cli.screens import Screen
    from dpacct.shuffling.shuffle import Shuffle


class Shuffling(Command):
    """Bound the privacy loss of clients whose messages are shuffled.

    Give --delta for epsilon, --eps for delta, or both (and no --eps0) for the largest eps0 that meets them.
    The smallest valid bound is the answer, named in its basis; the lower end is what shuffled randomised
    response leaks. Neighbours differ in one client's value.
    """

    heading = "Shuffle"
    eps0: Parameter[Fraction | None] = Maybe(
        Real(0, 500, "right"), "each client's randomiser is E-DP by itself, purely", "E"
    )
    clients: Parameter[int] = Parameter(
        Integer(1, 10**9), "clients whose messages one shuffle mixes", "N"
    )
    mechanism: Parameter[str] = Parameter(
        Word("generic", "rr"),
        "generic: any E-DP randomiser; rr: randomised response",
        "NAME",
        default="generic",
    )
    k: Parameter[int | None] = Maybe(
        Integer(2, 10**9), "number of possible answers of rr; default 2", "K"
    )
    rate: Parameter[Fraction] = Parameter(
        RATE,
        "each client takes part in a round with this probability, in secret",
        "Q",
        default=Fraction(1),
    )
    rounds: Parameter[int] = Parameter(
        Integer(1, 10**9), "rounds, each with fresh coins and a fresh shuffle", "R", default=1
    )
    gamma: Parameter[Fraction | None] = Maybe(
        Real(0), "refused with an explanation: a Renyi level of the randomiser is not an eps0", "G"
    )
    epsilon: Parameter[Fraction | None] = Target.epsilon.optional()
    delta: Parameter[Fraction | None] = Target.delta.optional()
    quiet: Parameter[bool] = QUIET
    details: Parameter[bool] = DETAILS
    examples = (
        "shuffle --eps0 4 --clients 100000 --delta 1e-6",
        "shuffle --eps0 4 --clients 100000 --eps 0.1",
        "shuffle --eps0 1 --clients 1e6 --delta 1e-9 --rounds 100",
        "shuffle --eps0 2 --mechanism rr --k 16 --clients 10000 --delta 1e-6 --rate 0.1",
        "shuffle --eps 1 --delta 1e-6 --clients 10000",
    )

    def answer(self) -> Result:
        """Answer for epsilon, delta or eps0, depending on the target."""
        if self.gamma is not None:
            raise OutsideDomain(
                "--gamma, a Renyi level of the randomiser, cannot be amplified by shuffling: the theorems"
                " take the largest privacy loss eps0 of a purely eps0-DP randomiser (--eps0), and Gaussian"
                " noise has none; "
                "with gamma for eps0 the bound is false (dpacct theorems show udp_fl.lemma2_renyi_level)",
                argument="--gamma",
            )
        if self.k is not None and self.mechanism != "rr":
            raise Usage("--k is the number of answers of --mechanism rr", argument="--k")
        epsilon, delta = self.epsilon, self.delta
        if self.eps0 is None:
            if epsilon is None or delta is None:
                message = "--eps0 is missing; without it both --eps and --delta are needed"
                raise Usage(message, argument="--eps0")
            from dpacct.answer.answer import leading
            from dpacct.cli.screens import Screen, target
            from dpacct.shuffling.local_epsilon import largest_eps0

            answer = largest_eps0(
                epsilon=epsilon, delta=delta, rounds=self.rounds, **self._shuffle()
            )
            said = (
                "a bound from a theorem: this eps0 meets the target; a larger one may meet it too"
            )
            head = f"eps0 {leading(answer, 4)}    for {target(epsilon, delta)}"
            return self._shown(Screen(answer, head, said))
        from dpacct.answer.ask import Delta, Epsilon

        if delta is not None and epsilon is None:
            return self._answered(self.eps0, Epsilon(delta))
        if epsilon is not None and delta is None:
            return self._answered(self.eps0, Delta(epsilon))
        message = "give either --delta (for epsilon) or --eps (for delta)"
        missing = "--delta" if delta is None else "--eps"
        raise Usage(f"{message}, and not both with --eps0", argument=missing)

    def _shuffle(self) -> dict[str, Any]:
        """The parameters of the shuffle other than eps0."""
        answers = None if self.mechanism != "rr" else self.k or 2
        return {"clients": self.clients, "k": answers, "rate": self.rate}

    def _answered(self, eps0: Fraction, question: Question) -> Result:
        from dpacct.answer.ask import ask
        from dpacct.cli.screens import of_answer
        from dpacct.shuffling.shuffle import Shuffle

        shuffle = Shuffle(eps0=eps0, **self._shuffle())
        # the first screen of one shuffle shows no other bound: they take as long as the answer
        if self.rounds == 1 and not (self.as_json or self.details):
            answer = ask(question, shuffle)
        else:
            answer, *others = _asked(shuffle, self.rounds, question)
            answer = replace(answer, alternatives=tuple(others))
        return self._shown(of_answer(answer, question.settings))

    def _shown(self, screen: Screen) -> Result:
        from dpacct.cli.screens import alternatives

        answer = screen.answer
        times = f"{self.rounds:,} rounds of a" if self.rounds > 1 else "a"
        size = "that epsilon" if self.eps0 is None else f"epsilon {short(self.eps0)}"
        coin = "" if self.rate == 1 else f", each in a round with probability {short(self.rate)}"
        return replace(
            screen,
            plan=f"{times} shuffle of the messages of {self.clients:,} clients{coin},"
            f" each of {size} by itself",
            trust=[assumption.text for assumption in answer.assumptions],
            details=alternatives(answer, "other bounds"),
        ).result(self.details)


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
