"""`dpacct verify`: prove a certificate again, from scratch."""

from __future__ import annotations

import click

from dpacct.cli import options, proof
from dpacct.cli.command import ExampleCommand, option
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import write_json, write_lines
from dpacct.cli.refusal import Refusal
from dpacct.cli.values import FilePath


@click.command(
    "verify",
    cls=ExampleCommand,
    rank=80,
    short_help="Prove a certificate again.",
    examples=("verify --certificate out.json", "verify --certificate out.json --json"),
)
@option(
    "--certificate",
    section="Target",
    required=True,
    type=FilePath(),
    metavar="FILE",
    help="A certificate that eps, delta, noise or steps wrote.",
)
@options.json_option
def command(certificate: str, as_json: bool) -> None:
    """Prove every claim of a certificate again, from the plan that it states.

    The check reads the plan's text and evaluates each bound with more precision than was claimed;
    it shares no code with the search that found the contour. Exits with 8 if a claim does not hold.
    """
    from dpacct.certify.check import check

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
                "holds": holds,
                "claims": [{"claim": claim, "holds": fine} for claim, fine in statements],
            }
        )
        if not holds:
            raise click.exceptions.Exit(int(ExitStatus.WITHHELD))
        return
    lines = [f"  {'holds' if fine else 'FAILS'}: {claim}" for claim, fine in statements]
    about = f"{told['quantity']} between {told['lower']} and {told['upper']}"
    write_lines([f"{about}: {'proven' if holds else 'not proven'}", *lines])
    if not holds:
        raise Refusal(
            f"{certificate[:80]!r} proves nothing: a claim does not hold.",
            "--certificate",
            kind="not-certified",
            status=ExitStatus.WITHHELD,
        )
