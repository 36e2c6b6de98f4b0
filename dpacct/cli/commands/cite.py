"""BibTeX of an answer's sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpacct.cli.command import CommandLine, argument, command, group, option
from dpacct.cli.output import Result, write_file
from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import shown
from dpacct.declare.record import Usage

if TYPE_CHECKING:
    from dpacct.report.sources import CitedSource


@command(
    "cite",
    group(
        "Output",
        argument("[PLAN | ID | PAPER | METHOD ...]", "words", many=True),
        option("--output -o FILE", "write the BibTeX to a file instead"),
    ),
    examples=("cite plan.toml", "cite dp_fed_ls.theorem1 dong2019", "cite certified --json"),
)
def main(line: CommandLine) -> Result:
    """Print BibTeX for a plan in a file, what an answer stands on (its basis_ids), papers, or methods.

    A plan cites its mechanisms, and what the strongest answer about it stands on. The software itself
    is always the last entry; without arguments it is the only one.
    """
    from dpacct.bibliography import bibtex, entry, itself
    from dpacct.report.sources import merged, works

    sources = merged(source for word in line.get("words") for source in _sources(word))
    cited = sorted(works(sources), key=lambda work: work.key)
    # BibTeX skips what stands outside of entries, so what is known of a theorem can stand there.
    remarks = [f"% {source.status}" for source in sources if source.theorems]
    text = "\n".join([*remarks, *([""] if remarks else []), bibtex(cited)])
    output = line.get("output")
    if output is not None:
        write_file(f"{text}\n".encode(), output)

    def body() -> dict[str, Any]:
        entries = [
            {
                **{key: getattr(work, key) for key in ("key", "title", "venue")},
                "authors": list(work.authors),
                "year": work.year or None,
                "bibtex": entry(work),
            }
            for work in (*cited, itself())
        ]
        return {"entries": entries, "used": [each.to_dict() for each in sources]}

    return Result(body, lambda: [text] if output is None else [])


def _sources(word: str) -> list[CitedSource]:
    """The works that one argument cites."""
    from dpacct.bibliography import reference
    from dpacct.bibliography import works as bibliography
    from dpacct.citations import Citation, by_id
    from dpacct.cli.federated_plan import read_stated
    from dpacct.mechanisms.gaussian import Gaussian
    from dpacct.papers.registry import UnknownName, ids, named, papers
    from dpacct.plan.routes import OFFERED
    from dpacct.report.sources import of_answer, of_paper, of_theorem, source

    if word == "-" or word.lower().endswith((".toml", ".json")):
        file = read_stated(word)
        if file.delta is not None:
            answer = file.guarantee(file.node, file.delta)
        else:  # the basis is the same whatever is asked
            answer = file.node.delta(epsilon=1 if file.epsilon is None else file.epsilon)
        mechanisms = [source(citation, "the mechanism") for citation in file.node.citations()]
        return of_answer(answer, "epsilon") + mechanisms
    if word in by_id():
        return [source(by_id()[word], "the statement")]
    if word in ids():
        return of_theorem(word, "the theorem")
    if word in OFFERED:
        example = (Gaussian(sigma=1) * 2).epsilon(delta="1e-5", method=word)
        return of_answer(example, f"method {word}")
    if word in bibliography():
        return [source(reference(word), "the work")]
    try:
        work = of_paper(named(word))
        return [source(Citation(work.line(), work.key, works=(work.paper,)), "the paper")]
    except UnknownName as unknown:
        if len(unknown.candidates) > 1:
            raise
    citable = [*OFFERED, *papers(), *ids(), *by_id(), *bibliography()]
    message = "cite takes a plan file (.toml, .json), an id that an answer stands on, a paper or a method;"
    raise Usage(f"{message} got {shown(word)}" + did_you_mean(word, citable), argument="WORDS")
