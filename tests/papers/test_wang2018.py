"""The two readings of "Theorem 9" for the Gaussian mechanism: as DP-Fed-LS prints it, and sharpened."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from dpacct.papers.registry import get

POINTS = [
    (7, "0.04", "2.3"),
    (2, "0.05", "1"),
    (3, "0.5", "1.2"),
    (64, "0.001", "5"),
    (2, "0.1", "0.02"),  # e^{rho(2)} is no double
    (9, "0.3", "0.01"),
    (2, "0.5", "1e8"),  # e^{rho(2)} - 1 cancels
]


def as_printed(alpha: int, tau: str, sigma: str) -> float:
    """Appendix A of DP-Fed-LS, term by term, at 50 digits."""
    with mp.workdps(50):
        rate, doubled = mp.mpf(tau), 2 * mp.mpf(sigma) ** 2
        second = mp.exp(2 / doubled)
        terms = [rate**2 * mp.binomial(alpha, 2) * min(4 * (second - 1), 2 * second)]
        for j in range(3, alpha + 1):
            terms.append(rate**j * mp.binomial(alpha, j) * 2 * mp.exp((j - 1) * j / doubled))
        return float(mp.log(1 + mp.fsum(terms)) / (alpha - 1))


@pytest.mark.parametrize(("alpha", "tau", "sigma"), POINTS)
def test_the_formula_of_appendix_a(alpha: int, tau: str, sigma: str) -> None:
    value = get("dp_fed_ls.appendix_a").evaluate({"alpha": alpha, "tau": tau, "sigma": sigma})
    assert value == pytest.approx(as_printed(alpha, tau, sigma), rel=1e-12, abs=0)


@pytest.mark.parametrize(("alpha", "tau", "sigma"), POINTS)
def test_the_sharpened_bound_is_never_larger(alpha: int, tau: str, sigma: str) -> None:
    point = {"alpha": alpha, "tau": tau, "sigma": sigma}
    sharpened = get("wang2018.theorem9").evaluate(point)
    assert sharpened <= get("dp_fed_ls.appendix_a").evaluate(point)
    if alpha == 2:  # there is nothing to sharpen
        assert sharpened == pytest.approx(as_printed(alpha, tau, sigma), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", ["dp_fed_ls.appendix_a", "wang2018.theorem9"])
def test_no_double_is_too_small(name: str) -> None:
    """A divergence beyond the doubles is an infinite bound, not an error."""
    assert get(name).evaluate({"alpha": 3, "tau": "0.1", "sigma": "1e-200"}) == math.inf
