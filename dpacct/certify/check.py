"""A certificate as a JSON object, and its check from scratch.

The check proves every claim again from the plan's text, and that the claims together give the
interval. It imports nothing that searches for contours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpacct.domain import exact
from dpacct.errors import InvalidArgument
from dpacct.tree import from_json

from .claims import AT_LEAST, AT_MOST, Claim, number, sides

KIND = "dpacct-certificate"
SCHEMA = 1
QUESTIONS = {
    "delta": {"epsilon"},
    "epsilon": {"delta"},
    "parameter": {"epsilon", "delta", "parameter", "meets", "fails", "safe_end"},
}
QUANTITIES = tuple(QUESTIONS)
_FIELDS = {"schema", "kind", "quantity", "question", "lower", "upper", "claims"}


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
    if set(told) != _FIELDS or told["quantity"] not in QUANTITIES:
        raise InvalidArgument(
            f"a certificate must have {', '.join(sorted(_FIELDS))} and nothing else, and a quantity"
            f" among {', '.join(QUANTITIES)}",
            argument="certificate",
        )
    if (
        not isinstance(told["question"], Mapping)
        or set(told["question"]) != QUESTIONS[told["quantity"]]
    ):
        asked = ", ".join(sorted(QUESTIONS[told["quantity"]]))
        raise InvalidArgument(
            f"the certificate's question must have {asked}", argument="certificate"
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
    ends = (upper, lower) if safe_is_upper else (lower, upper)
    if question["safe_end"] not in ("upper", "lower") or not _stated(question, *ends):
        enough = short = False
    return [
        ("upper", enough if safe_is_upper else short),
        ("lower", short if safe_is_upper else enough),
    ]


def _stated(question: Mapping[str, Any], safe: Fraction, unsafe: Fraction) -> bool:
    """Whether the two plans are one plan, with the parameter at the safe and at the other end."""
    meets, fails = str(question["meets"]), str(question["fails"])
    try:
        pairs = list(_differences(json.loads(meets), json.loads(fails)))
        counts = [[n for _, n in from_json(told).releases()] for told in (meets, fails)]
    except ValueError:
        return False
    named = any(key == question["parameter"] for key, _, _ in pairs)
    if named and all((exact(str(a)), exact(str(b))) == (safe, unsafe) for _, a, b in pairs):
        return True
    # a number of steps; one step is not written as a repetition
    return question["parameter"] == "steps" and counts == [[safe], [unsafe]]


def _differences(a: Any, b: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The values in which two JSON objects differ, each with its key."""
    if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) == set(b):
        for name in a:
            yield from _differences(a[name], b[name], name)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            yield from _differences(x, y, key)
    elif a != b:
        yield key, a, b


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
