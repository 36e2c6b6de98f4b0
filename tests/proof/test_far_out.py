"""The parts of the bounds that reach far out: eq. (6), (12), (13), the normal tail, eq. (19)."""

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import acb, arb

from dpacct.proof import moments
from dpacct.proof.balls import precision
from dpacct.proof.closed import largest_loss, top_outcome
from dpacct.proof.law import (
    Law,
    ProofBranch,
    Weight,
    exchange,
    mills_ratio,
    normal_tail,
    plain,
    remove,
)
from dpacct.proof.moments import beyond, log_size
from tests.proof.plans import NAMES, normal, panels, prepared, spaced


@pytest.mark.parametrize("bits", [60, 500, 3000])
def test_the_normal_tail_far_out(bits: int) -> None:
    for x in (200.5, 300.0, 5000.0):
        with precision(2 * bits + 200):
            exact = (arb(x) / arb(2).sqrt()).erfc() / 2
        with precision(bits):
            result = normal_tail(arb(x))
            assert result.overlaps(exact)
            assert result.rad() < result * arb(2) ** (20 - bits)
    with precision(60):  # Mills' ratio lies between 1/x - 1/x^3 and 1/x, also where arb gives up
        assert 1e-7 * (1 - 1e-13) < mills_ratio(arb(10) ** 7) < 1e-7


def branches(draw: random.Random) -> ProofBranch:
    """Quadratic weights, sampled at any rate or not, either direction."""
    square = arb(draw.choice([0.0, draw.uniform(0.05, 2)]))
    weight = Weight(arb(0), arb(draw.uniform(-2, 0.5)), square)
    rate = draw.choice([None, arb(10 ** draw.uniform(-7, -0.02))])
    return ProofBranch(arb(-2), arb(2), weight, rate, draw.random() < 0.5)


def test_the_size_on_an_ellipse_eq_12() -> None:
    """|e^W r^{..}| on the box is nowhere above the bound, at any rate: |arg r|, |r| from both sides."""
    draw = random.Random(12)
    with precision(120):
        for _ in range(120):
            branch = branches(draw)
            low = draw.uniform(-2, 1)
            high, height = low + draw.uniform(0.01, 1), draw.uniform(0.01, 2.4)
            y, t = 10 ** draw.uniform(-1, 3), 10 ** draw.uniform(-1, 3)
            bound = log_size(branch, (arb(low), arb(high), arb(height)), arb(y), arb(t))
            if not bound.is_finite():
                continue
            for _ in range(25):
                z = acb(draw.uniform(low, high), draw.uniform(-height, height))
                log_r = z if branch.rate is None else (1 + branch.rate * (z.exp() - 1)).log()
                s = acb(y, t)
                value = branch.weight(z) + ((s + 1) * log_r if branch.favoured else -s * log_r)
                if value.is_finite():
                    assert value.real.lower() <= bound.upper() + 1e-20


def test_what_is_left_out_beyond_a_place_eq_5_6_13_22() -> None:
    """Sums and integrals of e^W r^power, left and right of any place, across hills far out."""
    draw = random.Random(13)
    held = 0
    with precision(120):
        for k in range(90):
            branch = branches(draw)
            if not branch.weight.growth > 0:
                continue
            power = branch.power(arb(10 ** draw.uniform(-1, 1.5)))
            at, side = arb(draw.uniform(-4, 4)), draw.choice([-1, 1])
            step = arb(1) / 16
            bound = beyond(branch, power, at, side, step if k % 2 else None)
            if not bound.is_finite():
                continue
            held += 1
            total = arb(0)
            for j in range(16 * 60):
                # midpoints: the integrand is smooth
                z = at + side * step * (j + (0 if k % 2 else arb(1) / 2))
                total += step * (branch.weight(z) + power * branch.log_r(z)).exp()
            assert total.lower() * (1 - 2e-2) <= bound
    assert held > 30


def test_without_the_half_line_s_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eq. (13) dropped: the moment of a half-line cut short is too small."""
    step = normal(1, Fraction(1, 20), exchange)
    with precision(120):
        truth = prepared(step, 6, panels(step, 20, 24, 3.0, (22.0, 14.0))).at_c
        short = panels(step, 6, 40, 3.0, (5.7, 2.0))
        assert prepared(step, 6, short).at_c.overlaps(truth)
        monkeypatch.setattr(moments, "beyond", lambda *_: arb(0))
        assert not prepared(step, 6, short).at_c.overlaps(truth)


@pytest.mark.parametrize("how", (plain, remove, exchange), ids=lambda how: NAMES[how])
def test_the_largest_loss_alone_eq_19(how: Callable[..., Law]) -> None:
    """A lower bound of delta, and near the largest loss all of it; twice as much is too much."""
    law = spaced(2, 1 if how is plain else Fraction(1, 3), how)
    with precision(200):
        for part in (0.2, 0.9, 0.999999):
            e = largest_loss(((law, 1),)) * part
            least, delta = top_outcome(((law, 1),), e), law.one_step(e)
            assert least <= delta
            assert 2 * least > delta or part < 0.99
