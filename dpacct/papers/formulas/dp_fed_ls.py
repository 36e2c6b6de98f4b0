"""Liang, Wang, Gu, Osher, Yao. Exploring Private Federated Learning with Laplacian Smoothing. 2020."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np

import dpacct as dp
from dpacct.papers import truths
from dpacct.papers.formulas import mironov2017
from dpacct.papers.oracle import Comparison, Drawn, Ends, Floats, oracle, proof, vanish
from dpacct.plan import sampled_renyi
from dpacct.plan.smallest_noise import POISSON, UNIFORM

# Proposition 1
Eigen: TypeAlias = list[tuple[float, list[float]]]


def _pair(angle: float, wave: list[float]) -> tuple[float, list[float]]:
    """The eigenvalue of a Laplacian on a line for that frequency, and its wave, normed."""
    size = math.sqrt(math.fsum(x * x for x in wave))
    return 2.0 - 2.0 * math.cos(angle), [x / size for x in wave]


def path(d: int) -> Eigen:
    """Eigenpairs of a path's Laplacian (Neumann ends): cosines, the first of them constant."""
    angles = [math.pi * k / d for k in range(d)]
    return [_pair(angle, [math.cos(angle * (i + 0.5)) for i in range(d)]) for angle in angles]


def cycle(d: int) -> Eigen:
    """Eigenpairs of a cycle's Laplacian (periodic ends): a sine and a cosine for each frequency."""
    pairs = []
    for k in range(d):
        turn, angle = math.sin if 2 * k > d else math.cos, 2.0 * math.pi * k / d
        pairs.append(_pair(angle, [turn(angle * i) for i in range(d)]))
    return pairs


def risk(v: Sequence[float], sigma: float, nu: float, eigen: Eigen) -> float:
    """Proposition 1's sum over eigenpairs (lambda_i, e_i): squared bias plus variance."""
    total = 0.0
    for value, vector in eigen:
        along = math.fsum(x * e for x, e in zip(v, vector, strict=True))
        total += ((sigma * value * along) ** 2 + nu * nu) / (1.0 + sigma * value) ** 2
    return total


def proposition1(v: Sequence[float], sigma: float, nu: float) -> float:
    """The mean squared error; `nu` is the standard deviation of the noise."""
    return risk(v, sigma, nu, path(len(v)))


def _matrix(ends: str, sigma: float, d: int) -> Floats:
    """I + sigma L, entry by entry, for Dirichlet, Neumann or periodic ends."""
    laplacian = np.zeros((d, d))
    for i in range(d):
        for j in (i - 1, i + 1):
            inside = 0 <= j < d
            if inside or ends == "periodic":
                laplacian[i, j % d] -= 1.0
            laplacian[i, i] += 1.0 if inside or ends != "neumann" else 0.0
    return np.asarray(np.eye(d) + sigma * laplacian)


def _risk(ends: str, sigma: float, nu: float, v: Sequence[float]) -> float:
    inverse = np.linalg.inv(_matrix(ends, sigma, len(v)))
    bias = inverse @ v - v
    return float(bias @ bias + nu * nu * np.sum(inverse * inverse))


@oracle("proposition1", draws=200, within=1e-6)
def neumann_risk(v: Sequence[float], sigma: float, nu: float) -> float:
    """||(A^-1 - I) v||^2 + nu^2 trace(A^-2), dense, for a path."""
    return _risk("neumann", sigma, nu, v)


def proposition1_periodic(v: Sequence[float], sigma: float, nu: float) -> float:
    """The mean squared error; `nu` is the standard deviation of the noise."""
    return risk(v, sigma, nu, cycle(len(v)))


@oracle("proposition1_periodic", draws=200, within=1e-6)
def periodic_risk(v: Sequence[float], sigma: float, nu: float) -> float:
    """||(A^-1 - I) v||^2 + nu^2 trace(A^-2), dense, for a cycle."""
    return _risk("periodic", sigma, nu, v)


