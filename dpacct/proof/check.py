"""Statements that a certificate is made of, the certificate as a JSON object, and its check from scratch.

A claim says: in one direction of one plan, delta(epsilon) <= bound (or >=). It carries what the proof needs;
`holds` evaluates the proof again with more bits, from the plan's text. The check proves every claim again,
and that the claims together give the interval. No search is imported, but for files of schema 1.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from functools import cache
from typing import Any

from flint import arb

from dpacct.declare.number import exact, shown, text
from dpacct.errors import InvalidArgument, NotCertified, Unsupported
from dpacct.plan.node import from_json
from dpacct.vocabulary import Adjacency

from .balls import Enclosure, positive
from .effort import CHECKED, TooCostly, allowance
from .plan import Laws, Sides, read_plan
from .proofs import Proof

AT_MOST, AT_LEAST, MORE = "at most", "at least", "more than"
RELATIONS = (AT_MOST, AT_LEAST, MORE)
_MORE_BITS = 32
_SHORT = 10_000  # bits up to which a number is written as the user types it
_TINY = re.compile(r"-?\d(\.\d{1,1000})?E[+-]?\d{1,6}", re.ASCII | re.IGNORECASE)
_KINDS: dict[str, type] = {
    **dict.fromkeys(("plan", "adjacency", "side", "epsilon", "relation", "bound"), str),
    "direction": int,
    "evidence": dict,
    "terms": dict,
}
_SAID = {str: "text", int: "a whole number", dict: "an object"}
_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    MemoryError,
    RecursionError,
)
"""The errors that a malformed proof may raise."""


def decimal(value: Fraction, digits: int, up: bool) -> str:
    """A decimal of so many significant digits, on the stated side of the value.

    >>> decimal(Fraction(2, 3), 4, up=True), decimal(Fraction(2, 3), 4, up=False)
    ('0.6667', '0.6666')
    """
    if _size(value) >= _SHORT:
        return _of_many_digits(value, digits, up)
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _size(value: Fraction) -> int:
    """Bits of the longer of numerator and denominator."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _of_many_digits(value: Fraction, digits: int, up: bool) -> str:
    """`decimal` of long numbers: `Decimal` takes the square of their digits."""
    size, away = abs(value), up == (value > 0)
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    places = digits - math.floor(bits * math.log10(2.0))
    while True:
        numerator = size.numerator * 10 ** max(places, 0)
        whole, rest = divmod(numerator, size.denominator * 10 ** max(-places, 0))
        excess = len(str(whole)) - digits if whole else -1
        if not excess:
            context = Context(prec=digits + 1, Emin=-999_999, Emax=999_999)
            result = Decimal(whole + (away and rest > 0)).scaleb(-places, context)
            return str(result if value > 0 else -result)
        places -= excess


def require(holds: bool, message: str) -> None:
    """Raise `InvalidArgument` unless the condition on a certificate holds."""
    if not holds:
        raise InvalidArgument(message, argument="certificate")


@dataclass(frozen=True)
class Claim:
    """One proven inequality; `plan` is JSON text, epsilon and bound exact text."""

    plan: str
    adjacency: str
    side: str  # "upper" or "lower": which pairs of the plan
    direction: int
    epsilon: str
    relation: str
    bound: str
    evidence: dict[str, Any]
    terms: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The claim as JSON values."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Claim:
        """The object that `to_json` wrote; raises `InvalidArgument`."""
        named = isinstance(fields, dict) and set(fields) == set(_KINDS)
        require(named, f"a certificate's claim must have {', '.join(_KINDS)} and nothing else")
        for name, kind in _KINDS.items():
            right = type(fields[name]) is kind
            require(right, f"{name} of a certificate's claim must be {_SAID[kind]}")
        for name, allowed in (("side", ("upper", "lower")), ("relation", RELATIONS)):
            one_of = f"{name} of a certificate's claim must be one of {', '.join(allowed)}"
            require(fields[name] in allowed, one_of)
        return cls(**fields)

    def holds(self) -> bool:
        """Return whether the proof, evaluated again, gives the bound; raises `TooCostly`."""
        try:
            directions = laws_of(self.plan, self.adjacency, self.side)
        except Unsupported:
            return False  # of such a plan nothing is proved
        if self.direction not in range(len(directions)):
            return False
        bound = number(self.bound)
        try:
            proof = Proof(directions[self.direction], self.evidence, _MORE_BITS)
            enclosure, terms = proof.at(number(self.epsilon))
        except TooCostly:
            raise
        except (*_BROKEN, NotCertified, Unsupported):
            return False  # what is written down is no proof
        if not self._as_written(terms):
            return False
        if self.relation == AT_MOST:
            return enclosure.upper <= bound
        return enclosure.lower > bound if self.relation == MORE else enclosure.lower >= bound

    def _as_written(self, terms: dict[str, arb]) -> bool:
        """Return whether the sum and the error terms that are written down are those of the proof."""
        if set(self.terms) != set(terms):
            return False
        try:
            return all(_agrees(name, arb(self.terms[name]), terms[name]) for name in terms)
        except (TypeError, ValueError):
            return False


