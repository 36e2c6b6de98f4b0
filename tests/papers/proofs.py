"""Machine-checked proofs of statements: identities by sympy, inequalities in ball arithmetic."""

import itertools
import re
from collections.abc import Callable
from typing import Any

PROOFS: dict[str, list[Callable[[], bool]]] = {}
"""The proofs of each statement, by its id; each says whether all of its steps hold."""


def proof(*ids: str) -> Callable[[Callable[[], bool]], Callable[[], bool]]:
    """Register a proof of these statements."""

    def register(prover: Callable[[], bool]) -> Callable[[], bool]:
        for id in ids:
            PROOFS.setdefault(id, []).append(prover)
        return prover

    return register


def vanish(*expressions: str) -> bool:
    """Whether sympy simplifies each expression to 0 for all positive values of its symbols."""
    from sympy import parse_expr, simplify, symbols

    names = {name for text in expressions for name in re.findall(r"\b[A-Za-z_]\w*\b(?!\()", text)}
    letters = {name: symbols(name, positive=True) for name in names}
    return all(simplify(parse_expr(text, letters)) == 0 for text in expressions)


@proof("ae_dpfl.proposition10_c_corrected")
def mean_distance() -> bool:
    """The mean of k over k = 0, ..., E-1 is (E-1)/2."""
    return vanish("summation(k, (k, 0, E - 1))/E - (E - 1)/2")


@proof("ae_dpfl.lemma13_corrected")
def hoelder() -> bool:
    """The two exponents add up to 1, and give (p/q)^{2a-1} the power (a-1)/(2a-1)."""
    first, second = "(a - 1)/(2*a - 1)", "a/(2*a - 1)"
    # the first factor is E_P (p/q)^{2a-1} = e^{(2a-1) D}, to the first power
    return vanish(f"{first} + {second} - 1", f"(2*a - 1)*{first} - (a - 1)")


@proof("ae_dpfl.log_inequality_corrected")
def below_the_second_root() -> bool:
    """f = 2x + log(1-x) is concave, 0 at 0 and positive at 0.7968: not negative between them."""
    from flint import arb, ctx

    ctx.prec = 120
    end = arb("0.7968")
    concave = vanish("diff(2*x + log(1 - x), x, 2) + 1/(1 - x)**2")
    return bool(concave and 2 * end + (1 - end).log() > 0)


@proof("dong2019.corollary5_4")
def limiting_moment() -> bool:
    """mu^2/(2 c^2) is the integral of phi (e^{mx - m^2/2} - 1)^2 over x > m/2, m = 1/sigma.

    phi e^{k(mx - m^2/2)} = e^{k(k-1)m^2/2} phi(x - km), whose part above m/2 is Phi((k - 1/2) m).
    """
    from sympy import Function, Rational, exp, expand, symbols

    m, x = symbols("m x")
    phi_cdf = Function("Phi")
    square = -(x**2) / 2
    total: Any = 0
    for k, weight in ((2, 1), (1, -2), (0, 1)):
        shifted = -((x - k * m) ** 2) / 2 + Rational(k * (k - 1), 2) * m**2
        if expand(square + k * (m * x - m**2 / 2) - shifted) != 0:
            return False
        total += weight * exp(Rational(k * (k - 1), 2) * m**2) * phi_cdf((k - Rational(1, 2)) * m)
    # Phi(m/2) = 1 - Phi(-m/2)
    total = total.subs(phi_cdf(m / 2), 1 - phi_cdf(-m / 2))
    printed = exp(m**2) * phi_cdf(3 * m / 2) + 3 * phi_cdf(-m / 2) - 2
    return bool(expand(total - printed) == 0)


@proof("dp_fed_ls.lemma2", "dp_fed_ls.lemma3_integer")
def constants_add_up() -> bool:
    """6 + 1 and 7/2 + 1/2 of tau^2 C(alpha, 2)/nu^2, over alpha - 1, are the printed constants."""
    pairs = "tau**2*alpha*(alpha - 1)/2/nu2"
    return vanish(
        f"(6 + 1)*{pairs}/(alpha - 1) - 7/2*tau**2*alpha/nu2",
        f"(7/2 + 1/2)*{pairs}/(alpha - 1) - 2*tau**2*alpha/nu2",
    )


