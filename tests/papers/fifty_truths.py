"""What the papers' statements are about, at 50 digits: densities, sums over outcomes, matrices, steps taken.

Each function bears the ids of the statements whose truth it computes; no line of dpacct is used.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import mpmath as mp
from mpmath import exp, log, mpf, pi, quad, sqrt

TRUTHS: dict[str, Callable[..., Any]] = {}


def truth(*ids: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the function below the truth of these statements."""

    def attach(function: Callable[..., Any]) -> Callable[..., Any]:
        TRUTHS.update(dict.fromkeys(ids, function))
        return function

    return attach


def cdf(x: Any) -> Any:
    """Of N(0, 1)."""
    return mp.erfc(-x / sqrt(2)) / 2


def density(x: Any) -> Any:
    """Of N(0, 1)."""
    return exp(-x * x / 2) / sqrt(2 * pi)


def outcomes(p: Sequence[Any], q: Sequence[Any], alpha: Any) -> Any:
    """Renyi divergence of the first law from the second."""
    return log(mp.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))) / (
        alpha - 1
    )


def both_ways(p: Sequence[Any], q: Sequence[Any], alpha: Any) -> Any:
    """The larger divergence of two laws."""
    return max(outcomes(p, q, alpha), outcomes(q, p, alpha))


@truth("ae_dpfl.lemma8_1", "ae_dpfl.lemma8_1_lower", "ae_dpfl.lemma8_1_corrected")
def equal_laws(q: Any, alpha: Any, rho: Any) -> Any:
    """Where the divergence is 0 the two laws are one."""
    assert rho == 0
    return q


@truth("ae_dpfl.proposition10_b")
def on_the_kink(rate: Any, slope: Any) -> Any:
    """Both agents step by the slope, and F = 0 has gradient 0."""
    return abs((-rate * slope - rate * slope) / 2) / rate


@truth("ae_dpfl.proposition10_c")
def beside_the_kink(steps: int, rate: Any, slope: Any) -> Any:
    """F = G|x| from just above 0: the mean of the gradients met, beside the first."""
    x, met = rate * slope / 100, []
    for _ in range(steps):
        met.append(slope * mp.sign(x))
        x -= rate * met[-1]
    return abs(mp.fsum(met) / steps - slope)


@truth("ae_dpfl.theorem11_knn", "ae_dpfl.theorem11_knn_tight")
def moved_neighbour(alpha: Any, queries: int, sigma: Any, k: int) -> Any:
    """Two counts move by 1/k: the Renyi integral of each."""
    shift = 1 / (k * mpf(sigma))

    def height(x: Any) -> Any:
        return density(x - shift) ** alpha * density(x) ** (1 - alpha)

    middle = alpha * shift
    area = quad(height, [middle - 30, middle - 8, middle, middle + 8, middle + 30])
    return queries * 2 * log(area) / (alpha - 1)


def leader_wins(votes: Sequence[Any], sigma: Any) -> Any:
    """How likely the largest of noisy counts is the leader's."""
    lead, *others = sorted(votes, reverse=True)

    def height(z: Any) -> Any:
        return density(z) * mp.fprod(cdf(z + (lead - other) / mpf(sigma)) for other in others)

    return quad(height, [-25, -6, -3, 0, 3, 6, 25])


@truth("ae_dpfl.lemma12", "ae_dpfl.lemma12_union")
def right_label(votes: Sequence[Any], sigma: Any) -> Any:
    """The probability of the leader's label."""
    return leader_wins(votes, sigma)


@truth("papernot2018.proposition7")
def wrong_label(votes: Sequence[Any], sigma: Any) -> Any:
    """The probability of any other."""
    return 1 - leader_wins(votes, sigma)


@truth("ae_dpfl.lemma12_threshold")
def wrong_at_margin(classes: int, delta: Any, sigma: Any) -> Any:
    """All other classes are behind by the printed margin."""
    margin = 2 * sqrt(2 * log(classes / delta))
    return 1 - leader_wins([margin, *[0] * (classes - 1)], sigma)


