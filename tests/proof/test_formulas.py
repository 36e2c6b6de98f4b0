"""Each bound of a proof beside its own formula in docs/theory/certificate.md, in 40 digits of mpmath.

A bound that holds with room to spare passes every test against truth when a constant of it is changed (1/(2t)
to 1/(3t)); it does not pass these.
"""

from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import pytest
from flint import arb

from dpacct.proof.balls import precision
from dpacct.proof.law import ProofBranch, Weight, add, exchange, remove
from dpacct.proof.line import Contour, TabulatedLine, payoff_peak
from dpacct.proof.moments import (
    Layers,
    NormalProofMoments,
    ProofMoments,
    beyond,
    cell_tops,
    log_size,
    panels_of,
)
from dpacct.proof.rule import LineRule, PanelRule
from tests.proof.plans import fine, normal, panels, prepared, spaced

BITS = 200
MU, STEPS, EPSILON = Fraction(1, 2), 3, Fraction(7, 10)


def number(ball: arb) -> mp.mpf:
    """The middle of a ball, with more digits than are compared."""
    return mp.mpf(ball.mid().str(55, radius=False))


def agree(ball: arb, formula: mp.mpf) -> None:
    assert abs(number(ball) - formula) <= mp.mpf("1e-38") * abs(formula)


def log_moment(y: mp.mpf) -> mp.mpf:
    """Of STEPS releases of N(MU, 1) against N(0, 1): mu^2 y (y + 1)/2 each."""
    return STEPS * mp.mpf(MU.numerator) ** 2 / MU.denominator**2 * y * (y + 1) / 2


def line(doublings: int, down: float = 1.5) -> TabulatedLine:
    law = NormalProofMoments(arb(MU.numerator) ** 2 / MU.denominator**2, arb(4))
    return TabulatedLine([(law, STEPS)], Contour(4.0, 0.75, 3, 2.5, down, doublings))


@pytest.mark.parametrize("doublings", [0, 1, 5])
def test_the_tail_is_eq_3(doublings: int) -> None:
    """(M(c)/pi) [sum over j < J of e^{-D(t_j)} (1/t_j - 1/t_{j+1}) + e^{-D(t_J)}/t_J], D = T mu^2 t^2/2."""
    with precision(BITS), mp.workdps(50):
        t = [mp.mpf(3) * mp.mpf("0.75") * 2**j for j in range(doublings + 1)]
        fall = [mp.exp(-STEPS * mp.mpf("0.25") * each**2 / 2) for each in t]
        parts = [fall[j] * (1 / t[j] - 1 / t[j + 1]) for j in range(doublings)]
        formula = mp.exp(log_moment(mp.mpf(4))) / mp.pi * (mp.fsum(parts) + fall[-1] / t[-1])
        made = line(doublings)
        agree(made._decays, formula)
        epsilon = mp.mpf(EPSILON.numerator) / EPSILON.denominator
        tail = made.terms(arb(EPSILON.numerator) / EPSILON.denominator)["tail"]
        agree(tail, formula * mp.exp(-4 * epsilon))


def peak(y: mp.mpf) -> mp.mpf:
    return y**y / (1 + y) ** (1 + y)


@pytest.mark.parametrize("down", [0.0, 1.5])
def test_the_copies_are_eq_2(down: float) -> None:
    """B(c+a)/(e^{2 pi a/h} - 1), B(c-a')/(e^{2 pi a'/h} - 1), or 1/(e^{2 pi c/h} - 1)."""
    with precision(BITS), mp.workdps(50):
        epsilon, h = mp.mpf(EPSILON.numerator) / EPSILON.denominator, mp.mpf("0.75")

        def copies(y: mp.mpf, a: mp.mpf) -> mp.mpf:
            size = mp.exp(log_moment(y) - y * epsilon) * peak(y)
            return size / mp.expm1(2 * mp.pi * a / h)

        said = line(2, down).aliasing(arb(EPSILON.numerator) / EPSILON.denominator)
        agree(said["aliasing above"], copies(mp.mpf("6.5"), mp.mpf("2.5")))
        below = copies(mp.mpf("2.5"), mp.mpf("1.5")) if down else 1 / mp.expm1(8 * mp.pi / h)
        agree(said["aliasing below"], below)


@pytest.mark.parametrize("y", ["0.01", "1", "40"])
def test_the_largest_payoff_is_eq_10(y: str) -> None:
    with precision(BITS), mp.workdps(50):
        agree(payoff_peak(arb(y)), peak(mp.mpf(y)))


def sampled(favoured: bool) -> tuple[ProofMoments, ProofBranch, LineRule]:
    """Gaussian noise at mu = 1/2 and rate 1/10, in one direction."""
    step = normal(MU, Fraction(1, 10), remove if favoured else add)
    moments = fine(step, 3.0)
    (branch,), (chosen,) = moments.law.branches, moments.rule.branches
    assert isinstance(branch, ProofBranch) and isinstance(chosen.nodes, LineRule)
    assert branch.favoured is favoured
    return moments, branch, chosen.nodes


