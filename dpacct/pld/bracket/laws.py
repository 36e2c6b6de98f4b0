"""Two measures with finitely many points for each law of a sum: one above the law and one below it.

A law comes in `Pieces`: sets of outcomes with their P-mass, the loss of the whole, and the range of losses in
it. With h(eps) = E_P[(1 - e^{eps - L})_+] and u = e^{-L},

    above   each piece is split between its own two ends so that its P- and its Q-mass are kept:
            (1 - e^eps u)_+ is convex in u, and the chord over the piece lies above it
            (Doroshenko et al. 2022, Section 4)
    below   each piece is merged to one outcome, at log(p/q): post-processing

Both cost O(width^2). Nodes need not lie on any lattice, so laws of a sum share nothing and an atom, a piece
of no width, is exact in both. A sum of independent losses is monotone in each measure: in masses, and in
losses. So a mass that is known to a factor e^slack is raised or lowered by it, and a loss by its error;
nothing is normalised (docs/theory/bracket.md, Lemma 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from dpacct.pld.pieces import Pieces, Source, gathered
from dpacct.pld.stable import Floats, TooFine

UNIT = 2.0**-53
# of masses that are computed here: an exponential, a ratio of two expm1 and a product
_ROUNDED = 1e-15
# log mass of what counts as hardly any
_HARDLY = -30.0


@dataclass(frozen=True, eq=False)
class Measure:
    """`count` losses of one law: P-masses at finitely many losses, and what lies above them, set apart."""

    count: float
    at: Floats
    mass: Floats
    widths: Floats
    """Widths of the pieces that the points stand for."""
    top: tuple[float, float, float]
    """P-mass of the losses set apart, rounded to the law's own side; their Q-mass, down and up."""
    start: float
    """No loss set apart is smaller."""
    missed: float
    """Q-mass of which no lower end of the loss is known."""
    dropped: float
    """P-mass of pieces too small for floats."""

    @cached_property
    def log_mass(self) -> Floats:
        """Logs of the masses."""
        return np.log(self.mass)

    def tilted(self, c: float) -> TiltedMeasure:
        """The law under the Esscher tilt e^{cL}."""
        if not self.at.size:
            return TiltedMeasure(-math.inf, self.at, self.at, 0.0, 0.0, 0.0)
        reference = float(self.at[int(np.argmax(self.log_mass + c * self.at))])
        power = c * (self.at - reference)
        terms = self.mass * np.exp(power)
        total = float(terms.sum())
        t = terms / total
        mean = float(t @ self.at)
        x = self.at - mean
        # each term is off by 3u of its exponent, one u of exp and of the product (Lemma 2)
        off = UNIT * (float(t @ np.abs(power)) * 3.0 + 6.0)
        log_moment = c * reference + math.log(total)
        # numpy adds in blocks of 128 by eight, then pairwise: 30u at most; the rest are single operations
        each = UNIT * (32.0 + 2.0 * abs(c * reference) + 2.0 * abs(math.log(total)))
        return TiltedMeasure(log_moment, t, x, mean, off, each)

    def log_moments(self, tilts: Floats) -> Floats:
        """log E[e^{sL}] of the points at each tilt."""
        if not self.at.size:
            return np.full(tilts.shape, -math.inf)
        level = self.log_mass + np.multiply.outer(tilts, self.at)
        peak = level.max(axis=1)
        return np.asarray(peak + np.log(np.exp(level - peak[:, None]).sum(axis=1)))

    def log_under_q(self, y: Floats) -> Floats:
        """log E_Q[e^{-yL}] at most, y >= 0, but for what is missed; losses set apart count where they start.

        e^{-yL} = u^y is convex in u under Q, so the measure above has the larger moment, up to its slack.
        """
        points = self.log_moments(-1.0 - y)
        if self.top[2] > 0.0:
            points = np.logaddexp(points, math.log(self.top[2]) - y * self.start)
        return np.asarray(points + 1e-12 * (1.0 + y))


@dataclass(frozen=True, eq=False)
class TiltedMeasure:
    """A tilted law: log moment, masses of sum one, losses less their mean, and what rounding may do.

    `off`: relative error of the masses, averaged under them; `each`: absolute error of the log moment.
    """

    log_moment: float
    t: Floats
    x: Floats
    mean: float
    off: float
    each: float

    @cached_property
    def variance(self) -> float:
        """The variance of the loss."""
        return float(self.t @ np.square(self.x))

    @cached_property
    def spread(self) -> float:
        """E|L - mean|."""
        return float(self.t @ np.abs(self.x))


def cut(source: Source, edges: Floats, *, upper: bool) -> Pieces:
    """The finite pieces of a law between these edges; atoms are gathered where they outnumber the edges."""
    pieces = replace(source.pieces(edges, upper=upper), infinite=0.0)
    points = pieces.low == pieces.high
    if edges.size < 2:
        return pieces
    if np.count_nonzero(points) > 400 + 2 * edges.size:
        atoms = replace(pieces.where(points), lost=0.0)
        atoms = gathered(atoms.where(np.argsort(atoms.low, kind="stable")), edges)
        pieces = Pieces.join(pieces.where(~points), atoms)
        points = pieces.low == pieces.high
    if points.all():
        return pieces
    # beyond the first and the last edge there is hardly a mass, and no loss there is read as an end
    near = 4.0 * pieces.end_slip
    above = (
        ~points & (pieces.low > 0.5 * (edges[-1] + edges[-2])) & (pieces.high > edges[-1] + near)
    )
    under = ~points & (pieces.high < 0.5 * (edges[0] + edges[1])) & (pieces.low < edges[0] - near)
    above &= pieces.log_p < _HARDLY
    under &= (pieces.log_q < _HARDLY) & (pieces.log_p < _HARDLY)
    high, low = np.where(above, math.inf, pieces.high), np.where(under, -math.inf, pieces.low)
    return replace(pieces, low=low, high=high)


