"""One small chart of each kind, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

import dpacct as dp
from dpacct.report.plots.chart import Chart
from dpacct.report.plots.kinds import gap, noise, profile, rdp, steps, tradeoff

STEP = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1))
RUN = STEP * 1000
KINDS = ("profile", "tradeoff", "rdp", "steps", "noise", "gap")


def with_noise(size: float) -> dp.Node:
    return dp.Poisson(0.01)(dp.Gaussian(sigma=size)) * 1000


@cache
def chart(kind: str) -> Chart:
    if kind == "profile":
        return profile(RUN, epsilons=np.linspace(0, 2.5, 11), methods=("auto", "rdp", "clt"))
    if kind == "tradeoff":
        return tradeoff(RUN, alphas=np.linspace(0, 1, 11))
    if kind == "rdp":
        return rdp(RUN, orders=np.geomspace(1.5, 32, 12))
    if kind == "steps":
        return steps(STEP, counts=[100, 300, 1000, 3000, 10_000])
    if kind == "noise":
        return noise(with_noise, epsilons=[0.5, 1, 2])
    return gap(RUN, deltas=[1e-9, 1e-7, 1e-5, 1e-3])
