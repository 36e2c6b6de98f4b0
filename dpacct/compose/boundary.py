"""The boundary of a monotone condition on one number: the last value that is safe, the first that isn't.

`excess` is positive where the condition is missed, and nearly linear in the logarithm of the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable

# relative width of the final bracket of a real parameter
WIDTH = 2e-10
_MOST_TRIALS = 200


def real(
    excess: Callable[[float], float],
    low: float,
    high: float,
    *,
    start: float = 1.0,
    width: float = WIDTH,
    enough: Callable[[], bool] = lambda: False,
) -> tuple[float | None, float | None]:
    """(safe, unsafe) ends of a bracket of relative width `width`, looked for from `start`.

    It is left wider where `enough` says that no more trials are to be made.
    """
    x = min(max(start, low), high)
    f = excess(x)
    # which way is safe: look a little further
    step = 2.0 if x * 2.0 <= high else 0.5
    other = x * step
    g = excess(other)
    jump = 1.0
    while g == f:  # delta is 1 at both, or 0: look further, both ways
        below, above = max(low, x * math.exp(-jump)), min(high, x * math.exp(jump))
        other = below if excess(below) != f else above
        g = excess(other)
        if g == f and below == low and above == high:
            return (None, None) if f > 0.0 else (x, None)
        jump *= 2.0
    rising = (g > f) == (other > x)  # larger is riskier
    factor = 4.0
    a, fa, b, fb = x, f, other, g
    while (fa > 0.0) == (fb > 0.0):
        # move towards the boundary: to safety if both miss, towards risk if both are safe
        down = (fa > 0.0) == rising
        edge = min(a, b) if down else max(a, b)
        slope = (fb - fa) / (math.log(b) - math.log(a)) if a != b else 0.0
        end = fa if edge == a else fb
        jump = abs(end / slope) * 1.2 if slope and math.isfinite(end / slope) else math.inf
        jump = min(max(jump, 0.05), math.log(factor))
        factor = min(factor * 4.0, 1e6)
        following = edge * math.exp(-jump if down else jump)
        following = min(max(following, low), high)
        if following == edge:
            return (None, None) if fa > 0.0 else (edge, None)
        a, fa = edge, end
        b, fb = following, excess(following)
    safe, fs, unsafe, fu = (a, fa, b, fb) if fa <= 0.0 else (b, fb, a, fa)
    return _narrow(excess, safe, fs, unsafe, fu, width, enough)


def _narrow(
    excess: Callable[[float], float],
    safe: float,
    fs: float,
    unsafe: float,
    fu: float,
    width: float,
    enough: Callable[[], bool],
) -> tuple[float, float]:
    """Close a bracket: secant steps in log x through the last two trials, each a hair past the root.

    The hair lies on the side that was not tried last, so that both ends close in.
    """
    older, newer = (safe, fs), (unsafe, fu)
    for trial in range(_MOST_TRIALS):
        gap = math.log(unsafe / safe)
        if abs(gap) <= width or enough():
            break
        rise = newer[1] - older[1]
        run = math.log(newer[0] / older[0])
        step = -newer[1] * run / rise if rise and math.isfinite(rise) else math.inf
        towards = math.copysign(1.0, -gap if newer[1] > 0.0 else gap)  # from the newer to the other
        hair = towards * (0.3 * width + 0.02 * abs(step)) if math.isfinite(step) else 0.0
        x = newer[0] * math.exp(step + hair) if abs(step) < 50.0 else math.nan
        low, high = min(safe, unsafe), max(safe, unsafe)
        if not low < x < high or trial % 8 == 7:
            x = safe * math.exp(0.5 * gap)
        f = excess(x)
        older, newer = newer, (x, f)
        if f <= 0.0:
            if x == safe:
                break
            safe = x
        else:
            if x == unsafe:
                break
            unsafe = x
    return safe, unsafe


def near_root(
    f: Callable[[float], float], x: float, slope: float, within: float
) -> tuple[float, float] | None:
    """About a root, and the slope in log x there: secant steps until one is below `within`, or None.

    `slope` is about that of f at x, for the first step.
    """
    value = f(x)
    for _ in range(12):
        move = -value / slope if slope else math.nan
        if not abs(move) < 3.0:
            return None
        following = x * math.exp(move)
        if abs(move) < within:
            return following, slope
        before, value, x = value, f(following), following
        slope = (value - before) / move
    return None


def whole(
    excess: Callable[[float], float], low: int, high: int
) -> tuple[float | None, float | None]:
    """(safe, unsafe) neighbouring whole numbers; more is riskier."""
    if excess(low) > 0.0:
        return None, None
    safe, step = low, 1
    unsafe: int | None = None
    while unsafe is None:
        if safe >= high:
            return float(safe), None
        following = min(high, safe + step)
        if excess(following) > 0.0:
            unsafe = following
        else:
            safe, step = following, step * 8
    while unsafe - safe > 1:
        fs, fu = excess(safe), excess(unsafe)
        gap = math.log(unsafe / safe)
        part = fs / (fs - fu) if fs < 0.0 and math.isfinite(fu) else 0.5
        guess = round(safe * math.exp(min(max(part, 0.02), 0.98) * gap))
        # the secant's own guess, then its neighbour, then the middle: each closes the bracket
        for x in (guess, guess + 1, guess - 1, (safe + unsafe) // 2):
            if safe < x < unsafe:
                if excess(x) > 0.0:
                    unsafe = x
                else:
                    safe = x
    return float(safe), float(unsafe)
