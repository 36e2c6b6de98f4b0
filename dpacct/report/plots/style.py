"""One style for every picture: print, grey copies and colour-blind readers in mind.

A method keeps its colour and its marker in every figure; how sure its number is, is said by the
line. Nothing depends on the reader's own matplotlib settings, and equal pictures are equal bytes.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = 6.3
"""Width in inches of a figure across the text of an A4 or letter page."""
COLUMN = 3.4
"""Width in inches of a figure in one of two columns."""
SIZE = 9.0
"""Points of the text at the axes; never scaled, so it is as large in print as the caption."""
FORMATS = (".svg", ".pdf", ".png")
"""Suffixes that `save` knows."""

# Okabe and Ito, "Color Universal Design" (2008): eight colours that all readers can tell apart.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
INK, FAINT, RULE, ALARM = "#222222", "#595959", "#D9D9D9", "#F6E3D8"
WARNING = "#9C3D00"
"""Words on ALARM: 5.4 times as bright a ground as they are, where VERMILION has 3.1 (WCAG asks 4.5)."""
ON_LIGHT, ON_DARK = "#212121", "#FEFEFE"
"""Words and lines on a ground that stays as it is on a dark page: a heat map's cells."""


@dataclass(frozen=True)
class Look:
    """A colour and a marker, which belong together."""

    colour: str
    marker: str


LOOKS = (
    Look(BLUE, "o"),
    Look(VERMILION, "s"),
    Look(GREEN, "^"),
    Look(PURPLE, "D"),
    Look(ORANGE, "v"),
    Look(SKY, "P"),
    Look(BLACK, "X"),
)
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
_DARK = {  # the paper, the ink and the shades of a picture on a dark page; lines keep their colours
    "#ffffff": "#15191e",
    INK: "#e6e9ec",
    BLACK: "#e6e9ec",
    FAINT: "#a8b0b8",
    RULE: "#39414a",
    ALARM: "#43302a",
    WARNING: "#ffb184",
}
_REMARKS = {Strength.ESTIMATE: "estimate", Strength.REFUTED: "refuted"}
_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is everywhere the same
    "mathtext.fontset": "dejavusans",
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "xtick.labelsize": SIZE - 1,
    "ytick.labelsize": SIZE - 1,
    "legend.fontsize": SIZE - 1,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "lines.markeredgewidth": 0.6,
    "axes.unicode_minus": True,
    "axes.prop_cycle": f"cycler('color', {[look.colour for look in LOOKS]})",
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read out
    "svg.hashsalt": "dpacct",  # the ids in an SVG, else new in every run
    "pdf.fonttype": 42,  # TrueType, embedded
    "path.simplify": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib's own defaults and the settings above them, whatever the user has set.

    Lines, texts and legends take their sizes when they are made, so draw inside of `with style():`,
    or put `@style()` above the function that draws.

    >>> with style():
    ...     import matplotlib
    ...     matplotlib.rcParams["font.family"]
    ['DejaVu Sans']
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no talk of font caches on stderr
    try:
        import matplotlib as mpl
    except ValueError:  # it reads this variable as it is imported
        message = "MPLBACKEND must be unset, or a backend of matplotlib such as agg, got"
        backend = shown(os.environ.get("MPLBACKEND"))
        raise InvalidArgument(f"{message} {backend}", argument="MPLBACKEND") from None

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
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


def labelled(name: str, strength: Strength | str) -> str:
    """`name` with a remark where the number is no guarantee.

    >>> labelled("central limit", "estimate"), labelled("RDP", "bound")
    ('central limit (estimate)', 'RDP')
    """
    remark = _REMARKS.get(Strength.parse(strength))
    return f"{name} ({remark})" if remark else name


