"""`dpacct theorems`: the registry of what the papers state, and what is known about it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dpacct.cli import options
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import write_json, write_lines
from dpacct.cli.refusal import Refusal
from dpacct.cli.table import aligned
from dpacct.declare.domain import one_of
from dpacct.declare.number import NotANumber, number, shown
from dpacct.errors import DpacctError

if TYPE_CHECKING:
    from fractions import Fraction

    from dpacct.theorems.entry import Entry

ACTIONS = ("list", "show", "eval", "pages")


@click.command(
    "theorems",
    cls=ExampleCommand,
    rank=75,
    short_help="What the papers state, and what of it holds.",
    examples=(
        "theorems",
        "theorems list dp_fed_ls",
        "theorems show dp_fed_ls.lemma2",
        "theorems eval dp_fed_ls.lemma2 tau=0.05 nu2=1 alpha=2",
        "theorems eval dp_fed_ls.lemma1 alpha=8 rho=1 delta=1e-5 --json",
    ),
)
@click.argument("words", nargs=-1, metavar="[list [PAPER] | show ID | eval ID NAME=VALUE ...]")
@option(
    "--as-printed",
    section="Evaluation",
    is_flag=True,
    help="Evaluate a refuted statement all the same, exactly as the paper prints it.",
)
@options.json_option
def command(words: tuple[str, ...], as_printed: bool, as_json: bool) -> None:
    """List, show or evaluate the statements of the papers.

    Every lemma, theorem and constant is there as printed, with its domain, its verdict, its
    counter-example if it is false, and what to use instead. `eval` refuses arguments outside the
    hypotheses (exit code 3), and a refuted statement unless --as-printed is given. `pages DIR`
    writes a page per statement.
    """
    action, rest = (words[0], words[1:]) if words else ("list", ())
    if action == "list":
        _list(rest, as_json)
    elif action == "show" and len(rest) == 1:
        _show(rest[0], as_json)
    elif action == "eval" and rest:
        _evaluate(rest[0], rest[1:], as_printed, as_json)
    elif action == "pages" and len(rest) == 1:
        _pages(rest[0])
    elif action in ACTIONS:
        wants = {"show": "the id of a theorem", "eval": "the id of a theorem", "pages": "a folder"}
        raise Refusal(f"theorems {action} needs {wants[action]} after it.", action)
    else:
        raise Refusal(f"theorems must be told {one_of(ACTIONS)}, got {shown(action)}.", "WORDS")


def summary(entry: Entry) -> dict[str, Any]:
    """The object of the contracts' list."""
    return {
        "id": entry.id,
        "paper": entry.paper,
        "locus": entry.locus,
        "statement": entry.claim,
        "side": str(entry.side),
        "domain": str(entry.domain),
        "verdict": str(entry.verdict),
        "status": str(entry.status),
        "printed_ok": entry.verdict.printed_ok,
        "evaluable": entry.formula is not None,
        "corrected_by": entry.corrected_by,
    }


def _list(papers: tuple[str, ...], as_json: bool) -> None:
    from dpacct.theorems.registry import select

    entries = select(papers)
    if as_json:
        import json

        click.echo(json.dumps([summary(entry) for entry in entries], indent=2))
        return
    rows = [(e.id, str(e.verdict), str(e.status), e.corrected_by or "") for e in entries]
    write_lines(aligned(("id", "verdict", "status", "use instead"), rows, indent=0))


def _show(name: str, as_json: bool) -> None:
    from dpacct.theorems.page import page
    from dpacct.theorems.registry import get

    entry = get(name)
    if as_json:
        write_json(
            {
                "schema": 1,
                "command": "theorems show",
                **summary(entry),
                "maths": entry.maths,
                "reason": entry.reason,
                "looseness": entry.looseness,
                "derivation": entry.derivation,
                "relies_on": list(entry.relies_on),
                "witness": None if entry.witness is None else _text(entry.witness.inputs),
                "vectors": [
                    {"inputs": _text(v.inputs), "value": v.value, "truth": v.truth}
                    for v in entry.vectors
                ],
            }
        )
        return
    write_lines([page(entry).rstrip()])


def _text(inputs: Any) -> dict[str, str]:
    return {name: str(value) for name, value in inputs.items()}


def _evaluate(name: str, pairs: tuple[str, ...], as_printed: bool, as_json: bool) -> None:
    from dpacct.theorems.registry import get

    entry = get(name)
    values = dict(_pair(pair) for pair in pairs)
    try:
        value = entry.evaluate(values, as_printed=as_printed)
    except DpacctError as error:  # its arguments are the theorem's, not the command line's
        raise Refusal(
            error.message, error.argument, kind=error.kind, status=ExitStatus(error.exit_code)
        ) from None
    told: Any = value if math.isfinite(value) else str(value)
    if as_json:
        write_json(
            {
                "schema": 1,
                "command": "theorems eval",
                "id": entry.id,
                "value": told,
                "side": str(entry.side),
                "verdict": str(entry.verdict),
                "status": str(entry.status),
                "inputs": _text(values),
            }
        )
        return
    write_lines([f"{entry.id} = {told!r}  {entry.side}, {entry.verdict} ({entry.status})"])


def _pair(text: str) -> tuple[str, Fraction | int]:
    name, equals, typed = text.partition("=")
    if not equals or not name.isidentifier():
        raise Refusal(f"an argument must be written NAME=VALUE, got {shown(text)}.", "WORDS")
    try:
        value = number(typed)
        return name, value.numerator if value.denominator == 1 else value
    except NotANumber as error:
        raise Refusal(
            f"{name} must be a number, got {shown(typed, 40)}, {error}.",
            name,
            kind="invalid-argument",
        ) from None


def _pages(folder: str) -> None:
    from pathlib import Path

    from dpacct.theorems.page import write_pages

    write_lines([f"{len(write_pages(Path(folder)))} pages in {folder}"])
