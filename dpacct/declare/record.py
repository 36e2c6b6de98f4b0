"""Parameter and Record: what is given to a mechanism, a sampler or an algorithm is declared once.

A `Record` is a class whose body lists `Parameter`s. From the list follow the constructor and its
checks, `repr`, equality, the JSON fields, and what other readers need to know of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
    overload,
)

from dpacct.declare.domain import Domain, did_you_mean, one_of
from dpacct.declare.number import Number, literal, text
from dpacct.errors import DpacctError, InvalidArgument

if TYPE_CHECKING:
    import inspect

T = TypeVar("T")
Call: TypeAlias = Callable[[str], str]
"""Maps a parameter's name to what the user typed: rate in Python, --rate on the command line."""


class Usage(InvalidArgument):
    """Something must be said and was not, or is not known here."""

    kind = "usage"


class Exclusive(InvalidArgument):
    """Two things that do not go together."""

    kind = "exclusive-options"


class Parameter(Generic[T]):
    """One declared parameter: its domain, meaning, symbol and default.

    domain: what it may be.            means: what it is, in one line without a full stop.
    symbol: as papers write it.        default: what holds where it is not given; `...` if it must be.
    alias: its name for users, where the attribute has another (`PureDP(epsilon=1).eps0`); `name` is either.
    kw_only: False for the one that may be given by position.
    """

    __slots__ = ("alias", "attribute", "default", "domain", "kw_only", "means", "name", "symbol")

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
        self.alias, self.kw_only, self.attribute, self.name = alias, kw_only, "", alias

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute, self.name = name, self.alias or name

    @property
    def required(self) -> bool:
        """Return whether there is no default."""
        return self.default is ...

    def check(self, name: str, value: object) -> T:
        """The value, made exact, if it lies in the domain."""
        return self.domain.check(name, value)

    def but(self, **changed: Any) -> Parameter[Any]:
        """A copy of the parameter with some settings changed."""
        kept: dict[str, Any] = {"domain": self.domain, "means": self.means, "symbol": self.symbol}
        kept |= {"default": self.default, "alias": self.alias, "kw_only": self.kw_only}
        made: Parameter[Any] = Parameter(**(kept | changed))
        made.__set_name__(type(self), self.attribute)
        return made

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
        from inspect import Parameter as Argument
        from inspect import Signature

        made = []
        for name, each in owner.parameters.items():
            kind = Argument.KEYWORD_ONLY if each.kw_only else Argument.POSITIONAL_OR_KEYWORD
            default = Argument.empty if each.required else each.default
            made.append(Argument(name, kind, default=default))
        return Signature(made)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Parameter,))
