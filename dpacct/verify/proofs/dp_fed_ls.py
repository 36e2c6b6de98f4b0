"""Proofs of the inequalities in DP-Fed-LS."""

from __future__ import annotations

from dpacct.verify.truth import proof


@proof("dp_fed_ls.eq14")
def bernoulli() -> bool:
    """f(t) = (1-t)^n (1+nt) has f(0) = 1 and f' = -n(n+1) t (1-t)^(n-1), which is never positive."""
    from sympy import diff, expand, powsimp, symbols

    t, n = symbols("t n", positive=True)
    f = (1 - t) ** n * (1 + n * t)
    slope = -n * (n + 1) * t * (1 - t) ** (n - 1)
    difference = powsimp(expand((diff(f, t) - slope) / (1 - t) ** (n - 1)))
    return bool(f.subs(t, 0) == 1 and difference.equals(0))


@proof("dp_fed_ls.eq5")
def minimum() -> bool:
    """One of the two is below 6x at each x: convexity reduces both to their ends, in balls."""
    from flint import arb, ctx

    ctx.prec = 120
    end = arb(100) / 67  # x = 1/nu^2 at nu^2 = 0.67
    split = arb("0.7")

    def first(x: arb) -> arb:
        return 4 * x.expm1() - 6 * x

    def second(x: arb) -> arb:
        return 2 * x.exp() - 6 * x

    # both differences are convex: at most their larger end; the first is 0 at x = 0
    return bool(first(split) < 0 and second(split) < 0 and second(end) < 0)


@proof("dp_fed_ls.eq3", "dp_fed_ls.eq4")
def budget_is_split() -> bool:
    """At the noise of Eq. (3) or (4), T rounds cost lambda eps and the conversion (1 - lambda) eps."""
    from sympy import simplify, symbols

    c, tau, steps, lam, eps, log_inverse, clip = symbols("c tau T lambda eps L G", positive=True)
    alpha = log_inverse / ((1 - lam) * eps) + 1
    # nu^2 as printed, with 4 c = 14 or 8
    nu2 = (tau * clip / eps) ** 2 * 4 * c * steps / lam * (log_inverse / (1 - lam) + eps)
    per_round = c * tau**2 * alpha / (nu2 / (4 * clip**2))
    total = steps * per_round + log_inverse / (alpha - 1)
    return bool(simplify(steps * per_round - lam * eps) == 0 and simplify(total - eps) == 0)


@proof("dp_fed_ls.lemma2", "dp_fed_ls.lemma3_integer")
def constants_add_up() -> bool:
    """6 + 1 and 7/2 + 1/2 of tau^2 C(alpha, 2)/nu^2, over alpha - 1, are the printed constants."""
    from sympy import Rational, simplify, symbols

    tau, alpha, nu2 = symbols("tau alpha nu2", positive=True)
    pairs = tau**2 * alpha * (alpha - 1) / 2 / nu2
    uniform = (6 + 1) * pairs / (alpha - 1) - Rational(7, 2) * tau**2 * alpha / nu2
    sampled = (Rational(7, 2) + Rational(1, 2)) * pairs / (alpha - 1) - 2 * tau**2 * alpha / nu2
    return bool(simplify(uniform) == 0 and simplify(sampled) == 0)


@proof("dp_fed_ls.eq8")
def geometric_tail() -> bool:
    """alpha^2/3 <= alpha(alpha-1)/2 from alpha = 3, and y/(1-y) <= 1/v where y <= 1/(1+v)."""
    from sympy import diff, factor, simplify, symbols

    alpha, y, v = symbols("alpha y v", positive=True)
    difference = factor(alpha * (alpha - 1) / 2 - alpha**2 / 3)
    share = y / (1 - y)
    return bool(
        simplify(difference - alpha * (alpha - 3) / 6) == 0
        and simplify(share.subs(y, 1 / (1 + v)) - 1 / v) == 0
        and simplify(diff(share, y) - 1 / (1 - y) ** 2) == 0
    )


@proof("dp_fed_ls.eq15_corrected")
def slope_of_the_exponential() -> bool:
    """(e^x - 1)/x increases, and is below 7/2 at x = 1/0.53 (and up to 1/0.4677029538), in balls."""
    from flint import arb, ctx

    ctx.prec = 120

    def slope(x: arb) -> arb:
        return x.expm1() / x

    # its power series has positive coefficients, so the largest x of the domain decides
    return bool(
        slope(arb(100) / 53) < arb(7) / 2
        and slope(1 / arb("0.46770296")) < arb(7) / 2
        and slope(1 / arb("0.46770295")) > arb(7) / 2
    )
