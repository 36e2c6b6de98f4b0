"""One text, two readers: the links of the Markdown as it lies in the checkout, made to work in the site.

On GitHub a page links to its neighbours in the checkout. In the site a link out of docs/ leads to
the page or the picture that is taken in from there, and to the sources it is a name only.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from dpacct.papers.registry import PAGES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages outside docs/ that are part of the site, under the name they have there.
TAKEN_IN = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]+)?)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^ *(```|~~~)")
FORMULA = re.compile(r"\n(\$\$[^$]+\$\$)\n")
ITEM = re.compile(r"^ *(?:[-*+]|\d+\.) ")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by MkDocs: the pages and pictures from outside docs/ are taken in."""
    pictures = {
        f"figures/{p.name}": p for p in sorted((ROOT / "figures").iterdir()) if p.suffix == ".svg"
    }
    pages = {uri: ROOT / name for name, uri in TAKEN_IN.items()}
    for uri, path in (pages | pictures).items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the Markdown of a page."""
    source, uri = Path(page.file.abs_src_path or DOCS / "-").parent, page.file.src_uri

    def followed(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups()
        if ":" in target:
            return match.group()
        file = (source / target).resolve()
        inside = place(file)
        if inside is None:
            return match.group() if not file.exists() else text
        there = posixpath.relpath(inside, posixpath.dirname(uri) or ".")
        return f"{picture}[{text}]({there}{anchor or ''})"

    return LINK.sub(followed, spaced(markdown))


def place(file: Path) -> str | None:
    """Return the address of a file of the checkout within the site, or None if it is not part of it."""
    if file == PAGES:
        return "theorems/README.md"
    if file.is_relative_to(PAGES) and file.is_file():
        return f"theorems/{file.relative_to(PAGES).as_posix()}"
    if file.is_dir():
        file = file / "README.md"
    if not file.is_file():
        return None
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS).as_posix()
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else ""
    if name.startswith("figures/") and file.suffix == ".svg":
        return name
    return TAKEN_IN.get(name)


def spaced(markdown: str) -> str:
    """Blank lines before lists and around formulas: GitHub does without, Python-Markdown does not."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        fenced ^= bool(FENCE.match(line))
        before = lines[-1] if lines else ""
        if (
            not fenced
            and ITEM.match(line)
            and before.strip()
            and not before.startswith((" ", "#", "<!--"))
            and not ITEM.match(before)
        ):
            lines.append("")
        lines.append(line)
    return FORMULA.sub(r"\n\n\1\n\n", "\n".join(lines) + "\n")
