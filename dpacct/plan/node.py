"""Node: what every part of a plan can do; Leaf: a single release; and plans as JSON, written and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar, overload

from dpacct.declare.domain import EFFORT, STEPS, did_you_mean
from dpacct.declare.number import Number, shown
from dpacct.display import card
from dpacct.errors import InvalidArgument, Unsupported
from dpacct.vocabulary import Adjacency, Assumption, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from dpacct.answer import Answer, Answers
    from dpacct.citations import Citation
    from dpacct.pld.pair import PairMoments, Pairs, StatedPairs
    from dpacct.pld.stable import Floats

    Numbers: TypeAlias = list[Any] | tuple[Any, ...] | NDArray[Any]

SCHEMA = 1
"""Version of the JSON form of a plan."""
Fields = dict[str, Any]
READERS: dict[str, Callable[[Fields], Node]] = {}
"""Reads each kind of node from its fields, by its kind in JSON."""

MAX_DEPTH = 120
"""Deepest nesting of a plan: far beyond any real one, and shallow enough for Python's recursion."""
_Word = TypeVar("_Word", Adjacency, Unit)


def know(node: Node, facts: Facts) -> None:
    """Set the facts of a frozen node."""
    object.__setattr__(node, "facts", facts)


def agree(name: str, first: _Word | None, second: _Word | None) -> _Word | None:
    """The value that two optional values agree on; raises if they differ."""
    if first is not None and second is not None and first is not second:
        message = f"{name} must be the same throughout a plan, got both {first} and {second}"
        raise InvalidArgument(message, argument=name)
    return first if second is None else second


class Facts(NamedTuple):
    """Facts about a node that are known when it is built."""

    depth: int = 1
    total: int = 1  # releases, each repetition counted
    declared: Adjacency | None = None  # with `under`
    fixed: Adjacency | None = None  # the only one its sampling allows
    unit: Unit | None = None  # declared with `under`
    group: int = 1  # units that change together

    def join(self, other: Facts) -> Facts:
        """The facts of two plans together; `InvalidArgument` where they contradict each other."""
        return Facts(
            max(self.depth, other.depth),
            self.total + other.total,
            agree("adjacency", self.declared, other.declared),
            agree("adjacency", self.fixed, other.fixed),
            agree("unit", self.unit, other.unit),
            max(self.group, other.group),
        ).checked()

    def above(self, **changed: Any) -> Facts:
        """The facts of a node around this one."""
        return self._replace(depth=self.depth + 1, **changed).checked()

    def checked(self) -> Facts:
        """The facts, if they are consistent."""
        agree("adjacency", self.declared, self.fixed)
        if not 1 <= self.total <= int(STEPS.upper):
            STEPS.check("steps", self.total)
        if self.depth > MAX_DEPTH:
            message = f"a plan must be at most {MAX_DEPTH} levels deep, got {self.depth}"
            raise InvalidArgument(message, argument="plan")
        return self


