"""The golden oracle's outer integral: delta(eps) and eps(delta) of any composition.

    delta(eps) = (1/pi) Im int_C M(s) e^{-s eps} / (s (s+1)) ds,        M = prod_i M_i(s)^{T_i}

because (1 - e^{-u})_+ = (1/2 pi i) int e^{su} / (s(s+1)) ds on any line Re s = c > 0 (close the
line to the left for u > 0: residues 1 at s = 0 and -e^{-u} at s = -1; to the right for u < 0: 0),
and the lower half of the line is the conjugate of the upper half.

C starts at c > 0 and goes straight up; it is cut into panels with Gauss-Legendre rules.  Either the
integrand has died (natural end), or, when the composed loss has a narrow spike at its edge (no hits
at all) that keeps M from decaying, C is bent at height t1 into the half plane where the spike's
exponential dies: to the right for a lowest loss (remove), to the left for a highest loss (add).
Beyond t1 only the `near` nodes of each moment function (the spike and its shoulder, in complex
position) are kept; the dropped ones are below e^-(LEVEL.dead) there, which is checked, and every
kept one decays along the bend.

The abscissa c is a free parameter: two runs with different c, panels, inner lines and inner steps
must give the same digits.
"""

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb

from tests.golden.golden_nodes import LEVEL, ExpSum, OracleError

N_GL = (32, 37)
PHASE = (20.0, 21.0)  # nats of phase per panel for each rule
TAIL = 45.0  # losses rarer than e^-45 need no better than the rule's gentle degradation


@functools.lru_cache(maxsize=64)
def gauss_legendre(n: int) -> list[tuple[arb, arb]]:
    """Nodes and weights on [0, 1]."""
    out = []
    for k in range(n):
        x, w = arb.legendre_p_root(n, k, weight=True)
        out.append(((1 + x) / 2, w / 2))
    return out


def panel_values(
    w: list[acb], ell: list[acb], start: acb, step: acb, count: int, baby: list[list[acb]]
) -> list[list[acb]]:
    """M at start + p step + tau_m: one matrix product (p rows by nodes) x (nodes by m)."""
    n = len(w)
    row = [wi * (start * li).exp() for wi, li in zip(w, ell, strict=True)]
    rows = list(row)
    if count > 1:
        giant = [(step * li).exp() for li in ell]
        for _ in range(count - 1):
            row = [a * b for a, b in zip(row, giant, strict=True)]
            rows += row
    flat = [b for col in baby for b in col]  # already nodes x m, row-major by node
    m = len(baby[0])
    prod = acb_mat(count, n, rows) * acb_mat(n, m, flat)
    return [[prod[p, k] for k in range(m)] for p in range(count)]


def baby_table(ell: list[acb], taus: list[acb]) -> list[list[acb]]:
    return [[(tau * li).exp() for tau in taus] for li in ell]


@dataclass
class Contour:
    """Nodes s_k with log of [weight x M(s_k)/(s(s+1))]; answers any eps near the saddle's."""

    s: list[acb] = field(default_factory=list)
    log_m: list[acb] = field(default_factory=list)
    weight: list[acb] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)

    def moments(self, eps: arb) -> tuple[arb, arb]:
        """(delta, d delta / d eps)."""
        d, g = acb(0), acb(0)
        for s, f, w in zip(self.s, self.log_m, self.weight, strict=True):
            term = w * (f - s * eps).exp()
            d += term
            g -= s * term
        return d.imag / arb.pi(), g.imag / arb.pi()


