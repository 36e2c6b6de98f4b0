"""What the laws range over: every mechanism x sampling x adjacency, with drawn parameters.

A new mechanism needs one line in `MECHANISMS`, a new sampler none; `test_catalogue.py` says so when
a line is missing. Parameters are drawn from the domain objects that check them.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dpacct as dp
import dpacct.plan.samplers
from dpacct.answer import Answer
from dpacct.declare.domain import RATE, Real
from dpacct.declare.number import exact, fits
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.papers.refute import window
from dpacct.plan.node import Node
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency, Strength
from tests import work
from tests.drawing import draw


@dataclass(frozen=True, eq=False)
class Brought:
    """A Custom of this form, made from parameters; the same values give the same object."""

    form: str
    domains: Mapping[str, Real]
    build: Callable[..., Any]
    has_pairs: bool = True

    @property
    def kind(self) -> str:
        return f"custom-{self.form}"

    def __call__(self, **values: Any) -> dp.Custom:
        checked = {name: self.domains[name].check(name, value) for name, value in values.items()}
        return _made(self, tuple(checked.values()))

    def custom(self, *values: float) -> dp.Custom:
        """With these values, in the order of the domains."""
        return dp.Custom(**{self.form: self.build(*values)})


@functools.cache
def _made(brought: Brought, values: tuple[Fraction, ...]) -> dp.Custom:
    return brought.custom(*map(float, values))


class _Lines(Brought):
    """Densities 1 + t(2x - 1) and 1 - t(2x - 1) on [0, 1], each other's mirror image."""

    def custom(self, *values: float) -> dp.Custom:
        (t,) = values
        both = (lambda x: 1.0 + t * (2.0 * x - 1.0), lambda x: 1.0 - t * (2.0 * x - 1.0))
        return dp.Custom(densities=both, breaks=[0, 1], symmetric=True)


def tables(t: float) -> Any:
    """Three outcomes, not symmetric."""
    return [0.5 + t / 4, 0.25, 0.25 - t / 4], [0.5 - t / 4, 0.25 + t / 8, 0.25 + t / 8]


def profile(eps0: float) -> list[tuple[float, float]]:
    """Of a choice of bounded range, (1 - e^{(e - eps0)/2})^2 / (1 - e^-eps0), at forty places."""
    places = [eps0 * k / 40 for k in range(41)]
    return [(e, math.expm1((e - eps0) / 2) ** 2 / -math.expm1(-eps0)) for e in places]


def tradeoff(k: float) -> list[tuple[float, float]]:
    """(1 - a^k)^{1/k}, its own inverse, at forty places."""
    return [(a / 40, (1 - (a / 40) ** k) ** (1 / k)) for a in range(41)]


_SHARE = Real("0.01", "0.9", "both", typical=(0.05, 0.8))
FORMS = (
    Brought("tables", {"share": _SHARE}, tables),
    Brought("profile", {"eps0": Real("0.01", 20, "both", typical=(0.1, 5))}, profile),
    Brought("tradeoff", {"k": Real("0.4", "0.99", "both", typical=(0.5, 0.95))}, tradeoff),
    Brought("rdp", {"rho": Real("1e-6", 100, "both")}, lambda r: lambda a: r * a, has_pairs=False),
    _Lines("densities", {"share": _SHARE}, tables),
)


# --- What the laws range over: every mechanism x sampling x adjacency, with drawn parameters.


assert settings.default is not None
SEARCH = settings.default.max_examples >= 1000
"""Whether this is a long random search (--hypothesis-profile=search)."""
SAME: dict[str, Any] = {"derandomize": True, "database": None}
"""The ordinary run draws the same examples each time; luck is for the long search."""
SECONDS = float(os.environ.get("DPACCT_LAW_SECONDS", "100"))
"""Processor time after which an example hangs: it is ended there, and takes a tenth of that at worst."""


def limited() -> AbstractContextManager[None]:
    """An example fails after SECONDS."""
    return work.limited(SECONDS, AssertionError(f"took more than {SECONDS:g} s of processor time"))


