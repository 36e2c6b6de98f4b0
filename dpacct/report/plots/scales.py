"""Logarithmic axes with numbers a reader knows: 0.1, 1, 10 where there is no need for powers."""

from __future__ import annotations

from typing import Any

_PLAIN = (1e-3, 1e6)
"""Within these a number is written out."""


def log_axis(axis: Any) -> None:
    """Make an axis (`axes.xaxis` or `axes.yaxis`) logarithmic; call it once the data are drawn."""
    from matplotlib.ticker import FuncFormatter

    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_scale("log")
    low, high = axis.get_view_interval()
    if low >= _PLAIN[0] and high <= _PLAIN[1]:
        axis.set_major_formatter(FuncFormatter(plain))
        axis.set_minor_formatter(FuncFormatter(_sparse if high / low < 100 else _nothing))


def plain(value: float, _: Any = None) -> str:
    """10000 as 10,000; never a power.

    >>> plain(10000.0), plain(0.5)
    ('10,000', '0.5')
    """
    return f"{value:,.12g}"


def _sparse(value: float, _: Any) -> str:
    """Labels between the decades, where there are few decades: only at 2 and 5."""
    return plain(value) if f"{value:e}"[0] in "25" else ""


def _nothing(value: float, _: Any) -> str:
    return ""


def signed_axis(axes: Any) -> None:
    """A vertical axis that is linear from -10 to 10 and logarithmic beyond, its ticks at powers of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_yscale("symlog", linthresh=10, linscale=0.6)
    low, high = (1.6 * end for end in axes.dataLim.intervaly)
    low, high = min(low, -5.0), max(high, 5.0)
    axes.set_ylim(low, high)
    powers = [10.0**e for e in range(1, 16, 2 if high > 1e5 else 1)]
    ticks = [-power for power in powers] + [0.0, *powers]
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(plain))