class Plan:
    """A composition: steps with counts.  All steps must bend the same way (or not at all)."""

    def __init__(self, parts: list[tuple[Any, int]]) -> None:
        self.parts = parts
        bends = {p.bend for p, _ in parts}
        self.bend = bends.pop() if len(bends) == 1 else 0

    def cumulants(self, c: float) -> tuple[float, float, float]:
        k = k1 = k2 = 0.0
        for p, n in self.parts:
            a, b, d = p.cumulants(c)
            k, k1, k2 = k + n * a, k1 + n * b, k2 + n * d
        return k, k1, k2

    def _guess(self, c: float) -> tuple[float, float]:
        """(eps, log delta) whose saddle is c: leading term of the saddle-point expansion."""
        k, k1, k2 = self.cumulants(c)
        eps = k1 - 1 / c - 1 / (c + 1)
        f2 = k2 + 1 / c**2 + 1 / (c + 1) ** 2
        log_d = k - c * eps - math.log(c) - math.log1p(c) - 0.5 * math.log(2 * math.pi * f2)
        return eps, log_d

    def saddle(self, *, log_delta: float | None = None, eps: float | None = None) -> float:

        def below(log_c: float) -> bool:
            e, d = self._guess(math.exp(log_c))
            return d > log_delta if log_delta is not None else e < float(eps or 0.0)

        hi = -28.0
        while below(hi):
            hi += 1.0
            if hi > 60:
                raise OracleError("no saddle: delta is out of reach")
        lo = hi - 1.0
        for _ in range(24):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if below(mid) else (lo, mid)
        return math.exp((lo + hi) / 2)

    def second_abscissa(self, c: float) -> float:
        """Another abscissa: 20 % or three tilted standard deviations lower (peak x e^4.5)."""
        if LEVEL.extra > 0:  # heavy tail: the tilted law at c itself is not the one that matters
            return 0.8 * c
        f2 = self.cumulants(c)[2] + 1 / c**2 + 1 / (c + 1) ** 2
        return c - min(0.2 * c, 3 / math.sqrt(f2))

    @staticmethod
    def _tail() -> float:
        return TAIL * LEVEL.factor

    def spread(self, c: float, eps: float) -> float:
        """Largest |loss - eps| that matters in the law tilted by c (Chernoff, e^-TAIL)."""
        k0, _, k2 = self.cumulants(c)
        sd = math.sqrt(k2)
        hi, lo = math.inf, -math.inf
        for theta in np.exp(np.linspace(math.log(0.05 / sd), math.log(60 / sd), 24)):
            for sign in (1, -1):
                try:
                    bound = (self.cumulants(c + sign * theta)[0] - k0 + self._tail()) / theta
                except OracleError:  # a tilt that no float can follow: no bound from it
                    continue
                if sign == 1:
                    hi = min(hi, bound)
                else:
                    lo = max(lo, -bound)
        edge = sum(n * p.edge for p, n in self.parts)
        if self.bend == 1:
            lo = max(lo, edge)
        if self.bend == -1:
            hi = min(hi, edge)
        return max(hi - eps, eps - lo)

    def spread_at(self, sums: Any, closed: Any, c: float, eps: float, t: float) -> float:
        """As `spread`, for the complex measure at height t, whose hits have partly died."""

        def size(x: float) -> float:
            return sum(n * es.log_size(x, t) for _, n, es in sums) + sum(
                n * p.log_size(x, t) for p, n in closed
            )

        k0, _, k2 = self.cumulants(c)
        hi, lo = math.inf, -math.inf
        for theta in np.exp(np.linspace(-3, math.log(60), 12)) / math.sqrt(k2):
            hi = min(hi, (size(c + theta) - k0 + self._tail()) / theta)
            lo = max(lo, -(size(c - theta) - k0 + self._tail()) / theta)
        edge = sum(n * p.edge for p, n in self.parts)
        if self.bend == 1:
            lo = max(lo, edge)
        if self.bend == -1:
            hi = min(hi, edge)
        return max(hi - eps, eps - lo, 0.0) + self._tail() / t

    def bend_height(self, sums: list[tuple[Any, int, ExpSum]], c: float, unit: float) -> float:
        """Smallest t1 (on a coarse grid) past which the dropped nodes are dead.

        |M^T - A^T| <= T M(c)^{T-1} |M - A| with A the near part, and |M - A| is bounded by the
        sum of the dropped moduli, which falls with the height.
        """
        if self.bend == 0:
            return math.inf
        for t in unit * 1.15 ** np.arange(0, 240):
            worst = max(
                math.log(n) + es.log_abs(c, t, False) - p.cumulants(c)[0] for p, n, es in sums
            )
            if worst < -LEVEL.dead - 5:
                return float(t)
        return math.inf

    def contour(self, c: float, eps: float, variant: int, max_panels: int = 3000) -> Contour:
        """Build the contour for abscissa c, good for eps near the given one."""
        rule = gauss_legendre(int(N_GL[variant] * LEVEL.factor))
        phase = PHASE[variant] * LEVEL.factor
        spread = self.spread(c, eps)
        full_width = phase / spread
        width = min(full_width, (1.0 if variant == 0 else 0.9) * c)
        for p, _ in self.parts:
            if hasattr(p, "prepare"):
                p.prepare(c, eps)
        sums = [(p, n, p.nodes(c, variant)) for p, n in self.parts if hasattr(p, "nodes")]
        closed = [(p, n) for p, n in self.parts if not hasattr(p, "nodes")]
        t1 = self.bend_height(sums, c, max(4 * width, 0.02 * c))
        out = Contour()
        w_b, eps_b = arb(width), arb(eps)
        taus = [acb(0, w_b * x) for x, _ in rule]
        babies = [baby_table(es.ell, taus) for _, _, es in sums]
        peak, height, panels = -math.inf, 0.0, 0

        def add(vals: list[list[list[acb]]], starts: list[acb], offs: list[acb], jac: acb) -> float:
            top = -math.inf
            for p, start in enumerate(starts):
                for k, (_, gw) in enumerate(rule):
                    s = start + offs[k]
                    f = acb(0)
                    for i, (_, n, _) in enumerate(sums):
                        f += n * vals[i][p][k].log()
                    for q, n in closed:
                        f += n * q.log_m(s)
                    wt = jac * gw / (s * (s + 1))
                    out.s.append(s)
                    out.log_m.append(f)
                    out.weight.append(wt)
                    size = float((f - s * eps_b).real.mid()) + float(abs(wt).log().mid())
                    top = max(top, size)
            return top

        ended = False
        base = arb(0)
        while height < t1:
            count = 8
            if t1 < math.inf:
                count = max(1, min(8, math.ceil((t1 - height) / width)))
            if height > 0:
                spread = min(spread, self.spread_at(sums, closed, c, eps, height))
                full_width = phase / spread
            if 2 * width <= full_width:
                count = min(count, 3)
            start, step = acb(c, base), acb(0, w_b)
            vals = [
                panel_values(es.w, es.ell, start, step, count, b)
                for (_, _, es), b in zip(sums, babies, strict=True)
            ]
            starts = [acb(c, base + w_b * p) for p in range(count)]
            top = add(vals, starts, taus, acb(0, w_b))
            peak = max(peak, top)
            panels += count
            base = base + w_b * count
            height = float(base.mid())
            if top < peak - LEVEL.dead:
                ended = True
                break
            if panels > max_panels:
                raise OracleError(f"{panels} panels and still not dead (t1 = {t1:.3g})")
            if 2 * width <= min(full_width, height):  # away from the poles the panels may grow
                width, w_b = 2 * width, 2 * w_b
                taus = [2 * tau for tau in taus]
                babies = [[[b * b for b in row] for row in table] for table in babies]
        out.info = {
            "peak": peak,
            "c": c,
            "panels": panels,
            "inner": [len(es.w) for _, _, es in sums],
        }
        if not ended:
            self._ray(out, sums, c, base, width, eps, peak, variant, add, rule)
        return out

    def _ray(
        self, out: Contour, sums: Any, c: float, t1: arb, width: float, eps: float, peak: float,
        variant: int, add: Any, rule: Any,
    ) -> None:  # fmt: skip
        """Doubling panels along the bend, near nodes only."""
        kappa = min(es.slope for _, _, es in sums) * (1.0 if variant == 0 else 0.8)
        norm = math.hypot(1, kappa)
        direction = acb(arb(self.bend * kappa / norm), arb(1 / norm))
        parts = [es.near_part() for _, _, es in sums]
        h = arb(width)
        start = acb(c, t1)
        offs = [direction * (h * x) for x, _ in rule]
        babies = [baby_table(ell, offs) for _, ell in parts]
        for _ in range(600):
            vals = [
                panel_values(w, ell, start, acb(0), 1, b)
                for (w, ell), b in zip(parts, babies, strict=True)
            ]
            top = add(vals, [start], offs, direction * h)
            out.info["ray"] = out.info.get("ray", 0) + 1
            if top < peak - LEVEL.dead:
                return
            start = start + direction * h
            m = len(rule)
            g = [f - x * eps for f, x in zip(out.log_m[-m:], out.s[-m:], strict=True)]
            local = max(
                float(abs((g[k + 1] - g[k]) / (out.s[k - m + 1] - out.s[k - m])).mid())
                for k in range(m - 1)
            )
            if float(h.mid()) * 2 * local <= 20.0 * LEVEL.factor or float(h.mid()) < width / 2:
                h = h * 2
                offs = [direction * (h * x) for x, _ in rule]
                babies = [[[b * b for b in row] for row in table] for table in babies]
        raise OracleError("the ray does not die")
