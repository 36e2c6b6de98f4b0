"""Parameter and Record: what is given to a mechanism, a sampler or an algorithm is declared once.

A `Record` is a class whose body lists `Parameter`s. From the list follow the constructor and its
checks, `repr`, equality, the JSON fields, and what other readers need to know of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        self.name, self.kw_only, self.required = alias, kw_only, default is ...

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute, self.name = name, self.name or name

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

    if TYPE_CHECKING:  # what a constructor accepts; at run time it would slow down every reading

        def __set__(self, record: Any, value: Number | None) -> None:
            raise AttributeError(self.name)


class _Signature:
    """A class's constructor as `help` and editors show it, made where somebody looks."""

    def __get__(self, record: object, owner: type[Record]) -> Any:
        import inspect

        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        defaults = {
            n: {} if p.required else {"default": p.default} for n, p in owner.parameters.items()
        }
        made = [
            inspect.Parameter(n, kinds[p.kw_only], **defaults[n])
            for n, p in owner.parameters.items()
        ]
        return inspect.Signature(made)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Parameter,))
class Record:
    """Base of all that is declared: checked, exact, and never changed.

    `ways` are different sets of parameters that say the same, of which one is to be given: its first
    parameter, and perhaps the others. What has no default must be given; None is as good as nothing.
    """

    parameters: ClassVar[Mapping[str, Parameter[Any]]] = {}
    """All parameters in order, by the names that users type."""
    ways: ClassVar[tuple[tuple[str, ...], ...]] = ()
    needing: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of parameters that go together."""
    label: ClassVar[str] = ""
    """The words for it in a sentence: Gaussian noise."""
    __signature__: ClassVar[Any] = _Signature()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        listed = [value for value in vars(cls).values() if isinstance(value, Parameter)]
        cls.parameters = {**cls.parameters, **{each.name: each for each in listed}}

    def __init__(self, *first: Any, **values: Any) -> None:
        placed = [name for name, each in self.parameters.items() if not each.kw_only][: len(first)]
        if len(placed) < len(first) or values.keys() & {*placed}:
            takes = one_of(placed, "and") if placed else "nothing"
            message = f"{type(self).__name__} takes {takes} by position, and the others by name"
            raise InvalidArgument(message, argument=next(iter(self.parameters), None))
        self._fill({**dict(zip(placed, first, strict=True)), **values}, str)

    @classmethod
    def read(cls, values: Mapping[str, Any], call: Call) -> Self:
        """A record from typed values, whose parameters may have other names there."""
        made = cls.__new__(cls)
        made._fill(values, call)
        return made

    def _fill(self, values: Mapping[str, Any], call: Call) -> None:
        """Keep the values, made exact; raises `InvalidArgument` for those that are not accepted."""
        if unknown := [name for name in values if name not in self.parameters]:
            message = f"{type(self).__name__} takes no parameter {unknown[0]}"
            message += did_you_mean(unknown[0], self.parameters)
            raise InvalidArgument(message, argument=call(unknown[0]))
        for name, each in self.parameters.items():
            value = values.get(name)
            if value is not None:
                try:
                    self.__dict__[each.attribute] = each.domain.check(name, value)
                except DpacctError as error:
                    raise error.named(call(name)) from None
            elif each.required:
                message = f"{call(name)} must be given: {each.means}"
                raise Usage(message, argument=call(name))
            else:
                self.__dict__[each.attribute] = each.default
        given = {name for name, value in values.items() if value is not None}
        for one, other in (*self.needing, *(pair[::-1] for pair in self.needing)):
            if one in given and other not in given:
                message = f"{call(one)} needs {call(other)} ({self.parameters[other].means})"
                raise Usage(message, argument=call(other))
        if self.ways:
            self._choose_way(given, call)
        self._together(call)

    def _choose_way(self, given: set[str], call: Call) -> None:
        """Refuse parameters of several ways, and those of none."""
        stated = [n for n in self.parameters if n in given and any(n in way for way in self.ways)]
        if any(way[0] in given and {*stated} <= {*way} for way in self.ways):
            return
        heads = {way[0]: f"{call(way[0])} ({self.parameters[way[0]].means})" for way in self.ways}
        who = f"give the {self.label or type(self).__name__} by"
        if not stated:
            raise Usage(f"{who} {one_of(heads.values())}", argument=call(self.ways[0][0]))
        offers = [" with ".join([heads[way[0]], *map(call, way[1:])]) for way in self.ways]
        message = f"{who} {one_of(offers)}, got {one_of(map(call, stated), 'and')}"
        several = sum(name in heads for name in stated) > 1
        raise Exclusive(message, argument=call(stated[0 if several else -1]))

    def _together(self, call: Call) -> None:
        """Raise for values that are each in range and do not go together."""
        if (wrong := self._complaint()) is not None:
            raise wrong.named(call(wrong.argument or ""))

    def _complaint(self) -> DpacctError | None:
        """Return an error if values that are each in range do not go together."""
        return None

    def but(self, **changed: Any) -> Self:
        """A copy of the record with some values changed."""
        return type(self)(**{**self.settings, **changed})

    if not TYPE_CHECKING:  # for a type checker, `Parameter.__set__` says what a constructor accepts

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(f"a {type(self).__name__} cannot be changed")

        def __delattr__(self, name: str) -> None:
            raise AttributeError(f"a {type(self).__name__} cannot be changed")

    @property
    def settings(self) -> dict[str, Any]:
        """The values that there are, by the names that users give them by."""
        values = {name: self.__dict__[each.attribute] for name, each in self.parameters.items()}
        return {name: value for name, value in values.items() if value is not None}

    def written(self) -> dict[str, Any]:
        """Return the settings as exact text, lists as lists of it."""
        return {name: _saved(value) for name, value in self.settings.items()}

    def _values(self) -> tuple[Any, ...]:
        return tuple([self.__dict__[each.attribute] for each in self.parameters.values()])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Record):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        exact = {name: _written(value) for name, value in self.settings.items()}
        return f"{type(self).__name__}({', '.join(f'{n}={v}' for n, v in exact.items())})"


def _saved(value: Any) -> Any:
    if isinstance(value, tuple):
        return [*map(_saved, value)]
    return value if isinstance(value, str) else text(value)


def _written(value: object) -> str:
    """A value as a Python literal that reads back."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return literal(value) if isinstance(value, Fraction | int) else repr(value)
