"""Zheng, Chen, Long, Su. Federated f-Differential Privacy. AISTATS 2021."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct.errors import OutsideDomain
from dpacct.papers import truths
from dpacct.papers.formulas import dong2019, kairouz2015
from dpacct.papers.oracle import Floats, oracle, proof
from dpacct.pld import conversions


# Lemma 3.3
def lemma3_3(step: float, rounds: int, epsilon: float) -> float:
    """Delta of `rounds` steps of f_{step,0}, the trade-off function of a coin with that bias."""
    return kairouz2015.coins_delta(step, rounds, epsilon)


@oracle("lemma3_3", draws=300)
def coins(step: float, rounds: int, epsilon: float) -> float:
    """Each of the 2^R outcomes of R biased coins, one by one."""
    laws = np.array([1.0 / (1.0 + math.exp(-step)), 1.0 / (1.0 + math.exp(step))])
    first, second = np.ones(1), np.ones(1)
    for _ in range(rounds):
        first, second = np.outer(first, laws).ravel(), np.outer(second, laws[::-1]).ravel()
    return float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))


# Lemma 3.4
def lemma3_4(mu1: float, mu2: float) -> float:
    """The mu of both together."""
    return math.hypot(mu1, mu2)


_WIDE = 14.0  # standard deviations: nothing of a normal density is left beyond


@oracle("lemma3_4", draws=300, within=1e-8)
def two_shifts(mu1: float, mu2: float) -> float | None:
    """The total variation of the two-dimensional pair, an integral over one coordinate, as a mu."""
    from scipy.special import ndtr, ndtri

    if mu1 + mu2 > 8.0 or mu2 < 1e-3:
        return None
    x = np.linspace(-_WIDE, _WIDE + mu1, 4001)
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    shifted = np.exp(-0.5 * (x - mu1) ** 2) / math.sqrt(2.0 * math.pi)
    bar = (0.5 * (mu1 * mu1 + mu2 * mu2) - mu1 * x) / mu2  # the other coordinate is above it
    gain = float(np.sum(shifted * ndtr(mu2 - bar) - density * ndtr(-bar))) * float(x[1] - x[0])
    return 2.0 * float(ndtri(0.5 + 0.5 * gain))


# Definition 3.6
def definition3_6(mu: float, correlation: float) -> float:
    """Total variation of the product of two marginals N(mu b, 1); the correlation plays no part."""
    return math.erf(0.5 * mu)


def definition3_6_corrected(mu: float, correlation: float) -> float:
    """Total variation of the joint law."""
    return math.erf(0.5 * mu / math.sqrt(1.0 + correlation))


def _variation(shift: float) -> float:
    """Half of the integral of |N(shift,1) - N(0,1)|, on either side of where they cross."""
    middle = 0.5 * shift
    return 0.5 * (
        truths.integral(
            lambda x: truths.normal_density(x) - truths.normal_density(x - shift), -_WIDE, middle
        )
        + truths.integral(
            lambda x: truths.normal_density(x - shift) - truths.normal_density(x),
            middle,
            shift + _WIDE,
        )
    )


@oracle("definition3_6", "definition3_6_corrected", draws=300, within=1e-7)
def two_helpers(mu: float, correlation: float) -> float | None:
    """The joint density of the two helper models, along the direction in which its mean moves."""
    if mu < 1e-4:
        return None
    if correlation == 1.0:  # one helper model twice
        return _variation(mu)
    # their sum and difference are independent, and only the mean of the sum moves, by 2 mu
    deviation = math.sqrt(2.0 * (1.0 + correlation))
    return _variation(2.0 * mu / deviation) if deviation > 1e-3 else None


@proof("definition3_6_corrected")
def joint_shift() -> bool:
    """v^T S^-1 v = 2 mu^2/(1 + r) for v = mu (1, 1) and S = ((1, r), (r, 1))."""
    from sympy import Matrix, simplify, symbols

    mu, r = symbols("mu r")
    v = Matrix([mu, mu])
    shift = (v.T * Matrix([[1, r], [r, 1]]).inv() * v)[0]
    return bool(simplify(shift - 2 * mu**2 / (1 + r)) == 0)


# Section 3.4
def c_p(sigma: float, rate: float, alpha: float) -> float:
    """The least type II error at type I error `alpha`; `sigma` = std/sensitivity, `rate` = B/n."""
    return dong2019.c_p(1.0 / sigma, rate, alpha)


@oracle("c_p", draws=60, within=2e-5)
def sampled_step(sigma: float, rate: float, alpha: float) -> tuple[float, float]:
    """The double conjugate as defined: the convex hull of min(f_p, its inverse) on a fine grid."""
    return truths.envelope(1.0 / sigma, rate, alpha)


# Lemma 3.7
def lemma3_7(mu: float, clients: int, alpha: float) -> float:
    """The type II error that no test beats, whatever the number of sampled clients."""
    return dong2019.definition2_6(mu, alpha)


@oracle("lemma3_7", draws=300)
def averaged(mu: float, clients: int, alpha: float) -> tuple[float, float]:
    """The test on the average of w_j and of the other clients' models, each with the same noise."""
    value = truths.error_two(mu / math.sqrt(clients), alpha)
    return value, value


