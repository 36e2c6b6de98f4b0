"""2,000 random plans proved, and held against truths that share nothing with dpacct but the plan's numbers.

    python -m tests.proof.against_truth ROWS.jsonl [first last]     # goes on where the file ends
    python -m tests.proof.against_truth ROWS.jsonl --again          # proves them anew; truths are kept
    python -m tests.proof.against_truth ROWS.jsonl --summary        # writes tests/proof/against_truth.json

Truth, in mpmath and FLINT: closed forms and two agreeing contours of `make_oracle` (to 16 digits, not 60),
two lines for Laplace noise on samples, few plain Laplace steps by the law of sums of uniform numbers, and
finitely many outcomes by every way to share the draws, from the probabilities of the noise itself.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from flint import acb, arb, ctx
from mpmath import mp, mpf

import dpacct as dp
from dpacct.errors import NotCertified
from dpacct.plan import certified
from tests.golden.golden_contour import gauss_legendre
from tests.golden.golden_nodes import OracleError
from tests.golden.golden_rows import Timeout, with_limit
from tests.proof import make_oracle

SUMMARY = Path(__file__).with_name("against_truth.json")
PLANS = 2000
DIGITS = 16
_NATS = 42.0
_MOST_POINTS = 3000
_PATIENCE = 60  # CPU seconds for a plan's truth
_EFFORT = 4.0

Row = dict[str, Any]
Outcomes = list[tuple[mpf, mpf]]  # (with the unit, without it)


@dataclass(frozen=True)
class Question:
    """A plan, an epsilon, and its true deltas: realised and dominating, alike but on fixed sizes."""

    node: dp.Node
    epsilon: str
    lower: mpf
    upper: mpf


def _between(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


# --- what `make_oracle` knows


def _noise(part: Row) -> dp.Node:
    kind = part["kind"]
    noise = dp.Laplace(b=part["size"]) if "laplace" in kind else dp.Gaussian(sigma=part["size"])
    if kind.endswith("poisson"):
        noise = dp.Poisson(part["rate"])(noise)
    elif kind == "fixed-size":
        noise = dp.WithoutReplacement(part["rate"])(noise)
    return noise * part["steps"]


def _stored(question: Row) -> Question:
    if question["digits"] < DIGITS:
        raise OracleError
    nodes = [_noise(part) for part in question["parts"]]
    node = sum(nodes[1:], nodes[0])
    upper = mpf(question["upper"])
    return Question(node, question["epsilon"], mpf(question.get("lower", upper)), upper)


def by_closed_form(draw: random.Random) -> Question:
    """One step, or Gaussian noise alone."""
    question = make_oracle.closed(draw)
    result = _stored(question)
    if question["parts"][0]["kind"] != "fixed-size":
        return result
    return Question(result.node, result.epsilon, mpf(0), result.upper)  # the upper end alone


def by_integral(draw: random.Random) -> Question:
    """Gaussian noise on samples, heterogeneous plans, fixed sizes."""
    family = draw.choice(("poisson", "poisson", "poisson", "mixed", "mixed", "fixed-size"))
    return _stored(make_oracle.composed(draw, family, DIGITS + 4))


# --- Laplace noise


def _spaced_line(law: tuple[str, str, int, int], eps: str, shift: float, scale: float) -> arb:
    """Delta of Laplace steps (size, rate, count, 1: remove or -1: add) on Re s = shift * the saddle."""
    size, rate, count, sign = law
    lam, q = 1 / arb(size), arb(rate)
    panels = math.ceil((4.0 + 1 / float(size)) / scale)
    points = [(lam, (-lam).exp() / 2), (-lam, arb(1) / 2)]
    for k in range(panels):
        low, width = lam * (arb(2 * k) / panels - 1), 2 * lam / panels
        for root, weight in gauss_legendre(24):
            z = low + width * root
            points.append((z, width * weight * (-(z + lam) / 2).exp() / 4))
    losses = [sign * (1 + q * z.expm1()).log() for z, _ in points]
    masses = [m * x.exp() if sign > 0 else m for x, (_, m) in zip(losses, points, strict=True)]
    c = shift * _saddle(losses, masses, count, float(eps))
    weights = [m * (c * x).exp() for m, x in zip(masses, losses, strict=True)]
    deviation = math.sqrt(count) * float(q) * min(1.5, 1 / float(size)) + 1e-9
    step = scale * min(2 * math.pi * c / _NATS / 1.5, 0.5 / deviation, 2.0 / (1 + float(eps)))
    total, first, quiet = arb(0), arb(0), 0.0
    span = abs(float((losses[0] - losses[1]).mid()))
    for k in range(20_000):
        if k * step * span > 12.0 * panels:  # the rule of 24 nodes knows no higher frequency
            raise OracleError("the atoms do not decay")
        s = acb(c, k * step)
        moment = sum(
            (w * acb(0, k * step * x).exp() for w, x in zip(weights, losses, strict=True)), acb(0)
        )
        value = (count * moment.log() - s * arb(eps)).exp() / (s * (s + 1))
        total += value.real / 2 if k == 0 else value.real
        first = abs(value) if k == 0 else first
        quiet = quiet + step if abs(value) < first * (-arb(_NATS)).exp() else 0.0
        if quiet * span > 2 * math.pi:  # for as long as the two atoms may cancel
            return total * step / arb.pi()
    raise OracleError("too many frequencies")


def _saddle(losses: list[arb], masses: list[arb], count: int, eps: float) -> float:
    """Where a line carries least: the sum of size delta is not cancelled from larger terms."""
    x, m = (np.array([float(v.mid()) for v in values]) for values in (losses, masses))

    def height(c: float) -> float:
        top = float((c * x).max())
        log = top + math.log(float(m @ np.exp(c * x - top)))
        return count * log - c * eps - math.log(c * (c + 1.0))

    places = np.geomspace(1e-2, 1e4, 200)
    return float(places[np.argmin([height(c) for c in places.tolist()])])


def by_laplace_integral(draw: random.Random) -> Question:
    """Many steps of Laplace noise on a Poisson sample: the atoms must decay. Twice, and they must agree."""
    size, rate = f"{_between(draw, 0.4, 20.0):.4g}", f"{_between(draw, 3e-3, 0.6):.4g}"
    steps = math.ceil(_between(draw, 60.0, 1e5) / float(rate) ** 0.5)
    deviation = math.sqrt(steps) * float(rate) * min(2.0, 1.4 / float(size))
    eps = f"{deviation * draw.uniform(0.5, 6.0) + deviation**2 / 2:.6g}"
    if float(eps) > 200.0:
        raise OracleError("an epsilon that nobody asks for")
    deltas = []
    before, ctx.prec = ctx.prec, 200
    try:
        for sign in (1, -1):
            law = (size, rate, steps, sign)
            value, second = (_spaced_line(law, eps, f, g) for f, g in ((1.0, 1.0), (0.9, 0.8)))
            if not abs(value - second) < abs(value) * arb(10) ** -(DIGITS + 1):
                raise OracleError("two lines disagree")
            deltas.append(mpf(value.mid().str(30, radius=False)))
    finally:
        ctx.prec = before
    return Question(dp.Poisson(rate)(dp.Laplace(b=size)) * steps, eps, max(deltas), max(deltas))


def by_uniform_sums(draw: random.Random) -> Question:
    """Few plain Laplace steps: weighed by sqrt(PQ) a loss is +-lam, or uniform between."""
    size, steps = f"{_between(draw, 0.2, 50.0):.4g}", draw.randint(2, 9)
    lam = 1 / mpf(size)
    eps = mp.nstr(lam * steps * draw.uniform(0.02, 0.98), 6)
    e, total = mpf(eps), mpf(0)
    atom, between = mp.exp(-lam / 2) / 2, mp.exp(-lam / 2) * lam / 2

    def sinh(loss: mpf) -> mpf:
        return 2 * mp.sinh((loss - e) / 2) if loss > e else mpf(0)

    for k in range(steps + 1):
        for up in range(steps - k + 1):
            ways = mp.binomial(steps, k) * mp.binomial(steps - k, up)
            shift = lam * (2 * up - (steps - k))
            if shift + k * lam > e:
                mean = sinh(shift) if k == 0 else _uniform_mean(sinh, k, lam, shift, e)
                total += ways * atom ** (steps - k) * between**k * mean
    delta = mp.exp(e / 2) * total
    return Question(dp.Laplace(b=size) * steps, eps, delta, delta)


def _uniform_mean(f: Callable[[mpf], mpf], k: int, lam: mpf, shift: mpf, e: mpf) -> mpf:
    """E f(shift + the sum of k uniform numbers on [-lam, lam]); f is 0 up to e, and analytic beyond."""

    def density(x: mpf) -> mpf:  # of a sum of k uniform numbers on [0, 1]
        return mp.fsum(
            (-1) ** j * mp.binomial(k, j) * (x - j) ** (k - 1) for j in range(int(mp.floor(x)) + 1)
        ) / mp.factorial(k - 1)

    start = max((e - shift) / (2 * lam) + mpf(k) / 2, mpf(0))
    places = [start, *(mpf(j) for j in range(k + 1) if j > start)]
    return mp.quad(lambda x: density(x) * f(shift + (2 * x - k) * lam), places)


# --- finitely many outcomes


def _response(draw: random.Random) -> tuple[dp.Mechanism, Outcomes]:
    eps0, k = f"{_between(draw, 0.02, 4.0):.4g}", draw.choice((2, 2, 3, 5, 40))
    true = mp.exp(mpf(eps0)) / (mp.exp(mpf(eps0)) + k - 1)
    lie = (1 - true) / (k - 1)
    rest = [((k - 2) * lie, (k - 2) * lie)] if k > 2 else []
    return dp.RandomizedResponse(eps0=eps0, k=k), [(true, lie), (lie, true), *rest]


def _guarantee(draw: random.Random) -> tuple[dp.Mechanism, Outcomes]:
    eps0, open_ = f"{_between(draw, 0.02, 4.0):.4g}", f"{_between(draw, 1e-12, 1e-2):.4g}"
    kept = 1 - mpf(open_)
    p = kept / (1 + mp.exp(-mpf(eps0)))
    failures = [(mpf(open_), mpf(0)), (mpf(0), mpf(open_))]
    return dp.ApproxDP(epsilon=eps0, delta=open_), [(p, kept - p), (kept - p, p), *failures]


def _discrete(draw: random.Random) -> tuple[dp.Mechanism, Outcomes]:
    scale, shift = f"{_between(draw, 0.3, 20.0):.4g}", draw.choice((1, 1, 2, 3, 4))
    u = 1 / mpf(scale)
    level = (1 - mp.exp(-u)) / (1 + mp.exp(-u))

    def mass(x: int) -> mpf:
        return level * mp.exp(-u * abs(x))

    below = 1 / (1 + mp.exp(-u))  # P(x <= 0)
    inside = [(mass(x - shift), mass(x)) for x in range(1, shift)]
    far = below * mp.exp(-u * shift)  # P(x >= shift)
    return dp.DiscreteLaplace(scale=scale, sensitivity=shift), [(below, far), (far, below), *inside]


def _staircase(draw: random.Random) -> tuple[dp.Mechanism, Outcomes]:
    eps0 = f"{_between(draw, 0.05, 4.0):.4g}"
    nu = f"{draw.uniform(0.0, 1.0):.4g}" if draw.random() < 0.5 else None
    lam = mpf(eps0)
    first = 1 / (1 + mp.exp(lam / 2)) if nu is None else mpf(nu)
    top = (1 - mp.exp(-lam)) / (2 * (first + mp.exp(-lam) * (1 - first)))

    def level(x: mpf) -> int:
        return 0 if abs(x) < first else 1 + int(mp.floor(abs(x) - first))

    # all places where either density falls, far enough out that nothing is left
    reach = math.ceil(80.0 / float(lam)) + 3
    places = sorted(
        {s + sign * (first + j) for j in range(reach) for sign in (1, -1) for s in (0, 1)}
    )
    masses: dict[int, tuple[mpf, mpf]] = {}
    for a, b in pairwise(places):
        x = (a + b) / 2
        p, q = level(x - 1), level(x)
        before = masses.get(q - p, (mpf(0), mpf(0)))
        more = [top * mp.exp(-lam * k) * (b - a) for k in (p, q)]
        masses[q - p] = before[0] + more[0], before[1] + more[1]
    return dp.Staircase(eps0=eps0, **({} if nu is None else {"nu": nu})), list(masses.values())


def _tables(draw: random.Random) -> tuple[dp.Mechanism, Outcomes]:
    size = draw.randint(2, 4)
    rows = [[draw.randint(0, 20) + (j == 0) for j in range(size)] for _ in range(2)]
    lists = [[Fraction(x, sum(row)) for x in row] for row in rows]
    both = [
        (mpf(p.numerator) / p.denominator, mpf(q.numerator) / q.denominator)
        for p, q in zip(*lists, strict=True)
    ]
    return dp.Custom(tables=lists), [(p, q) for p, q in both if p or q]


def _shares(count: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (count,)
        return
    for k in range(count + 1):
        for rest in _shares(count - k, parts - 1):
            yield (k, *rest)


def _composed(outcomes: Outcomes, count: int, eps: mpf) -> mpf:
    """sum of (P - e^eps Q)_+ over every way to share the draws."""
    growth, total = mp.exp(eps), mpf(0)
    for share in _shares(count, len(outcomes)):
        ways = mp.factorial(count)
        p = q = mpf(1)
        for (a, b), k in zip(outcomes, share, strict=True):
            ways /= mp.factorial(k)
            p, q = p * a**k, q * b**k
        total += ways * max(p - growth * q, mpf(0))
    return total


def by_counting(draw: random.Random) -> Question:
    """Mechanisms of finitely many outcomes, on a Poisson sample or not."""
    make = draw.choice((_response, _guarantee, _discrete, _staircase, _tables))
    mechanism, outcomes = make(draw)
    most = 1
    while math.comb(most + len(outcomes), len(outcomes) - 1) < _MOST_POINTS and most < 300:
        most += 1
    count = min(most, math.ceil(_between(draw, 1.0, most)))
    rate = "1" if draw.random() < 0.4 else f"{_between(draw, 1e-3, 0.9):.4g}"
    q = mpf(rate)
    mixed = [(q * a + (1 - q) * b, b) for a, b in outcomes]
    back = [(b, a) for a, b in mixed]
    largest = max(mp.log(a / b) for a, b in mixed if a and b)
    eps = mp.nstr(max(largest * count, mpf("1e-6")) * draw.uniform(0.0, 0.9) ** 2, 6)
    delta = max(_composed(way, count, mpf(eps)) for way in (mixed, back))
    node = mechanism if rate == "1" else dp.Poisson(rate)(mechanism)
    return Question(node * count, eps, delta, delta)


FAMILIES: tuple[Callable[[random.Random], Question], ...] = (
    by_integral,
    by_counting,
    by_closed_form,
    by_integral,
    by_counting,
    by_laplace_integral,
    by_uniform_sums,
    by_counting,
)


def question(k: int) -> tuple[str, Question]:
    """The k-th plan with its truth, and its family; drawn again where a truth takes too long."""
    draw = random.Random(19_000_000 + k)
    ask = FAMILIES[k % len(FAMILIES)]
    while True:
        try:
            with mp.workdps(60):
                return ask.__name__, with_limit(_PATIENCE, lambda: ask(draw))
        except (OracleError, Timeout, OverflowError, ValueError, ZeroDivisionError):
            continue


def judge(k: int) -> Row:
    """The k-th plan, its truth, and whether what is proved holds it."""
    family, asked = question(k)
    truth = [mp.nstr(x, 40) for x in (asked.lower, asked.upper)]
    plan = asked.node.to_json()
    return held({"k": k, "family": family, "plan": plan, "epsilon": asked.epsilon, "truth": truth})


def held(row: Row) -> Row:
    """The row of a plan with its truth, and whether what is proved today holds it."""
    row = {key: row[key] for key in ("k", "family", "plan", "epsilon", "truth")}
    node, started = dp.from_json(row["plan"]), time.process_time()
    try:
        answer = certified.delta(node, epsilon=row["epsilon"], effort=_EFFORT).certificate
    except NotCertified as error:
        return row | {"withheld": str(error)}
    seconds = round(time.process_time() - started, 4)
    lower, upper = Fraction(answer["lower"]), Fraction(answer["upper"])
    slack = Fraction(1, 10**DIGITS)  # what the truth may be off by
    least, most = (Fraction(x) for x in row["truth"])
    # between a realised pair and a dominating one either end is bounded by its own truth
    fixed = least < most * (1 - slack)
    inside = most * (1 - slack) <= upper and lower <= (least if least else most) * (1 + slack)
    tight = upper <= most * (1 + Fraction(1, 10**11)) and (
        fixed or lower >= most * (1 - Fraction(1, 10**11))
    )
    return row | {"held": inside, "tight": tight, "seconds": seconds}


def summary(rows: list[Row]) -> Row:
    """Counts over the rows."""
    proved = [row for row in rows if "held" in row]
    seconds = sorted(row["seconds"] for row in proved)
    return {
        "plans": len(rows),
        "proved": dict(sorted(Counter(row["family"] for row in proved).items())),
        "withheld": [
            {key: row[key] for key in ("k", "plan", "epsilon", "withheld")}
            for row in rows
            if "withheld" in row
        ],
        "truth outside": [row for row in proved if not row["held"]],
        "wider than 1e-11": [row["k"] for row in proved if not row["tight"]],
        "median seconds of a proof": seconds[len(seconds) // 2] if seconds else None,
    }


def main() -> None:
    """Judge a range of plans, or write the summary."""
    path = Path(sys.argv[1])
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if "--summary" in sys.argv:
        SUMMARY.write_text(json.dumps(summary(rows), indent=1) + "\n")
        return
    if "--again" in sys.argv:
        path.write_text("".join(json.dumps(held(row)) + "\n" for row in rows))
        return
    first, last = (int(word) for word in sys.argv[2:4]) if len(sys.argv) > 3 else (0, PLANS)
    done = {row["k"] for row in rows}
    with path.open("a") as file:
        for k in range(first, last):
            if k not in done:
                file.write(json.dumps(judge(k)) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
