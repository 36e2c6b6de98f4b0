"""Shared parts of oracles: true values by sums, quadrature and bisection, without any formula.

What judges statements as it stands bears their ids; the rest is called by the papers' files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

import dpacct as dp
from dpacct.papers.oracles.oracle import Comparison, Floats, oracle
from dpacct.papers.page import Ends

Votes: TypeAlias = tuple[float, ...]
MOST_COUNTED = 20_000  # clients of a shuffle whose counts are added up


def last(
    holds: Callable[[float], bool], inside: float, outside: float, within: float = 0.0
) -> float:
    """The point nearest to `outside` at which something still holds that holds `inside`; by halving."""
    for _ in range(200):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside) or abs(outside - inside) < within * abs(outside):
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def around(value: Ends, times: float = 1.0, more: float = 0.0) -> Ends:
    """Both ends of so many times a value that is known with some room, and `more` of it."""
    return times * (value[0] - value[1] - more), times * (value[0] + value[1] + more)


# --- two-point laws


def _two_points(alpha: float, log_p: Floats, log_q: Floats) -> Floats:
    """Renyi divergences of (p, 1-p) from (q, 1-q), from logarithms of both parts."""
    first = alpha * log_p + (1.0 - alpha) * log_q
    second = alpha * np.log(-np.expm1(log_p)) + (1.0 - alpha) * np.log(-np.expm1(log_q))
    return np.asarray(np.logaddexp(first, second) / (alpha - 1.0))


def two_point_divergence(alpha: float, p: float, q: float) -> float:
    """Renyi divergence of (p, 1-p) from (q, 1-q)."""
    return max(0.0, float(_two_points(alpha, *np.log([p, q]))))


def partners(p: float, alpha: float, rho: float) -> list[float]:
    """The lowest and the highest q for which (p, 1-p) and (q, 1-q) are within rho both ways."""

    def near(log_odds: float) -> bool:
        q = 1.0 / (1.0 + math.exp(-log_odds))
        if not 0.0 < q < 1.0:
            return False
        ways = two_point_divergence(alpha, p, q), two_point_divergence(alpha, q, p)
        return q == p or max(ways) <= rho

    start = math.log(p / (1.0 - p))
    return [1.0 / (1.0 + math.exp(-last(near, start, end))) for end in (-36.0, 36.0)]


def attained(alpha: float, *pairs: tuple[float, float]) -> Ends:
    """Return the best of these two-point pairs' divergences, less the rounding of a log over alpha - 1."""
    value = max(two_point_divergence(alpha, p, q) for p, q in pairs)
    return value * (1.0 - 1e-9) - 1e-13 * alpha / (alpha - 1.0), math.inf


@oracle("mironov2017.proposition3", "canonne2020.proposition12", draws=1500)
@oracle("dp_fed_ls.lemma1", draws=1500)
@oracle("dp_fedsam.eq16", "ae_dpfl.lemma9", draws=300)
def worst_epsilon(alpha: float, rho: float, delta: float) -> Ends:
    """The largest epsilon of many two-point mechanisms whose divergence is exactly rho."""
    shares = np.concatenate([np.geomspace(1e-6, 0.5, 90), 1.0 - np.geomspace(0.49, 1e-9, 90)])
    p = delta + (1.0 - delta) * shares
    shares, log_p = shares[p < 1.0], np.log(p[p < 1.0])
    # D falls in q on (0, p): bisect log q between far below and p
    low, high = log_p - (800.0 + rho), log_p
    for _ in range(56):  # of a width of 800
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            beyond = _two_points(alpha, log_p, middle) > rho
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    gain = np.log((1.0 - delta) * shares) - high  # the pair at `high` has divergence at most rho
    return max(0.0, float(np.max(gain))), math.inf


# --- noisy votes


