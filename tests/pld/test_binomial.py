"""Binomial probabilities against exact fractions and balls."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from dpacct.pld.binomial import (
    LOG_CUT,
    ROUNDING,
    log_pmf,
    log_pmf_half,
    reach,
    reaches,
    tail_half,
    tail_rounding,
    tails,
)


@pytest.mark.parametrize("n", [1, 2, 5, 17, 40])
def test_small_ones_are_the_fractions(n: int) -> None:
    for p in (Fraction(1, 2), Fraction(1, 7), Fraction(97, 100), Fraction(1, 10**9)):
        for k in range(n + 1):
            exact = math.comb(n, k) * p**k * (1 - p) ** (n - k)
            if exact < Fraction(1, 10**130):
                continue
            value = float(np.exp(log_pmf(np.array([float(k)]), n, p))[0])
            assert abs(value / float(exact) - 1.0) < ROUNDING
            if p == Fraction(1, 2):
                half = log_pmf_half(np.array([float(k)]), np.array([float(n)]))
                assert abs(math.exp(half[0]) / float(exact) - 1.0) < ROUNDING


@pytest.mark.parametrize("n", [1, 2, 9, 40, 700])
def test_tails_of_fair_coins_are_the_fractions(n: int) -> None:
    edges = sorted({n // 2 + 1, n // 2 + n // 8 + 1, n - 1, n} - {*range(n // 2 + 1)})
    result = tail_half(np.array(edges, float), np.full(len(edges), float(n)))
    for edge, tail in zip(edges, result.tolist(), strict=True):
        exact = Fraction(sum(math.comb(n, k) for k in range(edge, n + 1)), 2**n)
        assert abs(tail / float(exact) - 1.0) < tail_rounding(n)


def test_tails_of_fair_coins_do_not_change_where_the_way_to_them_does() -> None:
    n = np.array([19_990.0, 20_010.0])
    edges = np.ceil(0.5 * n + 2.0 * np.sqrt(n))
    both = [tail_half(edges[i : i + 1], n[i : i + 1])[0] for i in (0, 1)]
    assert np.abs(both / tails(edges, n, 0.5)[1] - 1.0).max() < tail_rounding(n[1])


def test_the_reach_of_many_is_that_of_each() -> None:
    n = np.array([1.0, 2.0, 77.0, 5001.0, 1e9])
    assert np.transpose(reaches(n)).tolist() == [[*reach(int(x), Fraction(1, 2))] for x in n]


def test_large_ones_against_mpmath() -> None:
    from mpmath import log, loggamma, mp, mpf

    rng = Random(3)
    with mp.workdps(40):
        for _ in range(150):
            n = int(10.0 ** rng.uniform(1.0, 9.0))
            p = Fraction(rng.random() ** 3)
            first, last = reach(n, p)
            k = rng.choice((first, last, rng.randint(first, last)))
            chance = mpf(p.numerator) / p.denominator
            exact = loggamma(n + 1) - loggamma(k + 1) - loggamma(n - k + 1)
            exact += k * log(chance) + (n - k) * log(1 - chance)
            value = float(log_pmf(np.array([float(k)]), n, p)[0])
            assert exact < -300 or abs(value - exact) < ROUNDING, (n, p, k)


@pytest.mark.parametrize("n", [30, 1000, 10**6, 10**9])
def test_nothing_of_weight_lies_beyond_the_reach(n: int) -> None:
    from scipy.special import bdtr, bdtrc

    for p in (0.5, 0.01, 1e-7):
        first, last = reach(n, Fraction(p))
        assert first == 0 or bdtr(first - 1, n, p) <= math.exp(LOG_CUT)
        assert last == n or bdtrc(last, n, p) <= math.exp(LOG_CUT)


@pytest.mark.parametrize("n", [10, 1000, 10**5, 10**6])
def test_tails_against_balls(n: int) -> None:
    flint = pytest.importorskip("flint")
    rng = Random(n)
    before = flint.ctx.prec
    flint.ctx.prec = 200
    try:
        for _ in range(4):
            j = int(n / 2 + rng.uniform(0.0, 12.0) * math.sqrt(n) / 2)
            if not 0 < j <= n:
                continue
            first = flint.arb(n + 1).lgamma() - flint.arb(j + 1).lgamma()
            first -= flint.arb(n - j + 1).lgamma() + flint.arb(n) * flint.arb(2).log()
            total = term = flint.arb(1)
            for k in range(j, n):
                term = term * (n - k) / (k + 1)
                total += term
                if float(term) < 1e-25:
                    break
            exact = float(first.exp() * total)
            below, above = tails(np.array([float(j)]), n, 0.5)
            assert abs(above[0] / exact - 1.0) < tail_rounding(n)
            assert abs(below[0] + above[0] - 1.0) < 1e-12
    finally:
        flint.ctx.prec = before
