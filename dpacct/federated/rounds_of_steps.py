"""Theorem 1 as printed, for f_j = C_{B/n}(G_{1/sigma}) tensor-K: the number that it gives, true or not.

g_p = max(f_j, 1 - alpha - p^2) follows f_j at both ends and the line between them. The line has slope -1,
so in terms of losses: those nearest to 0 become 0, as many as it takes until the total variation is p^2.
"""

from __future__ import annotations

import math

import numpy as np

from dpacct.plan.step_lattice import Lattice, lattice
from dpacct.pld.roots import crossing
from dpacct.pld.stable import Floats

_HALF = 2**18
# variance that the mesh may add, over the reach: about a thousandth of epsilon
_COARSE = 4e-3


def flattened(loss: Floats, law: Floats, variation: float) -> Floats:
    """The law with all losses near 0 moved to 0, so that its total variation is at most `variation`.

    `law` has the P-masses at `loss`, an odd number of them, symmetric around 0.
    """
    above = loss > 0.0
    gain = law[above] * -np.expm1(-loss[above])  # P less Q, per loss
    reached = np.cumsum(gain[::-1])[::-1]  # of all losses at or above
    if not reached.size or float(reached[0]) <= variation:
        return law
    share = np.clip((variation - (reached - gain)) / np.where(gain > 0.0, gain, 1.0), 0.0, 1.0)
    kept = np.zeros_like(law)
    kept[above] = share * law[above]
    middle = loss.size // 2
    below = np.arange(middle)
    kept[below] = kept[loss.size - 1 - below] * np.exp(loss[below])  # their mirror images
    kept[middle] = 0.0
    kept[middle] = max(0.0, float(law.sum()) - float(kept.sum()))
    return kept


def theorem1_epsilon(
    rate: float, sigma: float, steps: int, client_rate: float, rounds: int, delta: float
) -> float:
    """Epsilon at `delta` of g_p tensor-`rounds`; `rounds` is R for the weak, (m-1) R for the strong notion.

    From above, by a part in a thousand at most; nan where the lattice can't tell so well. The rounding of a
    Fourier transform leaves 1e-12 for the least delta that makes sense.

    >>> round(theorem1_epsilon(1.0, 1.0, 1, 1.0, 1, 0.126936737507), 2)
    1.0
    """
    law = lattice(rate, 1.0 / sigma, steps, 1.0, rounds, 0.0, _HALF)
    if steps * rounds * law.mesh**2 > _COARSE * float(law.loss[-1]):
        return math.nan
    return _solved(_one_round(law, client_rate), law, rounds, delta)


def _one_round(law: Lattice, client_rate: float) -> Floats:
    whole = np.fft.fftshift(np.fft.irfft(law.spectrum**law.steps, law.loss.size))
    inner = np.maximum(whole[1:], 0.0)  # the first point has no mirror image
    flat = flattened(law.loss[1:], inner, client_rate**2) if client_rate < 1.0 else inner
    return np.asarray(np.concatenate(([0.0], flat)))


def _solved(one_round: Floats, law: Lattice, rounds: int, delta: float) -> float:
    spectrum = np.fft.rfft(np.fft.ifftshift(one_round)) ** rounds
    whole = np.fft.fftshift(np.fft.irfft(spectrum, law.loss.size))
    kept = float(spectrum[0].real)

    def excess(epsilon: float) -> float:
        return law.delta(whole, epsilon, kept) - delta

    high = float(law.loss[-1])
    return math.inf if excess(high) > 0.0 else crossing(excess, high)[1]