@proof("dp_fed_ls.eq3", "dp_fed_ls.eq4")
def budget_is_split() -> bool:
    """Show that T rounds cost lambda eps, and the conversion (1 - lambda) eps, at Eq. (3) and (4)'s noise."""
    alpha = "(L/((1 - lam)*eps) + 1)"
    nu2 = "((tau*G/eps)**2*4*c*T/lam*(L/(1 - lam) + eps))"  # as printed, with 4 c = 14 or 8
    all_rounds = f"T*c*tau**2*{alpha}/({nu2}/(4*G**2))"
    return vanish(f"{all_rounds} - lam*eps", f"{all_rounds} + L/({alpha} - 1) - eps")


@proof("dp_fed_ls.eq5")
def minimum() -> bool:
    """One of the two is below 6x at each x: convexity reduces both to their ends, in balls."""
    from flint import arb, ctx

    ctx.prec = 120
    end = arb(100) / 67  # x = 1/nu^2 at nu^2 = 0.67
    split = arb("0.7")
    # both less 6x are convex: at most their larger end; the first is 0 at x = 0
    first = 4 * split.expm1() < 6 * split
    return bool(first and all(2 * x.exp() < 6 * x for x in (split, end)))


@proof("dp_fed_ls.eq8")
def geometric_tail() -> bool:
    """alpha^2/3 <= alpha(alpha-1)/2 from alpha = 3, and y/(1-y) <= 1/v where y <= 1/(1+v)."""
    return vanish(
        "alpha*(alpha - 1)/2 - alpha**2/3 - alpha*(alpha - 3)/6",
        "1/(1 + v)/(1 - 1/(1 + v)) - 1/v",
        "diff(y/(1 - y), y) - 1/(1 - y)**2",
    )


@proof("dp_fed_ls.eq14")
def bernoulli() -> bool:
    """f(t) = (1-t)^n (1+nt) has f(0) = 1 and f' = -n(n+1) t (1-t)^(n-1), which is never positive."""
    slope = "diff((1 - t)**n*(1 + n*t), t)/(1 - t)**(n - 1)"
    return vanish(f"powsimp(expand({slope} + n*(n + 1)*t))")


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


@proof("dp_fedsam.eq17")
def mixed_twice() -> bool:
    """Show that with the mixture as mu_1 the bracket is 1 - q^2 + q^2 r: a rate of q^2."""
    return vanish("1 - q + q*(q*r + 1 - q) - (1 - q**2 + q**2*r)")


@proof("dp_fedsam.lemma5_sign")
def first_order() -> bool:
    """T - (k e^eps + 2T - k)/(1 + e^eps) = (T - k)(e^eps - 1)/(e^eps + 1), positive for k < T."""
    return vanish("T - (k*g + 2*T - k)/(1 + g) - (T - k)*(g - 1)/(g + 1)")


@proof("dp_fedsam.lemma5_corrected")
def chernoff() -> bool:
    """Show that w = e^{(1+2s) eps} = (T eps + x)/(T eps - x) is stationary, with the formula's exponent.

    There e^{(1+s) eps} = e^{eps/2} sqrt(w) and e^{-s eps} = e^{eps/2}/sqrt(w), so their sum is
    e^{eps/2} (w + 1)/sqrt(w) and the ratio of difference to sum is (w - 1)/(w + 1).
    """
    high, low = "(T*e + x)", "(T*e - x)"
    w, exponent = f"({high}/{low})", "(-x*(W - e)/(2*e) + T*(e/2 + S - W/2 - c))"
    return vanish(
        f"-x + T*e*({w} - 1)/({w} + 1)",
        f"{w} + 1 - 2*T*e/{low}",  # of which S is the logarithm; W is that of w, c that of 1 + e^eps
        f"{exponent} - ({high}/2 + T*(S - c) - {high}/(2*e)*W)",
    )


@proof("federated_fdp.definition3_6_corrected")
def joint_shift() -> bool:
    """v^T S^-1 v = 2 mu^2/(1 + r) for v = mu (1, 1) and S = ((1, r), (r, 1))."""
    shift = "Matrix([[mu, mu]])*Matrix([[1, r], [r, 1]]).inv()*Matrix([mu, mu])"
    return vanish(f"({shift})[0] - 2*mu**2/(1 + r)")


