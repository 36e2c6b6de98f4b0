"""Each theorem and lemma of docs/theory/bracket.md against mpmath at 40 digits."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpacct.pld.bracket.laws import Measure, cut, first_top, law_above, law_below
from dpacct.pld.bracket.line import (
    NATS,
    SmoothedContour,
    SumOfMeasures,
    by_moments,
    decided_above,
    decided_below,
    direct,
    direct_error,
    fast,
    nil_from,
    window,
)
from dpacct.pld.loss import gaussian
from dpacct.pld.pieces import Cut, Pieces
from dpacct.pld.stable import Floats

DIGITS = 40
FEW = settings(max_examples=40, deadline=None)


def points(losses: Floats, masses: Floats, count: float) -> Measure:
    """A law of points, none set apart."""
    none = np.zeros(losses.size)
    return Measure(count, losses, masses, none, (0.0, 0.0, 0.0), math.inf, 0.0, 0.0)


def pairs(losses: Floats, masses: Floats) -> list[tuple[mp.mpf, mp.mpf]]:
    return [(mp.mpf(at), mp.mpf(m)) for at, m in zip(losses.tolist(), masses.tolist(), strict=True)]


def some_law(seed: int, size: int, wide: float) -> tuple[Floats, Floats]:
    draw = np.random.default_rng(seed)
    losses = np.sort(draw.normal(0.0, wide, size))
    masses = draw.exponential(1.0, size) * 10.0 ** draw.uniform(-8, 0, size)
    return losses, masses / masses.sum()


# --- Theorem 1: smooth weights


def weights(x: mp.mpf, v: mp.mpf) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """The weight below, (1 - e^{-x})_+, the weight above."""
    k = 1 + (v / 2) * mp.ncdf(v / 2) / mp.npdf(v / 2)
    above = mp.ncdf(x / v + v / 2) - mp.exp(-x) * mp.ncdf(x / v - v / 2)
    return above - v * k * mp.npdf(x / v + v / 2), max(1 - mp.exp(-x), mp.mpf(0)), above


@FEW
@given(log_v=st.floats(-8.0, 1.5), place=st.floats(-9.0, 9.0))
def test_the_weight_lies_between(log_v: float, place: float) -> None:
    with mp.workdps(DIGITS):
        v = mp.exp(mp.mpf(log_v))
        low, weight, high = weights(v * mp.mpf(place), v)
        assert low <= weight + mp.mpf(10) ** -38 and weight <= high + mp.mpf(10) ** -38


@pytest.mark.parametrize(("v", "z"), [(0.5, 0.7 + 2j), (0.05, 3 + 20j), (1.2, 1.5 - 1j)])
def test_the_weights_have_these_transforms(v: float, z: complex) -> None:
    with mp.workdps(20):
        s, u = mp.mpc(z), mp.mpf(v)
        k = 1 + (u / 2) * mp.ncdf(u / 2) / mp.npdf(u / 2)
        smooth = mp.exp(u * u * s * (s + 1) / 2)
        span = [-14 * u, -4 * u, 0, 4 * u, 14 * u, 30]
        for which, stated in (
            (2, smooth / (s * (s + 1))),
            (0, smooth * (1 / (s * (s + 1)) - u * u * k)),
        ):
            found = mp.quad(lambda x, at=which: weights(x, u)[at] * mp.exp(-s * x), span)
            rest = mp.exp(-s * 30) / s - mp.exp(-(s + 1) * 30) / (s + 1)
            assert abs(found + rest - stated) < mp.mpf(10) ** -10 * (1 + abs(stated))


# --- Lemma 1: the two measures


def one_step(mu: float, rate: float, epsilon: mp.mpf, *, remove: bool) -> mp.mpf:
    """delta of one sampled Gaussian release, in closed form."""
    r, m = mp.mpf(rate), mp.mpf(mu)

    def plain(e: mp.mpf) -> mp.mpf:
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)

    if remove:
        odds = 1 + mp.expm1(epsilon) / r
        if odds <= 0:
            return -mp.expm1(epsilon)
        return r * plain(mp.log(odds))
    # Q against (1 - r) Q + r P: by the mirror image, h(e) = 1 - e^e + e^e h'(-e)
    return -mp.expm1(epsilon) + mp.exp(epsilon) * one_step(mu, rate, -epsilon, remove=True)


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (0.2, 1e-5), (2.5, 0.3), (1.0, 1e-8)])
@pytest.mark.parametrize("count", [9, 60, 700])
def test_the_profile_lies_between(mu: float, rate: float, remove: bool, count: int) -> None:
    law = gaussian(mu).sampled(rate)
    source = Cut(law if remove else law.reversed())
    pieces = cut(source, source.knots(count, -60.0), upper=True)
    top = first_top(pieces)
    above, below = law_above(pieces, 1.0, top), law_below(pieces, 1.0, top)
    seen = source.knots(9, -30.0)
    with mp.workdps(DIGITS):
        for epsilon in np.concatenate((seen, 0.5 * (seen[1:] + seen[:-1]))).tolist():
            e = mp.mpf(epsilon)
            exact = one_step(mu, rate, e, remove=remove)
            low, high = (
                sum(
                    (
                        mp.mpf(m) * -mp.expm1(e - mp.mpf(at))
                        for at, m in zip(n.at.tolist(), n.mass.tolist(), strict=True)
                        if at > e
                    ),
                    mp.mpf(0),
                )
                for n in (below, above)
            )
            # what is set apart is P less e^eps Q at least, and P at most
            low += max(mp.mpf(below.top[0]) - mp.exp(e) * mp.mpf(below.top[2]), mp.mpf(0))
            high += mp.mpf(above.top[0]) + mp.mpf(above.dropped)
            assert low <= exact <= high


BY = 1e-5


@pytest.mark.parametrize("kind", ["slack", "unsure", "slip"])
@pytest.mark.parametrize("top", [math.inf, 0.7])
def test_pieces_may_be_off_by_what_they_admit(kind: str, top: float) -> None:
    """Masses, losses of the whole, or all losses: one step and three."""
    losses = np.array([-1.3, -0.25, 0.11, 0.5, 0.8, 1.21])
    masses = np.array([0.05, 0.2, 0.25, 0.2, 0.2, 0.1])
    none, by = np.zeros(6), np.full(6, BY)

    def off(sign: float) -> Pieces:
        log_p = np.log(masses) + (sign * BY if kind == "slack" else 0.0)
        loss = losses + (0.0 if kind == "slack" else sign * BY)
        at = losses + (sign * BY if kind == "slip" else 0.0)
        wide = 0.05 if kind == "unsure" else 0.0
        errors = [
            by if kind in kinds else none for kinds in (("slack",), ("unsure", "slip"), ("slip",))
        ]
        return Pieces(log_p, loss, at - wide, at + wide, *errors)

    # what is set apart is exact for one step at an epsilon below it
    above, below = law_above(off(-1.0), 1.0, top), law_below(off(1.0), 1.0, top)
    for epsilon in np.linspace(-1.5, min(1.2, top - 0.1), 9).tolist():
        exact = float(masses @ np.maximum(-np.expm1(epsilon - losses), 0.0))
        for law, sign, q in ((above, 1.0, above.top[1]), (below, -1.0, below.top[2])):
            gain = float(law.mass @ np.maximum(-np.expm1(epsilon - law.at), 0.0))
            gain += max(law.top[0] - math.exp(epsilon) * q, 0.0)
            assert sign * (gain - exact) >= -1e-15


def test_a_raised_mass_and_a_raised_loss_raise_every_composition() -> None:
    losses, masses = some_law(3, 6, 0.5)

    def composed(at: Floats, mass: Floats, epsilon: mp.mpf) -> mp.mpf:
        total = mp.mpf(0)
        for i in range(at.size):
            for j in range(at.size):
                for k in range(at.size):
                    loss = mp.mpf(at[i]) + mp.mpf(at[j]) + mp.mpf(at[k])
                    if loss > epsilon:
                        total -= (
                            mp.mpf(mass[i])
                            * mp.mpf(mass[j])
                            * mp.mpf(mass[k])
                            * mp.expm1(epsilon - loss)
                        )
        return total

    with mp.workdps(DIGITS):
        for epsilon in (mp.mpf(-1), mp.mpf(0), mp.mpf("0.7"), mp.mpf(2)):
            plain = composed(losses, masses, epsilon)
            assert composed(losses + 1e-13, masses, epsilon) >= plain
            assert composed(losses, masses * (1.0 + 1e-13), epsilon) >= plain


# --- Lemma 2: tilted masses


@FEW
@given(seed=st.integers(0, 10**6), c=st.floats(0.01, 80.0), wide=st.floats(1e-6, 3.0))
def test_tilted_masses_are_off_by_what_is_charged(seed: int, c: float, wide: float) -> None:
    losses, masses = some_law(seed, 300, wide)
    tilted = points(losses, masses, 1.0).tilted(c)
    with mp.workdps(DIGITS):
        exact = [
            mp.mpf(m) * mp.exp(mp.mpf(c) * mp.mpf(at))
            for at, m in zip(losses.tolist(), masses.tolist(), strict=True)
        ]
        total = mp.fsum(exact)
        # what is summed is a measure of masses t e^{log M}, which stand beside the true ones
        stated = mp.exp(mp.mpf(tilted.log_moment))
        off = (
            mp.fsum(
                abs(mp.mpf(t) * stated - e) for t, e in zip(tilted.t.tolist(), exact, strict=True)
            )
            / total
        )
        assert off <= tilted.off + tilted.each * mp.mpf("1.01")
        assert abs(mp.log(total) - mp.mpf(tilted.log_moment)) <= tilted.each + tilted.off


# --- Lemma 3: transforms


@pytest.mark.parametrize("size", [40, 2000])
@pytest.mark.parametrize("wide", [1e-6, 0.3, 4.0])
def test_transforms_are_off_by_what_is_charged(size: int, wide: float) -> None:
    losses, t = some_law(11, 700, wide)
    x = losses - float(t @ losses)
    step = 3.0 / wide / 300.0
    theta = step * np.arange(size)
    value, error = direct(t, x, step, size), direct_error(t, x, theta)
    quick, overall = fast(t, x, step, size)
    near = np.abs(x) * theta[-1] <= 0.7
    few, lost = by_moments(t[near], x[near], theta)
    squares = mp.mpf(0)
    with mp.workdps(DIGITS):
        for k in range(0, size, max(1, size // 25)):
            angle = [mp.mpf(step) * k * mp.mpf(a) for a in x.tolist()]
            exact = mp.fsum(
                mp.mpf(m) * mp.expjpi(a / mp.pi) for m, a in zip(t.tolist(), angle, strict=True)
            )
            total = mp.fsum(mp.mpf(m) for m in t.tolist())
            assert abs(mp.mpc(complex(value[k])) - (exact - total)) <= error[k]
            squares += abs(mp.mpc(complex(quick[k])) - exact) ** 2
            part = mp.fsum(
                mp.mpf(m) * (mp.expjpi(a / mp.pi) - 1)
                for m, a, some in zip(t.tolist(), angle, near.tolist(), strict=True)
                if some
            )
            assert abs(mp.mpc(complex(few[k])) - part) <= lost[k] + mp.mpf(10) ** -30
        assert mp.sqrt(squares) <= overall


# --- Lemma 4: aliases


def exact_delta(losses: Floats, masses: Floats, count: int, epsilon: mp.mpf) -> mp.mpf:
    """E[(1 - e^{eps - S})_+] over all outcomes of so many draws."""
    sums = {mp.mpf(0): mp.mpf(1)}
    for _ in range(count):
        after: dict[mp.mpf, mp.mpf] = {}
        for total, weight in sums.items():
            for at, mass in zip(losses.tolist(), masses.tolist(), strict=True):
                key = total + mp.mpf(at)
                after[key] = after.get(key, mp.mpf(0)) + weight * mp.mpf(mass)
        sums = after
    return mp.fsum(-w * mp.expm1(epsilon - s) for s, w in sums.items() if s > epsilon)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.15, 0.4, 1.0])
def test_both_ends_hold_whatever_the_period(seed: int, share: float) -> None:
    """A period that is far too short adds aliases: the upper end only grows, the lower one is charged."""
    losses, masses = some_law(seed, 5, 0.6)
    total = SumOfMeasures([points(losses, masses, 4.0)], 0.0)
    with mp.workdps(DIGITS):
        for epsilon in (0.3, 1.5):
            exact = mp.log(exact_delta(losses, masses, 4, mp.mpf(epsilon)))
            c = total.saddle(epsilon)
            period = share * window(total, c, epsilon, math.log(1e-9) + float(exact))
            for v in (0.3 / c, 0.02 / c):
                low, high = (
                    SmoothedContour(total, c, v, period, sign).log_delta(epsilon)
                    for sign in (-1, 1)
                )
                assert low <= exact <= high
                if share == 1.0 and v < 0.1 / c:
                    assert high - low < 0.2


# --- Lemma 5: what is left out in frequency


@pytest.mark.parametrize(
    ("mu", "rate", "count"), [(1.0, 0.2, 50.0), (0.5, 0.01, 3000.0), (1.0, 1.0, 20.0)]
)
def test_beyond_the_march_there_is_nothing(mu: float, rate: float, count: float) -> None:
    source = Cut(gaussian(mu).sampled(rate))
    pieces = cut(source, source.knots(241, -60.0), upper=True)
    law = law_above(pieces, count, first_top(pieces))
    tilted = law.tilted(3.0)
    last = 200.0 / math.sqrt(tilted.variance)
    first = nil_from(SumOfMeasures([law], 0.0), [tilted], 1e-3 * last, last)
    draw = np.random.default_rng(5)
    with mp.workdps(DIGITS):
        for theta in (first + (last - first) * draw.random(12)).tolist() if first < last else ():
            phi = mp.fsum(
                mp.mpf(m) * mp.expjpi(mp.mpf(theta) * mp.mpf(a) / mp.pi)
                for m, a in zip(tilted.t.tolist(), tilted.x.tolist(), strict=True)
            )
            assert count * mp.log(abs(phi)) <= -NATS + mp.mpf(10) ** -9


def test_the_march_finds_an_end() -> None:
    source = Cut(gaussian(1.0).sampled(0.2))
    pieces = cut(source, source.knots(2001, -60.0), upper=True)
    law = law_above(pieces, 300.0, first_top(pieces))
    tilted = law.tilted(2.0)
    last = 100.0 / math.sqrt(tilted.variance)
    assert nil_from(SumOfMeasures([law], 0.0), [tilted], 1e-3 * last, last) < 0.5 * last


# --- Lemma 6: losses set apart


@pytest.mark.parametrize("top", [0.4, 0.9, 2.0])
@pytest.mark.parametrize("epsilon", [0.2, 0.8, 1.7])
def test_what_is_set_apart_is_enclosed(top: float, epsilon: float) -> None:
    """Also where the top lies below epsilon, so that a loss above it decides nothing."""
    masses = np.array([0.05, 0.15, 0.2, 0.25, 0.2, 0.15])
    losses = np.log(masses / np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05]))
    source = Pieces.points(losses, np.log(masses))
    laws = law_above(source, 4.0, top), law_below(source, 4.0, top)
    with mp.workdps(DIGITS):
        exact = mp.log(exact_delta(losses, masses, 4, mp.mpf(epsilon)))
        for law, sign in zip(laws, (1, -1), strict=True):
            total = SumOfMeasures([law], 0.0)
            c = total.saddle(epsilon) if law.at.size else 1.0
            c = min(c, 60.0)
            period = window(total, c, epsilon, -30.0 + float(exact))
            end = SmoothedContour(total, c, 0.05 / c, period, sign).log_delta(epsilon)
            assert end >= exact if sign > 0 else end <= exact


@pytest.mark.parametrize("epsilon", [0.5, 12.0, 20.0, 21.9])
def test_laws_set_apart_are_enclosed_one_by_one(epsilon: float) -> None:
    """The second law's largest losses have hardly any P-mass, and yet e^eps Q above all that decides."""
    rare, faint = 0.02 * math.exp(-22.0), 1e-9 * math.exp(-0.3)
    masses = np.array([0.9, 0.08, 0.02]), np.array([0.5, 0.5 - 1e-9, 1e-9])
    others = np.array([0.93, 0.07 - rare, rare]), np.array([0.495, 0.505 - faint, faint])
    losses = [np.log(p / q) for p, q in zip(masses, others, strict=True)]
    tops = 2.0, 0.2
    ends = []
    with mp.workdps(DIGITS):
        exact = outcomes = mp.mpf(0)
        for index in np.ndindex(3, 3, 3):
            p = mp.fprod(mp.mpf(masses[k][i]) for k, i in zip((0, 1, 1), index, strict=True))
            at = mp.fsum(mp.mpf(losses[k][i]) for k, i in zip((0, 1, 1), index, strict=True))
            apart = any(losses[k][i] >= tops[k] for k, i in zip((0, 1, 1), index, strict=True))
            part = p * max(mp.mpf(0), 1 - mp.exp(mp.mpf(epsilon) - at))
            exact += part
            outcomes += part if apart else 0
        for law_of, decided, sign in (
            (law_above, decided_above, 1),
            (law_below, decided_below, -1),
        ):
            laws = [
                law_of(Pieces.points(at, np.log(mass)), count, top)
                for at, mass, count, top in zip(losses, masses, (1.0, 2.0), tops, strict=True)
            ]
            total = SumOfMeasures(laws, 0.0)
            end = float(decided(total, np.array([epsilon]))[0])
            c = min(total.saddle(epsilon), 40.0)
            period = window(total, c, epsilon, -30.0 + float(mp.log(exact)))
            whole = SmoothedContour(total, c, 0.02 / c, period, sign).log_delta(epsilon)
            ends.append(whole)
            if sign > 0:
                assert end >= outcomes * (1 - mp.mpf(10) ** -12) and whole >= mp.log(exact)
            else:
                assert end <= outcomes * (1 + mp.mpf(10) ** -12) and whole <= mp.log(exact)
    assert ends[0] - ends[1] < 1e-3 or epsilon == 0.5
