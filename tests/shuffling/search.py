"""Search for a bound of a shuffle that lies below the truth.

Random eps0-DP randomisers (mostly extreme ones) and randomised responses, few clients, whatever the others
hold, the histogram enumerated; and for the closed forms, which need hundreds of clients, the count of
shuffled binary randomised response at the epsilon they promise.
"""

import math
from collections.abc import Iterator
from random import Random
from typing import Any

from dpacct.shuffling import bounds
from dpacct.shuffling.count import Count, Inputs
from dpacct.shuffling.letters import Letters
from tests.shuffling.enumeration import delta, random_rows, response

_LEAST = 1e-9  # truths below are rounding


def plan(rng: Random) -> dict[str, Any]:
    """One random plan: who sends what, and the epsilon that is asked."""
    clients = rng.choice((1, 2, 2, 3, 3, 4, 5, 6))
    eps0 = math.exp(rng.uniform(-3.0, 1.8))
    kind = rng.choice(("any", "any", "response"))
    k = rng.randint(2, 5)
    rows = (
        response(k, eps0)
        if kind == "response"
        else random_rows(rng, rng.randint(2, 4), rng.randint(1, 3), eps0)
    )
    rate = 1.0 if rng.random() < 0.6 else rng.uniform(0.05, 1.0)
    first, second = rng.sample(range(len(rows)), 2)
    others = [rng.randrange(len(rows)) for _ in range(clients - 1)]
    if rate < 1.0:  # a client that does not take part sends the letter "nothing"
        rows = [[rate * x for x in row] + [1.0 - rate] for row in rows]
    return {
        "clients": clients,
        "eps0": eps0,
        "answers": k if kind == "response" else 0,
        "rate": rate,
        "epsilon": eps0 * rng.random() ** 1.5,
        "one": rows[first],
        "other": rows[second],
        "others": [rows[i] for i in others],
    }


def truth(case: dict[str, Any]) -> float:
    """Delta of the plan, enumerated."""
    return delta(case["one"], case["other"], case["others"], case["epsilon"])


def claims(case: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """(name, log delta) of each upper bound at the plan's epsilon."""
    n, eps0, answers, rate = case["clients"], case["eps0"], case["answers"], case["rate"]
    at = case["epsilon"]
    numeric = [Letters(n, eps0, 0, rate)]
    if answers:
        numeric.append(Letters(n, eps0, answers, rate))
    if rate == 1.0:
        numeric.append(Letters(n, eps0, clones=True))
    for letters in numeric:
        bound = bounds.numeric(letters, upper=True)
        yield bound.name, bound.log_delta(at)
    yield "local", bounds.local(eps0).log_delta(at)
    if rate == 1.0:
        for bound in bounds.closed_forms(eps0, n, answers):
            if bound.name.startswith("balle"):
                yield bound.name, bound.log_delta(at)
        if answers == 2:
            yield "count", Inputs(n, eps0).log_delta(at)[1]


def promised(rng: Random) -> Iterator[tuple[str, float]]:
    """(name, log(delta asked / delta of shuffled binary response)) at the epsilon of each closed form."""
    asked = 10.0 ** rng.uniform(-8.0, -0.5)
    eps0 = math.exp(rng.uniform(-3.0, 1.2))
    least = 8.0 * math.log(4.0 / asked) * (math.exp(eps0) + 1.0)
    clients = math.ceil(least * math.exp(rng.choice((0.0, rng.uniform(0.0, 2.5)))))
    for bound in bounds.closed_forms(eps0, clients, 0):
        epsilon = bound.epsilon(math.log(asked))
        if epsilon < eps0 and clients < 50_000:
            true = math.exp(Count(clients, eps0).log_delta(epsilon))
            if true > 1e-12:
                yield bound.name, math.log(asked / true)


def search(plans: int, seed: int) -> dict[str, Any]:
    """Least log(bound / truth) of each bound, and how many plans it was judged at."""
    rng = Random(seed)
    worst: dict[str, float] = {}
    judged: dict[str, int] = {}
    for _ in range(plans):
        case = plan(rng)
        true = truth(case)
        for name, log_delta in claims(case) if true >= _LEAST else ():
            margin = log_delta - math.log(true)
            judged[name] = judged.get(name, 0) + 1
            worst[name] = min(worst.get(name, math.inf), margin)
        for name, margin in promised(rng):
            judged[name] = judged.get(name, 0) + 1
            worst[name] = min(worst.get(name, math.inf), margin)
    return {"judged": judged, "least_log_ratio": worst}
