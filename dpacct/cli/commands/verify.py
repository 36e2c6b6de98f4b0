"""Search for counter-examples, or prove a certificate again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import click

from dpacct.cli import registry_check
from dpacct.cli.command import Command, File
from dpacct.cli.exit_status import ExitStatus
from dpacct.cli.output import write_json, write_lines
from dpacct.cli.question import QUIET
from dpacct.declare.domain import SEED, STEPS, Flag, Text
from dpacct.declare.record import Parameter, Several, Usage
from dpacct.errors import NotCertified

_LONGEST = 20_000_000  # characters of a certificate; a long one has 10^5


class Verify(Command):
    """Search the statements of the papers for counter-examples, or prove a certificate again.

    Each statement is compared with a truth that shares no formula with it, over its whole domain and
    the boundary; what violates it is shrunk to a small witness. Exits with 5 if that contradicts
    what the registry says of it.

    With --certificate, every claim of a certificate is proven again from the plan that it states.
    The check reads the plan's text and evaluates each bound with more precision than was claimed;
    it shares no code with the search that found the contour. --independent evaluates two nested integrals
    instead, which an auditor can read in an afternoon, on every claim that one line carries. Exits with 8
    if a claim does not hold.
    """

    heading = "Search"
    headings: ClassVar[Mapping[str, str]] = {
        "certificate": "Target",
        "independent": "Target",
        "quiet": "Output",
    }
    names: Parameter[tuple[str, ...]] = Several(
        Text(), "ids or papers", "[ID | PAPER] ...", default=(), kw_only=False
    )
    draws: Parameter[int | None] = Parameter(
        STEPS, "points to try for each statement; each has its own default", "N", default=None
    )
    seed: Parameter[int] = Parameter(SEED, "the same seed tries the same points", "S", default=0)
    certificate: Parameter[str | None] = Parameter(
        File(), "a certificate that eps, delta, noise or steps wrote", "FILE", default=None
    )
    independent: Parameter[bool] = Parameter(
        Flag(),
        "check by two nested integrals, which share neither search nor rules with the proof",
        default=False,
    )
    quiet: Parameter[bool] = QUIET
    examples = (
        "verify dp_fed_ls.lemma2 --draws 100",
        "verify canonne2020 --draws 50 --json",
        "verify --certificate out.json",
        "verify --certificate out.json --json",
        "verify --certificate out.json --independent",
    )

    def run(self) -> None:
        """Answer, and print."""
        certificate = self.certificate
        if certificate is None:
            if self.independent:
                raise Usage("--independent needs --certificate", argument="--independent")
            registry_check.verify(
                self.names, self.draws, self.seed, as_json=self.as_json, quiet=self.quiet
            )
            return
        if self.names:
            raise Usage("--certificate stands alone; leave the names out", argument="--certificate")
        from dpacct.proof.check import about, check

        parsed = _certificate(certificate)
        statements = check(parsed, independent=self.independent)
        holds = all(fine for _, fine in statements)
        if self.as_json:
            write_json(
                {
                    "schema": 1,
                    "command": "verify",
                    "certificate": certificate,
                    "quantity": parsed["quantity"],
                    "lower": parsed["lower"],
                    "upper": parsed["upper"],
                    "about": about(parsed),
                    "holds": holds,
                    "claims": [{"claim": claim, "holds": fine} for claim, fine in statements],
                }
            )
            if not holds:
                raise click.exceptions.Exit(int(ExitStatus.WITHHELD))
            return
        lines = [f"  {'holds' if fine else 'FAILS'}: {claim}" for claim, fine in statements]
        first, *others = about(parsed)
        verdict = "proven" if holds else "not proven"
        write_lines([f"{first}: {verdict}", *(f"  {line}" for line in others), *lines])
        if not holds:
            raise NotCertified(
                f"{certificate[:80]!r} proves nothing: a claim does not hold",
                argument="--certificate",
            )


def _certificate(path: str) -> Any:
    """The JSON of a certificate file.

    Raises `Usage` where it cannot be read, or is not JSON.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            message = f"--certificate: {path[:80]!r} is longer than {_LONGEST} characters"
            raise Usage(message, argument="--certificate")
        return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        message = f"--certificate: cannot read {path[:80]!r}: {reason}"
        raise Usage(message, argument="--certificate") from error
