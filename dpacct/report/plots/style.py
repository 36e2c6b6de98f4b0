"""The looks of lines and the bytes of pictures: `dpacct.mplstyle` is the style, and this what it can't say.

A method keeps its colour and its marker in every figure; how sure its number is, is said by the
line. Nothing depends on the reader's own matplotlib settings, and equal pictures are equal bytes.
"""

from __future__ import annotations

import io
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("dpacct.mplstyle")
"""The style sheet of all pictures, for matplotlib."""
PAGE = 6.3
"""Width in inches of a figure across the text of an A4 or letter page."""
SIZE = 9.0
"""Points of the text at the axes."""
FORMATS = (".svg", ".pdf", ".png")
"""Suffixes that `save` knows."""
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
INK, FAINT, RULE, ALARM = "#222222", "#595959", "#D9D9D9", "#F6E3D8"
WARNING = "#9C3D00"
"""Words on ALARM: 5.4 times as bright a ground as they are, where VERMILION has 3.1 (WCAG asks 4.5)."""


@dataclass(frozen=True)
class Look:
    """A colour and a marker, which belong together."""

    colour: str
    marker: str


LOOKS = tuple(map(Look, (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK), "os^DvPX"))
"""The looks of lines that are no methods, in this order."""
METHODS = {
    "exact": ("exact", LOOKS[0]),
    "certified": ("certified", LOOKS[0]),
    "auto": ("strongest", LOOKS[0]),
    "bracket": ("bracket", LOOKS[5]),
    "rdp": ("RDP", LOOKS[1]),
    "rdp-mironov": ("RDP, Mironov's conversion", LOOKS[4]),
    "clt": ("central limit", LOOKS[2]),
    "balle_wang.theorem8": ("Balle and Wang, Theorem 8", LOOKS[6]),
    "dp_fed_ls.theorem1": ("DP-Fed-LS, Theorem 1", LOOKS[3]),
    "dp_fed_ls.theorem2": ("DP-Fed-LS, Theorem 2", LOOKS[6]),
}
"""The name of each method in a legend, and its look, the same wherever it appears."""
LINES: dict[Strength, Any] = {
    Strength.PROVED: "-",
    Strength.BRACKETED: "-",
    Strength.CONVERGED: "-",
    Strength.BOUND: (0, (7, 1.5, 1.5, 1.5)),
    Strength.PUBLISHED: (0, (1.2, 1.6)),
    Strength.ESTIMATE: (0, (4, 2.5)),
    Strength.REFUTED: (0, (1.2, 1.6)),
}
"""Solid: the true value. Dash-dotted: a bound. Dotted: a paper's formula. Dashed: an estimate."""
FONTS = "'DejaVu Sans', Verdana, Helvetica, sans-serif"  # Verdana is as wide as DejaVu Sans
DARK = {  # paper, inks and shades on a dark page, as in report.html.jinja; lines keep their colours
    "#ffffff": "#14171c",
    INK: "#e6e9ec",
    BLACK: "#e6e9ec",
    FAINT: "#a8b0b8",
    RULE: "#39414a",
    ALARM: "#43302a",
    WARNING: "#ffb184",
}
_REMARKS = {Strength.ESTIMATE: "estimate", Strength.REFUTED: "refuted"}
# The groups that matplotlib numbers in each picture: in a page with two pictures no id would be unique.
_NUMBERED = re.compile(r' id="[a-z][\w.]*_\d+"')


