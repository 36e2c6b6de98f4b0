"""Plans of few outcomes: every end of delta and of epsilon against a list of all outcomes in 60 digits."""

import mpmath
import numpy as np
import pytest

import dpacct as dp
from tests.pld.small_plans import (
    DIGITS,
    Part,
    delta,
    questions,
    random_part,
    response_beside_pure,
)

SEED = 15


def within(part: Part, epsilon: str, method: str) -> dp.Answer:
    """Delta's ends hold the truth."""
    exact = delta(part, epsilon)
    answer = part.plan.delta(epsilon=epsilon, method=method)
    assert answer.lower is not None and answer.upper is not None
    assert mpmath.mpf(answer.lower) <= exact <= mpmath.mpf(answer.upper)
    return answer


@pytest.mark.parametrize("index", range(40))
@pytest.mark.parametrize("method", ["exact", "bracket"])
def test_ends_hold_the_truth(index: int, method: str) -> None:
    draw = np.random.default_rng((SEED, index))
    with mpmath.workdps(DIGITS):
        part = random_part(draw)
        for asked in questions(draw, part):
            within(part, asked, method)
            exact = delta(part, asked)
            if not 0 < exact < 1:
                continue
            target = mpmath.nstr(exact, 17)
            answer = part.plan.epsilon(delta=target, method=method)
            assert answer.lower is not None and answer.upper is not None
            lower, upper, least = (mpmath.mpf(x) for x in (answer.lower, answer.upper, target))
            # where no epsilon will do, no number below is one; where one will, none above is needed
            assert lower == 0 or delta(part, mpmath.nstr(lower, 40)) >= least * (1 - 1e-40)
            assert upper == mpmath.inf or delta(part, mpmath.nstr(upper, 40)) <= least * (1 + 1e-40)


@pytest.mark.parametrize("method", ["auto", "exact", "bracket"])
def test_a_failure_that_decides_alone(method: str) -> None:
    """Nearly all of this delta is an open failure: its rounding was charged to nobody."""
    run = dp.Poisson("0.03737")(dp.ApproxDP(epsilon="0.4544", delta="1.674e-8")) * 2
    run += dp.Participation("0.9591")(dp.PureDP(epsilon="0.01832"))
    answer = run.delta(epsilon="1.798", method=method)
    with mpmath.workdps(DIGITS):
        failing = mpmath.mpf("0.03737") * mpmath.mpf("1.674e-8")
        # epsilon is above all finite losses
        exact = 1 - (1 - failing) ** 2
        assert answer.lower is not None and answer.upper is not None
        assert answer.lower <= exact <= answer.upper
        assert answer.upper - answer.lower < 1e-13 * exact


@pytest.mark.parametrize(
    ("method", "within"), [("auto", 1e-11), ("exact", 1e-4), ("bracket", 1e-4)]
)
def test_an_epsilon_next_to_the_largest_loss(method: str, within: float) -> None:
    """Truth 1.49999999992692."""
    with mpmath.workdps(DIGITS):
        part = response_beside_pure("0.09404", 10, "1.092e-9", "1.5")
        answer = part.plan.epsilon(delta="6.255e-11", method=method)
        assert answer.lower is not None and answer.upper is not None
        least = mpmath.mpf("6.255e-11")
        assert delta(part, mpmath.nstr(mpmath.mpf(answer.lower), 40)) >= least
        assert delta(part, mpmath.nstr(mpmath.mpf(answer.upper), 40)) <= least
        assert answer.upper - answer.lower < within