# Lemma 3.8
def lemma3_8(mu: float, rate: float, alpha: float) -> float:
    """The type II error that no test beats in one round."""
    return max(dong2019.definition2_6(mu, alpha), 1.0 - alpha - rate**2)


@oracle("lemma3_8", draws=300, within=1e-5)
def sampled_round(mu: float, rate: float, alpha: float) -> tuple[float, float]:
    """The best test where it shows who took part, by the dual: the highest of all supporting lines."""
    from scipy.special import ndtr

    reach = mu * (8.0 + 0.5 * mu)
    cut = np.linspace(-reach, reach, 16_001) / mu
    slope = np.exp(mu * cut)
    # E(N(mu,1), u N(0,1)) for slope u, mixed with the weight 1 - p^2 of two equal laws
    apart = ndtr(0.5 * mu - cut) - slope * ndtr(-0.5 * mu - cut)
    excess = rate * rate * apart + (1.0 - rate * rate) * np.maximum(1.0 - slope, 0.0)
    value = float(np.max(1.0 - slope * alpha - excess, initial=0.0))
    return value - 1e-9, value + 1e-9


def lemma3_8_tight(mu: float, rate: float, epsilon: float) -> float:
    """Delta of one round; `mu` that of the local training, `rate` that of the clients."""
    return rate**2 * conversions.gaussian_delta(mu, epsilon)


@oracle("lemma3_8_tight", draws=300, within=1e-8)
def round_profile(mu: float, rate: float, epsilon: float) -> tuple[float, float] | None:
    """Quadrature of the laws of (who took part, helper model): below, hidden; above, shown."""
    cut, bar = epsilon / mu + 0.5 * mu, math.exp(min(epsilon, 700.0))
    if epsilon > 30.0 or cut - mu > 6.0:
        return None
    shown = (
        rate
        * rate
        * truths.integral(
            lambda x: truths.normal_density(x - mu) - bar * truths.normal_density(x),
            cut,
            cut + _WIDE,
        )
    )
    return shown * (1.0 - 1e-9), shown * (1.0 + 1e-9)


# Theorem 1
def _one_round(rate: float, law: Sequence[float]) -> list[tuple[float, float]]:
    """The outcomes of g_{p,j} that are likelier under S, each with its probability under S and S'.

    With alpha and beta the errors of the best test, 1 - alpha - beta of f_j grows by a - b with each such
    outcome, the most telling first; max(f_j, 1 - alpha - p^2) ends it at p^2.
    """
    whole = sum(law)
    if whole == 0.0:
        raise OutsideDomain(
            f"law must have a positive number in it, got {list(law)}", argument="law"
        )
    shares = [(a / whole, b / whole) for a, b in zip(law, reversed(law), strict=True) if a > b]
    room, outcomes = rate**2, []
    for a, b in sorted(shares, key=lambda pair: pair[1] / pair[0]):
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
    """Total variation of the tensor power of g_{p,j}; `law` of what one local training releases."""
    return _tensor_power(_one_round(rate, law), rounds)


def theorem1_corrected(rate: float, rounds: int) -> float:
    """Total variation, for local training that hides nothing."""
    return 1.0 - (1.0 - rate) ** rounds


@cache
def _shown_by_heads(rounds: int, observers: int) -> Floats:
    """How many outcomes of all coins have so many heads, and show so many of j's releases to an observer.

    The server averages with eta = 1/2 and the models are published as they are, so an observer who is
    sampled reads every w_j of the rounds so far: the weights 2^-k of the model tell the rounds apart.
    """
    counts = np.zeros((1 + (1 + observers) * rounds, 1 + rounds))
    for coins in itertools.product((False, True), repeat=(1 + observers) * rounds):
        table = np.array(coins).reshape(rounds, 1 + observers)
        still_to_look = np.logical_or.accumulate(table[::-1, 1:].any(axis=1))[::-1]
        counts[sum(coins), np.count_nonzero(table[:, 0] & still_to_look)] += 1.0
    return counts


