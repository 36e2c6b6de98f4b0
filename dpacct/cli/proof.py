"""Answers on the command line: --digits and --certificate insist on a proof."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.cli.output import write_file
from dpacct.cli.refusal import Refusal

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import Question

METHOD = "certified"
_LONGEST = 20_000_000  # characters of a certificate; a long one has 10^5


def wanted(method: str, digits: Fraction | None, certificate: str | None) -> bool:
    """Whether the question is for a proof: by name, or by asking for what only a proof has.

    Raises:
        Refusal: another method was asked for as well.
    """
    given = "--digits" if digits is not None else "--certificate" if certificate else None
    if given and method not in ("auto", METHOD):
        told = f"{given} needs --method {METHOD}, and --method {method} was given."
        raise Refusal(told, given, kind="exclusive-options")
    return given is not None or method == METHOD


def put(
    question: Question,
    plan: Any,
    *,
    method: str,
    digits: Fraction | None,
    certificate: str | None,
) -> Answer:
    """The answer to a question, its certificate written to a file if asked.

    Raises:
        Refusal: options that contradict each other, or a file that cannot be written.
        NotCertified: a proof was asked for, and there is none.
    """
    from dpacct.answer.ask import DIGITS, ask

    insisted = None
    if wanted(method, digits, certificate):
        insisted = DIGITS if digits is None else int(digits)
    found = ask(question, plan, method=method, digits=insisted)
    if certificate is not None:
        text = json.dumps(found.certificate, indent=1) + "\n"
        write_file(text.encode(), certificate, "--certificate")
    return found


def ends(answer: Answer, digits: Fraction | None) -> list[str]:
    """The interval in decimals, where more digits were asked for than a float has."""
    if digits is None or digits <= 15:
        return []
    extra = answer.extra
    return [f"  proven: between {extra['lower_decimal']} and {extra['upper_decimal']}"]


def read(path: str) -> Any:
    """The JSON of a certificate file.

    Raises:
        Refusal: it cannot be read, or is not JSON.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            told = f"--certificate: {path[:80]!r} is longer than {_LONGEST} characters."
            raise Refusal(told, "--certificate")
        return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        told = f"--certificate: cannot read {path[:80]!r}: {reason}."
        raise Refusal(told, "--certificate") from error
