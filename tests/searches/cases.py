"""Random cases as plain data: what is released, how it is sampled, what is asked, and which law judges it.

A case is drawn by a generator of its own number, so that a search can be stopped and continued at any time.
As it is plain data, a case that fails can be made smaller piece by piece.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

import dpacct as dp
from dpacct.plan.node import Node
from tests.laws.catalogue import FORMS

SEED = 20261119
STREAMS = ("exact", "auto", "nested")

Draw = np.random.Generator


def number(draw: Draw, low: float, high: float) -> str:
    """A decimal of four digits, log-uniform."""
    return f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}"


def count(draw: Draw, low: float, high: float) -> int:
    """A whole number, log-uniform."""
    return round(float(number(draw, low, high)))


@dataclass(frozen=True)
class Range:
    """Where a parameter is drawn: mostly where it is used, and otherwise from end to end.

    `private` says whether more of it is more private (1), less (-1), or neither (0).
    """

    usual: tuple[float, float]
    wide: tuple[float, float]
    private: int = 0
    whole: bool = False

    def drawn(self, draw: Draw, wild: bool) -> str:
        """As text."""
        ends = self.wide if wild else self.usual
        return str(count(draw, *ends)) if self.whole else number(draw, *ends)


@dataclass(frozen=True)
class Kind:
    """A mechanism: how it is made, from which parameters, and how often it is drawn."""

    make: Callable[..., Node]
    ranges: Mapping[str, Range]
    weight: float = 1.0
    most_steps: float = 1e9
    sampled: bool = True


_SCALE, _EPS0 = ((0.3, 50.0), (1e-3, 1e6)), ((1e-2, 3.0), (1e-6, 50.0))
_WHOLE = Range((1, 3), (1, 1000), 0, whole=True)
MECHANISMS: dict[str, Kind] = {
    "gaussian": Kind(dp.Gaussian, {"sigma": Range(*_SCALE, 1)}, 5.0),
    "clipped gaussian": Kind(
        dp.Gaussian,
        {"noise_multiplier": Range(*_SCALE, 1), "clip": Range((0.1, 10), (1e-3, 1e3))},
        0.5,
    ),
    "laplace": Kind(dp.Laplace, {"b": Range((0.05, 50), (1e-3, 1e6), 1)}, 3.0),
    "pure": Kind(dp.PureDP, {"epsilon": Range(*_EPS0, -1)}, 1.5),
    "approximate": Kind(
        dp.ApproxDP,
        {"epsilon": Range(*_EPS0, -1), "delta": Range((1e-14, 1e-4), (1e-300, 0.5), -1)},
        1.5,
    ),
    "concentrated": Kind(dp.ZCDP, {"rho": Range((1e-4, 1), (1e-9, 1e3), -1)}, 0.5, sampled=False),
    "staircase": Kind(dp.Staircase, {"eps0": Range(*_EPS0, -1)}, 1.0),
    "staircase of nu": Kind(
        dp.Staircase, {"eps0": Range(*_EPS0, -1), "nu": Range((0.05, 0.95), (1e-6, 0.999))}, 0.5
    ),
    "responses": Kind(
        dp.RandomizedResponse,
        {"eps0": Range(*_EPS0, -1), "k": Range((2, 12), (2, 1e9), 0, whole=True)},
        1.5,
    ),
    "local": Kind(dp.LocalRandomizer, {"eps0": Range(*_EPS0, -1)}, 0.5),
    "discrete laplace": Kind(
        dp.DiscreteLaplace,
        {"scale": Range((0.2, 30), (0.01, 1e6), 1), "sensitivity": _WHOLE},
        1.5,
        most_steps=1e7,
    ),
    "discrete gaussian": Kind(
        dp.DiscreteGaussian,
        {"scale": Range((0.5, 30), (0.05, 1e6), 0), "sensitivity": _WHOLE},
        1.5,
        most_steps=1e7,
    ),
    "exponential": Kind(dp.ExponentialMechanism, {"eps0": Range(*_EPS0, -1)}, 0.6, 1e5),
    "votes": Kind(
        lambda sigma: dp.GNMax(sigma=sigma, level="agent"),
        {"sigma": Range((1, 100), (1e-2, 1e6), 1)},
        0.3,
    ),
    "laplace votes": Kind(
        lambda b: dp.LNMax(b=b, level="agent"), {"b": Range((1, 100), (1e-1, 1e6), 1)}, 0.3
    ),
    "shuffle": Kind(
        dp.Shuffle,
        {"eps0": Range((0.1, 5), (1e-3, 20), 0), "clients": Range((10, 1e4), (1, 1e6), 1, True)},
        0.05,
        100,
        sampled=False,
    ),
    **{
        f"custom {form.form}": Kind(
            form,
            {
                name: Range(
                    (float(domain.typical[0]), float(domain.typical[1]))
                    if domain.typical
                    else (1e-4, 1),
                    (1e-2, 0.9) if domain.typical else (1e-6, 100),
                )
                for name, domain in form.domains.items()
            },
            0.2,
            30 if form.form == "tradeoff" else 1000,
            sampled=form.has_pairs,
        )
        for form in FORMS
    },
}
"""Every mechanism, with ranges of its parameters."""

_RATE = Range((1e-3, 0.9), (1e-12, 1.0), -1)
SAMPLINGS: dict[str, tuple[float, dict[str, Range]]] = {
    "none": (3.0, {}),
    "poisson": (6.0, {"rate": _RATE}),
    "fixed size": (2.5, {"rate": _RATE}),
    "participation": (1.5, {"rate": _RATE}),
    "records": (
        0.4,
        {"records": Range((1, 8), (1, 60), -1, True), "rate": Range((1e-3, 0.5), (1e-9, 0.99), -1)},
    ),
    "bins": (
        0.2,
        {"bins": Range((2, 300), (2, 3000), 0, True), "epochs": Range((1, 5), (1, 100), -1, True)},
    ),
    "held": (0.6, {"rate": Range((1e-2, 0.9), (1e-6, 1.0), -1)}),
}
"""How what is released is sampled: weight, and the sampler's numbers."""
_INNER = Range((2, 30), (2, 300), -1, True)
NESTED: dict[str, tuple[float, dict[str, Range]]] = {
    "steps on a coin": (3.0, {"rate": Range((0.01, 0.5), (1e-6, 1.0), -1), "inner": _INNER}),
    "coin of coins": (
        2.0,
        {"rate": Range((0.01, 0.5), (1e-5, 1.0), -1), "within": _RATE, "inner": _INNER},
    ),
    "round": (
        2.0,
        {"rate": Range((0.01, 0.9), (1e-5, 1.0), -1), "within": _RATE, "inner": _INNER},
    ),
    "round of fixed size": (
        1.0,
        {"rate": Range((0.01, 0.9), (1e-5, 1.0), -1), "within": _RATE, "inner": _INNER},
    ),
    "two kinds on a coin": (1.0, {"rate": Range((0.01, 0.5), (1e-5, 1.0), -1), "inner": _INNER}),
}
"""The same of samples that are held while a plan runs."""
_GAUSSIAN_ALONE = ("records", "bins")
WHOLES = ("one", "sum", "group", "parallel")
QUESTIONS = {
    "epsilon": 5.0,
    "delta": 4.0,
    "rdp": 1.0,
    "profile": 0.7,
    "tradeoff": 0.5,
    "noise": 0.5,
    "steps": 0.3,
    "rate": 0.3,
    "pure": 0.2,
}