def log_labels(votes: Votes, sigma: float) -> Floats:
    """Log of the probability that each class wins, noise of std sigma on each count."""
    from scipy.special import log_ndtr

    # a Gaussian of variance 1/3 and more is integrated to rounding at this step
    z, logs = np.linspace(-38.0, 38.0, 381), []
    for index, base in enumerate(votes):
        others = np.array([*votes[:index], *votes[index + 1 :]])[:, None]
        height = log_ndtr(z + (base - others) / sigma).sum(axis=0) - 0.5 * z * z
        logs.append(np.logaddexp.reduce(height))
    return np.array(logs) + math.log(float(z[1] - z[0]) / math.sqrt(2.0 * math.pi))


def label_divergence(alpha: float, log_p: Floats, log_q: Floats) -> float:
    """Renyi divergence, exact to rounding also where it is tiny: sum of q (r^a - 1 - a (r - 1))."""
    power = alpha * log_p + (1.0 - alpha) * log_q
    if power.max() > 600.0:
        return float(power.max()) / (alpha - 1.0)
    p, q, lead = np.exp(log_p), np.exp(log_q), int(np.argmax(log_p))
    moved = p - q
    moved[lead] = 0.0
    moved[lead] = -moved.sum()  # what the others lose, without cancelling
    with np.errstate(all="ignore"):
        x = moved / q
        near = q * (np.expm1(alpha * np.log1p(x)) - alpha * x)
    excess = np.where(np.abs(x) < 0.5, near, np.exp(power) - q - alpha * moved)
    return math.log1p(max(0.0, float(excess.sum()))) / (alpha - 1.0)


def one_agent(votes: Votes) -> Iterator[Votes]:
    """One hard vote more or fewer."""
    for index, count in enumerate(votes):
        for changed in (count + 1.0, count - 1.0):
            if changed >= 0.0:
                yield (*votes[:index], changed, *votes[index + 1 :])


def one_moved(votes: Votes, weight: float) -> Iterator[Votes]:
    """A vote of that weight moved from one class to another."""
    for source, target in itertools.permutations(range(len(votes)), 2):
        if votes[source] >= weight * (1.0 - 1e-9):
            changed = list(votes)
            changed[source] -= weight
            changed[target] += weight
            yield tuple(changed)


def worst_label_divergence(
    votes: Votes, others: Iterator[Votes], sigma: float, alpha: float, *, both: bool
) -> Ends | None:
    """The largest divergence of the label released on these votes from that on others, and back if `both`."""
    if (max(votes) - min(votes) + 2.0) / sigma >= 45.0:
        return None  # some label's probability lies below the range of floats
    base, worst = log_labels(votes, sigma), 0.0
    for other in others:
        pair = base, log_labels(other, sigma)
        worst = max(worst, *(label_divergence(alpha, *p) for p in (pair, pair[::-1])[: 1 + both]))
    room = 1e-7 * worst + 1e-14 * alpha / (alpha - 1.0)  # rounding, over alpha - 1
    return worst - room, worst + room


# --- randomised response: composed, and shuffled


