"""The sources of an answer: its citations with their works, and what the registry knows of their theorems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpacct.bibliography import CitedWork
from dpacct.bibliography import works as bibliography
from dpacct.citations import Citation, statement

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.papers.registry import Paper


def of_paper(paper: Paper) -> CitedWork:
    """The work of a registry's paper: the bibliography's where it is in there."""
    for work in bibliography().values():
        if work.paper == paper.key:
            return work
    venue, _, number = paper.venue.partition("arXiv:")
    venue, number = venue.strip(" ,;"), number.partition(",")[0].partition(";")[0]
    preprint = (("eprint", number), ("archiveprefix", "arXiv")) if number else ()
    kind = "inproceedings" if venue else "misc"
    return CitedWork(
        paper.key, paper.people, paper.title, paper.year, venue, kind, preprint, paper=paper.key
    )


def works_of(citation: Citation) -> tuple[CitedWork, ...]:
    """The works of a citation, by their keys.

    >>> from dpacct.citations import CLOSED_FORM
    >>> [work.key for work in works_of(CLOSED_FORM)]
    ['balle2018improving']
    """
    from dpacct.papers.registry import papers

    cited = (bibliography().get(key) or of_paper(papers()[key]) for key in citation.works)
    return tuple(dict.fromkeys(cited))


@dataclass(frozen=True)
class CitedSource:
    """One source of an answer: the words of the accounting, what it is used for, and what is known of it.

    `theorems` are ids in the registry.
    """

    citation: Citation
    use: str
    works: tuple[CitedWork, ...]
    theorems: tuple[str, ...]
    status: str

    def to_dict(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "id": self.citation.id,
            "citation": self.citation,
            "use": self.use,
            "theorems": list(self.theorems),
            "status": self.status,
        }


def source(citation: Citation, use: str) -> CitedSource:
    """A citation with its works and the registry's verdict.

    >>> from dpacct.citations import CLOSED_FORM
    >>> source(CLOSED_FORM, "epsilon").theorems
    ('balle_wang.theorem8',)
    """
    from dpacct.papers.registry import get, ids, papers

    if citation.id in ids():
        entry = get(citation.id)
        paper = papers()[entry.paper]
        status = f"{entry.id}: {entry.verdict}, {entry.evidence}"
        if citation == citation.id:
            citation = Citation(f"{paper.authors} {paper.year}, {entry.locus}", citation.id)
        return CitedSource(citation, use, works_of(citation), (entry.id,), status)
    works = works_of(citation)
    if citation.link:
        status = f"derived in {citation.link}"
    elif works:
        status = "cited; not an entry of the theorem registry"
    else:
        status = "a step of dpacct's own, tested against other methods"
    return CitedSource(citation, use, works, (), status)


def of_answer(answer: Answer, use: str) -> list[CitedSource]:
    """The basis of an answer; a method that is a theorem's id is among it."""
    sources = [source(citation, use) for citation in answer.basis]
    if not any(answer.method in cited.theorems for cited in sources):
        sources += of_theorem(answer.method, use)
    return sources


def of_theorem(name: str, use: str) -> list[CitedSource]:
    """The registry's entry of that id, if there is one."""
    from dpacct.papers.registry import ids

    return [source(statement(name), use)] if name in ids() else []


def merged(sources: Iterable[CitedSource]) -> tuple[CitedSource, ...]:
    """Each citation (of the same theorems) once, with all its uses."""
    unique: dict[tuple[str, tuple[str, ...]], CitedSource] = {}
    for cited in sources:
        held = unique.get((cited.citation, cited.theorems))
        use = cited.use
        if held is not None:
            use = held.use if use in held.use.split(", ") else f"{held.use}, {use}"
        unique[cited.citation, cited.theorems] = replace(cited, use=use)
    return tuple(unique.values())


def works(sources: Iterable[CitedSource]) -> tuple[CitedWork, ...]:
    """The works of all sources, each once."""
    return tuple(dict.fromkeys(work for cited in sources for work in cited.works))