def _agrees(name: str, written: arb, value: arb) -> bool:
    """Return whether a stated term is true: it holds the sum, and its error is at least the true one."""
    if not written.is_finite():
        return False
    if name.endswith("sum"):
        return bool(written.overlaps(value))
    end = written.upper()
    return bool(end >= value * (1 - arb(1e-18)) and end <= value * (1 + arb(1e-6)))


def number(written: str) -> Fraction:
    """Exact text as a fraction; raises `InvalidArgument`."""
    value = exact(written) if isinstance(written, str) else None
    if value is None and isinstance(written, str) and _TINY.fullmatch(written):
        value = Fraction(Decimal(written))  # a delta as small as no one types
    if value is None:
        raise InvalidArgument(
            f"not a number in a certificate: {shown(written)}", argument="certificate"
        )
    return value


@cache
def sides(plan: str, adjacency: str) -> Sides:
    """The laws of a plan given as JSON text."""
    return read_plan(from_json(plan), Adjacency.parse(adjacency))


def laws_of(plan: str, adjacency: str, side: str) -> tuple[Laws, ...]:
    """The laws of each direction on one side of a plan given as JSON text."""
    both = sides(plan, adjacency)
    return both.upper if side == "upper" or both.lower is None else both.lower


def prove(laws: Laws, epsilon: Fraction, evidence: dict[str, Any]) -> Enclosure:
    """delta(epsilon) of one direction, enclosed by the proof that the evidence describes."""
    return Proof(laws, evidence, _MORE_BITS).at(epsilon)[0]


def exact_text(value: Fraction) -> str:
    """A fraction as text that `number` reads back exactly.

    >>> exact_text(Fraction(1, 3)), exact_text(Fraction(1, 10**40000))
    ('1/3', '1E-40000')
    """
    if _size(value) < _SHORT:
        return text(value)
    # of a decimal the denominator is 2^twos 5^fives
    denominator = value.denominator
    twos = (denominator & -denominator).bit_length() - 1
    fives = round(((denominator >> twos).bit_length() - 0.5) / math.log2(5.0))
    places = max(twos, fives)
    whole = value.numerator * 2 ** (places - twos) * 5 ** (places - fives)
    context = Context(prec=1000, Emin=-999_999, Emax=999_999, traps=[Inexact])
    try:
        if denominator >> twos == 5**fives and (not places or whole.bit_length() < _SHORT):
            return str(Decimal(whole).scaleb(-places, context).normalize(context))
    except Inexact:
        pass
    raise NotCertified("a number has more digits than a certificate should")


KIND = "dpacct-certificate"
SCHEMA = 2
"""The format that is written; the statements of a file of schema 1 are proved anew, its evidence unread."""
QUESTIONS = {
    "delta": {"epsilon"},
    "epsilon": {"delta"},
    "parameter": {"epsilon", "delta", "parameter", "meets", "fails", "safe_end"},
}
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


