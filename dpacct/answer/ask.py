"""The one author of answers: `ask(question, plan)`, for Python, commands, reports and calibrations.

"auto" is decided here and nowhere else: a proof where it costs at most `effort`, else the strongest
method that is quick.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from dpacct.answer.answer import Answer, Answers
from dpacct.citations import ADDED, PURE
from dpacct.declare.domain import (
    DIGITS,
    EFFORT,
    EPSILON,
    PROOF_DIGITS,
    PURE_DELTA,
    TARGET_EPSILON,
)
from dpacct.declare.number import Number, shown
from dpacct.declare.record import Parameter, Record
from dpacct.errors import DpacctError, InvalidArgument, NotCertified, OutsideDomain, Unsupported
from dpacct.vocabulary import Adjacency, Side, Strength

if TYPE_CHECKING:
    from dpacct.plan.certified import Proven
    from dpacct.plan.node import Node

COMPARED = ("exact", "balle_wang.theorem8", "rdp", "rdp-mironov", "clt")
"""The methods that stand beside an answer, the strongest first; the lattice, which takes a second in a
calibration, only in `compare`."""
_AS_GOOD = 1e-9  # of an answer: by how much a proof may be larger and still take its place


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def strict(question: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run a computation; withhold its answer if it overflows, is undefined or divides by zero.

    What numpy warns of is raised where it happens, and is no `ArithmeticError`: nobody who has another
    way takes it for a refusal. Code that expects such a value, and checks for it, says so by an
    `np.errstate` of its own. An `ArithmeticError` of Python's that reaches the entry is withheld too.
    """

    @wraps(question)
    def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        import numpy as np

        def withhold(what: str, flag: int) -> None:  # called with the floating-point error's name
            raise NotCertified(f"the answer is withheld: {what} on the way to it")

        try:
            with np.errstate(all="call", under="ignore", call=withhold):
                return question(*args, **kwargs)
        except (ArithmeticError, MemoryError) as error:
            message = "its numbers are outside the range of double precision and of this engine"
            raise NotCertified(f"the answer is withheld: {message}") from error

    return asked


class Question(Record, ABC):
    """A question about a plan; a subclass defines how it is proved and how it is computed."""

    quantity: ClassVar[str]

    def provable(self) -> bool:
        """Return False where the answer needs no proof: a sum of stated losses."""
        return True

    @abstractmethod
    def prove(self, plan: Any, adjacency: Adjacency | None, digits: int, effort: float) -> Proven:
        """A proof; raises `NotCertified` or `Unsupported` where there is none."""

    @abstractmethod
    def compute(self, plan: Any, adjacency: Adjacency | None, method: str) -> Answer:
        """The answer of one method; raises `Unsupported` where it does not apply."""

    def sharper(self, plan: Any, adjacency: Adjacency | None, method: str) -> Answer | None:
        """A sharper answer from a theorem about this kind of plan; None if there is none."""
        return None


class _PointQuestion(Question):
    """Base of `Epsilon` and `Delta`: one end of a guarantee at the other."""

    other: ClassVar[str]

    @property
    def at(self) -> Fraction:
        """The value at which it is asked."""
        at: Fraction = vars(self)[self.other]
        return at

    def prove(self, plan: Node, adjacency: Adjacency | None, digits: int, effort: float) -> Proven:
        """Prove both ends in ball arithmetic."""
        from dpacct.plan import certified

        proofs: dict[str, Callable[..., Proven]]
        proofs = {"epsilon": certified.epsilon, "delta": certified.delta}
        about: dict[str, Any] = {self.other: self.at, "adjacency": adjacency}
        return proofs[self.quantity](plan, **about, digits=digits, effort=effort)

    def compute(self, plan: Node, adjacency: Adjacency | None, method: str) -> Answer:
        """Compute the answer by one method."""
        from dpacct.plan import routes

        compute = {"epsilon": routes.epsilon, "delta": routes.delta}[self.quantity]
        return compute(plan, self.at, method, adjacency)

    def sharper(self, plan: Node, adjacency: Adjacency | None, method: str) -> Answer | None:
        """Answer by a theorem about this kind of plan."""
        return plan.sharper(self.quantity, self.at, method, adjacency)


class Epsilon(_PointQuestion):
    """The least epsilon at this delta; at delta 0 the sum of the largest losses."""

    delta: Parameter[Fraction] = Parameter(
        PURE_DELTA,
        "delta of the guarantee, below 1; 0 for pure differential privacy",
        kw_only=False,
    )
    quantity, other = "epsilon", "delta"

    def sharper(self, plan: Node, adjacency: Adjacency | None, method: str) -> Answer | None:
        """Answer by the largest losses, or by a theorem about this kind of plan."""
        if self.delta:
            return super().sharper(plan, adjacency, method)
        return pure(plan, adjacency, method)