# Section 4 and Eq. (2)
def eq2(v: Sequence[float], sigma: float) -> float:
    """First entry of ifft(fft(v) / (1 - sigma fft(d))), d = [-2, 1, 0, ..., 0, 1], as computed."""
    kernel = np.zeros(len(v))
    kernel[0], kernel[1], kernel[-1] = -2.0, 1.0, 1.0
    return float(np.fft.ifft(np.fft.fft(v) / (1.0 - sigma * np.fft.fft(kernel)))[0].real)


@oracle("eq2", draws=200)
def dirichlet(v: Sequence[float], sigma: float) -> float:
    """The text's tridiagonal matrix, solved."""
    return float(np.linalg.solve(_matrix("dirichlet", sigma, len(v)), v)[0])


# Eq. (2)
eq2_corrected = eq2


@oracle("eq2_corrected", draws=200, within=1e-7)
def periodic_ends(v: Sequence[float], sigma: float) -> Ends:
    """The cycle's matrix, solved; the first entry may cancel, so it has the error of the vector."""
    solution = float(np.linalg.solve(_matrix("periodic", sigma, len(v)), v)[0])
    room = 1e-13 * max(abs(x) for x in v)
    return solution - room, solution + room


# Lemma 1
lemma1 = mironov2017.proposition3


# Lemma 2
def lemma2(tau: float, nu2: float, alpha: float) -> float:
    """Renyi divergence of order `alpha`, at most; `nu2` = (std / sensitivity)^2."""
    return 3.5 * tau * tau * alpha / nu2


# Remark 1
def remark1(tau: float, nu2: float, alpha: float) -> float:
    """The bound with constant 5."""
    return 5.0 * tau * tau * alpha / nu2


@oracle("remark1", draws=500, within=1e-7)
@oracle("lemma2", draws=5000, within=1e-7)
def by_a_fixed_size(tau: float, nu2: float, alpha: float) -> float:
    """Renyi divergence of the dominating pair C_tau under replace-one, by the exact engine."""
    return float(dp.WithoutReplacement(tau)(dp.Gaussian(sigma=nu2**0.5)).rdp(alpha))


# Theorem 1
def eq3(epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float) -> float:
    """nu, the standard deviation of the noise on the sum; `clip` = G, `steps` = T."""
    return 2.0 * clip * math.sqrt(UNIFORM.admitted(lam, epsilon, -math.log(delta), tau, steps))


def theorem1(epsilon: float, delta: float, tau: float, clip: float, steps: int) -> float:
    """nu, the standard deviation of the noise on the sum."""
    return 2.0 * clip * math.sqrt(UNIFORM.best(epsilon, -math.log(delta), tau, steps))


def _delivered(node: dp.Node, epsilon: float, delta: float) -> Comparison:
    # a few orders show most claims to hold; the whole curve, then the exact delta, are asked after
    reach = -math.log(delta) / epsilon
    orders = [1.0 + share * reach for share in (1.0, 1.5, 2.5)]
    divergences = node.rdp(orders)
    for order, divergence in zip(orders, np.atleast_1d(divergences).tolist(), strict=True):
        log_delta = (order - 1.0) * (divergence - epsilon)
        if log_delta <= math.log(delta):
            return Comparison(delta, math.exp(log_delta), math.exp(log_delta))
    true = node.delta(epsilon=epsilon, method="rdp").value
    if true > delta:
        true = node.delta(epsilon=epsilon, method="exact").value
    return Comparison(delta, true, true)


@oracle("eq3", "theorem1", draws=300, within=1e-6, claimed=True)
def uniform_guarantee(
    nu: float, epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float = 0.0
) -> Comparison:
    """Delta at that noise and epsilon under replace-one: C_tau at sigma = nu/(2G), composed.

    By Renyi moments, which bound it from above; where they are above the target, exactly.
    """
    node = dp.WithoutReplacement(tau)(dp.Gaussian(sigma=nu / (2.0 * clip))) * steps
    return _delivered(node, epsilon, delta)


def theorem1_least_epsilon(delta: float, tau: float, steps: int) -> float:
    """Epsilon below which the theorem says nothing."""
    return UNIFORM.least_epsilon(-math.log(delta), tau, steps)


