"""Parameter and Record: what is given to a mechanism, a sampler or an algorithm is declared once.

A `Record` is a class whose body lists `Parameter`s. From the list follow the constructor and its
checks, `repr`, equality, the JSON fields, and what other readers need to know of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
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

    `ways` are different sets of parameters that say the same, of which one is to be given: its first
    parameter, and perhaps the others. What has no default must be given. None is as good as nothing:
    the default holds.
    """

    parameters: ClassVar[Mapping[str, Parameter[Any]]] = {}
    """All parameters in order, by the names that users type."""
    ways: ClassVar[tuple[tuple[str, ...], ...]] = ()
    needing: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Parameters of which one needs the other."""
    label: ClassVar[str] = ""
    """The words for it in a sentence: Gaussian noise."""
    _go_together: ClassVar[set[frozenset[str]]]
    __signature__: ClassVar[Any] = _Signature()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        listed = [value for value in vars(cls).values() if isinstance(value, Parameter)]
        cls.parameters = {**cls.parameters, **{each.name: each for each in listed}}
        cls._go_together = set()

    def __init__(self, *first: Any, **values: Any) -> None:
        self._fill(self._placed(first, values) if first else values, str)

    @classmethod
    def read(cls, values: Mapping[str, Any], call: Call) -> Self:
        """A record from typed values, whose parameters may have other names there."""
        made = cls.__new__(cls)
        made._fill(values, call)
        return made

    def _fill(self, values: Mapping[str, Any], call: Call) -> None:
        given = frozenset([name for name, value in values.items() if value is not None])
        if given not in self._go_together:
            self._check_combination(given, values, call)
            self._go_together.add(given)
        for name, each in self.parameters.items():
            value = values.get(name)
            default = None if each.required else each.default
            self.__dict__[each.attribute] = (
                default if value is None else each.domain.check(call(name), value)
            )
        wrong = self._complaint()
        if wrong is not None:
            raise wrong.named(call(wrong.argument or ""))

    def _complaint(self) -> DpacctError | None:
        """Return an error if values that are each in range do not go together."""
        return None

    def but(self, **changed: Any) -> Self:
        """A copy of the record with some values changed."""
        return type(self)(**{**self.settings, **changed})

    def _placed(self, first: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
        """The values with those that were given by position."""
        names = [name for name, parameter in self.parameters.items() if not parameter.kw_only]
        if len(first) > len(names) or names[0] in values:
            takes = f"takes {names[0]} by position" if names else "takes nothing by position"
            message = f"{type(self).__name__} {takes}, and the others by name"
            raise InvalidArgument(message, argument=next(iter(self.parameters), None))
        return {**dict(zip(names, first, strict=False)), **values}

    def _check_combination(self, given: frozenset[str], names: Iterable[str], call: Call) -> None:
        """Refuse what is unknown, what is missing, and what does not go together."""
        who, means = type(self).__name__, {n: each.means for n, each in self.parameters.items()}
        for name in names:
            if name not in means:
                hint = did_you_mean(name, means)
                raise InvalidArgument(f"{who} takes no parameter {name}{hint}", argument=call(name))
        for name, each in self.parameters.items():
            if each.required and name not in given:
                message = f"{call(name)} must be given: {each.means}"
                raise Usage(message, argument=call(name))
        for one, other in (*self.needing, *(pair[::-1] for pair in self.needing)):
            if one in given and other not in given:
                message = f"{call(one)} needs {call(other)} ({means[other]})"
                raise Usage(message, argument=call(other))
        stated = [name for name in means if name in given and any(name in w for w in self.ways)]
        fitting = [way for way in self.ways if {*stated} <= {*way}]
        heads = [way[0] for way in self.ways]
        if self.ways and not stated:
            offer = one_of([f"{call(name)} ({means[name]})" for name in heads])
            message = f"give the {self.label or who} by {offer}"
            raise Usage(message, argument=call(heads[0]))
        if self.ways and not fitting:
            first, second = next(
                (a, b) for a in stated for b in stated if not any({a, b} <= {*w} for w in self.ways)
            )
            culprit = second if first in heads and second not in heads else first
            offer = one_of([" with ".join(map(call, way)) for way in self.ways])
            message = f"{call(first)} and {call(second)} do not go together: give {offer}"
            raise Exclusive(message, argument=call(culprit))
        if self.ways and not any(way[0] in stated for way in fitting):
            needed = fitting[0][0]
            message = f"{call(stated[0])} needs {call(needed)} ({means[needed]})"
            raise Usage(message, argument=call(needed))

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


def _written(value: object) -> str:
    """A value as a Python literal that reads back."""
    return literal(value) if isinstance(value, Fraction | int) else repr(value)
