"""The answer of a question's command, and its first screen: the number, its plan, the assumptions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import (
    KNOWN,
    PROTECTS,
    bounded,
    bracket,
    certainty,
    grade,
    is_tight,
    leading,
    safe_number,
)
from dpacct.answer.ask import alternatives, ask
from dpacct.cli import output
from dpacct.cli.output import Result
from dpacct.declare.domain import DIGITS
from dpacct.declare.number import fits, number, short
from dpacct.declare.number import text as exact_text
from dpacct.declare.record import Exclusive
from dpacct.errors import DpacctError
from dpacct.vocabulary import Adjacency, Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Delta, Epsilon, Question
    from dpacct.cli.command import CommandLine
    from dpacct.cli.plan_file import StatedPlan

WIDTH = 100
MULTIPLIER = "standard deviation / clip: what Opacus, Flower, TF Privacy and JAX Privacy take"


# --- asking


def asked(line: CommandLine, question: Question, plan: Any, *, beside: bool) -> Answer:
    """The answer, with its certificate written on request; `beside` adds the other methods' answers."""
    certificate, method = line.get("certificate"), line.get("method")
    if certificate is not None and method not in ("auto", "certified"):
        message = f"--certificate needs --method certified, and --method {method} was given"
        raise Exclusive(message, argument="--certificate")
    digits = None if certificate is None else DIGITS
    answer = ask(question, plan, digits=digits, **line.pick(("method", "effort")))
    if certificate is not None:
        text = output.as_text(answer.certificate, indent=1) + "\n"
        output.write_file(text.encode(), certificate, "--certificate")
    if beside:
        answer = replace(answer, alternatives=alternatives(question, plan, but=answer.method))
    return answer


def of_plan(line: CommandLine, kind: type[Epsilon | Delta], at: str) -> Result:
    """The result of a question, at the option `at`, about the plan that the line states."""
    question, stated = kind.read(line.pick((at,)), line.option), line.stated()
    answer = asked(line, question, stated.plan(), beside=line.json)
    screen = of_answer(answer, {at: question.at})
    return answered(line, screen, stated, lambda other: ask(question, other.plan(), method="exact"))


def answered(
    line: CommandLine,
    screen: Screen,
    stated: StatedPlan,
    again: Callable[[StatedPlan], Answer] | None = None,
    **sought: object,
) -> Result:
    """The result as shown; the plan is saved on request, with the noise or steps that were sought.

    `again` answers for another plan than the stated one.
    """
    answer, target = screen.answer, screen.asked
    notes = [] if stated.steps.epochs is None else [*stated.steps.notes]
    if (path := line.get("save")) is not None:
        from dpacct.cli.plan_file import written

        kept = {key: each for key, each in target.items() if len(target) == 1 or key == "delta"}
        # what was answered about, said or not: a report needs both words
        about = {"adjacency": answer.adjacency, "unit": answer.unit}
        said = {"mechanism": stated.kind.kind, **about, **line.typed, **kept, **sought}
        output.write_file(written(said).encode(), path, "--save")
        output.note(f"wrote {path}")
    notes += two_readings(stated, answer.adjacency, again)
    size, delta = stated.steps.dataset_size, target.get("delta")
    if size is not None and delta is not None and delta * size > 1:
        notes.append(
            f"delta is above 1 / {size}: it belongs well below one over the {answer.unit}s"
        )
    return replace(screen, notes=[*notes, *answer.notes]).result(line)


def two_readings(
    stated: StatedPlan, adjacency: Adjacency, again: Callable[[StatedPlan], Answer] | None = None
) -> list[str]:
    """A note where the noise was given over the sensitivity, which is two clips here.

    `again` answers for the plan whose noise is that number over the clip.
    """
    size = stated.kind.sought
    if size not in stated.noise or "noise_multiplier" not in stated.kind.parameters:
        return []
    other = stated._replace(noise={"noise_multiplier": stated.noise[size]})
    ask_again = None if again is None else partial(again, other)
    return readings(stated.call(size), number(stated.noise[size]), adjacency, ask_again)


def readings(
    size: str, value: Fraction, adjacency: Adjacency, again: Callable[[], Answer] | None
) -> list[str]:
    """The note on noise that was typed as the option `size`; `again` answers for the other reading."""
    if adjacency.clip_factor == 1:
        return []
    typed, name = short(value), size.lstrip("-")
    said = f"{size} {typed} is the noise multiplier {short(2 * value)} ({name} is over the sensitivity,"
    said += f" two clips under {adjacency}); if your {typed} is over the clip, say --noise-multiplier {typed}"
    if again is not None:
        with suppress(DpacctError):
            answer = again()
            said += f": {answer.quantity} {leading(answer, 4)}"
    return [said]


# --- the screen


