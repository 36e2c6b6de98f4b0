"""Certificates in Python: make, write, read and check them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpacct.declare.number import Number, shown
from dpacct.declare.record import Displayed, Facts
from dpacct.declare.words import hinting
from dpacct.errors import InvalidArgument
from dpacct.plan.node import Node
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from os import PathLike

_LONGEST = 20_000_000  # characters; a long certificate has 10^5


class CheckedClaim(NamedTuple):
    """One statement of a certificate, and whether it was proved again."""

    statement: str
    holds: bool


@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """An interval for one answer, with proofs of both ends (docs/theory/certificate.md)."""

    contents: Mapping[str, Any]

    def facts_shown(self) -> Facts:
        """The statement of the certificate; `check` says whether it is proved."""
        stated, (lower, upper) = self.contents, self.interval
        where = ", ".join(f"{name} {value}" for name, value in stated["question"].items())
        claims = {"claims": len(stated["claims"])}
        return {stated["quantity"]: f"in [{lower}, {upper}]", "at": where, **claims}

    @property
    def interval(self) -> tuple[str, str]:
        """The lower and the upper end, exactly, as text."""
        return self.contents["lower"], self.contents["upper"]

    def write(self, path: str | PathLike[str]) -> None:
        """Write it as JSON; `dpacct verify --certificate` reads it.

        Raises `OSError` where the file cannot be written.
        """
        Path(path).write_text(json.dumps(self.contents, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Certificate:
        """Read a file that `write` or a command wrote.

        Raises `InvalidArgument` where it cannot be read, or is not JSON; `check` says what it proves.
        """
        try:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(_LONGEST + 1)
            contents = json.loads(text) if len(text) <= _LONGEST else None
            if isinstance(contents, dict):
                return cls(contents)
            reason = "it is not a certificate"
        except (OSError, ValueError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or "it is not JSON"
        message = f"certificate must be a readable file, got {shown(str(path))}: {reason}"
        raise InvalidArgument(message, argument="certificate")

    def check(self, independent: bool = False) -> tuple[CheckedClaim, ...]:
        """Prove each statement again from the plan's text; the interval is proved if all of them hold.

        `independent`: by two nested integrals, which share neither search nor rules with what made it; a
        statement that no line carries is beyond them, and does not hold then. Raises `InvalidArgument` where
        it is malformed, `NotCertified` where a check would take too long.

        >>> import dpacct as dp
        >>> made = dp.certificate(dp.Laplace(b=10) * 1000, epsilon=15, digits=6)
        >>> all(one.holds for one in made.check(independent=True))
        True
        """
        from dpacct.proof.check import check

        return tuple(
            CheckedClaim(*claim) for claim in check(self.contents, independent=independent)
        )


@hinting
def certificate(
    node: Node,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    adjacency: Adjacency | str | None = None,
    digits: int = 12,
) -> Certificate:
    """Prove epsilon at `delta`, or delta at `epsilon`, to so many digits, and keep the proof.

    Raises `InvalidArgument` unless one of the two is given, `NotCertified` or `Unsupported` where there is no
    proof.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> made = certificate(run, delta=1e-5, digits=6)
    >>> made.interval[0][:6], all(one.holds for one in made.check())
    ('1.5153', True)
    """
    from dpacct.plan import certified

    if (delta is None) == (epsilon is None):
        message = "delta or epsilon must be given, and not both"
        raise InvalidArgument(message, argument="delta")
    if delta is not None:
        answer = certified.epsilon(node, delta=delta, adjacency=adjacency, digits=digits)
    else:
        assert epsilon is not None
        answer = certified.delta(node, epsilon=epsilon, adjacency=adjacency, digits=digits)
    contents: dict[str, Any] = json.loads(json.dumps(answer.certificate))  # as it is read
    return Certificate(contents)
