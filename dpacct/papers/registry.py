"""The registry of pages: pages/<paper>/paper.md lists a paper's statements in the paper's order."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpacct.errors import InvalidArgument
from dpacct.papers.page import Statement, header_of, parse

PAGES = Path(__file__).parent / "pages"
OTHERS = ("paper", "tables")
"""Files of a paper's folder that are no statements."""
_LISTED = re.compile(r"^- \[.*\]\((\w+)\.md\)$", re.MULTILINE)
_ID = re.compile(r"(\w+)\.(\w+)")
_FILLING = {"", "et", "al", "and", "the", "a", "of", "arxiv", "paper"}


class UnknownName(InvalidArgument):
    """No statement or paper of that name, or several; `candidates` are what may be meant."""

    def __init__(
        self, message: str, candidates: tuple[str, ...] = (), *, argument: str = "id"
    ) -> None:
        super().__init__(message, argument=argument)
        self.candidates = candidates


@dataclass(frozen=True)
class Paper:
    """A paper, with its folder of pages.

    `people` are its authors by their full names; `names` holds its key, acronyms, arXiv id and file name.
    """

    key: str
    title: str
    people: tuple[str, ...]
    year: int
    venue: str
    names: tuple[str, ...]
    listed: tuple[str, ...]

    @property
    def authors(self) -> str:
        """The authors' family names: "Shi, Wei, Shen"."""
        return ", ".join(name.split()[-1] for name in self.people)

    @property
    def short(self) -> str:
        """The citation in a line: `Shi et al. (2023)`."""
        families = self.authors.split(", ")
        first = " and ".join(families) if len(families) < 3 else f"{families[0]} et al."
        return f"{first} ({self.year})"


@cache
def papers() -> dict[str, Paper]:
    """Every paper by its key."""
    read = {}
    for path in sorted(PAGES.glob("*/paper.md")):
        header, body = header_of(path.read_text(encoding="utf-8"))
        read[path.parent.name] = Paper(
            path.parent.name,
            body.lstrip().partition("\n")[0].removeprefix("# "),
            tuple(header["authors"].split(", ")),
            int(header["year"]),
            header.get("venue", ""),
            tuple(name for name in header.get("also called", "").split(", ") if name),
            tuple(_LISTED.findall(body)),
        )
    return read


@cache
def get(name: str) -> Statement:
    """The statement of that id, from its page alone; raises `UnknownName` with the nearest ones.

    >>> get("dp_fed_ls.lemma2").verdict
    'proof-gap'
    """
    parts = _ID.fullmatch(name)
    if parts and parts[2] not in OTHERS:
        path = PAGES / parts[1] / f"{parts[2]}.md"
        if path.is_file():
            return parse(path.read_text(encoding="utf-8"), name, path)
    close = difflib.get_close_matches(name, ids(), n=3, cutoff=0.5)
    expected = "id must be that of a theorem (dpacct theorems list shows all)"
    raise UnknownName(f"{expected}, got {name[:60]!r}{_hint(close)}", tuple(close))


@cache
def ids() -> tuple[str, ...]:
    """Every id, paper by paper, in the order of the papers."""
    return tuple(f"{paper.key}.{name}" for paper in papers().values() for name in paper.listed)


def statements(paper: str | None = None) -> tuple[Statement, ...]:
    """All statements, or those of a paper (by its key), in the order of the paper."""
    return tuple(get(name) for name in ids() if paper is None or name.startswith(f"{paper}."))


def named(name: str) -> Paper:
    """The paper with this name; raises `UnknownName` with candidates if none or several have it.

    >>> named("UDP-FL").key, named("arXiv:2305.00873").key, named("Shi et al.").key
    ('udp_fl', 'dp_fedsam', 'dp_fedsam')
    """
    wanted = _plain(name.rpartition("/")[2])  # a file of its text may come with its folder
    words = {_plain(w) for w in re.split(r"[\s,&]+", name)} - _FILLING
    every = papers().values()
    meant = [p for p in every if wanted in map(_plain, (p.key, p.title, *p.names))]
    meant = meant or [p for p in every if words and words <= _described(p)]
    if len(meant) == 1:
        return meant[0]
    keys = [p.key for p in meant] or difflib.get_close_matches(name, papers(), n=1)
    message = f"{name[:60]!r} may mean {', '.join(keys)}"
    if not meant:
        expected = f"paper must be one of {', '.join(papers())}, or a name of one"
        message = f"{expected}, got {name[:40]!r}{_hint(keys)}"
    raise UnknownName(message, tuple(keys), argument="paper")


def _hint(close: list[str]) -> str:
    return f" (did you mean {close[0]!r}?)" if close else ""


def select(names: tuple[str, ...] = ()) -> list[Statement]:
    """The statements of these ids or papers; all, where none is named.

    >>> len(select(("mironov2017",))) < len(select())
    True
    """
    chosen: dict[str, Statement] = {} if names else {s.id: s for s in statements()}
    for name in names:
        if name in ids() or (_ID.fullmatch(name) and name.partition(".")[0] in papers()):
            chosen[name] = get(name)
            continue
        try:
            chosen |= {s.id: s for s in statements(named(name).key)}
        except UnknownName as unknown:
            if len(unknown.candidates) > 1:  # a name of several papers
                raise
            get(name)  # says that it is no id either, and names the nearest
    return list(chosen.values())


def _described(paper: Paper) -> set[str]:
    """The words by which a paper may be named, and its year."""
    text = f"{paper.key.replace('_', ' ')} {paper.title} {paper.authors} {paper.year} {paper.venue}"
    return set(map(_plain, re.split(r"[\s,:]+", f"{text} {' '.join(paper.names)}")))


def _plain(text: str) -> str:
    """Letters and digits only, in small letters."""
    plain = text.lower().removeprefix("arxiv:").removesuffix(".txt").removesuffix(".pdf")
    return re.sub(r"[^a-z0-9]", "", plain)
