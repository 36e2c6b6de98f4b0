"""Make oracle.json: delta to 60 digits in mpmath, for plans of the referee's and gentler ones.

    python -m tests.proof.make_oracle [seed [closed]]     # adds to the table until it has 200 rows

Imports nothing of dpacct but the plans. Closed forms where there are any; else a trapezoid rule in x
on the real axis (Gauss-Legendre on half-lines) and one in t on the line Re s = c, twice: other abscissa,
other steps. `digits` is to how many the two agree. No ball arithmetic, no shifted lines, no bounds.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mpmath import mp, mpc, mpf

TABLE = Path(__file__).with_name("oracle.json")
WANTED = 200
DIGITS = 60
NATS = 150.0  # what a rule may leave out: e^-150 = 7e-66
_MOST = 600_000  # products of complex numbers a plan may take


class TooMuch(Exception):
    """This plan would take too long."""


@dataclass(frozen=True)
class Law:
    """A step: Gaussian noise (plain at rate 1), one direction; `half` is C_q of it."""

    sigma: str
    rate: str
    count: int
    kind: str  # remove, add, half

    def nodes(self, c: float, t: float, scale: float) -> tuple[list[mpf], list[mpf]]:
        """Losses and P-weights of a rule for tilts up to c and frequencies up to t."""
        mu, q = 1 / mpf(self.sigma), mpf(self.rate)
        m, share = float(mu), float(q)
        reach = math.sqrt(2.0 * NATS) + 1.0
        tilt = (c + 1.0) * m if self.kind != "add" else 0.0
        if share < 1.0 and self.kind != "add":  # a rare hit is not followed to where it is hopeless
            tilt = min(tilt, _far_hill(c, m, share, reach))
        if self.kind == "half":
            return self._half(mu, q, tilt + reach, t, scale)
        low, high = -reach - (c * m if self.kind == "add" else 0.0), reach + tilt
        step = scale * self._step(c, t, low, high)
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first > 4000:
            raise TooMuch
        h = mpf(step)
        losses, weights = [], []
        for k in range(first, last + 1):
            x = k * h
            r = 1 + q * mp.expm1(mu * x - mu * mu / 2)
            w = h * mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
            losses.append(mp.log(r) if self.kind == "remove" else -mp.log(r))
            weights.append(w * r if self.kind == "remove" else w)
        return losses, weights

    def _step(self, c: float, t: float, low: float, high: float) -> float:
        m, q = 1.0 / float(self.sigma), float(self.rate)
        best = 0.0
        for k in range(1, 30):
            d = min(0.97 * math.pi / m, math.sqrt(2.0 * NATS) * 1.2) * k / 30
            turn, dip = 0.0, 0.0
            for j in range(41):
                x = low + (high - low) * j / 40
                v = q * math.exp(min(m * x - 0.5 * m * m, 300.0))
                re, im = 1.0 - q + v * math.cos(m * d), v * math.sin(m * d)
                turn = max(turn, abs(math.atan2(im, re)))
                dip = max(dip, math.log((1.0 - q + v) / max(math.hypot(re, im), 1e-300)))
            growth = 0.5 * d * d + t * turn + (c * dip if self.kind == "add" else 0.0)
            best = max(best, 2.0 * math.pi * d / (NATS + growth + math.log(self.count)))
        return best

    def _half(
        self, mu: mpf, q: mpf, high: float, t: float, scale: float
    ) -> tuple[list[mpf], list[mpf]]:
        width = 0.6 * min(1.0, 1.2 / float(mu)) * scale
        count = max(2, math.ceil((high - float(mu) / 2) / width))
        if count > 90:
            raise TooMuch
        edges = [mu / 2 + (mpf(high) - mu / 2) * k / count for k in range(count + 1)]
        rest = (1 - q) * (1 - mp.erfc(mu / 2 / mp.sqrt(2)))
        losses, weights = [mpf(0)], [rest]
        for a, b in pairwise(edges):
            for node, weight in _legendre(44):
                x = a + (b - a) * node
                loss = mp.log(1 + q * mp.expm1(mu * x - mu * mu / 2))
                w = (b - a) * weight * mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
                losses += [loss, -loss]
                weights += [w * mp.exp(loss), w]
        return losses, weights


def _far_hill(c: float, mu: float, q: float, reach: float) -> float:
    """Where the hill of phi r^{c+1} at (c+1) mu is too low to count, do without it."""
    power = c + 1.0
    height = power * (math.log(q) + 0.5 * power * mu * mu - 0.5 * mu * mu)
    return power * mu if height > -NATS - 30.0 or power * mu < reach else reach


_NODES: dict[int, list[tuple[mpf, mpf]]] = {}


def _legendre(count: int) -> list[tuple[mpf, mpf]]:
    """Nodes and weights on [0, 1] by Newton's method on the recurrence."""
    if count not in _NODES:
        with mp.workdps(120):
            results = []
            for k in range(count):
                x = mp.cos(mp.pi * (k + mpf(3) / 4) / (count + mpf(1) / 2))
                for _ in range(9):
                    a, b = mpf(1), x
                    for n in range(1, count):
                        a, b = b, ((2 * n + 1) * x * b - n * a) / (n + 1)
                    slope = count * (x * b - a) / (x * x - 1)
                    x -= b / slope
                results.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
            _NODES[count] = results
    return _NODES[count]


