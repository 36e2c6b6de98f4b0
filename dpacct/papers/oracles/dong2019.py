"""Truths for the statements of Dong, Roth, Su (2019)."""

from __future__ import annotations

import numpy as np

import dpacct as dp
from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import oracle
from dpacct.papers.page import Ends


@oracle("c_p_renyi", draws=100, within=1e-7)
def renyi_fixed(mu: float, rate: float, alpha: float) -> Ends:
    """The Renyi divergence of the dominating pair of a uniform sample, by the exact engine."""
    node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=1.0 / mu))
    with np.errstate(over="ignore"):  # of terms that the engine then takes in logarithms
        value = float(node.rdp(alpha))
    return truths.around((value, 1e-9 * value + 1e-13 / (alpha - 1.0)))
