"""The bibliography: works.toml, each work once under its key.

The papers whose statements dpacct holds (`dpacct theorems list`) that are not in it bring themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpacct.citations import Citation


@dataclass(frozen=True)
class CitedWork:
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
    """

    key: str
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str = ""
    kind: str = "inproceedings"
    more: tuple[tuple[str, str], ...] = ()
    paper: str = ""

    @property
    def families(self) -> str:
        """The authors' family names: "Dong, Roth, Su"."""
        return ", ".join(author.rpartition(" ")[2] for author in self.authors)

    def line(self) -> str:
        """Authors, title, venue and year on one line."""
        where = f" {self.venue}," if self.venue else ""
        return f"{self.families}. {self.title}.{where} {self.year}."


@cache
def works() -> dict[str, CitedWork]:
    """Every work of works.toml by its key.

    >>> works()["mironov2017renyi"].line()
    'Mironov. Rényi Differential Privacy. CSF, 2017.'
    """
    import tomllib
    from importlib.resources import files

    def read(key: str, fields: Mapping[str, Any]) -> CitedWork:
        authors = tuple(fields["authors"].split("; "))
        more = tuple(fields.get("more", {}).items())
        return CitedWork(**{"key": key, **fields, "authors": authors, "more": more})

    table = tomllib.loads(files(__package__).joinpath("works.toml").read_text("utf-8"))
    return {key: read(key, fields) for key, fields in table.items()}


def reference(text: str) -> Citation:
    """The reference of a work by its key, with a place in it; text without a key is kept.

    >>> print(reference("mcsherry2009privacy"))
    McSherry. Privacy Integrated Queries. SIGMOD, 2009.
    >>> reference("dong2022gaussian, Corollary 3.3").id
    'dong2022gaussian.corollary3_3'
    """
    key, _, place = text.partition(", ")
    if key not in works():
        return Citation(text)
    words = works()[key].line() + (f" {place}" if place else "")
    return Citation(words, f"{key}.{place.lower().replace(' ', '').replace('.', '_')}".rstrip("."))


# --- as BibTeX

_SPECIAL = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%#_$"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "—": "---", "’": "'"}
)


def latex(text: str) -> str:
    r"""Text with LaTeX's special characters escaped; letters stay UTF-8.

    >>> print(latex("Rényi & Müller"))
    Rényi \& Müller
    """
    return text.translate(_SPECIAL)


def entry(work: CitedWork) -> str:
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


def bibtex(cited: Iterable[CitedWork]) -> str:
    """Works as BibTeX, each once, in order of their keys; dpacct itself comes last."""
    listed = sorted(dict.fromkeys(cited), key=lambda work: work.key)
    return "\n\n".join(entry(work) for work in [*listed, itself()])


def itself() -> CitedWork:
    """The BibTeX entry of dpacct itself, as in CITATION.cff."""
    from importlib import metadata

    version = metadata.version("dpacct")
    return CitedWork(
        "dpacct",
        ("{The dpacct authors}",),
        "dpacct: an exact differential-privacy accountant",
        2026,
        kind="misc",
        more=(("note", f"Version {version}"),),
    )
