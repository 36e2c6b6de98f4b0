"""A value or a combination of options that a command will not take: one sentence, exit code 2."""

from __future__ import annotations

import click

from dpacct.cli.exit_status import ExitStatus


class Refusal(click.UsageError):
    """Raised by the command line's own checks.

    Attributes:
        message: one sentence.
        argument: the option or key it is about, such as "--delta", or None.
        kind: a short machine-readable name of what went wrong.
        status: the exit code.
    """

    def __init__(
        self,
        message: str,
        argument: str | None = None,
        *,
        kind: str = "usage",
        status: ExitStatus = ExitStatus.USAGE,
    ) -> None:
        super().__init__(message)
        self.argument = argument
        self.kind = kind
        self.status = status
