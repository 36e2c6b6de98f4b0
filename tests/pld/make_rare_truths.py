"""Outside truths for plans of low sampling, with mpmath and nothing of dpacct: rare_truths.json.

   python tests/pld/make_rare_truths.py

* two steps: the profile of one, in closed form, integrated over the loss of the other at 30 digits, for
  Poisson sampling (present against absent and the reverse) and for C_q of fixed-size sampling;
* any number of steps, present against absent: the contour integral of M(s)^T e^{-s eps} / (s (s+1)) at as
  many digits as it cancels, its step halved until 18 digits stand.
"""

from __future__ import annotations

import itertools
import json
import pathlib
from collections.abc import Callable
from typing import Any

from mpmath import (
    erfc,
    exp,
    expj,
    expm1,
    fsum,
    inf,
    linspace,
    log,
    log1p,
    mp,
    mpc,
    mpf,
    pi,
    quad,
    sqrt,
)

HERE = pathlib.Path(__file__).parent

TWO = [
    ("1e-6", "1", ".01"),
    ("1e-2", "1", ".5"),
    ("3.2e-9", ".6", "2.5"),
    ("5e-4", "4", "1.3e-3"),
    ("2e-8", ".6972", ".27"),
    ("1.2e-11", ".35", "40"),
    (".04", "2", ".03"),
]
MANY = [
    ("4.149e-10", "15.3954", 9, "4.0095998753050066e-09"),
    ("9.164e-05", "3.9358", 78, "0.0035838141529"),
    ("1e-4", ".8", 100, ".0537438341"),
    ("1e-6", ".7", 100000, "1"),
    ("1e-3", ".5", 1000, "1"),
    ("1e-8", "1", 10**8, "9e-4"),
    ("9.326e-10", "8.9093", 20, "3.58e-08"),
    ("1.001e-07", "2.6555", 30, "8.8e-07"),
]


def upper(x: mpf) -> mpf:
    return erfc(x / sqrt(mpf(2))) / 2


class Sampled:
    """One step on a sample: its loss along the noise and what remains of it above a level."""

    def __init__(self, rate: str, sigma: str) -> None:
        self.q, self.mu = mpf(rate), 1 / mpf(sigma)

    def loss(self, z: mpf) -> mpf:
        return log1p(self.q * expm1(self.mu * z - self.mu**2 / 2))

    def place(self, y: mpf) -> mpf:
        inside = expm1(y) / self.q
        return -inf if inside <= -1 else log1p(inside) / self.mu + self.mu / 2

    def above(self, y: mpf) -> tuple[mpf, mpf]:
        """P- and Q-mass of the losses above y."""
        z = self.place(y)
        if z == -inf:
            return mpf(1), mpf(1)
        q_mass = upper(z)
        return (1 - self.q) * q_mass + self.q * upper(z - self.mu), q_mass

    def below(self, y: mpf) -> tuple[mpf, mpf]:
        z = self.place(y)
        if z == -inf:
            return mpf(0), mpf(0)
        q_mass = upper(-z)
        return (1 - self.q) * q_mass + self.q * upper(self.mu - z), q_mass

    def remove(self, y: mpf) -> mpf:
        p, q = self.above(y)
        return p - exp(y) * q

    def add(self, y: mpf) -> mpf:
        """Of -L under Q: Q(L < -y) - e^y P(L < -y)."""
        p, q = self.below(-y)
        return q - exp(y) * p

    def mirrored(self, y: mpf) -> mpf:
        """Of C_q: at negative y by its symmetry."""
        return self.remove(y) if y >= 0 else 1 - exp(y) + exp(y) * self.remove(-y)


def density(z: mpf) -> mpf:
    return exp(-z * z / 2) / sqrt(2 * pi)


def integrated(f: Callable[[mpf], mpf], low: mpf, high: mpf, marks: list[mpf]) -> mpf:
    """Between the kinks of f, by panels of a 12th; those of a 24th have to agree."""
    ends = [low, *sorted(m for m in marks if low < m < high), high]
    results = []
    for panels in (12, 24):
        parts = []
        for a, b in itertools.pairwise(ends):
            edges = set(linspace(a, b, int((b - a) * panels) + 2))
            near = [
                mpf(2) ** (-k * 12 / mpf(panels)) for k in range(3, 40)
            ]  # a kink is felt from afar
            edges |= {m for d in near for m in (a + d, b - d) if a < m < b}
            parts.append(quad(f, sorted(edges), method="gauss-legendre", maxdegree=4))
        results.append(fsum(parts))
    if abs(results[0] / results[1] - 1) > mpf(10) ** -13:
        raise ArithmeticError(f"{results[0]} and {results[1]} are not one integral")
    return results[1]


