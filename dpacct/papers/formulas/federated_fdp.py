"""Zheng, Chen, Long, Su. Federated f-Differential Privacy. AISTATS 2021."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

import numpy as np

import dpacct as dp
from dpacct.errors import OutsideDomain
from dpacct.papers import truths
from dpacct.papers.formulas import dong2019, kairouz2015
from dpacct.papers.oracle import Drawn, Ends, Floats, oracle, proof, vanish
from dpacct.plan.step_lattice import composed_delta
from dpacct.pld import conversions
from dpacct.pld.roots import decreasing


# Lemma 3.3
def lemma3_3(step: float, rounds: int, epsilon: float) -> float:
    """Delta of `rounds` steps of f_{step,0}, the trade-off function of a coin with that bias."""
    return kairouz2015.coins_delta(step, rounds, epsilon)


@oracle("lemma3_3", draws=300)
def coins(step: float, rounds: int, epsilon: float) -> Ends | None:
    """The outcomes of R biased coins, by how many of them lie."""
    return truths.coins_delta(step, 0.0, rounds, epsilon)


# Lemma 3.4
def lemma3_4(mu1: float, mu2: float) -> float:
    """The mu of both together."""
    return math.hypot(mu1, mu2)


@oracle("lemma3_4", draws=300, within=1e-8)
def two_shifts(mu1: float, mu2: float) -> float | None:
    """The total variation of the two-dimensional pair, an integral over one coordinate, as a mu."""
    from scipy.special import ndtr, ndtri

    if mu1 + mu2 > 8.0 or mu2 < 1e-3:
        return None
    x = np.linspace(-14.0, 14.0 + mu1, 4001)
    bar = (0.5 * (mu1 * mu1 + mu2 * mu2) - mu1 * x) / mu2  # the other coordinate is above it
    shifted = truths.normal_density(x - mu1) * ndtr(mu2 - bar)
    gain = float(np.sum(shifted - truths.normal_density(x) * ndtr(-bar))) * float(x[1] - x[0])
    return 2.0 * float(ndtri(0.5 + 0.5 * gain))


# Definition 3.6
def definition3_6(mu: float, correlation: float) -> float:
    """Total variation of the product of two marginals N(mu b, 1); the correlation plays no part."""
    return math.erf(0.5 * mu)


def definition3_6_corrected(mu: float, correlation: float) -> float:
    """Total variation of the joint law."""
    return math.erf(0.5 * mu / math.sqrt(1.0 + correlation))


@oracle("definition3_6", "definition3_6_corrected", draws=300, within=1e-7)
def two_helpers(mu: float, correlation: float) -> float | None:
    """The joint density of the two helper models, along the direction in which its mean moves."""
    if mu < 1e-4:
        return None
    # their sum and difference are independent, and only the mean of the sum moves, by 2 mu
    deviation = math.sqrt(2.0 * (1.0 + correlation))
    return truths.hockey_stick(2.0 * mu / deviation, 0.0) if deviation > 1e-3 else None


@proof("definition3_6_corrected")
def joint_shift() -> bool:
    """v^T S^-1 v = 2 mu^2/(1 + r) for v = mu (1, 1) and S = ((1, r), (r, 1))."""
    shift = "Matrix([[mu, mu]])*Matrix([[1, r], [r, 1]]).inv()*Matrix([mu, mu])"
    return vanish(f"({shift})[0] - 2*mu**2/(1 + r)")


# Section 3.4
def c_p(sigma: float, rate: float, alpha: float) -> float:
    """The least type II error at type I error `alpha`; `sigma` = std/sensitivity, `rate` = B/n."""
    return dong2019.c_p(1.0 / sigma, rate, alpha)


@oracle("c_p", draws=60, within=2e-5)
def sampled_step(sigma: float, rate: float, alpha: float) -> Ends:
    """The double conjugate as defined: the convex hull of min(f_p, its inverse) on a fine grid."""
    return truths.envelope(1.0 / sigma, rate, alpha)


# Lemma 3.7
def lemma3_7(mu: float, clients: int, alpha: float) -> float:
    """The type II error that no test beats, whatever the number of sampled clients."""
    return dong2019.definition2_6(mu, alpha)


@oracle("lemma3_7", draws=300)
def averaged(mu: float, clients: int, alpha: float) -> float | None:
    """The test on the average of w_j and of the other clients' models, each with the same noise."""
    return truths.error_two(mu / math.sqrt(clients), alpha)


