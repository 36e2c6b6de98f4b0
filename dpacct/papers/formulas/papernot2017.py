"""Papernot, Abadi, Erlingsson, Goodfellow, Talwar. Semi-supervised Knowledge Transfer. ICLR 2017.

The noisy argmax with Laplace noise (LNMax), and the bound that gets better when the votes agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.voting import published


def lemma4(votes: Sequence[float], b: float) -> float:
    first, *others = sorted(votes, reverse=True)
    margins = np.array([(first - other) / b for other in others])
    return min(1.0, math.exp(float(published.log_totals(published.log_overtaking(margins)))))


def theorem3(epsilon: float, alpha: float, q: float) -> float:
    return float(published.likely_outcome(math.log(q), alpha, epsilon))