@dataclass(frozen=True, eq=False)
class Kind:
    """A mechanism, and for each parameter to draw whether more of it is more private (+1) or less
    (-1), or neither (0)."""

    make: type[Mechanism] | Brought
    parameters: Mapping[str, int]
    least: Mapping[str, float] = field(default_factory=dict)  # nothing below this is drawn
    most_steps: int = 10**8  # of a sampled plan: with more it takes seconds, for a long search
    settled: bool = True  # whether the contours reach 1e-9 on all plans without rare hits
    closed: bool = True  # whether a single release is known to rounding
    fixed: Mapping[str, int] = field(default_factory=dict)  # parameters that are not drawn

    @property
    def domains(self) -> Mapping[str, Any]:
        """What each parameter may be."""
        if isinstance(self.make, Brought):
            return self.make.domains
        return {name: each.domain for name, each in self.make.parameters.items()}

    def values(self) -> st.SearchStrategy[dict[str, Fraction]]:
        """All parameters."""
        return st.fixed_dictionaries(
            {
                name: numbers(self.domains[name], self.least.get(name, 0.0))
                for name in self.parameters
            }
        )

    def __call__(self, **values: Any) -> Mechanism:
        """The mechanism with these parameters."""
        return self.make(**values, **self.fixed)

    def __str__(self) -> str:
        return "-".join([self.make.kind, *(f"{name}{x}" for name, x in self.fixed.items())])


MECHANISMS = (
    Kind(dp.Gaussian, {"sigma": +1}, least={"sigma": 0.2}),
    Kind(dp.Laplace, {"b": +1}, least={"b": 0.05}, settled=False),
    Kind(dp.PureDP, {"epsilon": -1}),
    Kind(dp.ApproxDP, {"epsilon": -1, "delta": -1}),
    Kind(dp.ZCDP, {"rho": -1}),
    Kind(dp.Staircase, {"eps0": -1}, most_steps=100, settled=False),
    Kind(dp.RandomizedResponse, {"eps0": -1}),
    Kind(dp.LocalRandomizer, {"eps0": -1}),
    Kind(dp.DiscreteLaplace, {"scale": +1}, least={"scale": 0.1}, settled=False),
    Kind(dp.DiscreteGaussian, {"scale": 0}, least={"scale": 0.2}, most_steps=30, settled=False),
    Kind(dp.ExponentialMechanism, {"eps0": -1}, most_steps=30, settled=False),
    Kind(dp.RandomizedResponse, {"eps0": -1}, most_steps=100, settled=False, fixed={"k": 5}),
    *(
        Kind(
            form,
            dict.fromkeys(form.domains, 0),
            most_steps=10,
            settled=False,
            closed=False,
        )
        for form in FORMS
    ),
)
SAMPLERS: tuple[type[Sampler] | None, ...] = (None, dp.WithoutReplacement, dp.Poisson)
LAWS_OF_THEIR_OWN = (
    "participation",
    "records-per-user",
    "balls-in-bins",
    "poisson-group",
    "truncated-poisson",
)
"""Samplers that take seconds a question, or more than a rate: plans of theirs are among the composites."""

