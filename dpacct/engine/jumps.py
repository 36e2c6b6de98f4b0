"""Plans whose loss has a gap: few large jumps over a bulk of small steps, each counted apart.

Where one record in a thousand rounds can lose more than all rounds together, E[e^{cL}] at the tilt that
epsilon asks for is led by jumps far beyond epsilon, and the contour cancels by hundreds of nats. So the
law of a step is cut, smoothly, into a bulk A and narrow pieces C_1, C_2, ... of the axis, and

    M^T = sum over k of  T!/((T-|k|)! prod k_i!)  A^{T-|k|} prod C_i^{k_i}.

Every term is positive and is integrated on a line through its own saddle, where nothing cancels; terms
that Chernoff's bound shows to be negligible are left out, and their bounds are charged to the error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .contour import Families, Line, Reading, Totals, log_payoff_peak, straight_line, totals
from .jump_parts import BLUR, Bulk, Piece
from .law import JumpLaw
from .stable import Floats, log_sum_exp

MOST_JUMPS = 6
MOST_TERMS = 100
# nats below the leading term at which a term is left out
_LEFT_OUT = 30.0
_NODES = 2000
# tilts, over that of the uncut law, at whose valley the bulk is made to end
_EDGES = (60.0, 12.0, 300.0, 2.5)
# relative error granted to every reading: cuts at different places agree to about 1e-10
_FLOOR = 5e-10
# relative error at which an expansion is good enough
_ACCURATE = 6e-10


@dataclass(frozen=True)
class Term:
    """So many jumps in each of some pieces, the rest of the steps in the bulk."""

    pieces: tuple[int, ...]
    log_count: float


def valley(law: JumpLaw, c: float) -> float | None:
    """Where the density tilted by e^{cL} is lowest between the bulk and a rise beyond it, if any."""
    rule = law.positions(0.0)
    tilted = rule.log_weights + c * rule.losses
    start = int(np.argmax(rule.log_weights))
    right = tilted[start:]
    fallen = np.flatnonzero(np.maximum.accumulate(right) - right > 3.0)
    if not fallen.size:
        return None
    after = right[fallen[0] :]
    rises = np.flatnonzero(after > np.minimum.accumulate(after) + 1.0)
    if not rises.size:
        return None
    return float(rule.x[start + fallen[0] + int(np.argmin(after[: int(rises[0]) + 1]))])


class JumpExpansion:
    """The expansion of one law's T-fold sum, with the bulk ending at `edge`."""

    def __init__(self, law: JumpLaw, count: float, edge: float, c: float) -> None:
        self._law, self._count, self._c = law, count, c
        width = law.piece_width
        blur = BLUR * width
        self.bulk = Bulk(law, edge, blur)
        top = float(law.positions(0.0).x[-1])
        edges = np.append(np.arange(edge, max(top, edge + width), width), top + 30.0)
        self.pieces = [Piece(law, float(a), float(b), blur) for a, b in itertools.pairwise(edges)]
        self._grid = c * np.geomspace(1e-5, 30.0, 90)
        bulk = self.bulk.log_moments(self._grid)
        self._bulk_moments = count * bulk
        self._jumps = np.stack([piece.log_moments(self._grid) for piece in self.pieces]) - bulk

    def _bounds(self, choices: Sequence[tuple[int, ...]], level: Floats) -> list[float]:
        """Chernoff's bounds of terms with equally many jumps, on the grid of tilts."""
        if not choices:
            return []
        chosen = np.array(choices, dtype=np.intp).reshape(len(choices), -1)
        least = (self._jumps[chosen].sum(axis=1) + level).min(axis=1)
        bounds: list[float] = least.tolist()
        return bounds

    def _log_count(self, pieces: tuple[int, ...]) -> float:
        total = sum(math.log(self._count - j) for j in range(len(pieces)))
        return total - sum(math.lgamma(pieces.count(i) + 1.0) for i in set(pieces))

    def terms(self, epsilon: float) -> tuple[list[tuple[float, Term]], float] | None:
        """Terms worth integrating, each with its bound, and log of a bound of the others; None: too many."""
        level = -self._grid * epsilon + log_payoff_peak(self._grid) + self._bulk_moments
        y = math.log(self._count) + np.logaddexp.reduce(self._jumps, axis=0)
        found: list[tuple[float, Term]] = []
        left_out: list[float] = []
        best = -math.inf
        for k in range(min(MOST_JUMPS, int(self._count)) + 1):
            # all terms of k or more jumps: y^k/k! e^y at each tilt
            rest = float(
                np.min(level + k * y - math.lgamma(k + 1.0) + np.exp(np.minimum(y, 500.0)))
            )
            if rest < best - _LEFT_OUT:
                left_out.append(rest)
                break
            useful = [
                i
                for i in range(len(self.pieces))
                if k == 0 or self._room(i, k, level, y) > best - _LEFT_OUT - 5.0
            ]
            if math.comb(len(useful) + k - 1, k) > 6000:
                return None
            choices = list(itertools.combinations_with_replacement(useful, k))
            for pieces, bound in zip(choices, self._bounds(choices, level), strict=True):
                term = Term(pieces, self._log_count(pieces))
                found.append((bound + term.log_count, term))
                best = max(best, bound + term.log_count)
        else:
            return None
        kept = [one for one in found if one[0] > best - _LEFT_OUT]
        left_out += [bound for bound, _ in found if bound <= best - _LEFT_OUT]
        rest = float(np.logaddexp.reduce(left_out)) if left_out else -math.inf
        return (kept, rest) if len(kept) <= MOST_TERMS else None

    def _room(self, i: int, k: int, level: Floats, y: Floats) -> float:
        """Bound of all terms of k jumps of which one is in piece i."""
        others = (k - 1) * y - math.lgamma(float(k)) + math.log(self._count)
        return float(np.min(level + self._jumps[i] + others))

    def integrate(self, epsilon: float) -> JumpLine | None:
        """Lines for all terms; None if there are too many, or one does not converge."""
        chosen = self.terms(epsilon)
        if chosen is None:
            return None
        terms, left_out = chosen
        lines = []
        for _, term in terms:
            families = self._families(term)
            total = self._term_saddle(families, epsilon)
            line = straight_line(families, total, (epsilon,), _NODES)
            if line is None:
                return None
            lines.append((term.log_count, line))
        return JumpLine(lines, left_out)

    def _families(self, term: Term) -> Families:
        parts: list[tuple[Bulk | Piece, float]] = [
            (self.bulk, self._count - len(term.pieces)),
            *((self.pieces[i], float(term.pieces.count(i))) for i in sorted(set(term.pieces))),
        ]
        return [(part, n) for part, n in parts if n > 0.0]

    def _bounded(self, epsilon: float) -> float | None:
        """A little above log delta: the sum of the bounds of the terms."""
        chosen = self.terms(epsilon)
        return None if chosen is None else log_sum_exp(np.array([one[0] for one in chosen[0]]))

    def _estimate(self, epsilon: float) -> float:
        """About log delta: saddle-point estimates of the terms that matter to a part in a hundred."""
        chosen = self.terms(epsilon)
        if chosen is None:
            return math.nan
        most = max(bound for bound, _ in chosen[0])
        logs = [
            term.log_count
            + self._term_saddle(self._families(term), epsilon).log_delta_estimate(epsilon)
            for bound, term in chosen[0]
            if bound > most - 5.0
        ]
        return log_sum_exp(np.array(logs))

    def solve(self, log_target: float, low: float, high: float) -> tuple[float, float] | None:
        """Epsilon in [low, high] for the target, with its error: bisection on bounds, then Newton."""
        bottom, top = low, high
        for _ in range(8):
            middle = (
                0.5 * (bottom + top)
                if bottom > 0.1 * top
                else math.sqrt(max(bottom, 1e-3 * top) * top)
            )
            bound = self._bounded(middle)
            if bound is None:
                return None
            # a bound exceeds its integral by two nats or so
            if bound - 2.0 > log_target:
                bottom = middle
            else:
                top = middle
        value = self._closer(log_target, bottom, top)
        line, built = None, math.nan
        for _ in range(30):
            if line is None:
                line, built = self.integrate(value), value
                if line is None:
                    return None
            reading = line.read(value)
            error, slope = float(reading.relative_error[0]), float(reading.slope[0])
            if not error < 1e-2:
                if built == value:
                    return None
                line = None
                continue
            gap = log_target - float(reading.log_delta[0])
            if abs(gap) <= max(1e-13, 0.05 * error):
                return value, (error + abs(gap)) / -slope
            step = gap / slope
            # keep inside the bracket, and do not trust a slope far away
            step = max(-0.5 * value, min(step, value))
            value += step
            if abs(step * slope) > 1.0:
                line = None
        return None

    def _closer(self, log_target: float, bottom: float, top: float) -> float:
        """About the epsilon for the target: secant steps on estimates."""
        older, newer = top, 0.5 * (bottom + top)
        f_older, f_newer = self._estimate(older), self._estimate(newer)
        for _ in range(5):
            slope = (f_newer - f_older) / (newer - older)
            step = (log_target - f_newer) / slope if slope < 0.0 else math.nan
            if not abs(step) < 0.5 * newer:
                break
            older, f_older, newer = newer, f_newer, newer + step
            if abs(slope * step) < 0.1:
                break
            f_newer = self._estimate(newer)
        return newer

    def _term_saddle(self, families: Families, epsilon: float) -> Totals:
        c, low, high = self._c, 0.0, math.inf
        for _ in range(100):
            total = totals(families, c)
            gap = total.saddle_epsilon - epsilon
            if abs(gap) <= 0.05 * math.sqrt(total.curvature):
                return total
            if gap > 0.0:
                high = c
            else:
                low = c
            proposal = c * math.exp(max(-2.0, min(2.0, -gap / (c * total.curvature))))
            if not low < proposal < high:
                proposal = math.sqrt(low * high) if low > 0.0 else 0.5 * high
            if proposal == c or proposal > 1e14:
                return total
            c = proposal
        return total


