"""Feldman, McMillan, Talwar. Stronger Privacy Amplification by Shuffling. SODA 2023 (2022)."""

from __future__ import annotations

import math

from dpacct.papers.formulas.feldman2020 import among
from dpacct.shuffling.published import feldman2022_epsilon as closed

__all__ = ["clones", "closed"]


# Pair of clones
def clones(epsilon: float, eps0: float, clients: int) -> float:
    fall = math.exp(-eps0)
    return among(epsilon, eps0, clients, 2.0 * fall / (1.0 + fall))
