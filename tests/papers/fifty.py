"""The reference values that the pages cite from here, computed with mpmath at 50 digits.

A formula's value is computed by the papers' own files, run with mpmath in place of `math` and with numbers
that are what was typed (or, where a file computes with arrays, as it is written here): it checks every digit.
A truth is computed by the function of fifty_truths.py that bears its
statement's name, from what the statement is about (densities, sums over outcomes, matrices, steps taken one
by one), with no line of dpacct.

`python -m tests.papers.fifty [ID...]` prints them; tests/papers/test_fifty.py holds the pages against them.
"""

import ast
import importlib
import sys
import types
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mpmath as mp
from mpmath import exp, log, mpf, pi, quad, sqrt

from dpacct.papers.page import Reference, Statement
from dpacct.papers.registry import statements
from tests.papers.fifty_truths import TRUTHS, cdf, density, fixed_size, least

CITED = "tests/papers/fifty.py"
DIGITS = 50
INF = mp.inf

# --- formulas: their own files, with mpmath's numbers


def copysign(size: Any, sign: Any) -> Any:
    """The size with that sign."""
    return abs(size) * (1 if sign >= 0 else -1)


MATHS = {
    **{
        name: getattr(mp, name) for name in ("pi", "inf", "nan", "exp", "log", "sqrt", "cos", "sin")
    },
    **{
        name: getattr(mp, name)
        for name in ("tanh", "cosh", "sinh", "acosh", "log1p", "expm1", "log10")
    },
    **{name: getattr(mp, name) for name in ("erf", "erfc", "hypot", "isinf", "isnan", "isfinite")},
    "comb": mp.binomial,
    "lgamma": mp.loggamma,
    "pow": mp.power,
    "fsum": lambda terms: mp.fsum(list(terms)),
    "copysign": copysign,
    "ceil": lambda x: int(mp.ceil(x)),
    "floor": lambda x: int(mp.floor(x)),
}
"""What the files call of `math`, by mpmath."""
SPECIAL = {
    "ndtr": mp.ncdf,
    "log_ndtr": lambda x: log(mp.ncdf(x)),
    "ndtri": lambda p: sqrt(2) * mp.erfinv(2 * p - 1),
    "gammaln": mp.loggamma,
}
SERIES = {"mills_ratio": lambda z: sqrt(mp.pi / 2) * mp.exp(z * z / 2) * mp.erfc(z / sqrt(2))}
"""What a file cuts off where floats end."""


class Exact(ast.NodeTransformer):
    """Decimals become mpmath's numbers, and late imports of scipy what mpmath has."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """`0.1` is one tenth."""
        if isinstance(node.value, float):
            call = ast.Call(ast.Name("mpf", ast.Load()), [ast.Constant(repr(node.value))], [])
            return ast.copy_location(call, node)
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        """`math` is in the file's own names already, for its constants too."""
        return None if [alias.name for alias in node.names] == ["math"] else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """scipy.special is in the file's own names already."""
        return None if node.module == "scipy.special" else node


@cache
def fifty(module: str) -> types.ModuleType:
    """A file of dpacct, run with mpmath's numbers; what it imports of formulas too."""
    path = Path(str(importlib.import_module(module).__file__))
    tree = Exact().visit(ast.parse(path.read_text(encoding="utf-8")))
    copy = types.ModuleType(module)
    copy.__file__ = str(path)
    names: dict[str, Any] = {"mpf": mpf, "float": lambda x: x, **SPECIAL}
    copy.__dict__.update(names, math=types.SimpleNamespace(**MATHS))
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), copy.__dict__)
    for name in SERIES.keys() & vars(copy).keys():
        copy.__dict__[name] = SERIES[name]
    for name, held in list(vars(copy).items()):
        other = held.__name__ if isinstance(held, types.ModuleType) else held_in(held)
        if other == "dpacct.pld.scalar":  # e^x of a float or a ball
            copy.__dict__[name] = getattr(mp, held.__name__)
        if other != module and other.startswith(OURS):
            again = fifty(other)
            whole = isinstance(held, types.ModuleType)
            copy.__dict__[name] = again if whole else vars(again)[held.__name__]
    return copy


OURS = (
    *("dpacct.papers.formulas.", "dpacct.pld.conversions", "dpacct.shuffling.published"),
    *("dpacct.voting.published", "dpacct.plan.smallest_noise", "dpacct.papers.sampled_renyi"),
    "dpacct.mechanisms.laws.staircase",
)


def held_in(thing: Any) -> str:
    """The module of a function."""
    return str(getattr(thing, "__module__", "")) if isinstance(thing, types.FunctionType) else ""


def number(text: str) -> Any:
    """`16/600`, `1e-6`, `30` or `[6, 0]` exactly; whole numbers stay whole."""
    if text.startswith("["):
        return tuple(number(part.strip()) for part in text.strip("[]").split(","))
    above, _, below = text.partition("/")
    if below:
        return mpf(above) / mpf(below)
    return int(text) if text.lstrip("-").isdigit() else mpf(text)


