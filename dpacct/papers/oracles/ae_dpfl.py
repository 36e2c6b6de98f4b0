"""Truths for the statements of AE-DPFL."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import Comparison, oracle
from dpacct.papers.page import Ends


@oracle("lemma8_1", "lemma8_1_lower", "lemma8_1_corrected", draws=300)
def most_likely(q: float, alpha: float, rho: float) -> Ends:
    """The events of two-point mechanisms at that divergence, both ways: the least and most likely."""
    least, most = truths.partners(q, alpha, rho) if rho > 0.0 else (q, q)
    return most * (1.0 - 1e-10), least * (1.0 + 1e-10)  # some mechanism attains each end


@oracle("lemma8_3", draws=300)
def both_answers(alpha: float, first: float, second: float) -> float:
    """The divergence of two independent coins, summed over their four outcomes, 40 digits."""
    from mpmath import exp, fsum, log, mp, mpf

    with mp.workdps(40):
        a, laws = mpf(alpha), []
        for epsilon in (first, second):
            p = 1 / (1 + exp(-mpf(epsilon)))
            laws.append(((p, 1 - p), (1 - p, p)))
        coin, other = laws
        terms = [(x * y) ** a * (u * v) ** (1 - a) for x, u in coin for y, v in other]
        return float(log(fsum(terms)) / (a - 1))


@oracle("proposition10_a", draws=300)
def steps_in_region(distance: float, rate: float, slope: float) -> float | None:
    """F = G|x| from x = nu: how many local steps use the gradient at the start, by taking them."""
    if distance / (rate * slope) > 1e5:
        return None
    x, taken = distance, 0
    while x > 1e-12 * distance:
        x -= rate * slope
        taken += 1
    return float(taken)


@oracle("proposition10_b", draws=50)
def on_the_kink(rate: float, slope: float) -> float:
    """f_1 = G|x| and f_2 = -G|x| at 0, one step with subgradient G each; F = 0 has gradient 0."""
    update = (-rate * slope - rate * slope) / 2.0
    return abs(update) / rate


def _distance(steps: int, rate: float, start: float, slope: float, smoothness: float) -> float:
    """|g - F'(start)| for F' = clip(beta x, -G, G), by taking the steps."""
    x, total = start, 0.0
    for _ in range(steps):
        gradient = max(-slope, min(slope, smoothness * x))
        total += gradient
        x -= rate * gradient
    return abs(total / steps - max(-slope, min(slope, smoothness * start)))


@oracle("proposition10_c", draws=200)
def beside_the_kink(steps: int, rate: float, slope: float) -> Ends:
    """F = G|x|, or as smooth as that nearly is: the worst of several starts near the kink."""
    far = max(
        _distance(steps, rate, share * rate * slope, slope, 1e9 / rate)
        for share in (0.01, 0.5, 0.99, 1.5)
    )
    return far, math.inf


@oracle("proposition10_c_corrected", draws=200)
def bent(steps: int, rate: float, slope: float, smoothness: float) -> Ends:
    """F' = clip(beta x, -G, G), both constants attained: the worst of many starts."""
    reach = slope / smoothness
    far = max(
        _distance(steps, rate, float(start), slope, smoothness)
        for start in np.linspace(0.0, 1.2 * reach, 25)
    )
    return far * (1.0 - 1e-9) - 1e-12 * slope, math.inf


@oracle("algorithm3", draws=300, within=1e-8)
def joining(sigma: float, participants: int, dimension: int, epsilon: float) -> Ends | None:
    """An agent with update zero joins: the noise is divided by m + 1; the norm tells, exactly."""
    from scipy.special import gammaincc

    grow = 1.0 + 1.0 / participants
    # log p/q = -d log(grow) + r (grow^2 - 1)/2 for p with std 1, q with 1/grow, r = |x|^2
    cut = 2.0 * (epsilon + dimension * math.log(grow)) / (grow * grow - 1.0)
    wide = float(gammaincc(0.5 * dimension, 0.5 * cut))
    narrow = float(gammaincc(0.5 * dimension, 0.5 * cut * grow * grow))
    hockey_stick = wide - math.exp(min(epsilon, 700.0)) * narrow
    return max(0.0, hockey_stick * (1.0 - 1e-9)), 1.0


@oracle("algorithm3_corrected", draws=300, within=1e-7)
def sum_of_updates(sigma: float, epsilon: float) -> float | None:
    """The positive part of N(1, sigma^2) - e^eps N(0, sigma^2), integrated from where it begins."""
    return truths.sampled_profile(1.0 / sigma, epsilon)


@oracle("algorithm6", "algorithm6_dropout", draws=200)
def staying_agents(sigma: float, clip: float, participants: int, missing: int = 0) -> float | None:
    """The variances of those that stay, added up one by one."""
    if participants > 5000:
        return None
    each = sigma * sigma * clip * clip / participants
    return math.sqrt(math.fsum([each] * (participants - missing)))