_ROUNDS: dict[str, Any] = {"clients": 20, "client_rate": "0.2", "rounds": 3}
FEDERATED = (
    dp.federated.DPFed(**_ROUNDS, noise_multiplier=4),
    dp.federated.DPFedAvg(**_ROUNDS, noise_multiplier=4, noise_by="clients", missing=1),
    dp.federated.DPFedSAM(**_ROUNDS, noise_multiplier=8),
    dp.federated.DPFedLS(**_ROUNDS, noise_multiplier=4, sampling="uniform"),
    dp.federated.PriFedSync(**_ROUNDS, batch_size=4, records=40, local_steps=2, sigma=4),
)
COMPOSITES: Mapping[str, Node] = {
    "votes": dp.GNMax(sigma=20, level="agent"),
    "votes of records": dp.GNMax(sigma=20),
    "screened votes": dp.GNMax(sigma=20, threshold=100, threshold_sigma=40, level="agent"),
    "votes of neighbours": dp.GNMax(sigma=20, neighbours=5, level="agent"),
    "votes, Laplace": dp.LNMax(b=10, level="agent"),
    "sampled votes": dp.Poisson("0.1")(dp.GNMax(sigma=2, level="agent")),
    "shuffle": dp.Shuffle(eps0=1, clients=50),
    "rounds of shuffles": dp.Shuffle(eps0=2, clients=200, k=4) * 3,
    "a shuffle by chance": dp.Shuffle(eps0=1, clients=50, rate="0.5"),
    "a round": dp.Participation("0.5")(dp.Gaussian(sigma=4) * 3),
    "a nested sample": dp.Poisson("0.2")(dp.Gaussian(sigma=4) * 3),
    "records of a user": dp.RecordsPerUser(3, "0.2")(dp.Gaussian(sigma=4)) * 3,
    "cut batches": dp.TruncatedPoisson("0.2", max_batch=3, dataset_size=10)(dp.Gaussian(sigma=4))
    * 3,
    "random moves": dp.GaussianMixture(sigma=4, moves=[0, 1, 2], weights=["0.2", "0.5", "0.3"]) * 3,
    "bins": dp.BallsInBins(12, epochs=2)(dp.Gaussian(sigma=3)) * 3,
    "two kinds": dp.Gaussian(sigma=4) + dp.Laplace(b=5) * 2,
    "a group": dp.Group(dp.Poisson("0.1")(dp.Gaussian(sigma=4)) * 3, size=2),
    "a group, Gaussian": dp.Group(dp.Gaussian(sigma=6) * 3, size=3),
    "disjoint parts": dp.Parallel(dp.Gaussian(sigma=4) * 2, dp.Laplace(b=6)),
    **{f"{plan.algorithm}, as accounted": plan.tree() for plan in FEDERATED},
    "one message of dp-fedavg": FEDERATED[1].one_message(),
    "udp-fl, one client": dp.federated.Client(
        name="a", mechanism="laplace", noise=8, delta="1e-5", client_rate="0.5"
    ).plan(rounds=3, local_steps=2),
    "a client's steps": dp.WithoutReplacement("0.2")(dp.Gaussian(sigma=4)).under(unit="client"),
}
"""Plans that are no single mechanism on a sample, and those of the federated algorithms."""


