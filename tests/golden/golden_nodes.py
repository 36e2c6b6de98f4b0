"""Single-step moment functions of the golden oracle, as sums of exponentials.

Independent of dpacct: nothing here imports it.  Everything is done in python-flint balls.

Every step is a pair (P, Q) with the privacy loss L = log dP/dQ under P, and

    M(s) = E_P[e^{sL}] = sum_j w_j e^{s l_j} (+ an error below 1e-53 M(Re s)),     Im s >= 0,

where the l_j are *complex*: the integral over the observation is moved off the real axis, to where
|e^{sL}| = e^{(Re s)(Re L) - (Im s)(Im L)} has Im L > 0.  The oscillation e^{i t L}, which makes a
rule on the real axis need ever more nodes as t grows, turns into decay, and one fixed set of nodes
serves every s of the upper half plane.

Sampled Gaussian, in y = log(q/(1-q)) + (2x-1)/(2 sigma^2):   L = log(1-q) + log(1+e^y),  and y is
normal with mean log(q/(1-q)) - 1/(2 sigma^2) and standard deviation 1/sigma under N(0, sigma^2).
For 0 < Im y < pi the argument of 1+e^y lies in (0, pi): that is the decay.
"""

import math
from dataclasses import dataclass

import numpy as np
from flint import acb, arb, ctx

PREC_BITS = 360  # 108 digits: 38 for the answer, the rest for cancellation on shifted lines


class OracleError(RuntimeError):
    """The oracle cannot reach its accuracy for this plan."""


class Level:
    """Accuracy in nats relative to the peak of the integrand.

    Where the law of the loss is heavy-tailed the peak at the best abscissa is far above delta (no
    exponential tilt is tight), so `extra` nats are asked for on top.
    """

    extra = 0.0

    def set(self, extra: float) -> None:
        self.extra = extra
        ctx.prec = int(PREC_BITS + 1.6 * extra)

    @property
    def dead(self) -> float:  # outer integrand: 4e-38 of the peak
        return 86.0 + self.extra

    @property
    def inner(self) -> float:  # inner rule: 5e-55 of M(c)
        return 125.0 + self.extra

    @property
    def keep(self) -> float:  # nodes below this share of M(c) are left out
        return 130.0 + self.extra

    @property
    def factor(self) -> float:  # growth of the Gauss-Legendre orders
        return 1.0 + self.extra / 86.0


LEVEL = Level()
LEVEL.set(0.0)


@dataclass
class ExpSum:
    """M(s) = sum_j w_j e^{s l_j} for Im s >= 0; `near` marks the nodes kept on the bent ray.

    `log_w`, `re`, `im` are float copies (log |w_j|, Re l_j, Im l_j).  `slope` is the largest
    |Re ds| / Im ds along which every near node still decays.
    """

    w: list[acb]
    ell: list[acb]
    near: np.ndarray
    log_w: np.ndarray
    re: np.ndarray
    im: np.ndarray
    slope: float
    origin: tuple[float, float] | None = None

    def near_part(self) -> tuple[list[acb], list[acb]]:
        idx = np.nonzero(self.near)[0]
        return [self.w[i] for i in idx], [self.ell[i] for i in idx]

    def log_abs(self, c: float, t: float, near: bool) -> float:
        """log of sum |w_j e^{(c+it) l_j}| over the near (or the other) nodes."""
        mask = self.near if near else ~self.near
        if not mask.any():
            return -math.inf
        return logsumexp(self.log_w[mask] + c * self.re[mask] - t * self.im[mask])

    def log_size(self, c: float, t: float) -> float:
        """Upper bound of log |M(c+it)| that forgets the phases; tight once the hits are dead.

        With the edge taken out, M = e^{s edge'} [1 + sum_j w0_j (e^{(s+shift) l'_j} - 1)].
        """
        plain = logsumexp(self.log_w + c * self.re - t * self.im)
        if self.origin is None:
            return plain
        edge, shift = self.origin
        z = (c + shift + 1j * t) * (self.re - edge + 1j * self.im)
        log_w0 = self.log_w - shift * self.re
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.where(z.real < 30, np.log(np.abs(np.expm1(z)) + 1e-320), z.real)
        total = logsumexp(log_w0 + gap)
        return min(plain, (c + shift) * edge + float(np.logaddexp(0, total)))


def logsumexp(a: np.ndarray) -> float:
    top = float(np.max(a))
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.sum(np.exp(a - top))))