def _apart(law: Sequence[float], releases: int) -> float:
    """Total variation of so many releases, outcome by outcome."""
    once: Floats = np.array(law) / math.fsum(law)
    first, second = np.ones(1), np.ones(1)
    for _ in range(releases):
        first, second = np.outer(first, once).ravel(), np.outer(second, once[::-1]).ravel()
    return 0.5 * float(np.abs(first - second).sum())


def _shown(rate: float, rounds: int, observers: int, law: Sequence[float]) -> float:
    """The mean over all coins: they tell nothing about S, and are known to who looks on."""
    counts = _shown_by_heads(rounds, observers)
    coins = len(counts) - 1
    weights = [rate**k * (1.0 - rate) ** (coins - k) for k in range(coins + 1)]
    return float(weights @ counts @ [_apart(law, n) for n in range(rounds + 1)])


@oracle("theorem1", draws=400)
@oracle("theorem1_corrected", draws=60)
def weak(rate: float, rounds: int, law: Sequence[float] = (1.0, 0.0)) -> tuple[float, float]:
    """Two clients, F = id, eta = 1/2: each of the 4^R outcomes of their coins."""
    value = _shown(rate, rounds, 1, law)
    return value, value


@proof("theorem1", "theorem1_corrected")
def two_rounds() -> bool:
    """R = 2, two clients: the truth exceeds the printed bound by p^2 (1-p)^2, and not the corrected."""
    from sympy import expand, symbols

    p = symbols("p")
    truth = sum(
        p ** sum(coins) * (1 - p) ** (4 - sum(coins))
        for coins in itertools.product((0, 1), repeat=4)
        # coins of j and of i in round 1, then in round 2; the server keeps what j gave
        if (coins[0] and (coins[1] or coins[3])) or (coins[2] and coins[3])
    )
    printed = 1 - (1 - p**2) ** 2
    corrected = 1 - (1 - p) ** 2
    beyond = expand(truth - printed - p**2 * (1 - p) ** 2)
    within = expand(corrected - truth - 2 * p * (1 - p) ** 2)
    return bool(beyond == 0 and within == 0)


def theorem1_strong(rate: float, clients: int, rounds: int, law: Sequence[float]) -> float:
    """Total variation of the tensor power; `law` of what the least private local training releases."""
    return _tensor_power(_one_round(rate, law), (clients - 1) * rounds)


def theorem1_strong_corrected(rate: float, clients: int, rounds: int) -> float:
    """Total variation, for local training that hides nothing; `clients` plays no part."""
    return theorem1_corrected(rate, rounds)


@oracle("theorem1_strong", draws=400)
@oracle("theorem1_strong_corrected", draws=60)
def strong(
    rate: float, clients: int, rounds: int, law: Sequence[float] = (1.0, 0.0)
) -> tuple[float, float] | None:
    """All coins of all clients, F = id, eta = 1/2; what all but client j see together."""
    if clients * rounds > 9:
        return None
    value = _shown(rate, rounds, clients - 1, law)
    return value, value


def theorem1_gaussian(mu: float, rate: float, rounds: int, epsilon: float) -> float:
    """Delta after all rounds, towards one client or all; `mu` that of one round of local training."""
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


@oracle("theorem1_gaussian", draws=250, within=1e-7)
def coins_and_shifts(
    mu: float, rate: float, rounds: int, epsilon: float
) -> tuple[float, float] | None:
    """The inverse Laplace transform of (1 - p + p M(s))^R / (s (s+1)) on a vertical line."""
    if epsilon < 0.02 or mu < 0.02:
        return None

    def log_moment(s: np.ndarray) -> np.ndarray:
        return rounds * np.log(1.0 - rate + rate * np.exp(0.5 * mu * mu * s * (s + 1.0)))

    if rounds * mu * mu * 20.0 > 600.0:
        return None
    real = np.geomspace(1e-3, 1e3, 3000).astype(complex)
    with np.errstate(all="ignore"):
        height = (log_moment(real) - real * epsilon - np.log(real * (1.0 + real))).real
    height[~np.isfinite(height)] = np.inf
    centre = float(real[int(np.argmin(height))].real)
    far = 9.0 / mu  # there the Gaussian factor has vanished
    t = np.linspace(0.0, far, 20_001)
    s = centre + 1j * t
    with np.errstate(all="ignore"):
        rest = np.exp(log_moment(s)) - (1.0 - rate) ** rounds  # the atom at 0 has no loss above eps
        values = (rest * np.exp(-s * epsilon) / (s * (s + 1.0))).real
    if not np.all(np.isfinite(values)):
        return None
    values[0] *= 0.5
    value = float(np.sum(values)) * float(t[1]) / np.pi
    room = 1e-8 * abs(value) + 1e-13
    return value - room, value + room


