"""Discrete Gaussian noise of large scale: against sums over the whole numbers, in fifty digits and more."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import flint
import pytest
from mpmath import mp, mpf

import dpacct as dp
from dpacct.mechanisms.laws import discrete_gaussian
from dpacct.vocabulary import Adjacency
from tests.mechanisms import oracle
from tests.mechanisms.test_discrete import gaussian

_BITS = 160  # masses are whole multiples of 2^-160
_REACH = 13  # standard deviations: e^-84 is left out


def _power(row: list[int], steps: int, scale: int) -> tuple[list[int], int]:
    """Masses of the sum of `steps` draws and the place of 0, cut off."""

    def cut(powers: list[int], middle: int, count: int) -> tuple[list[int], int]:
        reach = min(middle, int(_REACH * scale * count**0.5))
        return [m >> _BITS for m in powers[middle - reach : middle + reach + 1]], reach

    if steps == 1:
        return row, len(row) // 2
    half, middle = _power(row, steps // 2, scale)
    square = flint.fmpz_poly(half) ** 2
    total, middle = cut([int(m) for m in square.coeffs()], 2 * middle, steps)
    if steps % 2:
        more = flint.fmpz_poly(total) * flint.fmpz_poly(row)
        total, middle = cut([int(m) for m in more.coeffs()], middle + len(row) // 2, steps)
    return total, middle


@cache
def _masses(scale: int, steps: int) -> tuple[list[int], int]:
    with mp.workdps(60):
        weights = [mp.exp(-mpf(k * k) / (2 * scale**2)) for k in range(_REACH * scale + 1)]
        unit = mpf(2) ** _BITS / (weights[0] + 2 * mp.fsum(weights[1:]))
        half = [int(w * unit + 0.5) for w in weights]
        return _power([*half[:0:-1], *half], steps, scale)


def true_delta(scale: int, shift: int, steps: int, epsilon: str) -> mpf:
    """delta of `steps` releases: Q(k) (e^{l(k)} - e^eps), summed over the k whose loss l(k) is above eps."""
    masses, middle = _masses(scale, steps)
    with mp.workdps(60):
        spacing = mpf(shift) / scale**2
        least = int(mp.floor(mpf(epsilon) / spacing + mpf(steps * shift) / 2)) + 1
        ratio, step = mp.exp(spacing * (least - mpf(steps * shift) / 2)), mp.exp(spacing)
        level, result = mp.exp(mpf(epsilon)), mpf(0)
        for mass in masses[middle + least :]:
            result += mass * (ratio - level)
            ratio *= step
        return result / mpf(2) ** _BITS


@pytest.mark.parametrize("variance", ["3.999", "4"])
@pytest.mark.parametrize("centre", ["0", "0.21", "0.5"])
def test_normal_densities_at_whole_numbers_sum_to_one(variance: str, centre: str) -> None:
    with mp.workdps(50):
        w, y = mpf(variance), mpf(centre)
        terms = [mp.exp(-((k - y) ** 2) / (2 * w)) for k in range(-50, 51)]
        assert abs(mp.fsum(terms) / mp.sqrt(2 * mp.pi * w) - 1) < mpf("1.2e-34")


@pytest.mark.parametrize(
    ("scale", "shift", "steps", "epsilons"),
    [
        (130, 1, 1, ("0.004", "0.03")),
        (130, 1, 100, ("0.01", "0.3")),
        (130, 260, 3, ("6", "16")),
        (700, 9, 37, ("0.05", "0.4")),
        (2001, 1, 1, ("0.0004", "0.003")),
        (2500, 60, 6, ("0.02", "0.3")),
        (3000, 1, 10, ("0.0009", "0.006")),
    ],
)
def test_the_sum_over_whole_numbers_lies_between_the_ends(
    scale: int, shift: int, steps: int, epsilons: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discrete_gaussian, "WIDEST", 129.0)
    plan = dp.DiscreteGaussian(scale=scale, sensitivity=shift) * steps
    for epsilon in epsilons:
        truth = true_delta(scale, shift, steps, epsilon)
        delta = plan.delta(epsilon=epsilon, method="exact")
        assert delta.lower is not None and delta.upper is not None
        assert delta.lower <= truth <= delta.upper
        answer = plan.epsilon(delta=Fraction(mp.nstr(truth, 40)), method="exact")
        assert answer.lower is not None and answer.upper is not None
        assert answer.lower <= float(epsilon) * (1 + 1e-12)
        assert float(epsilon) * (1 - 1e-12) <= answer.upper
        # d(eps)/d(mu) is the hazard of a normal at eps/mu + mu/2 = x, which is at most x + 0.8
        mu = shift * steps**0.5 / scale
        hazard = float(epsilon) / mu + mu / 2 + 0.8
        assert answer.upper - answer.lower <= 4.1 / scale**2 * mu * hazard + 1e-11 * answer.upper


@cache
def _wide() -> oracle.Table:
    return gaussian("131", 1, 2200)


@pytest.mark.parametrize(
    ("rate", "epsilon"), [("0.02", "0.0004"), ("0.4", "0.008"), ("0.4", "0.02")]
)
def test_one_sampled_release(rate: str, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_gaussian, "WIDEST", 129.0)
    mixed, out = oracle.poisson(_wide(), mpf(rate))
    level = mp.exp(mpf(epsilon))
    truth = mp.fsum(max(mpf(0), a - level * b) for a, b in zip(mixed, out, strict=True))
    truth = max(truth, mp.fsum(max(mpf(0), b - level * a) for a, b in zip(mixed, out, strict=True)))
    answer = dp.Poisson(rate)(dp.DiscreteGaussian(scale=131)).delta(epsilon=epsilon)
    assert answer.lower is not None and answer.upper is not None
    assert answer.lower <= truth <= answer.upper
    fixed = dp.WithoutReplacement(rate)(dp.DiscreteGaussian(scale=131)).delta(epsilon=epsilon)
    assert fixed.upper is not None and answer.lower <= truth <= fixed.upper


_BASE = dp.DiscreteGaussian(scale=200, sensitivity=150)


@pytest.mark.parametrize(
    "plan",
    [
        dp.Poisson("0.2")(_BASE) * 50,
        dp.WithoutReplacement("0.1")(_BASE) * 50 + 3 * _BASE,
        dp.Poisson("0.3")(2 * _BASE) * 4,
        dp.Poisson("0.1")(_BASE) * 9 + dp.RandomizedResponse(eps0="0.3") * 2,
    ],
    ids=["poisson", "fixed-size", "nested", "beside-others"],
)
def test_many_sampled_releases_as_their_atoms_say(
    plan: dp.Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Atoms composed on a lattice are a second method; its ends meet those of the continuous pairs."""
    atoms = plan.delta(epsilon=1, method="exact")
    monkeypatch.setattr(discrete_gaussian, "WIDEST", 129.0)
    between = plan.delta(epsilon=1, method="exact")
    assert "post-processing" in between.basis[0] + between.basis[1]
    assert between.lower is not None and atoms.lower is not None
    assert between.upper is not None and atoms.upper is not None
    assert between.lower <= atoms.upper and atoms.lower <= between.upper
    assert abs(between.upper / atoms.upper - 1) < 1e-3


