"""The statements of the papers: their places in the navigation, paper by paper."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from dpacct.theorems.registry import entries, papers

# The entry of mkdocs.yml under which the pages are listed.
SECTION = "What holds in the papers"


def on_config(config: Any, **_: Any) -> Any:
    """Called by MkDocs with its settings: every statement's page gets its place."""
    listed = {
        paper: [{one.id.partition(".")[2]: f"theorems/{one.id}.md"} for one in group]
        for paper, group in groupby(entries().values(), key=lambda entry: entry.paper)
    }
    for part in config["nav"]:
        if SECTION in part:
            part[SECTION] += [{titled(paper): pages} for paper, pages in listed.items()]
    return config


def titled(paper: str) -> str:
    """A paper as the navigation names it.

    >>> titled("udp_fl"), titled("mironov2017")
    ('udp_fl (Feng 2024)', 'mironov2017')
    """
    told = papers()[paper]
    first = told.authors.split(",")[0].split()[-1]
    return paper if str(told.year) in paper else f"{paper} ({first} {told.year})"
