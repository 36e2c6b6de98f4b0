"""`dpacct cite`: BibTeX of what an answer used, and of dpacct itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.failure import SCHEMA
from dpacct.cli.output import write_file, write_json
from dpacct.cli.refusal import Refusal
from dpacct.cli.suggest import did_you_mean
from dpacct.cli.values import FilePath
from dpacct.declare.number import shown

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.report.sources import Source

_SUFFIXES = (".toml", ".json")


@click.command(
    "cite",
    cls=ExampleCommand,
    rank=73,
    short_help="BibTeX of what an answer used.",
    examples=(
        "cite plan.toml",
        "cite dp_fed_ls.theorem1 dong2019",
        "cite certified --json",
    ),
)
@click.argument("words", nargs=-1, metavar="[PLAN | THEOREM | PAPER | METHOD ...]")
@option(
    "-o",
    "--output",
    "output",
    section="Output",
    type=FilePath(),
    metavar="FILE",
    help="Write the BibTeX to a file instead.",
)
@options.json_option
def command(words: tuple[str, ...], output: str | None, as_json: bool) -> None:
    """Print BibTeX for a plan in a file, theorems and papers of the registry, or methods.

    A plan cites its mechanisms, and what the strongest answer about it stands on. The software itself
    is always the last entry; without arguments it is the only one.
    """
    from dpacct.report.bibtex import bibliography, entry, itself
    from dpacct.report.sources import merged, works

    sources = merged(source for word in words for source in _sources(word))
    cited = sorted(works(sources), key=lambda work: work.key)
    # BibTeX skips what stands outside of entries, so what is known of a theorem can stand there.
    remarks = [f"% {one.status}" for one in sources if one.theorems]
    text = "\n".join([*remarks, *([""] if remarks else []), bibliography(cited)])
    if output is not None:
        write_file(f"{text}\n".encode(), output)
    if as_json:
        entries = [
            {
                "key": work.key,
                "authors": list(work.authors),
                "title": work.title,
                "year": work.year or None,
                "venue": work.venue,
                "bibtex": entry(work),
            }
            for work in (*cited, itself())
        ]
        used = [
            {"citation": s.citation, "use": s.use, "theorems": list(s.theorems), "status": s.status}
            for s in sources
        ]
        write_json({"schema": SCHEMA, "command": "cite", "entries": entries, "used": used})
    elif output is None:
        click.echo(text)


def _sources(word: str) -> list[Source]:
    """What one argument cites."""
    from dpacct.compose.routes import OFFERED
    from dpacct.papers.registry import UnknownName, ids, named, papers
    from dpacct.report.sources import Source, of_answer, of_theorem
    from dpacct.report.works import of_paper

    if word == "-" or word.lower().endswith(_SUFFIXES):
        return _plan(word)
    if word in ids():
        return of_theorem(word, "the theorem")
    if word in OFFERED:
        return of_answer(_example(word), f"method {word}")
    try:
        work = of_paper(named(word))
        return [Source(work.line(), "the paper", (work,), (), "")]
    except UnknownName as unknown:
        if len(unknown.candidates) > 1:
            raise
    known = [*OFFERED, *papers(), *ids()]
    told = "cite takes a plan file (.toml, .json), a theorem's id, a paper's key or a method;"
    raise Refusal(f"{told} got {shown(word)}" + did_you_mean(word, known), "WORDS")


def _plan(path: str) -> list[Source]:
    """The mechanisms of a plan, and the basis of the answer to its question."""
    from dpacct.cli.stated_plan import read_stated
    from dpacct.report.pure import pure_epsilon
    from dpacct.report.sources import of_answer, source

    file = read_stated(path)
    if file.delta == 0:
        answer = pure_epsilon(file.node)
    elif file.delta is not None and file.account is not None:
        answer, _ = file.account(file.delta)
    elif file.delta is not None:
        answer = file.node.epsilon(delta=file.delta)
    else:  # the basis is the same whatever is asked
        answer = file.node.delta(epsilon=1 if file.epsilon is None else file.epsilon)
    mechanisms = [source(citation, "the mechanism") for citation in file.node.citations()]
    return of_answer(answer, "epsilon") + mechanisms


def _example(method: str) -> Answer:
    """An answer of a method, for the basis that it names: of a plan to which every one applies."""
    import dpacct as dp

    return (dp.Gaussian(sigma=1) * 2).epsilon(delta="1e-5", method=method)
