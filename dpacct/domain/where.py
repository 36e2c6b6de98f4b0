"""Several parameters together: the hypotheses of a theorem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.domain.interval import Bound, Integer, Part, Real
from dpacct.errors import DpacctError, InvalidArgument, OutsideDomain

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, init=False)
class Where:
    """Several parameters together: the hypotheses of a theorem.

    An end may depend on other arguments through a `Bound`.

    >>> where = Where(n=Integer(2), x=Real(0, Bound("1/n", lambda n: 1 / n)))
    >>> str(where)
    'n in [2, inf), x in (0, 1/n)'
    >>> where.check(n=10, x="0.05")
    {'n': 10, 'x': Fraction(1, 20)}
    >>> where.check(n=10, x=0.5)
    Traceback (most recent call last):
    dpacct.errors.OutsideDomain: x must be a number in (0, 0.1), got 0.5 (where the end is 1/n)
    """

    domains: Mapping[str, Real | Integer]

    def __init__(self, **domains: Real | Integer) -> None:
        object.__setattr__(self, "domains", domains)

    def __str__(self) -> str:
        return ", ".join(f"{name} in {domain}" for name, domain in self.domains.items())

    def __hash__(self) -> int:
        return hash(tuple(self.domains.items()))

    def check(
        self, *, error: type[DpacctError] = OutsideDomain, **values: object
    ) -> dict[str, Fraction | int]:
        """All values made exact, if they lie in the domain together.

        Raises `InvalidArgument` for a missing or unknown argument or one that is not a number,
        `error` for numbers outside the domain.
        """
        for name in values.keys() - self.domains.keys():
            listed = ", ".join(self.domains)
            raise InvalidArgument(f"{name} is not one of the arguments {listed}", argument=name)
        for name in self.domains.keys() - values.keys():
            raise InvalidArgument(f"{name} is missing: it must be in {self}", argument=name)
        checked: dict[str, Fraction | int] = {}
        for name in self._order():
            domain = self.domains[name]
            fixed = domain.at({key: float(number) for key, number in checked.items()})
            try:
                checked[name] = fixed.check(name, values[name], error=error)
            except DpacctError as wrong:
                ends = [str(e) for e in (domain.lower, domain.upper) if isinstance(e, Bound)]
                if not ends:
                    raise
                told = f"{wrong.message} (where the end is {' and '.join(ends)})"
                raise type(wrong)(told, argument=name) from None
        return {name: checked[name] for name in self.domains}

    def draw(self, rng: Random, part: Part = "inside") -> dict[str, Fraction | int]:
        """Values for tests: all inside, or one of them (at random) on the boundary or outside."""
        odd = rng.choice(list(self.domains)) if part != "inside" else None
        drawn: dict[str, Fraction | int] = {}
        outside: dict[str, Fraction | int] = {}
        for name in self._order():
            domain = self.domains[name].at({key: float(number) for key, number in drawn.items()})
            drawn[name] = domain.draw(rng, "boundary" if name == odd else "inside")
            if name == odd and part == "outside":
                outside[name] = domain.draw(rng, part)
        drawn |= outside  # last, so that ends which depend on it stay sensible
        return {name: drawn[name] for name in self.domains}

    def _order(self) -> list[str]:
        """Names, with those whose ends depend on others after them."""
        free = [n for n, d in self.domains.items() if not isinstance(d.lower, Bound)]
        free = [n for n in free if not isinstance(self.domains[n].upper, Bound)]
        return free + [name for name in self.domains if name not in free]