def _least_epsilon(constant: float, least: float, delta: float, tau: float, steps: int) -> float:
    """Halving epsilon over a fine grid of lambda on which every condition is tried."""
    share = np.geomspace(1e-7, 0.5, 20_000)
    lam = np.concatenate([share, 1.0 - share[::-1]])

    def exists(epsilon: float, where: Floats) -> tuple[bool, float]:
        order = 1.0 - np.log(delta) / ((1.0 - where) * epsilon)
        x = constant * tau**2 * steps * order / (where * epsilon)
        with np.errstate(over="ignore"):
            room = 2.0 * x / 3.0 * -np.log(tau * order * (1.0 + x)) - order + 1.0
        room[x < least] = -np.inf
        at = int(np.argmax(room))
        return bool(room[at] >= 0.0), float(where[at])

    def missing(epsilon: float) -> bool:
        solution, best = exists(epsilon, lam)
        near = best * np.geomspace(0.998, 1.0 / 0.998, 20_001)
        return not (solution or exists(epsilon, near[near < 1.0])[0])

    high = 1.0
    while missing(high):
        high *= 2.0
    return truths.last(missing, 0.0, high, 1e-9)


@oracle("theorem1_least_epsilon", draws=12, within=1e-6)
def least_uniform(delta: float, tau: float, steps: int) -> float | None:
    """Theorem 1's conditions tried on 40 000 lambdas, epsilon halved."""
    return _least_epsilon(3.5, 0.67, delta, tau, steps) if tau < 0.5 else None


# Proof of Theorem 1
def sensitivity(clip: float, m: int) -> float:
    """l2 sensitivity of the mean under replace-one."""
    return 2.0 * clip / m


@oracle("sensitivity", draws=200)
def exchanged(clip: float, m: int) -> float:
    """Two opposite updates, clipped as Algorithm 1 does, and the means they lead to."""
    first, second = (v / max(1.0, abs(v) / clip) for v in (9.0 * clip, -9.0 * clip))
    return (first - second) / m


# Lemma 3
def lemma3(tau: float, nu2: float, alpha: float) -> float:
    """Renyi divergence of order `alpha`, at most; `nu2` = (std / sensitivity)^2."""
    return 2.0 * tau * tau * alpha / nu2


def lemma3_integer(tau: float, nu2: float, alpha: int) -> float:
    """Evaluate `lemma3` at integer orders."""
    return lemma3(tau, nu2, alpha)


def uniform(multiplier: float, tau: float, steps: int, delta: float) -> float:
    """Epsilon by Theorem 9 of Wang et al., whole orders, with rho(alpha) = alpha/(2 z^2)."""
    costs = ((a, steps * sampled_renyi.theorem9(a, tau, multiplier)) for a in range(2, 33))
    return min(lemma1(order, cost, delta) for order, cost in costs)


@proof("lemma2", "lemma3_integer")
def constants_add_up() -> bool:
    """6 + 1 and 7/2 + 1/2 of tau^2 C(alpha, 2)/nu^2, over alpha - 1, are the printed constants."""
    pairs = "tau**2*alpha*(alpha - 1)/2/nu2"
    return vanish(
        f"(6 + 1)*{pairs}/(alpha - 1) - 7/2*tau**2*alpha/nu2",
        f"(7/2 + 1/2)*{pairs}/(alpha - 1) - 2*tau**2*alpha/nu2",
    )


# Theorem 2
def eq4(epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float) -> float:
    """nu, the standard deviation of the noise on the sum."""
    return 2.0 * clip * math.sqrt(POISSON.admitted(lam, epsilon, -math.log(delta), tau, steps))


@proof("eq3", "eq4")
def budget_is_split() -> bool:
    """Show that T rounds cost lambda eps, and the conversion (1 - lambda) eps, at Eq. (3) and (4)'s noise."""
    alpha = "(L/((1 - lam)*eps) + 1)"
    nu2 = "((tau*G/eps)**2*4*c*T/lam*(L/(1 - lam) + eps))"  # as printed, with 4 c = 14 or 8
    all_rounds = f"T*c*tau**2*{alpha}/({nu2}/(4*G**2))"
    return vanish(f"{all_rounds} - lam*eps", f"{all_rounds} + L/({alpha} - 1) - eps")


