"""Proofs of steps in AE-DPFL."""

from __future__ import annotations

from dpacct.verify.truth import proof


@proof("ae_dpfl.log_inequality_corrected")
def below_the_second_root() -> bool:
    """f = 2x + log(1-x) is concave, 0 at 0 and positive at 0.7968: not negative between them."""
    from flint import arb, ctx
    from sympy import diff, log, simplify, symbols

    x = symbols("x")
    f = 2 * x + log(1 - x)
    concave = simplify(diff(f, x, 2) + 1 / (1 - x) ** 2) == 0
    ctx.prec = 120
    end = arb("0.7968")
    return bool(concave and f.subs(x, 0) == 0 and 2 * end + (1 - end).log() > 0)


@proof("ae_dpfl.lemma13_corrected")
def hoelder() -> bool:
    """The two exponents add up to 1, and give (p/q)^{2a-1} the power (a-1)/(2a-1)."""
    from sympy import simplify, symbols

    a = symbols("a", positive=True)
    one, other = (a - 1) / (2 * a - 1), a / (2 * a - 1)
    # the first factor is E_P (p/q)^{2a-1} = e^{(2a-1) D}, to the power `one`
    return bool(simplify(one + other - 1) == 0 and simplify((2 * a - 1) * one - (a - 1)) == 0)


@proof("ae_dpfl.proposition10_c_corrected")
def mean_distance() -> bool:
    """The mean of k over k = 0, ..., E-1 is (E-1)/2."""
    from sympy import simplify, summation, symbols

    k, steps = symbols("k E", integer=True, positive=True)
    return bool(simplify(summation(k, (k, 0, steps - 1)) / steps - (steps - 1) / 2) == 0)
