"""`dpacct curve`: a privacy profile, a trade-off curve or a Renyi curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.failure import SCHEMA
from dpacct.cli.output import note, write_json
from dpacct.cli.plan import PlanOptions, whole
from dpacct.cli.refusal import Refusal
from dpacct.cli.values import EPSILON, Choice, FilePath, Number, one_of

if TYPE_CHECKING:
    from dpacct.cli.curve_data import Curve

_KINDS = ("profile", "tradeoff", "rdp")
_PICTURES = (".png", ".svg", ".pdf")
_POINTS = Number("a whole number from 2 to 100000", least=2, most=100_000, whole=True)
_CURVE = "Curve"


@click.command(
    "curve",
    cls=ExampleCommand,
    rank=60,
    short_help="A whole curve: CSV, JSON or a picture.",
    examples=(
        "curve --sigma 1.1 --rate 0.01 --steps 1000",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --kind rdp --json",
        "curve --sigma 2 --kind tradeoff --points 50 -o tradeoff.png",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --method auto --method clt -o profile.svg",
    ),
)
@option(
    "--kind",
    section=_CURVE,
    type=Choice(_KINDS),
    default="profile",
    show_default=True,
    help="delta over epsilon, type II over type I error, or Renyi divergence over order.",
)
@option("--points", section=_CURVE, type=_POINTS, default="101", show_default=True, metavar="N")
@option("--from", "start", section=_CURVE, type=EPSILON, metavar="X", help="Where the axis begins.")
@option("--to", "stop", section=_CURVE, type=EPSILON, metavar="X", help="Where the axis ends.")
@option(
    "--method",
    "methods",
    section=_CURVE,
    type=Choice(options.METHODS),
    metavar="NAME",
    multiple=True,
    help="For profiles, and as often as you like: one curve for each method (default: auto).",
)
@option(
    "--output",
    "-o",
    section=_CURVE,
    type=FilePath(),
    metavar="FILE",
    help="Write to a file instead of stdout: .png, .svg or .pdf for a picture, .csv or .json.",
)
@options.json_option
@options.noise_options
@options.sampling_options
@options.steps_options
@options.meaning_options
def command(
    kind: str,
    points: Any,
    start: Any,
    stop: Any,
    methods: tuple[str, ...],
    output: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Compute a whole curve of a plan and write it as CSV, JSON or a picture."""
    from dpacct.cli import curve_data
    from dpacct.tree import resolve_adjacency

    path = None if output is None else _writable(output)
    node, notes = whole(PlanOptions.take(values))
    adjacency = str(resolve_adjacency(node))
    ends = (None if end is None else float(end) for end in (start, stop))
    span = curve_data.Range(int(points), *ends)
    if kind == "profile":
        curve = curve_data.profile(
            node, span, tuple(dict.fromkeys(methods or ("auto",))), adjacency
        )
    elif methods not in ((), ("auto",)):
        raise Refusal(
            f"--method belongs to --kind profile; a {kind} curve has one method.", "--method"
        )
    elif kind == "tradeoff":
        curve = curve_data.tradeoff(node, span, adjacency)
    else:
        curve = curve_data.rdp(node, span, adjacency)
    curve.must_be_finite()
    for line in notes:
        note(f"note: {line}.")
    body = {"schema": SCHEMA, "command": "curve", **curve.to_dict()}
    if path is not None:
        _write(curve, body, path)
        if as_json:
            write_json(body)
        else:
            note(f"wrote {path}")
    elif as_json:
        write_json(body)
    else:
        click.echo(curve.to_csv(), nl=False)


def _writable(output: str) -> Path:
    """The path, once its suffix is known and its folder exists: better now than after the work."""
    path = Path(output)
    known = (*_PICTURES, ".csv", ".json")
    if path.suffix.lower() not in known:
        raise Refusal(f"--output must end in {one_of(known)}; got {output!r}.", "--output")
    if not path.parent.is_dir() or path.is_dir() or "\0" in output:
        raise Refusal(f"--output {output!r} lies in no folder that exists.", "--output")
    return path


def _write(curve: Curve, body: dict[str, Any], path: Path) -> None:
    import json

    try:
        if path.suffix.lower() in _PICTURES:
            from dpacct.cli.picture import draw

            draw(curve, path)
        elif path.suffix.lower() == ".csv":
            path.write_text(curve.to_csv(), encoding="utf-8")
        else:
            text = json.dumps(body, indent=2, allow_nan=False)
            path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise Refusal(f"cannot write {str(path)!r}: {error.strerror}.", "--output") from None