class Node(ABC):
    """A plan, or a part of one: built from mechanisms, samplers, `+`, `*` and `under`."""

    __array_ufunc__ = None  # a NumPy integer times a node is a repetition, not an array
    kind: ClassVar[str]
    # whether noise is drawn as real numbers: their last bits, as floats, tell neighbours apart (Mironov 2012)
    from_reals: ClassVar[bool] = True
    facts: Facts
    binds: ClassVar[int] = 3  # how tightly the printed form holds: 3 a call, 2 a product, 1 a sum

    def __init_subclass__(cls, kind: str | None = None, **more: Any) -> None:
        """Register the class under its name in JSON."""
        super().__init_subclass__(**more)
        if kind is not None:
            if READERS.setdefault(kind, cls.from_fields) != cls.from_fields:
                raise InvalidArgument(f"the kind of node {kind!r} is taken", argument="kind")
            cls.kind = kind

    @abstractmethod
    def gather(self) -> Mapping[Leaf, int]:
        """Each leaf, and how often it is released; `releases` keeps the result."""

    @property
    def inside(self) -> tuple[Node, ...]:
        """The plans that this one is built around."""
        return ()

    @abstractmethod
    def fields(self) -> Fields:
        """The node's fields, as JSON values."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Fields) -> Node:
        """The node made of these values, checked like arguments; removes the keys that it reads."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a plan cannot be changed: {name} stays as it is")

    # --- building

    def __mul__(self, steps: int) -> Node:
        """Repeat: `steps` independent releases, each on a fresh sample; a whole number to 10^15."""
        from dpacct.plan.combine import repeated

        return repeated(self, steps)

    __rmul__ = __mul__

    def __add__(self, other: Node) -> Node:
        """Compose: this plan, then the other; the second may depend on what the first released."""
        from dpacct.plan.combine import composed

        return composed(self, other) if isinstance(other, Node) else NotImplemented

    def __radd__(self, other: object) -> Node:
        """Let `sum(plans)` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def under(self, adjacency: Adjacency | str | None = None, *, unit: Unit | str = "") -> Node:
        """Return the plan with its adjacency (and unit of privacy) declared.

        Raises `InvalidArgument` if another one was declared, or the sampling fixes another one.

        >>> import dpacct as dp
        >>> dp.Gaussian(sigma=1).under("replace-one", unit="client").unit
        <Unit.CLIENT: 'client'>
        """
        from dpacct.plan.combine import Under

        word = None if adjacency is None else Adjacency.parse(adjacency, argument="adjacency")
        whose = Unit.parse(unit, argument="unit") if unit else None
        facts = self.facts
        if word in (None, facts.declared) and whose in (None, facts.unit):
            return self
        return Under(self, word, whose)

    @staticmethod
    def checked(value: object, who: str = "plan must be") -> Node:
        """The plan that the value is; raises `InvalidArgument` for anything else."""
        if isinstance(value, Node):
            return value
        message = f"{who} a plan such as Gaussian(sigma=1), got {shown(value)}"
        raise InvalidArgument(message, argument="plan")

    # --- reading

    @cached_property
    def gathered(self) -> tuple[tuple[Leaf, int], ...]:
        """The result of `gather`, in order."""
        return tuple(self.gather().items())

    def releases(self) -> tuple[tuple[Leaf, int], ...]:
        """The plan as a multiset: (leaf, count) pairs, equal leaves merged, in order of appearance.

        Raises `Unsupported` for a composition under one sample that has no closed form.

        >>> import dpacct as dp
        >>> (2 * (dp.Gaussian(sigma=1) * 3 + dp.Laplace(b=2))).releases()
        ((Gaussian(sigma=1), 6), (Laplace(b=2), 2))
        """
        return self.gathered

    def equivalent(self, other: Node) -> bool:
        """Return whether both plans release the same leaves equally often, in any order.

        >>> import dpacct as dp
        >>> a, b = dp.Gaussian(sigma=1), dp.Laplace(b=1)
        >>> (a + b).equivalent(b + a)
        True
        """
        return dict(self.releases()) == dict(other.releases())

    @property
    def fixed_adjacency(self) -> Adjacency | None:
        """The only adjacency the plan's sampling allows; None where any is possible."""
        return self.facts.fixed

    @property
    def unit(self) -> Unit:
        """The unit of the plan, as declared with `under`; a record unless declared."""
        return self.facts.unit or Unit.RECORD

    def unsampled(self) -> Node:
        """The plan where nothing is left out of any sample, for what if; raises `Unsupported`.

        >>> import dpacct as dp
        >>> (dp.Poisson("0.1")(dp.Laplace(b=3)) * 5).unsampled()
        Laplace(b=3) * 5
        """
        return self._of((leaf.unsampled(), n) for leaf, n in self.releases())

    def weighted(self, factor: int) -> Node:
        """The plan for units with `factor` times the sensitivity; raises `Unsupported`.

        >>> import dpacct as dp
        >>> (dp.Laplace(b=3) * 5).weighted(2)
        Laplace(b=1.5) * 5
        """
        return self._of((leaf.weighted(factor), n) for leaf, n in self.releases())

    def _of(self, parts: Iterable[tuple[Node, int]]) -> Node:
        whole: Node = sum(part * n for part, n in parts)  # type: ignore[assignment]
        return whole.under(self.facts.declared, unit=self.facts.unit or "")

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The assumptions of an answer about this plan."""
        by_leaf = [leaf.assumptions(adjacency) for leaf, _ in self.releases()]
        return tuple(dict.fromkeys(assumption for some in by_leaf for assumption in some))

    def citations(self) -> tuple[Citation, ...]:
        """The papers that introduce the plan's mechanisms and samplers."""
        by_leaf = [leaf.citations() for leaf, _ in self.releases()]
        return tuple(dict.fromkeys(citation for some in by_leaf for citation in some))

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values; numbers are exact text. `from_dict` reads it back.

        >>> import dpacct as dp
        >>> dp.Gaussian(sigma="1.1").to_dict()["sigma"]
        '1.1'
        """
        return {"schema": SCHEMA, "node": self.kind, **self.fields()}

    def to_json(self, *, indent: int | None = None) -> str:
        """The plan as JSON text; `from_json` reads it back.

        >>> import dpacct as dp
        >>> dp.from_json(dp.Gaussian(sigma="1.1").to_json())
        Gaussian(sigma=1.1)
        """
        import json

        return json.dumps(self.to_dict(), indent=indent)

    def to_toml(self) -> str:
        """The plan as a plan file, which `dpacct compose`, `report` and `curve` read.

        >>> import dpacct as dp
        >>> print((dp.Poisson("0.01")(dp.Gaussian(sigma=1.1)) * 1000).to_toml(), end="")
        [plan]
        schema = 1
        node = "repeat"
        steps = 1000
        of = {node = "poisson", rate = "0.01", of = {node = "gaussian", sigma = "1.1"}}
        """
        lines = (f"{key} = {as_toml(value)}\n" for key, value in self.to_dict().items())
        return "".join(["[plan]\n", *lines])

    # --- questions, answered by compose (the one edge that points up)

    @overload
    def epsilon(
        self,
        delta: Number,
        *,
        method: str = ...,
        effort: Number = ...,
        adjacency: Adjacency | str | None = ...,
    ) -> Answer: ...
    @overload
    def epsilon(
        self,
        delta: Numbers,
        *,
        method: str = ...,
        effort: Number = ...,
        adjacency: Adjacency | str | None = ...,
    ) -> Answers: ...
    def epsilon(
        self,
        delta: Any,
        *,
        method: str = "auto",
        effort: Number = EFFORT,
        adjacency: Adjacency | str | None = None,
    ) -> Any:
        """The smallest epsilon for which the plan is (epsilon, delta)-DP.

        `delta` lies in [0, 1); many of them, in a list or array, give `Answers`. At 0 the largest losses of
        the releases are added up, and where one has no end epsilon is infinite. `method` is "auto",
        "exact", "rdp", "clt", ... or a theorem's id; auto is a proof that costs at most `effort` seconds,
        as estimated beforehand, else the strongest quick method. Raises `InvalidArgument` out of range,
        `Unsupported` where a method does not apply.

        >>> import dpacct as dp
        >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
        >>> f"{run.epsilon(delta=1e-5).value:.11f}"
        '1.51536191666'
        """
        from dpacct.answer.ask import Epsilon, ask_at

        return ask_at(Epsilon, delta, self, method=method, effort=effort, adjacency=adjacency)

    @overload
    def delta(
        self,
        epsilon: Number,
        *,
        method: str = ...,
        effort: Number = ...,
        adjacency: Adjacency | str | None = ...,
    ) -> Answer: ...
    @overload
    def delta(
        self,
        epsilon: Numbers,
        *,
        method: str = ...,
        effort: Number = ...,
        adjacency: Adjacency | str | None = ...,
    ) -> Answers: ...
    def delta(
        self,
        epsilon: Any,
        *,
        method: str = "auto",
        effort: Number = EFFORT,
        adjacency: Adjacency | str | None = None,
    ) -> Any:
        """The smallest delta for which the plan is (epsilon, delta)-DP; `epsilon` >= 0, or an array.

        Raises `InvalidArgument`, `Unsupported` where no method knows the plan, `NotCertified`.

        >>> import dpacct as dp
        >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
        >>> f"{run.delta(epsilon=1.5).value:.9e}"
        '1.153786735e-05'
        """
        from dpacct.answer.ask import Delta, ask_at

        return ask_at(Delta, epsilon, self, method=method, effort=effort, adjacency=adjacency)

    @property
    def proved_first(self) -> bool:
        """Return whether a proof is looked for also where the plan knows something sharper by itself."""
        return False

    def sharper(
        self, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """A sharper answer than by composition, at this epsilon or delta; None if there is none."""
        return None

    def sharper_repeated(
        self, times: int, quantity: str, at: Fraction, method: str, adjacency: Adjacency | None
    ) -> Answer | None:
        """A sharper answer for `times` independent repetitions; None if there is none."""
        return None

    def _repr_html_(self) -> str:
        """Show the plan in a notebook, with its adjacency and unit."""
        facts = {
            "releases": f"{self.facts.total:,}",
            "adjacency": self.facts.declared or self.facts.fixed or "not said: add-remove",
            "unit": self.facts.unit or "not said: record",
        }
        return card(repr(self), facts)

    def rdp(
        self, order: ArrayLike, *, adjacency: Adjacency | str | None = None
    ) -> float | NDArray[np.floating[Any]]:
        """Renyi DP at any real order above 1; an array gives an array.

        Raises `InvalidArgument` for an order of 1 or less, and `Unsupported` where none is known.

        >>> import dpacct as dp
        >>> (dp.Gaussian(sigma=2) * 8).rdp(3)
        3.0
        """
        from dpacct.plan import curve

        return curve.rdp(self, order, adjacency=adjacency)

    def profile(
        self, epsilons: ArrayLike, *, adjacency: Adjacency | str | None = None
    ) -> NDArray[np.floating[Any]]:
        """The privacy profile: the upper end of delta at each of many epsilons >= 0.

        Raises `InvalidArgument`, and `Unsupported` where no pair is known.

        >>> import dpacct as dp
        >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
        >>> [f"{delta:.3e}" for delta in run.profile([0, 1, 2])]
        ['1.403e-01', '7.669e-04', '7.866e-08']
        """
        from dpacct.plan import curve

        return curve.profile(self, epsilons, adjacency=adjacency)

    def tradeoff(
        self, alpha: ArrayLike, *, adjacency: Adjacency | str | None = None
    ) -> float | NDArray[np.floating[Any]]:
        """Least type II error of any test with type I error alpha in [0, 1], on the safe side.

        Raises `InvalidArgument`, and `Unsupported` where no pair is known.

        >>> import dpacct as dp
        >>> f"{dp.Gaussian(sigma=1).tradeoff(0.05):.6f}"
        '0.740489'
        """
        from dpacct.plan import curve

        return curve.tradeoff(self, alpha, adjacency=adjacency)

    def compare(
        self,
        *,
        delta: Number | None = None,
        epsilon: Number | None = None,
        adjacency: Adjacency | str | None = None,
    ) -> tuple[Answer, ...]:
        """Every method that applies, the exact one first; give `delta` or `epsilon`.

        Raises `InvalidArgument`.

        >>> import dpacct as dp
        >>> [answer.method for answer in dp.Gaussian(sigma=1).compare(delta=1e-5)]
        ['exact', 'bracket', 'balle_wang.theorem8', 'rdp', 'rdp-mironov', 'clt']
        """
        from dpacct.answer.ask import compare

        return compare(self, delta=delta, epsilon=epsilon, adjacency=adjacency)


class Around(Node):
    """A plan around another one."""

    node: Node

    @property
    def inside(self) -> tuple[Node, ...]:
        """The other one."""
        return (self.node,)


class Leaf(Node):
    """A single release: the unit of accounting."""

    has_pairs: ClassVar[bool] = True  # False where only a Renyi curve is known
    amplified: ClassVar[bool] = True  # False where a sample before it would be misread
    loose: ClassVar[bool] = False  # whether its Renyi curve may say more than its dominating pair
    counts_units: bool = False  # whether its pair takes the number of units as fixed

    def gather(self) -> Mapping[Leaf, int]:
        """The leaf itself, with count 1."""
        return {self: 1}

    @abstractmethod
    def pairs(self, adjacency: Adjacency) -> Pairs:
        """The dominating pairs of the release; raises `Unsupported` where none is known."""

    def stated_parts(self, adjacency: Adjacency) -> Sequence[tuple[StatedPairs, int]]:
        """Return the parts of one release in exact numbers; raises `Unsupported` where no proof knows it."""
        message = f"method 'certified' has no proof for a release of kind {self.kind!r}"
        raise Unsupported(message, argument="method")

    def repeated(self, count: int, adjacency: Adjacency) -> Sequence[tuple[Pairs, int]]:
        """The pairs that dominate `count` adaptively chosen releases, each with its count."""
        return [(self.pairs(adjacency), count)]

    def direct_profile(self, epsilons: Floats, adjacency: Adjacency) -> Floats | None:
        """Log delta, or above it, at each epsilon >= 0, without a composition; None if that is not known."""
        return None

    def moments(self, adjacency: Adjacency) -> tuple[PairMoments, ...]:
        """Bounds of the moments of one release's loss, one per direction."""
        from dpacct.pld.pair import PairMoments

        if not self.has_pairs:
            return (PairMoments(lambda tilts: tilts * self.renyi(tilts + 1.0, adjacency)),)
        return tuple(
            PairMoments(source.log_moments, source.infinite, source.ceiling)
            for source in self.pairs(adjacency).upper
        )

    def renyi(
        self, orders: NDArray[np.floating[Any]], adjacency: Adjacency
    ) -> NDArray[np.floating[Any]]:
        """Renyi DP at these orders, for a leaf that has nothing better (`has_pairs` is False)."""
        raise Unsupported(f"{self} gives its Renyi DP through its pairs", argument="method")

    @abstractmethod
    def in_sample(self, sampler: Any) -> Leaf:
        """This release inside a sample; raises `Unsupported` where that has no known pair."""

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction | None:
        """The epsilon at which one release is DP with delta 0; None where none is known."""
        return None

    def largest_loss(self, adjacency: Adjacency) -> Fraction | None:
        """The largest finite loss of one release, exactly; None if unknown."""
        return None

    @property
    def promises(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The (epsilon, delta) guarantees stated for a release; usually none."""
        return ()

    def grouped(self, size: int) -> Leaf | None:
        """This release for a group of `size` units; None if unknown."""
        return None

    def unsampled(self) -> Node:
        """The release itself; what is sampled says otherwise."""
        return self

    def weighted(self, factor: int) -> Leaf:
        """This release for a unit with `factor` times the sensitivity."""
        raise Unsupported(f"{self.kind} has no scale to divide", argument="plan")

    def fused(self, releases: tuple[tuple[Leaf, int], ...]) -> Leaf | None:
        """One leaf worth all of `releases` (this being the first) together, None if unknown."""
        return None


def resolve_adjacency(node: Node, adjacency: Adjacency | str | None = None) -> Adjacency:
    """The adjacency a question is about: the one asked, else declared, else fixed, else add-remove.

    Raises `InvalidArgument` if the plan declares another one, or its sampling fixes another one.
    """
    facts = node.facts
    if adjacency is None:
        return facts.declared or facts.fixed or Adjacency.ADD_REMOVE
    asked = Adjacency.parse(adjacency, argument="adjacency")
    for needed, why in ((facts.declared, "the plan declares"), (facts.fixed, "its sampling needs")):
        if needed is not None and needed is not asked:
            message = f"adjacency must be {needed}, which {why}, got {asked}"
            raise InvalidArgument(message, argument="adjacency")
    return asked


# --- plans as JSON, versioned: numbers are exact text, every key is checked, nothing is guessed
#
# {"schema": 1, "node": "repeat", "steps": 1000, "of":
#     {"node": "poisson", "rate": "0.01", "of": {"node": "gaussian", "sigma": "1.1"}}}


def nested(node: Node) -> Fields:
    """A node inside another, as JSON values."""
    return {"node": node.kind, **node.fields()}


def take(fields: Fields, name: str) -> Any:
    """Remove and return a required field."""
    if name not in fields:
        raise _wrong(f"a plan's node must have the key {name!r}, got {shown(sorted(fields))}")
    return fields.pop(name)


def read(data: Any) -> Node:
    """The node that nested JSON values describe."""
    if not isinstance(data, dict):
        raise _wrong(f"a node of a plan must be an object with the key 'node', got {shown(data)}")
    fields = dict(data)
    kind = take(fields, "node")
    if not isinstance(kind, str) or kind not in READERS:
        _collect()
    if not isinstance(kind, str) or kind not in READERS:
        import textwrap

        listed = textwrap.shorten(", ".join(sorted(READERS)), 200, placeholder=" ...")
        hint = did_you_mean(str(kind), READERS)
        raise _wrong(f"node must be one of {listed}, got {shown(kind)}{hint}")
    node = READERS[kind](fields)
    if fields:
        raise _wrong(f"a {kind} node has no key {shown(min(fields, key=str))}")
    return node


def from_dict(data: Any) -> Node:
    """The plan that `Node.to_dict` wrote.

    Raises `InvalidArgument` for another schema, an unknown node or key, and any bad value.

    >>> import dpacct as dp
    >>> dp.from_dict({"schema": 1, "node": "gaussian", "sigma": "1.1"})
    Gaussian(sigma=1.1)
    """
    if not isinstance(data, dict) or "schema" not in data:
        raise _wrong(
            f"a plan must be an object with the keys 'schema' and 'node', got {shown(data)}"
        )
    fields = dict(data)
    schema = fields.pop("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        newer = isinstance(schema, int) and schema > SCHEMA
        hint = " (a newer dpacct wrote it: upgrade to read it)" if newer else ""
        raise _wrong(f"schema of a plan must be {SCHEMA}, got {schema!r:.60}{hint}", "schema")
    try:
        return read(fields)
    except RecursionError:
        raise _wrong(f"a plan must be at most {MAX_DEPTH} levels deep") from None


def from_json(text: str | bytes) -> Node:
    """The plan that `Node.to_json` wrote. Numbers keep every digit; a key given twice is refused.

    Raises `InvalidArgument` for text that is no plan.

    >>> import dpacct as dp
    >>> plan = dp.Poisson("0.01")(dp.Gaussian(sigma=1.1)) * 1000
    >>> dp.from_json(plan.to_json()) == plan
    True
    """
    try:
        import json

        fields = json.loads(text, parse_float=str, object_pairs_hook=_once)
    except (ValueError, TypeError, RecursionError) as wrong:
        if isinstance(wrong, InvalidArgument):
            raise
        raise _wrong(f"a plan must be JSON text, got {shown(text)}: {shown(str(wrong))}") from None
    return from_dict(fields)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a key given twice is refused."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _wrong(f"a key of a plan must be given once, got {shown(twice)} twice")
    return result


def _collect() -> None:
    """Import the packages that define node kinds, and plug-ins, which register themselves."""
    import dpacct.mechanisms
    import dpacct.plan.combine
    import dpacct.plan.parallel
    import dpacct.plan.samplers
    import dpacct.plan.selection
    import dpacct.shuffling.shuffle
    import dpacct.voting.aggregator

    dpacct.mechanisms.load_plugins()


def _wrong(message: str, argument: str = "plan") -> InvalidArgument:
    return InvalidArgument(message, argument=argument)


def as_toml(value: Any) -> str:
    """A value of a plan's JSON in one line of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    import json

    return json.dumps(value, ensure_ascii=False)