def _cumulants(tables: list[tuple[list[mpf], list[mpf], int]], c: mpf) -> tuple[mpf, mpf, mpf]:
    log, mean, variance = mpf(0), mpf(0), mpf(0)
    for losses, weights, n in tables:
        tilted = [w * mp.exp(c * x) for w, x in zip(weights, losses, strict=True)]
        total = mp.fsum(tilted)
        first = mp.fdot(tilted, losses) / total
        second = mp.fdot(tilted, [x * x for x in losses]) / total
        log, mean, variance = (
            log + n * mp.log(total),
            mean + n * first,
            variance + n * (second - first**2),
        )
    return log, mean, variance


def _guess(laws: list[Law], eps: mpf) -> tuple[float, float, float]:
    """(c, F''(c), log delta) at the saddle, by bisection."""
    low, high = -12.0, 16.0
    for _ in range(18):
        middle = (low + high) / 2
        try:
            c = math.exp(middle)
            tables = [(*law.nodes(c, 0.0, 3.0), law.count) for law in laws]
            _, mean, _ = _cumulants(tables, mpf(c))
            right = mean - eps - 1 / mpf(c) - 1 / (1 + mpf(c)) > 0
        except (TooMuch, OverflowError, ValueError):
            right = True
        low, high = (low, middle) if right else (middle, high)
    c = math.exp(low)
    tables = [(*law.nodes(c, 0.0, 3.0), law.count) for law in laws]
    log, _, variance = _cumulants(tables, mpf(c))
    curvature = float(variance) + 1 / c**2 + 1 / (1 + c) ** 2
    height = float(log - c * eps) - math.log(c * (1 + c)) - 0.5 * math.log(2 * math.pi * curvature)
    return c, curvature, height


def _invert(
    laws: list[Law], eps: mpf, c: float, curvature: float, log_delta: float, scale: float
) -> mpf:
    up, down = _outer(laws, eps, c, math.sqrt(2 * NATS / curvature))
    a = up[1]
    h = scale * min(up[0], max(down[0], 2 * math.pi * c / (NATS - log_delta)))
    count = int(math.sqrt(2.6 * NATS / curvature) / h) + 4
    while True:  # the inner rules hold up to the highest frequency that is used
        result = _summed(laws, eps, mpf(c), h, count, 1.1 * c + a, scale)
        if result is not None:
            return result
        count *= 2


