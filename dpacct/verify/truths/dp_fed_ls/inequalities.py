"""The left sides of the inequalities, by summing what they say with mpmath."""

from __future__ import annotations

from dpacct.verify.truth import truth


@truth("dp_fed_ls.lemma4", draws=300)
def composed(alpha: float, epsilon: float, k: int) -> float:
    """The divergence of k answers, summed over their 2^k outcomes by how many are true."""
    from mpmath import binomial, exp, fsum, log, mp, mpf

    with mp.workdps(40):
        a, p = mpf(alpha), 1 / (1 + exp(-mpf(epsilon)))
        terms = [
            binomial(k, j)
            * (p**j * (1 - p) ** (k - j)) ** a
            * ((1 - p) ** j * p ** (k - j)) ** (1 - a)
            for j in range(k + 1)
        ]
        return float(log(fsum(terms)) / (a - 1))


@truth("dp_fed_ls.eq5", draws=300)
def eq5(nu2: float) -> float:
    """The left side, 30 digits."""
    from mpmath import exp, expm1, mp, mpf

    with mp.workdps(30):
        x = 1 / mpf(nu2)
        return float(min(4 * expm1(x), 2 * exp(x)))


@truth("dp_fed_ls.eq8", draws=2000)
def eq8(tau: float, nu2: float, alpha: int) -> float | None:
    """The sum, term by term, 30 digits; long sums are left out."""
    from mpmath import binomial, exp, fsum, mp, mpf

    if alpha > 300:
        return None
    with mp.workdps(30):
        t, v = mpf(tau), mpf(nu2)
        return float(
            fsum(
                t**j * binomial(alpha, j) * 2 * exp(j * (j - 1) / (2 * v))
                for j in range(3, alpha + 1)
            )
        )


@truth("dp_fed_ls.eq14", draws=300)
def eq14(x: float, n: int) -> float:
    """(1 + x)^n."""
    return float((1.0 + x) ** n)


@truth("dp_fed_ls.eq15", draws=300)
def eq15(nu2: float) -> float:
    """e^{1/nu^2}, 30 digits."""
    from mpmath import exp, mp, mpf

    with mp.workdps(30):
        return float(exp(1 / mpf(nu2)))


@truth("dp_fed_ls.eq15_corrected", draws=300)
def eq15_corrected(nu2: float) -> float:
    """e^{1/nu^2} - 1, 30 digits."""
    from mpmath import expm1, mp, mpf

    with mp.workdps(30):
        return float(expm1(1 / mpf(nu2)))