class Delta(_PointQuestion):
    """The least delta at this epsilon."""

    epsilon: Parameter[Fraction] = Parameter(
        EPSILON, "epsilon of the guarantee, at least 0", kw_only=False
    )
    quantity, other = "delta", "epsilon"


class BoundaryQuestion(Question):
    """The boundary value of one parameter at which a plan meets (epsilon, delta), on the safe side.

    Its plan is a function of the parameter, in which privacy must be monotone.
    """

    epsilon: Parameter[Fraction] = Parameter(TARGET_EPSILON, "epsilon to meet")
    delta: Parameter[Fraction] = Parameter(PURE_DELTA, "delta to meet, below 1")

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        name: str,
        bounds: tuple[float, float] | None = None,
        whole: bool = False,
    ) -> None:
        super().__init__(epsilon=epsilon, delta=delta)
        about: dict[str, Any] = {"quantity": name, "bounds": bounds, "whole": whole, "_guess": {}}
        self.__dict__.update(about)

    if TYPE_CHECKING:
        bounds: tuple[float, float] | None
        whole: bool
        _guess: dict[tuple[Callable[..., Node], Adjacency | None, str], Answer]

    def provable(self) -> bool:
        """Return False at delta 0, where the largest losses are added up."""
        return bool(self.delta)

    def prove(
        self,
        plan: Callable[..., Node],
        adjacency: Adjacency | None,
        digits: int,
        effort: float,
    ) -> Proven:
        """Prove that one value meets the target and that one just beyond it does not."""
        if not self.delta:
            message = "at delta 0 the largest losses are added up, and there is no proof"
            raise Unsupported(message, argument="method")
        from dpacct.answer.calibration import limits
        from dpacct.plan import certified
        from dpacct.plan.routes import QUICK

        guess = self.compute(plan, adjacency, QUICK)
        low, high = limits(self)
        if not low < guess.value < high and guess.side is not Side.TWO_SIDED:
            message = f"every {self.quantity} in the range of the search meets the target"
            raise NotCertified(message, argument=self.quantity)
        if self.whole and guess.safe_end == "upper":
            message = (
                "a whole number is proved only where privacy decreases with it; here it increases"
            )
            raise Unsupported(message, argument="method")
        how: dict[str, Any] = {"adjacency": adjacency, "digits": digits, "effort": effort}
        try:
            return certified.boundary(self, plan, guess.value, **how)
        except (OutsideDomain, InvalidArgument) as error:  # beyond the guess nothing is defined
            raise NotCertified(str(error), argument=self.quantity) from error

    def compute(
        self, plan: Callable[..., Node], adjacency: Adjacency | None, method: str
    ) -> Answer:
        """Search by one method."""
        from dpacct.answer.calibration import published, search
        from dpacct.plan.routes import PUBLISHED, QUICK, named

        if not self.delta and method in (QUICK, "auto"):
            method = "exact"
        if method in PUBLISHED and self.delta:
            return published(self, plan, method)
        if method != QUICK:
            named(method)  # the search takes a refusal for the end of what is defined
        key = plan, adjacency, method
        if key not in self._guess:
            self._guess[key] = search(self, *key)
        return self._guess[key]


def pure(plan: Node, adjacency: Adjacency | None = None, method: str = "auto") -> Answer:
    """The epsilon at which a plan is differentially private with delta 0, an upper end.

    Infinite, with a note, where some output has no bounded loss, as with Gaussian noise.
    """
    from dpacct.plan.node import resolve_adjacency

    if method not in ("auto", "exact"):
        message = "method must be auto or exact at delta 0, where losses are added up"
        raise InvalidArgument(f"{message}, got {shown(method)}", argument="method")
    started = time.perf_counter()
    word = resolve_adjacency(plan, adjacency)
    losses = [(leaf, count, leaf.pure_epsilon(word)) for leaf, count in plan.releases()]
    unbounded = [str(leaf)[:80] for leaf, _, loss in losses if loss is None]
    total = sum((count * loss for _, count, loss in losses if loss is not None), Fraction(0))
    value = float(total)
    if Fraction(repr(value)) < total:  # the digits that Python prints must not be below it
        value = math.nextafter(value, math.inf)
    why = f"no finite epsilon is known to hold at delta 0: {''.join(unbounded[:1])} has outputs without"
    return Answer(
        quantity="epsilon",
        value=math.inf if unbounded else value,
        upper=math.inf if unbounded else value,
        side=Side.UPPER,
        strength=Strength.BOUND,
        method="pure",
        basis=(PURE, ADDED),
        assumptions=plan.assumptions(word),
        adjacency=word,
        unit=plan.unit,
        tree=plan,
        seconds=time.perf_counter() - started,
        notes=(f"{why} a bound on their privacy loss; give a delta above 0",) if unbounded else (),
    )