def formula(statement: Statement, row: Reference) -> Any:
    """The formula's value at 50 digits."""
    with mp.workdps(DIGITS):
        names = [a.name for a in statement.arguments if row.inputs[a.name]]
        whole = {a.name for a in statement.arguments if "integer in" in a.range}
        values = {n: number(row.inputs[n]) for n in names}
        values = {n: v if n in whole or isinstance(v, tuple) else mpf(v) for n, v in values.items()}
        if statement.id in PRINTED:
            return PRINTED[statement.id](**values)
        return vars(fifty(statement.module.__name__))[statement.name](**values)


# --- formulas that their files compute with arrays, written down once more

PRINTED: dict[str, Callable[..., Any]] = {}


def printed(*ids: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the function below the formula of these statements."""

    def attach(function: Callable[..., Any]) -> Callable[..., Any]:
        PRINTED.update(dict.fromkeys(ids, function))
        return function

    return attach


@printed("ae_dpfl.lemma13_corrected")
def event(q: Any, alpha: Any, epsilon: Any) -> Any:
    """log((1-q)^(1-a) + q^(a/(2a-1)) e^((a-1) eps)) / (a-1)."""
    stay, leave = (1 - q) ** (1 - alpha), q ** (alpha / (2 * alpha - 1))
    return log(stay + leave * exp((alpha - 1) * epsilon)) / (alpha - 1)


def overtaken(votes: Sequence[Any], sigma: Any, margin: Any) -> Any:
    """The sum of erfc((lead - other - margin)/(2 sigma))/2 over the other classes."""
    lead, *others = sorted(votes, reverse=True)
    return mp.fsum(mp.erfc((lead - other - margin) / (2 * mpf(sigma))) for other in others) / 2


def one_label(votes: Sequence[Any], sigma: Any, alpha: Any, move: Any, margin: Any) -> Any:
    """The smaller of the plain cost and the event's, for votes that far apart."""
    plain = alpha * move**2 / (2 * mpf(sigma) ** 2)
    q = overtaken(votes, sigma, margin)
    return min(plain, event(q, alpha, 2 * plain)) if q < 1 else plain


@printed("ae_dpfl.theorem14_corrected")
def label_by_agents(votes: Sequence[Any], sigma: Any, alpha: Any) -> Any:
    """s = 1, and a margin falls by 1."""
    return one_label(votes, sigma, alpha, 1, 1)


@printed("ae_dpfl.theorem14_corrected_instance")
def label_by_votes(votes: Sequence[Any], sigma: Any, alpha: Any) -> Any:
    """s = sqrt(2), and a margin falls by 2."""
    return one_label(votes, sigma, alpha, sqrt(2), 2)


@printed("ae_dpfl.theorem14_corrected_knn")
def label_by_neighbours(neighbours: Sequence[Any], k: int, sigma: Any, alpha: Any) -> Any:
    """s = sqrt(2)/k, and a margin falls by 2/k."""
    votes = [mpf(count) / k for count in neighbours]
    return one_label(votes, sigma, alpha, sqrt(2) / k, mpf(2) / k)


@printed("papernot2018.proposition7")
def any_overtakes(votes: Sequence[Any], sigma: Any) -> Any:
    """The union over the other classes."""
    return overtaken(votes, sigma, 0)


@printed("ae_dpfl.lemma12_union")
def none_overtakes(votes: Sequence[Any], sigma: Any) -> Any:
    """One minus that."""
    return 1 - overtaken(votes, sigma, 0)


@printed("papernot2017.lemma4")
def laplace_overtakes(votes: Sequence[Any], b: Any) -> Any:
    """The sum of (2 + m)/(4 e^m)."""
    lead, *others = sorted(votes, reverse=True)
    margins = [(lead - other) / mpf(b) for other in others]
    return mp.fsum((2 + m) / (4 * exp(m)) for m in margins)


@printed("papernot2017.theorem3")
def likely_outcome(epsilon: Any, alpha: Any, q: Any) -> Any:
    """log((1-q)((1-q)/(1-e^eps q))^(a-1) + q e^(eps (a-1)))/(a-1), or epsilon."""
    power = alpha - 1
    stay = (1 - q) * ((1 - q) / (1 - exp(epsilon) * q)) ** power
    return min(epsilon, log(stay + q * exp(epsilon * power)) / power)


@printed("papernot2018.theorem6")
def two_orders(mu1: Any, epsilon1: Any, mu2: Any, epsilon2: Any, order: Any, q: Any) -> Any:
    """A and B of the theorem."""
    a = (1 - q) / (1 - (q * exp(epsilon2)) ** ((mu2 - 1) / mu2))
    b = exp(epsilon1) / q ** (1 / (mu1 - 1))
    return log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)


@printed("papernot2018.gnmax")
def gnmax(votes: Sequence[Any], sigma: Any, order: Any) -> Any:
    """At mu2 = sigma sqrt(log(1/q)) and mu1 = mu2 + 1, where that is less than order/sigma^2."""
    q, plain = overtaken(votes, sigma, 0), order / mpf(sigma) ** 2
    if q >= 1:
        return plain
    mu2 = sigma * sqrt(log(1 / q))
    if order > mu2:
        return plain
    costs = (mu2 + 1) / mpf(sigma) ** 2, mu2 / mpf(sigma) ** 2
    return min(plain, two_orders(mu2 + 1, costs[0], mu2, costs[1], order, q))