def softplus(y: np.ndarray) -> np.ndarray:
    """log(1 + e^y) for complex y with Im y in [0, pi), without overflow (float)."""
    big = y.real > 30
    small = np.where(big, 0.0, y)
    return np.where(big, y + np.exp(-np.where(big, y, 0.0)), np.log1p(np.exp(small)))


def strip_step(eta: float, sigma: float, d_max: float) -> float:
    """Step h of the trapezoid on Im y = eta: both edges of the strip leave e^-(LEVEL.inner).

    Lower edge Im y = 0 (distance eta); upper edge Im y = eta + d, d <= d_max, where the Gaussian
    factor has grown by e^{sigma^2 (eta+d)^2 / 2}.
    """
    lo, hi = 1e-6 * eta, eta
    for _ in range(80):
        h = math.sqrt(lo * hi)
        d = min(d_max, max(2 * math.pi / (h * sigma**2) - eta, 1e-3 * eta))
        upper = 2 * math.pi * d / h - (sigma * (eta + d)) ** 2 / 2
        lower = 2 * math.pi * eta / h
        if min(upper, lower) >= LEVEL.inner:
            lo = h
        else:
            hi = h
    return lo


class SampledGaussian:
    """Poisson-sampled Gaussian, sensitivity 1, 0 < q < 1; direction 'remove' or 'add'.

    sigma and q are exact decimal strings.
    """

    def __init__(self, sigma: str, q: str, direction: str) -> None:
        self.sigma_b, self.q_b = arb(sigma), arb(q)
        self.sigma, self.q = float(sigma), float(q)
        self.remove = direction == "remove"
        self.bend = 1 if self.remove else -1
        self.mu_b = (self.q_b / (1 - self.q_b)).log() - 1 / (2 * self.sigma_b**2)
        self.mu = float(self.mu_b)
        # the edge of the loss: every loss lies above log(1-q) (remove) or below -log(1-q) (add)
        self.edge = float((1 - self.q_b).log()) * (1 if self.remove else -1)
        self.spike = self.edge
        self.y_cut = math.inf

    def cut(self, log_mass: float) -> None:
        """Leave out the y whose mass under P is below e^log_mass: delta moves by less than that.

        Without it M(c) at a large c can be ruled by a tail of absurdly small mass.
        """
        self.y_cut = math.inf
        if self.remove and log_mass > -math.inf:
            y = self.mu
            while self._log_g(y, 1.0) > log_mass:
                y += 1 / self.sigma
            self.y_cut = y

    def cut_is_clean(self, c: float) -> bool:
        """True when the cut falls where the tilted integrand is negligible."""
        if self.y_cut == math.inf:
            return True
        return self._log_g(self.y_cut, c + 1) - self.cumulants(c)[0] < -LEVEL.keep

    def _log_g(self, y: float, e: float) -> float:
        soft = y + math.log1p(math.exp(-y)) if y > 0 else math.log1p(math.exp(max(y, -700)))
        if self.remove:
            soft += math.log1p(-self.q)
        return -((self.sigma * (y - self.mu)) ** 2) / 2 + e * soft

    def _window(self, c: float) -> tuple[float, float]:
        """Range of Re y in which the integrand of M(c) exceeds e^-190 of its peak.

        It is g(y) = N(y; mu, 1/sigma) (1+e^y)^e with e = c+1 (remove) or -c (add).
        """
        sd = 1 / self.sigma
        e = c + 1 if self.remove else -c
        if abs(e) * sd > 1e15:
            raise OracleError(f"the tilt c = {c:.3g} reaches too far")

        def log_g(y: float) -> float:
            return self._log_g(y, e)

        y = min(self.mu + e * sd * sd, self.y_cut) if e > 0 else self.mu
        for _ in range(500 if e > 0 else 0):  # largest stationary point, from above
            y_new = self.mu + e * sd * sd / (1 + math.exp(-min(max(y, -700), 700)))
            if y - y_new < 0.01 * sd:
                break
            y = min(y, y_new)
        top = log_g(y)
        lo = hi = y
        while hi < self.y_cut and (g := log_g(hi)) > top - 190 - LEVEL.extra:
            top = max(top, g)
            hi += sd + 1e-9 * abs(hi)
        if e > 0:
            lo = min(lo, self.mu)
            top = max(top, log_g(lo))
        else:  # the only stationary point lies below mu
            a, b = self.mu + e * sd * sd, self.mu
            for _ in range(60):
                m = (a + b) / 2
                down = (m - self.mu) / (sd * sd) < e / (1 + math.exp(-min(max(m, -700), 700)))
                a, b = (m, b) if down else (a, m)
            lo = a
            top = max(top, log_g(lo))
        hi = min(hi, self.y_cut)
        while (g := log_g(lo)) > top - 190 - LEVEL.extra:
            top = max(top, g)
            lo -= sd + 1e-9 * abs(lo)
        return lo, hi

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """K = log M, K', K'' at real c > -1 (float64; for choosing nodes only)."""
        lo, hi = self._window(c)
        h = min(0.2 / self.sigma, 0.2)
        if (hi - lo) / h > 3e6:
            raise OracleError(f"the tilt c = {c:.3g} reaches too far")
        y = np.arange(lo, hi + h, h)
        loss = math.log1p(-self.q) + np.logaddexp(0, y)
        log_w = (
            math.log(self.sigma * h / math.sqrt(2 * math.pi))
            - (self.sigma * (y - self.mu)) ** 2 / 2
        )
        if self.remove:
            log_w = log_w + loss
        else:
            loss = -loss
        a = log_w + c * loss
        top = float(np.max(a))
        e = np.exp(a - top)
        total = float(e.sum())
        m1 = float((e * loss).sum()) / total
        m2 = float((e * (loss - m1) ** 2).sum()) / total
        if (
            abs(top + math.log(total)) < 0.5
        ):  # M near 1: its difference from 1, without cancellation
            w, x = np.exp(log_w), c * loss
            part = np.where(x < 30, w * np.expm1(np.minimum(x, 30)), np.exp(a) - w)
            k = math.log1p(float(part.sum()) / float(w.sum()))
        else:
            k = top + math.log(total)
        return k, m1, m2

    def nodes(self, c: float, variant: int) -> ExpSum:
        """The exponential sum for abscissa c; variant 1 uses another line and another step."""
        limit = (math.pi / 2 if self.remove else math.pi / 4) * (1.0 if variant == 0 else 0.85)
        eta = min(limit, (13.0 if variant == 0 else 11.0) / self.sigma)
        top = math.pi if self.remove else math.pi / 2
        h = strip_step(eta, self.sigma, top - eta) * (1.0 if variant == 0 else 0.93)
        lo, hi = self._window(c)
        v = lo + h * np.arange(int((hi - lo) / h) + 2)
        ell = math.log1p(-self.q) + softplus(v + 1j * eta)
        log_w = (
            math.log(self.sigma * h / math.sqrt(2 * math.pi))
            - self.sigma**2 * ((v - self.mu) ** 2 - eta**2) / 2
        )
        if self.remove:
            log_w = log_w + ell.real
        re, im = (ell.real if self.remove else -ell.real), ell.imag
        keep = log_w + c * re > self.cumulants(c)[0] - LEVEL.keep
        idx = np.nonzero(keep)[0]
        log1mq = (1 - self.q_b).log()
        h_b, lo_b, eta_b = arb(h), arb(lo), arb(eta)
        front = (self.sigma_b * h_b / (2 * arb.pi()).sqrt()).log()
        rot = acb(0, eta_b).exp()
        half = self.sigma_b**2 / 2
        w_b, ell_b = [], []
        for j in idx:
            v_j = lo_b + h_b * int(j)
            loss = (acb(v_j.exp()) * rot).log1p() + log1mq
            z = acb(v_j - self.mu_b, eta_b)
            g = front - half * z * z
            if self.remove:
                w_b.append((g + loss).exp())
                ell_b.append(loss)
            else:
                w_b.append(g.conjugate().exp())
                ell_b.append(-(loss.conjugate()))
        v0 = 3.0 if self.sigma < 8 else self.mu + 30 / self.sigma
        near = v[idx] <= v0
        soft = softplus(v[idx] + 1j * eta)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(soft.real > 0, soft.imag / np.maximum(soft.real, 1e-300), np.inf)
        slope = float(np.min(ratio[near])) if near.any() else 0.5
        return ExpSum(
            w_b, ell_b, near, log_w[idx], re[idx], im[idx], 0.9 * min(slope, 1.0),
            (self.edge, 1.0 if self.remove else 0.0),
        )  # fmt: skip


class PlainGaussian:
    """Gaussian mechanism (q = 1), or n of them: log M(s) = s (s+1) / (2 sigma^2)."""

    bend = 0
    edge = -math.inf
    spike = 0.0

    def __init__(self, sigma: str) -> None:
        self.rho_b = 1 / (2 * arb(sigma) ** 2)
        self.rho = float(self.rho_b)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        return c * (c + 1) * self.rho, (2 * c + 1) * self.rho, 2 * self.rho

    def log_size(self, c: float, t: float) -> float:
        return self.rho * (c * (c + 1) - t * t)

    def log_m(self, s: acb) -> acb:
        return s * (s + 1) * self.rho_b