def farthest(p: Any, order: Any, epsilon: Any) -> list[Any]:
    """The two q for which (1-p, p) and (1-q, q) are epsilon apart at that order, the worse way."""

    def gap(odds: Any) -> Any:
        q = 1 / (1 + exp(-odds))
        return both_ways((p, 1 - p), (q, 1 - q), order) - epsilon

    centre = log(p / (1 - p))
    ends = [(centre - 40, centre), (centre, centre + 40)]
    return [1 / (1 + exp(-mp.findroot(gap, end, solver="anderson", tol=1e-40))) for end in ends]


@truth("ae_dpfl.lemma13")
def outcome_under_first(q: Any, alpha: Any, epsilon: Any) -> Any:
    """P = (1-q, q) and the farthest others."""
    others = farthest(q, 2 * alpha, epsilon)
    return max(outcomes((q, 1 - q), (r, 1 - r), alpha) for r in others)


@truth("ae_dpfl.lemma13_proof", "ae_dpfl.lemma13_corrected_event")
def outcome_under_second(q: Any, alpha: Any, epsilon: Any) -> Any:
    """Q = (1-q, q) and the farthest others."""
    others = farthest(q, 2 * alpha, epsilon)
    return max(outcomes((r, 1 - r), (q, 1 - q), alpha) for r in others)


@truth("ae_dpfl.theorem14")
def agent_joins(votes: Sequence[int], sigma: Any, alpha: Any) -> Any:
    """Two classes: both labels' probabilities, with an agent more for either."""
    margin = votes[0] - votes[1]

    def law(lead: int) -> tuple[Any, Any]:
        scaled = lead / (sqrt(2) * mpf(sigma))
        return cdf(scaled), cdf(-scaled)

    return max(outcomes(law(margin), law(margin + step), alpha) for step in (1, -1))


def smoothing(ends: str, sigma: Any, d: int) -> Any:
    """I + sigma L for Dirichlet, Neumann or periodic ends."""
    matrix = mp.eye(d)
    for i in range(d):
        for j in (i - 1, i + 1):
            inside = 0 <= j < d
            if inside or ends == "periodic":
                matrix[i, j % d] -= sigma
            if inside or ends != "neumann":
                matrix[i, i] += sigma
    return matrix


def risk(ends: str, v: Sequence[Any], sigma: Any, nu: Any) -> Any:
    """Squared bias and variance of the smoothed vector."""
    inverse = smoothing(ends, sigma, len(v)) ** -1
    bias = inverse * mp.matrix(v) - mp.matrix(v)
    spread = mp.fsum(inverse[i, j] ** 2 for i in range(len(v)) for j in range(len(v)))
    return mp.fsum(x * x for x in bias) + nu**2 * spread


@truth("dp_fed_ls.proposition1")
def risk_on_a_path(v: Sequence[Any], sigma: Any, nu: Any) -> Any:
    """Neumann ends."""
    return risk("neumann", v, sigma, nu)


@truth("dp_fed_ls.proposition1_periodic")
def risk_on_a_cycle(v: Sequence[Any], sigma: Any, nu: Any) -> Any:
    """Periodic ends."""
    return risk("periodic", v, sigma, nu)


@truth("dp_fed_ls.eq2")
def first_by_the_text(v: Sequence[Any], sigma: Any) -> Any:
    """The text's matrix, solved."""
    return mp.lu_solve(smoothing("dirichlet", sigma, len(v)), mp.matrix(v))[0]


@truth("dp_fed_ls.eq2_corrected")
def first_on_a_cycle(v: Sequence[Any], sigma: Any) -> Any:
    """The circulant matrix, solved."""
    return mp.lu_solve(smoothing("periodic", sigma, len(v)), mp.matrix(v))[0]


@truth("dp_fed_ls.lemma2", "dp_fed_ls.remark1")
def fixed_size(tau: Any, nu2: Any, alpha: Any) -> Any:
    """The pair C_tau: losses log(1 - tau + tau e^{mx - m^2/2}) above m/2, mirrored, and 0."""
    shift = 1 / sqrt(nu2)

    def beyond(x: Any) -> Any:
        loss = log(1 - tau + tau * exp(shift * x - shift**2 / 2))
        up = mp.expm1(alpha * loss) - mp.expm1(loss)
        return density(x) * (up + mp.expm1((1 - alpha) * loss))

    area = quad(beyond, [shift / 2, shift / 2 + 3, alpha * shift + 8, alpha * shift + 40])
    return mp.log1p(area) / (alpha - 1)


