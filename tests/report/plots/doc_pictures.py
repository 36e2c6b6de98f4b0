"""The pictures of docs/pictures.md: each made by the command that stands under it.

`python -m tests.report.plots.doc_pictures` makes them all again.
"""

import re
import shlex
import sys
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from tests.cli.runner import run
from tests.structure.project import ROOT

PAGES = ("pictures.md",)
SHOWN = re.compile(r"^!\[[^\]]+\]\(assets/pictures/([\w-]+\.svg)\)\n\n`dpacct ([^`]+)`$", re.M)
FOLDER = ROOT / "docs" / "assets" / "pictures"


@dataclass(frozen=True)
class Picture:
    """A file, and the words of the command that makes it."""

    file: str
    words: tuple[str, ...]

    def make(self, folder: Path) -> Path:
        """Make it in that folder."""
        output, name = self.words[-2:]
        assert (output, name) == ("-o", self.file), self
        inside = [str(ROOT / w) if w.startswith("docs/") else w for w in self.words[:-2]]
        done = run(*inside, "-o", str(folder / self.file))
        assert done.code == 0, done.stderr
        return folder / self.file

    def finding(self, folder: Path) -> str:
        """The title it would have today; a curve need not be drawn for that."""
        if self.words[0] != "curve":
            return title(self.make(folder))
        done = run(*self.words[:-2], "--json")
        assert done.code == 0, done.stderr
        return str(done.json["title"])


def pictures() -> list[Picture]:
    text = "\n".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES)
    return [Picture(file, tuple(shlex.split(words))) for file, words in SHOWN.findall(text)]


def title(path: Path) -> str:
    """The finding that a picture carries."""
    match = re.search(r'aria-label="(.*?)"', path.read_text(encoding="utf-8"))
    assert match is not None, f"{path} has no title"
    return unescape(match[1])


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for each in pictures():
        print(title(each.make(FOLDER)), file=sys.stdout)