@dataclass(frozen=True)
class Part:
    """Releases of one kind: mechanism, sampling, the numbers of both, and how often."""

    mechanism: str
    values: tuple[str, ...]
    sampling: str
    about: tuple[str, ...]
    steps: int

    @property
    def named(self) -> dict[str, str]:
        """The mechanism's parameters."""
        return dict(zip(MECHANISMS[self.mechanism].ranges, self.values, strict=True))

    @property
    def numbers(self) -> dict[str, str]:
        """The sampler's."""
        return dict(zip(_ranges(self.sampling), self.about, strict=True))

    @property
    def release(self) -> Node:
        """One, without a sample."""
        return MECHANISMS[self.mechanism].make(**self.named)

    @property
    def node(self) -> Node:
        """All of them."""
        release, about = self.release, self.numbers
        rate, inner = about.get("rate", "1"), int(about.get("inner", "1"))
        within = about.get("within", "1")
        if self.sampling == "held":
            on_it = release + release * min(self.steps, 20)
            return dp.Poisson(rate)(on_it) + dp.PureDP(epsilon="0.01")
        makers: dict[str, Callable[[], Node]] = {
            "none": lambda: release,
            "poisson": lambda: dp.Poisson(rate)(release),
            "fixed size": lambda: dp.WithoutReplacement(rate)(release),
            "participation": lambda: dp.Participation(rate)(release),
            "records": lambda: dp.RecordsPerUser(about["records"], rate)(release),
            "bins": lambda: dp.BallsInBins(about["bins"], epochs=about["epochs"])(release),
            "steps on a coin": lambda: dp.Poisson(rate)(release * inner),
            "coin of coins": lambda: dp.Poisson(rate)(dp.Poisson(within)(release) * inner),
            "round": lambda: dp.Participation(rate)(dp.Poisson(within)(release) * inner),
            "round of fixed size": lambda: dp.Participation(rate)(
                dp.WithoutReplacement(within)(release) * inner
            ),
            "two kinds on a coin": lambda: dp.Poisson(rate)(release * inner + dp.Laplace(b=3)),
        }
        return makers[self.sampling]() * self.steps