@contextmanager
def style() -> Iterator[None]:
    """Apply `STYLE` to matplotlib's own defaults, whatever the user has set.

    Lines, texts and legends take their sizes when they are made, so draw inside of `with style():`,
    or put `@style()` above the function that draws.

    >>> with style():
    ...     import matplotlib
    ...     matplotlib.rcParams["font.family"]
    ['DejaVu Sans']
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no talk of font caches on stderr
    try:
        from matplotlib.style import context
    except ValueError:  # it reads this variable as it is imported
        message = "MPLBACKEND must be unset, or a backend of matplotlib such as agg, got"
        backend = shown(os.environ.get("MPLBACKEND"))
        raise InvalidArgument(f"{message} {backend}", argument="MPLBACKEND") from None
    with context(["default", STYLE]):
        yield


def look_of(method: str, index: int = 0) -> Look:
    """The colour and marker of a method, or of the `index`-th line of something else.

    >>> look_of("rdp").marker, look_of("a new method", 3).marker
    ('s', 'D')
    """
    return METHODS[method][1] if method in METHODS else LOOKS[index % len(LOOKS)]


def method_name(method: str) -> str:
    """Return the name of a method in a legend.

    >>> method_name("rdp"), method_name("udp_fl.theorem7")
    ('RDP', 'udp_fl.theorem7')
    """
    return METHODS[method][0] if method in METHODS else method


def labelled(name: str, strength: Strength) -> str:
    """`name` with a remark where the number is no guarantee.

    >>> labelled("central limit", Strength.ESTIMATE), labelled("RDP", Strength.BOUND)
    ('central limit (estimate)', 'RDP')
    """
    remark = _REMARKS.get(strength)
    return f"{name} ({remark})" if remark else name


def plot_line(
    axes: Axes,
    x: Any,
    y: Any,
    *,
    label: str,
    look: Look,
    strength: Strength | str = Strength.CONVERGED,
    markers: int = 6,
    **more: Any,
) -> None:
    """One line whose dashes say how sure it is; nan leaves a gap, and an estimate is called one.

    `strength` is that of the weakest of its values, such as "bound"; `markers` about how many markers it
    has, 0 for none; `more` is what else matplotlib's `plot` takes.
    """
    grade = Strength.parse(strength)
    # Two lines' markers must not sit on each other: each starts a little later than the last.
    every = max(1, len(x) // markers) if markers else 1
    settings = {
        "color": look.colour,
        "linestyle": LINES[grade],
        "marker": look.marker if markers else None,
        "markevery": (min(len(axes.lines) * every // 5, len(x) - 1), every),
        "markerfacecolor": "white" if grade <= Strength.ESTIMATE else look.colour,
        "markeredgecolor": look.colour,
        "label": labelled(label, grade),
    }
    axes.plot(x, y, **(settings | more))


def to_bytes(figure: Figure, suffix: str) -> bytes:
    """The picture as bytes, ".svg", ".pdf" or ".png"; the same figure gives the same bytes.

    Its title goes into the file for those who can't see it. An SVG is one element, which may stand in a
    page of HTML. Raises `ValueError` for another suffix.

    >>> import dpacct as dp
    >>> to_bytes(dp.plots.profile(dp.Gaussian(sigma=2), epsilons=[0, 1]), ".png")[1:4]
    b'PNG'
    """
    if suffix not in FORMATS:
        raise ValueError(f"suffix must be one of {', '.join(FORMATS)}, got {suffix!r}")
    title = "".join(text.get_text() for text in figure.texts[:1])
    title = title.replace("\n", " ").replace(r"\$", "$")
    about: dict[str, Any] = {"Title": title} if title else {}
    if suffix == ".pdf":
        about["CreationDate"] = None  # a date would make two equal pictures differ
    elif suffix == ".svg":
        about = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    out = io.BytesIO()
    with style():
        import matplotlib as mpl

        mpl.rcParams["svg.hashsalt"] = (
            f"dpacct {title}"  # of ids, which two pictures must not share
        )
        if figure.get_layout_engine() is not None:
            # The layout is computed once; computing it again would shift the axes slightly.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(out, format=suffix[1:], metadata=about)
    if suffix != ".svg":
        return out.getvalue()
    picture = out.getvalue().decode().replace("'DejaVu Sans'", FONTS)
    element = _NUMBERED.sub("", picture[picture.index("<svg ") :])
    label = f' aria-label="{escape(title)}"' if title else ""
    return dark(element.replace("<svg ", f'<svg role="img"{label} ', 1)).encode()


def dark(picture: str) -> str:
    """An SVG that follows its reader's preference for light or dark pages.

    >>> dark("<svg><rect/></svg>").splitlines()[0]
    '<svg><rect/><style>@media screen and (prefers-color-scheme: dark) {'
    """
    body, end = picture.rsplit("</svg>", 1)
    # Without `svg` before them, since what <use> repeats (markers, ticks) has no such ancestor.
    rules = [
        f'[style*="{kind}: {light}" i], [{kind}="{light}" i] {{ {kind}: {other} !important }}'
        for light, other in DARK.items()
        for kind in ("fill", "stroke")
    ]
    sheet = "\n".join(["<style>@media screen and (prefers-color-scheme: dark) {", *rules])
    return f"{body}{sheet}\n}}</style>\n</svg>{end}"


def save(figure: Figure, path: Path | str) -> None:
    """Write the picture; the suffix of `path` (.svg, .pdf, .png) says in which form.

    Raises `ValueError` for another suffix, `OSError` where the file cannot be written.

    >>> import pathlib, tempfile, dpacct as dp
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "profile.svg"
    >>> save(dp.plots.profile(dp.Gaussian(sigma=2), epsilons=[0, 1]), file)
    >>> file.read_text()[:4]
    '<svg'
    """
    target = Path(path)
    target.write_bytes(to_bytes(figure, target.suffix.lower()))
