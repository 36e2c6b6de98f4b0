"""Formulas become MathML while the site is built: no script, no font and no network to read them."""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
HEADING = re.compile(r"\\\((.*?)\\\)")
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


# What LaTeX knows and the converter does not, or not there.
TAG = re.compile(r"\\tag\{(\w+)\}")
WORDS = re.compile(r"\\text\{([^{}]*\$[^{}]*)\}")
SPELLED = (
    (r"\arg ", r"\operatorname{arg} "),
    (r"\Big\|", r"\Big‖"),
    (r"\lceil", "⌈"),
    (r"\rceil", "⌉"),
    (r"\_", "_"),
)

# Browsers know these alphabets as characters of their own: where they begin, and what was there before.
LETTER = re.compile(r'<mi mathvariant="(double-struck|script|bold)">([A-Za-z])</mi>')
ALPHABETS = {"double-struck": 0x1D538, "script": 0x1D49C, "bold": 0x1D400}
EARLIER = {
    "double-struck": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
    "script": dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True)),
    "bold": {},
}
NAMED = re.compile(r"<mi>([A-Za-z]{2,})</mi>(?!<mo[^>]*>&#x00028;)")  # log x, and not log(x)


def words(match: re.Match[str]) -> str:
    """Words with formulas among them, which the converter takes for words too."""
    parts = match.group(1).split("$")
    return "".join(p if i % 2 else f"\\text{{{p}}}" for i, p in enumerate(parts) if p)


def letter(match: re.Match[str]) -> str:
    """A letter of another alphabet."""
    name, plain = match.groups()
    place = ord(plain) - (ord("A") if plain.isupper() else ord("a") - 26)
    return f"<mi>{EARLIER[name].get(plain) or chr(ALPHABETS[name] + place)}</mi>"


@cache
def mathml(latex: str, display: str) -> str:
    """The formula as MathML, with its LaTeX as what is read out and copied.

    Raises:
        ValueError: a command that is not LaTeX, or that the converter does not know.
    """
    latex = WORDS.sub(words, latex)
    spelled = TAG.sub(r"\\qquad\\text{(\1)}", latex.strip())
    for theirs, ours in SPELLED:
        spelled = spelled.replace(theirs, ours)
    made = LETTER.sub(letter, convert(spelled, display=display))
    made = NAMED.sub(r'<mi class="named">\1</mi>', made)
    if "\\" in made:
        raise ValueError(f"not understood in a formula: {latex}")
    return made.replace("<math ", f'<math aria-label="{escape(latex.strip())}" ', 1)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the HTML of a page; headings stand in its table of contents too."""
    headings = list(page.toc)
    for heading in headings:
        heading.title = HEADING.sub(inline, heading.title)
        headings += heading.children
    return DISPLAY.sub(block, INLINE.sub(inline, html))


def inline(match: re.Match[str]) -> str:
    """A formula in a line of text."""
    return mathml(unescape(match.group(1)), "inline")


def block(match: re.Match[str]) -> str:
    """A formula on a line of its own."""
    return f'<div class="formula">{mathml(unescape(match.group(1)), "block")}</div>'
