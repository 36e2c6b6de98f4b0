"""`dpacct-train replicate`: the papers' claims, run over seeds and judged."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dpacct_training.replicate import Study, Trial, Watch


@click.command()
@click.argument("papers", nargs=-1, metavar="[PAPER]...")
@click.option("--quick", is_flag=True, help="The least seeds that decide anything, three.")
@click.option("--processes", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("replication"),
    show_default=True,
    help="Where results are kept, and continued.",
)
@click.option(
    "--experiments",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder of experiments with claims [default: those of the checkout].",
)
@click.option(
    "--page",
    "where",
    type=click.Path(path_type=Path),
    help="Where the page is written [default: OUT/replication.md].",
)
@click.option("--quiet", is_flag=True, help="Print the verdicts only.")
def replicate(
    papers: tuple[str, ...],
    quick: bool,
    processes: int,
    out: Path,
    experiments: Path | None,
    where: Path | None,
    quiet: bool,
) -> None:
    """Run the experiments of PAPER, or of all papers, and judge their claims.

    PAPER is a paper or the name of one experiment. What was interrupted goes on where it was. OUT
    holds the results and replication.md.
    """
    from dpacct_training.durable import write_text
    from dpacct_training.extras import torch
    from dpacct_training.replicate import EXPERIMENTS, read, studies
    from dpacct_training.replicate import replicate as run
    from dpacct_training.replication import PICTURES, page

    torch()
    wanted = studies(papers, experiments or EXPERIMENTS)
    _fetch(wanted)
    for study in wanted:
        watch = None if quiet else _lines(study.name)
        for verdict in run(study, out, quick=quick, processes=processes, watch=watch).verdicts():
            interval = f"{verdict.difference:+.2f} [{verdict.low:+.2f}, {verdict.high:+.2f}]"
            click.echo(f"{verdict.word}: {verdict.claim.says} ({interval})")
    everything = [read(study, out) for study in studies((), experiments or EXPERIMENTS)]
    written = where or out / "replication.md"
    drawn = {what: link for what, link in PICTURES.items() if (written.parent / link).exists()}
    write_text(written, page([study for study in everything if study.trials], drawn))
    click.echo(str(written))


def _lines(name: str) -> Watch:
    """A line for each run."""
    start, count = time.monotonic(), itertools.count(1)

    def watch(trial: Trial, of: int) -> None:
        done = next(count)
        left = (time.monotonic() - start) / done * (of - done)
        at = "".join(f" {k.rpartition('.')[2]}={v}" for k, v in trial.at.items())
        accuracy = f"accuracy {trial.measures['accuracy']:.2f} %"
        said = f"{done}/{of}  {name}  {trial.variant}{at} seed {trial.seed}"
        click.echo(f"{said}  {accuracy}  {left:.0f} s left")

    return watch


def _fetch(wanted: list[Study]) -> None:
    """The data of these experiments, where they are not here."""
    from dpacct_training.cli.progress import download_bar
    from dpacct_training.data import sources
    from dpacct_training.replicate import jobs

    fetchable = sources.by_name()
    data = [job.experiment.sections["data"] for study in wanted for job in jobs(study, 1)]
    for name in sorted({str(d.get(key)) for d in data for key in ("name", "public")}):
        if name in fetchable and not fetchable[name].path.exists():
            with download_bar(name) as progress:
                sources.fetch(name, progress)