class JumpLine:
    """Readings of all terms together."""

    def __init__(self, lines: Sequence[tuple[float, Line]], left_out: float) -> None:
        self._lines = lines
        self._left_out = left_out

    def read(self, epsilon: float) -> Reading:
        """log delta, slope and relative error near the epsilon of the expansion."""
        at = np.array([epsilon])
        readings = [(log_count, line.read(at)) for log_count, line in self._lines]
        logs = np.array([count + float(reading.log_delta[0]) for count, reading in readings])
        total = log_sum_exp(logs) if np.isfinite(logs).any() else -math.inf
        share = np.exp(logs - total)
        slope = sum(s * float(r.slope[0]) for s, (_, r) in zip(share, readings, strict=True))
        error = sum(
            s * float(r.relative_error[0]) for s, (_, r) in zip(share, readings, strict=True) if s
        )
        error += math.exp(min(self._left_out - total, 0.0)) + _FLOOR
        return Reading(np.array([total]), np.array([slope]), np.array([error]))


def expansions(law: JumpLaw, count: float, c: float) -> Iterator[JumpExpansion]:
    """Expansions with the bulk ending at various places, the most promising first.

    `c` is the saddle of the uncut law, which jumps lead. A narrow bulk has no gap of its own but leaves
    many terms; a wide one the reverse. Where no valley is in reach, the axis ends before any jump.
    """
    top = float(law.positions(0.0).x[-1])
    valleys = [found for factor in _EDGES if (found := valley(law, c * factor)) is not None]
    tried: list[float] = []
    for edge in (*valleys, top):
        if all(abs(edge - other) > 0.3 * law.piece_width for other in tried):
            tried.append(edge)
            yield JumpExpansion(law, count, edge, c)


def log_delta_by_jumps(law: JumpLaw, count: float, epsilon: float, c: float) -> Reading | None:
    """log delta at epsilon, by the first expansion that is accurate (else the best one); or None."""
    best: Reading | None = None
    for expansion in expansions(law, count, c):
        line = expansion.integrate(epsilon)
        if line is None:
            continue
        reading = line.read(epsilon)
        if best is None or reading.relative_error[0] < best.relative_error[0]:
            best = reading
        if reading.relative_error[0] < _ACCURATE:
            break
    return best


def epsilon_by_jumps(
    law: JumpLaw, count: float, log_target: float, c: float, low: float, high: float
) -> tuple[float, float] | None:
    """Epsilon between low and high at which log delta is the target, and its error; or None."""
    best: tuple[float, float] | None = None
    for expansion in expansions(law, count, c):
        found = expansion.solve(log_target, low, high)
        if found is not None and (best is None or found[1] < best[1]):
            best = found
        if best is not None and best[1] <= _ACCURATE * best[0]:
            break
    return best