@oracle("kairouz2015.theorem3_3", draws=150, within=1e-7)
def coins_delta(step: float, failure: float, steps: int, epsilon: float) -> Ends | None:
    """Delta of repeated (eps, delta)-DP coins, summed over the number of lies with 40 digits."""
    from mpmath import exp, expm1, fsum, log1p, mp, mpf

    if steps > 2000:
        return None
    with mp.workdps(40):
        true = 1 / (1 + exp(-mpf(step)))
        lie, bar = 1 - true, exp(mpf(epsilon))
        revealed = fsum(
            math.comb(steps, j)
            * max(mpf(0), true ** (steps - j) * lie**j - bar * lie ** (steps - j) * true**j)
            for j in range(steps // 2 + 1)
        )
        shown = -expm1(steps * log1p(-mpf(failure)))
        value = float(shown + (1 - shown) * revealed)
    return value * (1.0 - 1e-10), value * (1.0 + 1e-10)


def binomial(n: int, p: float) -> Floats:
    """Probabilities of 0..n successes."""
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(n + 1.0)
    logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.asarray(np.exp(logs + xlogy(k, p) + xlog1py(n - k, -p)))


def _positive(p: Floats, q: Floats, epsilon: float) -> float:
    """The larger of both directions' deltas."""
    growth = math.exp(epsilon)
    return max(float(np.maximum(a - growth * b, 0.0).sum()) for a, b in ((p, q), (q, p)))


def more_answers(epsilon: float, eps0: float, clients: int, answers: int = 3) -> float:
    """Delta of the counts of 0 and 1 among k >= 3 answers, if all others hold a third one.

    Answers beyond the third are not looked at: what is computed is realised by a coarser view.
    """
    lie = 1.0 / (math.exp(eps0) + answers - 1.0)
    honest = math.exp(eps0) * lie
    p, q = np.zeros((2, clients + 1, clients + 1))
    for said, chance in enumerate(binomial(clients - 1, 2.0 * lie).tolist()):
        ones = binomial(said, 0.5) * chance
        at = np.arange(said + 1)
        for table, says_0, says_1 in ((p, honest, lie), (q, lie, honest)):
            table[said + 1 - at, at] += says_0 * ones
            table[said - at, at + 1] += says_1 * ones
            table[said - at, at] += (1.0 - says_0 - says_1) * ones
    return _positive(p, q, epsilon)


def two_answers(epsilon: float, eps0: float, clients: int) -> float:
    """Delta of the count of ones: one client holds one and all others zero, against all zero."""
    lie = 1.0 / (1.0 + math.exp(eps0))
    others = binomial(clients - 1, lie)
    held, none = (
        np.append(others * (1.0 - one), 0.0) + np.append(0.0, others * one)
        for one in (1.0 - lie, lie)
    )
    return _positive(held, none, epsilon)


def shuffled_delta(epsilon: float, eps0: float, clients: int) -> float:
    """The largest delta of some randomised responses: a lower bound for the worst randomiser."""
    largest = two_answers(epsilon, eps0, clients)
    return max(largest, more_answers(epsilon, eps0, clients)) if clients <= 60 else largest


def exact_enough(delta: float) -> Ends | None:
    """A delta that some mechanism attains, as a lower bound; None if rounding would dominate it."""
    return (delta, math.inf) if delta > 1e-10 else None


@oracle("feldman2020.clones", "feldman2022.clones", draws=300, within=1e-8)
def clones_leak(epsilon: float, eps0: float, clients: int) -> Ends | None:
    """A lower bound of delta, from counts of shuffled randomised response on two and three answers."""
    if clients > 300 or epsilon >= eps0:
        return None
    return exact_enough(shuffled_delta(epsilon, eps0, clients))


@oracle("erlingsson2019.closed", draws=400, claimed=True)
@oracle("feldman2020.theorem3_1", "feldman2022.closed", draws=400, claimed=True)
def shuffle_delivers(claimed: float, delta: float, clients: int, eps0: float) -> Comparison | None:
    """The delta of shuffled randomised response at the claimed epsilon, beside the delta that was asked."""
    if clients > MOST_COUNTED or claimed >= eps0 or delta < 1e-9:
        return None
    return Comparison(delta, shuffled_delta(claimed, eps0, clients), math.inf)


def shuffled_divergence(alpha: float, epsilon: float, clients: int) -> float | None:
    """D_alpha between one client holding 1 and none doing so, the worse direction."""
    if clients > 20 * MOST_COUNTED:
        return None
    q = 1.0 / (1.0 + math.exp(epsilon))  # a client holding 0 sends 1
    k = np.arange(clients + 1.0)
    # a client holding 1 sends 1 with probability 1 - q: the ratio of the two laws of the count
    ratio = k * (1.0 - q) / (clients * q) + (clients - k) * q / (clients * (1.0 - q))
    weight, x = binomial(clients, q), ratio - 1.0
    means = []
    with np.errstate(all="ignore"):
        for order in (alpha, 1.0 - alpha):
            rise = np.where(np.abs(x) < 0.5, np.expm1(order * np.log1p(x)), ratio**order - 1.0)
            # less its linear term, as the mean of x is 0
            means.append(float(np.sum(np.where(weight > 0.0, weight * (rise - order * x), 0.0))))
    return math.log1p(max(means)) / (alpha - 1.0)


@oracle("girgis2021.lower", "udp_fl.lemma2", "udp_fl.lemma3", draws=600, within=1e-8)
@oracle("girgis2021.upper", "udp_fl.lemma2_corrected", draws=200, within=1e-8)
def randomised_response(alpha: int, epsilon: float, clients: int) -> float | None:
    """The count of ones among N randomised responses, one of them changed: exact sums."""
    # of a smaller epsilon too little is left of the sums' digits
    return shuffled_divergence(alpha, epsilon, clients) if epsilon >= 1e-3 else None


@oracle("balle2019.hoeffding", "balle2019.bennett", draws=400, within=1e-8)
@oracle("balle2019.hoeffding_rr", "balle2019.bennett_rr", draws=400, within=1e-8)
def counted(eps0: float, epsilon: float, clients: int, answers: int = 0) -> Ends | None:
    """A lower bound of delta, from counts of shuffled randomised response on k answers, or on 2 and 3."""
    if clients > (60 if answers > 2 else MOST_COUNTED):
        return None
    if answers == 0:
        return exact_enough(shuffled_delta(epsilon, eps0, clients))
    if answers == 2:
        return exact_enough(two_answers(epsilon, eps0, clients))
    return exact_enough(more_answers(epsilon, eps0, clients, answers))


# --- the staircase, piece by piece


@oracle("geng2014.amplitude", draws=200, within=1e-8)
def amplitude(lam: float, nu: float) -> float:
    """The mean of |x| of one draw, summed piece by piece."""
    return staircase_moment(lam, nu, 1)


@oracle("geng2014.least_variance", draws=20, within=1e-8, claimed=True)
def least_square_over_shapes(nu: float, lam: float) -> Comparison:
    """E X^2 at that nu beside its least value over nu."""
    least = least_staircase_moment(lam, 2)
    return Comparison(staircase_moment(lam, nu, 2), least, least)


@oracle("udp_fl.lemma1", "geng2014.least_amplitude", draws=30, within=1e-8)
def least_amplitude(lam: float) -> float:
    """The least E|X| over nu, by a search over sums of pieces."""
    return least_staircase_moment(lam, 1)


def staircase_moment(lam: float, nu: float, power: int) -> float:
    """E|X|^power of the 1-D staircase: its pieces, each integrated exactly."""
    steps = math.ceil(45.0 / lam) + 2
    if steps > 20_000:
        raise ArithmeticError("too many steps")
    ends = np.unique(np.concatenate([np.arange(steps + 1.0), np.arange(steps) + nu]))
    middle = 0.5 * (ends[1:] + ends[:-1])
    below = np.floor(middle)
    weight = np.exp(-lam * (below + (middle - below >= nu)))
    part = np.diff(ends ** (power + 1)) / (power + 1)
    return float(weight @ part) / float(weight @ np.diff(ends))


def least_staircase_moment(lam: float, power: int) -> float:
    """The least E|X|^power over nu in (0, 1), by Brent's method."""
    from scipy.optimize import minimize_scalar

    def moment(nu: float) -> float:
        return staircase_moment(lam, nu, power)

    least = minimize_scalar(moment, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    return float(least.fun)


# --- Gaussian shifts


def normal_density(x: Floats) -> Floats:
    """The density of N(0, 1)."""
    return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi))