def theorem2(epsilon: float, delta: float, tau: float, clip: float, steps: int) -> float:
    """nu, the standard deviation of the noise on the sum."""
    return 2.0 * clip * math.sqrt(POISSON.best(epsilon, -math.log(delta), tau, steps))


def theorem2_corrected(epsilon: float, delta: float, tau: float, clip: float, steps: int) -> float:
    """nu, the standard deviation of the noise on the sum."""
    return theorem2(epsilon, delta, tau, 0.5 * clip, steps)


def _where_it_speaks(rng: Random) -> Drawn:
    """Targets for which a lambda exists; elsewhere Theorem 2 says nothing that could be judged."""
    while True:
        epsilon, delta = 10.0 ** rng.uniform(-0.5, 2.0), 10.0 ** rng.uniform(-9.0, -0.5)
        tau, clip = 10.0 ** rng.uniform(-3.5, -0.3), 10.0 ** rng.uniform(-2.0, 2.0)
        steps = int(10.0 ** rng.uniform(0.0, 4.0))
        if POISSON.smallest(epsilon, -math.log(delta), tau, steps) is not None:
            first: Drawn = {"epsilon": epsilon, "delta": delta}
            return first | {"tau": tau, "clip": clip, "steps": steps}


# What Opacus and TensorFlow Privacy optimise over; whole orders alone miss six of the eight numbers.
_ORDERS = [1.0 + tenth / 10.0 for tenth in range(1, 100)] + [float(n) for n in range(12, 64)]


def poisson(multiplier: float, tau: float, steps: int, delta: float) -> float:
    """Epsilon by the exact Renyi divergence of the sampled Gaussian, sensitivity G."""
    costs = ((a, steps * sampled_renyi.any_order(a, tau, multiplier)) for a in _ORDERS)
    return min(lemma1(order, cost, delta) for order, cost in costs)


@oracle("theorem2_corrected", draws=150, within=1e-6, claimed=True, draw=_where_it_speaks)
@oracle("eq4", "theorem2", draws=60, within=1e-6, claimed=True)
def sampled(
    nu: float, epsilon: float, delta: float, tau: float, clip: float, steps: int, lam: float = 0.0
) -> Comparison:
    """Delta at that noise and epsilon: Poisson sampling at sigma = nu/G, composed as above."""
    node = dp.Poisson(tau)(dp.Gaussian(sigma=nu / clip)) * steps
    return _delivered(node, epsilon, delta)


def theorem2_least_epsilon(delta: float, tau: float, steps: int) -> float:
    """Epsilon below which the theorem says nothing."""
    return POISSON.least_epsilon(-math.log(delta), tau, steps)


@oracle("theorem2_least_epsilon", draws=12, within=1e-6)
def least_sampled(delta: float, tau: float, steps: int) -> float | None:
    """Theorem 2's conditions tried on 40 000 lambdas, epsilon halved."""
    return _least_epsilon(2.0, 0.53, delta, tau, steps) if tau < 0.5 else None


# Proof of Theorem 2
theorem2_proof = lemma3


@oracle("theorem2_proof", draws=4000, within=1e-7)
@oracle("lemma3", "lemma3_integer", draws=5000, within=1e-7)
def by_coins(tau: float, nu2: float, alpha: float) -> float:
    """Renyi divergence of the Poisson-sampled Gaussian, the worse direction, by the exact engine."""
    return float(dp.Poisson(tau)(dp.Gaussian(sigma=nu2**0.5)).rdp(alpha))


# Eq. (5)
def eq5(nu2: float) -> float:
    """The right side, 6/nu^2."""
    return 6.0 / nu2


@oracle("eq5", draws=300)
def left_of_eq5(nu2: float) -> float:
    """The left side."""
    x = 1.0 / nu2
    return min(4.0 * math.expm1(x), 2.0 * math.exp(x))


@proof("eq5")
def minimum() -> bool:
    """One of the two is below 6x at each x: convexity reduces both to their ends, in balls."""
    from flint import arb, ctx

    ctx.prec = 120
    end = arb(100) / 67  # x = 1/nu^2 at nu^2 = 0.67
    split = arb("0.7")
    # both less 6x are convex: at most their larger end; the first is 0 at x = 0
    first = 4 * split.expm1() < 6 * split
    return bool(first and all(2 * x.exp() < 6 * x for x in (split, end)))


