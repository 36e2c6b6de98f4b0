"""A whole curve: a picture, CSV or JSON."""

from __future__ import annotations

from fractions import Fraction

import click

from dpacct.cli.command import Command, File
from dpacct.cli.question import METHOD
from dpacct.declare.domain import EPSILON, Flag, Integer, Word
from dpacct.declare.record import Exclusive, Parameter, Several
from dpacct.declare.words import Target
from dpacct.errors import NotCertified

KINDS = ("profile", "tradeoff", "rdp", "steps", "noise", "gap")


class Curve(Command):
    """Compute a whole curve of a plan, as a picture, CSV or JSON.

    --delta (default 1e-5) is the delta of steps, noise and rdp curves, and the one that a profile's
    title speaks of.
    """

    plan = True
    heading = "Curve"
    headings = dict.fromkeys(("csv", "text"), "Output") | dict.fromkeys(
        ("epsilon", "delta"), "Target"
    )
    kind: Parameter[str] = Parameter(
        Word(*KINDS, also={"trade-off": "tradeoff"}),
        "profile: delta over epsilon; tradeoff: type II over type I error; rdp: Renyi divergence over"
        " order; steps: epsilon over steps; noise: noise over epsilon; gap: how far other methods are"
        " from exact, over delta",
        default="profile",
    )
    points: Parameter[int | None] = Parameter(
        Integer(2, 100_000),
        "how many: default 101, for steps and gap 41, for noise 25",
        "N",
        default=None,
    )
    start: Parameter[Fraction | None] = Parameter(
        EPSILON, "where the axis begins", "X", default=None, alias="from"
    )
    stop: Parameter[Fraction | None] = Parameter(
        EPSILON, "where the axis ends", "X", default=None, alias="to"
    )
    methods: Parameter[tuple[str, ...]] = Several(
        METHOD.domain,
        "as often as you like, one curve for each; default: auto for a profile; exact, rdp and clt for"
        " steps, noise and gap",
        "NAME",
        default=(),
        alias="method",
    )
    output: Parameter[str | None] = Parameter(
        File(),
        "write to a file instead of stdout: .png, .svg or .pdf for a picture, .csv or .json",
        "FILE",
        default=None,
    )
    epsilon: Parameter[Fraction | None] = Target.epsilon.optional()
    delta: Parameter[Fraction | None] = Target.delta.optional()
    as_csv: Parameter[bool] = Parameter(
        Flag(), "CSV also on a terminal, which gets a picture otherwise", default=False, alias="csv"
    )
    as_text: Parameter[bool] = Parameter(
        Flag(), "the terminal's picture also into a pipe", default=False, alias="text"
    )
    examples = (
        "curve --sigma 1.1 --rate 0.01 --steps 1000",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --kind rdp --json",
        "curve --sigma 2 --kind tradeoff --points 50 -o tradeoff.png",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --method auto --method clt -o profile.svg",
        "curve --sigma 1.1 --rate 0.01 --kind steps --to 5000 --delta 1e-6 --points 9",
        "curve --rate 0.01 --steps 1000 --kind noise --points 7 -o noise.pdf",
        "curve --sigma 1.1 --rate 0.01 --steps 1000 --kind gap --points 9 -o gap.svg",
    )

    def run(self) -> None:
        """Compute, and write."""
        from dpacct.answer import SCHEMA
        from dpacct.cli.curve_data import chart
        from dpacct.cli.output import note, write_json
        from dpacct.cli.picture import in_terminal, shows_pictures, writable, write

        if self.as_json + self.as_csv + self.as_text > 1:
            raise Exclusive("give one of --json, --csv and --text", argument="--json")
        path = None if self.output is None else writable(self.output)
        made, notes = chart(self)
        if made.infinite is not None:
            message = (
                f"{made.infinite} is not finite on all of this axis; narrow it with --from and --to"
            )
            raise NotCertified(message, argument="--from")
        for line in [*notes, *made.gaps()]:
            note(f"note: {line}.")
        body = {"schema": SCHEMA, "command": "curve", **made.to_dict()}
        if path is not None:
            write(made, body, path)
            if self.as_json:
                write_json(body)
            else:
                note(f"wrote {path}")
        elif self.as_json:
            write_json(body)
        elif self.as_text or (shows_pictures() and not self.as_csv):
            click.echo(in_terminal(made), nl=False)
        else:
            click.echo(made.to_csv(), nl=False)