@dataclass(frozen=True)
class Drawn:
    """A plan that was drawn, kept as its parameters so that one of them can be changed."""

    kind: Kind
    sampler: type[Sampler] | None
    adjacency: Adjacency
    values: Mapping[str, Fraction]
    rate: Fraction
    steps: int

    @property
    def step(self) -> Node:
        """One release."""
        bare = self.kind(**self.values)
        return bare if self.sampler is None else self.sampler(self.rate)(bare)

    @property
    def node(self) -> Node:
        return self.step * self.steps

    def but(self, **changes: Any) -> Drawn:
        """The same plan with a parameter, the rate or the number of steps changed."""
        shared = {name: changes.pop(name) for name in list(changes) if name in ("rate", "steps")}
        return dataclasses.replace(self, values={**self.values, **changes}, **shared)

    @property
    def method(self) -> str:
        """The strongest method without a proof: tests/proof has the proofs."""
        return "exact" if self.kind.make.has_pairs else "rdp"

    def epsilon(self, delta: float | str, method: str | None = None) -> Answer:
        return self.node.epsilon(
            delta=delta, method=method or self.method, adjacency=self.adjacency
        )

    def delta(self, epsilon: float | str, method: str | None = None) -> Answer:
        return self.node.delta(
            epsilon=epsilon, method=method or self.method, adjacency=self.adjacency
        )

    def hit(self, steps: int) -> Drawn:
        """This many steps, and a rate at which a hit is expected among them (see `usual`)."""
        rate = max(self.rate, Fraction(1, steps)) if steps > 1 else self.rate
        return self.but(steps=steps, rate=rate)

    def __repr__(self) -> str:
        return f"({self.node!r}).under('{self.adjacency}')"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis prints a failing example: so that it can be pasted."""
        printer.text(repr(self))


@dataclass(frozen=True, repr=False)
class Combination:
    """One cell of the product."""

    kind: Kind
    sampler: type[Sampler] | None
    adjacency: Adjacency

    def __str__(self) -> str:
        sampled = "all" if self.sampler is None else self.sampler.kind
        return f"{self.kind}-{sampled}-{self.adjacency}"

    __repr__ = __str__

    @property
    def offered(self) -> bool:
        """Whether it has an answer; the others are refused."""
        if self.sampler is None:
            return True
        return self.kind.make.has_pairs and (self.sampler.fixed_adjacency in (None, self.adjacency))

    @property
    def ordinary(self) -> bool:
        """Whether the ordinary run has it; densities take half a second a question."""
        return str(self.kind) != "custom-densities" or self.sampler is not dp.WithoutReplacement

    @property
    def exact(self) -> bool:
        """Whether the dominating pair is realised, so that the bracket is as narrow as rounding."""
        pairs = _pairs(self)
        return pairs is not None and pairs[1] is None

    def plans(self, *, common: bool = False) -> st.SearchStrategy[Drawn]:
        """Plans of this cell; `common`: without rare hits (T q >= 1 or T = 1), as users' are.

        Rare hits can take seconds each, so only a long search draws them here; in the ordinary run
        tests/golden has a hundred of them.
        """
        drawn = drawn_plan(self)
        if SEARCH and not common:
            return drawn
        return drawn.filter(usual)


@st.composite
def drawn_plan(draw: st.DrawFn, cell: Combination) -> Drawn:
    rate = draw(rates) if cell.sampler else Fraction(1)
    values, count = draw(cell.kind.values()), draw(steps)
    if cell.sampler and not SEARCH:
        count = min(count, cell.kind.most_steps)
    return Drawn(cell.kind, cell.sampler, cell.adjacency, values, rate, count)


CELLS = tuple(
    Combination(kind, sampler, adjacency)
    for kind in MECHANISMS
    for sampler in SAMPLERS
    for adjacency in Adjacency
)
OFFERED = tuple(cell for cell in CELLS if cell.offered)


@functools.cache
def _pairs(cell: Combination) -> tuple[object, object] | None:
    """The dominating pairs of this cell at one point; None where there are none."""
    if not cell.kind.make.has_pairs:
        return None
    bare: Any = cell.kind(**{name: Fraction(1, 2) for name in cell.kind.parameters})
    leaf = bare if cell.sampler is None else cell.sampler(Fraction(3, 10))(bare)
    pairs = leaf.pairs(cell.adjacency)
    return pairs.upper, pairs.lower


@functools.cache
def repeated(cell: Combination) -> Combination | None:
    """The first cell whose answers this one repeats to the last digit; None for a cell of its own.

    So it is where both have the same pairs: without sampling, noise per sensitivity doesn't know
    the adjacency; zeroing out is removing; some pairs are one for all samples under replace-one; a
    local randomiser is any pure DP. `test_catalogue.py` holds such cells to identical answers, and
    all other laws skip the repeats.
    """
    for other in OFFERED:
        if other == cell:
            return None
        same_kind = cell.kind is other.kind and cell.sampler is other.sampler
        if _pairs(cell) == _pairs(other) and (_pairs(cell) is not None or same_kind):
            return other
    return None


DISTINCT = tuple(cell for cell in OFFERED if repeated(cell) is None and (SEARCH or cell.ordinary))
PAIRED = tuple(cell for cell in DISTINCT if cell.kind.make.has_pairs)
COMPOSED = tuple(c for c in DISTINCT if SEARCH or c.sampler is None or c.kind.most_steps > 1)
EXACT = tuple(cell for cell in PAIRED if cell.exact)


def usual(plan: Drawn) -> bool:
    """Not a plan of rare hits: more than one step, and fewer than one hit expected in all."""
    return plan.steps == 1 or plan.steps * plan.rate >= 1


def short(value: float | Fraction) -> Fraction:
    """Four digits: a failing example should be readable."""
    number = exact(f"{float(value):.4g}")
    assert number is not None
    return number


def numbers(domain: Real, least: float = 0.0) -> st.SearchStrategy[Fraction]:
    """Positive values of a domain: its own random draws (which hug both ends), and its corners."""
    seeds = st.integers(0, 2**32 - 1)
    drawn = seeds.map(lambda seed: short(draw(domain, random.Random(seed))))
    low, high = map(float, window(domain))
    even = st.integers(0, 10**6).map(lambda step: low + (high - low) * step / 10**6)
    return (drawn | (even | st.floats(low, high, allow_subnormal=False)).map(short)).filter(
        lambda value: value > 0 and value >= least and domain.contains(value) and fits(value)
    )


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """10^x, x uniform, to four digits."""
    return st.floats(low, high).map(lambda x: float(f"{10**x:.4g}"))


rates = numbers(RATE, 1e-8) | powers(-4, 0).map(short)
steps = st.just(1) | st.integers(2, 20) | powers(0, 8).map(int)
deltas = powers(-14, math.log10(0.3)) | powers(-300, math.log10(0.3))
epsilons = powers(-3, 2)


def over(cells: tuple[Combination, ...]) -> pytest.MarkDecorator:
    """Run a law on each of these cells."""
    return pytest.mark.parametrize("cell", cells, ids=str)


def law(*, share: float = 0.04, **strategies: Any) -> Callable[[Callable[..., None]], Any]:
    """A property, tried on a share of the profile's examples, each within the time limit."""

    def decorate(check: Callable[..., None]) -> Any:
        @functools.wraps(check)
        def timed(**arguments: Any) -> None:
            if not SEARCH:
                with limited():
                    check(**arguments)
                return
            from tests.laws import kept  # which reads the catalogue

            with kept.noted(check, arguments) as noted, limited():
                check(**noted)

        assert settings.default is not None
        count = max(2, round(share * settings.default.max_examples))
        quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
        # an example is a few short numbers: shrinking it would take longer than the law itself
        phases = [phase for phase in settings.default.phases if phase is not Phase.shrink]
        chosen = settings(
            max_examples=count,
            suppress_health_check=quiet,
            phases=phases,
            **({} if SEARCH else SAME),
        )
        return chosen(given(**strategies)(timed))

    return decorate