@oracle("dong2019.definition2_6", draws=400)
def error_two(mu: float, alpha: float) -> float | None:
    """Type II error of the test x > cut of N(0,1) against N(mu,1), 40 digits; None where it underflows."""
    from mpmath import erfc, erfinv, mp, mpf, sqrt

    with mp.workdps(40):
        cut = -sqrt(2) * erfinv(2 * mpf(alpha) - 1)
        error = erfc((mpf(mu) - cut) / sqrt(2)) / 2
    return float(error) if error > 1e-300 else None


@oracle("dong2019.theorem4_2", "balle_wang.theorem8", draws=300, within=1e-8)
def sampled_profile(mu: float, epsilon: float, rate: float = 1.0) -> float | None:
    """The mass of (1-p) N(0,1) + p N(mu,1) - e^eps N(0,1) beyond where it begins, 60 digits."""
    from mpmath import erfc, exp, log, mp, mpf, sqrt

    with mp.workdps(60):
        m, p, growth = mpf(mu), mpf(rate), exp(mpf(epsilon))
        cut = log(1 + (growth - 1) / p) / m + m / 2
        far, near = (erfc(x / sqrt(2)) / 2 for x in (cut - m, cut))
        value = p * far + (1 - p - growth) * near
    return float(value) if value > 1e-300 else None


