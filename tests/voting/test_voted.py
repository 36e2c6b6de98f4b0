"""Given votes as a release of a plan: against enumeration, beside other releases, and its refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

import dpacct as dp
from dpacct.voting.argmax import laws
from dpacct.voting.votes import Histograms

VOTES = [[9, 4, 2], [5, 5, 1]]


def neighbours(made: dp.GNMax, row: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(P, Q) of one query's label, of the votes and each neighbour's, either way."""
    ready = Histograms.of(np.array([row]))
    result = laws(ready.counts, made.neighbouring, made.noise)
    for other in result.other:
        pair = np.exp(result.base[0]), np.exp(other)
        yield pair
        yield pair[::-1]


def composed(made: dp.GNMax, delta: Callable[[float], float]) -> float:
    """The largest delta over a choice of neighbour per query; `delta`: of what a loss leaves of epsilon."""
    worst = 0.0
    for (p, q), (r, s) in itertools.product(*(list(neighbours(made, row)) for row in VOTES)):
        joint, losses = np.outer(p, r), np.add.outer(np.log(p / q), np.log(r / s))
        total = sum(x * delta(float(loss)) for x, loss in zip(joint.flat, losses.flat, strict=True))
        worst = max(worst, total)
    return worst


@pytest.mark.parametrize("level", ["agent", "instance"])
def test_ends_hold_every_choice_of_neighbours(level: str) -> None:
    made = dp.GNMax(sigma=4, level=level)
    plan = made.on(VOTES)
    for epsilon in (0.02, 0.1, 0.25):
        answer = plan.delta(epsilon)
        # neighbours of both orders are mixed here, which no data sets are: at least what is realised
        most = composed(made, lambda loss, e=epsilon: max(0.0, -math.expm1(e - loss)))  # type: ignore[misc]
        assert answer.lower <= most * (1 + 1e-9)
        back = plan.epsilon(answer.upper)
        assert back.upper >= epsilon * (1 - 1e-3) and back.side is dp.Side.TWO_SIDED
        assert 0.0 < answer.lower <= answer.upper <= 3.0 * answer.lower


def test_votes_beside_noise_are_a_mixture() -> None:
    """Delta of labels and N(0, 4) together: the labels' losses shift what the noise may tell."""
    made, sigma = dp.GNMax(sigma=4, level="agent"), 2.0
    plan = made.on(VOTES) + dp.Gaussian(sigma=sigma)
    for epsilon in (0.2, 1.0):

        def noise(loss: float, left: float = epsilon) -> float:
            e = left - loss
            return float(
                ndtr(0.5 / sigma - e * sigma) - math.exp(e) * ndtr(-0.5 / sigma - e * sigma)
            )

        answer = plan.delta(epsilon, method="exact")
        assert answer.lower <= composed(made, noise) * (1 + 1e-9)
        assert answer.upper <= 1.2 * composed(made, noise)


def test_it_never_costs_more_than_any_votes_would() -> None:
    made = dp.GNMax(sigma=12, level="instance")
    rng = np.random.default_rng(4)
    votes = rng.multinomial(60, [0.6, 0.3, 0.1], 40)
    voted, whatever = made.on(votes), made * 40
    assert float(voted.epsilon(1e-5)) < float(whatever.epsilon(1e-5, method="exact"))
    both = voted + whatever
    assert float(voted.epsilon(1e-5)) < float(both.epsilon(1e-5, method="exact"))
    # each query's worst neighbour, but all in one order of the two data sets
    each = float(made.renyi(votes, 4).sum())
    assert 0.9 * each < voted.rdp(4.0) <= each * (1 + 1e-12)
    assert voted.private and any("private" in note for note in voted.epsilon(1e-5).notes)


def test_noise_for_given_votes_can_be_sought() -> None:
    votes = [[40, 3, 2], [20, 18, 7]] * 4
    calibrated = dp.calibrate(
        lambda s: dp.GNMax(sigma=s, level="agent").on(votes),
        epsilon=1,
        delta=1e-5,
        method="rdp",
        bounds=(1, 100),
        name="sigma",
    )
    assert float(dp.GNMax(sigma=calibrated.upper, level="agent").on(votes).epsilon(1e-5)) <= 1.0


def test_it_is_saved_with_its_votes() -> None:
    screened = dp.GNMax(sigma=4, threshold=8, threshold_sigma=3, level="agent")
    plan = screened.on(VOTES, baseline=[[1, 0.5, 0], [0, 0, 0.25]])
    again = dp.from_json(plan.to_json())
    assert again == plan and again.rdp(3.0) == plan.rdp(3.0)
    assert again != screened.on(VOTES)
    spread = dp.GNMax(sigma=20, neighbours=5, level="agent").on([[60, 20], [55, 25]])
    answer = spread.epsilon(1e-3)
    assert any("spread its vote" in line for line in answer.basis) and answer.lower < answer.upper


@pytest.mark.parametrize("queries", [2, 12])
def test_votes_that_are_given_twice_are_twice_the_queries(queries: int) -> None:
    """A plan of nothing but given votes is one stack of rows, however it is written."""
    made = dp.GNMax(sigma=20, level="agent")
    rng = np.random.default_rng(7)
    votes = rng.multinomial(60, [0.6, 0.3, 0.1], queries)
    once, whole = made.on(votes), made.on(np.concatenate((votes, votes))).epsilon(1e-5)
    for plan in (once * 2, once + made.on(votes[:1]) + made.on(votes[1:])):
        answer = plan.epsilon(1e-5)
        # hulls or divergences, whichever is less for the plan; of one run whichever is for each order
        assert whole.upper * (1 - 1e-6) <= answer.upper <= 1.05 * whole.upper  # type: ignore[operator]
        assert answer.lower == pytest.approx(whole.lower, rel=1e-2)
        back = plan.delta(answer.upper, method="exact")
        assert back.lower <= 1e-5 * (1 + 1e-3) and back.upper >= 1e-5 * (1 - 1e-2)


def test_an_agent_may_leave_where_no_class_has_its_whole_vote() -> None:
    """One voter of three neighbours, a label each: nothing is realised by its leaving, and joining counts."""
    made = dp.GNMax(sigma=4, neighbours=3, level="agent")
    alone = made.on([[1, 1, 1]]).epsilon(1e-3)
    assert 0.0 < alone.lower < alone.upper == made.cost([[1, 1, 1]], 1e-3).exact.upper  # type: ignore[operator, union-attr]
    assert made.on([[1, 1, 1], [3, 0, 0]]).epsilon(1e-3).upper > alone.upper


def test_what_it_cannot_do_is_said() -> None:
    plan = dp.GNMax(sigma=4, level="agent").on(VOTES)
    with pytest.raises(dp.Unsupported, match="its votes are fixed"):
        dp.Poisson("0.1")(plan).epsilon(1e-5)
    with pytest.raises(dp.Unsupported, match="margins"):
        dp.GNMax(sigma=Fraction(1, 4)).on([[1000, 0]]).epsilon(1e-5)
    with pytest.raises(dp.InvalidArgument, match="baseline"):
        dp.GNMax(sigma=4).on(VOTES, baseline=VOTES)
    with pytest.raises(dp.InvalidArgument, match="gnmax or lnmax"):
        dp.from_dict(
            {"schema": 1, "node": "voted", "of": {"node": "laplace", "b": "1"}, "votes": VOTES}
        )
