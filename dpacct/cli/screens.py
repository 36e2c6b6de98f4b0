"""The first screen of a command: the number, its plan, and the assumptions; the details follow."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import (
    KNOWN,
    bounded,
    bracket,
    certainty,
    grade,
    is_tight,
    leading,
    protected,
    safe_number,
)
from dpacct.cli import output
from dpacct.cli.output import Result
from dpacct.declare.number import fits, rounded, short
from dpacct.declare.number import text as exact_text
from dpacct.display import aligned
from dpacct.vocabulary import Adjacency, Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.plan_file import StatedPlan

WIDTH = 100
_NAMES = {"rdp": "RDP", "clt": "the central limit"}


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
        lines += wrapped(plan)
        lines += wrapped(self.certainty)
        lines += labelled("true only if", trust or ())
        lines += labelled("protects", [protected(answer)])
        lines += labelled("other methods", [self.others] if self.others else [])
        return [*lines, *noted(self.notes), *self.below]

    def result(self, details: bool) -> Result:
        """Return the answer in every output format. Raises `Unreachable` where it is infinite."""
        answer = output.must_be_finite(self.answer)

        def body() -> dict[str, Any]:
            asked = {k: float(v) if fits(v) else exact_text(v) for k, v in self.asked.items()}
            return answer.to_dict() | asked | ({"notes": list(self.notes)} if self.notes else {})

        def lines() -> list[str]:
            if not details:
                return self.lines()
            return [*self.lines(), "", *detail_lines(answer), *self.details]

        def quiet() -> list[str]:
            estimate = ["this is an estimate, not a bound"] if answer.is_estimate else []
            for line in (*estimate, *self.notes):
                output.note(f"note: {line}.")
            return [self.number or safe_number(answer)]

        return Result(body, lines, quiet, answer)


def of_answer(answer: Answer, asked: Mapping[str, Fraction]) -> Screen:
    """The screen of an epsilon at a delta, or the other way about."""
    ((name, value),) = asked.items()
    head = f"{answer.quantity} {leading(answer, 4)}    at {name} {short(value, 'up')}"
    return Screen(answer, head, certainty(answer), asked=asked)


MULTIPLIER = "standard deviation / clip: what Opacus, Flower, TF Privacy and JAX Privacy take"


def per_clip(sigma: Answer) -> Answer:
    """The noise over the clip, of an answer over the sensitivity, which is one clip or two."""
    factor = sigma.adjacency.clip_factor  # 1 or 2: exact products
    ends = [None if end is None else factor * end for end in (sigma.lower, sigma.upper)]
    return replace(sigma, value=factor * sigma.value, lower=ends[0], upper=ends[1], extra={})


def two_readings(
    size: str,
    value: Fraction,
    adjacency: Adjacency,
    other: Callable[[], Answer | None] | None = None,
) -> list[str]:
    """A note where noise was given over the sensitivity, and that is two clips.

    `size` is the option and `value` what was typed; `other` answers for noise of that value over the clip.
    """
    if adjacency.clip_factor == 1:
        return []
    typed, twice = short(value), short(2 * value)
    said = f"{size} {typed} is the noise multiplier {twice} ({size.lstrip('-')} is over the sensitivity, two"
    said += f" clips under {adjacency}); if your {typed} is over the clip, say --noise-multiplier {typed}"
    answer = None if other is None else other()
    return [said if answer is None else f"{said}: {answer.quantity} {leading(answer, 4)}"]


def of_noise(answer: Answer, target: str, stated: StatedPlan) -> Screen:
    """The noise that training libraries take leads; sigma stands in the details."""
    kind, shown, name = stated.kind, answer, answer.quantity
    means = kind.parameters[kind.sought].means
    if "noise_multiplier" in answer.extra:
        name, shown, means = "noise multiplier", per_clip(answer), MULTIPLIER
    more = [f"({means})"]
    for size in ("noise_std", "noise_scale"):
        if size in answer.extra and stated.clip is not None:
            word = {"noise_std": "standard deviation", "noise_scale": "scale"}[size]
            deviation = rounded(float(answer.extra[size]), "up", 5)
            more.append(f"{word} {deviation} at clip {short(stated.clip)}")
    said = f"{KNOWN[answer.strength].partition(';')[0]}: this noise meets the target"
    if answer.is_estimate:
        said = KNOWN[Strength.ESTIMATE]
    elif is_tight(answer) and answer.lower is not None:
        said += ", and no smaller noise does"
    return Screen(
        answer,
        f"{name} {leading(shown, 5)}    for {target}",
        said,
        in_words(answer, sizes=False),
        number=safe_number(shown),
        more=more,
        others=_beside(answer),
    )


def _beside(answer: Answer) -> str:
    """Compare with the noise that other methods would need.

    A larger sigma is more noise, a larger eps0 is less: the safe end is the upper one of a sigma, and the
    lower one of an eps0.
    """
    larger_is_noisier = answer.safe_end == "upper"
    differences: list[str] = []
    for other in answer.alternatives:
        if other.method not in _NAMES or not float(other) or not math.isfinite(float(other)):
            continue
        ratio = 100 * (float(other) / float(answer) - 1)
        more = (ratio > 0) == larger_is_noisier
        much = f"{abs(ratio):.1f} % {'more' if more else 'less'} noise"
        if not larger_is_noisier:
            size = f"{answer.quantity} {abs(ratio):.1f} % {'smaller' if ratio < 0 else 'larger'}"
            much = f"{'more' if more else 'less'} noise ({size})"
        if abs(ratio) < 0.05:
            much = "the same"
        elif other.is_estimate:
            much += ", an estimate" if more else ", which is too little"
        differences.append(
            f"{_NAMES[other.method]} {much if differences else f'would need {much}'}"
        )
    return "; ".join(differences)


def of_steps(answer: Answer, epsilon: Fraction, delta: Fraction, step: str) -> Screen:
    """The number of steps within a target; `step` says of what."""
    count = int(answer)
    said = f"{KNOWN[answer.strength].partition(';')[0]}: {count:,} steps fit the budget"
    if answer.is_estimate:
        said = KNOWN[Strength.ESTIMATE]
    elif is_tight(answer) and answer.upper is not None:
        said += ", and one more does not"
    epochs = answer.extra.get("epochs")
    more = [f"{epochs:.6g} epochs"] if epochs is not None else []
    head = f"{count:,} step{'' if count == 1 else 's'}    within {target(epsilon, delta)}"
    asked = {"epsilon": epsilon, "delta": delta}
    return Screen(answer, head, said, step, more=more, asked=asked)


def in_words(answer: Answer, *, sizes: bool = True) -> str:
    """The answer's plan in a line: 1,000 steps of Gaussian noise (sigma 1.1), each record in ..."""
    from dpacct.plan.words import phrase

    return "" if answer.tree is None else phrase(answer.tree, sizes=sizes)


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


def alternatives(answer: Answer, title: str = "method") -> list[str]:
    """A table of what other methods say."""
    rows = [
        (
            other.method,
            bounded(other),
            rounded(float(other) / float(answer), "nearest", 5) if float(answer) else "",
            grade(other),
        )
        for other in answer.alternatives
    ]
    return ["", *aligned((title, answer.quantity, "ratio", "grade"), rows)] if rows else []


def detail_lines(answer: Answer) -> list[str]:
    """The number in full, and below it everything that is known about it, one item to a line."""
    meaning = f"adjacency {answer.adjacency}; unit {answer.unit}"
    lines = [f"{answer.quantity} {bounded(answer)}"]
    lines += [f"  {grade(answer)}; method {answer.method}; {meaning}"]
    lines += [f"  {ends}"] if (ends := bracket(answer)) else []
    if answer.tree is not None:
        plan = str(answer.tree)  # as it would be typed in Python; a very long one is cut
        lines.append(f"  plan: {plan if len(plan) <= 300 else f'{plan[:296]} ...'}")
    lines += [f"  basis: {source}" for source in answer.basis]
    lines += [f"  assumes: {assumption}" for assumption in answer.assumptions]
    return lines