@lru_cache(maxsize=64)
def fine(source: Source) -> Measure:
    """A measure above on many nodes, for the moments of a law that is known in pieces alone."""
    pieces = cut(source, source.knots(1 << 13, -700.0), upper=True)
    return law_above(pieces, 1.0, first_top(pieces))


def first_top(pieces: Pieces) -> float:
    """Losses from here on must be set apart: the lower end of a piece that has no upper one."""
    return float(pieces.low[np.isposinf(pieces.high)].min(initial=math.inf))


def law_above(pieces: Pieces, count: float, top: float) -> Measure:
    """The measure above: each piece on its two ends. Raises `TooFine` for a piece without either end.

    A piece known to lie within [low - slip, high + slip] is split there, with the loss raised by its error,
    and its two points are then raised to low + slip and high + slip, so that neighbours share a node.
    """
    apart = pieces.low >= top
    body, least = _kept(pieces, ~apart)
    slack, unsure, slip = _errors(body)
    if np.isposinf(body.high).any():
        raise TooFine
    p = np.exp(body.log_p + slack + _ROUNDED)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        width = body.high - body.low + 2.0 * slip
        gap = np.minimum(body.loss + unsure - body.low + slip, width)
        share = np.where(width > 0.0, np.expm1(-gap) / np.expm1(-width), 1.0)
    open_ = np.isneginf(body.low)
    share = np.clip(np.where(open_, 1.0, share), 0.0, 1.0)
    ends = np.concatenate((np.where(open_, body.high, body.low), body.high))
    at, place = np.unique(ends, return_inverse=True)
    mass = np.asarray(
        np.bincount(place, np.concatenate((p * (1.0 - share), p * share)), at.size), float
    )
    raised = np.zeros(at.size)
    np.maximum.at(raised, place, np.concatenate((slip, slip)))
    kept = mass > 0.0
    q = np.exp(body.log_p - body.loss + slack + unsure)
    return Measure(
        count,
        (at + raised)[kept],
        mass[kept].astype(float),
        np.zeros(int(kept.sum())),
        _top(pieces.where(apart), up=True),
        _start(pieces, apart),
        float(q[open_].sum()) + pieces.lost + least[1],
        least[0],
    )


def law_below(pieces: Pieces, count: float, top: float) -> Measure:
    """The measure below: each piece as the one outcome that it would be if merged."""
    apart = pieces.low >= top
    body, _ = _kept(pieces, ~apart & np.isfinite(pieces.loss))
    slack, unsure, _ = _errors(body)
    with np.errstate(invalid="ignore"):
        widths = np.where(np.isfinite(body.low), body.high - body.low, 0.0)
    return Measure(
        count,
        body.loss - unsure,
        np.exp(body.log_p - slack - _ROUNDED),
        widths,
        _top(pieces.where(apart), up=False),
        _start(pieces, apart),
        0.0,
        0.0,
    )


def _kept(pieces: Pieces, body: np.ndarray) -> tuple[Pieces, tuple[float, float]]:
    """The pieces that floats hold, and (P, Q) of those that they do not."""
    small = body & (pieces.log_p < -690.0)  # floats end at -745
    lost = pieces.where(small)
    with np.errstate(over="ignore", invalid="ignore"):
        q = float(np.nansum(np.exp(np.minimum(lost.log_p - lost.loss, 0.0))))
    p = float(np.exp(lost.log_p[lost.log_p > -math.inf]).sum()) + 5e-324 * lost.log_p.size
    return pieces.where(body & ~small), (p * 1.001, q * 1.001)


def _errors(pieces: Pieces) -> tuple[Floats, Floats, Floats]:
    shape = pieces.log_p.shape
    errors = (pieces.slack, pieces.unsure, pieces.slip)
    slack, unsure, slip = (np.asarray(np.broadcast_to(e, shape), float) for e in errors)
    return slack, unsure, slip


def _top(pieces: Pieces, *, up: bool) -> tuple[float, float, float]:
    """(P, Q down, Q up) of the pieces set apart, P rounded to one side."""
    if not pieces.log_p.size:
        return 0.0, 0.0, 0.0
    slack, unsure, _ = _errors(pieces)
    slack = slack + 5e-15  # and the sum's own rounding
    way = 1.0 if up else -1.0
    p = float(np.exp(pieces.log_p + way * slack).sum())
    with np.errstate(invalid="ignore", over="ignore"):
        log_q = np.where(np.isposinf(pieces.loss), -math.inf, pieces.log_p - pieces.loss)
        q_down = float(np.exp(log_q - slack - unsure).sum())
        q_up = float(np.exp(log_q + slack + unsure).sum())
    return min(p, 1.0), q_down, min(q_up, 1.0)


def _start(pieces: Pieces, apart: np.ndarray) -> float:
    if not apart.any():
        return math.inf
    some = pieces.where(apart)
    return float((some.low - _errors(some)[2]).min())
