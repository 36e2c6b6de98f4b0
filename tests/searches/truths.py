"""What is known from outside of a random case: closed forms in 50 digits, and a lattice of its own.

Nothing here takes a number from dpacct. Profiles are of one release, at epsilon >= 0, of which the worse
direction is that of removing where a unit's own coin samples it (Balle, Barthe, Gaboardi 2018, Theorem 8).
"""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
from scipy.special import ndtr

from tests.searches.cases import Case, Part

DIGITS = 50
Profile = Callable[[mp.mpf], mp.mpf]
_MOST_STEPS = 400
"""Of two outcomes, that are listed."""


def _two(top: mp.mpf, share: mp.mpf) -> Profile:
    """Losses top and -top, of so much mass together, and 0."""
    return lambda e: share * (mp.exp(top) - mp.exp(e)) / (1 + mp.exp(top)) if e < top else mp.mpf(0)


def _tail(x: mp.mpf) -> mp.mpf:
    """P(N > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def _gaussian(mu: mp.mpf) -> Profile:
    """Balle and Wang 2018, Theorem 8; digits are added where its two terms cancel."""

    def profile(e: mp.mpf) -> mp.mpf:
        # the difference is at least about mu^2/(1 + (e/mu)^2) of either term
        lost = int(2 * mp.log10(1 + e / mu + 1 / mu)) + 10
        with mp.workdps(DIGITS + lost + int(mp.log10(1 + e + e / mu + mu)) * 2):
            return _tail(e / mu - mu / 2) - mp.exp(e) * _tail(e / mu + mu / 2)

    return profile


def _staircase(eps0: mp.mpf, nu: mp.mpf | None) -> Profile:
    """The mass of the points that keep their level when the noise is moved by one step."""
    nu = 1 / (1 + mp.exp(eps0 / 2)) if nu is None else nu
    highest = 1 / (2 * (nu + 1 / mp.expm1(eps0)))
    kept = abs(1 - 2 * nu) * highest * (1 if nu > mp.mpf(1) / 2 else mp.exp(-eps0))
    return _two(eps0, 1 - kept)


def _discrete_laplace(scale: mp.mpf, sensitivity: int) -> Profile:
    r = mp.exp(-1 / scale)
    at_zero = (1 - r) / (1 + r)

    def profile(e: mp.mpf) -> mp.mpf:
        top = sensitivity / scale
        if e >= top:
            return mp.mpf(0)
        total = (1 - mp.exp(e - top)) / (1 + r)  # all points up to 0
        # the loss at k between 0 and the sensitivity is (sensitivity - 2k)/scale
        last = mp.ceil((sensitivity - e * scale) / 2) - 1
        for k in range(1, int(last) + 1):
            total += at_zero * (r**k - mp.exp(e) * r ** (sensitivity - k))
        return min(total, mp.mpf(1))  # its terms add up to 1 in rounded digits

    return profile


def _discrete_gaussian(scale: mp.mpf, sensitivity: int) -> Profile:
    reach = int(16 * scale) + 2

    def mass(k: int) -> mp.mpf:
        return mp.exp(-mp.mpf(k * k) / (2 * scale * scale))

    def profile(e: mp.mpf) -> mp.mpf:
        # of the points k with loss sensitivity (sensitivity - 2k)/(2 scale^2) above e
        last = int(mp.ceil(mp.mpf(sensitivity) / 2 - e * scale * scale / sensitivity)) - 1
        every = 1 + 2 * mp.fsum(mass(k) for k in range(1, reach + 40))
        terms = range(min(last, -1) - reach, last + 1)
        return mp.fsum(mass(k) - mp.exp(e) * mass(k - sensitivity) for k in terms) / every

    return profile


def profile_of(part: Part, adjacency: str, releases: int = 1) -> Profile | None:
    """Of so many releases without a sample; None where no closed form is known."""
    with mp.workdps(DIGITS):
        if releases > 1 and "gaussian" not in part.mechanism:
            return None
        named = part.named
        value = {name: mp.mpf(text) for name, text in named.items()}
        if part.mechanism in ("gaussian", "clipped gaussian"):
            sigma = value.get("sigma") or value["noise_multiplier"]
            clipped = 2 if "clip" in value and adjacency == "replace-one" else 1
            return _gaussian(clipped * mp.sqrt(releases) / sigma)
        if part.mechanism == "laplace":
            top = 1 / value["b"]
            return lambda e: -mp.expm1((e - top) / 2) if e < top else mp.mpf(0)
        if part.mechanism in ("pure", "local"):
            return _two(value.get("epsilon") or value["eps0"], mp.mpf(1))
        if part.mechanism == "approximate":
            failing = value["delta"]
            closed = _two(value["epsilon"], 1 - failing)
            return lambda e: failing + closed(e)
        if part.mechanism == "responses":
            grown, others = mp.exp(value["eps0"]), value["k"] - 1
            return lambda e: max(mp.mpf(0), (grown - mp.exp(e)) / (grown + others))
        if part.mechanism.startswith("staircase"):
            return _staircase(value["eps0"], value.get("nu"))
        if part.mechanism == "discrete laplace" and int(named["sensitivity"]) <= 500:
            return _discrete_laplace(value["scale"], int(named["sensitivity"]))
        if part.mechanism == "discrete gaussian" and value["scale"] <= 20 and releases == 1:
            return _discrete_gaussian(value["scale"], int(named["sensitivity"]))
        if part.mechanism == "exponential":
            top = value["eps0"]
            return lambda e: (
                mp.expm1((e - top) / 2) ** 2 / -mp.expm1(-top) if e < top else mp.mpf(0)
            )
        return None


def _listed(part: Part) -> Profile | None:
    """Many steps of one pure or failing release, from the binomial law of its losses."""
    if part.mechanism not in ("pure", "local", "approximate") or part.steps > _MOST_STEPS:
        return None
    with mp.workdps(DIGITS):
        value = {name: mp.mpf(text) for name, text in part.named.items()}
    top, failing = value.get("epsilon") or value.get("eps0"), value.get("delta", mp.mpf(0))
    if top is None:
        return None

    def profile(e: mp.mpf) -> mp.mpf:
        more = 1 / (1 + mp.exp(-top))
        log_kept = part.steps * mp.log1p(-failing)
        terms = []
        for k in range(part.steps + 1):
            loss = (2 * k - part.steps) * top
            if loss > e:
                mass = mp.binomial(part.steps, k) * more**k * (1 - more) ** (part.steps - k)
                terms.append(-mass * mp.expm1(e - loss))
        return -mp.expm1(log_kept) + mp.exp(log_kept) * mp.fsum(terms)

    return profile


def delta_of(case: Case) -> Profile | None:
    """The whole plan's profile; None where no closed form is known."""
    if case.whole != "one":
        return None
    part = case.parts[0]
    if part.sampling == "none":
        if part.steps == 1 or "gaussian" in part.mechanism:
            if part.mechanism == "discrete gaussian" and part.steps > 1:
                return None
            return profile_of(part, case.adjacency, part.steps)
        return _listed(part)
    if part.steps > 1 or (case.adjacency == "replace-one" and part.sampling == "poisson"):
        return None
    if part.sampling in ("poisson", "steps on a coin", "participation") and "rate" in part.numbers:
        inner = int(part.numbers.get("inner", "1"))
        if inner > 1 and part.mechanism not in ("gaussian", "clipped gaussian"):
            return None
        base = profile_of(part, case.adjacency, inner)
        if base is None or (case.adjacency == "replace-one" and part.sampling != "participation"):
            return None
        with mp.workdps(DIGITS):
            rate = mp.mpf(part.numbers["rate"])
        if part.sampling == "participation":
            return lambda e: rate * base(e)
        return lambda e: rate * base(mp.log1p(mp.expm1(e) / rate))
    return None