# Eq. (6)-(8)
def eq8(tau: float, nu2: float, alpha: int) -> float:
    """The right side of Eq. (8)."""
    return tau * tau * alpha * (alpha - 1) / 2.0 / nu2


@oracle("eq8", draws=2000)
def left_of_eq8(tau: float, nu2: float, alpha: int) -> float | None:
    """The sum, term by term, 30 digits; long sums are left out."""
    from mpmath import binomial, exp, fsum, mp, mpf

    if alpha > 300:
        return None
    with mp.workdps(30):
        t, v = mpf(tau), mpf(nu2)
        terms = (
            binomial(alpha, j) * exp(j * (j - 1) / (2 * v)) * t**j for j in range(3, alpha + 1)
        )
        return float(2 * fsum(terms))


@proof("eq8")
def geometric_tail() -> bool:
    """alpha^2/3 <= alpha(alpha-1)/2 from alpha = 3, and y/(1-y) <= 1/v where y <= 1/(1+v)."""
    return vanish(
        "alpha*(alpha - 1)/2 - alpha**2/3 - alpha*(alpha - 3)/6",
        "1/(1 + v)/(1 - 1/(1 + v)) - 1/v",
        "diff(y/(1 - y), y) - 1/(1 - y)**2",
    )


# Eq. (7)
def eq7(tau: float, nu2: float) -> float:
    """The root, from below; above 1."""
    reach = 2.0 / 3.0 * nu2
    target = math.log(tau) + math.log1p(nu2)
    alpha = 1.0
    while True:  # a concave increasing function: the steps never pass the root
        height = alpha - 1.0 + reach * (math.log(alpha) + target)
        following = alpha - height / (1.0 + reach / alpha)
        if not following > alpha:
            return alpha
        alpha = following


@oracle("eq7", draws=300)
def largest_order(tau: float, nu2: float) -> float:
    """The root of the condition by mpmath's Lambert W, 50 digits."""
    from mpmath import exp, lambertw, log, mp, mpf

    with mp.workdps(50):
        # a/c + ln(a/c) = 1/c - ln(tau (1 + nu2)) - ln c, hence a/c = W(e^{right side})
        c = mpf(nu2) * 2 / 3
        right = 1 / c - log(mpf(tau) * (1 + mpf(nu2))) - log(c)
        w = lambertw(exp(right)).real
        return float(c * w)


# Appendix A
def appendix_a(alpha: int, tau: float, sigma: float) -> float:
    """Renyi divergence of whole order `alpha`, at most; `sigma` = std / sensitivity."""
    terms = sampled_renyi.theorem9_log_terms(alpha, tau, sigma)
    return sampled_renyi.of_log_terms(terms, alpha)


@oracle("appendix_a", draws=250, within=1e-7)
def dominating_pair(alpha: int, tau: float, sigma: float) -> float | None:
    """The dominating pair C_tau of the Gaussian under replace-one, by the exact engine."""
    if sigma < 0.05:
        return None
    return float(dp.WithoutReplacement(tau)(dp.Gaussian(sigma=sigma)).rdp(alpha))


# Lemma 4
def lemma4(alpha: float, epsilon: float, k: int) -> float:
    """k times the divergence of randomised response at `epsilon`, for k answers of it."""
    # cosh((alpha - 1/2) eps)/cosh(eps/2) is 1 + the first product below
    half = 0.5 * epsilon
    if alpha * epsilon < 600.0:
        product = 2.0 * math.sinh(alpha * half) * math.sinh((alpha - 1.0) * half) / math.cosh(half)
        return k * math.log1p(product) / (alpha - 1.0)
    return k * (epsilon - math.log1p(math.exp(-epsilon)) / (alpha - 1.0))


@oracle("lemma4", draws=300)
def composed(alpha: float, epsilon: float, k: int) -> float:
    """The divergence of k answers, summed over their 2^k outcomes by how many are true."""
    from mpmath import binomial, exp, fsum, log, mp, mpf

    with mp.workdps(40):
        a, p = mpf(alpha), 1 / (1 + exp(-mpf(epsilon)))
        terms = [
            binomial(k, j)
            * (p**j * (1 - p) ** (k - j)) ** a
            * ((1 - p) ** j * p ** (k - j)) ** (1 - a)
            for j in range(k + 1)
        ]
        return float(log(fsum(terms)) / (a - 1))