@truth("dp_fed_ls.appendix_a")
def fixed_size_at(alpha: int, tau: Any, sigma: Any) -> Any:
    """The same, by the noise's deviation."""
    return fixed_size(tau, mpf(sigma) ** 2, mpf(alpha))


@truth("dp_fed_ls.lemma3", "dp_fed_ls.lemma3_integer", "dp_fed_ls.theorem2_proof")
def by_coins(tau: Any, nu2: Any, alpha: Any) -> Any:
    """The Poisson-sampled Gaussian, the worse direction."""
    shift = 1 / sqrt(mpf(nu2))

    def ratio(x: Any) -> Any:
        return 1 - tau + tau * exp(shift * x - shift**2 / 2)

    ends = [-40, -8, 0, shift, alpha * shift + 8, alpha * shift + 40]
    moments = [
        quad(lambda x, a=a: density(x) * (ratio(x) ** a - 1), ends) for a in (alpha, 1 - alpha)
    ]
    return max(mp.log1p(moment) for moment in moments) / (alpha - 1)


@truth("dp_fedsam.eq17")
def coins_in_all_rounds(alpha: Any, rate: Any, sigma: Any, rounds: int) -> Any:
    """So many rounds."""
    return rounds * by_coins(rate, mpf(sigma) ** 2, mpf(alpha))


@truth("ae_dpfl.log_inequality", "ae_dpfl.log_inequality_corrected")
def left_of_log_inequality(x: Any) -> Any:
    """-log(1 - x)."""
    return -log(1 - x)


@truth("dp_fed_ls.eq15")
def left_of_eq15(nu2: Any) -> Any:
    """e^{1/nu^2}."""
    return exp(1 / mpf(nu2))


@truth("dp_fed_ls.eq15_corrected")
def left_of_eq15_corrected(nu2: Any) -> Any:
    """e^{1/nu^2} - 1."""
    return mp.expm1(1 / mpf(nu2))


def sharpness_aware(eta: Any, rho: Any, steps: int, smoothness: Any, centre: int) -> list[Any]:
    """The models of SAM from 0 on L (w - z)^2/2."""
    w, way = mpf(0), [mpf(0)]
    for _ in range(steps):
        w -= eta * smoothness * (w + rho * mp.sign(w - centre) - centre)
        way.append(w)
    return way


@truth("dp_fedsam.theorem1")
def sam_apart(eta: Any, rho: Any, steps: int, smoothness: Any) -> Any:
    """SAM with the sample 1 and with -1."""
    ends = [sharpness_aware(eta, rho, steps, smoothness, z)[-1] for z in (1, -1)]
    return (ends[0] - ends[1]) ** 2


@truth("dp_fedsam.theorem1_sgd")
def sgd_apart(eta: Any, variance: Any, steps: int, smoothness: Any) -> Any:
    """SGD with the sample 1 and with -1; one sample has no variance."""
    return sam_apart(eta, 0, steps, smoothness)


@truth("dp_fedsam.lemma1", "dp_fedsam.lemma1_corrected")
def exchanged(clip: Any, participants: int) -> Any:
    """One of the clipped updates turns into its opposite."""
    return abs(clip - -clip) / participants


@truth("dp_fedsam.lemma2")
def perturbations(steps: int, eta: Any, smoothness: Any, rho: Any) -> Any:
    """Gradients 1 and -1/2: each client's perturbation beside that of their sum."""
    gradients = (mpf(1), mpf(-1) / 2)
    whole = rho * mp.sign(mp.fsum(gradients))
    return mp.fsum((rho * mp.sign(g) - whole) ** 2 for g in gradients) / 2


@truth("dp_fedsam.lemma4")
def coin_on_a_sample(epsilon: Any, samples: int, participants: int) -> Any:
    """A coin with odds e^eps on the exchanged record, and its lie where the sample misses it."""
    true, hit = 1 / (1 + exp(-epsilon)), mpf(participants) / samples
    return log((hit * true + (1 - hit) * (1 - true)) / (1 - true))