@pytest.mark.parametrize("shift", [0.3, 0.9])
@pytest.mark.parametrize("favoured", [True, False])
def test_a_rule_s_step_is_eq_4(favoured: bool, shift: float) -> None:
    """(1 + e^{4 g y^2} G)/(e^{2 pi y/eta} - 1), relative to M(c); (1-q)^-c may replace G M(c) if 4y < pi."""
    with precision(BITS), mp.workdps(50):
        moments, branch, _ = sampled(favoured)
        rule, tilt = LineRule(shift, 0.25, -8, 8), mp.mpf(3)
        y, g, q = mp.mpf(shift), number(branch.weight.growth), number(branch.share)
        decay, rise = 1 / mp.expm1(2 * mp.pi * y / mp.mpf("0.25")), mp.exp(4 * g * y * y)
        relative, absolute = moments.step_error(branch, rule, arb(3))
        steep, flat = mp.cos(y) ** -tilt, (1 - q) ** -tilt
        if favoured:
            agree(relative, decay * (1 + rise))
        elif 4 * y < mp.pi and flat < steep:
            agree(relative, decay)
            agree(absolute, decay * rise * flat)
        else:
            agree(relative, decay * (1 + rise * steep))


@pytest.mark.parametrize("step", [None, 0.25])
@pytest.mark.parametrize("favoured", [True, False])
def test_what_lies_beyond_is_eq_5_and_13(favoured: bool, step: float | None) -> None:
    """e^h/(-rho), or eta e^h/(1 - e^{eta rho}), where h falls from the first place on."""
    with precision(BITS), mp.workdps(50):
        _, branch, _ = sampled(favoured)
        weight, power = branch.weight, branch.power(arb(3))
        q, p = number(branch.share), number(power)
        a = mp.mpf(60)  # far out, where the bell falls faster than r^p rises

        def size(x: mp.mpf) -> mp.mpf:
            return number(weight.constant) + x * (number(weight.linear) - number(weight.square) * x)

        back = mp.mpf(float((1 / (1 + 2 * weight.growth)).sqrt().mid())) / 4
        chord = (size(a) - size(a - back)) / back
        growth = q * mp.exp(a)
        rho = chord + (p if p > 0 else p * growth / (1 - q + growth))
        assert rho < 0
        height = mp.exp(size(a) + p * mp.log(1 - q + growth))
        formula = height / -rho
        if step is not None:
            formula = step * height / -mp.expm1(mp.mpf(step) * rho)
        agree(beyond(branch, power, arb(60), 1, None if step is None else arb(step)), formula)


@pytest.mark.parametrize("shift", [0.2, 1.2])
@pytest.mark.parametrize("favoured", [True, False])
def test_what_a_window_leaves_out_is_eq_22(favoured: bool, shift: float) -> None:
    """e^{g y^2} times (5) and (6) on both sides; mirrored: the lesser of two factors."""
    with precision(BITS), mp.workdps(50):
        moments, branch, rule = sampled(favoured)
        # on the left r is no more than 1 - q: far to the left the first factor is the lesser
        rule = replace(rule, shift=shift, first=3 * rule.first)
        y, g, q = mp.mpf(rule.shift), number(branch.weight.growth), number(branch.share)
        step = arb(rule.step)
        ends = ((rule.first * step, -1), (rule.last * step, 1))

        def both(power: arb) -> mp.mpf:
            return mp.fsum(number(beyond(branch, power, x, side, step)) for x, side in ends)

        formula = both(branch.power(arb(3)))
        if not favoured:
            formula *= mp.cos(y / 2) ** -3
            if 2 * y < mp.pi:
                formula = min(formula, both(arb(0)) * (1 - q) ** -3)
        agree(moments.cut(branch, rule, arb(3)), mp.exp(g * y * y) * formula)


PANELLED = {
    "remove": spaced(1, Fraction(1, 3), remove),
    "add": spaced(1, Fraction(1, 3), add),
    "exchange": normal(2, Fraction(1, 5), exchange),
}