# Eq. (14)
def eq14(x: float, n: int) -> float:
    """The right side, 1/(1 - n x)."""
    return 1.0 / (1.0 - n * x)


@oracle("eq14", draws=300)
def left_of_eq14(x: float, n: int) -> float:
    """(1 + x)^n."""
    return float((1.0 + x) ** n)


@proof("eq14")
def bernoulli() -> bool:
    """f(t) = (1-t)^n (1+nt) has f(0) = 1 and f' = -n(n+1) t (1-t)^(n-1), which is never positive."""
    slope = "diff((1 - t)**n*(1 + n*t), t)/(1 - t)**(n - 1)"
    return vanish(f"powsimp(expand({slope} + n*(n + 1)*t))")


# Eq. (15)
def eq15(nu2: float) -> float:
    """The right side as printed, 3.5/nu^2."""
    return 7.0 / (2.0 * nu2)


@oracle("eq15", draws=300)
def left_of_eq15(nu2: float) -> float:
    """e^{1/nu^2}."""
    return math.exp(1.0 / nu2)


eq15_corrected = eq15


@oracle("eq15_corrected", draws=300)
def left_of_eq15_corrected(nu2: float) -> float:
    """e^{1/nu^2} - 1."""
    return math.expm1(1.0 / nu2)


@proof("eq15_corrected")
def slope_of_the_exponential() -> bool:
    """(e^x - 1)/x increases, and is below 7/2 at x = 1/0.53 (and up to 1/0.4677029538), in balls."""
    from flint import arb, ctx

    ctx.prec = 120

    def slope(x: arb) -> arb:
        return x.expm1() / x

    # its power series has positive coefficients, so the largest x of the domain decides
    return bool(
        slope(arb(100) / 53) < arb(7) / 2
        and slope(1 / arb("0.46770296")) < arb(7) / 2
        and slope(1 / arb("0.46770295")) > arb(7) / 2
    )


# Tables 1 to 3: noise z G on a sample of fixed size under replace-one, sensitivity 2G; and by coins, G
def _uniform(multiplier: float, tau: float, steps: int) -> dp.Node:
    return dp.WithoutReplacement(tau)(dp.Gaussian(noise_multiplier=multiplier, clip=1)) * steps


def _poisson(multiplier: float, tau: float, steps: int) -> dp.Node:
    return dp.Poisson(tau)(dp.Gaussian(noise_multiplier=multiplier, clip=1)) * steps


def uniform_noise(nu: float, tau: float, clip: float, steps: int, delta: float) -> float:
    """Theorem 1, read for epsilon."""
    return _uniform(nu / clip, tau, steps).epsilon(delta=delta, method="dp_fed_ls.theorem1").value


def poisson_noise(nu: float, tau: float, clip: float, steps: int, delta: float) -> float:
    """Theorem 2, read for epsilon."""
    return _poisson(nu / clip, tau, steps).epsilon(delta=delta, method="dp_fed_ls.theorem2").value


def uniform_truth(multiplier: float, tau: float, steps: int, delta: float) -> Ends:
    """Both ends of the exact epsilon on samples of a fixed size."""
    return truths.ends(_uniform(multiplier, tau, steps).epsilon(delta=delta, method="exact"))


def poisson_truth(multiplier: float, tau: float, steps: int, delta: float) -> Ends:
    """Both ends of the exact epsilon on samples by coins."""
    return truths.ends(_poisson(multiplier, tau, steps).epsilon(delta=delta, method="exact"))


def uniform_noise_truth(nu: float, clip: float, **run: Any) -> Ends:
    """Return `uniform_truth` of noise in units of the clip."""
    return uniform_truth(nu / clip, **run)


def poisson_noise_truth(nu: float, clip: float, **run: Any) -> Ends:
    """Return `poisson_truth` of noise in units of the clip."""
    return poisson_truth(nu / clip, **run)