def divergence_of(case: Case) -> mp.mpf | None:
    """Renyi divergence of the asked order; None where no closed form is known."""
    part = case.parts[0]
    if case.whole != "one":
        return None
    order = mp.mpf(case.at[0])
    value = {name: mp.mpf(text) for name, text in part.named.items()}
    if part.sampling == "none":
        if part.mechanism == "gaussian":
            return part.steps * order / (2 * value["sigma"] ** 2)
        if part.mechanism == "concentrated":
            return part.steps * order * value["rho"]
        if part.mechanism == "laplace":  # Mironov 2017, Proposition 6
            up = order / (2 * order - 1) * mp.exp((order - 1) / value["b"])
            down = (order - 1) / (2 * order - 1) * mp.exp(-order / value["b"])
            return part.steps * mp.log(up + down) / (order - 1)
        if part.mechanism in ("pure", "local"):
            top = value.get("epsilon") or value["eps0"]
            both = mp.exp(order * top) + mp.exp((1 - order) * top)
            return part.steps * mp.log(both / (1 + mp.exp(top))) / (order - 1)
        return None
    if part.sampling != "poisson" or part.mechanism != "gaussian" or "." in case.at[0]:
        return None
    if case.adjacency == "replace-one" or int(case.at[0]) > 100:
        return None
    rate, a = mp.mpf(part.numbers["rate"]), int(case.at[0])
    with mp.workdps(DIGITS + 30):  # Mironov, Talwar, Zhang 2019, Section 3.3
        terms = (
            mp.binomial(a, k)
            * ((1 - rate) ** (a - k) if rate < 1 or k < a else mp.mpf(1))
            * rate**k
            * mp.expm1(mp.mpf(k * (k - 1)) / (2 * value["sigma"] ** 2))
            for k in range(2, a + 1)
        )
        return part.steps * mp.log1p(mp.fsum(terms)) / (a - 1)


