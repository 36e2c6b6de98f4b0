"""An agent that spreads its vote over classes: what stays between the votes for one class each.

With a vote u of the simplex beside counts n, P_j(n + u) is log-concave in u (docs/theory/voting.md), so it
is least at a vertex; it grows with u_j and falls with the others, so it is largest at e_j. P_j(n - u) is
least at e_j; from above it lies below its tangent at n, whose slopes are at most those back to n + e_i:

    P_j(n - u) <= max_i P_j(n)^2 / P_j(n + e_i).

So the law lies in a box, and a set S of labels has at most the chance

    min(sum_S high, 1 - sum_{not S} low).

The upper hull of these points over the votes' own chances of S is the curve of a pair of laws, and its mirror
image that of the other order. Of many classes, which have too many sets, the hull is that of each term alone.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from dpacct.mechanisms.laws import knots
from dpacct.pld.stable import Floats

_ROUNDING = 1e-13
_FEW = 11  # outcomes of which all sets are looked at


def boxes(
    base: Floats, joined: Floats, left: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Ends of the log probabilities of each histogram's classes when an agent joins, and when it leaves.

    `joined` and `left` hold, for each histogram, a law for each class that the agent's whole vote is for.
    """
    most = left.max(axis=1)
    if base.shape[1] > 2:  # with two classes there is but one other to take from
        most = np.minimum(2.0 * base - joined.min(axis=1), 0.0)
    return (joined.min(axis=1), joined.max(axis=1)), (left.min(axis=1), most)


def box_pair(base: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Log masses (of any law in the box, of `own`) of the pair that dominates, for one histogram.

    All three are logs of probabilities; with a box of one point the pair is these laws.

    >>> law, other = np.log([0.75, 0.25]), np.log([0.25, 0.75])
    >>> p, q = box_pair(law, other, other)
    >>> np.exp(p).round(9).tolist(), np.exp(q).round(9).tolist()
    ([0.75, 0.25, 0.0], [0.25, 0.75, 0.0])
    """
    q, least = np.exp(base), np.exp(low) * (1.0 - _ROUNDING)
    most = np.minimum(np.exp(high) * (1.0 + _ROUNDING), 1.0)
    if q.size <= _FEW:
        sets = _sets(q.size)
        width, height = corners(
            np.minimum(sets @ q, 1.0),
            np.minimum(np.minimum(sets @ most, 1.0 - (1.0 - sets) @ least), 1.0),
        )
        # what the votes have and no law of the box needs: nothing one way, an endless loss the other
        width, height = np.append(width, max(0.0, 1.0 - width.sum())), np.append(height, 0.0)
    else:
        width, height = _lesser(_curve(q, most, 0.0), _curve(q, least, 1.0 - float(least.sum())))
    with np.errstate(divide="ignore"):
        return np.log(height), np.log(width)


def corners(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Widths and heights between the corners of the upper hull of points, of (0, 0) and of (1, 1)."""
    place = np.lexsort((-y, x))
    x, y = x[place], y[place]
    rising = y > np.maximum.accumulate(np.append(0.0, y[:-1]))
    inner = zip(x[rising].tolist(), (-y[rising]).tolist(), strict=True)
    # a first rise straight up is a corner of its own
    values = np.array([(0.0, 0.0), *knots.hull([(0.0, 0.0), *inner, (1.0, -1.0)])])
    widths, heights = np.diff(values[:, 0]), -np.diff(values[:, 1])
    return widths[heights > 0.0], heights[heights > 0.0]


@lru_cache(maxsize=16)
def _sets(size: int) -> Floats:
    """All sets of so many outcomes, as rows of zeros and ones."""
    return np.array(list(product((0.0, 1.0), repeat=size)))


def _lesser(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Widths and heights between the corners of the smaller of two concave curves, and of 1."""
    x = np.union1d(first[0], second[0])
    apart = np.subtract(*(np.interp(x, *curve) for curve in (first, second)))
    cross = np.flatnonzero(apart[:-1] * apart[1:] < 0.0)
    share = apart[cross] / (apart[cross] - apart[cross + 1])
    x = np.union1d(x, x[cross] + share * np.diff(x)[cross])
    y = np.minimum(np.minimum(*(np.interp(x, *curve) for curve in (first, second))), 1.0)
    x, y = np.append(0.0, x), np.append(0.0, y)  # an outcome that `own` hardly has
    return np.diff(x), np.maximum(np.diff(y), 0.0)


def _curve(q: Floats, masses: Floats, start: float) -> tuple[Floats, Floats]:
    """Corners of the largest sum of masses over sets of so much q, from `start` on."""
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(masses) - np.log(q)), kind="stable")
    x = np.minimum(np.append(0.0, np.cumsum(q[order])), 1.0)
    x[-1] = 1.0
    return x, np.append(start, start + np.cumsum(masses[order]))