# Theorem 2
_ABOVE = 1e-14  # probability of a composed loss beyond the lattice, which is added
_POINTS = 2**16  # on each side of zero
Complexes = NDArray[np.complex128]


@dataclass(frozen=True)
class Lattice:
    """The law of one step's loss: its points, and its Fourier transform with the origin first."""

    loss: Floats
    spectrum: Complexes
    steps: int

    @property
    def mesh(self) -> float:
        """The distance of two points: each step's variance grows by a quarter of its square at most."""
        return float(self.loss[1] - self.loss[0])


_REACH = 8.5  # standard deviations of one step's noise that are kept


def _step(rate: float, mu: float, mesh: float, top: int, half: int) -> Floats:
    """The law of one loss under P at mesh * (-half..half-1); what lies above `top` is cut."""
    from scipy.special import ndtr

    loss = mesh * np.arange(top + 1)
    # e^loss = 1 - rate + rate e^{mu x - mu^2/2}, on x > mu/2
    x = np.log1p(np.expm1(np.minimum(loss, 700.0)) / rate) / mu + 0.5 * mu
    base = -np.diff(ndtr(-x))
    hit = -np.diff(ndtr(mu - x))
    law = np.zeros(2 * half)
    # losses of the positive branch have P-mass (1-rate) base + rate hit and Q-mass base; the
    # mirrored ones have them the other way round
    mixed = rate * hit + (1.0 - rate) * base
    share = np.clip((mixed - base * np.exp(loss[:-1])) / -math.expm1(-mesh), 0.0, mixed)
    law[half + 1 : half + top + 1] += share
    law[half : half + top] += mixed - share
    nearer = np.clip((base - mixed * np.exp(-loss[1:])) / -math.expm1(-mesh), 0.0, base)
    law[half - np.arange(top)] += nearer
    law[half - np.arange(1, top + 1)] += base - nearer
    law[half - top] += float(ndtr(-x[-1]))
    lost = rate * float(ndtr(mu - x[-1])) + (1.0 - rate) * float(ndtr(-x[-1]))
    law[half] += max(0.0, 1.0 - lost - float(law.sum()))
    return law


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def _window(rate: float, mu: float, steps: int, client_rate: float, rounds: int) -> float:
    """A loss that is exceeded with probability `_ABOVE` at most, by Chernoff; so is minus it."""
    x = np.linspace(0.5 * mu, mu + _REACH, 4001)
    loss = np.log1p(rate * np.expm1(np.minimum(mu * x - 0.5 * mu * mu, 700.0)))
    base = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * float(x[1] - x[0])
    ends = []
    for s in np.geomspace(0.02, 200.0, 40).tolist():
        with np.errstate(over="ignore"):
            up = float(np.sum(base * np.exp(loss) * np.expm1(np.minimum(s * loss, 700.0))))
            down = float(np.sum(base * np.expm1(-s * loss)))
        log_step = math.log1p(max(up + down, 0.0)) * steps
        log_round = float(np.logaddexp(_log(1.0 - client_rate), _log(client_rate) + log_step))
        ends.append((rounds * log_round - math.log(_ABOVE)) / s)
    return float(min(ends))


def lattice(
    rate: float,
    mu: float,
    steps: int,
    client_rate: float,
    rounds: int,
    epsilon: float,
    half: int = _POINTS,
) -> Lattice:
    """A lattice of 2 `half` points, wide enough for all rounds and for `epsilon`."""
    highest = math.log1p(rate * math.expm1(min(700.0, mu * (0.5 * mu + _REACH))))
    window = 1.01 * (max(epsilon, _window(rate, mu, steps, client_rate, rounds)) + highest)
    mesh = window / half
    law = _step(rate, mu, mesh, math.ceil(highest / mesh), half)
    points = np.asarray(mesh * np.arange(-half, half), dtype=np.float64)
    return Lattice(points, np.fft.rfft(np.fft.ifftshift(law)), steps)


