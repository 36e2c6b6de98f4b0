"""Make rare.json: plans with rare hits, T q < 1 and T > 1, from the easier to the harder.

    python -m tests.golden.make_rare

The truth is had as in plans.json; `digits` says how many digits of the two evaluations agree (never fewer
than 8).
"""

import random
from collections.abc import Iterator

from mpmath import mp

from tests.golden import make_plans
from tests.golden.golden_closed import DIGITS
from tests.golden.golden_rows import poisson_gaussian
from tests.golden.make_plans import draw_delta, fill, log_uniform, text

SEED = 20240517
COUNT = 100


def draws(rng: random.Random) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Three in five with delta below T q / 10 and sigma >= 1; the others anywhere."""
    while True:
        for kind in ("mild", "mild", "mild", "wide", "wide"):
            while True:
                steps = int(float(f"{log_uniform(rng, 2, 1e7):.3g}"))
                q = log_uniform(rng, 1e-8, 0.5)
                if steps > 1 and steps * q < 1:
                    break
            sigma = log_uniform(rng, 1.0 if kind == "mild" else 0.2, 100)
            top = min(0.3, steps * q / (10 if kind == "mild" else 2) / max(1.0, sigma))
            delta = text(log_uniform(rng, 1e-20, top)) if kind == "mild" else draw_delta(rng, 1e-60)
            yield kind, (text(sigma), text(q), steps, delta)


def main() -> None:
    mp.dps = DIGITS
    make_plans.NAME = "rare.json"
    make_plans.SEED = SEED
    fill("rare", COUNT, SEED, draws(random.Random(SEED)), poisson_gaussian, zeros=0.1, limit=200)


if __name__ == "__main__":
    main()
