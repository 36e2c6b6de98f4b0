"""Zheng, Chen, Long, Su. Federated f-Differential Privacy. AISTATS 2021."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import dpacct as dp
from dpacct.errors import OutsideDomain
from dpacct.papers.formulas import dong2019, kairouz2015
from dpacct.papers.page import Ends, ends
from dpacct.pld import conversions
from dpacct.pld.roots import decreasing
from dpacct.pld.stable import Floats


def lemma3_3(step: float, rounds: int, epsilon: float) -> float:
    return kairouz2015.coins_delta(step, rounds, epsilon)


def lemma3_4(mu1: float, mu2: float) -> float:
    return math.hypot(mu1, mu2)


def definition3_6(mu: float, correlation: float) -> float:
    return math.erf(0.5 * mu)


def definition3_6_corrected(mu: float, correlation: float) -> float:
    return math.erf(0.5 * mu / math.sqrt(1.0 + correlation))


# Section 3.4
def c_p(sigma: float, rate: float, alpha: float) -> float:
    return dong2019.c_p(1.0 / sigma, rate, alpha)


def lemma3_7(mu: float, clients: int, alpha: float) -> float:
    return dong2019.definition2_6(mu, alpha)


def lemma3_8(mu: float, rate: float, alpha: float) -> float:
    return max(dong2019.definition2_6(mu, alpha), 1.0 - alpha - rate**2)


def lemma3_8_tight(mu: float, rate: float, epsilon: float) -> float:
    return rate**2 * conversions.gaussian_delta(mu, epsilon)


# Theorem 1
def _telling(law: Sequence[float]) -> list[tuple[float, float]]:
    """The outcomes of local training that are likelier under S, their probability under S and S'."""
    whole = sum(law)
    if whole == 0.0:
        message = f"law must have a positive number in it, got {list(law)}"
        raise OutsideDomain(message, argument="law")
    return [(a / whole, b / whole) for a, b in zip(law, reversed(law), strict=True) if a > b]


def _one_round(rate: float, law: Sequence[float]) -> list[tuple[float, float]]:
    """Return the outcomes (a, b) of one round, g_{p,j}.

    With alpha and beta the errors of the best test, 1 - alpha - beta of f_j grows by a - b with each such
    outcome, the most telling first; max(f_j, 1 - alpha - p^2) ends it at p^2.
    """
    room, outcomes = rate**2, []
    for a, b in sorted(_telling(law), key=lambda pair: pair[1] / pair[0]):
        part = min(1.0, room / (a - b))
        room -= part * (a - b)
        outcomes.append((part * a, part * b))
    return outcomes


def _tensor_power(outcomes: list[tuple[float, float]], rounds: int) -> float:
    """Total variation of the tensor power of a symmetric pair, from its outcomes that tell something.

    What counts is by how much each of them was met more often than its mirror image.
    """
    silent = 1.0 - sum(a + b for a, b in outcomes)
    nothing = (0,) * len(outcomes)
    law = {nothing: 1.0}
    for _ in range(rounds):
        grown = {met: silent * weight for met, weight in law.items()}
        for place, (a, b) in enumerate(outcomes):
            for met, weight in law.items():
                for step, share in ((1, a), (-1, b)):
                    after = (*met[:place], met[place] + step, *met[place + 1 :])
                    grown[after] = grown.get(after, 0.0) + share * weight
        law = grown
    mirrored = (law.get(tuple(-n for n in met), 0.0) for met in law)
    return 0.5 * sum(abs(a - b) for a, b in zip(law.values(), mirrored, strict=True))


def theorem1(rate: float, rounds: int, law: Sequence[float]) -> float:
    return _tensor_power(_one_round(rate, law), rounds)


def theorem1_corrected(rate: float, rounds: int, law: Sequence[float]) -> float:
    return _tensor_power([(rate * a, rate * b) for a, b in _telling(law)], rounds)


def theorem1_strong(rate: float, clients: int, rounds: int, law: Sequence[float]) -> float:
    return _tensor_power(_one_round(rate, law), (clients - 1) * rounds)