class Record:
    """Base of all that is declared: checked, exact, and never changed.

    `ways` says which parameters go together: "sigma | noise_multiplier clip?" is two ways, the second
    with or without a clip; after a comma stand others, independent of those; "| threshold sigma" is both
    or neither. Without it all that have no default must be given. None is as good as nothing: the default
    holds.
    """

    parameters: ClassVar[Mapping[str, Parameter[Any]]] = {}
    """All parameters in order, by the names that users type."""
    ways: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """A short description: Gaussian noise."""
    __signature__ = _Signature()
    _groups: ClassVar[tuple[_Fits, ...]] = ()
    _known_to_fit: ClassVar[set[frozenset[str]]] = set()  # combinations that were found to fit

    _reads: ClassVar[tuple[tuple[str, str, Callable[[str, object], Any], Any], ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        listed = [value for value in vars(cls).values() if isinstance(value, Parameter)]
        cls.parameters = {**cls.parameters, **{each.name: each for each in listed}}
        ways = cls.ways or " ".join(
            name if each.required else f"{name}?" for name, each in cls.parameters.items()
        )
        cls._groups = tuple(_read_ways(group) for group in ways.split(","))
        cls._known_to_fit = set()
        cls._reads = tuple(
            (name, each.attribute, each.domain.check, None if each.required else each.default)
            for name, each in cls.parameters.items()
        )

    def __init__(self, *first: Any, **values: Any) -> None:
        self._fill(self._placed(first, values) if first else values, str)

    @classmethod
    def read(cls, values: Mapping[str, Any], call: Call) -> Self:
        """A record from typed values, whose parameters may have other names there."""
        made = cls.__new__(cls)
        made._fill(values, call)
        return made

    def _fill(self, values: Mapping[str, Any], call: Call) -> None:
        names = frozenset([name for name, value in values.items() if value is not None])
        if names not in self._known_to_fit:
            self._check_combination(names, values, call)
            self._known_to_fit.add(names)
        kept = self.__dict__
        for name, attribute, check, default in self._reads:
            value = values.get(name)
            kept[attribute] = default if value is None else check(call(name), value)
        wrong = self._complaint()
        if wrong is not None:  # and calls its argument as it was typed
            argument, message = wrong.argument or "", wrong.message
            if argument and message.startswith(argument):
                message = call(argument) + message[len(argument) :]
            raise type(wrong)(message, argument=call(argument) if argument else None)

    def _complaint(self) -> DpacctError | None:
        """Return an error if values that are each in range do not go together."""
        return None

    def but(self, **changed: Any) -> Self:
        """A copy of the record with some values changed."""
        return type(self)(**{**self.settings, **changed})

    @classmethod
    def fits(cls, names: Iterable[str]) -> bool:
        """Return whether these parameters make a complete specification."""
        stated = frozenset(names)
        return stated <= cls.parameters.keys() and all(
            group.fit(stated & group.names) for group in cls._groups
        )

    def _placed(self, first: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
        """The values with those that were given by position."""
        names = [name for name, parameter in self.parameters.items() if not parameter.kw_only]
        if len(first) > len(names) or names[0] in values:
            takes = f"takes {names[0]} by position" if names else "takes nothing by position"
            message = f"{type(self).__name__} {takes}, and the others by name"
            raise InvalidArgument(message, argument=next(iter(self.parameters), None))
        return {**dict(zip(names, first, strict=False)), **values}

    def _check_combination(self, stated: frozenset[str], values: Iterable[str], call: Call) -> None:
        """Refuse what is unknown, what is missing, and what does not go together."""
        who = type(self).__name__
        for name in values:
            if name not in self.parameters:
                hint = did_you_mean(name, self.parameters)
                raise InvalidArgument(f"{who} takes no parameter {name}{hint}", argument=call(name))
        for group in self._groups:
            if not group.fit(stated & group.names):
                raise self._refusal(group, stated & group.names, call)

    def _refusal(self, group: _Fits, stated: frozenset[str], call: Call) -> InvalidArgument:
        """Too much, too little, or what does not go together: one sentence, made from `ways`."""
        means = self.parameters
        typed = [name for name in means if name in stated]
        ways = [[name for name in means if name in allowed] for _, allowed in group.ways]
        leading = [
            next((name for name in way if name in (needed or allowed)), "")
            for way, (needed, allowed) in zip(ways, group.ways, strict=True)
        ]
        if len(ways) > 1 and not typed:
            offer = one_of([f"{call(name)} ({means[name].means})" for name in leading])
            who = type(self).label or type(self).__name__
            return Usage(f"give the {who} by {offer}", argument=call(leading[0]))
        for first, second in combinations(typed, 2):
            if not any({first, second} <= allowed for _, allowed in group.ways):
                culprit = second if first in leading and second not in leading else first
                offer = one_of([" with ".join(map(call, way)) for way in ways])
                text = f"{call(first)} and {call(second)} do not go together: give {offer}"
                return Exclusive(text, argument=call(culprit))
        needed = next(need for need, allowed in group.ways if {*typed} <= allowed)
        lacking = next(name for name in means if name in needed and name not in stated)
        text = f"{call(lacking)} must be given: {means[lacking].means}"
        if len(ways) > 1:
            text = f"{call(typed[0])} needs {call(lacking)} ({means[lacking].means})"
        return Usage(text, argument=call(lacking))

    if not TYPE_CHECKING:  # for a type checker, `Parameter.__set__` says what a constructor accepts

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(f"a {type(self).__name__} cannot be changed")

        def __delattr__(self, name: str) -> None:
            raise AttributeError(f"a {type(self).__name__} cannot be changed")

    @property
    def settings(self) -> dict[str, Any]:
        """The values that there are, by the names that users give them by."""
        kept = self.__dict__
        values = {name: kept[each.attribute] for name, each in self.parameters.items()}
        return {name: value for name, value in values.items() if value is not None}

    def written(self) -> dict[str, Any]:
        """Return the settings as exact text."""
        return {name: text(value) for name, value in self.settings.items()}

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
        inside = ", ".join(f"{name}={_written(value)}" for name, value in self.settings.items())
        return f"{type(self).__name__}({inside})"


class _Fits(NamedTuple):
    """Ways to say one thing: all their names, and for each what is needed and what is allowed."""

    names: frozenset[str]
    ways: tuple[tuple[frozenset[str], frozenset[str]], ...]

    def fit(self, stated: frozenset[str]) -> bool:
        return any(needed <= stated <= allowed for needed, allowed in self.ways)


def _read_ways(group: str) -> _Fits:
    listed = [way.split() for way in group.split("|")]
    ways = tuple(
        (
            frozenset(name for name in way if not name.endswith("?")),
            frozenset(name.rstrip("?") for name in way),
        )
        for way in listed
    )
    return _Fits(frozenset().union(*(allowed for _, allowed in ways)), ways)


def _written(value: object) -> str:
    """A value as a Python literal that reads back."""
    return literal(value) if isinstance(value, Fraction | int) else repr(value)