def ask(
    question: Question,
    plan: Any,
    *,
    method: str = "auto",
    effort: Number = EFFORT,
    digits: Number | None = None,
    adjacency: Adjacency | str | None = None,
) -> Answer:
    """The answer; `digits`, or method "certified", insist on a proof, which may then cost 60 seconds.

    Raises `NotCertified` where a proof was insisted on and there is none, `Unsupported` where the
    method does not apply, `Unreachable` where no parameter meets a target, `InvalidArgument`.
    """
    started = time.perf_counter()
    word = None if adjacency is None else Adjacency.parse(adjacency, argument="adjacency")
    allowed = EPSILON.check("effort", effort)
    proves = method == "certified" or digits is not None
    if proves and method not in ("auto", "certified"):
        message = f"digits must be left out, or method be certified, got method {method!r:.60}"
        raise InvalidArgument(message, argument="digits")
    sharper = None if digits is not None else question.sharper(plan, word, method)
    if sharper is not None and not (method == "auto" and plan.proved_first):
        return sharper
    if not proves and (method != "auto" or not question.provable()):
        return question.compute(plan, word, method)
    notes: tuple[str, ...] = ()
    asked = DIGITS if digits is None else PROOF_DIGITS.check("digits", digits)
    try:
        proven = strict(question.prove)(plan, word, asked, math.inf if proves else float(allowed))
    except (NotCertified, Unsupported) as error:
        if proves:
            raise type(error)(
                f"{error.message}: the value is withheld", argument=error.argument
            ) from error
        notes = (f"not proven: {error}",)
    else:
        seconds = time.perf_counter() - started
        answer = replace(proven.answer, certificate=proven.certificate, seconds=seconds)
        if sharper is None:
            return answer
        if float(answer) <= float(sharper) * (1.0 + _AS_GOOD):
            return replace(answer, notes=sharper.notes)
    if sharper is not None:
        return sharper
    from dpacct.plan.routes import QUICK

    try:
        result = question.compute(plan, word, QUICK)
    except NotCertified as error:  # a looser bound is more than nothing
        result = _bounded(question, plan, word, error)
    return replace(result, notes=notes, seconds=time.perf_counter() - started)


def _bounded(
    question: Question, plan: Any, adjacency: Adjacency | None, error: NotCertified
) -> Answer:
    """The bound by Renyi divergences if the strongest method withholds its answer; else its error."""
    with suppress(DpacctError):
        answer = question.compute(plan, adjacency, "rdp")
        if math.isfinite(float(answer)):
            return answer
    raise error


def ask_at(kind: type[Question], values: Any, plan: Any, **how: Any) -> Any:
    """`ask` at one value of a question's parameter, or at each of many: `Answers` of their shape."""
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        return ask(kind(values), plan, **how)
    import numpy as np

    array = np.asarray(values if isinstance(values, np.ndarray) else list(values))
    if array.ndim == 0 or not array.size:
        return ask(kind(values), plan, **how)
    return Answers([ask(kind(v), plan, **how) for v in array.ravel().tolist()], array.shape)


def alternatives(question: Question, plan: Any, *, but: str = "") -> tuple[Answer, ...]:
    """The answers of the other methods; a method that does not apply to the plan is left out."""
    answers = []
    for method in COMPARED:
        with suppress(DpacctError):
            answers += [ask(question, plan, method=method)] if method != but else []
    return tuple(answer for answer in answers if answer.method != but)


def either(who: str, delta: Any, epsilon: Any) -> tuple[type[Epsilon | Delta], Any]:
    """The question of the one that is given, and where; raises `InvalidArgument` for none or both."""
    if (delta is None) == (epsilon is None):
        got = "neither" if delta is None else "both"
        raise InvalidArgument(f"{who} takes either delta or epsilon, got {got}", argument="delta")
    return (Epsilon, delta) if epsilon is None else (Delta, epsilon)


def compare(
    plan: Node,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    adjacency: Adjacency | str | None = None,
) -> tuple[Answer, ...]:
    """See `Node.compare`."""
    from dpacct.plan.routes import ROUTES

    kind, at = either("compare", delta, epsilon)
    answers = []
    for name in ROUTES:
        try:
            answers.append(ask(kind(at), plan, method=name, adjacency=adjacency))
        except Unsupported as refusal:
            last = refusal
    if not answers:
        raise last
    return tuple(answers)
