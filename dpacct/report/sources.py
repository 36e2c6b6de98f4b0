"""The sources of an answer: theorems, the works they are from, and the registry's verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpacct.report.works import Work, find, of_paper

if TYPE_CHECKING:
    from dpacct.answer import Answer

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
