"""What each mechanism states in balls: its base pair, from exact numbers.

The pairs are those of the float core, whose modules derive and cite them; `tests/proof/test_laws.py` holds
one against the other. Every base pair here but a table is its own mirror image.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from .balls import ball
from .law import Branch, Law, Weight
from .outcomes import Point

HALF = -arb(1) / 2


def gaussian(mu_squared: Fraction) -> Law:
    """N(mu, 1) against N(0, 1): losses N(-mu^2/2, mu^2) under Q. `mu_squared` adds up under composition."""
    m = ball(mu_squared)
    constant = -m / 8 - (2 * arb.pi() * m).log() / 2
    return Law((), (Branch(None, None, Weight(constant, HALF, 1 / (2 * m))),))


def laplace(b: Fraction) -> Law:
    """Laplace(1, b) against Laplace(0, b): atoms at +-1/b, Q-density e^{-(z + 1/b)/2}/4 between them."""
    lam = ball(1 / b)
    weight = Weight(-arb(4).log() - lam / 2, HALF, arb(0))
    return Law(((lam, arb(0.5)), (-lam, (-lam).exp() / 2)), (Branch(-lam, lam, weight),))


def bounded_range(eta: Fraction) -> Law:
    """The pair that dominates every choice whose losses span at most eta."""
    e = ball(eta)
    constant = -(2 * -(-e).expm1()).log() - e / 2
    return Law((), (Branch(-e, e, Weight(constant, HALF, arb(0))),))


def _mirror_images(up: list[Point], level: arb, failure: arb) -> Law:
    """Losses above 0 with their P-masses, their mirror images, the mass at 0, and open failures."""
    both = [*up, *((-x, m * (-x).exp()) for x, m in up)]
    if not level.is_zero():
        both.append((arb(0), level))
    return Law(tuple(both), (), failure, failure)


def guarantee(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Law:
    """Randomised response beside an open failure of probability delta (Kairouz, Oh, Viswanath 2015)."""
    e, kept = ball(epsilon), ball(1 - delta)
    if epsilon == 0:
        return _mirror_images([], kept, ball(delta))
    return _mirror_images([(e, kept / (1 + (-e).exp()))], arb(0), ball(delta))


def randomized_response(eps0: Fraction, answers: Fraction) -> Law:
    """Two true answers: losses eps0, -eps0, and 0 for every other answer."""
    fall = (-ball(eps0)).exp()
    truth = 1 / (1 + ball(answers - 1) * fall)
    return _mirror_images([(ball(eps0), truth)], ball(answers - 2) * fall * truth, arb(0))


def _staircase(eps0: Fraction, nu: Fraction | None) -> tuple[arb, arb, arb]:
    """(e^-eps0, nu, density at 0): nu is where the mean noise is least unless it is given."""
    lam = ball(eps0)
    fall = (-lam).exp()
    place = 1 / (1 + (lam / 2).exp()) if nu is None else ball(nu)
    return fall, place, (1 - fall) / (2 * (place + fall * (1 - place)))


def staircase(eps0: Fraction, shift: Fraction, *nu: Fraction) -> Law:
    """Staircase noise against itself moved by `shift` <= 1 of its steps."""
    fall, place, height = _staircase(eps0, *nu) if nu else _staircase(eps0, None)
    over = 2 * place - ball(shift)
    if nu:  # a corner of the density may lie at the very shift
        over = ball(2 * nu[0] - shift)
    near = over.max(arb(0)) + fall * (-over).max(arb(0))
    kept = height * (near + 2 * ball(1 - shift) * fall / (1 - fall))
    return _mirror_images([(ball(eps0), (1 - kept) / (1 + fall))], kept, arb(0))


def staircase_two_steps(eps0: Fraction, *nu: Fraction) -> Law:
    """Staircase noise against itself moved by two of its steps: five losses."""
    fall, place, height = _staircase(eps0, *nu) if nu else _staircase(eps0, None)
    early = not nu or 2 * nu[0] < 1  # the nu of the least mean noise is below 1/2
    edge = place if early else 1 - place
    once = height * (1 - 2 * edge) * (fall if early else 1)
    up = [(ball(2 * eps0), arb(0.5) + height * edge)]
    if not (nu and 2 * nu[0] == 1):
        up.append((ball(eps0), once))
    return _mirror_images(up, 2 * height * edge * fall, arb(0))


def discrete_laplace(scale: Fraction, shift: Fraction) -> Law:
    """P(x) ~ e^{-|x|/scale} on the integers, against the same moved by a whole number."""
    u, whole = ball(1 / scale), int(shift)
    peak = (u / 2).tanh()
    up = [(ball(shift / scale), 1 / (1 + (-u).exp()))]
    for x in range(1, (whole + 1) // 2):
        up.append((ball((shift - 2 * x) / scale), peak * (-x * u).exp()))
    level = peak * (-ball(shift / (2 * scale))).exp() if whole % 2 == 0 else arb(0)
    return _mirror_images(up, level, arb(0))


def table(*masses: Fraction) -> Law:
    """Two lists of probabilities, one behind the other: first with the unit (P), then without it (Q)."""
    rows = list(zip(masses[: len(masses) // 2], masses[len(masses) // 2 :], strict=True))
    merged: dict[Fraction, Fraction] = {}
    for p, q in rows:
        if p and q:
            merged[p / q] = merged.get(p / q, Fraction(0)) + p
    atoms = [(ball(ratio).log() if ratio != 1 else arb(0), ball(p)) for ratio, p in merged.items()]
    infinite = sum((p for p, q in rows if not q), Fraction(0))
    lost = sum((q for p, q in rows if not p), Fraction(0))
    return Law(tuple(atoms), (), ball(infinite), ball(lost))


def table_reversed(*masses: Fraction) -> Law:
    """The same with the two exchanged."""
    half = len(masses) // 2
    return table(*masses[half:], *masses[:half])


_RATIONAL: dict[object, None] = dict.fromkeys(
    (guarantee, randomized_response, staircase, staircase_two_steps, discrete_laplace)
)


def unit_of(stated: object, numbers: tuple[Fraction, ...]) -> Fraction | None:
    """The exact unit of which every loss of an unsampled pair is a whole multiple, if there is one."""
    if stated not in _RATIONAL:
        return None
    return 1 / numbers[0] if stated is discrete_laplace else numbers[0]
