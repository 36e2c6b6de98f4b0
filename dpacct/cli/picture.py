"""Draws a curve: one clean figure, the same bytes for the same plan."""

from __future__ import annotations

import logging
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dpacct.cli.curve_data import Curve

# Okabe and Ito's colours, which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_AXES = {
    "profile": ("epsilon", "delta"),
    "tradeoff": ("type I error (false positive rate) of an attacker", "least type II error"),
    "rdp": ("Rényi order", "Rényi divergence (epsilon)"),
}
_TITLES = {
    "profile": "Privacy profile",
    "tradeoff": "Trade-off curve (safe lower bound)",
    "rdp": "Rényi differential privacy",
}


def draw(curve: Curve, path: Path) -> None:
    """Write the picture of a curve; the suffix of `path` (.png, .svg, .pdf) says in which form.

    Raises:
        OSError: the file cannot be written.
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # no talk of font caches on stderr
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Text in an SVG stays text, and its ids do not change from run to run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dpacct", "font.size": 10}):
        size = (5.0, 5.2) if curve.kind == "tradeoff" else (6.4, 4.4)
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        axes = figure.add_subplot()
        horizontal, *others = curve.columns
        for name, colour in zip(others, _COLOURS, strict=False):
            estimate = name in curve.estimates
            axes.plot(
                curve.columns[horizontal],
                curve.columns[name],
                color=colour,
                linewidth=1.3 if estimate else 1.8,
                linestyle="--" if estimate else "-",
                label=_label(name) + (" (estimate)" if estimate else ""),
            )
        axes.set_xlabel(_AXES[curve.kind][0])
        axes.set_ylabel(_AXES[curve.kind][1])
        if curve.kind == "profile":
            axes.set_yscale("log")
        elif curve.kind == "rdp":
            axes.set_xscale("log")
            axes.set_yscale("log")
        else:
            axes.plot([0, 1], [1, 0], color="0.6", linewidth=1, linestyle=":", label="no leak")
            axes.set_aspect("equal")
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
        axes.grid(color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        for edge in ("top", "right"):
            axes.spines[edge].set_visible(False)
        if len(others) > 1 or curve.kind == "tradeoff":
            axes.legend(frameon=False)
        subtitle = _subtitle(curve)
        axes.text(0, 1.02, subtitle, transform=axes.transAxes, va="bottom", size=8, color="0.3")
        room = 11 * (subtitle.count("\n") + 1) + 8  # points
        axes.set_title(_TITLES[curve.kind], loc="left", fontsize=12, pad=room)
        figure.savefig(path, metadata=_undated(path.suffix))


def _label(column: str) -> str:
    """`delta_rdp` is the rdp method; a plain column is the strongest answer."""
    return column.partition("_")[2] or "this plan"


def _subtitle(curve: Curve) -> str:
    plan = textwrap.shorten(str(curve.plan), 300, placeholder=" ...")
    return "\n".join(
        [
            *textwrap.wrap(plan, 70 if curve.kind == "tradeoff" else 90),
            f"adjacency {curve.adjacency}",
        ]
    )


def _undated(suffix: str) -> dict[str, None] | None:
    """Metadata that leave out the date, which alone would make two equal pictures differ."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