def ends(answer: Answer) -> tuple[float, float]:
    """What is certain: the bracket, with the trivial ends where there is none."""
    lower = 0.0 if answer.lower is None else answer.lower
    return lower, math.inf if answer.upper is None else answer.upper


def relative_width(answer: Answer) -> float:
    lower, upper = ends(answer)
    if upper == lower:
        return 0.0
    return (upper - lower) / answer.value if answer.value > 0.0 else math.inf


def converged(*answers: Answer) -> bool:
    """Known to 1e-9, by a proof or by a stated error; a bracket is as narrow as it says itself."""
    known = (Strength.PROVED, Strength.CONVERGED)
    return all(answer.strength in known for answer in answers)


def not_more(smaller: Answer, larger: Answer) -> None:
    """The first is at most the second: as far as is certain, and between converged values to 1e-8."""
    assert ends(smaller)[0] <= ends(larger)[1], f"{smaller} is above {larger}"
    if converged(smaller, larger) and smaller.side == larger.side:
        for mine, theirs in ((smaller.value, larger.value), (smaller.upper, larger.upper)):
            assert mine is not None
            assert theirs is not None
            assert mine <= theirs * (1 + 1e-8) + 1e-300, f"{smaller} is above {larger}"


def same(first: Answer, second: Answer) -> None:
    """Both brackets hold the same number."""
    not_more(first, second)
    not_more(second, first)


def total(parts: Sequence[Node]) -> Node:
    """The plans one after the other, as Python's own `sum` composes them."""
    plan = sum(parts)
    assert isinstance(plan, Node)
    return plan


def leaves(parent: type[Any]) -> Iterator[type[Any]]:
    """All classes below one, itself included."""
    yield parent
    for child in parent.__subclasses__():
        yield from leaves(child)
