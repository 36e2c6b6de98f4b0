"""Proofs of two-level epsilons: they hold where the engine does, and nowhere else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dpacct as dp
from dpacct.federated import PriFedSync
from dpacct.federated.prifedsync import Rounds
from dpacct.papers.formulas.federated_fdp import theorem1_gaussian
from tests.cli.runner import line

DELTA = Fraction(1, 10**5)


def plan(**changed: Any) -> PriFedSync:
    arguments: dict[str, Any] = {
        "clients": 9,
        "client_rate": "0.3",
        "batch_size": 60,
        "records": 60,
        "local_steps": 2,
        "rounds": 12,
        "sigma": 3,
    }
    return PriFedSync(**(arguments | changed))


def whole(federated: PriFedSync, ask: Any, epsilon: float) -> bool:
    rounds = Rounds(lambda k: federated.local() * k, federated.client_rate, federated.rounds)
    result: bool = ask(rounds, Fraction(epsilon), DELTA)
    return result


def test_a_proof_holds_at_the_closed_form_and_no_lower() -> None:
    """Whole batches: delta is `theorem1_gaussian`, so the epsilon of a proof can be checked by it."""
    federated = plan()
    answer = federated.strong(delta=DELTA, prove=True)
    assert answer.strength is dp.Strength.PROVED and answer.side is dp.Side.TWO_SIDED
    assert answer.lower is not None and answer.upper is not None
    assert answer.upper - answer.lower < 1e-7 * answer.upper
    mu = 2**0.5 / 3.0
    low, high = (theorem1_gaussian(mu, 0.3, 12, end) for end in (answer.lower, answer.upper))
    assert high <= 1e-5 <= low
    # a part in a million below nothing is proven above, and the other way round
    assert whole(federated, Rounds.above, answer.upper) and not whole(
        federated, Rounds.above, answer.lower * (1 - 1e-6)
    )
    assert whole(federated, Rounds.below, answer.lower) and not whole(
        federated, Rounds.below, answer.upper * (1 + 1e-6)
    )


@pytest.mark.parametrize("delta", ["0.2", "1e-5", "1e-12"])
def test_a_proof_is_the_engines_answer_and_a_hair(delta: str) -> None:
    federated = plan(batch_size=12, local_steps=20, rounds=6)
    engine, proof = federated.strong(delta=delta), federated.strong(delta=delta, prove=True)
    assert proof.strength is dp.Strength.PROVED
    assert engine.upper is not None and proof.upper is not None
    assert engine.upper <= proof.upper <= engine.upper * (1 + 2e-8)
    assert engine.lower is not None and proof.lower is not None
    assert engine.lower * (1 - 2e-8) <= proof.lower <= engine.lower
    weak = federated.weak(delta=delta, prove=True)
    assert weak.upper == proof.upper and weak.lower is not None and weak.lower <= proof.lower
    loose = federated.weak(delta=delta).lower
    assert loose is not None
    assert loose == weak.lower == 0.0 or loose * (1 - 2e-8) <= weak.lower < loose


class Enclosed:
    """Stands for a plan of k rounds whose delta is only known to lie between two numbers."""

    def __init__(self, ends: tuple[float, float]) -> None:
        self.ends = ends

    def delta(self, *, epsilon: Fraction, method: str) -> dp.Answer:
        assert method == "certified"
        low, high = self.ends
        return dp.Answer(
            quantity="delta",
            value=high,
            lower=low,
            upper=high,
            side=dp.Side.TWO_SIDED,
            strength=dp.Strength.PROVED,
            method=method,
        )


def judged(ask: Any, ends: dict[int, tuple[float, float]], rate: Fraction, delta: Fraction) -> bool:
    plans: Any = {k: Enclosed(pair) for k, pair in ends.items()}
    result: bool = ask(Rounds(plans.__getitem__, rate, max(ends)), Fraction(1), delta)
    return result


def test_a_proof_takes_the_worse_end_of_each_delta() -> None:
    """Two rounds of p = 1/2: 1/2 delta_1 + 1/4 delta_2."""
    ends = {1: (0.125, 0.375), 2: (0.25, 0.5)}
    half, hair = Fraction(1, 2), Fraction(1, 10**12)
    most, least = Fraction(5, 16), Fraction(1, 8)
    assert judged(Rounds.above, ends, half, most) and not judged(
        Rounds.above, ends, half, most - hair
    )
    assert judged(Rounds.below, ends, half, least) and not judged(
        Rounds.below, ends, half, least + hair
    )


def test_what_a_proof_leaves_out_is_charged() -> None:
    """Small deltas of few rounds, and rounds so many that they hardly happen."""
    tiny = 2.0**-40
    ends = {1: (tiny, tiny), 2: (0.5, 0.5)}
    half, eighth = Fraction(1, 2), Fraction(1, 8)
    assert not judged(Rounds.above, ends, half, eighth)
    assert judged(Rounds.above, ends, half, eighth + Fraction(3, 4) * Fraction(tiny))
    rare, ends = Fraction(1, 10**10), {1: (0.5, 0.5), 2: (0.5, 0.5)}
    once = 2 * rare * (1 - rare) / 2
    assert not judged(Rounds.above, ends, rare, once)
    assert judged(Rounds.above, ends, rare, once + rare**2)


def test_what_is_proven_already_stays() -> None:
    federated = plan(client_rate=1)
    assert federated.strong(delta=DELTA, prove=True) == federated.strong(delta=DELTA)
    secret = plan(participation="secret").strong(delta=DELTA, prove=True)
    assert secret.strength is dp.Strength.PROVED and secret.lower is None


def test_on_the_command_line() -> None:
    words = (
        "federated --clients 9 --client-rate 0.3 --batch-size 60 --records 60 --local-steps 2"
        " --rounds 12 --delta 1e-5"
    )
    done = line(f"{words} --sigma 3 --prove --json")
    assert done.code == 0, done.stderr
    assert {r["epsilon"]["strength"] for r in done.json["routes"] if r["name"] == "two-level"} == {
        "proved"
    }
    for wrong in (f"{words} --eps 3 --prove", "federated --algorithm dp-fed --prove --delta 1e-5"):
        refused = line(wrong)
        assert refused.code == 2 and "--prove" in refused.stderr
