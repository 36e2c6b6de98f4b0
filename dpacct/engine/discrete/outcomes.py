"""A law of finitely many losses, read as it stands: sums over its outcomes, no lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpacct.engine.stable import Floats

from .pieces import NO_LOSSES, Pieces, Sources, pointed

# relative rounding of a sum of many positive terms, and of its terms
_SUM = 1e-14


@dataclass(frozen=True, eq=False)
class Outcomes:
    """P-masses (logs) at losses in increasing order, each off by no more than its slack and `unsure`."""

    losses: Floats
    log_p: Floats
    slack: Floats
    unsure: Floats

    @classmethod
    def points(cls, pieces: Pieces) -> Outcomes:
        loss, unsure = pieces.losses()
        order = np.argsort(loss)
        shape = loss.shape
        slack, wide = (np.broadcast_to(error, shape)[order] for error in (pieces.slack, unsure))
        return cls(
            loss[order], pieces.log_p[order], slack, np.where(loss[order] < math.inf, wide, 0.0)
        )

    def log_delta(self, epsilon: float, *, upper: bool) -> float:
        """An end of log delta: sum of masses (1 - e^{eps - loss}) over losses above epsilon."""
        sign = 1.0 if upper else -1.0
        start = int(np.searchsorted(self.losses, epsilon - float(self.unsure.max(initial=0.0))))
        gap = self.losses[start:] + sign * self.unsure[start:] - epsilon
        gain = -np.expm1(-np.maximum(gap, 0.0))
        with np.errstate(divide="ignore"):
            level = self.log_p[start:] + sign * self.slack[start:] + np.log(gain)
        peak = float(level.max(initial=-math.inf))
        if peak == -math.inf:
            return -math.inf
        total = peak + math.log(float(np.exp(level - peak).sum())) + sign * _SUM
        return min(total, 0.0)

    def about(self, log_target: float, floor: float) -> tuple[float, float]:
        """About the epsilon >= floor where log delta is the target, and what log delta falls by there."""
        finite = self.losses < math.inf
        losses = self.losses[finite]
        p = np.exp(np.minimum(self.log_p - log_target, 300.0))
        rest = float(p[~finite].sum())
        p = p[finite]
        # in units of the target: all above, and what they lose per e^epsilon, of the uppermost loss
        above = np.append(np.cumsum(p[::-1])[::-1], 0.0)[1:] + rest
        top = float(losses[-1]) if losses.size else 0.0
        lost = np.append(np.cumsum((p * np.exp(np.minimum(top - losses, 300.0)))[::-1])[::-1], 0.0)[
            1:
        ]
        at = above - lost * np.exp(np.maximum(losses - top, -745.0))
        k = int(np.argmax(at <= 1.0)) if (at <= 1.0).any() else losses.size - 1
        # between the loss before and this one: above - lost e^{eps - top} with this one's share too
        a, b = (above[k] + p[k], lost[k] + p[k] * math.exp(min(top - losses[k], 300.0)))
        if not (a > 1.0 and b > 0.0):
            return max(float(losses[k]), floor), 1.0
        found = top + math.log((a - 1.0) / b)
        return max(min(found, float(losses[k])), floor), max(a - 1.0, 1e-12)


def outcomes(sources: Sources) -> tuple[Outcomes, Outcomes] | None:
    """(lower, upper) of one source, asked once, that has points alone; None where it is anything else."""
    if len(sources) != 1 or sources[0][1] != 1.0:
        return None
    source, _ = sources[0]
    if not (source.only_atoms or pointed(source)):
        return None
    found = []
    for upper in (False, True):
        pieces = source.pieces(NO_LOSSES if pointed(source) else source.atoms, upper=upper)
        if not (pieces.low == pieces.high).all():
            return None
        found.append(Outcomes.points(pieces.where(pieces.log_p > -math.inf)))
    return found[0], found[1]
