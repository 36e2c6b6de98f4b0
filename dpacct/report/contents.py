"""The contents of a report, computed: the guarantee, other methods, attacks, effects, versions."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.answer import Answer
from dpacct.answer.answer import is_bound
from dpacct.declare.number import up
from dpacct.errors import DpacctError, NotCertified, Unreachable, Unsupported
from dpacct.report.sources import CitedSource, of_answer, of_theorem, source
from dpacct.vocabulary import Strength

if TYPE_CHECKING:
    from dpacct.plan.node import Node


RATES = ("0.1", "0.01", "0.001")
"""False positive rates at which attacks are bounded."""
BESIDE = ("rdp", "clt")
"""Methods shown beside the guarantee, because readers know their numbers."""
VAST = 50.0
"""An epsilon above which nothing is drawn, and nothing is said of what would be worse still."""
# At extreme plans the comparisons beside the guarantee may fail and are left out; it may not.
_FAILURES = (DpacctError, ArithmeticError, ValueError)
LONG = 2.0
"""The CPU seconds for curves of the best attack, which follow a whole trade-off curve."""
_LIBRARIES = ("numpy", "scipy", "mpmath", "python-flint")


def answers(
    plan: Node, delta: Fraction, method: str, answered: Answer | None
) -> tuple[Answer, tuple[Answer, ...]]:
    """(the guarantee, the other methods' answers); `answered` is the guarantee if already known.

    Raises `NotCertified` where no method bounds epsilon; an unknown or inapplicable `method` raises
    what `Node.epsilon` does.
    """
    if delta == 0:
        pure = plan.epsilon(0, method=method)
        if math.isinf(pure.value):
            raise Unreachable(*pure.notes, argument="delta")
        return must_bound(pure), ()
    asked = None if method == "auto" else plan.epsilon(delta=delta, method=method)
    guarantee = asked if answered is None else answered
    if guarantee is None or not is_bound(guarantee):
        guarantee = plan.epsilon(delta)
    others = [] if asked is None or asked is guarantee else [asked]
    taken = {guarantee.method, method}
    for name in BESIDE:
        if name not in taken:
            try:
                others.append(plan.epsilon(delta=delta, method=name))
            except DpacctError:
                continue  # the method does not apply to this plan
    return must_bound(guarantee), tuple(others)


def must_bound(answer: Answer) -> Answer:
    """The answer, if it is a guarantee; raises `NotCertified`."""
    if is_bound(answer):
        return answer
    message = f"no method bounds the epsilon of this plan: {answer}"
    raise NotCertified(message, argument="method")


def risks(answer: Answer) -> tuple[tuple[str, Answer], ...]:
    """Express the guarantee as attack success; nothing where whole curves take long, or are not known.

    The bracket is asked point by point, so all laws must have a contour that answers. Work is counted
    and no clock is read, so what a report contains hangs on the plan alone.
    """
    from dpacct.plan.composition import Composition
    from dpacct.pld.budget import Overspent, metered
    from dpacct.risk import Risk

    plan, epsilon = answer.tree, float(answer)
    assert plan is not None
    composed = Composition(plan, answer.adjacency)
    if composed.renyi_only or not all(way.has_contour for way in composed.upper) or epsilon > VAST:
        return ()
    risk, name = Risk(plan), "true positive rate at a false positive rate of"
    try:
        if plan.delta(epsilon=epsilon, method="exact").strength is Strength.BRACKETED:
            return ()
        with metered(LONG):
            measures = [("membership advantage (true minus false positive rate)", risk.advantage())]
            measures += [(f"{name} {rate}", risk.true_positive_rate(rate)) for rate in RATES]
    except (Overspent, *_FAILURES):
        return ()
    return tuple((name, answer) for name, answer in measures if is_bound(answer))


def effects(answer: Answer, delta: Fraction, *, quick: bool) -> dict[str, str]:
    """The consequence of each false assumption, as a number where a plan without it has one."""
    effect_of: dict[str, str] = {}
    plan = answer.tree
    if plan is None or float(answer) > VAST:
        return effect_of
    bare = _epsilon(plan, plan.unsampled, delta)
    if bare:
        consequence = f"there is no amplification by sampling, and epsilon is {bare}"
        effect_of["sampling"] = consequence
        effect_of["secret-sample"] = f"{consequence} against whoever knows the sample"
    double = _epsilon(plan, lambda: plan.weighted(2), delta)
    if double:
        effect_of["sensitivity"] = (
            f"for a unit that weighs twice the sensitivity epsilon is {double}"
        )
    twice = _epsilon(plan, lambda: plan * 2, delta) if quick else ""
    if twice:
        effect_of["steps"] = (
            f"every further release adds to epsilon; twice the plan has epsilon {twice}"
        )
    return effect_of


def _epsilon(plan: Node, other: Callable[[], Node], delta: Fraction) -> str:
    """Words for an upper bound of the other plan's epsilon; "" where it is unknown, or the same plan."""
    try:
        changed = other()
        if changed.equivalent(plan):
            return ""
        answer = changed.epsilon(delta=delta, method="exact")
    except _FAILURES:
        return ""
    return f"at most {up(float(answer), 4)}" if is_bound(answer) else ""


def sources(
    answer: Answer, others: tuple[Answer, ...], risks: tuple[tuple[str, Answer], ...]
) -> list[CitedSource]:
    """The sources of all numbers, the guarantee's first."""
    assert answer.tree is not None
    cited = of_answer(answer, "epsilon")
    cited += [source(citation, "the mechanism") for citation in answer.tree.citations()]
    for _, risk in risks:
        cited += [source(basis, "attack success") for basis in risk.basis]
    for other in others:
        cited += of_answer(other, f"method {other.method}")
        cited += of_theorem(other.method, f"method {other.method}")
    return cited


def fingerprint(plan: Node) -> str:
    """SHA-256 of the plan's JSON; "" for a plan made of a function, which has none."""
    try:
        return hashlib.sha256(plan.to_json().encode()).hexdigest()
    except Unsupported:
        return ""


def versions(answer: Answer) -> dict[str, str]:
    """The versions of the software that computed the numbers."""
    from importlib import metadata

    installed = {"dpacct": metadata.version("dpacct"), "python": platform.python_version()}
    used = _LIBRARIES if answer.method == "certified" else _LIBRARIES[:-1]
    return installed | {name: metadata.version(name) for name in used}