def check(
    contents: Any, *, independent: bool = False, tell: Callable[[int], None] = lambda most: None
) -> list[tuple[str, bool]]:
    """Each statement of a certificate and whether it holds; raises `InvalidArgument` if malformed.

    The interval is proven when all of them hold. Raises `NotCertified` where the check would take
    longer than a search would have been allowed, or more memory. Of a file of schema 1 each statement is
    proved anew from its plan, by a search. `independent`: by two nested integrals (`independent.py`) instead,
    which may take minutes: `tell` is called at each point of the outer one with the most that there can be.
    """
    most_claims = 200
    expected = f"not a certificate of schema {SCHEMA} or 1: expected kind {KIND!r}"
    require(isinstance(contents, Mapping) and contents.get("kind") == KIND, expected)
    require(contents.get("schema") in (1, SCHEMA), expected)
    require(
        set(contents) == _FIELDS and contents["quantity"] in list(QUESTIONS),
        f"a certificate must have {', '.join(sorted(_FIELDS))} and nothing else, and a quantity"
        f" among {', '.join(QUESTIONS)}",
    )
    question, asked = contents["question"], QUESTIONS[contents["quantity"]]
    require(
        isinstance(question, Mapping) and set(question) == asked,
        f"the certificate's question must have {', '.join(sorted(asked))}",
    )
    require(
        isinstance(contents["claims"], list) and len(contents["claims"]) <= most_claims,
        f"a certificate's claims must be a list of at most {most_claims}",
    )
    name = question.get("parameter", "steps")
    named = isinstance(name, str) and name.isidentifier()
    require(named, "a certificate's parameter must be a name")
    claims = [Claim.from_json(fields) for fields in contents["claims"]]
    if independent:
        from .independent import MOST_POINTS

        most = len(claims) * MOST_POINTS
        statements = [_independently(claim, lambda: tell(most)) for claim in claims]
    else:
        with allowance(CHECKED):
            statements = [_again(claim, old=contents["schema"] == 1) for claim in claims]
    for end, complete in _ends(contents, claims):
        statements.append((f"the claims give the {end} end {contents[end]}", complete))
    return statements


def about(contents: Mapping[str, Any]) -> list[str]:
    """Describe a certificate, a line each: the interval, the question, the plans, the adjacency.

    Plans are written anew, for a file may hold any text; raises `InvalidArgument`.
    """
    question = dict(contents["question"])
    plans = [
        from_json(question.pop(name)).to_json() for name in ("meets", "fails") if name in question
    ]
    named = question.pop("parameter", contents["quantity"])
    if plans:
        more = f"safe end: {question.pop('safe_end')}"
        stated = [f"meets the target: {plans[0]}", f"does not: {plans[1]}", more]
    else:
        stated = [f"plan: {from_json(claim['plan']).to_json()}" for claim in contents["claims"][:1]]
    asked = ", ".join(f"{name} {value}" for name, value in question.items())
    stated_for = {str(Adjacency.parse(claim["adjacency"])) for claim in contents["claims"]}
    return [
        f"{named} between {contents['lower']} and {contents['upper']}",
        f"at: {asked}",
        *stated,
        f"adjacency: {', '.join(sorted(stated_for))}",
    ]


def _sentence(claim: Claim, how: str) -> str:
    return (
        f"delta({claim.epsilon}) {claim.relation} {claim.bound}, {claim.side} pair,"
        f" direction {claim.direction} ({how})"
    )


def _again(claim: Claim, *, old: bool) -> tuple[str, bool]:
    """A statement, proved again; of an old file by a search, which no other file needs."""
    if not old:
        return _sentence(claim, str(claim.evidence.get("form"))), claim.holds()
    how = "schema 1: proved anew, its evidence is not read"
    return _sentence(claim, how), _proved_anew(claim)


def _proved_anew(claim: Claim) -> bool:
    """Return whether a search proves a statement of schema 1; raises `TooCostly`."""
    from .direction import ProofDirection

    directions = laws_of(claim.plan, claim.adjacency, claim.side)
    if claim.direction not in range(len(directions)):
        return False
    direction = ProofDirection(directions[claim.direction])
    epsilon, bound = number(claim.epsilon), number(claim.bound)
    try:
        within = direction.decide(epsilon, bound, only_edge=True)  # by the largest loss alone
        if within is not None and claim.relation != AT_LEAST:
            return within == (claim.relation == AT_MOST)
        if claim.relation == AT_MOST and direction.at_most(epsilon, bound):
            return True
        # of a statement that is proved anew
        for width in (1e-9, 1e-13, 1e-17, 1e-25, 1e-40, 1e-80, 1e-160):
            low, high = (enclosure := direction.enclose(epsilon, width)).lower, enclosure.upper
            holds = {AT_MOST: high <= bound, MORE: low > bound, AT_LEAST: low >= bound}
            fails = {AT_MOST: low > bound, MORE: high <= bound, AT_LEAST: high < bound}
            if holds[claim.relation] or fails[claim.relation]:
                return holds[claim.relation]
    except TooCostly:
        raise
    except (NotCertified, Unsupported):
        return False
    return False