def normal_divergence(order: float, shift: float, spread: float = 1.0) -> Ends | None:
    """Renyi divergence of N(0,1) from N(shift, spread^2): the trapezoid rule, exact for such functions.

    With it the rounding of a logarithm over order - 1; None where the integrand has no centre.
    """
    precision = order + (1.0 - order) / spread**2
    if precision < 1e-5:
        return None  # the difference of two that are far larger
    centre = (1.0 - order) * shift / spread**2 / precision
    x = centre + np.linspace(-13.0, 13.0, 1301) / math.sqrt(precision)
    log_p, log_q = -0.5 * np.square(x), -0.5 * np.square((x - shift) / spread) - math.log(spread)
    scale = math.log(float(x[1] - x[0]) / math.sqrt(2.0 * math.pi))
    log_area = float(np.logaddexp.reduce(order * log_p + (1.0 - order) * log_q)) + scale
    lost = 1e-15 * order * float(np.abs(log_p).max() + np.abs(log_q).max()) + 1e-14
    return log_area / (order - 1.0), lost / (order - 1.0)


@oracle("dong2019.c_p", draws=120, within=2e-5)
def envelope(mu: float, rate: float, alpha: float) -> Ends:
    """The double conjugate as defined: the convex hull of min(f_p, its inverse) on a fine grid."""
    from scipy.special import ndtr, ndtri

    from dpacct.mechanisms.laws.knots import hull

    u = ndtr(np.linspace(-9.0, 9.0, 8_001))
    sampled = rate * ndtr(-ndtri(u) - mu) + (1.0 - rate) * (1.0 - u)
    # the inverse is the mirror image of the curve; all points of both, and the hull below them
    across = np.concatenate([u, sampled, [0.0, 1.0]]).tolist()
    up = np.concatenate([sampled, u, [1.0, 0.0]]).tolist()
    x, y = np.array(hull(list(zip(across, up, strict=True)))).T
    value = float(np.interp(alpha, x, y))
    return value - 1e-7, value + 1e-15


# --- sampled Gaussians, by the exact engine


@oracle("mironov2019.fractional", draws=150, within=1e-6)
@oracle("mironov2019.integer", draws=1500, within=1e-7)
def by_coins(alpha: float, rate: float, sigma: float) -> float | None:
    """Renyi divergence of the Poisson-sampled Gaussian, the worse direction, by the exact engine."""
    return None if sigma < 0.05 else float(dp.Poisson(rate)(dp.Gaussian(sigma=sigma)).rdp(alpha))


@oracle("wang2018.theorem9", "dp_fed_ls.appendix_a", draws=250, within=1e-7)
def by_fixed_size(alpha: float, tau: float, sigma: float) -> float | None:
    """Renyi divergence of the dominating pair C_tau under replace-one, by the exact engine."""
    if sigma < 0.05:
        return None
    with np.errstate(over="ignore"):  # of terms that the engine then takes in logarithms
        return float(dp.WithoutReplacement(tau)(dp.Gaussian(sigma=sigma)).rdp(alpha))


@oracle("dong2019.c_p_renyi", draws=100, within=1e-7)
def renyi_fixed(mu: float, rate: float, alpha: float) -> Ends | None:
    """The same, with mu = 1/sigma."""
    value = by_fixed_size(alpha, rate, min(1.0 / mu, 1e9))
    return None if value is None else around((value, 1e-9 * value + 1e-13 / (alpha - 1.0)))
