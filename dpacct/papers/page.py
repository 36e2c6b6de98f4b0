"""Page: one statement of a paper, read from its Markdown page. The page is the data; nothing is generated.

    ---                      the header: one `key: text` per line (YAML, of which only that is used)
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

Numbers stay text until they are used, so they are exactly what was typed. A page that can't be read raises
`PageError` with file and line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
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
VERDICTS = (*OPEN_VERDICTS, "false", "ill-posed", "asymptotic", "unread")
"""All verdicts. `ill-posed`: several meanings; `asymptotic`: in a limit only; `unread`: illegible."""
_SUPPORTED = ("transcribed", "reproduced", "searched", "derived", "proved")
EVIDENCE = (*_SUPPORTED, "refuted", "corrected", "asymptotic")
"""The support of a verdict, from the weakest.

`transcribed`: copied from the paper, no more. `reproduced`: gives every number of the paper's tables
(tables.md). `searched`: no counter-example against an independent oracle. `derived`: our own proof, searched
too. `proved`: a machine-checked proof. `refuted`: a counter-example, judged again on each run. `corrected`:
our statement in place of a false one. `asymptotic`: true in a limit. tests/papers/evidence.py asks for each.
"""
CLAIMS = {
    "upper bound": Side.UPPER,
    "lower bound": Side.LOWER,
    "exact value": Side.TWO_SIDED,
    "": Side.NONE,
}
SECTIONS = ("Why", "Derivation", "How tight", "Note")
_HEADINGS = {"", *SECTIONS, "Counter-example", "Reference values"}
SAMPLINGS = {"poisson": "each by its own coin", "uniform": "a fixed number without replacement"}
"""The words by which a statement's setting says that clients or records are drawn."""
_KEYS = {"verdict", "evidence", "claims", "quantity", "use instead", "rests on", "outside"} | {
    *("also called", "computed to", "setting")
}
_COLUMNS = ("argument", "range", "drawn from", "meaning")
_CELLS = re.compile(r"(?<!\\)\|")
_POINT = re.compile(r"`([^`]*)`:? ?(.*)", re.DOTALL)


