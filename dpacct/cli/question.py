"""What `dpacct eps` and `dpacct delta` do with a plan: ask about it, and print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.cli import proof
from dpacct.cli.output import show

if TYPE_CHECKING:
    from dpacct.answer.ask import Question
    from dpacct.tree import Node


_HOW = ("method", "as_json", "quiet", "digits", "certificate")


def taken(values: dict[str, Any]) -> dict[str, Any]:
    """Take out of a command's options those that say how to answer, as `answer` wants them."""
    return {name: values.pop(name) for name in _HOW}


def answer(
    command: str,
    question: Question,
    node: Node,
    notes: Sequence[str],
    *,
    meaning: str,
    method: str,
    as_json: bool,
    quiet: bool,
    digits: Fraction | None,
    certificate: str | None,
) -> None:
    """Print the answer to a question about a plan, under --json beside what other methods say."""
    found = proof.put(question, node, method=method, digits=digits, certificate=certificate)
    if as_json:
        from dpacct.answer.ask import alternatives

        found = replace(found, alternatives=alternatives(question, node, but=found.method))
    show(
        command,
        found,
        as_json=as_json,
        quiet=quiet,
        meaning=meaning,
        notes=[*notes, *found.notes],
        more=proof.ends(found, digits),
        hint="dpacct compare, with the same options, shows what other methods say.",
    )
