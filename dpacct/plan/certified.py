"""Certified answers: the fast engine finds the claims, ball arithmetic proves them.

`epsilon`, `delta` and `boundary` return an answer with its certificate, a JSON object that
`dpacct.proof.check` proves again; `Certificate` writes, reads and checks that object.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dpacct.answer import Answer
from dpacct.citations import BALLS
from dpacct.declare.domain import DELTA, DIGITS, EPSILON, PROOF_DIGITS
from dpacct.declare.number import Number, ln, shown, text
from dpacct.display import Displayed, Facts
from dpacct.errors import InvalidArgument, NotCertified
from dpacct.plan.composition import Composition
from dpacct.plan.node import Node, resolve_adjacency
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from os import PathLike

    from dpacct.answer.ask import BoundaryQuestion
    from dpacct.proof.solve import Certified, ProofPlan


@dataclass(frozen=True)
class Proven:
    """An answer, and the JSON object that proves it."""

    answer: Answer
    certificate: dict[str, Any]


def prepared(composition: Composition) -> ProofPlan:
    """A composition ready for certified questions; raises `Unsupported` if there is no proof."""
    from dpacct.proof.solve import ProofPlan

    return ProofPlan(composition.node, composition.adjacency, composition.upper, composition.lower)


def _check_promising(composition: Composition, effort: float) -> None:
    """Raise `NotCertified` where a proof that was not insisted on would be tried in vain."""
    from dpacct.proof.effort import FORCED

    if effort >= FORCED:
        return
    # Seconds that a proof takes for each kind of release: 40 sampled Gaussians take .28 s, measured.
    if len(composition.releases) * 6e-3 > effort:
        message = f"a proof of so many kinds of releases would take more than about {effort:.2g} s"
        raise NotCertified(message)
    if composition.seldom_touched:
        raise NotCertified(
            "a record is expected in fewer than one step, where no contour ends soon"
        )


def plan(node: Node, adjacency: Adjacency | str | None = None) -> ProofPlan:
    """The plan ready for certified questions; raises `Unsupported` where there is no proof."""
    return prepared(Composition(node, resolve_adjacency(node, adjacency)))


def below(value: Fraction) -> float:
    """The largest float that is not above the value.

    >>> below(Fraction(1, 10)) <= Fraction(1, 10) < math.nextafter(below(Fraction(1, 10)), 1)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def above(value: Fraction) -> float:
    """The smallest float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _proven(
    quantity: str,
    question: dict[str, Any],
    ends: Certified,
    composition: Composition,
    started: float,
    digits: int,
    safe_end: Literal["upper", "lower"] = "upper",
    *,
    name: str = "",
) -> Proven:
    """The answer between two proven ends, and the certificate of the question; `name` of a parameter."""
    from dpacct.proof.check import certificate, decimal, exact_text

    node = composition.node
    lower, upper = below(ends.lower), above(ends.upper)
    # the value is what is promised: the safe end of a parameter, and where the dominating pair may not
    # be realised; else what is between the ends
    middle, value = (ends.upper, upper) if safe_end == "upper" else (ends.lower, lower)
    if composition.lower is None and not name:
        middle = (ends.lower + ends.upper) / 2
        value = min(max(float(middle), lower), upper)
    answer = Answer(
        quantity=name or quantity,
        value=value,
        lower=lower,
        upper=upper,
        side=Side.TWO_SIDED,
        strength=Strength.PROVED,
        method="certified",
        basis=(*composition.basis, BALLS),
        assumptions=node.assumptions(composition.adjacency),
        adjacency=composition.adjacency,
        unit=node.unit,
        tree=node,
        seconds=time.perf_counter() - started,
        log_value=ln(middle) if quantity == "delta" and middle > 0 else None,
        extra={
            "lower_decimal": decimal(ends.lower, digits + 6, up=False),
            "upper_decimal": decimal(ends.upper, digits + 6, up=True),
        },
        safe_end=safe_end,
    )
    written = exact_text(ends.lower), exact_text(ends.upper)
    return Proven(answer, certificate(quantity, question, *written, ends.claims))


def epsilon(
    node: Node,
    *,
    delta: Number,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
    effort: float = math.inf,
) -> Proven:
    """The least epsilon at delta, in a proven interval of relative width 10^-digits.

    `effort` is the most a proof may cost, in seconds as estimated from the sizes of its sums (at most
    60). Raises `NotCertified` where the width is not reached, `Unsupported` where there is no proof.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> epsilon(run, delta=1e-5, digits=20).answer.extra["upper_decimal"][:21]
    '1.5153619166644847273'
    """
    from dpacct.proof.effort import FORCED, allowance

    started = time.perf_counter()
    target = DELTA.check("delta", delta)
    digits = PROOF_DIGITS.check("digits", digits)
    composition = Composition(node, resolve_adjacency(node, adjacency))
    _check_promising(composition, effort)
    with allowance(min(effort, FORCED)):
        ends = prepared(composition).epsilon(target, 10.0**-digits)
    return _proven("epsilon", {"delta": text(target)}, ends, composition, started, digits)


def delta(
    node: Node,
    *,
    epsilon: Number,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
    effort: float = math.inf,
) -> Proven:
    """The least delta at epsilon, in a proven interval of relative width 10^-digits.

    `effort` is the most a proof may cost, in seconds as estimated from the sizes of its sums (at most
    60). Raises `NotCertified` where the width is not reached, `Unsupported` where there is no proof.

    >>> import dpacct as dp
    >>> run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    >>> delta(run, epsilon=1.5, digits=20).answer.extra["upper_decimal"][:24]
    '0.0000115378673456327381'
    """
    from dpacct.proof.effort import FORCED, allowance

    started = time.perf_counter()
    at = EPSILON.check("epsilon", epsilon)
    digits = PROOF_DIGITS.check("digits", digits)
    composition = Composition(node, resolve_adjacency(node, adjacency))
    _check_promising(composition, effort)
    with allowance(min(effort, FORCED)):
        ends = prepared(composition).delta(at, 10.0**-digits)
    return _proven("delta", {"epsilon": text(at)}, ends, composition, started, digits)


def boundary(
    question: BoundaryQuestion,
    build: Callable[[Any], Node],
    guess: float,
    *,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
    effort: float = math.inf,
) -> Proven:
    """A parameter's boundary near a guess: one end proven to meet the target, one proven not to.

    `build` makes a plan from an exact value of the parameter, in which privacy must be monotone;
    `guess` is what `dpacct.calibrate` finds; `effort` as in `epsilon`. Raises `NotCertified`.

    Of a whole number, with which privacy must not grow, it is the largest that meets the target, and the
    next one is proven not to. Where the dominating pair may not be realised (fixed-size samples), the next
    one meets it no more under that pair, and the upper end is one that surely misses it. `NotCertified`
    also where the guess is more than a few off, or too close to call.

    >>> import dpacct as dp
    >>> from dpacct.answer.ask import BoundaryQuestion
    >>> plan = lambda sigma: dp.Poisson(0.01)(dp.Gaussian(sigma=sigma)) * 1000
    >>> proven = boundary(BoundaryQuestion(epsilon=7, delta=1e-5, name="sigma"), plan, 0.611546)
    >>> proven.answer.lower < 0.6115461 < proven.answer.upper + 1e-6, proven.answer.safe_end
    (True, 'upper')
    >>> steps = BoundaryQuestion(epsilon=1, delta=1e-6, name="steps", whole=True)
    >>> int(boundary(steps, lambda n: dp.Gaussian(sigma=20) * n, 22).answer)
    22
    """
    from dpacct.proof import solve
    from dpacct.proof.effort import FORCED, allowance

    started, target = time.perf_counter(), (question.epsilon, question.delta)
    digits = PROOF_DIGITS.check("digits", digits)

    def made(x: Fraction | int) -> Node:
        return build(int(x) if question.whole else x)

    def composed(x: Fraction | int) -> Composition:
        node = made(x)
        return Composition(node, resolve_adjacency(node, adjacency))

    with allowance(min(effort, FORCED)):
        if question.whole:
            more_is_safer = False
            ends = solve.whole_boundary(lambda n: prepared(composed(n)), int(guess), *target)
        else:
            ends, more_is_safer = solve.boundary(
                lambda x: prepared(composed(x)), guess, *target, 10.0**-digits
            )
    safe, unsafe = (ends.upper, ends.lower) if more_is_safer else (ends.lower, ends.upper)
    safe_end: Literal["upper", "lower"] = "upper" if more_is_safer else "lower"
    composition = composed(safe)
    stated = {
        **{name: text(value) for name, value in question.settings.items()},
        "parameter": question.quantity,
        "meets": composition.node.to_json(),
        "fails": made(unsafe).to_json(),
        "safe_end": safe_end,
    }
    name = question.quantity
    proven = _proven("parameter", stated, ends, composition, started, digits, safe_end, name=name)
    if not question.whole:
        return proven
    return replace(proven, answer=replace(proven.answer, value=float(safe)))


# --- certificates in Python: make, write, read and check them


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
        # characters; a long certificate has 10^5
        longest = 20_000_000
        try:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(longest + 1)
            contents = json.loads(text) if len(text) <= longest else None
            if isinstance(contents, dict):
                return cls(contents)
            reason = "it is not a certificate"
        except (OSError, ValueError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or "it is not JSON"
        message = f"certificate must be a file that can be read, got {shown(str(path))}: {reason}"
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


def certificate(
    node: Node,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    adjacency: Adjacency | str | None = None,
    digits: int = DIGITS,
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
    from dpacct.answer.ask import ask, either

    kind, at = either("certificate", delta, epsilon)
    answer = ask(kind(at), node, digits=digits, adjacency=adjacency)
    contents: dict[str, Any] = json.loads(json.dumps(answer.certificate))  # as it is read
    return Certificate(contents)
