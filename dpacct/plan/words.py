"""A plan in words, and drawn: read off its saved form and the declarations of what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.declare.number import exact, near
from dpacct.errors import Unsupported

if TYPE_CHECKING:
    from dpacct.declare.record import Parameter
    from dpacct.mechanisms.mechanism import Mechanism
    from dpacct.plan.node import Node
    from dpacct.plan.samplers.sampled import Sampler

Saved = Mapping[str, Any]
_WORDS = {"adjacency": "under {} adjacency", "unit": "one unit is one {}"}


def _mechanism(saved: Saved) -> type[Mechanism] | None:
    """The mechanism class of a kind of leaf; None for a node that is no mechanism."""
    from dpacct.mechanisms.mechanism import Mechanism

    return next((kind for kind in _below(Mechanism) if kind.kind == saved["node"]), None)


def _sampler(saved: Saved) -> type[Sampler] | None:
    from dpacct.plan.samplers.sampled import Sampler

    return next((kind for kind in _below(Sampler) if kind.kind == saved["node"]), None)


def _below(base: Any) -> Iterator[Any]:
    """All subclasses that have a kind."""
    for each in base.__subclasses__():
        yield from _below(each)
        if "kind" in vars(each):
            yield each


@dataclass(frozen=True)
class WordTree:
    """A part of a plan as a tree: its label and its parts."""

    label: str
    parts: tuple[WordTree, ...] = field(default=())

    def lines(self) -> list[str]:
        """The tree drawn with box characters, one line to a part.

        >>> WordTree("both", (WordTree("one"), WordTree("two"))).lines()
        ['both', '├─ one', '└─ two']
        """
        return [self.label, *self._below("")]

    def _below(self, margin: str) -> Iterator[str]:
        for part in self.parts:
            last = part is self.parts[-1]
            yield f"{margin}{'└─' if last else '├─'} {part.label}"
            yield from part._below(margin + ("   " if last else "│  "))


def branches(plan: Node) -> WordTree:
    r"""The plan as a tree of labels.

    >>> import dpacct as dp
    >>> plan = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000
    >>> print(*branches(plan).lines(), sep="\n")
    1000 times, afresh each time
    └─ each record in a step with probability 1 %
       └─ Gaussian noise: sigma 1.1 (standard deviation / sensitivity)
    """
    try:
        return _branch(plan.to_dict(), {}, str(plan.unit))
    except Unsupported:  # made of a function, which has no saved form
        return WordTree(str(plan))


def phrase(plan: Node, *, sizes: bool = True) -> str:
    """The plan as part of a sentence; without `sizes` the amount of noise is left out.

    >>> import dpacct as dp
    >>> phrase(dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000)
    '1,000 steps of Gaussian noise (sigma 1.1), each record in a step with probability 1 %'
    """
    try:
        return _phrase(plan.to_dict(), str(plan.unit), sizes)
    except Unsupported:
        return str(plan)


def trusted(plan: Node) -> tuple[str, ...]:
    """The assumptions about data and sampling, in the words of a training script."""

    def walk(saved: Saved, unit: str) -> Iterator[str]:
        sampler = _sampler(saved)
        inside = saved.get("parts") or (
            [saved["of"]] if isinstance(saved.get("of"), Mapping) else []
        )
        for part in inside:  # a sampler whose unit has many records draws these
            yield from walk(part, "record" if sampler and sampler.unit else unit)
        declared = _mechanism(saved) or sampler
        if declared is not None:
            clipped = (
                "gradients: per example"
                if unit == "record"
                else "all of it together, not by record"
            )
            yield declared.trust.format(unit=unit, how=clipped)

    try:
        return tuple(dict.fromkeys(text for text in walk(plan.to_dict(), plan.unit) if text))
    except Unsupported:
        return ()


def _branch(saved: Saved, declared: Saved, unit: str) -> WordTree:
    """The part as a branch; `declared` holds declarations made further out."""
    kind = saved["node"]
    if kind == "under":
        new = {key: saved[key] for key in _WORDS if saved.get(key) not in (None, declared.get(key))}
        inner = _branch(saved["of"], {**declared, **new}, unit)
        label = ", ".join(_WORDS[key].format(word) for key, word in new.items())
        return WordTree(label, (inner,)) if label else inner
    if kind == "compose":
        parts = tuple(_branch(part, declared, unit) for part in saved["parts"][:100])
        more = len(saved["parts"]) - len(parts)
        parts += (WordTree(f"and {more} more, which the JSON form lists"),) if more else ()
        return WordTree("one after the other", parts)
    if isinstance(saved.get("of"), Mapping):
        label = _sample(saved, unit)
        if kind == "repeat":
            label = f"{saved['steps']} times, afresh each time"
        return WordTree(label, (_branch(saved["of"], declared, unit),))
    numbers = ", ".join(f"{said}{means}" for said, means in _numbers(saved))
    return WordTree(_leaf(saved) + (f": {numbers}" if numbers else ""))


def _phrase(saved: Saved, unit: str, sizes: bool, times: int = 1) -> str:
    # parts of a composition in the sentence, and in the tree
    most_told = 8
    kind = saved["node"]
    if kind == "under":
        return _phrase(saved["of"], unit, sizes, times)
    if kind == "compose":
        parts = (_phrase(part, unit, sizes) for part in saved["parts"][:most_told])
        more = len(saved["parts"]) - most_told
        phrases = "; then ".join(parts) + (f"; then {more} more parts" if more > 0 else "")
        return f"{times:,} rounds of ({phrases})" if times > 1 else phrases
    if kind == "repeat":
        return _phrase(saved["of"], unit, sizes, times * int(saved["steps"]))
    steps = f"{times:,} step{'' if times == 1 else 's'}"
    if isinstance(saved.get("of"), Mapping):
        inner, drawn = _phrase(saved["of"], unit, sizes), _sample(saved, unit)
        declared = _sampler(saved)
        steps = steps if declared is None else steps.replace("step", declared.span)
        if saved["of"]["node"] in ("repeat", "compose"):
            rounds = steps.replace("step", "round")
            return f"{rounds}, {drawn.replace('a step', 'a round')}: {inner}"
        return f"{steps} of {inner.removeprefix('1 step of ')}, {drawn}"
    numbers = ", ".join(said for said, _ in _numbers(saved)) if sizes else ""
    return f"{steps} of {_leaf(saved)}" + (f" ({numbers})" if numbers else "")


def _sample(saved: Saved, unit: str) -> str:
    declared = _sampler(saved)
    if declared is None:
        return f"under {saved['node']}"
    said = {name: _short(saved[name]) for name in saved if name not in ("node", "of", "schema")}
    rate = exact(saved.get("rate"))
    said |= {} if rate is None else {"rate": f"{near(100 * rate, 6)} %"}
    return declared.drawn.format(unit=unit, **said)


def _leaf(saved: Saved) -> str:
    declared = _mechanism(saved)
    return (declared.label if declared else "") or f"the mechanism {saved['node']!r}"


def _numbers(saved: Saved) -> Iterator[tuple[str, str]]:
    """The numbers of a leaf, each with its meaning; lists (of a custom mechanism) by their length."""
    declared = _mechanism(saved)
    parameters: Mapping[str, Parameter[Any]] = declared.parameters if declared else {}
    for name, value in saved.items():
        if name in ("node", "schema") or value is None or (name, value) == ("rate", "1"):
            continue
        if isinstance(value, list | dict):
            yield f"{name} of {len(value)} entries", ""
            continue
        means = f" ({parameters[name].means})" if name in parameters else ""
        yield f"{name.replace('_', ' ')} {_short(value)}", means


def _short(value: object) -> str:
    """A typed number unchanged; a computed one to six digits."""
    text = str(value)
    try:
        # characters beyond which a number is rounded for a reader; the plan's JSON has all
        return text if len(text) <= 10 else f"about {float(Fraction(text)):.6g}"
    except ValueError:
        return text
