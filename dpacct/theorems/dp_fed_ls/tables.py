"""Tables 1 to 3: the epsilons, under the conventions that reproduce them."""

from __future__ import annotations

import math

from dpacct.domain import Number
from dpacct.theorems import mironov2017, mironov2019, wang2018
from dpacct.theorems.cell import Cell
from dpacct.theorems.dp_fed_ls.smallest_noise import POISSON, UNIFORM, Guarantee

# What Opacus and TensorFlow Privacy optimise over; whole orders alone miss six of the eight numbers.
_ORDERS = [1.0 + tenth / 10.0 for tenth in range(1, 100)] + [float(n) for n in range(12, 64)]


def uniform(multiplier: float, tau: float, steps: int, delta: float) -> float:
    """Epsilon by Theorem 9 of Wang et al., whole orders, with rho(alpha) = alpha/(2 z^2).

    >>> round(uniform(1.5, 0.05, 200, 2000**-1.1), 6)
    5.225159
    """
    return min(
        mironov2017.epsilon(
            steps * (order - 1) * wang2018.theorem9(order, tau, multiplier),
            order - 1.0,
            math.log(delta),
        )
        for order in range(2, 33)
    )


def poisson(multiplier: float, tau: float, steps: int, delta: float) -> float:
    """Epsilon by the exact Renyi divergence of the sampled Gaussian, sensitivity G.

    >>> round(poisson(1.5, 0.05, 200, 2000**-1.1), 6)
    2.56481
    """
    return min(
        mironov2017.epsilon(
            steps * (order - 1.0) * mironov2019.fractional(order, tau, multiplier),
            order - 1.0,
            math.log(delta),
        )
        for order in _ORDERS
    )


def of_noise(
    theorem: Guarantee, nu: float, tau: float, clip: float, steps: int, delta: float
) -> float:
    """The smallest epsilon for which a theorem asks for no more noise than nu.

    >>> round(of_noise(UNIFORM, 0.80803099406, 0.05, 0.3, 30, 1000**-1.1), 8)
    6.0
    """
    log_inverse = -math.log(delta)
    x = (0.5 * nu / clip) ** 2
    low = theorem.least_epsilon(log_inverse, tau, steps)
    high = 2.0 * low
    for _ in range(60):
        middle = 0.5 * (low + high)
        found = theorem.smallest(middle, log_inverse, tau, steps)
        low, high = (low, middle) if found is not None and found[0] <= x else (middle, high)
    return high


def uniform_noise(nu: float, tau: float, clip: float, steps: int, delta: float) -> float:
    """Theorem 1, read for epsilon."""
    return of_noise(UNIFORM, nu, tau, clip, steps, delta)


def poisson_noise(nu: float, tau: float, clip: float, steps: int, delta: float) -> float:
    """Theorem 2, read for epsilon."""
    return of_noise(POISSON, nu, tau, clip, steps, delta)


_MNIST: dict[str, Number] = {"tau": 0.05, "clip": 0.3, "steps": 30, "delta": 1000**-1.1}
_SVHN: dict[str, Number] = {"tau": 0.05, "steps": 200, "delta": 2000**-1.1}
_SHAKESPEARE: dict[str, Number] = {"tau": 0.2, "steps": 100, "delta": 975**-1.1}
_NOTES = {
    "uniform": (
        "Theorem 9 of Wang et al. with rho = alpha/(2 z^2), so sensitivity G; under replace-one it is"
        " 2G, and the truth of what was run (noise z G) is the bracket"
    ),
    "poisson": "exact Renyi divergence, orders 1.1 to 63, Mironov's conversion; sensitivity G",
    "theorem": "the smallest noise that the theorem admits; the truth is what that noise delivers",
}
_TRUNCATED = {"27.24": "; 27.2476 is printed cut off, not rounded"}
_THEOREM_NOISE = {
    "uniform": (0.8080309940567968, 0.6636499003863836, 0.5821157337425843, 0.5257047777692913),
    "poisson": (0.777057, 0.643566, 0.566167, 0.512224),
}


def _row(table: str, sampling: str, multipliers: str, printed: str) -> list[Cell]:
    data, shared = ("SVHN", _SVHN) if table == "Table 2" else ("Shakespeare", _SHAKESPEARE)
    return [
        Cell(
            paper="dp_fed_ls",
            table=table,
            cell=f"{data}, {sampling}, z = {z}",
            inputs={"multiplier": float(z), **shared},
            printed=epsilon,
            formula=uniform if sampling == "uniform" else poisson,
            note=_NOTES[sampling] + _TRUNCATED.get(epsilon, ""),
            truth=f"dp_fed_ls.tables.{sampling}_truth",
        )
        for z, epsilon in zip(multipliers.split(), printed.split(), strict=True)
    ]


CELLS: tuple[Cell, ...] = (
    *(
        Cell(
            paper="dp_fed_ls",
            table="Table 1",
            cell=f"MNIST, {sampling}, epsilon = {epsilon}",
            inputs={"nu": nu, **_MNIST},
            printed=str(epsilon),
            formula=uniform_noise if sampling == "uniform" else poisson_noise,
            note=_NOTES["theorem"],
            truth=f"dp_fed_ls.tables.{sampling}_noise_truth",
        )
        for sampling, nus in _THEOREM_NOISE.items()
        for epsilon, nu in zip((6, 7, 8, 9), nus, strict=True)
    ),
    *_row("Table 2", "uniform", "1 1.1 1.3 1.5", "8.66 7.84 6.34 5.23"),
    *_row("Table 2", "poisson", "1 1.1 1.3 1.5", "5.07 4.24 3.19 2.56"),
    *_row("Table 3", "uniform", "1 1.2 1.4 1.6", "27.24 22.43 17.69 14.94"),
    *_row("Table 3", "poisson", "1 1.2 1.4 1.6", "14.04 10.41 8.22 6.78"),
)
"""Every epsilon of the three tables."""