def _counts(alpha: float, sigma: float, move: float, times: int) -> Ends | None:
    """So many Renyi integrals of a noisy count that moves."""
    if alpha * move / sigma > 200.0 or move < 1e-4 * sigma:
        return None
    room = 5e-13 * (alpha + 1.0 / (alpha - 1.0))  # rounding of the logarithm
    count = truths.normal_divergence(alpha, move / sigma)
    return count and truths.around(count, times, room)


@oracle("theorem11_agent", draws=300)
def agent_counts(alpha: float, queries: int, sigma: float) -> Ends | None:
    """The Renyi integral of the one count that an agent's hard vote moves."""
    return _counts(alpha, sigma, 1.0, queries)


@oracle("theorem11_instance", "theorem11_knn", "theorem11_knn_tight", draws=300)
def neighbour_counts(alpha: float, queries: int, sigma: float, k: int = 1) -> Ends | None:
    """The Renyi integrals of the two counts that a replaced neighbour, or a moved vote, changes."""
    return _counts(alpha, sigma, 1.0 / k, 2 * queries)


@oracle("lemma12", "lemma12_union", draws=300, within=1e-9)
def right_label(votes: Sequence[float], sigma: float) -> Ends:
    """The probability of the leader's label, by quadrature over its noise."""
    value = float(np.exp(np.max(truths.log_labels(tuple(sorted(votes)), sigma)[-1])))
    return value - 1e-13, value + 1e-13


@oracle("lemma12_threshold", "lemma12_threshold_corrected", draws=300, within=1e-9, claimed=True)
def wrong_at_margin(margin: float, classes: int, delta: float, sigma: float) -> Comparison:
    """The probability of a wrong label at that margin over all other classes, by quadrature."""
    from scipy.special import log_ndtr

    z = np.linspace(-38.0, 38.0, 4001)
    # some other class is ahead: 1 - Phi^{C-1}, without cancellation
    ahead = -np.expm1((classes - 1) * log_ndtr(z + margin / sigma))
    wrong = float(truths.normal_density(z) @ ahead) * float(z[1] - z[0])
    return Comparison(delta, wrong * (1.0 - 1e-11), wrong * (1.0 + 1e-11))


@oracle("lemma13", draws=300)
def outcome_under_first(q: float, alpha: float, epsilon: float) -> Ends:
    """P = (1-q, q) and the two Q that are farthest from it, within eps at order 2 alpha both ways."""
    others = truths.partners(q, 2.0 * alpha, epsilon)
    return truths.attained(alpha, *((q, other) for other in others))


@oracle("lemma13_proof", "lemma13_corrected_event", draws=300)
def outcome_under_second(q: float, alpha: float, epsilon: float) -> Ends:
    """Q = (1-q, q) and the two P that are farthest from it, within eps at order 2 alpha both ways."""
    others = truths.partners(q, 2.0 * alpha, epsilon)
    return truths.attained(alpha, *((other, q) for other in others))


@oracle("lemma13_corrected", draws=300)
def outcome_under_both(q: float, alpha: float, epsilon: float) -> Ends:
    """One law is (1-q, q), the other misses with less: farthest within eps at order 2 alpha."""
    least = truths.partners(q, 2.0 * alpha, epsilon)[0]
    return truths.attained(alpha, (least, q), (q, least))


@oracle("theorem14", draws=400, within=1e-8)
def agent_after(votes: Sequence[int], sigma: float, alpha: float) -> Ends | None:
    """All labels' probabilities, from these votes to all with one agent more or less."""
    counts = tuple(map(float, votes))
    return truths.worst_label_divergence(counts, truths.one_agent(counts), sigma, alpha, both=False)


@oracle("theorem14_corrected", draws=150, within=1e-6)
def one_agent(votes: Sequence[int], sigma: float, alpha: float) -> Ends | None:
    """All labels' probabilities by quadrature, for all votes with one agent more or less, both ways."""
    counts = tuple(map(float, votes))
    return truths.worst_label_divergence(counts, truths.one_agent(counts), sigma, alpha, both=True)


@oracle("theorem14_corrected_instance", draws=150, within=1e-6)
@oracle("theorem14_corrected_knn", draws=120, within=1e-6)
def one_moved(
    sigma: float,
    alpha: float,
    votes: Sequence[int] = (),
    neighbours: Sequence[int] = (),
    k: int = 1,
) -> Ends | None:
    """All labels' probabilities by quadrature, for all votes with one, or its k-th, moved, both ways."""
    counts = tuple(count / k for count in (*votes, *neighbours))
    moved = truths.one_moved(counts, 1.0 / k)
    return truths.worst_label_divergence(counts, moved, sigma, alpha, both=True)


@oracle("log_inequality", "log_inequality_corrected", draws=300)
def logarithm(x: float) -> float:
    """-log(1 - x)."""
    return -math.log1p(-x)
