"""Parameter and Record: what is given to a mechanism, a sampler or an algorithm is declared once.

A `Record` is a class whose body lists `Parameter`s. From the list follow the constructor and its
checks, `repr`, equality, the JSON fields, and what other readers need to know of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Self,
    TypeVar,
    dataclass_transform,
    overload,
)

from dpacct.declare.domain import Domain, did_you_mean, one_of
from dpacct.declare.number import Number, literal
from dpacct.errors import InvalidArgument

if TYPE_CHECKING:
    import inspect

T = TypeVar("T")


class Parameter(Generic[T]):
    """One parameter.

    domain: what it may be.            means: what it is, in one line without a full stop.
    symbol: as papers write it.        default: what holds where it is not given; `...` if it must be.
    alias: its name for users, where the attribute has another (`PureDP(epsilon=1).eps0`).
    kw_only: False for the one that may be given by position.
    """

    __slots__ = ("alias", "attribute", "default", "domain", "kw_only", "means", "symbol")

    def __init__(
        self,
        domain: Domain[T],
        means: str,
        symbol: str = "",
        *,
        default: Any = ...,
        alias: str = "",
        kw_only: bool = True,
    ) -> None:
        self.domain, self.means, self.symbol, self.default = domain, means, symbol, default
        self.alias, self.kw_only, self.attribute = alias, kw_only, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    @property
    def name(self) -> str:
        """What users call it."""
        return self.alias or self.attribute

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is ...

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: object, owner: type) -> T: ...
    def __get__(self, record: object, owner: type) -> Any:
        """The declaration, of the class; a record's value lies in its `__dict__`, before this."""
        if record is None:
            return self
        raise AttributeError(f"{owner.__name__} has no value of {self.attribute} yet")

    if TYPE_CHECKING:
        # Only so that a type checker knows what a constructor accepts; at run time it would turn every
        # reading of an attribute into a call.
        def __set__(self, record: Any, value: Number | None) -> None:
            raise AttributeError(self.name)


class _Signature:
    """A class's constructor as `help` and editors show it, made where somebody looks."""

    def __get__(self, record: object, owner: type[Record]) -> inspect.Signature:
        if record is not None or not owner.parameters:
            raise AttributeError("__signature__")
        import inspect

        kinds = {
            True: inspect.Parameter.KEYWORD_ONLY,
            False: inspect.Parameter.POSITIONAL_OR_KEYWORD,
        }
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    kinds[each.kw_only],
                    default=inspect.Parameter.empty if each.required else each.default,
                )
                for name, each in owner.parameters.items()
            ]
        )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Parameter,))
