"""A certificate as a JSON object, and its check from scratch.

The check proves every claim again from the plan's text, and that the claims together give the
interval. It imports nothing that searches for contours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpacct.errors import InvalidArgument

from .claims import AT_LEAST, AT_MOST, Claim, number, sides

KIND = "dpacct-certificate"
SCHEMA = 1
QUANTITIES = ("delta", "epsilon", "parameter")


def certificate(
    quantity: str, question: Mapping[str, str], lower: str, upper: str, claims: Sequence[Claim]
) -> dict[str, Any]:
    """A certificate: `question` holds what was asked as exact text, the ends are exact text."""
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "quantity": quantity,
        "question": dict(question),
        "lower": lower,
        "upper": upper,
        "claims": [claim.to_json() for claim in claims],
    }


def check(told: Any) -> list[tuple[str, bool]]:
    """Each statement of a certificate and whether it holds; raises `InvalidArgument` if malformed.

    The interval is proven when all of them hold.
    """
    if not isinstance(told, Mapping) or told.get("kind") != KIND or told.get("schema") != SCHEMA:
        raise InvalidArgument(
            f"not a certificate of schema {SCHEMA}: expected kind {KIND!r}", argument="certificate"
        )
    missing = {"quantity", "question", "lower", "upper", "claims"} - set(told)
    if missing or told["quantity"] not in QUANTITIES:
        raise InvalidArgument(
            f"a certificate must have {', '.join(sorted(missing)) or 'a known quantity'}",
            argument="certificate",
        )
    claims = [Claim.from_json(fields) for fields in told["claims"]]
    found = [(_sentence(claim), claim.holds()) for claim in claims]
    for end, complete in _ends(told, claims):
        found.append((f"the claims give the {end} end {told[end]}", complete))
    return found


def _sentence(claim: Claim) -> str:
    return (
        f"delta({claim.epsilon}) {claim.relation} {claim.bound}, {claim.side} pair,"
        f" direction {claim.direction} ({claim.evidence.get('form')})"
    )


def _ends(told: Mapping[str, Any], claims: Sequence[Claim]) -> list[tuple[str, bool]]:
    """Whether the claims imply the upper and the lower end."""
    question = told["question"]
    lower, upper = number(told["lower"]), number(told["upper"])
    if told["quantity"] == "delta":
        epsilon = number(question["epsilon"])
        one_plan = len({(c.plan, c.adjacency) for c in claims}) == 1
        return [
            ("upper", one_plan and _bounded(claims, epsilon, upper)),
            ("lower", one_plan and (lower <= 0 or _reached(claims, epsilon, lower))),
        ]
    target = number(question["delta"])
    if told["quantity"] == "epsilon":
        one_plan = len({(c.plan, c.adjacency) for c in claims}) == 1
        return [
            ("upper", one_plan and _bounded(claims, upper, target)),
            ("lower", one_plan and (lower <= 0 or _reached(claims, lower, target))),
        ]
    # a parameter: the two plans are stated, one that meets the target and one that does not
    epsilon = number(question["epsilon"])
    meets = [c for c in claims if c.plan == question["meets"]]
    fails = [c for c in claims if c.plan == question["fails"]]
    enough, short = _bounded(meets, epsilon, target), _reached(fails, epsilon, target)
    safe_is_upper = question["safe_end"] == "upper"
    return [
        ("upper", enough if safe_is_upper else short),
        ("lower", short if safe_is_upper else enough),
    ]


def _bounded(claims: Sequence[Claim], epsilon: Fraction, target: Fraction) -> bool:
    """Whether every dominating direction is claimed to have delta(epsilon) <= target."""
    if not claims:
        return False
    count = len(sides(claims[0].plan, claims[0].adjacency).upper)
    settled = {
        c.direction
        for c in claims
        if c.relation == AT_MOST
        and c.side == "upper"
        and number(c.epsilon) == epsilon
        and number(c.bound) <= target
    }
    return settled >= set(range(count))


def _reached(claims: Sequence[Claim], epsilon: Fraction, target: Fraction) -> bool:
    """Whether some realised direction is claimed to have delta(epsilon) >= target."""
    for c in claims:
        realised = "lower" if sides(c.plan, c.adjacency).lower is not None else "upper"
        if (
            c.relation == AT_LEAST
            and c.side == realised
            and number(c.epsilon) == epsilon
            and number(c.bound) >= target
        ):
            return True
    return False