@truth("dp_fedsam.theorem4")
def step_of_the_proof(
    smoothness: Any,
    rho: Any,
    sigma: Any,
    clip: Any,
    dimension: int,
    samples: int,
    participants: int,
    slack: Any,
) -> Any:
    """The hockey stick at the printed eps~ of a shift of 2 L rho/m against noise sigma C/m, sampled."""
    unit = smoothness * rho / (sigma * clip * dimension)
    inner = unit * sqrt(2 * log(1 / slack)) + 2 * unit**2
    rate, shift = mpf(participants) / samples, 2 * smoothness * rho / (sigma * clip)
    bar = 1 + rate * (exp(inner) - 1)  # e^eps~ as printed

    def gap(x: Any) -> Any:
        return (1 - rate - bar) * density(x) + rate * density(x - shift)

    cut = log((bar - 1 + rate) / rate) / shift + shift / 2
    return quad(gap, [cut, cut + 2, cut + shift + 8, cut + shift + 40])


def coins(step: Any, steps: int, epsilon: Any) -> Any:
    """Delta of answers that are true with odds e^step, summed over how many lie."""
    true = 1 / (1 + exp(-mpf(step)))
    lie, bar = 1 - true, exp(epsilon)
    return mp.fsum(
        mp.binomial(steps, j)
        * max(mpf(0), true ** (steps - j) * lie**j - bar * lie ** (steps - j) * true**j)
        for j in range(steps + 1)
    )


@truth("dp_fedsam.lemma5", "dp_fedsam.lemma5_sign", "dp_fedsam.lemma5_corrected")
def at_the_printed_epsilon(steps: int, epsilon: Any, delta: Any, slack: Any) -> Any:
    """Coins at eps' = eps (sqrt(2 T log(1/slack)) + T (e^eps - 1)/(e^eps + 1))."""
    total = epsilon * (sqrt(2 * steps * log(1 / slack)) + steps * mp.tanh(epsilon / 2))
    return 1 - (1 - delta) ** steps * (1 - coins(epsilon, steps, total))


@truth("kairouz2015.theorem3_3")
def composed(step: Any, failure: Any, steps: int, epsilon: Any) -> Any:
    """The same at a given epsilon."""
    assert failure == 0
    return coins(step, steps, epsilon)


@truth("dp_fedsam.lemma7")
def along_the_way(steps: int, step: Any) -> Any:
    """Two quadratics: the squared distances of their models along the way."""
    ways = [sharpness_aware(step, 0, steps, 1, z)[:steps] for z in (1, -1)]
    return mp.fsum((x - y) ** 2 for x, y in zip(*ways, strict=True))


@truth("dp_fedsam.lemma8")
def straight(steps: int, eta: Any, smoothness: Any, rho: Any, gradient: Any) -> Any:
    """Steps along one gradient, never clipped."""
    return mp.fsum([eta * gradient] * steps) ** 2


@truth("dp_fedsam.eq24_topk")
def largest_of_two(d: int, k: int) -> Any:
    """The mean of the larger of two squared normals: the integral of its survival function."""
    assert (d, k) == (2, 1)
    return quad(lambda y: 2 * y * (1 - mp.erf(y / sqrt(2)) ** 2), [0, 2, 6, 30])


def variation(shift: Any) -> Any:
    """Total variation of two normals that far apart."""
    return mp.erf(shift / (2 * sqrt(2)))


@truth("federated_fdp.definition3_6", "federated_fdp.definition3_6_corrected")
def two_helpers(mu: Any, correlation: Any) -> Any:
    """Of two models the mean of the sum moves by 2 mu, with variance 2 + 2 r."""
    return variation(2 * mu / sqrt(2 + 2 * correlation))


@truth("federated_fdp.lemma3_8_tight")
def shown_round(mu: Any, rate: Any, epsilon: Any) -> Any:
    """Both take part: then the hockey stick of the shift."""
    cut = epsilon / mu + mu / 2

    def gap(x: Any) -> Any:
        return density(x - mu) - exp(epsilon) * density(x)

    return rate**2 * quad(gap, [cut, cut + 3, cut + mu + 40])


def shown(rate: Any, rounds: int, observers: int, law: Sequence[Any]) -> Any:
    """What the client's releases tell, of the rounds up to the last in which an observer is sampled."""
    weights = [mpf(weight) / mp.fsum(law) for weight in law]
    total = mpf(0)
    for tosses in itertools.product((0, 1), repeat=rounds * (1 + observers)):
        table = [tosses[i :: 1 + observers] for i in range(1 + observers)]
        looks = [late + 1 for late in range(rounds) if any(row[late] for row in table[1:])]
        seen = sum(table[0][: max(looks, default=0)])
        apart = mpf(0)
        for outcome in itertools.product(range(len(law)), repeat=seen):
            first = mp.fprod(weights[each] for each in outcome)
            apart += abs(first - mp.fprod(weights[-1 - each] for each in outcome)) / 2
        heads = sum(tosses)
        total += apart * rate**heads * (1 - rate) ** (len(tosses) - heads)
    return total


