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