@pytest.mark.parametrize("name", PANELLED)
@pytest.mark.parametrize("frequency", [0.0, 5.0])
def test_panels_are_eq_12(name: str, frequency: float) -> None:
    """64/15 w K rho^{-2n}/(1 - rho^-2), K the bound on the box about the ellipse."""
    with precision(BITS), mp.workdps(50):
        step = PANELLED[name]
        moments = prepared(step, 2, panels(step, 12, 60, 2.0, (17.0, 17.0)))
        for branch, chosen in zip(moments.law.branches, moments.rule.branches, strict=True):
            rule = chosen.nodes
            assert isinstance(rule, PanelRule) and isinstance(branch, ProofBranch)
            rho, q, total = mp.mpf(rule.rho), number(branch.share), mp.mpf(0)
            wide, tall, weight = (rho + 1 / rho) / 2, (rho - 1 / rho) / 2, branch.weight
            for middle, half in panels_of(branch, rule):
                m, w = number(middle), number(half)
                low, high, height = m - w * wide, m + w * wide, w * tall
                size = [number(weight(arb(mp.nstr(x, 55)))) for x in (m, low, high)]
                top = max(size[0], 2 * size[0] - size[1], 2 * size[0] - size[2])
                top += number(weight.growth) * height**2
                share = q * mp.exp(high) / (1 - q)
                turn, dip = height, mp.sin(height / 2) ** 2
                if share < 1:
                    sine = mp.sin(height) if height < mp.pi / 2 else mp.mpf(1)
                    turn, dip = min(turn, mp.asin(share * sine)), dip * 4 * share / (1 + share) ** 2
                top += frequency * turn
                if branch.favoured:
                    top += 3 * mp.log(1 - q + q * mp.exp(high))
                else:
                    top -= 2 * (mp.log(1 - q + q * mp.exp(low)) + mp.log1p(-dip) / 2)
                box = tuple(arb(mp.nstr(x, 55)) for x in (low, high, height))
                assert abs(number(log_size(branch, box, arb(2), arb(frequency))) - top) < 1e-35
                total += w * mp.exp(top)
            formula = mp.mpf(64) / 15 * total * rho ** (-2 * rule.nodes) / (1 - rho**-2)
            said = number(moments.panel_error(branch, rule, arb(2), arb(frequency)))
            if branch.end is None:
                said -= number(beyond(branch, branch.power(arb(2)), arb(rule.end), 1))
            assert abs(said - formula) < mp.mpf("1e-30") * formula


@pytest.mark.parametrize("linear", [-3, 3])
def test_a_density_that_rises_or_falls_is_bounded_by_its_chords(linear: int) -> None:
    """K of eq. (12), unsampled: max(W(m), 2 W(m) - W(l), 2 W(m) - W(h)) + g H^2 + t H + (c + 1) h."""
    with precision(BITS), mp.workdps(50):
        weight = Weight(arb(0), arb(linear), arb(1) / 2)
        branch = ProofBranch(arb(0), arb(2), weight)
        said = log_size(branch, (arb(0), arb(2), arb(1) / 2), arb(2), arb(3))
        size = [mp.mpf(linear) * x - mp.mpf(x * x) / 2 for x in (0, 1, 2)]
        top = max(size[1], 2 * size[1] - size[0], 2 * size[1] - size[2])
        agree(said, top + mp.mpf(1) / 8 + mp.mpf(3) / 2 + 6)


@pytest.mark.parametrize("t", ["0.09", "1", "3", "9", "200"])
def test_layers_are_eq_7(t: str) -> None:
    """-log(1 - sum alpha_k (1 - S(t w_k/2))), S by its four stretches."""

    def flat(u: mp.mpf) -> mp.mpf:
        if u < mp.mpf(1) / 4:
            return u**2 / 6 - u**4 / 120
        return 1 - (mp.sinc(u) if u < 2.5 else mp.sinc(mp.mpf("2.5")) if u < 4.6 else 1 / u)

    with precision(BITS), mp.workdps(50):
        masses, widths = ("0.3", "0.25", "0.2"), ("0.2", "1.7", "5")
        made = Layers(tuple(map(arb, masses)), tuple(map(arb, widths)))
        lost = [
            mp.mpf(a) * flat(mp.mpf(t) * mp.mpf(w) / 2) for a, w in zip(masses, widths, strict=True)
        ]
        agree(made.deficit(arb(t)), -mp.log1p(-mp.fsum(lost)))


@pytest.mark.parametrize("favoured", [True, False])
def test_damping_is_eq_8(favoured: bool) -> None:
    """A cell adds (b - a) e^{g y^2 + sup W} |r(x* + iy)|^p, and turns by arg r(a + iy)."""
    with precision(BITS), mp.workdps(50):
        moments, branch, _ = sampled(favoured)
        masses, angles, outside = moments._damping
        (grid,), lift = moments.rule.damped, mp.mpf(moments.rule.lift)
        q, p, weight = number(branch.share), number(branch.power(arb(3))), branch.weight
        points, width = grid.points(), arb(grid.step)
        tops = cell_tops([weight(x) for x in (points[0] - width, *points, points[-1] + width)])
        r = [1 - q + q * mp.exp(mp.mpc(number(x), lift)) for x in points]
        assert len(masses) == grid.count
        for j in range(0, grid.count, 17):
            rise = number(weight.growth) * lift**2 + number(tops[j])
            size = abs(r[j + 1] if p > 0 else r[j]) ** p
            agree(masses[j], number(width) * mp.exp(rise) * size)
            agree(angles[j], mp.arg(r[j]))
        for t in (1.0, 20.0):
            turned = [
                number(m) * mp.exp(-t * number(a)) for m, a in zip(masses, angles, strict=True)
            ]
            size = (mp.fsum(turned) + number(outside)) / number(moments.at_c.lower())
            if size < 1:
                agree(moments.damped(arb(t)), -mp.log(size))