def _ranges(sampling: str) -> dict[str, Range]:
    return (SAMPLINGS | NESTED)[sampling][1]


@dataclass(frozen=True)
class Case:
    """A plan, its adjacency, a question and its arguments, the method, and which law judges the answer."""

    number: int
    whole: str
    parts: tuple[Part, ...]
    adjacency: str
    question: str
    at: tuple[str, ...]
    method: str
    law: str

    @property
    def node(self) -> Node:
        """The plan."""
        nodes = [part.node for part in self.parts]
        if self.whole == "group":
            return dp.Group(nodes[0], size=2 + self.number % 5)
        if self.whole == "parallel":
            return dp.Parallel(*nodes)
        return reduce(lambda plan, other: plan + other, nodes)

    @property
    def how(self) -> dict[str, str]:
        """Keywords of a question."""
        return {"adjacency": self.adjacency, "method": self.method}

    @property
    def cell(self) -> str:
        """Mechanism x sampling x question, as they are counted."""
        first = self.parts[0]
        kind = first.sampling if self.whole == "one" else self.whole
        return f"{first.mechanism} | {kind} | {self.question}"


def _chosen(draw: Draw, weights: Mapping[str, float]) -> str:
    shares = np.array(list(weights.values()))
    return str(draw.choice(list(weights), p=shares / shares.sum()))


def _part(draw: Draw, stream: str, plain: bool = False) -> Part:
    table = NESTED if stream == "nested" else SAMPLINGS
    sampling = "none" if plain else _chosen(draw, {name: w for name, (w, _) in table.items()})
    wild = draw.random() < 0.4
    if sampling in _GAUSSIAN_ALONE:
        mechanism = "gaussian"
    else:
        mechanism = _chosen(
            draw, {n: k.weight for n, k in MECHANISMS.items() if k.sampled or sampling == "none"}
        )
    kind = MECHANISMS[mechanism]
    values = tuple(each.drawn(draw, wild) for each in kind.ranges.values())
    if mechanism.startswith("custom"):
        wild = False
    about = tuple(each.drawn(draw, wild) for each in _ranges(sampling).values())
    most = min(kind.most_steps, 1e9 if wild else 1e5, 20.0 if stream == "nested" else 1e9)
    if sampling == "bins":
        most = min(most, 100.0)
    steps = 1 if draw.random() < 0.1 else count(draw, 1, most)
    return Part(mechanism, values, sampling, about, steps)


def _adjacency(draw: Draw, parts: tuple[Part, ...], whole: str) -> str:
    samplings = {part.sampling for part in parts}
    if samplings & {"fixed size", "round of fixed size"}:
        return "replace-one"
    if samplings & set(_GAUSSIAN_ALONE) or any("votes" in part.mechanism for part in parts):
        return "add-remove"
    if any(part.mechanism == "shuffle" for part in parts):
        return "replace-one"
    likely = (0.8, 0.1, 0.1) if whole != "parallel" else (0.9, 0.1, 0.0)
    return str(draw.choice(["add-remove", "zero-out", "replace-one"], p=likely))


def _delta(draw: Draw) -> str:
    far = draw.random() < 0.3
    return number(draw, 1e-300, 1.0) if far else number(draw, 1e-14, 0.3)


def _epsilon(draw: Draw) -> str:
    return number(draw, 1e-8, 1e6) if draw.random() < 0.2 else number(draw, 1e-2, 50)


