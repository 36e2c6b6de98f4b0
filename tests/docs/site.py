"""The site, built once: what the tests of the documentation look at."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

from tests.structure.project import ROOT

# What a browser fetches by itself to show a page, and where each names it.
FETCHED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
}


@dataclass
class Seen(HTMLParser):
    """What one page refers to: `fetched` to be shown, `links` to be followed, `anchors` to arrive at."""

    fetched: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if FETCHED.get(tag, "") in attributes:
            self.fetched.append(attributes[FETCHED[tag]])
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}


@dataclass(frozen=True)
class Site:
    """A built site and what building it printed."""

    folder: Path
    printed: str
    code: int

    @cached_property
    def pages(self) -> dict[str, Seen]:
        """Every page by its place in the site."""
        results = {}
        for path in sorted(self.folder.rglob("*.html")):
            seen = Seen()
            seen.feed(path.read_text(encoding="utf-8"))
            results[path.relative_to(self.folder).as_posix()] = seen
        return results


def build(folder: Path) -> Site:
    """`mkdocs build --strict` into a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},  # the theme's advertisement
        capture_output=True,
        text=True,
        check=False,
    )
    return Site(folder, done.stdout + done.stderr, done.returncode)
