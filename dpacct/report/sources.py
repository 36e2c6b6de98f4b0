"""The works that answers cite, and the sources of an answer: theorems, their works, the registry's verdicts.

Papers of the theorem registry bring themselves; works.toml has the others, and the fuller form of some. A
work is recognised in a citation by its authors, or by its title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.papers.registry import Paper


@dataclass(frozen=True)
class Work:
    """One entry of a bibliography.

    Attributes:
        key: its name in BibTeX.
        authors: "Given Family" of each.
        title: its title.
        year: when it appeared.
        venue: journal or proceedings; "" for a book or software.
        kind: the BibTeX type.
        more: further fields, such as volume or url.
        paper: the key of the same paper in the theorem registry, if it is there.
        cited_as: phrases by which a citation of this work is recognised, besides its title.
    """

    key: str
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str = ""
    kind: str = "inproceedings"
    more: tuple[tuple[str, str], ...] = ()
    paper: str = ""
    cited_as: tuple[str, ...] = ()

    @property
    def families(self) -> str:
        """The authors' family names: "Dong, Roth, Su"."""
        return ", ".join(author.rpartition(" ")[2] for author in self.authors)

    def line(self) -> str:
        """Authors, title, venue and year on one line."""
        where = f" {self.venue}," if self.venue else ""
        return f"{self.families}. {self.title}.{where} {self.year}."

    def meant_by(self, citation: str) -> bool:
        """Whether a citation is of this work."""
        return self.title in citation or any(words in citation for words in self.cited_as)


# A mechanism of somebody else's cites in this form.
_FULL = re.compile(
    r"(?P<authors>[^.:]+)\. (?P<title>.{8,}?)\.? (?P<venue>[^.]{2,}) (?P<year>(19|20)\d\d)\b"
)


@cache
def all_works() -> tuple[Work, ...]:
    """Those of works.toml."""
    import tomllib
    from importlib.resources import files

    def read(key: str, said: Mapping[str, Any]) -> Work:
        lists = {
            "authors": tuple(said["authors"].split("; ")),
            "cited_as": tuple(said.get("cited_as", ())),
        }
        return Work(**{"key": key, **said, **lists, "more": tuple(said.get("more", {}).items())})

    table = tomllib.loads(files(__package__).joinpath("works.toml").read_text("utf-8"))
    return tuple(read(key, said) for key, said in table.items())


def of_paper(paper: Paper) -> Work:
    """The work of a registry's paper: the fuller form of works.toml where there is one."""
    for work in all_works():
        if work.paper == paper.key:
            return work
    venue, _, number = paper.venue.partition("arXiv:")
    venue, number = venue.strip(" ,;"), number.partition(",")[0].partition(";")[0]
    preprint = (("eprint", number), ("archiveprefix", "arXiv")) if number else ()
    kind = "inproceedings" if venue else "misc"
    authors = tuple(paper.authors.split(", "))
    return Work(paper.key, authors, paper.title, paper.year, venue, kind, preprint, paper=paper.key)


def find(citation: str) -> tuple[Work, ...]:
    """The works that a citation names: of works.toml, and of the theorem registry.

    >>> [work.key for work in find("Balle, Wang 2018, Theorem 8")]
    ['balle2018improving']
    """
    from dpacct.papers.registry import papers

    matching = [work for work in all_works() if work.meant_by(citation)]
    for paper in papers().values():
        work = of_paper(paper)
        named = paper.title in citation or f"{paper.authors} {paper.year}" in citation
        if named and work not in matching:
            matching.append(work)
    return tuple(matching) or _spelt_out(citation)


def _spelt_out(citation: str) -> tuple[Work, ...]:
    """The work that a citation spells out: "Authors. Title. Venue Year"."""
    match = _FULL.match(citation)
    if match is None:
        return ()
    authors = tuple(match["authors"].split(", "))
    key = re.sub(r"\W", "", authors[0].lower()) + match["year"]
    return (Work(key, authors, match["title"], int(match["year"]), match["venue"].strip()),)


_SPECIAL = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%#_$"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "—": "---", "’": "'"}
)


def latex(text: str) -> str:
    r"""Text in which nothing is a command of LaTeX; letters are UTF-8, as every engine reads them.

    >>> print(latex("Rényi & Müller"))
    Rényi \& Müller
    """
    return text.translate(_SPECIAL)