@dataclass(frozen=True)
class Screen:
    """One answer: `head` is the first line, `certainty` says how sure it is.

    `number` is what --quiet prints, where that is not the answer itself; `plan` and `trust` say the plan
    and what must be true of it, where its tree does not.
    """

    answer: Answer
    head: str
    certainty: str
    plan: str = ""
    trust: Sequence[str] | None = None
    number: str = ""
    more: Sequence[str] = ()
    others: str = ""
    notes: Sequence[str] = ()
    below: Sequence[str] = ()
    details: Sequence[str] = ()
    asked: Mapping[str, Fraction] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The lines of the first screen."""
        answer, plan, trust = self.answer, self.plan, self.trust
        if answer.tree is not None:
            from dpacct.plan.words import phrase, trusted

            plan = plan or phrase(answer.tree)
            trust = trusted(answer.tree) if trust is None else trust
        lines = [self.head, *(f"  {line}" for line in self.more)]
        lines += [*wrapped(plan), *wrapped(self.certainty)]
        lines += labelled("true only if", trust or ())
        lines += labelled("protects", [PROTECTS[answer.adjacency].format(unit=answer.unit)])
        lines += labelled("other methods", [self.others] if self.others else [])
        return [*lines, *noted(self.notes), *self.below]

    def result(self, line: CommandLine) -> Result:
        """Return the answer in every output format. Raises `Unreachable` where it is infinite."""
        answer, notes = output.must_be_finite(self.answer), [*self.notes]

        def body() -> dict[str, Any]:
            asked = {k: float(v) if fits(v) else exact_text(v) for k, v in self.asked.items()}
            return answer.to_dict() | asked | ({"notes": notes} if notes else {})

        def lines() -> list[str]:
            more = ["", *detail_lines(answer), *self.details] if line.get("details") else []
            return [*self.lines(), *more]

        def quiet() -> list[str]:
            estimate = ["this is an estimate, not a bound"] if answer.is_estimate else []
            for each in (*estimate, *notes):
                output.note(f"note: {each}.")
            return [self.number or safe_number(answer)]

        return Result(body, lines, quiet, answer)


def of_answer(answer: Answer, asked: Mapping[str, Fraction]) -> Screen:
    """The screen of an epsilon at a delta, or the other way about."""
    ((name, value),) = asked.items()
    head = f"{answer.quantity} {leading(answer, 4)}    at {name} {short(value, 'up')}"
    return Screen(answer, head, certainty(answer), asked=asked)


def per_clip(sigma: Answer) -> Answer:
    """The noise over the clip, of an answer over the sensitivity, which is one clip or two."""
    factor = sigma.adjacency.clip_factor  # 1 or 2: exact products
    ends = [None if end is None else factor * end for end in (sigma.lower, sigma.upper)]
    return replace(sigma, value=factor * sigma.value, lower=ends[0], upper=ends[1], extra={})


def sure(answer: Answer, holds: str, beyond: str = "") -> str:
    """One line on how well a boundary is known: what holds, and perhaps what does not."""
    if answer.is_estimate:
        return KNOWN[Strength.ESTIMATE]
    two = beyond and is_tight(answer) and None not in (answer.lower, answer.upper)
    known = KNOWN[answer.strength].partition(";")[0]
    return f"{known}: {holds}{f', and {beyond}' if two else ''}"


def target(epsilon: Fraction, delta: Fraction) -> str:
    """`epsilon 8 at delta 1e-5`."""
    return f"epsilon {short(epsilon, 'up')} at delta {short(delta, 'up')}"


def wrapped(line: str, indent: str = "  ", hang: str = "    ") -> list[str]:
    """A line of at most 100 columns, and what does not fit below it."""
    return textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=hang)


def labelled(label: str, items: Sequence[str]) -> list[str]:
    """`  true only if    this; and that`, wrapped under itself."""
    return wrapped("; ".join(items), f"  {label:<16}", " " * 18) if items else []


def noted(notes: Sequence[str]) -> list[str]:
    """Each note under its label."""
    return [line for note in notes for line in labelled("note", [note])]


def detail_lines(answer: Answer) -> list[str]:
    """The number in full, and below it everything that is known about it, one item to a line."""
    lines = [f"{answer.quantity} {bounded(answer)}"]
    meaning = f"adjacency {answer.adjacency}; unit {answer.unit}"
    lines += [f"  {grade(answer)}; method {answer.method}; {meaning}"]
    lines += [f"  {ends}"] if (ends := bracket(answer)) else []
    if answer.tree is not None:
        plan = str(answer.tree)  # as it would be typed in Python; a very long one is cut
        lines.append(f"  plan: {plan if len(plan) <= 300 else f'{plan[:296]} ...'}")
    lines += [f"  basis: {source}" for source in answer.basis]
    lines += [f"  assumes: {assumption}" for assumption in answer.assumptions]
    return lines + [f"  {e.method}: {bounded(e)}, {grade(e)}" for e in answer.alternatives]
