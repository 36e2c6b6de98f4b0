"""Truths for plans of low sampling, by mpmath and nothing of dpacct: rare_truths.json.

    python -m tests.pld.make_rare_truths

Two steps in real space, present against absent and the reverse and for fixed-size samples. A few steps whose
delta lies far below the range of floats, present against absent: the contour integral of M(s)^T e^{-s eps} /
(s (s+1)) at as many digits as it cancels, its step halved until 18 digits stand. Stored rows are kept.
"""

import json
from pathlib import Path

from mpmath import exp, expj, expm1, fsum, log, log1p, mp, mpc, mpf, pi, sqrt

from tests.golden.golden_realspace import two_steps, two_steps_fixed_size

TWO = [
    ("1e-6", "1", ".01"),
    ("1e-2", "1", ".5"),
    ("3.2e-9", ".6", "2.5"),
    ("5e-4", "4", "1.3e-3"),
    ("2e-8", ".6972", ".27"),
    ("1.2e-11", ".35", "40"),
    (".04", "2", ".03"),
]
MANY = [("4.149e-10", "15.3954", 9, "4.0095998753050066e-09")]


def of_two(rate: str, sigma: str, epsilon: str) -> dict[str, str]:
    """log delta of two steps, each way."""
    ways = {"remove": two_steps(sigma, rate, epsilon, "remove")}
    if mpf(epsilon) < -2 * log1p(-mpf(rate)):  # no loss of this direction is larger
        ways["add"] = two_steps(sigma, rate, epsilon, "add")
    ways["fixed"] = two_steps_fixed_size(sigma, rate, epsilon)
    return {way: mp.nstr(log(value), 16) for way, value in ways.items()}


def of_many(rate: str, sigma: str, steps: int, epsilon: str) -> str:
    """log delta of all steps, at as many digits as the sum over the line cancels."""
    digits = 50
    while True:
        mp.dps = digits
        mu, q, eps = 1 / mpf(sigma), mpf(rate), mpf(epsilon)
        h = min(mpf(1) / 12, mpf(sigma) / 8)
        axis = [k * h for k in range(int(-15 / h), int((mu * 2 + 45) / h))]
        losses = [log1p(q * expm1(mu * z - mu**2 / 2)) for z in axis]
        weights = [h * exp(-z * z / 2) / sqrt(2 * pi) for z in axis]

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
    path = Path(__file__).with_name("rare_truths.json")
    truths = json.loads(path.read_text()) if path.exists() else {"two": [], "many": []}
    stored = {row["rate"] for rows in truths.values() for row in rows}
    for rate, sigma, epsilon in TWO:
        if rate not in stored:
            row = {"rate": rate, "sigma": sigma, "epsilon": epsilon}
            truths["two"].append({**row, "log_delta": of_two(rate, sigma, epsilon)})
    for rate, sigma, steps, epsilon in MANY:
        if rate not in stored:
            row = {"rate": rate, "sigma": sigma, "steps": steps, "epsilon": epsilon}
            truths["many"].append({**row, "log_delta": of_many(rate, sigma, steps, epsilon)})
    path.write_text(json.dumps(truths, indent=1) + "\n")


if __name__ == "__main__":
    main()
