"""Certified answers on the command line: --digits, --certificate, and what they imply."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.cli.refusal import Refusal

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.compose.certified import Proven

METHOD = "certified"


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


def answer(
    ask: Callable[[int], Proven], digits: Fraction | None, certificate: str | None
) -> Answer:
    """The answer to so many digits (9 unless asked), its certificate written to a file if asked.

    Raises:
        Refusal: the file cannot be written.
        NotCertified: there is no proof to that many digits.
    """
    from dpacct.compose.certified import DIGITS

    found = ask(DIGITS if digits is None else int(digits))
    if certificate is not None:
        text = json.dumps(found.certificate, indent=1) + "\n"
        try:
            Path(certificate).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a file name"
            told = f"--certificate: cannot write {certificate[:80]!r}: {reason}."
            raise Refusal(told, "--certificate") from error
    return found.answer


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
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        told = f"--certificate: cannot read {path[:80]!r}: {reason}."
        raise Refusal(told, "--certificate") from error