def _asked(draw: Draw, question: str) -> tuple[str, ...]:
    if question in ("epsilon", "delta"):
        return (_delta(draw) if question == "epsilon" else _epsilon(draw),)
    if question == "rdp":
        whole = draw.random() < 0.5
        return (str(count(draw, 2, 100)) if whole else number(draw, 1.001, 1e4),)
    if question == "profile":
        return tuple(_epsilon(draw) for _ in range(int(draw.integers(1, 6))))
    if question == "tradeoff":
        return tuple(number(draw, 1e-12, 1.0) for _ in range(int(draw.integers(1, 5))))
    if question == "pure":
        return ("0",)
    return (number(draw, 1e-2, 20), number(draw, 1e-12, 1e-2))


LAWS = ("back", "more private", "other method", "order")


def drawn(stream: str, index: int) -> Case:
    """Case number `index` of a stream."""
    draw = np.random.default_rng((SEED, STREAMS.index(stream), index))
    whole = str(draw.choice(WHOLES, p=(0.8, 0.14, 0.03, 0.03)))
    size = 1 if whole in ("one", "group") else int(draw.integers(2, 5))
    parts = tuple(_part(draw, stream) for _ in range(size))
    if any(part.sampling == "held" for part in parts) or stream == "nested":
        whole, parts = "one", parts[:1]
    if len(parts) > 1:  # one adjacency must do for all of them
        kept = {"fixed size", "records", "bins"}
        parts = tuple(
            replace(part, sampling="none", about=()) if part.sampling in kept else part
            for part in parts
            if part.mechanism != "shuffle"
        ) or (_part(draw, stream, plain=True),)
    question = _chosen(draw, QUESTIONS)
    names = MECHANISMS[parts[0].mechanism].ranges
    if question == "noise" and not any(name in names for name in ("sigma", "b", "scale")):
        question = "epsilon"
    if question == "rate" and parts[0].sampling not in ("poisson", "fixed size", "participation"):
        question = "delta"
    if whole != "one" and question in ("noise", "steps", "rate"):
        question = "epsilon"
    if question == "pure" and stream != "exact":
        question = "epsilon"
    if any(p.mechanism in ("custom rdp", "custom moment", "concentrated") for p in parts):
        method = "rdp"
    else:
        method = "auto" if stream == "auto" else "exact"
    law = str(draw.choice(LAWS, p=(0.35, 0.35, 0.2, 0.1)))
    about = _adjacency(draw, parts, whole)
    return Case(index, whole, parts, about, question, _asked(draw, question), method, law)


def calibrated(case: Case) -> Callable[[float], Node]:
    """The plan of a parameter that is searched for: its noise, its rate, or how often it is released."""
    part = case.parts[0]
    if case.question == "steps":
        return lambda steps: replace(part, steps=int(steps)).node
    if case.question == "rate":
        return lambda rate: replace(part, about=(repr(float(rate)), *part.about[1:])).node
    names = list(MECHANISMS[part.mechanism].ranges)
    place = next(i for i, name in enumerate(names) if name in ("sigma", "b", "scale"))

    def noised(noise: float) -> Node:
        values = (*part.values[:place], repr(float(noise)), *part.values[place + 1 :])
        return replace(part, values=values).node

    return noised


def more_private(case: Case, draw: Draw) -> Case | None:
    """The same with more noise, fewer steps or a smaller rate; None where nothing of it can be."""
    place = int(draw.integers(len(case.parts)))
    part = case.parts[place]
    factor = float(draw.choice([1.0001, 1.02, 1.5, 8.0]))
    changes: list[Part] = []
    if part.steps > 1:
        changes.append(replace(part, steps=max(1, math.floor(part.steps / factor))))
    for i, each in enumerate(_ranges(part.sampling).values()):
        if each.private:
            about = (*part.about[:i], _moved(each, part.about[i], factor), *part.about[i + 1 :])
            changes.append(replace(part, about=about))
    for i, each in enumerate(MECHANISMS[part.mechanism].ranges.values()):
        if each.private and part.mechanism != "shuffle":
            values = (*part.values[:i], _moved(each, part.values[i], factor), *part.values[i + 1 :])
            changes.append(replace(part, values=values))
    changes = [each for each in changes if each != part]
    if not changes:
        return None
    other = changes[int(draw.integers(len(changes)))]
    return replace(case, parts=(*case.parts[:place], other, *case.parts[place + 1 :]))


def _moved(each: Range, value: str, factor: float) -> str:
    size = float(value) * (factor if each.private > 0 else 1.0 / factor)
    if each.whole:
        return str(max(1, math.floor(size)))
    return f"{size:.12g}"
