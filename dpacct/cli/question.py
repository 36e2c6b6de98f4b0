"""What `dpacct eps` and `dpacct delta` do with a plan: answer, proven where it can be, and print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli import proof
from dpacct.cli.alternatives import by_every_method
from dpacct.cli.output import show

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.compose.certified import Proven
    from dpacct.tree import Node


_HOW = ("method", "as_json", "quiet", "digits", "certificate")


def taken(values: dict[str, Any]) -> dict[str, Any]:
    """Take out of a command's options those that say how to answer, as `answer` wants them."""
    return {name: values.pop(name) for name in _HOW}


def answer(
    command: str,
    node: Node,
    notes: Sequence[str],
    ask: Callable[[str], Answer],
    prove: Callable[[int, float], Proven],
    *,
    meaning: str,
    method: str,
    as_json: bool,
    quiet: bool,
    digits: Fraction | None,
    certificate: str | None,
) -> None:
    """Print the strongest answer: `ask(method)` computes one, `prove(digits, effort)` a proven one."""

    def fast() -> Answer:
        from dpacct.compose.questions import fast_method

        return ask(fast_method(node) if method == "auto" else method)

    found, why = proof.strongest(prove, fast, method=method, digits=digits, certificate=certificate)
    if as_json:
        found = replace(found, alternatives=by_every_method(ask, but=found.method))
    show(
        command,
        found,
        as_json=as_json,
        quiet=quiet,
        meaning=meaning,
        notes=[*notes, *why],
        more=proof.ends(found, digits),
        hint="dpacct compare, with the same options, shows what other methods say.",
    )