def plot_line(
    axes: Axes,
    x: Any,
    y: Any,
    *,
    label: str,
    look: Look,
    strength: Strength | str | Sequence[Strength] = Strength.CONVERGED,
    markers: int = 6,
    **more: Any,
) -> None:
    """One line whose dashes say how sure it is.

    Args:
        axes: where to draw.
        x: the horizontal values.
        y: the vertical values; nan leaves a gap.
        label: its name in the legend; an estimate is called one.
        look: its colour and marker.
        strength: "proved", "bracketed", "converged", "bound", "published", "estimate" or "refuted"; or
            that of each value, and then the dashes change along the line.
        markers: about how many markers; 0 for none.
        more: anything else that matplotlib's `plot` takes.
    """
    count = len(x)
    words = [strength] * count if isinstance(strength, str) else strength
    grades = [Strength.parse(word) for word in words]
    # Two lines' markers must not sit on each other: each starts a little later than the last.
    every = max(1, count // markers) if markers else 1
    begin = len({line.get_color() for line in axes.lines}) * every // 5
    marked = set(range(begin, count, every)) if markers else set()
    runs = _runs(grades)
    longest = max(runs, key=lambda run: run[1] - run[0])
    for run in runs:
        first, last, word = run
        settings = {
            "color": look.colour,
            "linestyle": LINES[word],
            "marker": look.marker if markers else None,
            "markevery": [i - first for i in range(first, last) if i in marked],
            "markerfacecolor": "white" if word <= Strength.ESTIMATE else look.colour,
            "markeredgecolor": look.colour,
            "label": labelled(label, word) if run is longest else "_",
        }
        axes.plot(x[first:last], y[first:last], **(settings | more))


def _runs(grades: Sequence[Strength]) -> list[tuple[int, int, Strength]]:
    """The stretches of equal strength, first and last + 1; each begins at the end of the one before."""
    runs: list[tuple[int, int, Strength]] = []
    begin = 0
    for end in range(1, len(grades) + 1):
        if end == len(grades) or grades[end] is not grades[begin]:
            runs.append((max(0, begin - 1), end, grades[begin]))
            begin = end
    return runs


def to_bytes(figure: Figure, suffix: str, *, title: str = "") -> bytes:
    """The picture as bytes, ".svg", ".pdf" or ".png"; the same figure gives the same bytes.

    `title` goes into the file for those who can't see it, and for search engines. Where things stand
    is settled the first time. Raises `ValueError` for another suffix.

    >>> import dpacct as dp
    >>> to_bytes(dp.plots.profile(dp.Gaussian(sigma=2), epsilons=[0, 1]), ".png")[1:4]
    b'PNG'
    """
    if suffix not in FORMATS:
        raise ValueError(f"suffix must be one of {', '.join(FORMATS)}, got {suffix!r}")
    # A date would make two equal pictures differ.
    about: Any = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    about |= {"Title": title} if title else {}
    out = io.BytesIO()
    with style():
        if figure.get_layout_engine() is not None:
            # The layout is computed once; computing it again would shift the axes slightly.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(out, format=suffix[1:], metadata=about)
    if suffix == ".svg":
        return dark(out.getvalue().decode().replace("'DejaVu Sans'", FONTS)).encode()
    return out.getvalue()


def dark(picture: str) -> str:
    """An SVG that follows its reader's preference for light or dark pages.

    >>> dark("<svg><rect/></svg>").splitlines()[0]
    '<svg><rect/><style>@media (prefers-color-scheme: dark) {'
    """
    body, end = picture.rsplit("</svg>", 1)
    rules = [
        f'[style*="{kind}: {light}" i], [{kind}="{light}" i] {{ {kind}: {other} !important }}'
        for light, other in _DARK.items()
        for kind in ("fill", "stroke")
    ]
    sheet = "\n".join(["<style>@media (prefers-color-scheme: dark) {", *rules, "}</style>"])
    return f"{body}{sheet}\n</svg>{end}"


def save(figure: Figure, path: Path | str) -> None:
    """Write the picture; the suffix of `path` (.svg, .pdf, .png) says in which form.

    Raises `ValueError` for another suffix, `OSError` where the file cannot be written.

    >>> import pathlib, tempfile, dpacct as dp
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "profile.svg"
    >>> save(dp.plots.profile(dp.Gaussian(sigma=2), epsilons=[0, 1]), file)
    >>> file.read_text()[:5]
    '<?xml'
    """
    target = Path(path)
    target.write_bytes(to_bytes(figure, target.suffix.lower()))
