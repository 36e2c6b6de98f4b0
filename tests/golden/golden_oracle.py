"""Front end of the golden oracle: delta(eps) and eps(delta), each evaluated twice.

The two evaluations use different abscissas c, Gauss-Legendre orders, panel widths, inner lines and
inner steps; `digits` is the number of digits to which they agree.
"""

import math
from dataclasses import dataclass

from flint import arb

from tests.golden.golden_contour import Contour, Plan
from tests.golden.golden_nodes import LEVEL, OracleError


@dataclass(frozen=True)
class Result:
    """`value` (decimal string, as many digits as agree, at most 34) and the agreement."""

    value: str
    digits: int
    c: float
    nodes: int
    log10_delta: float


def decimals(x: arb, digits: int) -> str:
    return str(x.mid().str(max(digits, 3), radius=False))


def agreement(a: arb, b: arb) -> int:
    gap = abs(a - b).mid() + abs(a).rad() + abs(b).rad()
    if gap == 0:
        return 90
    return int(min(90.0, -float((gap / abs(a)).log().mid()) / math.log(10)))


def peak_over(plan: Plan, c: float, eps: float, log_delta: float) -> float:
    """How far the integrand at the abscissa lies above delta, in nats."""
    return plan.cumulants(c)[0] - c * eps - math.log(c) - log_delta


def delta(plan: Plan, eps: str, wanted: int = 31) -> Result:
    """delta at eps (decimal string) to so many digits, or value '0' when every loss lies below eps."""
    e = float(eps)
    if plan.bend == -1 and e >= sum(n * p.edge for p, n in plan.parts):
        return Result("0", 40, 0.0, 0, -math.inf)
    c = plan.saddle(eps=e)
    digits, extra = 0, 0.0
    while extra < 1200:
        LEVEL.set(extra)
        try:
            first = plan.contour(c, e, 0)
            d1, _ = first.moments(arb(eps))
            second = plan.contour(plan.second_abscissa(c), e, 1)
            d2, _ = second.moments(arb(eps))
        finally:
            LEVEL.set(0.0)
        digits = agreement(d1, d2)
        if digits >= wanted:
            break
        extra = extra * 1.5 + 60 if digits < 2 else extra + 2.31 * (wanted + 4 - digits)
    if digits < 8:
        raise OracleError(f"only {digits} digits agree")
    return Result(
        decimals(d1, min(wanted + 3, digits)),
        digits,
        c,
        len(first.s),
        float(d1.log().mid()) / math.log(10),
    )


@dataclass(frozen=True)
class Inversion:
    """eps for the given delta, and delta at eps rounded to a short decimal."""

    eps: str
    eps_digits: int
    eps_short: str
    delta_short: str
    delta_digits: int
    delta_at_zero: str
    condition: float  # |d log delta / d log eps|
    nodes: int


def short(eps: arb, digits: int = 12) -> str:
    return f"{float(eps.mid()):.{digits - 1}e}"


def invert(plan: Plan, target: arb, guess: float) -> tuple[arb, Contour, float]:
    """eps with delta(eps) = target: Newton on log delta inside a bracket, fixed nodes.

    The contour is made again when eps has moved away from the one it was made for.
    """
    log_t = target.log()
    lt = float(log_t.mid())
    edge = math.inf  # no loss above: add direction
    if plan.bend == -1:
        edge = sum(n * p.edge for p, n in plan.parts)
    lo, hi = arb(0), arb(edge)
    eps = arb(guess if guess < edge else edge / 2)
    made_for = -math.inf
    for _ in range(12):
        e = max(float(eps.mid()), 1e-300)
        if e >= edge:
            raise OracleError("eps is not resolved below the highest loss")
        c = plan.saddle(eps=e)
        extra = max(0.0, peak_over(plan, c, e, lt) - 8.0) if e != made_for else 0.0
        if extra > 1500:
            raise OracleError(f"the integrand is e^{extra:.0f} above delta")
        LEVEL.set(extra)
        first = plan.contour(c, e, 0)
        made_for = e
        for _ in range(200):
            d, g = first.moments(eps)
            noise = arb(first.info["peak"] - LEVEL.dead + 12).exp()
            if not d > noise:
                hi = eps.mid()
                eps = ((lo + hi) / 2).mid()
                continue
            step = (d.log() - log_t) * d / g
            if d > target:
                lo = max(lo, eps.mid())
            else:
                hi = min(hi, eps.mid())
            new = (eps - step).mid()
            if not (lo <= new <= hi):
                new = ((lo + hi) / 2).mid() if hi.is_finite() else 2 * eps.mid()
            done = abs(new - eps) < abs(new) * arb(10) ** -42 or abs(step) < abs(d.rad() / g)
            eps = new
            if done:
                break
        else:
            raise OracleError("Newton did not converge")
        moved = abs(float(eps) - e) * c
        short_of = peak_over(plan, plan.saddle(eps=float(eps)), float(eps), lt) - 10 - LEVEL.extra
        if moved < 40 and short_of < 2:
            return eps, first, c
        lo, hi = arb(0), arb(edge)
    raise OracleError("eps keeps moving")