def composed_delta(
    rate: float, mu: float, steps: int, client_rate: float, rounds: int, epsilon: float
) -> float:
    """Delta of `rounds` rounds, each of `steps` steps with probability `client_rate`; from above."""
    law = lattice(rate, mu, steps, client_rate, rounds, epsilon)
    spectrum = (1.0 - client_rate + client_rate * law.spectrum**steps) ** rounds
    whole = np.fft.fftshift(np.fft.irfft(spectrum, 2 * _POINTS))
    gain = law.loss - epsilon
    above = gain > 0.0
    kept = float(spectrum[0].real)
    total = float(-np.sum(whole[above] * np.expm1(-gain[above]))) + max(0.0, 1.0 - kept)
    return min(1.0, total + _ABOVE)


def theorem2(rate: float, sigma: float, steps: int, epsilon: float) -> float:
    """Delta after `steps` = K R steps at `rate` = B/n; from above, to 1 part in 1000."""
    return composed_delta(rate, 1.0 / sigma, steps, 1.0, 1, epsilon)


def _ends(lower: float | None, upper: float | None, floor: float) -> tuple[float, float] | None:
    """Both ends, where they are large enough to be compared with a sum over a lattice."""
    if lower is None or upper is None or lower < floor:
        return None
    return lower, upper


_HITS = 4.0  # rate * steps: with fewer, but for a single step, the engine takes long


def _few_steps(rng: Random) -> dict[str, float | int]:
    """Points at which delta is neither 1 nor too small to be compared."""
    rate, sigma = 10 ** rng.uniform(-2.0, -0.3), rng.uniform(0.5, 3.0)
    steps = rng.choice((1, math.ceil(rng.uniform(_HITS, 20.0 * _HITS) / rate)))
    size = rate * math.sqrt(steps * math.expm1(sigma**-2))
    epsilon = 0.5 * size * size + size * rng.uniform(0.0, 4.0)
    return {"rate": rate, "sigma": sigma, "steps": steps, "epsilon": epsilon}


@oracle("theorem2", draws=25, within=1e-6, draw=_few_steps)
def composed(rate: float, sigma: float, steps: int, epsilon: float) -> tuple[float, float] | None:
    """Delta of the composed dominating pair, by the exact engine; below, that of a pair of data sets."""
    if steps > 1 and rate * steps < 0.3:
        return None
    node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma)) * steps
    answer = node.delta(epsilon=epsilon, method="exact")
    return _ends(answer.lower, answer.upper, 1e-12)


def theorem2_thinned(
    client_rate: float, rate: float, sigma: float, local_steps: int, rounds: int, epsilon: float
) -> float:
    """Delta towards one other client or all of them; from above, to 1 part in 1000."""
    return composed_delta(rate, 1.0 / sigma, local_steps, client_rate, rounds, epsilon)


def _binomial(n: int, k: int, rate: float) -> float:
    from scipy.special import bdtr

    return float(bdtr(k, n, rate) - bdtr(k - 1, n, rate))


def _few_rounds(rng: Random) -> dict[str, float | int]:
    """As `_few_steps`, dealt to at most 8 rounds of a client."""
    drawn = _few_steps(rng)
    rounds, steps = rng.randint(1, 8), int(drawn.pop("steps"))
    drawn["local_steps"] = steps if steps == 1 else 1 + steps // rounds
    return drawn | {"rounds": rounds, "client_rate": rng.uniform(0.1, 1.0)}


@oracle("theorem2_thinned", draws=3, within=1e-6, draw=_few_rounds)
def thinned(
    client_rate: float, rate: float, sigma: float, local_steps: int, rounds: int, epsilon: float
) -> tuple[float, float] | None:
    """Given in how many rounds the client took part, the exact engine; the mean over that number."""
    if rounds > 300 or rate * local_steps < 1.0 < local_steps:
        return None
    lower, upper = 0.0, 0.0
    for k in range(1, rounds + 1):
        weight = _binomial(rounds, k, client_rate)
        if weight < 1e-10:
            upper += weight
            continue
        node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma))
        answer = (node * (local_steps * k)).delta(epsilon=epsilon, method="exact")
        if answer.lower is None or answer.upper is None:
            return None
        lower, upper = lower + weight * answer.lower, upper + weight * answer.upper
    return (lower, upper) if lower > 1e-12 else None


