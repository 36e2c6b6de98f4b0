"""A whole curve: a picture, CSV or JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.cli.command import CommandLine, command, group, option, plan
from dpacct.cli.output import Result
from dpacct.declare.domain import DELTA, EPSILON, SHARE, Integer, Real, Word
from dpacct.declare.record import Usage
from dpacct.errors import NotCertified

if TYPE_CHECKING:
    from dpacct.plan.node import Node
    from dpacct.report.plots.chart import Chart

KINDS = {"profile": EPSILON, "tradeoff": SHARE, "rdp": Real(1)}
"""The domain of each curve's horizontal axis."""


@command(
    "curve",
    plan(),
    group(
        "Curve",
        option(
            "--kind",
            "profile: delta over epsilon; tradeoff: type II over type I error; rdp: Renyi divergence"
            " over order",
            default="profile",
            choices=[*KINDS],
        ),
        option("--points N", "how many", default="101"),
        option("--from start X", "where the axis begins"),
        option("--to stop X", "where the axis ends"),
        option("--method methods NAME", "of a profile; several; default auto", multiple=True),
        option("--delta D", "the one that the title speaks of", default="1e-5"),
    ),
    group(
        "Output",
        option("--output -o FILE", "write to a file: .png, .svg, .pdf, .csv or .json"),
    ),
    examples=(
        "curve --noise-multiplier 1.1 --rate 0.01 --steps 1000",
        "curve --noise-multiplier 1.1 --rate 0.01 --steps 1000 --kind rdp --json",
        "curve --noise-multiplier 2 --kind tradeoff --points 50 -o tradeoff.png",
        "curve --noise-multiplier 1.1 --rate 0.01 --steps 1000 --method auto --method clt -o profile.svg",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute a whole curve of a plan: a picture on a terminal, CSV into a pipe, JSON, or a file.

    Several --method of a profile are compared.
    """
    from dpacct.cli import output, screens
    from dpacct.plan.node import resolve_adjacency

    file = line.get("output")
    path = None if file is None else output.writable(file)
    stated = line.stated()
    node = stated.plan()
    made = _chart(line, node)
    if made.infinite is not None:
        message = (
            f"{made.infinite} is not finite on all of this axis; narrow it with --from and --to"
        )
        raise NotCertified(message, argument="--from")
    notes = [*stated.steps.notes, *screens.two_readings(stated, resolve_adjacency(node))]
    notes = [f"note: {each}." for each in notes]
    if path is not None:
        output.write_chart(made, "curve", made.to_dict(), path)
        notes += [] if line.json else [f"wrote {path}"]

    def lines() -> list[str]:
        if path is not None:
            return []
        return (output.in_terminal(made) or made.to_csv()).splitlines()

    return Result(made.to_dict, lines, notes=notes)


def _chart(line: CommandLine, node: Node) -> Chart:
    """The chart that the options ask for; refuses an empty axis, and one outside the kind's domain."""
    import numpy as np

    from dpacct.report.plots import kinds

    kind, methods = line.read("kind", Word(*KINDS)) or "", tuple(dict.fromkeys(line.get("methods")))
    many, delta = line.read("points", Integer(2, 100_000)) or 0, line.read("delta", DELTA) or 0
    first, last = line.read("start", EPSILON), line.read("stop", EPSILON)
    if kind != "profile" and methods:
        message = f"--method belongs to --kind profile; a {kind} curve has one method"
        raise Usage(message, argument="--method")
    usual = {"profile": (0.0, None), "tradeoff": (0.0, 1.0), "rdp": (1.1, 256.0)}[kind]
    start = usual[0] if first is None else float(first)
    stop = (usual[1] or kinds.usual_end(node)) if last is None else float(last)
    if not start < stop:
        message = f"--from must be below --to, got {start:g} and {stop:g}"
        raise Usage(message, argument="--from")
    may = KINDS[kind]
    if not (may.contains(Fraction(start)) and may.contains(Fraction(stop))):
        message = f"--from and --to of a {kind} curve must each be {may.words}"
        raise Usage(f"{message}, got {start:g} and {stop:g}", argument="--from")
    axis = (np.geomspace if kind == "rdp" else np.linspace)(start, stop, many)
    axis[0], axis[-1] = start, stop  # rounding must not move an end out of its domain
    if kind == "profile":
        return kinds.profile(node, epsilons=axis, methods=methods or ("auto",), delta=delta)
    if kind == "tradeoff":
        return kinds.tradeoff(node, alphas=axis)
    orders = None if first is None and last is None else axis
    return kinds.rdp(node, orders=orders, delta=delta, count=many)
