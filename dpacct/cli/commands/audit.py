"""Lower bounds on epsilon from an attack's scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpacct.cli.command import ADJACENCY, CommandLine, argument, command, group, option
from dpacct.cli.output import ExitStatus, Result
from dpacct.declare.number import exact, fits
from dpacct.display import aligned

if TYPE_CHECKING:
    from dpacct.auditing.audit import Audit as Found


@command(
    "audit",
    group(
        "Audit",
        argument("SCORES"),
        option("--against PLAN", "a plan file: its epsilon and its trade-off curve are compared"),
        option("--delta D", "where epsilon is bounded; default: the plan file's, else 1e-5"),
        option("--confidence C", "joint confidence of all confidence bounds", default="0.95"),
        option(
            "--design",
            "one-run: canaries of one run, each in by a fair coin; two-worlds: independent runs",
            choices=("one-run", "two-worlds"),
            default="one-run",
        ),
        option("--thresholds HOW", "ranks (see --share), or numbers: 0.5,1", default="ranks"),
        option("--share shares A", "share beyond a threshold, or to guess; several", multiple=True),
        option("--score NAME", "column with the scores", default="score"),
        option("--included NAME", "column with the coins", default="included"),
        ADJACENCY,
    ),
    group(
        "Output",
        option(
            "--output --save -o output FILE", "also a picture of the error rates, or .csv, .json"
        ),
    ),
    examples=(
        "audit scores.csv",
        "audit scores.csv --against plan.toml",
        "audit scores.csv --delta 1e-6 --share 0.1 --json",
    ),
)
def main(line: CommandLine) -> Result:
    """Bound epsilon from below by the scores of canaries, and hold that against a plan.

    SCORES is a CSV file with a heading and the columns score (higher says that the canary was included;
    or guess: 1 in, -1 out, 0 none) and included (0 or 1), from any framework. Exits with 5 where the scores
    show more than is proven possible: then something in the chain is wrong.
    """
    from dpacct.auditing.audit import audit
    from dpacct.auditing.scores import read_csv
    from dpacct.cli.federated_plan import read_stated
    from dpacct.cli.output import writable, write_chart

    output, against = line.get("output"), line.get("against")
    path = None if output is None else writable(output)
    plan = None if against is None else read_stated(against)
    delta: Any = line.get("delta")
    if delta is None and plan is not None:
        delta = plan.delta
    columns = line.pick(("score", "included"))
    scores, guesses = read_csv(line.get("path"), columns["score"], columns["included"])
    said: dict[str, Any] = line.pick(("confidence", "design", "thresholds", "adjacency"))
    numbers = [exact(part) for part in said["thresholds"].split(",")]
    found = [float(each) for each in numbers if each is not None and fits(each)]
    if len(found) == len(numbers):  # or a word
        said["thresholds"] = found
    said["guesses" if guesses else "scores_in"] = scores.values
    result = audit(
        included=scores.included,
        delta="1e-5" if delta is None else delta,
        shares=line.get("shares") or None,
        against=None if plan is None else plan.node,
        **said,
    )
    if path is not None:
        write_chart(result.chart(), "audit", result.to_dict(), path)
    return Result(
        result.to_dict,
        lambda: _lines(result),
        notes=[f"wrote {path}"] if path else [],
        status=ExitStatus.COUNTER_EXAMPLE if result.alarm else 0,
    )


def _lines(audit: Found) -> Iterator[str]:
    """The lines of the first screen."""
    from dpacct.answer.answer import KNOWN, protected
    from dpacct.cli.screens import labelled
    from dpacct.declare.number import rounded

    ins, outs = audit.scores.sizes
    proven, sure = audit.proven, f"{100 * audit.confidence:g} %"
    head = f"epsilon is at least {rounded(audit.epsilon, 'down', 4)} with {sure} confidence"
    if proven is not None:
        head += f", and at most {rounded(float(proven), 'up', 4)} ({KNOWN[proven.strength]})"
    yield f"{head}    at delta {rounded(audit.delta, 'nearest', 6)}"
    where = "one run" if audit.design == "one-run" else "independent runs"
    yield f"  {ins + outs} canaries of {where}, {ins} included; thresholds: {audit.thresholds}"
    rows = [
        (
            bound.method,
            f">= {rounded(bound.epsilon, 'down', 4)}",
            "" if bound.mu is None else f">= {rounded(bound.mu, 'down', 4)}",
            f"holds with {sure} confidence{'' if bound.general else ', for Gaussian curves'}",
        )
        for bound in audit.bounds
    ]
    yield from aligned(("method", "epsilon", "mu", "what it is"), rows)
    if audit.p_value is not None:
        chance = rounded(audit.p_value, "up", 4)
        yield f"  chance of so many right guesses by the plan's trade-off curve: at most {chance}"
    if proven is not None:
        yield from labelled("protects", [protected(proven)])
    premises = dict.fromkeys(each.text for bound in audit.bounds for each in bound.assumptions)
    yield from labelled("assumes", [*premises])
    yield from labelled("ALARM", [f"an attack above the bound: {each}" for each in audit.findings])
    if audit.plan is not None and not audit.alarm:
        yield "  no contradiction was found; that proves nothing"
