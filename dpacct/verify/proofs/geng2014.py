"""Proofs about the staircase."""

from __future__ import annotations

from dpacct.verify.truth import proof


@proof("geng2014.least_variance")
def derivative() -> bool:
    """dV/dnu has the sign of 2u^3 - b(1+b), u = (1-b) nu + b, and the printed nu is its zero."""
    from sympy import cancel, diff, expand, symbols, together

    b, nu = symbols("b nu", positive=True)
    mass = nu + b * (1 - nu)
    first = (nu**2 + b * (1 - nu**2)) / (2 * mass)
    second = (nu**3 + b * (1 - nu**3)) / (3 * mass)
    # E p and E p^2 of the geometric level, P(p) = (1 - b) b^p
    level, square = b / (1 - b), b * (1 + b) / (1 - b) ** 2
    slope = together(diff(square + 2 * level * first + second, nu))
    u = (1 - b) * nu + b
    sign = 2 * u**3 - b * (1 + b)
    quotient = cancel(slope / sign)  # 1/(3 mass^2 (1 - b)), which is positive
    at_root = expand(b - 2 * b**2 + 2 * b**4 - b**5 - b * (1 + b) * (1 - b) ** 3)
    return bool(at_root == 0 and cancel(quotient * 3 * mass**2 * (1 - b)) == 1)