@truth("federated_fdp.theorem1")
def shown_to_one(rate: Any, rounds: int, law: Sequence[Any]) -> Any:
    """All outcomes of both clients' coins."""
    return shown(rate, rounds, 1, law)


@truth("federated_fdp.theorem1_strong")
def shown_to_all(rate: Any, clients: int, rounds: int, law: Sequence[Any]) -> Any:
    """All outcomes of all clients' coins."""
    return shown(rate, rounds, clients - 1, law)


@truth("federated_fdp.lemma3_7")
def averaged(mu: Any, clients: int, alpha: Any) -> Any:
    """The test on the average of as many models with the same noise."""
    cut = sqrt(2) * mp.erfinv(1 - 2 * alpha)
    return cdf(cut - mu / sqrt(mpf(clients)))


@truth("papernot2018.theorem23", "papernot2018.theorem23_corrected")
def published_value(order: Any, beta: Any, sigma: Any) -> Any:
    """Two normals whose deviations are a factor e^beta or e^-beta apart: the Renyi integral."""

    def divergence(ratio: Any) -> Any:
        shift, spread = min(mpf(1), ratio), sigma * ratio
        precision = order / mpf(sigma) ** 2 + (1 - order) / spread**2
        centre = (1 - order) * shift / spread**2 / precision
        width = 1 / sqrt(precision)

        def height(x: Any) -> Any:
            p = density(x / sigma) / sigma
            return p**order * (density((x - shift) / spread) / spread) ** (1 - order)

        return log(quad(height, [centre + k * width for k in (-25, -5, 0, 5, 25)])) / (order - 1)

    return max(divergence(exp(beta)), divergence(exp(-beta)))


@truth("federated_fdp.theorem2_strong_tight")
def one_release(mu: Any, clients: int) -> Any:
    """All helpers hold the same release, so they tell no more than one."""
    return mu


@cache
def steps_down(lam: Any, power: int) -> Any:
    """The sum of e^{-lam k} k^power, step by step."""
    total, k = mpf(0), 0
    while lam * k < 130:
        total += exp(-lam * k) * mpf(k) ** power
        k += 1
    return total


def staircase(lam: Any, nu: Any, power: int) -> Any:
    """E|X|^power: x^power integrated over each step, k to k + nu and k + nu to k + 1."""
    height = (1 - exp(-lam)) / (2 * (nu + exp(-lam) * (1 - nu)))
    order = power + 1

    def up_to(part: Any) -> Any:
        """The sum of e^{-lam k} (k + part)^order."""
        powers = range(order + 1)
        return mp.fsum(
            mp.binomial(order, j) * mpf(part) ** (order - j) * steps_down(lam, j) for j in powers
        )

    inner, outer = up_to(nu) - up_to(0), up_to(1) - up_to(nu)
    return 2 * height * (inner + exp(-lam) * outer) / order


