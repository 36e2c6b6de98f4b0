"""`dpacct-train attack` and `audit`: the success of attacks and canaries, compared with the proven bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpacct_training.attacks.sections import Result
    from dpacct_training.attacks.worlds import AttackedUnits, Watch


_COUNTER_EXAMPLE = 5
_KINDS = ("loss", "lira-online", "lira-offline", "inversion", "attribute")


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--kind", default="lira-online", show_default=True, help=", ".join(_KINDS))
@click.option("--client", default=0, show_default=True, help="Whose records, if records it is.")
@click.option("--shadows", default=96, show_default=True, help="Worlds; a quarter is attacked.")
@click.option("--images", default=16, show_default=True, help="Images to draw again.")
@click.option("--attribute", default="sex", show_default=True, help="What is to be guessed.")
@click.option("--confidence", default=0.999, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="A folder for report and pictures.")
@click.option("--set", "changes", multiple=True, help="section.key=value, as in the file.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def attack(
    experiment: Path,
    kind: str,
    out: Path | None,
    changes: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Attack EXPERIMENT, or each of its variants; exit 5 if that reaches what is proved impossible.

    Whom the attack is about is whom the plan protects: clients, or the records of one client.
    """
    from dpacct_training.extras import torch

    torch()  # without it, one sentence
    from dpacct import ReportDocument, ReportSection
    from dpacct_training.accept import one_of
    from dpacct_training.attacks import sections
    from dpacct_training.attacks.worlds import AttackedUnits
    from dpacct_training.cli.run import change, portions
    from dpacct_training.durable import write_text
    from dpacct_training.experiment import Experiment, prepare

    one_of("kind", kind, _KINDS)
    read = Experiment.read(experiment)
    values = dict(change(text) for text in changes)
    results: dict[str, Result] = {}
    units: dict[str, str] = {}
    for name, variant in (read.variants or {read.name: {}}).items():
        target = AttackedUnits(prepare(read.changed({**variant, **values})), settings["client"])
        with portions(quiet or as_json, name) as watch:
            results[name] = _attacked(target, kind, settings, watch)
        units[name] = sections.proven(target)
    head, _ = sections.rows(next(iter(results.values())))
    table = [
        (name, *row) if read.variants else row
        for name, result in results.items()
        for row in sections.rows(result)[1]
    ]
    document = ReportDocument(
        title=f"Attack on {read.name}: {kind}",
        lead="; ".join(
            f"{name}: {unit}" if read.variants else unit for name, unit in units.items()
        ),
        sections=(
            ReportSection(
                title="What was reached",
                head=("run", *head) if read.variants else head,
                rows=tuple(table),
                pictures=tuple(p for result in results.values() for p in sections.pictures(result)),
            ),
        ),
    )
    if out is not None:
        write_text(out / "attack.html", document.to_html())
        write_text(out / "attack.md", document.to_markdown())
    if as_json:
        bodies = [{"run": name, **sections.values(result)} for name, result in results.items()]
        answer: dict[str, Any] = {"schema": 1, "command": "attack", "kind": kind, "results": bodies}
        click.echo(json.dumps(answer))
    else:
        click.echo(document.to_text())
    beaten = [name for name, result in results.items() if sections.alarm(result)]
    for name in beaten:
        click.echo(
            f"dpacct-train: the attack on {name} reaches what is proved impossible", err=True
        )
    return _COUNTER_EXAMPLE if beaten else 0


def _attacked(target: AttackedUnits, kind: str, settings: dict[str, Any], watch: Watch) -> Result:
    from dpacct_training.attacks.inference import attribute, membership
    from dpacct_training.attacks.inversion import inversion

    keys, sure = target.prepared.keys(), settings["confidence"]
    if kind == "inversion":
        return inversion(target, settings["images"], keys=keys, confidence=sure, watch=watch)
    if kind == "attribute":
        return attribute(target, settings["attribute"], keys=keys, watch=watch)
    return membership(
        target, kind, worlds=settings["shadows"], keys=keys, confidence=sure, watch=watch
    )


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--canary", default="gradient", show_default=True, help="gradient or input.")
@click.option("--design", default="one-run", show_default=True, help="one-run or two-worlds.")
@click.option("--canaries", default=1000, show_default=True, help="Units that are canaries.")
@click.option("--runs", default=200, show_default=True, help="Runs of two worlds together.")
@click.option("--client", default=0, show_default=True, help="Whose records, if records it is.")
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
    changes: tuple[str, ...],
    scores: Path | None,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> int:
    """Run EXPERIMENT with canaries in it; exit 5 if it leaks more than proven."""
    from dpacct_training.extras import torch

    torch()  # without it, one sentence
    from dpacct_training.attacks.canaries import Auditing
    from dpacct_training.attacks.canaries import audit as audited
    from dpacct_training.cli.run import change, portions
    from dpacct_training.durable import write_text
    from dpacct_training.experiment import Experiment, prepare

    changed = Experiment.read(experiment).changed(dict(change(text) for text in changes))
    with portions(quiet or as_json, changed.name) as watch:
        result = audited(prepare(changed), Auditing(**how), watch=watch)
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