def entry(work: Work) -> str:
    """One work as BibTeX."""
    place = {"article": "journal", "inproceedings": "booktitle"}.get(work.kind, "howpublished")
    fields = [
        ("author", " and ".join(latex(author) for author in work.authors)),
        ("title", f"{{{latex(work.title)}}}"),
        *([(place, latex(work.venue))] if work.venue else []),
        *([("year", str(work.year))] if work.year else []),
        *work.more,
    ]
    width = max(len(name) for name, _ in fields)
    lines = [f"  {name.ljust(width)} = {{{value}}}," for name, value in fields]
    return "\n".join([f"@{work.kind}{{{work.key},", *lines, "}"])


def bibliography(works: Iterable[Work]) -> str:
    """Works as BibTeX, each once, in order of their keys; and dpacct itself, last."""
    listed = sorted(dict.fromkeys(works), key=lambda work: work.key)
    return "\n\n".join(entry(work) for work in [*listed, itself()])


def itself() -> Work:
    """Dpacct, as CITATION.cff says."""
    from importlib import metadata

    version = metadata.version("dpacct")
    return Work(
        "dpacct",
        ("{The dpacct authors}",),
        "dpacct: an exact differential-privacy accountant",
        0,
        kind="misc",
        more=(("note", f"Version {version}"),),
    )


# --- what an answer cites


_LOCUS = re.compile(r"\b(Theorem|Proposition|Lemma|Corollary|Definition) (\d+(?:\.\d+)?)")
_OWN = re.compile(r"docs/[\w/.-]+\.md")


@dataclass(frozen=True)
class Source:
    """One source of an answer.

    Attributes:
        citation: how the accounting calls it.
        use: what it is used for.
        works: the papers it names.
        theorems: ids in the registry.
        status: what is known of it.
    """

    citation: str
    use: str
    works: tuple[Work, ...]
    theorems: tuple[str, ...]
    status: str


def source(citation: str, use: str) -> Source:
    """A citation with its works and the registry's verdict.

    >>> source("Balle, Wang 2018, Theorem 8", "epsilon").theorems
    ('balle_wang.theorem8',)
    """
    from dpacct.papers.registry import ids

    works = find(citation)
    loci = [(word.lower(), number.replace(".", "_")) for word, number in _LOCUS.findall(citation)]
    named = [f"{work.paper}.{word}{number}" for work in works for word, number in loci]
    theorems = tuple(dict.fromkeys(name for name in named if name in ids()))
    if theorems:
        status = "; ".join(_grade(name) for name in theorems)
    elif _OWN.search(citation):
        status = "derived in " + ", ".join(_OWN.findall(citation))
    elif works:
        status = "cited; not an entry of the theorem registry"
    else:
        status = "a step of dpacct's own, tested against other methods"
    return Source(citation, use, works, theorems, status)


def of_answer(answer: Answer, use: str) -> list[Source]:
    """The basis of an answer; a method that is a theorem's id is among it."""
    sources = []
    for basis in answer.basis:  # a citation in words, or a theorem's id
        sources += of_theorem(basis, use) or [source(basis, use)]
    if not any(answer.method in cited.theorems for cited in sources):
        sources += of_theorem(answer.method, use)
    return sources


def of_theorem(name: str, use: str) -> list[Source]:
    """The registry's entry of that id, if there is one."""
    from dpacct.papers.registry import get, ids, papers

    if name not in ids():
        return []
    statement = get(name)
    paper = papers()[statement.paper]
    citation = f"{paper.authors} {paper.year}, {statement.locus}"
    return [Source(citation, use, (of_paper(paper),), (name,), _grade(name))]


def _grade(name: str) -> str:
    """What the registry knows of a statement."""
    from dpacct.papers.registry import get

    return f"{name}: {get(name).verdict}, {get(name).evidence}"


def merged(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Each citation (of the same theorems) once, with all its uses."""
    unique: dict[tuple[str, tuple[str, ...]], Source] = {}
    for cited in sources:
        held = unique.get((cited.citation, cited.theorems))
        use = cited.use
        if held is not None:
            use = held.use if use in held.use.split(", ") else f"{held.use}, {use}"
        unique[cited.citation, cited.theorems] = replace(cited, use=use)
    return tuple(unique.values())


def works(sources: Iterable[Source]) -> tuple[Work, ...]:
    """The works of all sources, each once."""
    return tuple(dict.fromkeys(work for cited in sources for work in cited.works))
