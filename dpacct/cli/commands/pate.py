"""`dpacct pate`: what a voting run costs, whatever the votes are and for these votes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.output import must_be_finite, note, write_json, write_lines
from dpacct.cli.refusal import Refusal
from dpacct.cli.text import safe_number
from dpacct.cli.values import COUNT, POSITIVE, SEED, Choice, FilePath, Number
from dpacct.cli.voting import SECRET, lines_of, sanitized_json, sanitized_lines
from dpacct.cli.voting import as_json as json_of
from dpacct.declare.domain import Integer, Real

if TYPE_CHECKING:
    from dpacct.pate.aggregator import Aggregator
    from dpacct.pate.votes import Votes

_NOISE, _SCREEN, _SAFE, _OUT = "Noise", "Screening", "Publication", "Output"
_THRESHOLD = Number(Real(-(10**9), 10**9, "both"))
_NOISE_SIZE = Number(Real("0.001", 10**9, "both"))
_ORDER = Number(Real(1, 10**5, "right"))
_CONFIDENCE = Number(Real("0.5", 1, "left"))
_TOP = Number(Integer(0, 10**9))


@click.command(
    "pate",
    cls=ExampleCommand,
    rank=58,
    short_help="Voting (PATE): data-dependent and data-independent cost, and the exact one.",
    examples=(
        "pate votes.csv --sigma 40 --delta 1e-5",
        "pate votes.csv --sigma 40 --delta 1e-5 --level agent --per-query costs.csv",
        "pate votes.csv --sigma 40 --threshold 60 --threshold-sigma 30 --delta 1e-5 --json",
        "pate votes.csv --mechanism laplace --b 20 --delta 1e-5 --top 3",
        "pate votes.csv --sigma 40 --delta 1e-5 --sanitize",
    ),
)
@click.argument("votes", metavar="VOTES", type=FilePath())
@option(
    "--mechanism",
    section=_NOISE,
    type=Choice(("gaussian", "laplace")),
    default="gaussian",
    show_default=True,
    metavar="NAME",
    help="The noise on each count: gaussian (GNMax) or laplace (LNMax).",
)
@option(
    "--sigma",
    section=_NOISE,
    type=_NOISE_SIZE,
    metavar="S",
    help="Gaussian noise: its standard deviation, in votes.",
)
@option(
    "--b", section=_NOISE, type=_NOISE_SIZE, metavar="B", help="Laplace noise: its scale, in votes."
)
@option(
    "--threshold",
    section=_SCREEN,
    type=_THRESHOLD,
    metavar="T",
    help="Confident GNMax: answer only where the largest count and noise reach T votes.",
)
@option(
    "--threshold-sigma",
    section=_SCREEN,
    type=_NOISE_SIZE,
    metavar="S1",
    help="Standard deviation of that noise, in votes.",
)
@option(
    "--interactive",
    section=_SCREEN,
    type=FilePath(),
    metavar="FILE",
    help="Interactive GNMax: what the student expects each class to get, in votes, as VOTES is"
    " written; the threshold is for the largest count less this.",
)
@option(
    "--level",
    section="What is protected",
    type=Choice(("agent", "instance")),
    default="instance",
    show_default=True,
    metavar="NAME",
    help="instance: one record of one voter is exchanged, a vote may move; agent: a voter comes"
    " or goes.",
)
@option(
    "--neighbours",
    section="What is protected",
    type=COUNT,
    default="1",
    show_default=True,
    metavar="K",
    help="Private-kNN-FL: VOTES counts labels of each voter's K nearest neighbours.",
)
@options.delta_option(required=True)
@option("--queries", section="Target", type=COUNT, metavar="N", help="Only the first N queries.")
@option(
    "--sanitize",
    section=_SAFE,
    is_flag=True,
    help="Print an epsilon that may be published, and nothing that is private.",
)
@option("--order", section=_SAFE, type=_ORDER, metavar="A", help="Renyi order of the publication.")
@option("--beta", section=_SAFE, type=POSITIVE, metavar="B", help="Its smoothness, below 1/(2A).")
@option(
    "--release-sigma",
    section=_SAFE,
    type=POSITIVE,
    metavar="S",
    help="Its noise, in smooth sensitivities. These three must not be chosen by the votes.",
)
@option(
    "--confidence",
    section=_SAFE,
    type=_CONFIDENCE,
    default="0.95",
    show_default=True,
    metavar="P",
    help="Chance that the published epsilon is no less than the private one.",
)
@option(
    "--seed",
    section=_SAFE,
    type=SEED,
    metavar="N",
    help="For tests only: noise that can be repeated protects nothing.",
)
@option(
    "--per-query",
    section=_OUT,
    type=FilePath(),
    metavar="FILE",
    help="Write what each query costs as CSV; - for standard output.",
)
@option(
    "--top",
    section=_OUT,
    type=_TOP,
    default="5",
    show_default=True,
    metavar="N",
    help="Show the N queries that cost most.",
)
@option(
    "--exact/--no-exact",
    section=_OUT,
    default=True,
    show_default=True,
    help="Also compute the exact cost of the released labels.",
)
@options.json_option
@options.quiet_option
def command(votes: str, as_json: bool, quiet: bool, **given: Any) -> None:
    """Account for labels released by a vote: PATE, PATE-FL, Private-kNN-FL.

    VOTES is a table of counts, one row a query and one column a class: text with commas, or NumPy's
    .npy. The data-independent epsilon holds whatever the votes are. The data-dependent one and the
    exact one are computed from the votes and so are themselves private: publish them only through
    --sanitize. --quiet prints the epsilon that may be published.
    """
    _check_together(given)
    aggregator = _aggregator(given)
    with _progress() as tell:
        tell("reading")
        table, baseline = _read(votes, given)
        if given["sanitize"]:
            _publish(aggregator, table, baseline, given, as_json, quiet)
            return
        exact = bool(given["exact"]) and not quiet
        found = aggregator.cost(
            table, given["delta"], baseline=baseline, exact=exact, progress=tell
        )
        must_be_finite(found.data_independent)
    to_stdout = given["per_query"] == "-"
    if given["per_query"] is not None:
        try:
            found.per_query.write_csv(sys.stdout if to_stdout else given["per_query"])
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", None) or str(error)).lower()
            raise Refusal(f"cannot write {given['per_query']!r}: {why}.", "--per-query") from None
    if to_stdout:
        note(f"note: {SECRET}.")
    elif quiet:
        click.echo(safe_number(found.data_independent))
    elif as_json:
        write_json(json_of(found, int(given["top"])))
    else:
        write_lines(lines_of(found, int(given["top"])))


def _publish(
    aggregator: Aggregator,
    votes: Votes,
    baseline: Any,
    given: dict[str, Any],
    as_json: bool,
    quiet: bool,
) -> None:
    seed = None if given["seed"] is None else int(given["seed"])
    found = aggregator.sanitized(
        votes,
        given["delta"],
        baseline=baseline,
        order=given["order"],
        beta=given["beta"],
        noise=given["release_sigma"],
        confidence=given["confidence"],
        seed=seed,
    )
    plain = aggregator.plan(votes.queries).epsilon(delta=given["delta"])
    if as_json:
        write_json(sanitized_json(aggregator, votes, given["delta"], found, plain))
    elif quiet:
        click.echo(safe_number(min((found.answer, plain), key=float)))
    else:
        write_lines(sanitized_lines(aggregator, votes, given["delta"], found, plain))
    if found.seeded:
        note("note: the noise was drawn from a seed, so this number protects nothing.")


def _check_together(given: dict[str, Any]) -> None:
    """Options that need each other, and options that exclude each other."""
    needed, other = ("--sigma", "--b") if given["mechanism"] == "gaussian" else ("--b", "--sigma")
    keys = {"--sigma": "sigma", "--b": "b"}
    if given[keys[needed]] is None:
        raise Refusal(
            f"--mechanism {given['mechanism']} needs {needed}, the noise in votes.", needed
        )
    if given[keys[other]] is not None:
        raise Refusal(f"--mechanism {given['mechanism']} takes {needed}, not {other}.", other)
    if given["mechanism"] == "laplace" and given["threshold"] is not None:
        raise Refusal("--threshold is a step of gaussian voting.", "--threshold")
    pairs = [("--threshold", "--threshold-sigma"), ("--threshold-sigma", "--threshold")]
    for one, two in [*pairs, ("--interactive", "--threshold")]:
        if given[_key(one)] is not None and given[_key(two)] is None:
            raise Refusal(f"{one} needs {two} too.", two)
    if given["sanitize"]:
        if given["per_query"] is not None:
            told = "--sanitize does not go with --per-query: what it writes is private."
            raise Refusal(told, "--per-query")
    else:
        for one in ("--order", "--beta", "--release-sigma", "--seed"):
            if given[_key(one)] is not None:
                raise Refusal(f"{one} belongs to --sanitize.", one)


def _key(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")


def _aggregator(given: dict[str, Any]) -> Aggregator:
    from dpacct.pate.aggregator import GNMax, LNMax

    whose = {"level": given["level"], "neighbours": int(given["neighbours"])}
    if given["mechanism"] == "laplace":
        return LNMax(b=given["b"], **whose)
    return GNMax(
        sigma=given["sigma"],
        threshold=given["threshold"],
        threshold_sigma=given["threshold_sigma"],
        **whose,
    )


def _read(file: str, given: dict[str, Any]) -> tuple[Votes, Any]:
    from dpacct.pate.votes import Votes
    from dpacct.pate.votes_file import read_rows

    votes = Votes.read(file)
    baseline = None
    if given["interactive"] is not None:
        baseline = read_rows(given["interactive"], "--interactive", whole=False)
        if baseline.shape != votes.counts.shape:
            shape, size = (" x ".join(map(str, one.shape)) for one in (baseline, votes.counts))
            told = (
                f"--interactive must hold as many rows and columns as VOTES, {size}, got {shape}."
            )
            raise Refusal(told, "--interactive", kind="invalid-argument")
    if given["queries"] is not None:
        wanted = int(given["queries"])
        if wanted > votes.queries:
            told = f"--queries must be at most {votes.queries}, the rows of VOTES, got {wanted}."
            raise Refusal(told, "--queries", kind="invalid-argument")
        votes = Votes(votes.counts[:wanted])
        baseline = None if baseline is None else baseline[:wanted]
    return votes, baseline


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Says what is being done, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda what: status.update(what)
