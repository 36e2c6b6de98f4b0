"""The entry point of the `dpacct` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dpacct.cli.root import root


def main(argv: Sequence[str] | None = None) -> int:
    """Run `dpacct` on a list of words (`sys.argv[1:]` by default) and return its exit code.

    >>> main(["--version"])  # doctest: +ELLIPSIS
    dpacct ...
    0
    """
    return root.run(sys.argv[1:] if argv is None else argv)