# -- a lattice of its own, for sampled noise of many steps -----------------------------------------------


def _losses(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Noise x on a fine grid, its mass without the unit, and log dP/dQ there; Poisson sampling alone."""
    part = case.parts[0]
    if case.whole != "one" or part.sampling != "poisson" or case.adjacency == "replace-one":
        return None
    rate = float(part.numbers["rate"])
    if part.mechanism == "gaussian":
        mu = 1.0 / float(part.named["sigma"])
        if not 0.02 < mu < 5.0:
            return None
        edges = np.linspace(-12.0, 12.0 + 3.0 * mu, 20_001)
        upper, lower = edges[1:], edges[:-1]
        q = np.where(lower > 0, ndtr(-lower) - ndtr(-upper), ndtr(upper) - ndtr(lower))
        p = np.where(
            lower > mu, ndtr(mu - lower) - ndtr(mu - upper), ndtr(upper - mu) - ndtr(lower - mu)
        )
    else:
        return None
    with np.errstate(divide="ignore"):
        mixed = (1.0 - rate) * q + rate * p
        keep = (q > 1e-290) & (p > 1e-290)
    return q[keep], mixed[keep], np.log(mixed[keep] / q[keep])


def lattice_log_delta(case: Case, epsilon: float) -> float | None:
    """Log delta, to about 1e-3 of itself, by a tilted transform; None where that is out of reach."""
    made = _losses(case)
    part = case.parts[0]
    if made is None or part.steps < 2 or part.steps > 10_000:
        return None
    q, mixed, loss = made
    if float(part.numbers["rate"]) * part.steps < 1.0:
        return None
    best = -math.inf
    for mass, losses in ((mixed, loss), (q, -loss)):
        value = _tilted(mass, losses, part.steps, epsilon)
        if value is None:
            return None
        best = max(best, value)
    return best


def _tilted(mass: np.ndarray, losses: np.ndarray, steps: int, epsilon: float) -> float | None:
    def moments(t: float) -> tuple[float, float, float]:
        top = float(np.max(t * losses))
        w = mass * np.exp(t * losses - top)
        s = float(w.sum())
        mean = float(w @ losses) / s
        return top + math.log(s), mean, float(w @ (losses - mean) ** 2) / s

    low, high = 0.0, 1.0
    while steps * moments(high)[1] < epsilon:
        low, high = high, 2.0 * high
        if high > 500.0:
            return None
    if low == 0.0 and steps * moments(0.0)[1] >= epsilon:
        t = 0.0
    else:
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if steps * moments(middle)[1] < epsilon else (low, middle)
        t = 0.5 * (low + high)
    log_m, mean, variance = moments(t)
    sd = math.sqrt(variance)
    if not sd > 1e-12:
        return None
    h = 0.01 * sd
    reach = 14.0 * sd * math.sqrt(steps)
    size = 1 << math.ceil(math.log2(2.0 * reach / h))
    if size > 1 << 21:
        return None
    w = mass * np.exp(t * losses - log_m)
    centred = (losses - mean) / h
    if float(w[np.abs(centred) > size / 4].sum()) * steps > 1e-9:
        return None
    inside = np.abs(centred) <= size / 4
    floor = np.floor(centred[inside])
    share = centred[inside] - floor
    place = floor.astype(int) % size
    grid = np.bincount(place, w[inside] * (1.0 - share), size)
    grid += np.bincount((place + 1) % size, w[inside] * share, size)
    whole = np.fft.fftshift(np.fft.irfft(np.fft.rfft(grid) ** steps, size))
    at = steps * mean + h * np.arange(-size // 2, size // 2)
    above = at > epsilon
    gap = at[above] - epsilon
    value = float(np.maximum(whole[above], 0.0) @ (np.exp(-t * gap) * -np.expm1(-gap)))
    if not value > 1e-11:
        return None
    return math.log(value) + steps * log_m - t * epsilon


def gaussian_beta(mu: float, alpha: float) -> float:
    """Type II error of normal noise, Dong, Roth, Su 2022."""
    with mp.workdps(30):
        x = mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha))
        return float(mp.erfc((mp.mpf(mu) - x) / mp.sqrt(2)) / 2) if x != mp.inf else 1.0