def _outer(
    laws: list[Law], eps: mpf, c: float, unit: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """(step, shift) for which copies of delta above and below eps stay under e^-NATS."""

    def height(x: float) -> float:
        tables = [(*law.nodes(x, 0.0, 1.5), law.count) for law in laws]
        return float(_cumulants(tables, mpf(x))[0] - x * eps)

    results = []
    with mp.workdps(30):
        here = height(c)
        for sign, reach in ((1, 1.5 * min(unit, 2 * c)), (-1, min(1.5 * unit, 0.97 * c))):
            best = (0.0, 0.0)
            for k in range(1, 9):
                shift = reach * k / 8
                rise = max(0.0, height(c + sign * shift) - here)
                best = max(best, (2 * math.pi * shift / (NATS + rise), shift))
            results.append(best)
    return results[0], results[1]


def _summed(
    laws: list[Law], eps: mpf, at: mpf, h: float, count: int, highest: float, scale: float
) -> mpf | None:
    """The sum over the line, or None where `count` terms are not enough."""
    tables = [(*law.nodes(highest, count * h, scale), law.count) for law in laws]
    if count * sum(len(table[0]) for table in tables) > _MOST:
        raise TooMuch
    step = mpf(h)
    now = [[mpc(w * mp.exp(at * x)) for w, x in zip(ws, xs, strict=True)] for xs, ws, _ in tables]
    turn = [[mp.expj(step * x) for x in xs] for xs, _, _ in tables]
    total, first = mpf(0), mpf(0)
    for k in range(count + 1):
        s = mpc(at, k * step)
        value = mp.exp(-s * eps) / (s * (s + 1))
        for (_, _, n), row in zip(tables, now, strict=True):
            value *= mp.fsum(row) ** n if n < 10**6 else mp.exp(n * mp.log(mp.fsum(row)))
        total += value.real / 2 if k == 0 else value.real
        first = first or abs(value)
        if abs(value) < first * mp.exp(-NATS):
            return total * step / mp.pi
        now = [[x * y for x, y in zip(a, b, strict=True)] for a, b in zip(now, turn, strict=True)]
    return None


def by_contour(laws: list[Law], eps: str) -> tuple[mpf, int]:
    """Delta of one direction, and the digits to which two evaluations agree."""
    with mp.workdps(30):
        c, curvature, log_delta = _guess(laws, mpf(eps))
    with mp.workdps(95 + int(math.log10(max(law.count for law in laws)))):
        one = _invert(laws, mpf(eps), c, curvature, log_delta, 1.0)
        two = _invert(
            laws, mpf(eps), c - min(0.1 * c, 1.5 / math.sqrt(curvature)), curvature, log_delta, 0.87
        )
        gap = abs(one - two) / abs(one)
        return one, 90 if gap == 0 else int(-mp.log10(gap))


def upper_tail(x: mpf) -> mpf:
    """P(N(0,1) > x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def gaussian(mu: mpf, eps: mpf) -> mpf:
    """Delta of N(mu, 1) against N(0, 1)."""
    return upper_tail(eps / mu - mu / 2) - mp.exp(eps) * upper_tail(eps / mu + mu / 2)


def one_sampled(plain: Callable[[mpf], mpf], q: mpf, eps: mpf) -> mpf:
    """One sampled step, remove: sup over events of P - e^eps Q is q times the plain one's."""
    return q * plain(mp.log1p(mp.expm1(eps) / q))


def laplace(b: mpf, eps: mpf) -> mpf:
    """Delta of one plain Laplace step."""
    return -mp.expm1((eps - 1 / b) / 2) if eps < 1 / b else mpf(0)


Question = dict[str, Any]


def closed(draw: random.Random) -> Question:
    """A plan with a closed form, and its delta."""
    kind = draw.choice(["gaussian", "poisson", "fixed-size", "laplace", "laplace-poisson"])
    size = f"{math.exp(draw.uniform(math.log(0.2), math.log(1e4))):.4g}"
    rate = f"{math.exp(draw.uniform(math.log(1e-8), 0.0)) * 0.999:.4g}"
    steps = int(math.exp(draw.uniform(0.0, math.log(1e12)))) if kind == "gaussian" else 1
    if kind in ("gaussian", "laplace"):
        rate = "1"
    with mp.workdps(110):
        q, s = mpf(rate), mpf(size)
        if kind.startswith("laplace"):
            top = mp.log1p(q * mp.expm1(1 / s))
            eps = mp.nstr(top * draw.uniform(0.02, 0.98), 8)
            delta = one_sampled(lambda e: laplace(s, e), q, mpf(eps))
        else:
            mu = mp.sqrt(steps) / s
            plain = mu * draw.uniform(0.1, 30.0) + mu * mu / 2
            eps = mp.nstr(mp.log1p(q * mp.expm1(plain)), 8)
            delta = one_sampled(lambda e: gaussian(mu, e), q, mpf(eps))
        result = mp.nstr(delta, DIGITS)
    parts = [{"kind": kind, "size": size, "rate": rate, "steps": steps}]
    return {"parts": parts, "epsilon": eps, "upper": result, "digits": 90, "method": "closed"}


def composed(draw: random.Random, family: str) -> Question:
    """A plan that takes an integral. Add's delta is the smaller one where hits help (q <= 1/2)."""
    parts, mu_squared = [], 0.0
    for _ in range(draw.randint(2, 3) if family == "mixed" else 1):
        gentle = family == "fixed-size"
        size = math.exp(draw.uniform(math.log(0.8 if gentle else 0.5), math.log(60.0)))
        rate = math.exp(draw.uniform(math.log(5e-3 if gentle else 2e-4), math.log(0.7)))
        most = 1e4 if gentle else 1e7
        steps = int(math.exp(draw.uniform(math.log(3.0 / rate), math.log(most / rate))))
        kind = "poisson" if family == "mixed" else family
        if family == "mixed" and draw.random() < 0.2:
            kind, rate, steps = "gaussian", 1.0, draw.randint(1, 20)
        text = f"{rate:.4g}"
        parts.append({"kind": kind, "size": f"{size:.4g}", "rate": text, "steps": steps})
        mu_squared += steps * rate**2 * math.expm1(min(1 / size**2, 20.0))
    mu = math.sqrt(mu_squared)
    eps = f"{mu * draw.uniform(0.5, 12.0) + mu * mu / 2:.6g}"
    if float(eps) > 300.0:
        raise TooMuch

    def laws(kind: str) -> list[Law]:
        return [Law(p["size"], p["rate"], p["steps"], kind) for p in parts]

    sides = {kind: by_contour(laws(kind), eps) for kind in ("remove", "add")}
    row: Question = {"parts": parts, "epsilon": eps, "method": "contour"}
    worst = max(sides, key=lambda kind: sides[kind][0])
    value, digits = sides[worst]
    if family == "fixed-size":
        row["lower"] = mp.nstr(value, DIGITS)
        value, more = by_contour(laws("half"), eps)
        digits = min(digits, more)
    return row | {"upper": mp.nstr(value, DIGITS), "digits": digits}


def questions(draw: random.Random) -> Iterator[Callable[[], Question]]:
    """Endless questions."""
    while True:
        yield lambda: closed(draw)
        yield lambda: closed(draw)
        for family in ("poisson", "poisson", "mixed", "poisson", "mixed", "fixed-size"):
            yield lambda family=family: composed(draw, family)  # type: ignore[misc]


def main() -> None:
    """Write the table; a plan that takes too long, or agrees to fewer digits, is left out.

    Integrals for as long as one has patience (stop it; what is there is kept), then closed forms.
    """
    document = json.loads(TABLE.read_text()) if TABLE.exists() else {"runs": [], "rows": []}
    rows: list[Question] = document["rows"]
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    document["runs"] = [*document["runs"], seed]
    draw = random.Random(seed)
    mp.dps = 95
    only_closed = len(sys.argv) > 2
    for ask in iter(lambda: closed(draw), None) if only_closed else _asked(draw):
        if ask is None or ask["digits"] < DIGITS:
            continue
        if mpf("1e-300") < mpf(ask["upper"]) < mpf("0.3"):
            rows.append(ask)
            print(len(rows), ask["method"], ask["digits"], ask["parts"], flush=True)
            lines = ",\n".join(json.dumps(row) for row in rows)
            TABLE.write_text(f'{{"runs": {document["runs"]},\n"rows": [\n{lines}\n]}}\n')
        if len(rows) >= WANTED:
            sys.exit()


def _asked(draw: random.Random) -> Iterator[Question | None]:
    """Answers to endless questions; None for a plan that takes too long."""
    for ask in questions(draw):
        try:
            yield ask()
        except (TooMuch, OverflowError, ValueError):
            yield None


if __name__ == "__main__":
    main()