@printed("dp_fed_ls.eq2", "dp_fed_ls.eq2_corrected")
def by_fourier(v: Sequence[Any], sigma: Any) -> Any:
    """The circulant matrix, which a Fourier transform makes diagonal."""
    d = len(v)
    result = mpf(0)
    for k in range(d):
        wave = [exp(2j * pi * k * i / d) for i in range(d)]
        kernel = -2 + wave[1 % d] + mp.conj(wave[1 % d])
        result += mp.fsum(x / w for x, w in zip(v, wave, strict=True)) / (1 - sigma * kernel) / d
    return result.real


@printed("dong2019.c_p_renyi")
def sampled_step(mu: Any, rate: Any, alpha: Any) -> Any:
    """The divergence of the pair C_p."""
    return fixed_size(rate, 1 / mpf(mu) ** 2, alpha)


def removing(rate: Any, sigma: Any, alpha: Any) -> Any:
    """log E[(1 - q + q mu_1/mu_0)^alpha]/(alpha - 1) under mu_0 = N(0, sigma^2)."""
    shift = 1 / mpf(sigma)
    ends = [-30, -6, 0, shift, alpha * shift + 6, alpha * shift + 30]

    def height(x: Any) -> Any:
        return density(x) * ((1 - rate + rate * exp(shift * x - shift**2 / 2)) ** alpha - 1)

    return mp.log1p(quad(height, ends)) / (alpha - 1)


@printed("mironov2019.fractional")
def fractional(alpha: Any, rate: Any, sigma: Any) -> Any:
    """The integral that the series is of."""
    return removing(rate, sigma, alpha)


@printed("dp_fedsam.eq17_corrected")
def all_rounds(alpha: Any, rate: Any, sigma: Any, rounds: int) -> Any:
    """So many rounds of it."""
    return rounds * removing(rate, sigma, alpha)


@printed("dp_fedsam.eq17")
def mixed_rounds(alpha: Any, rate: Any, sigma: Any, rounds: int) -> Any:
    """A rate of q^2."""
    return rounds * removing(rate**2, sigma, alpha)


@printed("federated_fdp.theorem2")
def one_step(rate: Any, sigma: Any, steps: int, epsilon: Any) -> Any:
    """A single step: the rate times the shift's hockey stick at log(1 + (e^eps - 1)/rate)."""
    assert steps == 1
    mu, bar = 1 / mpf(sigma), log(1 + (exp(epsilon) - 1) / rate)
    return rate * (cdf(mu / 2 - bar / mu) - exp(bar) * cdf(-mu / 2 - bar / mu))


def best_epsilon(cost: Callable[[Any], Any], delta: Any) -> Any:
    """Eq. (16) at the best order: flat at its minimum, so 15 digits of the integral are enough."""
    with mp.workdps(15):

        def epsilon(log_power: Any) -> Any:
            alpha = 1 + exp(log_power)
            rest = (log(1 / delta) + (alpha - 1) * log(1 - 1 / alpha) - log(alpha)) / (alpha - 1)
            return cost(alpha) + rest

        return least(epsilon, log(mpf("0.01")), log(mpf(255)), 30)


@printed("dp_fedsam.theorem2")
def mixed_twice(rate: Any, sigma: Any, rounds: int, delta: Any) -> Any:
    """Eq. (17) as printed accounts for a rate of q^2."""
    return best_epsilon(lambda a: rounds * removing(rate**2, sigma, a), delta)


@printed("dp_fedsam.theorem2_corrected", "dp_fedsam.theorem2_algorithm1")
def mixed_once(rate: Any, sigma: Any, rounds: int, delta: Any) -> Any:
    """With mu_1 = N(1, sigma^2)."""
    return best_epsilon(lambda a: rounds * removing(rate, sigma, a), delta)


@printed("dp_fedsam.theorem2_without_replacement")
def fixed_size_rounds(rate: Any, sigma: Any, rounds: int, delta: Any) -> Any:
    """With C_q of a shift of 2/sigma."""
    return best_epsilon(lambda a: rounds * fixed_size(rate, (sigma / 2) ** 2, a), delta)


def true_value(statement: Statement, row: Reference) -> Any:
    """The truth at 50 digits."""
    with mp.workdps(DIGITS):
        values = {name: number(text) for name, text in row.inputs.items() if text}
        return +TRUTHS[statement.id](**values)


def main(names: list[str]) -> int:
    """Print every value that a page cites from here."""
    for statement in statements():
        for row in statement.values:
            if CITED in row.source and (not names or statement.id in names):
                value = mp.nstr(formula(statement, row), 20) if row.formula else ""
                true = mp.nstr(true_value(statement, row), 20) if row.truth else ""
                print(statement.id, dict(row.inputs), value, true, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
