"""The statements' pages, taken into the site from the package as they stand, with what their header says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from dpacct.papers.page import Statement, header_of
from dpacct.papers.registry import PAGES, Paper, get, ids, papers, statements

FOLDER = "theorems"
PICTURES = Path(__file__).resolve().parents[1] / FOLDER / "pictures"
SHOWN = ("verdict", "evidence", "claims", "quantity", "use instead", "rests on", "outside")
ID = re.compile(r"\b\w+\.[a-z]\w+\b")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by MkDocs: pages/<paper>/<name>.md are theorems/<paper>/<name>.md; two more are made here."""
    for path in sorted(PAGES.glob("*/*.md")):
        uri = f"{FOLDER}/{path.relative_to(PAGES).as_posix()}"
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    files.append(File.generated(config, f"{FOLDER}/README.md", content=overview()))
    files.append(File.generated(config, f"{FOLDER}/errata.md", content=linked(errata())))
    return files


def on_page_read_source(page: Any, **_: Any) -> str | None:
    """Called by MkDocs before it looks for a header of its own."""
    path = Path(page.file.abs_src_path or "")
    return faced(path) if path.is_relative_to(PAGES) and path.stem != "tables" else None


def faced(path: Path) -> str:
    """The page with the facts of its header under its title, ids as links, and its picture."""
    header, body = header_of(path.read_text(encoding="utf-8"))
    title, _, rest = body.lstrip().partition("\n")
    facts = [f"- {key.capitalize()}: {linked(header[key], '..')}" for key in SHOWN if key in header]
    if "authors" in header:
        facts = [f"{header['authors']}. {header.get('venue', '')} ({header['year']})."]
    name = f"{path.parent.name}.{path.stem}"
    drawn = (PICTURES / f"{name}.svg").is_file()
    picture = f"\n\n## Picture\n\n![{name} beside the truth](../pictures/{name}.svg)\n"
    return "\n".join([title, "", *facts, rest]) + (picture if drawn else "")


def linked(text: str, root: str = ".") -> str:
    """The ids of statements as links."""

    def link(match: re.Match[str]) -> str:
        paper, _, name = match[0].partition(".")
        return f"[{match[0]}]({root}/{paper}/{name}.md)" if match[0] in ids() else match[0]

    return ID.sub(link, text)


def overview() -> str:
    """List which statements of each paper hold: a table per paper, in the order of the paper."""
    return "\n".join(["# What holds in each paper", "", *_tables()]) + "\n"


def _tables() -> Iterator[str]:
    for key, paper in papers().items():
        listed = statements(key)
        ours = sum(s.evidence == "corrected" for s in listed)
        held = sum(s.printed_ok for s in listed) - ours
        replaced = f"; {ours} further ones stand in for what does not" if ours else ""
        yield f"## {paper.short}: {paper.title}\n"
        yield f"{held} of {len(listed) - ours} statements hold as they stand{replaced}.\n"
        yield "| statement | where | verdict | evidence | use instead |\n|---|---|---|---|---|"
        yield from map(_row, listed)
        yield ""


def _row(statement: Statement) -> str:
    instead = linked(get(statement.corrected_by).id) if statement.corrected_by else ""
    cells = (linked(statement.id), statement.locus, statement.verdict, statement.evidence, instead)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


# --- errata

_FALSE = ("false", "ill-posed", "unread")
_HEAD = (
    "# Errata of the papers\n\nWhat the papers print and what does not hold, or can't be read in one way:"
    " each with a counter-example that `dpacct verify` judges again on every run, and with what to use"
    " instead. The statement's page has the derivation."
)


def errata() -> str:
    """The errata of all papers as one page, paper by paper in their order."""
    parts = [_HEAD]
    for key, paper in papers().items():
        wrong = [s for s in statements(key) if s.verdict in _FALSE]
        if wrong:
            where = f"{paper.venue}, {paper.year}" if paper.venue else paper.year
            parts += [f"## {paper.short}: {paper.title}", f"{paper.authors}. {where}."]
            parts += [part for s in wrong for part in _finding(s, paper)]
    return "\n\n".join(parts)


def _finding(statement: Statement, paper: Paper) -> Iterator[str]:
    yield f"### {statement.locus} ({statement.verdict})"
    yield f"*Printed.* {statement.claim}"
    if statement.maths:
        yield f"$${statement.maths}$$"
    yield statement.section("Why")
    if statement.witness:
        point, text = statement.witness
        at = ", ".join(f"{name}={value}" for name, value in point.items())
        yield f"*Counter-example.* `{at}`" + (f": {text}" if text else "")
    if statement.corrected_by:
        correct = get(statement.corrected_by)
        yield f"*Instead* (`{correct.id}`). {correct.claim}"
        if correct.maths and correct.maths != statement.maths:
            yield f"$${correct.maths}$$"
    yield f"*Cite this finding:*\n\n```bibtex\n{_bibtex(statement, paper)}\n```"


def _bibtex(statement: Statement, paper: Paper) -> str:
    title = f"{statement.locus} of {paper.short}, {paper.title}: erratum"
    return (
        f"@misc{{dpacct-{statement.id.replace('.', '-').replace('_', '-')},\n"
        f"  title = {{{title}}},\n"
        "  author = {{The dpacct authors}},\n"
        f"  note = {{dpacct theorems show {statement.id}}}\n}}"
    )
