"""Proofs of steps in DP-FedSAM."""

from __future__ import annotations

from dpacct.verify.truth import proof


@proof("dp_fedsam.eq17")
def mixed_twice() -> bool:
    """With the mixture as mu_1 the bracket is 1 - q^2 + q^2 r: a rate of q^2."""
    from sympy import expand, symbols

    q, r = symbols("q r")
    return bool(expand(1 - q + q * (q * r + 1 - q) - (1 - q**2 + q**2 * r)) == 0)


@proof("dp_fedsam.lemma5_corrected")
def chernoff() -> bool:
    """With w = e^{(1+2s) eps} = (T eps + x)/(T eps - x): stationary, and the exponent is the formula's.

    There e^{(1+s) eps} = e^{eps/2} sqrt(w) and e^{-s eps} = e^{eps/2}/sqrt(w), so their sum is
    e^{eps/2} (w + 1)/sqrt(w) and the ratio of difference to sum is (w - 1)/(w + 1).
    """
    from sympy import simplify, symbols

    steps, e, x, log_w, log_moment = symbols("T e x W c", positive=True)  # c = log(1 + e^eps)
    high, low = steps * e + x, steps * e - x
    w = high / low
    stationary = simplify(-x + steps * e * (w - 1) / (w + 1)) == 0
    log_sum = symbols("S")  # log(w + 1), where w + 1 = 2 T eps/(T eps - x)
    weights = simplify(w + 1 - 2 * steps * e / low) == 0
    exponent = -x * (log_w - e) / (2 * e) + steps * (e / 2 + log_sum - log_w / 2 - log_moment)
    formula = high / 2 + steps * (log_sum - log_moment) - high / (2 * e) * log_w
    return bool(stationary and weights and simplify(exponent - formula) == 0)


@proof("dp_fedsam.lemma5_sign")
def first_order() -> bool:
    """T - (k e^eps + 2T - k)/(1 + e^eps) = (T - k)(e^eps - 1)/(e^eps + 1), positive for k < T."""
    from sympy import simplify, symbols

    steps, k, growth = symbols("T k g", positive=True)
    missing = steps - (k * growth + 2 * steps - k) / (1 + growth)
    return bool(simplify(missing - (steps - k) * (growth - 1) / (growth + 1)) == 0)
