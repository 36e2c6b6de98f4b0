"""`dpacct curve`: profile, trade-off, Renyi curve, epsilon over steps, noise, gaps of methods."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.curve_data import KINDS, Wish, chart
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.failure import SCHEMA
from dpacct.cli.output import note, write_json
from dpacct.cli.picture import in_terminal, shows_pictures, writable, write
from dpacct.cli.plan import PlanOptions
from dpacct.cli.refusal import Refusal
from dpacct.cli.values import EPSILON, Choice, FilePath, Number
from dpacct.declare.domain import Integer

_POINTS = Number(Integer(2, 100_000))
_CURVE = "Curve"


@click.command(
    "curve",
    cls=ExampleCommand,
    rank=60,
    short_help="A whole curve: a picture, CSV or JSON.",
    examples=(
        "curve --sigma 1.1 --rate 0.01 --steps 1000",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --kind rdp --json",
        "curve --sigma 2 --kind tradeoff --points 50 -o tradeoff.png",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --method auto --method clt -o profile.svg",
        "curve --sigma 1.1 --rate 0.01 --kind steps --to 5000 --delta 1e-6 --points 9",
        "curve --rate 0.01 --steps 1000 --kind noise --points 7 -o noise.pdf",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --kind gap --points 9 -o gap.svg",
    ),
)
@option(
    "--kind",
    section=_CURVE,
    type=Choice(KINDS),
    default="profile",
    show_default=True,
    help="profile: delta over epsilon; tradeoff: type II over type I error; rdp: Renyi divergence"
    " over order; steps: epsilon over steps; noise: noise over epsilon; gap: how far other methods"
    " are from exact, over delta.",
)
@option(
    "--points",
    section=_CURVE,
    type=_POINTS,
    metavar="N",
    help="How many: default 101, for steps and gap 41, for noise 25.",
)
@option("--from", "start", section=_CURVE, type=EPSILON, metavar="X", help="Where the axis begins.")
@option("--to", "stop", section=_CURVE, type=EPSILON, metavar="X", help="Where the axis ends.")
@option(
    "--method",
    "methods",
    section=_CURVE,
    type=Choice(options.METHODS),
    metavar="NAME",
    multiple=True,
    help="As often as you like, one curve for each. Default: auto for a profile; exact, rdp and clt"
    " for steps, noise and gap.",
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
@option(
    "--csv",
    "as_csv",
    section="Output",
    is_flag=True,
    help="CSV also on a terminal, which gets a picture otherwise.",
)
@option(
    "--text",
    "as_text",
    section="Output",
    is_flag=True,
    help="The terminal's picture also into a pipe.",
)
@options.noise_options
@options.sampling_options
@options.steps_options
@options.epsilon_option(required=False)
@options.delta_option(required=False)
@options.meaning_options
def command(
    kind: str,
    points: Fraction | None,
    start: Fraction | None,
    stop: Fraction | None,
    methods: tuple[str, ...],
    output: str | None,
    as_json: bool,
    as_csv: bool,
    as_text: bool,
    epsilon: Fraction | None,
    delta: Fraction | None,
    **values: Any,
) -> None:
    """Compute a whole curve of a plan, as a picture, CSV or JSON.

    --delta (default 1e-5) is the delta of steps, noise and rdp curves, and the one that a profile's
    title speaks of.
    """
    if as_json + as_csv + as_text > 1:
        told = "give one of --json, --csv and --text."
        raise Refusal(told, "--json", kind="exclusive-options")
    path = None if output is None else writable(output)
    wish = Wish(
        None if points is None else int(points),
        None if start is None else float(start),
        None if stop is None else float(stop),
        tuple(dict.fromkeys(methods)),
        delta,
        epsilon,
    )
    made, notes = chart(kind, PlanOptions.take(values), wish)
    if made.infinite is not None:
        raise Refusal(
            f"{made.infinite} is not finite on all of this axis; narrow it with --from and --to.",
            "--from",
            kind="not-certified",
            status=ExitStatus.WITHHELD,
        )
    for line in [*notes, *made.gaps()]:
        note(f"note: {line}.")
    body = {"schema": SCHEMA, "command": "curve", **made.to_dict()}
    if path is not None:
        write(made, body, path)
        if as_json:
            write_json(body)
        else:
            note(f"wrote {path}")
    elif as_json:
        write_json(body)
    elif as_text or (shows_pictures() and not as_csv):
        click.echo(in_terminal(made), nl=False)
    else:
        click.echo(made.to_csv(), nl=False)