def theorem1_strong_corrected(
    rate: float, clients: int, rounds: int, law: Sequence[float]
) -> float:
    return theorem1_corrected(rate, rounds, law)


def theorem1_gaussian(mu: float, rate: float, rounds: int, epsilon: float) -> float:
    terms = []
    for k in range(1, rounds + 1):
        log_weight = math.lgamma(rounds + 1) - math.lgamma(k + 1) - math.lgamma(rounds - k + 1)
        log_weight += k * math.log(rate)
        if k < rounds:
            log_weight += (rounds - k) * math.log1p(-rate) if rate < 1.0 else -math.inf
        if log_weight > -745.0:
            terms.append(
                math.exp(log_weight) * conversions.gaussian_delta(mu * math.sqrt(k), epsilon)
            )
    return min(1.0, math.fsum(terms))  # the weights' own rounding may add up to more


# Theorem 2
_ABOVE = 1e-14  # probability of a composed loss beyond the lattice, which is added
_POINTS = 2**16  # on each side of zero
_REACH = 8.5  # standard deviations of one step's noise that are kept


def _step(rate: float, mu: float, mesh: float, top: int) -> Floats:
    """The P-masses of C_rate(G_mu)'s loss, rounded up to mesh * (-n..n-1); what lies above `top` is cut."""
    from scipy.special import ndtr

    loss = mesh * np.arange(top + 1)
    # e^loss = 1 - rate + rate e^{mu x - mu^2/2}, on x > mu/2
    x = np.log1p(np.expm1(np.minimum(loss, 700.0)) / rate) / mu + 0.5 * mu
    base, hit = -np.diff(ndtr(-x)), -np.diff(ndtr(mu - x))
    law, zero = np.zeros(2 * _POINTS), _POINTS
    # losses of the positive branch have P-mass (1-rate) base + rate hit and Q-mass base; the
    # mirrored ones have them the other way round. Each cell keeps its mass under both.
    mixed = rate * hit + (1.0 - rate) * base
    share = np.clip((mixed - base * np.exp(loss[:-1])) / -math.expm1(-mesh), 0.0, mixed)
    law[zero + 1 : zero + top + 1] += share
    law[zero : zero + top] += mixed - share
    nearer = np.clip((base - mixed * np.exp(-loss[1:])) / -math.expm1(-mesh), 0.0, base)
    law[zero - np.arange(top)] += nearer
    law[zero - np.arange(1, top + 1)] += base - nearer
    law[zero - top] += float(ndtr(-x[-1]))
    lost = rate * float(ndtr(mu - x[-1])) + (1.0 - rate) * float(ndtr(-x[-1]))
    law[zero] += max(0.0, 1.0 - lost - float(law.sum()))
    return law


def _window(rate: float, mu: float, steps: int, client_rate: float, rounds: int) -> float:
    """A loss that is exceeded with probability `_ABOVE` at most, by Chernoff; so is minus it."""
    x = np.linspace(0.5 * mu, mu + _REACH, 4001)
    loss = np.log1p(rate * np.expm1(np.minimum(mu * x - 0.5 * mu * mu, 700.0)))
    base = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * float(x[1] - x[0])
    s = np.geomspace(0.02, 200.0, 40)[:, None]
    with np.errstate(over="ignore", divide="ignore"):
        up = np.exp(loss) * np.expm1(np.minimum(s * loss, 700.0)) + np.expm1(-s * loss)
        log_step = np.log1p(np.maximum(up @ base, 0.0)) * steps
        log_round = np.logaddexp(np.log1p(-client_rate), np.log(client_rate) + log_step)
    return float(np.min((rounds * log_round - math.log(_ABOVE)) / s[:, 0]))


def theorem2(rate: float, sigma: float, steps: int, epsilon: float) -> float:
    return theorem2_thinned(1.0, rate, sigma, steps, 1, epsilon)


