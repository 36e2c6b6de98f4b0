"""Atoms without a step in common: sums over all outcomes, and each step of the theorem of `returns`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln, sici

import dpacct as dp
from dpacct.pld import contour, lines, returns
from dpacct.pld.loss import LossDistribution
from dpacct.pld.saddle import Saddle
from dpacct.pld.stable import Floats, TooFine, product


def two_valued(top: float, steps: int) -> tuple[Floats, Floats]:
    """Sums of so many losses top or -top, and the logs of their P-masses."""
    up = np.arange(steps + 1)
    ways = gammaln(steps + 1) - gammaln(up + 1) - gammaln(steps - up + 1)
    more = -math.log1p(math.exp(-top))
    return (2 * up - steps) * top, ways + up * more + (steps - up) * (more - top)


@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [
        (("0.0211", 1500), ("0.014142136", 3000), 6.0),
        (("0.389960063", 181), ("0.042267599", 5954), 45.0),
        (("0.005273", 5163), ("0.0083718", 2700), 0.5),
        (("0.123", 2500), ("0.0072345678", 2200), 60.0),
    ],
)
def test_two_kinds_of_two_values_are_the_sum_over_all_pairs(
    first: tuple[str, int], second: tuple[str, int], epsilon: float
) -> None:
    """The losses' common step, 1e-9 or so, is of no use to a period of the integrand."""
    (a, p), (b, q) = (two_valued(float(top), steps) for top, steps in (first, second))
    loss, log_p = np.add.outer(a, b), np.add.outer(p, q)
    above = loss > epsilon
    truth = float((np.exp(log_p[above]) * -np.expm1(epsilon - loss[above])).sum())
    plan = dp.PureDP(epsilon=first[0]) * first[1] + dp.PureDP(epsilon=second[0]) * second[1]
    answer = plan.delta(epsilon, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth * (1.0 + 3e-12) and answer.upper >= truth * (1.0 - 3e-12)
    assert answer.upper - answer.lower < 3e-6 * truth


def test_sampled_whole_numbers_have_nine_digits() -> None:
    """A bracket of 1e-4 in half a second, while no line was seen to end."""
    plan = dp.Poisson("0.004326")(dp.DiscreteGaussian(scale="0.8186")) * 2671
    answer, lattice = plan.delta("1.835", method="exact"), plan.delta("1.835", method="bracket")
    assert answer.lower is not None and answer.upper is not None
    assert lattice.lower is not None and lattice.upper is not None
    assert lattice.lower <= answer.lower < answer.upper <= lattice.upper
    assert answer.upper - answer.lower < 2e-9 * answer.value


@pytest.mark.parametrize(
    ("plan", "epsilon"),
    [
        (dp.DiscreteLaplace(scale=740000, sensitivity=3) * 946800, 0.07166),
        (
            dp.Participation("0.1141")(dp.DiscreteLaplace(scale="0.1068", sensitivity=19)) * 77280,
            1.654e6,
        ),
    ],
)
def test_light_atoms_between_heavy_ones_come_back_within_a_period(
    plan: dp.Node, epsilon: float
) -> None:
    """Of 129 places in a period none saw it: 1e-5 too large with 1e-12 claimed."""
    answer = plan.delta(epsilon, method="exact")
    lattice = plan.delta(epsilon, method="bracket")
    assert answer.lower is not None and answer.upper is not None
    assert lattice.lower is not None and lattice.upper is not None
    assert lattice.lower <= answer.upper and answer.lower <= lattice.upper
    assert answer.upper - answer.lower < 1e-9 * answer.upper


def test_losses_without_a_step_are_not_taken_for_a_lattice() -> None:
    """Their common step was 1.7e-13, and its period bare but for 129 places; the truth is a sum over all."""
    (a, p), eps = two_valued(0.00001503, 950_000), 0.2142
    u = 1.0 / 23.63
    r = math.exp(-u)
    steps = np.zeros(1 << 14)
    steps[:4] = r**3 / (1.0 + r), (1 - r) / (1 + r) * r**2, (1 - r) / (1 + r) * r, 1.0 / (1.0 + r)
    many = np.maximum(np.fft.ifft(np.fft.fft(steps) ** 3017).real, 0.0)
    kept, b = np.exp(p) > 1e-20, (2.0 * np.arange(many.size) - 3 * 3017) * u
    loss, mass = a[kept], np.exp(p[kept])
    left = [
        m * float(mass @ np.exp(np.minimum(eps - loss - at, 0.0)))
        for at, m in zip(b, many, strict=True)
        if m > 1e-18
    ]
    plan = (
        dp.PureDP(epsilon="0.00001503") * 950_000
        + dp.DiscreteLaplace(scale="23.63", sensitivity=3) * 3017
    )
    answer = plan.delta(eps, method="exact")
    assert answer.lower is not None and answer.upper is not None
    assert (
        answer.lower <= 1.0 - math.fsum(left) + 1e-11
        and answer.upper >= 1.0 - math.fsum(left) - 1e-11
    )
    assert answer.upper - answer.lower < 1e-8


def test_many_atoms_come_back_between_heavy_ones() -> None:
    """Losses of 0 and +-79.2 are in step 281 times in a period of the lattice of the 283 that there are."""
    scale, sensitivity, rate, steps, log_target = 3.549, 281, 0.3595, 1538, math.log(1.896e-23)
    # losses over 1/scale, from -281 to 281 by twos, and 0
    noise = np.exp(-np.abs(np.arange(-600 - sensitivity, 601 + sensitivity)) / scale)
    moved = np.exp(-np.abs(np.arange(-600 - sensitivity, 601 + sensitivity) - sensitivity) / scale)
    inside, far = np.arange(1, sensitivity), noise[: 601 + sensitivity].sum() / noise.sum()
    p = np.zeros(2 * sensitivity + 1)
    at = 2 * inside - sensitivity
    p[sensitivity + at] = rate * moved[600 + sensitivity + inside] / moved.sum()
    p[-1], p[0] = rate * far, rate * far * math.exp(-sensitivity / scale)
    p[sensitivity] += 1.0 - rate
    losses = np.arange(-sensitivity, sensitivity + 1) / scale
    answer = (
        dp.Participation(rate)(dp.DiscreteLaplace(scale=scale, sensitivity=sensitivity)) * steps
    ).epsilon(math.exp(log_target), method="exact")
    tilt = 6.5e-3  # under which sums are about epsilon
    moment = float(p @ np.exp(tilt * losses))
    size = 1 << 20
    sums = np.fft.irfft(np.fft.rfft(p * np.exp(tilt * losses) / moment, size) ** steps, size)
    total = (np.arange(2 * sensitivity * steps + 1) - sensitivity * steps) / scale
    log_p = np.log(np.maximum(sums[: total.size], 1e-300)) + steps * math.log(moment) - tilt * total

    def log_delta(epsilon: float) -> float:
        over = total > epsilon
        return math.log(float(np.exp(log_p[over]) @ -np.expm1(epsilon - total[over])))

    assert answer.lower is not None and answer.upper is not None
    assert log_delta(answer.lower) > log_target - 1e-9
    assert log_delta(answer.upper) < log_target + 1e-9
    assert answer.upper - answer.lower < 1e-4 * answer.upper


def test_newton_is_not_trusted_beyond_a_kink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a line of many returns tells delta to 1e-5, the slope jumps within a step of Newton's."""

    def refused(*_: object, **__: object) -> None:
        raise TooFine

    plan = dp.Participation(0.4554)(dp.DiscreteGaussian(scale=9.748, sensitivity=100)) * 23870
    exact = plan.epsilon(1.5981336849308446e-22, method="exact")
    monkeypatch.setattr(lines.PeriodicLine, "__init__", refused)
    again = plan.epsilon(1.5981336849308446e-22, method="exact")
    assert again.lower is not None and again.upper is not None
    assert exact.value == pytest.approx(612720.36416022, abs=1e-6)
    assert again.lower < exact.value < again.upper


# -- the theorem ---------------------------------------------------------------------------------


def test_a_kernel_of_the_band_covers_what_is_smoothed() -> None:
    """|e_1(x)| <= 0.5436 j(2x/3): by quadrature with the tail's closed form."""
    # beyond, 1.3e5/(pi x^5) from the ends of the step is less than 235/x^4 of the cover
    x = np.concatenate((np.linspace(0.0, 80.0, 401), np.geomspace(80.0, 400.0, 300)))
    t = np.linspace(0.1, 1.0, 60_001)
    simpson = np.full(t.size, 2.0)
    simpson[1::2], simpson[[0, -1]] = 4.0, 1.0
    tenths = returns.Loud(np.arange(t.size) + (t.size - 1) // 9, 1.0)
    at = tenths.weights(t[1] - t[0])
    missing = simpson * (t[1] - t[0]) / 3.0 * (1.0 - at) / t**2
    sine, _ = sici(np.maximum(x, 1e-300))
    beyond = np.cos(x) - x * (0.5 * np.pi - sine)  # the integral of cos(tx)/t^2 from 1 on
    moved = np.array([(missing * np.cos(t * place)).sum() for place in x]) + beyond

    def fejer(u: Floats) -> Floats:
        return np.asarray(np.sinc(0.25 * u / np.pi) ** 4)

    u, period = 2.0 * x / 3.0, 2.0 * np.pi
    cover = fejer(u) + 0.5 * fejer(u - period) + 0.5 * fejer(u + period)
    assert (np.abs(moved) / np.pi <= 0.5436 * cover).all()
    assert np.abs(moved[0]) / np.pi == pytest.approx(0.5436 * cover[0], rel=1e-3)
    c = np.geomspace(1e-3, 1e5, 4000)
    steepest = np.exp(2.0 * c * np.log(c / (1.0 + c))) * c / (1.0 + c)
    assert 0.5436 * 8.0 * np.pi * (2.0 + 2.0 * steepest.max()) <= returns.OUT_OF_BAND


def test_nothing_is_missed_between_places() -> None:
    """|phi(t)| > e^-38 shows at any place within half of the distance, whatever the laws."""
    draw = np.random.default_rng(3)
    for _ in range(200):
        laws, variance, level = [], 0.0, 0.0
        at, losses_and_weights = 10.0 ** draw.uniform(-2, 3), []
        for _ in range(int(draw.integers(1, 4))):
            losses, weights = draw.normal(size=4), draw.random(4) ** 6
            weights /= weights.sum()
            count = 10.0 ** draw.uniform(0, 3)
            mean = float(weights @ losses)
            variance += count * float(weights @ (losses - mean) ** 2)
            level -= count * math.log(abs(complex(np.exp(1j * at * losses) @ weights)))
            losses_and_weights.append((losses, weights, count))
        laws = [returns.Heavy(np.log(w), x, n) for x, w, n in losses_and_weights]
        if level < returns._NIL:
            for apart in (2.0, 16.0):
                reach = 0.5 * apart / math.sqrt(variance)
                around = at + reach * np.linspace(-1.0, 1.0, 41)
                assert returns._expected(laws, around).max() <= returns._quiet(apart)


def test_what_comes_back_out_of_the_band_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses on a lattice return for ever: a line that ends before they do is off by what it admits."""
    law = LossDistribution.of_outcomes(
        [0.1, -0.1], [1.0 / (1.0 + math.exp(-0.1)), 1.0 / (1.0 + math.exp(0.1))]
    )
    saddle = Saddle([(law, 3000.0)], 1.0)
    total = saddle.for_epsilon(25.0003, 1.0)
    monkeypatch.setattr(returns, "_WANTED", 0.5)
    monkeypatch.setattr(returns, "_ENOUGH", 10.0)
    short = lines._with_returns(saddle, total, 25.0003).read(25.0003)
    truth = lines.PeriodicLine(saddle, total, 0.2).read(25.0003)
    assert 1e-6 < abs(short[0] - truth[0]) < short[2] < 0.1
    monkeypatch.undo()
    far = lines._with_returns(saddle, total, 25.0003).read(25.0003)
    assert abs(far[0] - truth[0]) < far[2] < 1e-4


def test_many_atoms_are_refused_before_they_are_tabulated() -> None:
    """Ten thousand unequal losses take no second."""
    draw = np.random.default_rng(1)
    losses = np.sort(draw.normal(scale=1e-2, size=10_000))
    q = np.full(losses.size, 1.0 / losses.size)
    law = LossDistribution.of_outcomes(losses, q * np.exp(losses) / (q * np.exp(losses)).sum())
    result = contour.log_delta([(law, 5000.0)], 0.3)
    assert not result.resolved or result.error < 1e-3


@pytest.mark.parametrize("shape", [(3, 5, 2), (250, 7, 256), (33, 300, 41), (8, 5000, 64)])
@pytest.mark.parametrize("kind", [float, complex])
def test_a_product_in_blocks_is_the_product(shape: tuple[int, int, int], kind: type) -> None:
    """Rows and columns that blocks of 16 do not divide; integers, so that no order of sums rounds."""
    draw = np.random.default_rng(1)
    a, b = (draw.integers(-9, 10, size).astype(kind) for size in (shape[:2], shape[1:]))
    if kind is complex:
        a = a * 1j + 2
    assert np.array_equal(product(a, b), a @ b)