class Record:
    """Base of all that is declared: checked, exact, and never changed.

    `ways` says which parameters go together: "sigma | noise_multiplier clip?" is two ways, the second
    with or without a clip. Without it all that have no default must be given. None is as good as
    nothing: the default holds.
    """

    parameters: ClassVar[Mapping[str, Parameter[Any]]] = {}
    """By the names that users give them by, in order."""
    ways: ClassVar[str] = ""
    __signature__ = _Signature()
    _fits: ClassVar[tuple[tuple[frozenset[str], frozenset[str]], ...]] = ()  # (needed, allowed)
    _known_to_fit: ClassVar[set[frozenset[str]]] = set()  # combinations that were found to fit

    _reads: ClassVar[tuple[tuple[str, str, Callable[[str, object], Any], Any], ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        listed = [value for value in vars(cls).values() if isinstance(value, Parameter)]
        cls.parameters = {**cls.parameters, **{each.name: each for each in listed}}
        ways = cls.ways or " ".join(
            name if each.required else f"{name}?" for name, each in cls.parameters.items()
        )
        cls._fits = _read_ways(ways, cls.parameters)
        cls._known_to_fit = set()
        cls._reads = tuple(
            (name, each.attribute, each.domain.check, None if each.required else each.default)
            for name, each in cls.parameters.items()
        )

    def __init__(self, *first: Any, **values: Any) -> None:
        if first:
            values = self._placed(first, values)
        given = frozenset([name for name, value in values.items() if value is not None])
        if given not in self._known_to_fit:
            self._check_combination(given, values)
            self._known_to_fit.add(given)
        kept = self.__dict__
        for name, attribute, check, default in self._reads:
            value = values.get(name)
            kept[attribute] = default if value is None else check(name, value)
        wrong = self._complaint()
        if wrong is not None:
            raise wrong

    def _complaint(self) -> InvalidArgument | None:
        """Why values that are each in range do not go together."""
        return None

    @classmethod
    def fits(cls, names: Iterable[str]) -> bool:
        """Whether these parameters are one whole way to say it."""
        given = frozenset(names)
        return any(needed <= given <= allowed for needed, allowed in cls._fits)

    @classmethod
    def offer(cls) -> str:
        """The ways to say it: "either sigma or noise_multiplier (with clip)"."""
        if len(cls._fits) == 1:
            return " and ".join(name for name in cls.parameters if name in cls._fits[0][0])
        leading = [next(n for n in cls.parameters if n in needed) for needed, _ in cls._fits]
        return _offer(leading, cls._fits)

    def _placed(self, first: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
        """The values with those that were given by position."""
        names = [name for name, parameter in self.parameters.items() if not parameter.kw_only]
        if len(first) > len(names) or names[0] in values:
            takes = f"takes {names[0]} by position" if names else "takes nothing by position"
            told = f"{type(self).__name__} {takes}, and the others by name"
            raise InvalidArgument(told, argument=next(iter(self.parameters), None))
        return {**dict(zip(names, first, strict=False)), **values}

    def _check_combination(self, given: frozenset[str], values: Iterable[str]) -> None:
        """Refuse what is unknown, what is missing, and what does not go together."""
        who = type(self).__name__
        for name in values:
            if name not in self.parameters:
                hint = did_you_mean(name, self.parameters)
                raise InvalidArgument(f"{who} takes no parameter {name}{hint}", argument=name)
        if self.fits(given):
            return
        if len(self._fits) == 1:
            needed, _ = self._fits[0]
            name = next(name for name in self.parameters if name in needed - given)
            raise self.parameters[name].domain.refusal(name, None)
        leading = [next(n for n in self.parameters if n in needed) for needed, _ in self._fits]
        told = f"{who} takes {self.offer()}, got {self._got(given, leading)}"
        stray = [name for name in self.parameters if name in given and name not in leading]
        several = len(given & {*leading}) > 1 or not given
        raise InvalidArgument(told, argument=leading[0] if several or not stray else stray[0])

    def _got(self, given: frozenset[str], leading: list[str]) -> str:
        if not given:
            return "neither" if len(leading) == 2 else "none of them"
        if len(leading) == 2 and given >= {*leading}:
            return "both"
        return " and ".join(name for name in self.parameters if name in given)

    if not TYPE_CHECKING:  # for a type checker, `Parameter.__set__` says what a constructor accepts

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(f"a {type(self).__name__} cannot be changed")

        def __delattr__(self, name: str) -> None:
            raise AttributeError(f"a {type(self).__name__} cannot be changed")

    @property
    def given(self) -> dict[str, Any]:
        """The values that there are, by the names that users give them by."""
        kept = self.__dict__
        values = {name: kept[each.attribute] for name, each in self.parameters.items()}
        return {name: value for name, value in values.items() if value is not None}

    def _values(self) -> tuple[Any, ...]:
        kept = self.__dict__
        return tuple([kept[parameter.attribute] for parameter in self.parameters.values()])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Record):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={_written(value)}" for name, value in self.given.items())
        return f"{type(self).__name__}({inside})"


def _read_ways(
    ways: str, parameters: Iterable[str]
) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """(needed, allowed) of each way; what stands in none of them is always allowed."""
    listed = [way.split() for way in ways.split("|")]
    free = set(parameters) - {name.rstrip("?") for way in listed for name in way}
    return tuple(
        (
            frozenset(name for name in way if not name.endswith("?")),
            frozenset(name.rstrip("?") for name in way) | free,
        )
        for way in listed
    )


def _offer(leading: list[str], fits: Sequence[tuple[frozenset[str], frozenset[str]]]) -> str:
    """either sigma or noise_multiplier (with clip)."""
    offers, shared = [], frozenset[str].intersection(*(allowed for _, allowed in fits))
    for name, (_, allowed) in zip(leading, fits, strict=True):
        beside = sorted(allowed - shared - {name})
        offers.append(f"{name} (with {' and '.join(beside)})" if beside else name)
    return f"{'either' if len(offers) == 2 else 'one of'} {one_of(offers)}"


def _written(value: object) -> str:
    """A value as a Python literal that reads back."""
    return literal(value) if isinstance(value, Fraction | int) else repr(value)