@proof("federated_fdp.theorem1", "federated_fdp.theorem1_corrected")
def two_rounds() -> bool:
    """R = 2, two clients: the truth exceeds the printed bound by p^2 (1-p)^2, and not the corrected."""
    # coins of j and of i in round 1, then in round 2; the server keeps what j gave
    seen = [
        coins
        for coins in itertools.product((0, 1), repeat=4)
        if (coins[0] and (coins[1] or coins[3])) or (coins[2] and coins[3])
    ]
    truth = " + ".join(f"p**{sum(coins)}*(1 - p)**{4 - sum(coins)}" for coins in seen)
    return vanish(
        f"{truth} - (1 - (1 - p**2)**2) - p**2*(1 - p)**2",
        f"1 - (1 - p)**2 - ({truth}) - 2*p*(1 - p)**2",
    )


@proof("geng2014.least_variance")
def derivative() -> bool:
    """dV/dnu has the sign of 2u^3 - b(1+b), u = (1-b) nu + b, and the printed nu is its zero."""
    mass, sign = "(nu + b*(1 - nu))", "(2*((1 - b)*nu + b)**3 - b*(1 + b))"
    first = f"(nu**2 + b*(1 - nu**2))/(2*{mass})"
    second = f"(nu**3 + b*(1 - nu**3))/(3*{mass})"
    # E p and E p^2 of the geometric level, P(p) = (1 - b) b^p
    level, square = "b/(1 - b)", "b*(1 + b)/(1 - b)**2"
    return vanish(
        f"diff({square} + 2*{level}*{first} + {second}, nu)*3*{mass}**2*(1 - b) - {sign}",
        "b - 2*b**2 + 2*b**4 - b**5 - b*(1 + b)*(1 - b)**3",
    )


@proof("udp_fl.theorem2_corrected")
def total_mass() -> bool:
    """Show that the corrected moment at alpha = 1 is the total mass, 1, for nu on either side of 1/2."""
    b = "exp(-lam)"
    height, ends = f"(1 - {b})/(2*(nu + {b}*(1 - nu)))", f"(1 + {b})"
    return vanish(
        f"{ends}/2 + {height}*({ends}*nu + (1 - 2*nu)*{b}) - 1",
        f"{ends}/2 + {height}*({ends}*(1 - nu) + (2*nu - 1)) - 1",
    )


@proof("udp_fl.theorem5_corrected")
def moments_of_the_curve() -> bool:
    """Show that the mean of the curve less w, for uniform r, is 1/L exactly at the corrected theta."""
    curve = "(1 - r)**2*v + 2*r*(1 - r)*(3/L + 2*w - v) + r**2*w"
    return vanish(f"integrate({curve}, (r, 0, 1)) - w - 1/L")


@proof("udp_fl.algorithm3_corrected")
def best_order() -> bool:
    """The least of T alpha/(2 sigma^2) + L/(alpha - 1) over alpha is eps at the corrected sigma."""
    cost = "(T*(s + 1)/(2*sigma**2) + L/s)"  # s = alpha - 1
    best, noise = "sigma*sqrt(2*L/T)", "sqrt(T/2)/(sqrt(L + eps) - sqrt(L))"
    return vanish(
        f"diff({cost}, s).subs(s, {best})",
        f"diff({cost}, s, 2) - 2*L/s**3",  # positive
        f"{cost}.subs(s, {best}).subs(sigma, {noise}) - eps",
    )


@proof("udp_fl.theorem7")
def three_pieces() -> bool:
    """The integral of p^alpha q^(1-alpha) for two Laplace densities, piece by piece."""
    from sympy import exp, integrate, oo, simplify, symbols

    lam, t = symbols("lambda t", positive=True)
    x = symbols("x", real=True)
    alpha = t + 1  # above 1, so that sympy knows the sign of every exponent
    left = integrate(exp(alpha * (x - lam) + (1 - alpha) * x) / 2, (x, -oo, 0))
    middle = integrate(exp(alpha * (x - lam) - (1 - alpha) * x) / 2, (x, 0, lam))
    right = integrate(exp(-alpha * (x - lam) - (1 - alpha) * x) / 2, (x, lam, oo))
    printed = alpha * exp(lam * t) + t * exp(-lam * alpha)
    return bool(simplify(left + middle + right - printed / (2 * alpha - 1)) == 0)


@proof("udp_fl.theorem7_l2_corrected")
def convex_in_the_shift() -> bool:
    """log(u e^{s x} + v e^{-a x}) with u + v = 1 is convex: its second derivative is a square times uv."""
    up, down = "u*exp(s*x)", "v*exp(-a*x)"
    return vanish(
        f"diff(log({up} + {down}), x, 2) - {up}*{down}*(s + a)**2/({up} + {down})**2",
    )
