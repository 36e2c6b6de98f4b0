"""`dpacct-train audit`: does a run leak more than was proven?"""

from __future__ import annotations

import json
from pathlib import Path

import click

_COUNTER_EXAMPLE = 5


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--canary", default="gradient", show_default=True, help="gradient or input.")
@click.option("--design", default="one-run", show_default=True, help="one-run or two-worlds.")
@click.option("--canaries", default=1000, show_default=True, help="Units that are canaries.")
@click.option("--runs", default=200, show_default=True, help="Runs of two worlds together.")
@click.option("--client", default=0, show_default=True, help="Whose records, if records it is.")
@click.option("--crafted", is_flag=True, help="Begin from weights that the attacker has trained.")
@click.option("--confidence", default=0.95, show_default=True)
@click.option("--set", "changes", multiple=True, help="section.key=value, as in the file.")
@click.option(
    "--weaken",
    default=1.0,
    show_default=True,
    help="Divide the noise that is drawn, not the one accounted, to see whether the audit notices.",
)
@click.option("--scores", type=click.Path(path_type=Path), help="A CSV file for `dpacct audit`.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def audit(
    experiment: Path,
    canary: str,
    design: str,
    canaries: int,
    runs: int,
    client: int,
    crafted: bool,
    confidence: float,
    changes: tuple[str, ...],
    weaken: float,
    scores: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run EXPERIMENT with canaries in it; exit 5 if it leaks more than proven."""
    from dpacct_training.extras import torch

    torch()  # without it, one sentence
    from dpacct_training.attacks.canaries import Auditing
    from dpacct_training.attacks.canaries import audit as audited
    from dpacct_training.cli.progress import portions
    from dpacct_training.cli.run import change
    from dpacct_training.durable import write_text
    from dpacct_training.experiment import Experiment
    from dpacct_training.prepare import prepare

    how = Auditing(
        canary=canary,
        design=design,
        canaries=canaries,
        runs=runs,
        client=client,
        crafted=crafted,
        confidence=confidence,
        weaken=weaken,
    )
    changed = Experiment.read(experiment).changed(dict(change(text) for text in changes))
    with portions(quiet or as_json, changed.name) as watch:
        result = audited(prepare(changed), how, watch=watch)
    if scores is not None:
        rows = zip(result.scores.values.tolist(), result.scores.included.tolist(), strict=True)
        lines = [f"{score!r},{there:d}" for score, there in rows]
        write_text(scores, "\n".join(("score,included", *lines, "")))
    if as_json:
        click.echo(json.dumps({"schema": 1, "command": "audit", **result.to_dict()}))
    else:
        click.echo(str(result))
    if result.alarm:
        click.echo(f"dpacct-train: {'; '.join(result.findings)}", err=True)
    return _COUNTER_EXAMPLE if result.alarm else 0