class PageError(ValueError):
    """A page that breaks the format; the message begins with file:line."""


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
    formula: str = ""
    truth: str = ""
    within: str = ""
    source: str = ""
    line: int = 0

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
    paper: str  # its key: what stands before the dot of the id
    name: str  # of the page and of its function: what stands after the dot
    path: Path
    text: str = field(repr=False)
    first: int = field(repr=False)  # the line on which the body begins
    verdict: str  # one of `VERDICTS`
    evidence: str  # one of `EVIDENCE`
    side: Side  # what the printed value claims to be of the truth
    quantity: str  # what the formula gives, in words and with its unit
    accuracy: float  # the relative error of its value, where a numerical method computes it
    corrected_by: str | None  # the id of what to use instead
    relies_on: tuple[str, ...]  # the ids of the statements it rests on
    refuses: tuple[Mapping[str, str], ...]  # points just outside the domain
    also_called: str  # other words for it
    setting: (
        tuple[str, Adjacency] | None
    )  # how clients or records are drawn, and who are neighbours

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
        line = self.text.lstrip().partition("\n")[0]
        if not line.startswith("# "):
            raise self.wrong("a title (# Theorem 2) must come first", 0)
        return line[2:]

    @cached_property
    def sections(self) -> dict[str, tuple[int, str]]:
        """Each section by its heading: its first line in the body, and its text."""
        parts: dict[str, tuple[int, str]] = {}
        name, start, lines = "", 1, list[str]()
        for index, line in enumerate([*self.text.split("\n")[1:], "## "], 1):
            if not line.startswith("## "):
                lines.append(line)
                continue
            parts[name] = (start, "\n".join(lines))
            name, start, lines = line[3:].strip(), index + 1, []
            if name not in _HEADINGS or (name and name in parts):
                raise self.wrong(f"no section is called {name!r}, or there are two", index)
        return parts

    def section(self, name: str) -> str:
        """The text of a section; nothing where there is none."""
        return self.sections.get(name, (0, ""))[1].strip()

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
        rows = (row for _, row in self.table("", _COLUMNS))
        return tuple(Argument(name.strip("`"), *rest) for name, *rest in map(dict.values, rows))

    @cached_property
    def values(self) -> tuple[Reference, ...]:
        """The reference values."""
        names = [a.name for a in self.arguments]
        rows = self.table("Reference values", (*names, "formula", "truth", "within", "source"))
        return tuple(
            Reference(inputs, row["formula"], row["truth"], row["within"], row["source"], line)
            for line, row in rows
            for inputs in [{name: row[name] for name in names}]
        )

    @cached_property
    def witness(self) -> tuple[Mapping[str, str], str] | None:
        """The counter-example: its arguments, and the claimed and true values."""
        text = self.section("Counter-example")
        if not text:
            return None
        parts = _POINT.match(text)
        if not parts:
            line = self.sections["Counter-example"][0]
            raise self.wrong("a counter-example must begin with `name=value, ...`", line)
        return point(parts[1]), parts[2].strip()

    def table(self, section: str, columns: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
        """The rows of a section's table with their lines in the file; empty columns may be left out."""
        start, text = self.sections.get(section, (0, ""))
        rows = [
            (number, [c.strip().replace(r"\|", "|") for c in _CELLS.split(line.strip()[1:-1])])
            for number, line in enumerate(text.split("\n"), start)
            if line.startswith("|")
        ]
        head = rows[0][1] if rows else []
        if unknown := set(head) - set(columns):
            message = f"a table of {section or 'arguments'} has no column {sorted(unknown)}"
            raise self.wrong(message, rows[0][0])
        read = []
        for number, row in rows[2:]:
            if len(row) != len(head):
                raise self.wrong(f"a row has {len(row)} cells for {len(head)} columns", number)
            filled = dict.fromkeys(columns, "") | dict(zip(head, row, strict=True))
            read.append((self.first + number, filled))
        return read

    def wrong(self, message: str, line: int) -> PageError:
        """A `PageError` that names file and line."""
        return PageError(f"{self.path}:{self.first + line}: {message}")

    # --- its numbers

    @property
    def module(self) -> ModuleType:
        """The file of its paper: formulas, oracles and proofs."""
        from importlib import import_module

        return import_module(f"dpacct.papers.formulas.{self.paper}")

    @cached_property
    def formula(self) -> Callable[..., float] | None:
        """The function with the page's name in its paper's file; None if nothing can be evaluated."""
        return vars(self.module).get(self.name) if self.evaluable else None

    @cached_property
    def domain(self) -> Hypotheses:
        """The hypotheses, from the table of arguments. Raises `PageError` for a range that can't be read."""
        from dpacct.papers.ranges import Hypotheses, parse

        ranges = {}
        for (line, _), argument in zip(self.table("", _COLUMNS), self.arguments, strict=True):
            try:
                ranges[argument.name] = parse(argument.range, argument.drawn)
            except (ValueError, SyntaxError) as wrong:
                raise PageError(f"{self.path}:{line}: {argument.name}: {wrong}") from None
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
    """A page from its text; raises `PageError`."""
    first, header, body = header_of(text, path)
    if unknown := header.keys() - _KEYS:
        message = f"the header has no key {sorted(unknown)}; keys are {sorted(_KEYS)}"
        raise PageError(f"{path}:2: {message}")
    for key, words in (("verdict", VERDICTS), ("evidence", EVIDENCE), ("claims", CLAIMS)):
        if header.get(key, "") not in words:
            message = f"{key} must be one of {', '.join(words)}, got {header.get(key)!r}"
            raise PageError(f"{path}:2: {message}")
    paper, _, name = id.partition(".")
    return Statement(
        *(id, paper, name, path, body, first, header["verdict"], header["evidence"]),
        side=CLAIMS[header.get("claims", "")],
        quantity=header.get("quantity", ""),
        accuracy=float(header.get("computed to", "0")),
        corrected_by=header.get("use instead"),
        relies_on=_listed(header.get("rests on", ""), ", "),
        refuses=tuple(map(point, _listed(header.get("outside", ""), "; "))),
        also_called=header.get("also called", ""),
        setting=_setting(header.get("setting", ""), path),
    )


def _setting(text: str, path: Path) -> tuple[str, Adjacency] | None:
    """Read `uniform, replace-one`: a sampling and an adjacency."""
    if not text:
        return None
    sampling, _, adjacency = text.partition(", ")
    if sampling not in SAMPLINGS:
        message = f"setting must begin with {' or '.join(SAMPLINGS)}, got {text!r}"
        raise PageError(f"{path}:2: {message}")
    return sampling, Adjacency.parse(adjacency)


def header_of(text: str, path: Path) -> tuple[int, dict[str, str], str]:
    """The line on which the body begins, the header, and the body."""
    top, _, rest = text.partition("\n")
    head, closed, body = rest.partition("\n---\n")
    if top != "---" or not closed:
        raise PageError(f"{path}:1: a page begins with a header between two lines of ---")
    header: dict[str, str] = {}
    for number, line in enumerate(head.split("\n"), 2):
        key, colon, value = line.partition(": ")
        if not colon or key in header or value != value.strip() or ": " in value or " #" in value:
            message = f"a header line is `key: text`, each key once, got {line!r}"
            raise PageError(f"{path}:{number}: {message}")
        header[key] = value
    return len(header) + 3, header, body


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


def _listed(text: str, by: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(by) if part.strip())


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