def least(height: Callable[[Any], Any], low: Any, high: Any, rounds: int) -> Any:
    """The least value of a function with one valley, by golden section."""
    share = (sqrt(5) - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    first, second = height(left), height(right)
    for _ in range(rounds):
        if first < second:
            high, right, second = right, left, first
            left = high - share * (high - low)
            first = height(left)
        else:
            low, left, first = left, right, second
            right = low + share * (high - low)
            second = height(right)
    return min(first, second)


@truth("geng2014.amplitude")
def amplitude(lam: Any, nu: Any) -> Any:
    """E|X| of the staircase."""
    return staircase(lam, nu, 1)


@truth("geng2014.least_amplitude", "udp_fl.lemma1")
def least_amplitude(lam: Any) -> Any:
    """The least E|X| over nu."""
    return least(lambda nu: staircase(lam, nu, 1), mpf(0), mpf(1), 45)


@truth("udp_fl.variance_gap")
def saved_variance(epsilon: Any) -> Any:
    """2/eps^2 of Laplace noise less the least E X^2 over nu."""
    # flat where it is least: 45 rounds of it are 18 digits of the value
    best = least(lambda nu: staircase(epsilon, nu, 2), mpf(0), mpf(1), 45)
    return 2 / mpf(epsilon) ** 2 - best


@truth("udp_fl.theorem3", "udp_fl.theorem3_corrected")
def amplitudes(lam: Any, nu: Any, sensitivity: Any, m: int, steps: int) -> Any:
    """m T draws."""
    return m * steps * sensitivity * staircase(lam, nu, 1)


def staircase_divergence(alpha: Any, lam: Any, nu: Any, shift: Any) -> Any:
    """The staircase from itself shifted, piece by piece."""
    reach = int(130 / lam) + 2

    def level(x: Any) -> Any:
        size = abs(x)
        below = mp.floor(size)
        return exp(-lam * (below + (size - below >= nu)))

    edges = [sign * (k + part) for k in range(reach) for part in (0, nu) for sign in (1, -1)]
    jumps = sorted({mpf(e) for e in edges} | {mpf(e) + shift for e in edges})
    mass, moment = mpf(0), mpf(0)
    for left, right in itertools.pairwise(jumps):
        middle, width = (left + right) / 2, right - left
        p, q = level(middle), level(middle - shift)
        mass += width * p
        moment += width * p**alpha * q ** (1 - alpha)
    return log(moment / mass) / (alpha - 1)


@truth(
    *("udp_fl.theorem1", "udp_fl.theorem2", "udp_fl.theorem2_log", "udp_fl.theorem2_corrected"),
)
def shifted_by_one(alpha: Any, lam: Any, nu: Any) -> Any:
    """By the whole sensitivity."""
    return staircase_divergence(alpha, lam, nu, 1)


@truth("udp_fl.multidim")
def shifted_in_all(alpha: Any, lam: Any, n: int) -> Any:
    """n coordinates by a share each."""
    return n * staircase_divergence(alpha, lam, mpf(1) / 2, mpf(1) / n)


def shuffled(alpha: Any, epsilon: Any, clients: int) -> Any:
    """The count of ones, with one client holding 1 and with none, the worse direction."""
    lie = 1 / (1 + exp(mpf(epsilon)))

    def others(k: int) -> Any:
        """How likely k of the clients that hold 0 say 1."""
        rest = clients - 1 - k
        return mp.binomial(clients - 1, k) * lie**k * (1 - lie) ** rest if rest >= 0 <= k else 0

    def law(p: Any) -> list[Any]:
        """Of the count, where one client says 1 with probability p."""
        return [others(k) * (1 - p) + others(k - 1) * p for k in range(clients + 1)]

    return both_ways(law(1 - lie), law(lie), mpf(alpha))


@truth("udp_fl.lemma2")
def shuffled_response(alpha: int, epsilon: Any, clients: int) -> Any:
    """Randomised response."""
    return shuffled(alpha, epsilon, clients)


@truth("udp_fl.lemma2_renyi_level")
def shuffled_at_level(gamma: Any, clients: int) -> Any:
    """The response whose divergence of order 2 is gamma: e^gamma = 2 cosh(eps) - 1."""
    return shuffled(2, mp.acosh((1 + exp(gamma)) / 2), clients)


def laplace(alpha: Any, lam: Any) -> Any:
    """The integral of p^alpha q^(1-alpha) for densities e^{-|x - lam|}/2 and e^{-|x|}/2."""

    def height(x: Any) -> Any:
        return exp(-alpha * abs(x - lam) - (1 - alpha) * abs(x)) / 2

    return log(quad(height, [-130, -20, 0, lam, lam + 20, lam + 130])) / (alpha - 1)


@truth("udp_fl.theorem7")
def laplace_one(alpha: Any, lam: Any) -> Any:
    """One coordinate."""
    return laplace(alpha, lam)


@truth("udp_fl.theorem7_l2", "udp_fl.theorem7_l2_corrected")
def laplace_split(alpha: Any, lam: Any, n: int) -> Any:
    """n coordinates, each moved by lam/sqrt(n)."""
    return n * laplace(alpha, lam / sqrt(mpf(n)))


@truth("udp_fl.lemma4")
def normal_size(sigma: Any) -> Any:
    """The mean of |x|."""
    return 2 * sigma * quad(lambda x: x * density(x), [0, 4, 40])
