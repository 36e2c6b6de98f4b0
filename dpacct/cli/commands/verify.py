"""`dpacct verify`: search the registry for counter-examples, or prove a certificate again."""

from __future__ import annotations

from fractions import Fraction

import click

from dpacct.cli import options, proof, registry_check
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import write_json, write_lines
from dpacct.cli.refusal import Refusal
from dpacct.cli.values import SEED, STEPS, FilePath


@click.command(
    "verify",
    cls=ExampleCommand,
    rank=80,
    short_help="Search for counter-examples, or prove a certificate again.",
    examples=(
        "verify dp_fed_ls.lemma2 --draws 100",
        "verify canonne2020 --draws 50 --json",
        "verify --certificate out.json",
        "verify --certificate out.json --json",
    ),
)
@click.argument("names", nargs=-1, metavar="[ID | PAPER] ...")
@option(
    "--draws",
    section="Search",
    type=STEPS,
    metavar="N",
    help="Points to try for each statement; each has its own default.",
)
@option(
    "--seed",
    section="Search",
    type=SEED,
    default="0",
    show_default=True,
    metavar="S",
    help="The same seed tries the same points.",
)
@option(
    "--certificate",
    section="Target",
    type=FilePath(),
    metavar="FILE",
    help="A certificate that eps, delta, noise or steps wrote.",
)
@options.json_option
@options.quiet_option
def command(
    names: tuple[str, ...],
    draws: Fraction | None,
    seed: Fraction,
    certificate: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Search the statements of the papers for counter-examples, or prove a certificate again.

    Each statement is compared with a truth that shares no formula with it, over its whole domain and
    the boundary; what violates it is shrunk to a small witness. Exits with 5 if that contradicts
    what the registry says of it.

    With --certificate, every claim of a certificate is proven again from the plan that it states.
    The check reads the plan's text and evaluates each bound with more precision than was claimed;
    it shares no code with the search that found the contour. Exits with 8 if a claim does not hold.
    """
    if certificate is None:
        registry_check.verify(
            names, None if draws is None else int(draws), int(seed), as_json=as_json, quiet=quiet
        )
        return
    if names:
        raise Refusal("--certificate stands alone; leave the names out.", "--certificate")
    from dpacct.proof.check import about, check

    told = proof.read(certificate)
    statements = check(told)
    holds = all(fine for _, fine in statements)
    if as_json:
        write_json(
            {
                "schema": 1,
                "command": "verify",
                "certificate": certificate,
                "quantity": told["quantity"],
                "lower": told["lower"],
                "upper": told["upper"],
                "about": about(told),
                "holds": holds,
                "claims": [{"claim": claim, "holds": fine} for claim, fine in statements],
            }
        )
        if not holds:
            raise click.exceptions.Exit(int(ExitStatus.WITHHELD))
        return
    lines = [f"  {'holds' if fine else 'FAILS'}: {claim}" for claim, fine in statements]
    first, *others = about(told)
    verdict = "proven" if holds else "not proven"
    write_lines([f"{first}: {verdict}", *(f"  {line}" for line in others), *lines])
    if not holds:
        raise Refusal(
            f"{certificate[:80]!r} proves nothing: a claim does not hold.",
            "--certificate",
            kind="not-certified",
            status=ExitStatus.WITHHELD,
        )
