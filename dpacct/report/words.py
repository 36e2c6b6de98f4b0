"""A plan in words, and drawn: read off its saved form, so a node of any kind has a description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.errors import Unsupported
from dpacct.report.about import About
from dpacct.report.rounding import up
from dpacct.vocabulary import Adjacency, Strength

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.tree import Node


Saved = Mapping[str, Any]
# How each kind of node is called; a kind that is not here is called by its name and numbers.
_LEAVES = {
    "gaussian": "the Gaussian mechanism",
    "laplace": "the Laplace mechanism",
    "staircase": "the staircase mechanism",
    "discrete-gaussian": "the discrete Gaussian mechanism",
    "discrete-laplace": "the discrete Laplace (geometric) mechanism",
    "randomized-response": "randomised response",
    "local-randomizer": "a local randomiser",
    "exponential": "the exponential mechanism",
    "shuffle": "a shuffle of messages",
    "pure-dp": "a mechanism known only by its epsilon",
    "approx-dp": "a mechanism known only by its epsilon and delta",
    "zcdp": "a mechanism known only by its zero-concentrated DP",
}
_SAMPLES = {
    "poisson": "on a Poisson sample of rate {rate}",
    "without-replacement": "on a random subset of fixed size, share {rate}",
    "participation": "run with probability {rate}",
    "records-per-user": "on {records} records of a user, each by its own coin of rate {rate}",
    "balls-in-bins": "in an epoch of {bins} steps, each unit in one of them at random",
}
_WORDS = {"adjacency": "under {} adjacency", "unit": "one unit is one {}"}
_MOST_TOLD, _MOST_DRAWN = 8, 100  # parts of a composition in the sentence, and in the tree
_LONG = 10  # characters beyond which a number is rounded for a reader; the plan's JSON has all
_NUMBERS = {
    "sigma": "sigma {} (standard deviation / sensitivity)",
    "noise_multiplier": "noise multiplier {} (standard deviation / clip)",
    "clip": "clip {}",
    "b": "b {} (scale / sensitivity)",
    "eps0": "epsilon {} of one release",
    "nu": "nu {}",
    "k": "{} answers",
    "clients": "{} clients",
    "scale": "scale {}",
    "sensitivity": "sensitivity {}",
    "rho": "rho {}",
    "epsilon": "epsilon {}",
    "delta": "delta {}",
}


@dataclass(frozen=True)
class Branch:
    """A part of a plan: what it is, and the parts it is made of."""

    label: str
    parts: tuple[Branch, ...] = field(default=())

    def lines(self) -> list[str]:
        """The tree drawn with box characters, one line to a part.

        >>> Branch("both", (Branch("one"), Branch("two"))).lines()
        ['both', '├─ one', '└─ two']
        """
        return [self.label, *self._below("")]

    def _below(self, margin: str) -> Iterator[str]:
        for part in self.parts:
            last = part is self.parts[-1]
            yield f"{margin}{'└─' if last else '├─'} {part.label}"
            yield from part._below(margin + ("   " if last else "│  "))


def branches(plan: Node) -> Branch:
    r"""The plan as a tree of labels.

    >>> import dpacct as dp
    >>> plan = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000
    >>> print(*branches(plan).lines(), sep="\n")
    1000 times, afresh each time
    └─ on a Poisson sample of rate 0.01
       └─ the Gaussian mechanism: sigma 1.1 (standard deviation / sensitivity)
    """
    try:
        return _branch(plan.to_dict(), {})
    except Unsupported:  # made of a function, which has no saved form
        return Branch(str(plan))


def phrase(plan: Node) -> str:
    """The plan as part of a sentence.

    >>> import dpacct as dp
    >>> phrase(dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000)
    '1000 releases of the Gaussian mechanism (sigma 1.1), each on a Poisson sample of rate 0.01'
    """
    try:
        return _phrase(plan.to_dict())
    except Unsupported:
        return str(plan)


def _branch(saved: Saved, declared: Saved) -> Branch:
    """The part as a branch; `known` is what was declared further out."""
    kind = saved["node"]
    if kind == "under":
        new = {key: saved[key] for key in _WORDS if saved.get(key) not in (None, declared.get(key))}
        inner = _branch(saved["of"], {**declared, **new})
        label = ", ".join(_WORDS[key].format(word) for key, word in new.items())
        return Branch(label, (inner,)) if label else inner
    if kind == "repeat":
        return Branch(
            f"{saved['steps']} times, afresh each time", (_branch(saved["of"], declared),)
        )
    if kind == "compose":
        parts = tuple(_branch(part, declared) for part in saved["parts"][:_MOST_DRAWN])
        more = len(saved["parts"]) - len(parts)
        parts += (Branch(f"and {more} more, which the JSON form lists"),) if more else ()
        return Branch("one after the other", parts)
    if kind == "held":
        return Branch(f"on the sample {saved['name']}", (_branch(saved["of"], declared),))
    if isinstance(saved.get("of"), Mapping):
        return Branch(_sample(saved), (_branch(saved["of"], declared),))
    numbers = ", ".join(_numbers(saved))
    return Branch(_leaf(saved) + (f": {numbers}" if numbers else ""))


def _phrase(saved: Saved, times: int = 1) -> str:
    kind = saved["node"]
    if kind == "under":
        return _phrase(saved["of"], times)
    if kind == "compose":
        phrases = "; then ".join(_phrase(part) for part in saved["parts"][:_MOST_TOLD])
        more = len(saved["parts"]) - _MOST_TOLD
        phrases += f"; then {more} more parts" if more > 0 else ""
        return f"{times} rounds of ({phrases})" if times > 1 else phrases
    if kind == "held":
        return f"{_phrase(saved['of'], times)} (the sample {saved['name']})"
    if kind == "repeat":
        return _phrase(saved["of"], times * int(saved["steps"]))
    if isinstance(saved.get("of"), Mapping):
        inner = _phrase(saved["of"])
        if saved["of"]["node"] in ("repeat", "compose"):
            head = f"{times} rounds, each " if times > 1 else "one round "
            return f"{head}{_sample(saved)}: {inner}"
        inner = inner.removeprefix("one release of ")
        head = f"{times} releases of " if times > 1 else "one release of "
        return f"{head}{inner}, {'each ' if times > 1 else ''}{_sample(saved)}"
    numbers = ", ".join(text.partition(" (")[0] for text in _numbers(saved))
    name = _leaf(saved) + (f" ({numbers})" if numbers else "")
    return f"{times} releases of {name}" if times > 1 else f"one release of {name}"


def _sample(saved: Saved) -> str:
    kind = str(saved["node"])
    return _SAMPLES.get(kind, f"under {kind} of rate {{rate}}").format(
        rate=saved.get("rate", "unknown")
    )


def _leaf(saved: Saved) -> str:
    kind = str(saved["node"])
    return _LEAVES.get(kind, f"the mechanism {kind!r}")


def _numbers(saved: Saved) -> list[str]:
    """The numbers of a leaf; lists (of a custom mechanism) are given by their length."""
    numbers = []
    for name, value in saved.items():
        if name in ("node", "schema") or value is None or (name, value) == ("rate", "1"):
            continue
        if isinstance(value, list | dict):
            numbers.append(f"{name} of {len(value)} entries")
        else:
            numbers.append(_NUMBERS.get(name, f"{name} {{}}").format(_short(value)))
    return numbers


def _short(value: object) -> str:
    """A number that was typed, as it was; one that was computed, to six digits."""
    text = str(value)
    try:
        return text if len(text) <= _LONG else f"about {float(Fraction(text)):.6g}"
    except ValueError:
        return text


DIGITS = 4
"""Digits of epsilon and delta in the sentence, rounded up."""
NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "one data set has one {unit} more than the other",
    Adjacency.REPLACE_ONE: "one {unit} of one data set is exchanged for another",
    Adjacency.ZERO_OUT: "the contribution of one {unit} is replaced by zero",
}
_GRADES = {
    Strength.PROVED: "proved with interval arithmetic",
    Strength.CONVERGED: "computed by two agreeing methods",
    Strength.BOUND: "an upper bound from a verified theorem",
}


def statement(answer: Answer, delta: Fraction, about: About, *, holds: bool = True) -> str:
    """Who gets what guarantee, under which adjacency, for which mechanism, and how it is known.

    Where it does not hold, because an assumption is violated, the sentence says so of itself.
    """
    output = about.output or "all outputs of the plan"
    opening = f"Releasing {output} is"
    if not holds:
        opening = f"If no assumption were violated, releasing {output} would be"
    epsilon = up(float(answer), DIGITS)
    private = f"{epsilon}-differentially private (pure: delta 0)"
    if delta:
        private = f"({epsilon}, {up(delta, DIGITS)})-differentially private"
    unit = str(answer.unit)
    neighbours = NEIGHBOURS[answer.adjacency].format(unit=unit)
    whose = f", one {unit} being {about.unit}" if about.unit else ""
    viewer = f" against {about.viewer}" if about.viewer else ""
    assert answer.tree is not None
    return (
        f"{opening} {private}{viewer}, "
        f"{unit}-level under {answer.adjacency} adjacency ({neighbours}{whose}), for "
        f"{phrase(answer.tree)}; the epsilon is {_GRADES[answer.strength]} (dpacct {version()})."
    )


def caveat(violated: int) -> str:
    """The warning above a statement some of whose assumptions are violated."""
    how = "one of its assumptions is" if violated == 1 else f"{violated} of its assumptions are"
    return f"The guarantee below does not hold: {how} violated. It is what would hold if they were true."


def version() -> str:
    """The version of dpacct."""
    from importlib import metadata

    return metadata.version("dpacct")


def uncovered(answer: Answer, about: About) -> tuple[str, ...]:
    """One sentence for each thing that a reader may think is covered; the plan's own words first."""
    stated = (
        (
            *("Tuning", about.tuning),
            "Runs that chose hyperparameters on the same data compose with this one, also those that"
            " were thrown away.",
        ),
        (
            *("Preprocessing", about.preprocessing),
            "Whatever was computed from the data before the plan is not counted.",
        ),
        (
            *("Released in the clear", about.unprotected),
            "Metrics, sample sizes and other statistics of the data have no guarantee.",
        ),
    )
    return (
        *(f"{name}: {text or f'not stated. {warning}'}" for name, text, warning in stated),
        f"Groups: several {answer.unit}s together are protected less; k of them may see up to k times"
        " the epsilon, and a larger delta.",
        "Other releases: whatever else was or will be released about the same data composes with"
        " this plan.",
        "Inference: what is true of the population can be learnt, also about someone who took no"
        " part.",
        "Side channels: running times, memory, network traffic and failures are not part of the"
        " output.",
    )
