"""`dpacct-train attack` and `audit`: the success of attacks and canaries, compared with the proven bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpacct_training.attacks.worlds import AttackedUnits, AttackResult, Watch


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
    from dpacct_training.attacks.worlds import AttackedUnits
    from dpacct_training.cli.run import change, portions
    from dpacct_training.durable import write_text
    from dpacct_training.experiment import Experiment, prepare

    one_of("kind", kind, _KINDS)
    read = Experiment.read(experiment)
    values = dict(change(text) for text in changes)
    results: dict[str, AttackResult] = {}
    head: tuple[str, ...] = ()
    proven: list[str] = []
    rows: list[tuple[str, ...]] = []
    for name, variant in (read.variants or {read.name: {}}).items():
        target = AttackedUnits(prepare(read.changed({**variant, **values})), settings["client"])
        with portions(quiet or as_json, name) as watch:
            results[name] = _attacked(target, kind, settings, watch)
        proven.append(f"{name}: {target.proven}")
        head, found = results[name].table()
        rows += [(name, *row) for row in found]
    reached = ReportSection(
        title="What was reached",
        head=("run", *head),
        rows=tuple(rows),
        pictures=tuple(p for result in results.values() for p in result.pictures()),
    )
    title = f"Attack on {read.name}: {kind}"
    document = ReportDocument(title=title, lead="; ".join(proven), sections=(reached,))
    if out is not None:
        write_text(out / "attack.html", document.to_html())
        write_text(out / "attack.md", document.to_markdown())
    if as_json:
        bodies = [{"run": name, **result.values()} for name, result in results.items()]
        answer = {"schema": 1, "command": "attack", "kind": kind, "results": bodies}
        click.echo(json.dumps(answer))
    else:
        click.echo(document.to_text())
    beaten = [name for name, result in results.items() if result.alarm]
    for name in beaten:
        message = f"the attack on {name} reaches what is proved impossible"
        click.echo(f"dpacct-train: {message}", err=True)
    return _COUNTER_EXAMPLE if beaten else 0


def _attacked(
    target: AttackedUnits, kind: str, settings: dict[str, Any], watch: Watch
) -> AttackResult:
    from dpacct_training.attacks.inference import attribute, membership
    from dpacct_training.attacks.inversion import inversion

    how: dict[str, Any] = {"keys": target.prepared.keys(), "watch": watch}
    if kind == "attribute":
        return attribute(target, settings["attribute"], **how)
    how["confidence"] = settings["confidence"]
    if kind == "inversion":
        return inversion(target, settings["images"], **how)
    return membership(target, kind, worlds=settings["shadows"], **how)


@click.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--canaries", default=1000, show_default=True, help="Units that are canaries.")
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
    from dpacct_training.attacks import canaries
    from dpacct_training.cli.run import change, portions
    from dpacct_training.durable import write_text
    from dpacct_training.experiment import Experiment, prepare

    changed = Experiment.read(experiment).changed(dict(change(text) for text in changes))
    with portions(quiet or as_json, changed.name) as watch:
        result = canaries.audit(prepare(changed), canaries.Auditing(**how), watch=watch)
    if scores is not None:
        rows = zip(result.scores.values.tolist(), result.scores.included.tolist(), strict=True)
        lines = [f"{score!r},{there:d}" for score, there in rows]
        write_text(scores, "\n".join(("score,included", *lines, "")))
    body = {"schema": 1, "command": "audit", **result.to_dict()}
    click.echo(json.dumps(body) if as_json else str(result))
    if result.alarm:
        click.echo(f"dpacct-train: {'; '.join(result.findings)}", err=True)
    return _COUNTER_EXAMPLE if result.alarm else 0
