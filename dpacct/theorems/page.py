"""The page of an entry, and the overview: Markdown, made from the entries alone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status
from dpacct.theorems.registry import entries, papers

_MADE = "<!-- Made by `dpacct theorems pages docs/theorems`; edit the entry, not this page. -->"
_MEANING = {
    "upper": "an upper bound",
    "lower": "a lower bound",
    "two-sided": "the exact value",
    "none": "a number without a side",
}


def page(entry: Entry) -> str:
    """One entry as Markdown: statement, domain, verdict, witness, correction, derivation."""
    paper = papers()[entry.paper]
    lines = [f"# {entry.id}", ""]
    lines += [f"{paper.authors}: *{paper.title}* ({paper.year}), {entry.locus}.", ""]
    lines += [entry.claim, ""]
    if entry.maths:
        lines += ["$$" + entry.maths + "$$", ""]
    facts = [("Verdict", f"**{entry.verdict}**, {entry.status}")]
    if entry.formula is not None:
        facts += [("Claims", _MEANING[str(entry.side)])]
    if entry.domain.domains:
        facts += [("Domain", f"`{entry.domain}`")]
    if entry.looseness:
        facts += [("Looseness", entry.looseness)]
    if entry.corrected_by:
        facts += [("Use instead", _link(entry.corrected_by))]
    if entry.relies_on:
        facts += [("Rests on", ", ".join(map(_link, entry.relies_on)))]
    lines += [f"- {name}: {told}" for name, told in facts]
    for title, text in (("Why", entry.reason), ("Derivation", entry.derivation)):
        if text:
            lines += ["", f"## {title}", "", text]
    if entry.witness is not None:
        lines += ["", "## Witness", "", f"`{_point(entry.witness.inputs)}`", ""]
        lines += [entry.witness.told] if entry.witness.told else []
    if entry.vectors:
        lines += ["", "## Numbers", "", "| inputs | printed formula | truth | from |"]
        lines += ["|---|---|---|---|"]
        lines += [
            f"| {_point(v.inputs)} | {_number(v.value)} | {_number(v.truth)} | "
            f"{'printed in the paper' if v.printed else v.source} |"
            for v in entry.vectors
        ]
    return "\n".join(lines).rstrip() + "\n"


def overview() -> str:
    """What holds in each paper: a table per paper."""
    lines = [_MADE, "", "# What holds in each paper", ""]
    for key, group in groupby(entries().values(), key=lambda entry: entry.paper):
        paper, listed = papers()[key], list(group)
        ours = sum(entry.status is Status.CORRECTED for entry in listed)
        held = sum(entry.verdict.printed_ok for entry in listed) - ours
        lines += [f"## {key}", "", f"{paper.authors}: *{paper.title}* ({paper.year})."]
        replaced = f"; {ours} further entries stand in for what does not" if ours else ""
        lines += [f"{held} of {len(listed) - ours} statements hold as they stand{replaced}.", ""]
        lines += ["| statement | where | verdict | status | use instead |", "|---|---|---|---|---|"]
        lines += [
            f"| {_link(e.id)} | {e.locus} | {e.verdict} | {e.status} | "
            f"{_link(e.corrected_by) if e.corrected_by else ''} |"
            for e in listed
        ]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def pages(folder: Path | None = None) -> dict[str, str]:
    """Every page by its file name, with the pictures that lie in `folder`/pictures."""
    found = {f"{e.id}.md": f"{_MADE}\n\n{page(e)}{_picture(e, folder)}" for e in entries().values()}
    return found | {"README.md": overview()}


def write_pages(folder: Path) -> list[Path]:
    """Write all pages into a folder, and remove the pages of entries that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages(folder)
    for old in folder.glob("*.md"):
        if old.name not in wanted and old.read_text(encoding="utf-8").startswith(_MADE):
            old.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in wanted]


def _picture(entry: Entry, folder: Path | None) -> str:
    """What figures/statements drew of it, if anything."""
    if folder is None or not (folder / "pictures" / f"{entry.id}.svg").is_file():
        return ""
    return f"\n## Picture\n\n![{entry.id} beside the truth](pictures/{entry.id}.svg)\n"


def _link(name: str) -> str:
    return f"[{name}]({name}.md)"


def _point(inputs: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in inputs.items())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.13g}"
