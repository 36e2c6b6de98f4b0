"""One side of a grid, an axis or several that go together, as its picture names it."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct.declare.number import exact
from dpacct.report.plots.methods import method_name
from dpacct.report.plots.words import near


@dataclass(frozen=True)
class Side:
    """One side of the grid.

    Attributes:
        name: what varies, such as "sigma".
        values: as they were typed.
        numbers: the same as floats; None where they are words.
        log: whether they are spread over a logarithmic scale.
        partners: names and values of axes that are tied to it.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None = None
    log: bool = False
    partners: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def label(self) -> str:
        """What stands beside the axis."""
        if not self.partners:
            return self.name
        others = ", ".join(name for name, _ in self.partners)
        return f"{self.name} (with {others})" if self.numbers else f"{self.name}, {others}"

    def told(self, place: int) -> str:
        """One value with its name, as a title says it, and those that go with it."""
        first = f"{self.name} {self._value(place)}"
        others = (f"{name} {_short(values[place])}" for name, values in self.partners)
        return ", ".join([first, *others])

    def short(self, place: int) -> str:
        """One value in few digits; with its partners where it does not tell the place alone."""
        digits = self._value(place)
        if self.numbers is not None:
            return digits
        return ", ".join([digits, *(_short(values[place]) for _, values in self.partners)])

    def _value(self, place: int) -> str:
        if self.numbers is None:
            return method_name(self.values[place])
        return near(self.numbers[place], 4)


def _short(value: str) -> str:
    """A typed value in few digits, if it is a number."""
    number = exact(value)
    return value if number is None else near(float(number), 4)
