"""The same question, put to every method."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpacct.errors import DpacctError

if TYPE_CHECKING:
    from dpacct.answer import Answer

# Strongest first. A method that does not apply to a plan refuses, and is left out.
ROUTES = ("exact", "balle_wang.theorem8", "rdp", "rdp-mironov", "clt")


def by_every_method(ask: Callable[[str], Answer], *, but: str = "") -> tuple[Answer, ...]:
    """What each method answers.

    Args:
        ask: puts the question to the method of that name.
        but: a method that has answered already.
    """
    answers = []
    for method in ROUTES:
        if method == but:
            continue
        try:
            answers.append(ask(method))
        except DpacctError:
            continue
    return tuple(answers)
