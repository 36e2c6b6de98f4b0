"""`dpacct-train audit`: does what is released leak more than was proven?"""

from __future__ import annotations

from pathlib import Path

import click

_COUNTER_EXAMPLE = 5


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--canaries", default=1000, show_default=True, help="Clients that are canaries.")
@click.option("--confidence", default=0.95, show_default=True)
@click.option("--set", "changes", multiple=True, help="section.key=value, as in the file.")
@click.option(
    "--weaken",
    default=1.0,
    show_default=True,
    help="Divide the noise that is drawn, not the one accounted, to see whether the audit notices.",
)
def audit(
    experiment: Path, canaries: int, confidence: float, changes: tuple[str, ...], weaken: float
) -> int:
    """Run EXPERIMENT once with canaries among its clients; exit 5 if it leaks more than proven."""
    from dpacct_training.accept import positive
    from dpacct_training.extras import torch

    torch()  # without it, one sentence
    from dpacct_training.audit.canaries import audit as audited
    from dpacct_training.cli.run import change
    from dpacct_training.experiment import Experiment
    from dpacct_training.prepare import prepare

    factor = positive("weaken", weaken)
    changed = Experiment.read(experiment).changed(dict(change(text) for text in changes))
    result = audited(prepare(changed), canaries, confidence=confidence, weakened=factor)
    click.echo(str(result))
    return _COUNTER_EXAMPLE if result.alarm else 0
