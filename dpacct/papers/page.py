"""Page: one statement of a paper, read from its Markdown page. The page is the data; nothing is generated.

    ---                      the header: one `key: text` per line
    verdict: false
    evidence: refuted
    claims: upper bound
    use instead: dp_fedsam.theorem2_corrected
    ---
    # Theorem 2, as printed              where the paper says it
    What it claims, in one paragraph.
    $$ ... $$                            the formula
    | argument | range | drawn from | meaning |
    ## Why | Derivation | How tight | Note
    ## Counter-example                   `name=value, ...`: what happens there
    ## Reference values                  a table: arguments, formula, truth, within, source

Numbers stay text until they are used, so they are exactly what was typed. Tests hold every page to this form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dpacct.errors import InvalidArgument, Unsupported
from dpacct.vocabulary import Adjacency, Side

if TYPE_CHECKING:
    from types import ModuleType

    from dpacct.answer import Answer
    from dpacct.papers.ranges import Hypotheses, Value

Ends: TypeAlias = tuple[float, float]
"""A value between two ends."""
Plain: TypeAlias = "float | int | tuple[float | int, ...]"
"""An argument as a formula takes it: a float, an int where the range has whole numbers, or a list of them."""

OPEN_VERDICTS = ("holds", "holds-with-condition", "proof-gap")
"""The verdicts on a statement that may be used as printed.

`holds-with-condition`: with a hypothesis that the paper leaves out. `proof-gap`: true wherever it was tried,
but the printed proof is none.
"""
CLAIMS = {
    "upper bound": Side.UPPER,
    "lower bound": Side.LOWER,
    "exact value": Side.TWO_SIDED,
    "": Side.NONE,
}
SECTIONS = ("Why", "Derivation", "How tight", "Note")
SAMPLINGS = {"poisson": "each by its own coin", "uniform": "a fixed number without replacement"}
"""The words by which a statement's setting says that clients or records are drawn."""
COLUMNS = ("argument", "range", "drawn from", "meaning")
"""The columns of the table of arguments."""
VALUES = ("formula", "truth", "within", "source")
"""The columns of the table of reference values, after the arguments."""
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Argument:
    """One row of the table of arguments, as text."""

    name: str
    range: str
    drawn: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Reference:
    """One row of the reference values: the formula's value, or the truth, or both, at `inputs`."""

    inputs: Mapping[str, str]
    formula: str
    truth: str
    within: str
    source: str

    @property
    def tolerance(self) -> float:
        """The relative error allowed."""
        return float(self.within or 1e-9)


