"""Output of a chart: as a picture, CSV, JSON, or text on the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.cli.output import write_file
from dpacct.declare.domain import one_of
from dpacct.declare.record import Usage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpacct.report.plots.chart import Chart

PICTURES = (".png", ".svg", ".pdf")
FILES = (*PICTURES, ".csv", ".json")


def writable(output: str) -> Path:
    """The path, after checking its suffix and folder before any work is done.

    Raises:
        InvalidArgument: another suffix, or no such folder.
    """
    path = Path(output)
    if path.suffix.lower() not in FILES:
        raise Usage(
            f"--output must end in {one_of(FILES)}, got {output[:80]!r}", argument="--output"
        )
    if not path.parent.is_dir() or path.is_dir() or "\0" in output:
        raise Usage(f"--output {output[:80]!r} lies in no folder that exists", argument="--output")
    return path


def write(
    path: Path,
    body: Mapping[str, Any],
    csv: Callable[[], str],
    picture: Callable[[], tuple[Figure, str]],
) -> None:
    """Write a result in the form that the suffix says: its JSON, its CSV, or a figure with its title.

    Raises:
        InvalidArgument: the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix in PICTURES:
        from dpacct.report.plots.style import to_bytes

        drawn, title = picture()
        data = to_bytes(drawn, suffix, title=title)
    elif suffix == ".csv":
        data = csv().encode()
    else:
        data = (json.dumps(body, indent=2, allow_nan=False) + "\n").encode()
    write_file(data, str(path))


def write_chart(chart: Chart, body: Mapping[str, Any], path: Path) -> None:
    """Write a chart in the form that the suffix says."""
    from dpacct.report.plots.draw import draw

    write(path, body, chart.to_csv, lambda: (draw(chart), chart.title))


def shows_pictures() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def in_terminal(chart: Chart) -> str:
    """The chart as text for this terminal: braille where it has Unicode."""
    import shutil

    from dpacct.report.plots.terminal import text_plot

    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    columns, rows = shutil.get_terminal_size((80, 24))
    return text_plot(
        chart,
        width=min(columns, 110),
        height=max(8, min(rows - 10, 20)),
        braille=encoding.startswith("utf"),
    )
