"""A whole curve: a picture, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from dpacct.cli.command import CommandLine, command, group, option, plan, switch
from dpacct.cli.output import Result, payload
from dpacct.cli.plan_file import sampler
from dpacct.cli.target import MEANS
from dpacct.declare.domain import DELTA, EPSILON, SHARE, Integer, Real, Word
from dpacct.declare.record import Exclusive, Usage
from dpacct.declare.words import METHODS
from dpacct.errors import NotCertified
from dpacct.plan.node import resolve_adjacency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.report.plots.chart import Chart


KINDS: dict[str, tuple[int, Real]] = {
    "profile": (101, EPSILON),
    "tradeoff": (101, SHARE),
    "rdp": (101, Real(1)),
    "steps": (41, Real(1, 10**15, "both")),
}
"""The default number of points of each curve, and the domain of its horizontal axis."""
_ONE_METHOD = ("tradeoff", "rdp")
_DELTA = Fraction(1, 10**5)


class CurveWish(NamedTuple):
    """The curve that the options ask for."""

    line: CommandLine
    kind: str
    points: int | None
    start: Fraction | None
    stop: Fraction | None
    methods: tuple[str, ...]
    delta: Fraction | None


@command(
    "curve",
    plan(),
    group(
        "Curve",
        option(
            "--kind",
            "profile: delta over epsilon; tradeoff: type II over type I error; rdp: Renyi divergence"
            " over order; steps: epsilon over steps",
            Word(*KINDS),
            default="profile",
        ),
        option(
            "--points N",
            "how many: default 101, for steps 41",
            Integer(2, 100_000),
        ),
        option("--from start X", "where the axis begins", EPSILON),
        option("--to stop X", "where the axis ends", EPSILON),
        option(
            "--method methods NAME",
            "as often as you like, one curve for each; default: auto for a profile; exact, rdp and"
            " clt for steps",
            METHODS,
            multiple=True,
        ),
        option("--delta D", MEANS["delta"], DELTA),
    ),
    group(
        "Output",
        option(
            "--output -o FILE",
            "write to a file instead of stdout: .png, .svg or .pdf for a picture, .csv or .json",
        ),
        switch("--csv as_csv", "CSV also on a terminal, which gets a picture otherwise"),
        switch("--text as_text", "the terminal's picture also into a pipe"),
    ),
    examples=(
        "curve --noise-multiplier 1.1 --rate 0.01 --steps 1000",
        "curve --noise-multiplier 1.1 --rate 0.01 --steps 1000 --kind rdp --json",
        "curve --noise-multiplier 2 --kind tradeoff --points 50 -o tradeoff.png",
        "curve --noise-multiplier 1.1 --rate 0.01 --steps 1000 --method auto --method clt -o profile.svg",
        "curve --noise-multiplier 1.1 --rate 0.01 --kind steps --to 5000 --delta 1e-6 --points 9",
    ),
)
def main(
    line: CommandLine, *, output: str | None, as_csv: bool, as_text: bool, **asked: Any
) -> Result:
    """Compute a whole curve of a plan, as a picture, CSV or JSON.

    --delta (default 1e-5) is the delta of steps and rdp curves, and the one that a profile's
    title speaks of.
    """
    from dpacct.cli.output import in_terminal, shows_pictures, writable, write_chart

    if line.json + as_csv + as_text > 1:
        raise Exclusive("give one of --json, --csv and --text", argument="--json")
    path = None if output is None else writable(output)
    made, notes = chart(CurveWish(line, **asked))
    if made.infinite is not None:
        message = (
            f"{made.infinite} is not finite on all of this axis; narrow it with --from and --to"
        )
        raise NotCertified(message, argument="--from")
    notes = [f"note: {each}." for each in (*notes, *made.gaps())]
    if path is not None:
        write_chart(made, payload("curve", made.to_dict()), path)
        notes += [] if line.json else [f"wrote {path}"]

    def lines() -> list[str]:
        if path is not None:
            return []
        drawn = as_text or (shows_pictures() and not as_csv)
        return (in_terminal(made) if drawn else made.to_csv()).splitlines()

    return Result(made.to_dict, lines, notes=notes)


def chart(wish: CurveWish) -> tuple[Chart, list[str]]:
    """The chart, and notes on what was rounded or is missing.

    Raises `DpacctError` for an option that the kind has no use for, an axis that it can't have, and
    where the plan has no such curve.
    """
    from dpacct.report.plots import kinds

    kind, delta = wish.kind, _DELTA if wish.delta is None else wish.delta
    many = wish.points or KINDS[wish.kind][0]
    if kind in _ONE_METHOD and wish.methods not in ((), ("auto",)):
        message = "--method belongs to --kind profile and steps"
        raise Usage(f"{message}; a {kind} curve has one method", argument="--method")
    stated = wish.line.stated()
    if kind == "steps":
        said = stated.steps
        usual = 1000 if said.steps is None and said.epochs is None else said.count(wish.line.option)
        first, last = _ends(wish, 1.0, min(10.0 * usual, 1e15))
        counts = kinds.whole_counts(round(first), round(last), many)
        sampled = sampler(said, wish.line.option)
        if sampled is not None and sampled.span != "step":
            message = f"--kind steps is for samples drawn at each step, not in each {sampled.span}"
            raise Usage(message, argument="--kind")
        step = stated.repeated(stated.release(), 1)
        notes = stated.two_readings(resolve_adjacency(step))
        asked = None if said.steps is None and said.epochs is None else usual
        made = kinds.steps(step, counts=counts, delta=delta, methods=_named(wish), asked=asked)
        return made, notes
    node = stated.plan()
    if kind == "profile":
        axis = _between(wish, 0.0, lambda: kinds.usual_end(node), log=False)
        methods = tuple(dict.fromkeys(wish.methods)) or ("auto",)
        made = kinds.profile(node, epsilons=axis, methods=methods, delta=delta)
    elif kind == "tradeoff":
        made = kinds.tradeoff(node, alphas=_between(wish, 0.0, 1.0, log=False))
    else:
        chosen = (wish.start, wish.stop) != (None, None)
        orders = _between(wish, 1.1, 256.0, log=True) if chosen else None
        made = kinds.rdp(node, orders=orders, delta=delta, count=many)
    return made, [*stated.steps.notes, *stated.two_readings(resolve_adjacency(node))]


def _ends(wish: CurveWish, start: float, stop: Callable[[], float] | float) -> tuple[float, float]:
    """Both ends of the axis; an empty range or one outside the kind's domain is refused."""
    first = start if wish.start is None else float(wish.start)
    if wish.stop is not None:
        last = float(wish.stop)
    else:
        last = stop() if callable(stop) else stop
    if not first < last:
        message = f"--from must be below --to, got {first:g} and {last:g}"
        raise Usage(message, argument="--from")
    _, may = KINDS[wish.kind]
    if not (may.contains(Fraction(first)) and may.contains(Fraction(last))):
        message = f"--from and --to of a {wish.kind} curve must each be {may.words}"
        raise Usage(f"{message}, got {first:g} and {last:g}", argument="--from")
    return first, last


def _between(
    wish: CurveWish, start: float, stop: Callable[[], float] | float, *, log: bool
) -> NDArray[np.float64]:
    """The points of the axis."""
    import numpy as np

    first, last = _ends(wish, start, stop)
    many = wish.points or KINDS[wish.kind][0]
    made = np.geomspace(first, last, many) if log else np.linspace(first, last, many)
    made[0], made[-1] = first, last  # rounding must not move an end out of its domain
    return made


def _named(wish: CurveWish) -> tuple[str, ...] | None:
    """The methods asked for; auto is the exact one here, since a proof takes its time."""
    if not wish.methods:
        return None
    return tuple(dict.fromkeys("exact" if name == "auto" else name for name in wish.methods))
