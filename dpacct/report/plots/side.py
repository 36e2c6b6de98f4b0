"""One axis of a grid, as its picture names it."""

from __future__ import annotations

from dataclasses import dataclass

from dpacct.report.plots.methods import method_name
from dpacct.report.plots.words import near


@dataclass(frozen=True)
class Side:
    """One axis of the grid.

    Attributes:
        name: what varies, such as "sigma".
        values: as they were typed.
        numbers: the same as floats; None where they are words.
        log: whether they are spread over a logarithmic scale.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None = None
    log: bool = False

    def told(self, place: int) -> str:
        """One value with its name, as a title says it."""
        return f"{self.name} {self.short(place)}"

    def short(self, place: int) -> str:
        """One value in few digits."""
        if self.numbers is None:
            return method_name(self.values[place])
        return near(self.numbers[place], 4)
