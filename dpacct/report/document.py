"""A document of sections: made once, written by a template as text, Markdown, HTML or LaTeX."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dpacct.bibliography import latex
from dpacct.display import aligned

if TYPE_CHECKING:
    from jinja2 import Template

    from dpacct.plan.words import WordTree
    from dpacct.report.plots.chart import Chart

WIDTH = 100
"""Columns of plain text."""
_POWER = re.compile(r"\d+(?:\.\d+)?e-\d+")
# A mark before each status, so that colour alone does not carry it.
_SIGNS = {"held": "✓", "declared": "•", "unknown": "?", "violated": "✗"}
# What would begin markup in the middle of a text; the rest of ASCII punctuation is harmless there.
_MARKUP = re.compile(r"([\\`*_\[\]<>|$])")
_LEADING = re.compile(r"^(\s*)([#+-]|\d+[.)])(?=\s)")
# Numbers as programs print them: a pair such as (8, 1e-5), or one with a power of ten.
_NUMBERS = re.compile(r"\((\d[\d.e-]*), (\d[\d.e-]*)\)|(?<![\w.])\d+(?:\.\d+)?e-?\d+(?![\w.])")
_IN_TEX = {"≤": r"$\leq$", "ε": r"$\varepsilon$", "δ": r"$\delta$", "σ": r"$\sigma$"}
_IN_TEX |= {"α": r"$\alpha$", "β": r"$\beta$", "²": r"$^2$", "’": "'", "“": "``", "”": "''"}
_IN_TEX |= {"—": "---", "–": "--", "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "<": "$<$"}
_IN_TEX |= {
    ">": "$>$",
    "|": "$|$",
    "^": r"\^{}",
    "~": r"$\sim$",
    "\u00a0": "~",
    "\t": " ",
    "\n": " ",
}


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """One section; what it has is shown in the order of the fields, all in plain text.

    `pictures` are (a chart, or a complete SVG element; what it shows in words); `code` is kept as it is.
    Of the table `marks` are columns of one word of status each, `asides` the places of rows that are no
    part of what is claimed, `cites` the keys of the works that each row cites; `items` lists these works.

    >>> ReportSection(title="Result", paragraphs=("Test accuracy 83 %.",)).title
    'Result'
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    items: tuple[str, ...] = ()
    pictures: tuple[tuple[Chart | str, str], ...] = ()
    tree: WordTree | None = None
    code: str = ""
    marks: tuple[str, ...] = ()
    asides: tuple[int, ...] = ()
    cites: tuple[tuple[str, ...], ...] = ()

    @property
    def in_words(self) -> bool:
        """Return whether there is anything but pictures."""
        return bool(self.paragraphs or self.rows or self.items or self.tree or self.code)


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportDocument:
    """A title, warnings above everything, a leading sentence, facts at a glance, and sections.

    `cites` are the keys of what the sentence rests on, `works` all that is cited: (key, reference).

    >>> document = ReportDocument(title="Run 1", lead="It ran.", sections=())
    >>> print(document.to_markdown())
    # Run 1
    <BLANKLINE>
    It ran.
    <BLANKLINE>
    """

    title: str
    lead: str = ""
    warnings: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[ReportSection, ...] = ()
    cites: tuple[str, ...] = ()
    works: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"<ReportDocument {self.title!r}: {len(self.sections)} sections>"

    def to_text(self) -> str:
        """Plain text of 100 columns, without pictures."""
        return self._written("txt")

    def to_markdown(self) -> str:
        """Markdown without pictures, tables as GitHub knows them."""
        return self._written("md")

    def to_latex(self) -> str:
        """A LaTeX document without pictures, which cites; any engine compiles it."""
        return self._written("tex")

    def to_html(self) -> str:
        """One HTML page that needs nothing else: no network, no script."""
        return _template("html").render(document=self, signs=_SIGNS)

    def _written(self, form: str) -> str:
        """Fill the template; one empty line stands where it leaves several."""
        text = _template(form).render(document=self)
        return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


@cache
def _template(form: str) -> Template:
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=form == "html",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"md": escaped, "fence": _fence, "tex": tex, "fill": filled}
    environment.filters |= {"columns": _columns, "unbroken": _unbroken}
    page = files(__package__).joinpath(f"report.{form}.jinja")
    return environment.from_string(page.read_text("utf-8"))


def filled(text: str, first: str = "", later: str = "") -> str:
    """Lines of at most `WIDTH` columns."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _columns(section: ReportSection) -> list[str]:
    """Columns where they fit, else one block to a row under its first cells."""
    lines = aligned(section.head, section.rows) if section.rows else []
    if max(map(len, lines), default=0) <= WIDTH:
        return lines
    lines = []
    for row in section.rows:
        first, second, *others = row
        lines.append(filled(f"{first}: {second}" if second else first, "  ", "    "))
        for name, cell in zip(section.head[2:], others, strict=True):
            if cell:
                lines.append(filled(f"{name}: {cell}", "      ", "        "))
    return lines


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> escaped("a|b <c> 1000^-1.1")
    'a\\|b \\<c\\> 1000^-1.1'
    """
    flat = " ".join(text.split())
    return _LEADING.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", flat))


def _fence(code: str) -> str:
    return "`" * (max([2, *map(len, re.findall("`+", code))]) + 1)


def _unbroken(text: str) -> str:
    """Text whose numbers are not broken over lines."""
    from markupsafe import Markup, escape

    kept = text.replace("≤ ", "≤\u00a0").replace("~ ", "~\u00a0")
    return Markup(_POWER.sub(r'<span class="number">\g<0></span>', str(escape(kept))))


def tex(text: str) -> str:
    r"""Text in LaTeX, numbers in mathematics; a letter that plain LaTeX has not is written as U+....

    >>> print(tex("100 % of (1.516, 1e-5)_a"))
    100 \% of $(1.516, 10^{-5})$\_a
    """
    parts, end = [], 0
    for match in _NUMBERS.finditer(text):
        parts += [_letters(text[end : match.start()]), f"${_power(match[0])}$"]
        end = match.end()
    return "".join([*parts, _letters(text[end:])])


def _power(text: str) -> str:
    """1e-5 as 10^{-5}, 2.5e-7 as 2.5 times that."""
    times = re.sub(r"([\d.]+)e(-?\d+)", r"\1 \\cdot 10^{\2}", text)
    return re.sub(r"\b1 \\cdot ", "", times)


def _letters(text: str) -> str:
    """Letters beyond Latin's, which LaTeX needs a package for, by their numbers."""

    def written(letter: str) -> str:
        latin = letter.isalpha() and letter < "ſ" and letter not in "ªµºÐÞðþĸŉ"
        return latex(letter) if letter.isascii() or latin else f"U+{ord(letter):04X}"

    return "".join(_IN_TEX.get(letter) or written(letter) for letter in text)
