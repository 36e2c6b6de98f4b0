"""The numbers that the papers' tables print: pages/<paper>/tables.md, a section per table and formula."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module

from dpacct.declare.number import exact
from dpacct.papers import registry

_HOW = re.compile(r"computed by `(\w+)`(?:, the truth by `(\w+)`)?")


@dataclass(frozen=True)
class Cell:
    """A printed number, as text so that its digits count.

    `quantity` is what it measures. `formula` is called with `inputs`, under the conventions that
    reproduce the table (`note` says which, and why the truth differs). `truth` gives the exact
    two-sided value, if there is one.
    """

    paper: str
    table: str
    cell: str
    inputs: Mapping[str, str]
    printed: str
    quantity: str
    formula: Callable[..., float]
    truth: Callable[..., tuple[float, float]] | None = None
    note: str = ""

    def arguments(self) -> dict[str, float | int]:
        """The inputs as the formula takes them."""
        return {name: _number(text) for name, text in self.inputs.items()}

    def computed(self) -> float:
        """The number under the table's own conventions."""
        return float(self.formula(**self.arguments()))

    def exact(self) -> tuple[float, float] | None:
        """Both ends of the truth, where it is known."""
        return None if self.truth is None else self.truth(**self.arguments())

    def matches(self, computed: float) -> bool:
        """Return whether `computed` rounds to what is printed, to the digits that are printed.

        >>> Cell("x", "1", "", {}, "2.71", "mu", lambda: 0.0).matches(2.7109)
        True
        """
        step = Decimal(1).scaleb(int(Decimal(self.printed).as_tuple().exponent))
        return Decimal(repr(computed)).quantize(step) == Decimal(self.printed)


def cells(paper: str | None = None) -> Iterator[Cell]:
    """The cells of one paper (by any of its names), or of all; raises `UnknownName`."""
    keys = registry.papers() if paper is None else [registry.named(paper).key]
    for key in keys:
        path = registry.PAGES / key / "tables.md"
        if not path.is_file():
            continue
        module = vars(import_module(f"dpacct.papers.formulas.{key}"))
        for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            title, how = section.partition("\n")[0], _HOW.search(section)
            lines = [line[1:-1].split("|") for line in section.split("\n") if line[:1] == "|"]
            head, _, *rows = [[part.strip() for part in line] for line in lines]
            assert how is not None, f"{path}: {title} does not say what computes it"
            truth, note = module.get(how[2]), " ".join(section.rpartition("|\n")[2].split())
            for row in rows:
                inputs = dict(zip(head[1:-1], row[1:-1], strict=True))
                yield Cell(
                    *(key, title.partition(":")[0], row[0], inputs, row[-1], head[-1][9:]),
                    *(module[how[1]], truth, note),
                )


def _number(text: str) -> float | int:
    """`30`, `0.05`, or a power such as `1000^-1.1`, which the paper prints as such."""
    base, _, power = text.partition("^")
    if power:
        return math.pow(float(exact(base) or 0), float(exact(power) or 0))
    whole = re.fullmatch(r"-?\d+", text)
    return int(text) if whole else float(exact(text) or 0)
