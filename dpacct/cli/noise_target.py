"""What the noise is looked for: a guarantee, or the success of attacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.domain import Domain, Real
from dpacct.errors import DpacctError, InvalidArgument

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.words import Stated

CHANCE = Real(0, 1)


@dataclass(frozen=True)
class Power:
    """At most this true positive rate at this false positive rate."""

    hits: Fraction
    alarms: Fraction


class PowerDomain(Domain[Power]):
    """`0.01@0.001`: a true positive rate at a false positive rate."""

    @property
    def words(self) -> str:
        """Both, in the form in which they are typed."""
        return "a true positive rate at a false positive rate, such as 0.01@0.001"

    def check(
        self, name: str, value: object, *, error: type[DpacctError] = InvalidArgument
    ) -> Power:
        """Both rates."""
        if isinstance(value, Power):
            return value
        hits, at, alarms = str(value).partition("@")
        if not at:
            raise self.refusal(name, value)
        return Power(CHANCE.check(name, hits), CHANCE.check(name, alarms))


POWER = PowerDomain()


def sizes() -> frozenset[str]:
    """The parameters that say how much noise there is, of all mechanisms."""
    from dpacct.cli.words import noises

    leading = [
        way.split()[0]
        for kind in noises().values()
        for way in (kind.ways or kind.sought).split("|")
    ]
    return frozenset(leading)


def in_other_words(answer: Answer, stated: Stated) -> dict[str, float]:
    """The same noise per clip, and in the data's own units when the clipping norm is known.

    The sensitivity of a clipped sum is clip_factor * clip (twice the clip under replace-one).
    """
    factor, safe = answer.adjacency.clip_factor, float(answer)
    sizes = {"noise_multiplier": factor * safe} if stated.kind.kind == "gaussian" else {}
    if stated.clip is not None and stated.kind.kind in ("gaussian", "laplace"):
        # One float up: a product may be rounded down, and less noise is not what was asked for.
        size = math.nextafter(factor * safe * float(stated.clip), math.inf)
        sizes["noise_scale" if stated.kind.kind == "laplace" else "noise_std"] = size
    return sizes