# Lemma 3.8
def lemma3_8(mu: float, rate: float, alpha: float) -> float:
    """The type II error that no test beats in one round."""
    return max(dong2019.definition2_6(mu, alpha), 1.0 - alpha - rate**2)


@oracle("lemma3_8", draws=300, within=1e-5)
def sampled_round(mu: float, rate: float, alpha: float) -> Ends:
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
def round_profile(mu: float, rate: float, epsilon: float) -> float | None:
    """The hockey stick of the helper model by quadrature, where i and j both took part."""
    both = truths.hockey_stick(mu, epsilon)
    return None if both is None else rate * rate * both


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
    """Total variation of the tensor power of g_{p,j}; `law` of what one local training releases."""
    return _tensor_power(_one_round(rate, law), rounds)


def theorem1_corrected(rate: float, rounds: int, law: Sequence[float]) -> float:
    """Total variation of [(1-p) Id + p f_j] tensor-R; `law` of what one local training releases."""
    return _tensor_power([(rate * a, rate * b) for a, b in _telling(law)], rounds)


@cache
def _shown_by_heads(rounds: int, observers: int) -> Floats:
    """Count the outcomes of all coins by their heads and by the releases of j that an observer is shown.

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


def _shown(rate: float, rounds: int, observers: int, law: Sequence[float]) -> Ends:
    """The mean over all coins: they tell nothing about S, and are known to who looks on."""
    counts = _shown_by_heads(rounds, observers)
    coins = len(counts) - 1
    weights = [rate**k * (1.0 - rate) ** (coins - k) for k in range(coins + 1)]
    variation = float(weights @ counts @ [_apart(law, n) for n in range(rounds + 1)])
    return truths.around((variation, 1e-14))  # rounding of what two near laws differ by


@oracle("theorem1", draws=400)
@oracle("theorem1_corrected", draws=200)
def weak(rate: float, rounds: int, law: Sequence[float]) -> Ends:
    """Two clients, F = id, eta = 1/2: each of the 4^R outcomes of their coins."""
    return _shown(rate, rounds, 1, law)


@proof("theorem1", "theorem1_corrected")
def two_rounds() -> bool:
    """R = 2, two clients: the truth exceeds the printed bound by p^2 (1-p)^2, and not the corrected."""
    # coins of j and of i in round 1, then in round 2; the server keeps what j gave
    seen = [
        coins
        for coins in itertools.product((0, 1), repeat=4)
        if (coins[0] and (coins[1] or coins[3])) or (coins[2] and coins[3])
    ]
    truth = " + ".join(f"p**{sum(coins)}*(1 - p)**{4 - sum(coins)}" for coins in seen)
    return vanish(
        f"{truth} - (1 - (1 - p**2)**2) - p**2*(1 - p)**2",
        f"1 - (1 - p)**2 - ({truth}) - 2*p*(1 - p)**2",
    )


def theorem1_strong(rate: float, clients: int, rounds: int, law: Sequence[float]) -> float:
    """Total variation of the tensor power; `law` of what the least private local training releases."""
    return _tensor_power(_one_round(rate, law), (clients - 1) * rounds)


def theorem1_strong_corrected(
    rate: float, clients: int, rounds: int, law: Sequence[float]
) -> float:
    """Evaluate `theorem1_corrected`; `clients` plays no part."""
    return theorem1_corrected(rate, rounds, law)


@oracle("theorem1_strong", draws=400)
@oracle("theorem1_strong_corrected", draws=200)
def strong(rate: float, clients: int, rounds: int, law: Sequence[float]) -> Ends | None:
    """All coins of all clients, F = id, eta = 1/2; what all but client j see together."""
    return _shown(rate, rounds, clients - 1, law) if clients * rounds <= 9 else None


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
def coins_and_shifts(mu: float, rate: float, rounds: int, epsilon: float) -> float | None:
    """The mean over how often j took part: so many shifts in as many directions, by quadrature."""
    parts = []
    for k, weight in enumerate(truths.binomial(rounds, rate).tolist()[1:], 1):
        stick = truths.hockey_stick(mu * math.sqrt(k), epsilon) if weight else 0.0
        if stick is None:
            return None
        parts.append(weight * stick)
    return math.fsum(parts)


# Theorem 2
def theorem2(rate: float, sigma: float, steps: int, epsilon: float) -> float:
    """Delta after `steps` = K R steps at `rate` = B/n; from above, to 1 part in 1000."""
    return composed_delta(rate, 1.0 / sigma, steps, 1.0, 1, epsilon)


def _few_steps(rng: Random) -> Drawn:
    """Points at which delta is neither 1 nor too small to be compared, and the engine is quick."""
    rate, sigma = 10 ** rng.uniform(-2.0, -0.3), rng.uniform(0.5, 3.0)
    steps = rng.choice((1, math.ceil(rng.uniform(4.0, 80.0) / rate)))
    size = rate * math.sqrt(steps * math.expm1(sigma**-2))
    epsilon = 0.5 * size * size + size * rng.uniform(0.0, 4.0)
    return {"rate": rate, "sigma": sigma, "steps": steps, "epsilon": epsilon}


@oracle("theorem2", draws=25, within=1e-6, draw=_few_steps)
@oracle("theorem2_gdp", draws=150, within=1e-6)
def composed(rate: float, sigma: float, steps: int, epsilon: float) -> Ends | None:
    """Delta of the composed dominating pair, by the exact engine; below, that of a pair of data sets."""
    if steps > 1 and rate * steps < 0.3:
        return None
    node = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma)) * steps
    lower, upper = truths.ends(node.delta(epsilon=epsilon, method="exact"))
    return (lower, upper) if lower >= 1e-12 else None  # large enough for a sum over a lattice


def theorem2_thinned(
    client_rate: float, rate: float, sigma: float, local_steps: int, rounds: int, epsilon: float
) -> float:
    """Delta towards one other client or all of them; from above, to 1 part in 1000."""
    return composed_delta(rate, 1.0 / sigma, local_steps, client_rate, rounds, epsilon)


def _few_rounds(rng: Random) -> Drawn:
    """Draw `_few_steps`, dealt to at most 8 rounds of a client."""
    drawn = _few_steps(rng)
    rounds, steps = rng.randint(1, 8), int(drawn.pop("steps"))
    drawn["local_steps"] = steps if steps == 1 else 1 + steps // rounds
    return drawn | {"rounds": rounds, "client_rate": rng.uniform(0.1, 1.0)}


@oracle("theorem2_thinned", draws=3, within=1e-6, draw=_few_rounds)
def thinned(
    client_rate: float, rate: float, sigma: float, local_steps: int, rounds: int, epsilon: float
) -> Ends | None:
    """Given in how many rounds the client took part, the exact engine; the mean over that number."""
    if rounds > 300 or rate * local_steps < 1.0 < local_steps:
        return None
    step = dp.WithoutReplacement(rate)(dp.Gaussian(sigma=sigma))
    lower, upper = 0.0, 0.0
    for k, weight in enumerate(truths.binomial(rounds, client_rate).tolist()[1:], 1):
        if weight < 1e-10:
            upper += weight
            continue
        answer = (step * (local_steps * k)).delta(epsilon=epsilon, method="exact")
        below, above = truths.ends(answer)
        lower, upper = lower + weight * below, upper + weight * above
    return (lower, upper) if lower > 1e-12 else None


def theorem2_clt(batch: int, records: int, sigma: float, local_steps: int, rounds: int) -> float:
    """The limiting mu; `batch` of `records`, `local_steps` per round. No bound on anything."""
    return dong2019.corollary5_4(batch / records * math.sqrt(local_steps * rounds), sigma)


def theorem2_gdp(rate: float, sigma: float, steps: int, epsilon: float) -> float:
    """Delta of G_mu at `epsilon`, mu that of the limit; `steps` = K R."""
    mu = dong2019.corollary5_4(rate * math.sqrt(steps), sigma)
    return conversions.gaussian_delta(mu, epsilon)


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
    lower, upper = truths.ends(answer)

    def mu(epsilon: float) -> float:
        def gap(mu: float) -> Ends:  # falls as mu grows
            return -conversions.gaussian_log_delta(mu, epsilon)[0], math.nan

        return decreasing(gap, -math.log(1e-5), epsilon / 30.0, 3.0 * math.sqrt(epsilon) + 1.0)

    return mu(lower), mu(upper)