def two_steps(rate: str, sigma: str, epsilon: str) -> dict[str, str]:
    mp.dps = 30
    one, eps = Sampled(rate, sigma), mpf(epsilon)
    edge = log1p(-one.q)
    low, high = mpf(-11), one.place(eps - edge) + 8
    results = {}
    kinks = [one.place(eps - edge)]
    remove = integrated(
        lambda z: density(z) * exp(one.loss(z)) * one.remove(eps - one.loss(z)), low, high, kinks
    )
    results["remove"] = remove
    if eps < -2 * edge:
        results["add"] = integrated(
            lambda z: density(z) * one.add(eps + one.loss(z)), low, high, [one.place(-eps - edge)]
        )
    zero = one.place(mpf(0))
    p, q = one.above(mpf(0))
    marks = [one.place(eps), one.place(eps - edge)]
    results["fixed"] = (
        integrated(
            lambda z: density(z) * exp(one.loss(z)) * one.mirrored(eps - one.loss(z)),
            zero,
            high,
            marks,
        )
        + integrated(lambda z: density(z) * one.mirrored(eps + one.loss(z)), zero, mpf(12), marks)
        + (1 - p - q) * one.mirrored(eps)
    )
    return {way: mp.nstr(log(value), 16) for way, value in results.items()}


def many_steps(rate: str, sigma: str, steps: int, epsilon: str) -> str:
    mp.dps = 50
    digits = 50
    while True:
        mp.dps = digits
        one, eps = Sampled(rate, sigma), mpf(epsilon)
        h = min(mpf(1) / 12, mpf(sigma) / 8)
        axis = [k * h for k in range(int(-15 / h), int((one.mu * 2 + 45) / h))]
        losses, weights = [one.loss(z) for z in axis], [density(z) * h for z in axis]

        def exponent(
            c: mpf, eps: mpf = eps, weights: list[mpf] = weights, losses: list[mpf] = losses
        ) -> mpf:
            moment = fsum(w * exp((c + 1) * x) for w, x in zip(weights, losses, strict=True))
            return steps * log(moment) - c * eps - log(c) - log(1 + c)

        centre = log(1 / eps)
        grid = [centre + mpf(k) / 2 for k in range(-8, 22)]
        best = min(grid, key=lambda x: exponent(exp(x)))
        best = min([best + mpf(k) / 16 for k in range(-8, 9)], key=lambda x: exponent(exp(x)))
        c = exp(best)
        tilted = [w * exp((c + 1) * x) for w, x in zip(weights, losses, strict=True)]
        total = fsum(tilted)
        least = mpf(10) ** (-digits)
        kept = [(w / total, x) for w, x in zip(tilted, losses, strict=True) if w > least * total]
        scale = c / 40
        results: list[mpf] = []
        for _ in range(6):
            turn, now = [expj(scale * x) for _, x in kept], [mpc(w) for w, _ in kept]
            value, j, size = mpf(0), 0, mpf(1)
            while size > mpf(10) ** (3 - digits) and j < 6000:
                s = mpc(c, scale * j)
                term = (fsum(now) ** steps) * expj(-scale * j * eps) / (s * (s + 1))
                value += term.real / (2 if j == 0 else 1)
                size = abs(term) * c * c
                now = [a * b for a, b in zip(now, turn, strict=True)]
                j += 1
            results.append(value * scale / pi)
            if (
                len(results) > 1
                and results[-1] > 0
                and abs(results[-1] / results[-2] - 1) < mpf(10) ** -18
            ):
                result = steps * log(total) - c * eps + log(results[-1])
                lost = (exponent(c) - result) / log(mpf(10))
                if digits > lost + 24:
                    return str(mp.nstr(result, 20))
                break
            scale /= 2
        digits += 40


def main() -> None:
    """Rows that are stored are kept."""
    path = HERE / "rare_truths.json"
    truths: dict[str, list[dict[str, Any]]] = {"two": [], "many": []}
    if path.exists():
        truths = json.loads(path.read_text())
    stored = {row["rate"] for rows in truths.values() for row in rows}
    for rate, sigma, epsilon in TWO:
        if rate not in stored:
            result = two_steps(rate, sigma, epsilon)
            truths["two"].append(
                {"rate": rate, "sigma": sigma, "epsilon": epsilon, "log_delta": result}
            )
            path.write_text(json.dumps(truths, indent=1) + "\n")
    for rate, sigma, steps, epsilon in MANY:
        if rate not in stored:
            row = {"rate": rate, "sigma": sigma, "steps": steps, "epsilon": epsilon}
            truths["many"].append({**row, "log_delta": many_steps(rate, sigma, steps, epsilon)})
            path.write_text(json.dumps(truths, indent=1) + "\n")


if __name__ == "__main__":
    main()