def epsilon(plan: Plan, delta_target: str, hint: Inversion | None = None) -> Inversion:
    """Newton's method on log delta with fixed nodes; then everything again on a second contour.

    `hint` is the answer of the other direction: delta(0) is the total variation distance, the same
    for both, and its eps is one more place to start from.
    """
    target = arb(delta_target)
    log_t = float(target.log().mid())
    c = plan.saddle(log_delta=log_t)
    guess = plan._guess(c)[0]
    zero = hint.delta_at_zero if hint else ""
    if hint and hint.eps == "0":
        return hint
    if not hint and (guess < 0.3 / c or float(target.mid()) > 0.02):
        zero = delta(plan, "0").value
        if arb(zero) <= target:
            return Inversion("0", 40, "0", zero, 30, zero, 0.0, 0)
    starts: list[tuple[bool, float | None]] = [(True, None), (False, None)]
    if hint:
        starts.append((False, float(hint.eps)))
    best: Inversion | None = None
    for cut, start in starts:
        set_cut(plan, log_t if cut else None)
        try:
            if start is None:
                c = plan.saddle(log_delta=log_t)
                start = max(plan._guess(c)[0], 1e-3 / c)
            check_cut(plan, c)
            eps, first, c = invert(plan, target, start)
            check_cut(plan, c)
            second = plan.contour(plan.second_abscissa(c), float(eps), 1)
            result = report(eps, first, second, target, zero)
            if best is None or result.eps_digits > best.eps_digits:
                best = result
            if best.eps_digits >= 30:
                return best
        except OracleError as err:
            last = err
        finally:
            LEVEL.set(0.0)
            set_cut(plan, None)
    if best is None:
        raise last
    return best


def set_cut(plan: Plan, log_delta: float | None) -> None:
    """Cut each step's absurd tail: e^-95 of delta in all (None: no cut)."""
    for p, n in plan.parts:
        if hasattr(p, "cut"):
            mass = -math.inf if log_delta is None else log_delta - 95 - math.log(n * 10)
            p.cut(mass)


def check_cut(plan: Plan, c: float) -> None:
    if not all(p.cut_is_clean(c) for p, _ in plan.parts if hasattr(p, "cut_is_clean")):
        raise OracleError("the cut is not clean")


def report(eps: arb, first: Contour, second: Contour, target: arb, zero: str) -> Inversion:
    """Compare the two contours at eps and at the short eps."""
    d1, g1 = first.moments(eps)
    d2, _ = second.moments(eps)
    # the difference of the two deltas, carried over to eps by the slope
    gap = abs((d2 - d1) / g1) + abs((d1 - target) / g1) + abs(d1.rad() / g1)
    ratio = float((gap.mid() / eps + arb(10) ** -40).log().mid()) / math.log(10)
    eps_digits = int(min(40.0, -ratio))
    if eps_digits < 8:
        raise OracleError(f"only {eps_digits} digits of eps agree")
    eps_short = short(eps)
    s1, _ = first.moments(arb(eps_short))
    s2, _ = second.moments(arb(eps_short))
    return Inversion(
        decimals(eps, min(34, eps_digits)), eps_digits, eps_short,
        decimals(s1, min(34, agreement(s1, s2))), agreement(s1, s2), zero,
        abs(float((g1 * eps / d1).mid())), len(first.s),
    )  # fmt: skip