@dataclass(frozen=True, eq=False)
class Statement:
    """One page. The header is read at once, the body when it is asked for.

    >>> from dpacct.papers.registry import get
    >>> get("dp_fed_ls.eq15").corrected_by
    'dp_fed_ls.eq15_corrected'
    >>> get("dp_fed_ls.eq15_corrected").evaluate({"nu2": 4})
    0.875
    """

    id: str
    path: Path
    text: str = field(repr=False)
    verdict: str  # holds, false, ... and what it rests on: see docs/registry.md
    evidence: str
    side: Side  # what the printed value claims to be of the truth
    quantity: str  # what the formula gives, in words and with its unit
    accuracy: float  # the relative error of its value, where a numerical method computes it
    corrected_by: str | None  # the id of what to use instead
    relies_on: tuple[str, ...]  # the ids of the statements it rests on
    refuses: tuple[Mapping[str, str], ...]  # points just outside the domain
    also_called: str  # other words for it
    setting: tuple[str, Adjacency] | None  # how clients or records are drawn; who are neighbours

    @property
    def paper(self) -> str:
        """The key of its paper, which stands before the dot of the id."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of the page and of its function, which stands after the dot of the id."""
        return self.id.partition(".")[2]

    @property
    def printed_ok(self) -> bool:
        """Return whether the printed formula may be used as it stands, within its domain."""
        return self.verdict in OPEN_VERDICTS

    @property
    def is_answer(self) -> bool:
        """Return whether the value may be given as an answer, without `as_printed`."""
        return self.evidence != "refuted" and self.printed_ok

    @property
    def evaluable(self) -> bool:
        """Return whether there is something to evaluate: it has arguments."""
        return bool(self.arguments)

    @cached_property
    def locus(self) -> str:
        """The place in the paper, which is the page's title."""
        return self.text.lstrip().partition("\n")[0].removeprefix("# ")

    @cached_property
    def sections(self) -> dict[str, str]:
        """The text of each section by its heading; that of the claim by no name."""
        first, *others = re.split(r"^## ", self.text, flags=re.MULTILINE)
        parts = (part.partition("\n") for part in others)
        return {"": first.lstrip().partition("\n")[2]} | {name: text for name, _, text in parts}

    def section(self, name: str) -> str:
        """The text of a section; nothing where there is none."""
        return self.sections.get(name, "").strip()

    @cached_property
    def claim(self) -> str:
        """The paper's claim, in one paragraph."""
        return " ".join(self.section("").partition("\n\n")[0].split())

    @cached_property
    def maths(self) -> str:
        """The formula in LaTeX."""
        block = re.search(r"^\$\$(.*?)\$\$$", self.section(""), re.DOTALL | re.MULTILINE)
        return block[1].strip() if block else ""

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of the formula."""
        return tuple(
            Argument(row["argument"].strip("`"), *(row.get(name, "") for name in COLUMNS[1:]))
            for row in self.table("")
        )

    @cached_property
    def values(self) -> tuple[Reference, ...]:
        """The reference values."""
        names = [a.name for a in self.arguments]
        return tuple(
            Reference({n: row[n] for n in names}, *(row.get(n, "") for n in VALUES))
            for row in self.table("Reference values")
        )

    @cached_property
    def witness(self) -> tuple[Mapping[str, str], str] | None:
        """The counter-example: its arguments, and the claimed and true values."""
        _, mark, text = self.section("Counter-example").partition("`")
        at, _, rest = text.partition("`")
        return (point(at), rest.lstrip(": ")) if mark else None

    def table(self, section: str) -> list[dict[str, str]]:
        """The rows of a section's table, by the names of its columns."""
        lines = [line for line in self.section(section).split("\n") if line.startswith("|")]
        cells = ([c.strip().replace(r"\|", "|") for c in _CELLS.split(x)[1:-1]] for x in lines)
        head, _, *rows = [*cells] or [[], []]
        return [dict(zip(head, row, strict=True)) for row in rows]

    # --- its numbers

    @property
    def module(self) -> ModuleType:
        """The file of its paper's formulas."""
        return import_module(f"dpacct.papers.formulas.{self.paper}")

    @cached_property
    def formula(self) -> Callable[..., float] | None:
        """The function with the page's name in its paper's file; None if nothing can be evaluated."""
        return vars(self.module).get(self.name) if self.evaluable else None

    @cached_property
    def domain(self) -> Hypotheses:
        """The hypotheses, from the table of arguments."""
        from dpacct.papers.ranges import Hypotheses, parse

        ranges = {a.name: parse(a.range, a.drawn) for a in self.arguments}
        called = any("(" in end for each in ranges.values() for end in each.dependent)
        return Hypotheses(ranges, vars(self.module) if called else {})

    def checked(self, values: Mapping[str, object]) -> dict[str, Plain]:
        """The checked arguments, as the formula takes them.

        Raises `OutsideDomain` for numbers outside the hypotheses, `InvalidArgument` for no numbers.
        """
        rounded = {name: _rounded(value) for name, value in self.domain.check(values).items()}
        self.domain.check(rounded)  # a double may lie on an open end
        return rounded

    def evaluate(self, values: Mapping[str, object], *, as_printed: bool = False) -> float:
        """The formula's value inside its domain, a finite number or an infinite bound.

        Raises `Unsupported` for a statement that is not to be used as printed (unless `as_printed`),
        `OutsideDomain`, and `InvalidArgument`.
        """
        if self.formula is None:
            raise Unsupported(f"{self.id} states nothing that can be evaluated: {self.claim}")
        if not (self.is_answer or as_printed or self.verdict == "asymptotic"):
            other = f"; use {self.corrected_by}" if self.corrected_by else ""
            message = f"{self.id} is {self.verdict} as printed{other}"
            message += " (--as-printed evaluates it anyway)"
            raise Unsupported(message, argument="as_printed")
        value = float(self.formula(**self.checked(values)))
        if math.isnan(value):
            raise InvalidArgument(f"{self.id} is undefined at {dict(values)!r}")
        return value


def parse(text: str, id: str, path: Path) -> Statement:
    """A page from its text."""
    header, body = header_of(text)
    sampling, _, adjacency = header.get("setting", "").partition(", ")
    return Statement(
        *(id, path, body, header["verdict"], header["evidence"]),
        side=CLAIMS[header.get("claims", "")],
        quantity=header.get("quantity", ""),
        accuracy=float(header.get("computed to", "0")),
        corrected_by=header.get("use instead"),
        relies_on=tuple(_listed(header.get("rests on", ""), ", ")),
        refuses=tuple(map(point, _listed(header.get("outside", ""), "; "))),
        also_called=header.get("also called", ""),
        setting=(sampling, Adjacency.parse(adjacency)) if sampling else None,
    )


def header_of(text: str) -> tuple[dict[str, str], str]:
    """The header and the body of a page."""
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    return dict(line.split(": ", 1) for line in head.split("\n")), body


def ends(answer: Answer) -> Ends:
    """Both ends of an answer, with its value for a missing end."""
    lower, value, upper = answer.lower, answer.value, answer.upper
    return value if lower is None else lower, value if upper is None else upper


def point(text: str) -> dict[str, str]:
    """`rate=0.1, votes=[6, 0]` by name, as text.

    >>> point("rate=0.1, votes=[6, 0]")
    {'rate': '0.1', 'votes': '[6, 0]'}
    """
    return dict(re.findall(r"(\w+)=(\[[^\]]*\]|[^,\s]+)", text))


def _listed(text: str, by: str) -> list[str]:
    return [part.strip() for part in text.split(by) if part.strip()]


def _rounded(value: Value) -> Plain:
    return tuple(map(_float, value)) if isinstance(value, tuple) else _float(value)


def _float(value: Fraction | int) -> float | int:
    return value if isinstance(value, int) else float(value)


def shown(point: Mapping[str, object]) -> str:
    """A point as `name=value, ...`.

    >>> shown({"alpha": 2, "tau": "0.05", "votes": (6, 0)})
    'alpha=2, tau=0.05, votes=[6, 0]'
    """
    return ", ".join(f"{name}={_argument(value)}" for name, value in point.items())


def _argument(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_argument, value))}]"
    return format(float(value), ".12g") if isinstance(value, float | Fraction) else str(value)
