"""Places in the navigation that need not be written down: statements by paper, and pages nobody placed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpacct.papers.registry import PAGES, Paper, papers

DOCS = Path(__file__).resolve().parents[1]
STATEMENTS = "Statements of the papers"
# A page that is not in mkdocs.yml stands at the end of the section of its folder.
SECTIONS = {
    ".": "Reference",
    "theory": "Theory",
    "extend": "Changing it",
    "migrate": "Migrating",
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
    for key, paper in papers().items():
        uris = {name: f"theorems/{key}/{name}.md" for name in ("paper", *paper.listed)}
        if (PAGES / key / "tables.md").is_file():
            uris["tables"] = f"theorems/{key}/tables.md"
        sections[STATEMENTS].append({titled(paper): [{name: uri} for name, uri in uris.items()]})
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


def titled(paper: Paper) -> str:
    """A paper as the navigation names it.

    >>> titled(papers()["udp_fl"])
    'Feng et al. (2024)'
    """
    return paper.short