def test_of_records_exchanged_the_interval_holds_what_the_atoms_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond the widest scale that is summed C_q stays, whose interval is wide and right."""
    plan = (dp.Poisson("0.2")(_BASE) * 50).under("replace-one")
    atoms = plan.delta(epsilon=1, method="exact")
    monkeypatch.setattr(discrete_gaussian, "WIDEST", 129.0)
    between = plan.delta(epsilon=1, method="exact")
    assert between.lower is not None and atoms.lower is not None
    assert between.lower <= atoms.lower and atoms.upper <= between.upper


def test_answers_fall_with_the_scale_across_the_change_of_method() -> None:
    below = [1000, 1999, 2000]
    above = ["2000.002", 2001, 2100, 10**4, 10**5, 10**6, 10**8, 10**9]
    for steps in (1, 100):
        results = [
            (dp.DiscreteGaussian(scale=s) * steps).epsilon(delta="1e-12") for s in (*below, *above)
        ]
        for k, (less_noise, more_noise) in enumerate(pairwise(results)):
            assert more_noise.upper < less_noise.upper
            if k != len(below) - 1:  # the lattice's lower ends are further away than the others'
                assert more_noise.lower < less_noise.lower


def test_a_large_scale_is_as_little_work_as_a_small_one() -> None:
    """No sum over the noise, whose outcomes are as many as the scale is large."""
    for scale in (2001, 10**6):
        pairs = dp.DiscreteGaussian(scale=scale).pair(Adjacency.ADD_REMOVE).plain()
        assert pairs.lower is not None
        assert not any(source.pointed for source in (*pairs.upper, *pairs.lower))


def test_noise_is_found_beyond_the_change_of_method() -> None:
    scale = dp.calibrate(
        lambda s: dp.DiscreteGaussian(scale=s) * 100, epsilon="0.001", delta="1e-9"
    )
    assert float(scale) > 2000
    assert (dp.DiscreteGaussian(scale=float(scale)) * 100).epsilon(delta="1e-9").upper <= 0.001
    drawn = dp.DiscreteGaussian(scale=10**6).sample(200, rng=3)
    assert 7e5 < float(drawn.std()) < 1.3e6


@pytest.mark.parametrize(
    ("scale", "shift"), [(129.0, 1), (1e10, 1), (200.0, 1001), (float("nan"), 1)]
)
def test_scales_that_the_bounds_do_not_cover_are_refused(scale: float, shift: int) -> None:
    with pytest.raises(dp.OutsideDomain, match="scale must be in"):
        discrete_gaussian.wide(scale, shift)