def theorem2_thinned(
    client_rate: float, rate: float, sigma: float, local_steps: int, rounds: int, epsilon: float
) -> float:
    mu = 1.0 / sigma
    highest = math.log1p(rate * math.expm1(min(700.0, mu * (0.5 * mu + _REACH))))
    reach = max(epsilon, _window(rate, mu, local_steps, client_rate, rounds)) + highest
    mesh = 1.01 * reach / _POINTS
    law = np.fft.rfft(np.fft.ifftshift(_step(rate, mu, mesh, math.ceil(highest / mesh))))
    whole = (1.0 - client_rate + client_rate * law**local_steps) ** rounds
    masses = np.fft.fftshift(np.fft.irfft(whole, 2 * _POINTS))
    gain = mesh * np.arange(-_POINTS, _POINTS) - epsilon
    above = gain > 0.0
    lost = max(0.0, 1.0 - float(whole[0].real)) + _ABOVE
    return min(1.0, float(-np.sum(masses[above] * np.expm1(-gain[above]))) + lost)


def theorem2_clt(batch: int, records: int, sigma: float, local_steps: int, rounds: int) -> float:
    return dong2019.corollary5_4(batch / records * math.sqrt(local_steps * rounds), sigma)


def theorem2_gdp(rate: float, sigma: float, steps: int, epsilon: float) -> float:
    mu = dong2019.corollary5_4(rate * math.sqrt(steps), sigma)
    return conversions.gaussian_delta(mu, epsilon)


def theorem2_strong(mu: float, clients: int) -> float:
    return math.sqrt(clients - 1) * mu


def theorem2_strong_tight(mu: float, clients: int) -> float:
    return mu


def iterations(local_steps: int, rounds: int) -> float:
    """Table 2, 'Total Iter.': K R."""
    return float(local_steps * rounds)


def examples(batch: int, local_steps: int, rounds: int) -> float:
    """Table 2, 'Total Ex.': B K R."""
    return float(batch * local_steps * rounds)


_ROUNDS = {8: {1.0: 266, 0.9: 229, 0.75: 191}, 16: {1.0: 194, 0.9: 176, 0.75: 127}}
_STEPS = {8: 76, 16: 38}


def _mean_ratio(value: Callable[[int, float], float], small: int, large: int) -> float:
    """A number at one batch size over that at another, the mean of the three sigmas."""
    ratios = [value(small, sigma) / value(large, sigma) for sigma in _ROUNDS[small]]
    return sum(ratios) / len(ratios)


def mean_ratio_mu(records: int) -> float:
    """Caption of Table 2: mu_max at B = 8 over that at B = 16, the mean of the three sigmas."""

    def mu(batch: int, sigma: float) -> float:
        return theorem2_clt(batch, records, sigma, _STEPS[batch], _ROUNDS[batch][sigma])

    return _mean_ratio(mu, 8, 16)


def mean_ratio_iterations(small: int, large: int) -> float:
    """Section 4.1: iterations at batch `small` over those at `large`, the mean of the three sigmas."""
    return _mean_ratio(lambda b, sigma: iterations(_STEPS[b], _ROUNDS[b][sigma]), small, large)


def mean_ratio_examples(small: int, large: int) -> float:
    """Caption of Table 2: examples at batch `small` over those at `large`."""
    return mean_ratio_iterations(small, large) * small / large


def equivalent_mu(batch: int, records: int, sigma: float, local_steps: int, rounds: int) -> Ends:
    """The mu whose Gaussian mechanism has the exact epsilon of K R steps at delta = 1e-5, both ends."""
    node = dp.WithoutReplacement(f"{batch}/{records}")(dp.Gaussian(sigma=sigma))
    answer = (node * (local_steps * rounds)).epsilon(delta="1e-5", method="exact")
    lower, upper = ends(answer)

    def mu(epsilon: float) -> float:
        def gap(mu: float) -> Ends:  # falls as mu grows
            return -conversions.gaussian_log_delta(mu, epsilon)[0], math.nan

        return decreasing(gap, -math.log(1e-5), epsilon / 30.0, 3.0 * math.sqrt(epsilon) + 1.0)

    return mu(lower), mu(upper)