def _independently(claim: Claim, tell: Callable[[], None]) -> tuple[str, bool]:
    """A statement, by two nested integrals on the line that its evidence names."""
    from .independent import within

    directions = laws_of(claim.plan, claim.adjacency, claim.side)
    evidence: Mapping[str, Any] = claim.evidence
    line = evidence.get("contour")
    stated = (line if isinstance(line, Mapping) else evidence).get("c")
    is_within: bool | None = None
    # of two integrals, where the evidence names none; any will do
    for c in (1.0, 8.0, 64.0) if stated is None else (stated,):
        if is_within is None and claim.direction in range(len(directions)) and positive(c):
            laws = directions[claim.direction]
            is_within = within(laws, number(claim.epsilon), number(claim.bound), c, tell)
    how = "two integrals" if is_within is not None else "beyond two integrals"
    return _sentence(claim, how), is_within is (claim.relation == AT_MOST)


def _ends(contents: Mapping[str, Any], claims: Sequence[Claim]) -> list[tuple[str, bool]]:
    """Return whether the claims imply the upper and the lower end."""
    question = contents["question"]
    lower, upper = number(contents["lower"]), number(contents["upper"])
    if len({claim.adjacency for claim in claims}) != 1:
        return [("upper", False), ("lower", False)]
    if contents["quantity"] != "parameter":
        one_plan = len({claim.plan for claim in claims}) == 1
        if contents["quantity"] == "delta":
            epsilon = number(question["epsilon"])
            above = _bounded(claims, epsilon, upper)
            below = _reached(claims, epsilon, lower)
        else:
            target = number(question["delta"])
            above = upper >= 0 and _bounded(claims, upper, target)
            below = _exceeded(claims, lower, target)
        return [("upper", one_plan and above), ("lower", one_plan and (lower <= 0 or below))]
    # two plans are stated, one that meets the target and one that does not
    epsilon, target = number(question["epsilon"]), number(question["delta"])
    meets = [c for c in claims if c.plan == question["meets"]]
    fails = [c for c in claims if c.plan == question["fails"]]
    enough, short = _bounded(meets, epsilon, target), _exceeded(fails, epsilon, target)
    safe_is_upper = question["safe_end"] == "upper"
    ends = (upper, lower) if safe_is_upper else (lower, upper)
    if question["safe_end"] not in ("upper", "lower") or not _stated(question, *ends):
        enough = short = False
    return [
        ("upper", enough if safe_is_upper else short),
        ("lower", short if safe_is_upper else enough),
    ]


def _stated(question: Mapping[str, Any], safe: Fraction, unsafe: Fraction) -> bool:
    """Return whether the two plans are one plan, with the parameter at the safe and at the other end."""
    meets, fails = str(question["meets"]), str(question["fails"])
    if question["parameter"] == "steps":  # one step is not written as a repetition
        releases = [list(from_json(run).releases()) for run in (meets, fails)]
        steps = [[leaf.to_json() for leaf, _ in run] for run in releases]
        return steps[0] == steps[1] and [[n for _, n in run] for run in releases] == [
            [safe],
            [unsafe],
        ]
    try:
        pairs = list(_differences(json.loads(meets), json.loads(fails)))
    except (ValueError, RecursionError):
        return False
    return any(key == question["parameter"] for key, _, _ in pairs) and all(
        (exact(str(a)), exact(str(b))) == (safe, unsafe) for _, a, b in pairs
    )


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
    """Return whether every dominating direction is claimed to have delta(epsilon) <= target."""
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


def _realised(claims: Sequence[Claim], epsilon: Fraction) -> Iterator[Claim]:
    """The claims about a pair that is realised, at this epsilon."""
    for c in claims:
        realised = "lower" if sides(c.plan, c.adjacency).lower is not None else "upper"
        if c.side == realised and number(c.epsilon) == epsilon:
            yield c


def _reached(claims: Sequence[Claim], epsilon: Fraction, target: Fraction) -> bool:
    """Return whether some realised direction is claimed to have delta(epsilon) >= target."""
    return any(
        c.relation in (AT_LEAST, MORE) and number(c.bound) >= target
        for c in _realised(claims, epsilon)
    )


def _exceeded(claims: Sequence[Claim], epsilon: Fraction, target: Fraction) -> bool:
    """Return whether some realised direction is claimed to have delta(epsilon) > target.

    Equality would not do: delta may stay at its target over a stretch of epsilons.
    """
    return any(c.relation == MORE and number(c.bound) >= target for c in _realised(claims, epsilon))
