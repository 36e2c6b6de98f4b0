"""Places in the navigation that need not be written down: statements by paper, and pages nobody placed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from dpacct.theorems.registry import entries, papers

DOCS = Path(__file__).resolve().parents[1]
STATEMENTS = "What holds in the papers"
# A page that is not in mkdocs.yml stands at the end of the section of its folder.
SECTIONS = {
    ".": "Using it",
    "theory": "Why it is right",
    "extend": "Changing it",
    "migrate": "Moving over",
}


def on_config(config: Any, **_: Any) -> Any:
    """Called by MkDocs with its settings."""
    sections = {name: part[name] for part in config["nav"] for name in part}
    placed = set(pages(config["nav"]))
    for folder, name in SECTIONS.items():
        for path in sorted((DOCS / folder).glob("*.md")):
            uri = path.relative_to(DOCS).as_posix()
            if uri not in placed:
                sections[name].append({heading(path): uri})
    for paper, group in groupby(entries().values(), key=lambda entry: entry.paper):
        uris = [f"theorems/{one.id}.md" for one in group]
        listed = [{uri.split(".")[1]: uri} for uri in uris if (DOCS / uri).is_file()]
        if listed:
            sections[STATEMENTS].append({titled(paper): listed})
    return config


def pages(part: Any) -> Iterator[str]:
    """Every page of a part of the navigation."""
    if isinstance(part, str):
        yield part
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from pages(inner)


def heading(path: Path) -> str:
    """The first heading of a page."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(line[2:] for line in lines if line.startswith("# "))


def titled(paper: str) -> str:
    """A paper as the navigation names it.

    >>> titled("udp_fl"), titled("mironov2017")
    ('udp_fl (Feng 2024)', 'mironov2017')
    """
    told = papers()[paper]
    first = told.authors.split(",")[0].split()[-1]
    return paper if str(told.year) in paper else f"{paper} ({first} {told.year})"
