"""BibTeX, for any LaTeX: letters beyond ASCII are written as commands, capitals are kept."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from dpacct.report.works import Work

# Combining marks and their LaTeX accents.
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0308": '"',
    "\u030c": "v ",
    "\u0327": "c ",
}
_SPECIAL = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$"}


def latex(text: str) -> str:
    r"""Text with its accents as LaTeX commands.

    >>> print(latex("Rényi & Müller"))
    R{\'e}nyi \& M{\"u}ller
    """
    out: list[str] = []
    for letter in unicodedata.normalize("NFD", text):
        accent = _ACCENTS.get(letter)
        if accent and out:
            out[-1] = f"{{\\{accent}{out[-1]}}}"
        elif not unicodedata.combining(letter):
            out.append(_SPECIAL.get(letter, letter))
    return "".join(out)


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
