"""The parts of the bounds that reach far out: eq. (6), (12), (13), the normal tail, eq. (19)."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import acb, arb

from dpacct.proof import branches
from dpacct.proof.balls import precision
from dpacct.proof.branches import Branch, PanelRule
from dpacct.proof.gaussian import mills_ratio, normal_tail
from dpacct.proof.half_gaussian import SymmetricGaussian
from dpacct.proof.hill import hill_pieces, hill_top
from dpacct.proof.laplace import PLAIN, REMOVE, SYMMETRIC, LaplaceStep
from dpacct.proof.whole import largest_loss, top_outcome


@pytest.mark.parametrize("bits", [60, 500, 3000])
def test_the_normal_tail_far_out(bits: int) -> None:
    for x in (200.5, 300.0, 5000.0):
        with precision(2 * bits + 200):
            exact = (arb(x) / arb(2).sqrt()).erfc() / 2
        with precision(bits):
            found = normal_tail(arb(x))
            assert found.overlaps(exact)
            assert found.rad() < found * arb(2) ** (20 - bits)
    with precision(60):  # Mills' ratio lies between 1/x - 1/x^3 and 1/x, also where arb gives up
        assert 1e-7 * (1 - 1e-13) < mills_ratio(arb(10) ** 7) < 1e-7


def test_hill_tops_eq_6() -> None:
    """The top over a chord is above the function itself, everywhere on the piece."""
    draw = random.Random(6)
    for _ in range(60):
        mu, rate, power = draw.uniform(0.01, 2), 10 ** draw.uniform(-6, -0.1), draw.uniform(1, 400)

        def log_r(x: float, mu: float = mu, rate: float = rate) -> float:
            return math.log1p(rate * math.expm1(mu * x - mu * mu / 2))

        a = draw.uniform(0.1, 60)
        b = a + draw.uniform(0.05, 3)
        top = hill_top(arb(a), arb(b), arb(power * log_r(a)), arb(power * log_r(b)))
        for k in range(21):
            x = a + (b - a) * k / 20
            assert power * log_r(x) - x * x / 2 <= top.upper() + 1e-9


def test_hill_pieces_leave_no_gap() -> None:
    pieces = list(hill_pieces(arb(3), arb(50), arb(0.7)))
    for (_, end), (start, _) in itertools.pairwise(pieces):
        assert end is not None
        assert end.is_exact()
        assert bool(end == start)
    last, none = pieces[-1]
    assert none is None
    assert last > 50 * 0.7 + 1


def branch(rate: float, slope: float, favoured: bool) -> Branch:
    zero = arb(0)
    return Branch(arb(-2), arb(2), zero, -arb(1) / 2, 0, arb(slope), zero, arb(rate), favoured)


def test_the_size_on_an_ellipse_eq_12() -> None:
    """|e^W r^{..}| on the box is nowhere above the bound, at any rate: |arg r|, |r| from both sides."""
    draw = random.Random(12)
    with precision(120):
        for k in range(80):
            one = branch(10 ** draw.uniform(-7, -0.02), draw.uniform(0.1, 1.2), k % 2 == 0)
            low = draw.uniform(-2, 1)
            high, height = low + draw.uniform(0.01, 1), draw.uniform(0.01, 2.4)
            y, t = 10 ** draw.uniform(-1, 3), 10 ** draw.uniform(-1, 3)
            bound = one.log_size((arb(low), arb(high), arb(height)), arb(y), arb(t))
            if not bound.is_finite():
                continue
            for _ in range(25):
                z = acb(draw.uniform(low, high), draw.uniform(-height, height))
                log_r = (1 + one.rate * ((one.slope * z - one.offset).exp() - 1)).log()
                s = acb(y, t)
                value = one.log_weight(z) + ((s + 1) * log_r if one.favoured else -s * log_r)
                assert value.real <= bound.upper() + 1e-20


def test_what_an_infinite_branch_leaves_out_eq_13() -> None:
    with precision(120):
        c = arb(40)
        for sigma, rate, end in (("1.5", "0.01", 9.0), ("3", "0.2", 8.0), ("1", "0.0001", 6.0)):
            law = SymmetricGaussian(Fraction(sigma) ** 2, Fraction(rate))
            for one in law.parts().branches:
                bound = branches._beyond(one, arb(end), c)
                total, step = arb(0), arb(1) / 64
                for k in range(64 * 70):  # midpoints: the integrand is smooth
                    x = arb(end) + (k + arb(1) / 2) * step
                    power = (c + 1) if one.favoured else -c
                    total += step * (one.log_weight(x) + power * one.log_r(x)).exp()
                assert total * (1 - 1e-3) <= bound


PANELS = PanelRule((6, 6), (10.0, 8.0), 24, 3.0, 40, (7.0, 4.0))


def test_without_the_half_line_s_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eq. (13) dropped: the moment of a half-line cut short is too small."""
    law = SymmetricGaussian(Fraction(1), Fraction(1, 20))
    with precision(120):
        truth = law.prepare(arb(6), replace(PANELS, ends=(22.0, 14.0), panels=(20, 14))).at_c
        short = replace(PANELS, ends=(6.2, 2.5), nodes=40)
        assert law.prepare(arb(6), short).at_c.overlaps(truth)
        monkeypatch.setattr(branches, "_beyond", lambda *_: arb(0))
        assert not law.prepare(arb(6), short).at_c.overlaps(truth)


@pytest.mark.parametrize("kind", [PLAIN, REMOVE, SYMMETRIC])
def test_the_largest_loss_alone_eq_19(kind: str) -> None:
    """A lower bound of delta, and near the largest loss all of it; twice as much is too much."""
    rate = Fraction(1) if kind == PLAIN else Fraction(1, 3)
    law = LaplaceStep(Fraction(2), rate, kind)
    with precision(200):
        for part in (0.2, 0.9, 0.999999):
            e = largest_loss(((law, 1),)) * part
            least, delta = top_outcome(((law, 1),), e), law.one_step(e)
            assert least <= delta
            assert 2 * least > delta or part < 0.99
    plain = LaplaceStep(Fraction(1, 2), Fraction(1), PLAIN)
    with precision(400):
        e = largest_loss(((plain, 5),)) * arb("0.99999")
        exact = plain.repeated(5, e)
        assert exact is not None
        assert exact * 0.999 < top_outcome(((plain, 5),), e) <= exact