def theorem2_clt(batch: int, records: int, sigma: float, local_steps: int, rounds: int) -> float:
    """The limiting mu; `batch` of `records`, `local_steps` per round. No bound on anything."""
    return dong2019.corollary5_4(batch / records * math.sqrt(local_steps * rounds), sigma)


def theorem2_gdp(rate: float, sigma: float, steps: int, epsilon: float) -> float:
    """Delta of G_mu at `epsilon`, mu that of the limit; `steps` = K R."""
    mu = dong2019.corollary5_4(rate * math.sqrt(steps), sigma)
    return conversions.gaussian_delta(mu, epsilon)


@oracle("theorem2_gdp", draws=150, within=1e-6)
def realised(rate: float, sigma: float, steps: int, epsilon: float) -> tuple[float, float] | None:
    """As `composed`: what a pair of data sets attains, and what bounds all of them."""
    return composed(rate, sigma, steps, epsilon)


def theorem2_strong(mu: float, clients: int) -> float:
    """The mu of all other clients together, as printed."""
    return math.sqrt(clients - 1) * mu


def theorem2_strong_tight(mu: float, clients: int) -> float:
    """The mu of all other clients together; `clients` plays no part."""
    return mu


@oracle("theorem2_strong", "theorem2_strong_tight", draws=200, within=1e-8)
def many_helpers(mu: float, clients: int) -> float:
    """The shift of m - 1 helper models that all hold the same release, by their joint covariance."""
    share = 1.0 + np.arange(clients - 1) / clients  # each is its own multiple of the release
    inverse = np.linalg.pinv(np.outer(share, share), hermitian=True)
    return math.sqrt(float(mu * share @ inverse @ (mu * share)))


def iterations(local_steps: int, rounds: int) -> float:
    """Table 2, 'Total Iter.': K R."""
    return float(local_steps * rounds)


def examples(batch: int, local_steps: int, rounds: int) -> float:
    """Table 2, 'Total Ex.': B K R."""
    return float(batch * local_steps * rounds)


_ROUNDS = {8: {1.0: 266, 0.9: 229, 0.75: 191}, 16: {1.0: 194, 0.9: 176, 0.75: 127}}
_STEPS = {8: 76, 16: 38}


def mean_ratio_mu(records: int) -> float:
    """Caption of Table 2: mu_max at B = 8 over that at B = 16, the mean of the three sigmas."""
    ratios = [
        theorem2_clt(8, records, sigma, _STEPS[8], _ROUNDS[8][sigma])
        / theorem2_clt(16, records, sigma, _STEPS[16], _ROUNDS[16][sigma])
        for sigma in _ROUNDS[8]
    ]
    return sum(ratios) / len(ratios)


def mean_ratio_iterations(small: int, large: int) -> float:
    """Section 4.1: iterations at batch `small` over those at `large`, the mean of the three sigmas."""
    ratios = [
        iterations(_STEPS[small], _ROUNDS[small][sigma])
        / iterations(_STEPS[large], _ROUNDS[large][sigma])
        for sigma in _ROUNDS[small]
    ]
    return sum(ratios) / len(ratios)


def mean_ratio_examples(small: int, large: int) -> float:
    """Caption of Table 2: examples at batch `small` over those at `large`."""
    return mean_ratio_iterations(small, large) * small / large


def _mu_of(epsilon: float) -> float:
    from scipy.optimize import brentq

    def gap(mu: float) -> float:
        node = dp.Gaussian(sigma=1.0 / mu)
        true = node.delta(epsilon=epsilon, method="exact")
        return math.log(true.value) - math.log(1e-5)

    return float(brentq(gap, epsilon / 30.0, 3.0 * math.sqrt(epsilon) + 1.0, xtol=1e-10))


def equivalent_mu(
    batch: int, records: int, sigma: float, local_steps: int, rounds: int
) -> tuple[float, float]:
    """The mu whose Gaussian mechanism has the exact epsilon of K R steps at delta = 1e-5, both ends."""
    node = dp.WithoutReplacement(f"{batch}/{records}")(dp.Gaussian(sigma=sigma))
    answer = (node * (local_steps * rounds)).epsilon(delta="1e-5", method="exact")
    assert answer.lower is not None and answer.upper is not None
    return _mu_of(answer.lower), _mu_of(answer.upper)
