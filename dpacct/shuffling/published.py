"""The published closed forms for one shuffle in which everyone takes part; sensitivity is in eps0.

Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta. Amplification by Shuffling. SODA 2019.
Balle, Bell, Gascon, Nissim. The Privacy Blanket of the Shuffle Model. CRYPTO 2019.
Feldman, McMillan, Talwar. Hiding Among the Clones. FOCS 2021 (2020), Theorem 3.1.
Feldman, McMillan, Talwar. Stronger Privacy Amplification by Shuffling. SODA 2023 (2022), closed form.
Girgis, Data, Diggavi, Suresh, Kairouz. On the Renyi Differential Privacy of the Shuffle Model. CCS 2021.

Each is the formula alone; where it holds is what its statement in `dpacct.papers` says.
"""

from __future__ import annotations

import math


def erlingsson_epsilon(delta: float, clients: int, eps0: float) -> float:
    """Erlingsson et al. 2019: epsilon after shuffling, at most.

    >>> round(erlingsson_epsilon(1e-6, 1000, 0.4), 6)
    0.564189
    """
    return 12.0 * eps0 * math.sqrt(-math.log(delta) / clients)


def feldman2020_most_eps0(clients: float, delta: float) -> float:
    """The largest eps0 of Theorem 3.1.

    >>> round(feldman2020_most_eps0(10**5, 1e-6), 3)
    6.066
    """
    return math.log(clients / (16.0 * math.log(2.0 / delta)))


def feldman2020_epsilon(delta: float, clients: int, eps0: float) -> float:
    """Theorem 3.1: epsilon after shuffling, at most.

    >>> round(feldman2020_epsilon(1e-6, 10**5, 4.0), 6)
    0.534634
    """
    growth = math.exp(eps0)
    spread = 8.0 * math.sqrt(growth * math.log(4.0 / delta) / clients) + 8.0 * growth / clients
    return math.log1p(math.expm1(eps0) / (growth + 1.0) * spread)


def feldman2022_most_eps0(clients: float, delta: float) -> float:
    """The largest eps0 of the closed form of 2022.

    >>> round(feldman2022_most_eps0(10**5, 1e-6), 3)
    6.758
    """
    inside = clients / (8.0 * math.log(2.0 / delta)) - 1.0
    return math.log(inside) if inside > 1.0 else 0.0


def feldman2022_epsilon(delta: float, clients: int, eps0: float) -> float:
    """The closed form of 2022: epsilon after shuffling, at most.

    >>> round(feldman2022_epsilon(1e-6, 10**5, 4.0), 6)
    0.407793
    """
    spread = math.sqrt(2.0 * math.log(4.0 / delta) / ((math.exp(eps0) + 1.0) * clients))
    return math.log1p(math.expm1(eps0) * (4.0 * spread + 4.0 / clients))


def girgis_fewest(alpha: int, epsilon: float) -> float:
    """The number of clients above which the simple upper bound is proved.

    >>> round(girgis_fewest(2, 0.0))
    144
    """
    return 9.0 * alpha**4 * math.exp(5.0 * epsilon)


def girgis_divergence(alpha: int, epsilon: float, clients: int) -> float:
    """log(1 + C(alpha, 2) 4 (e^eps - 1)^2/N)/(alpha - 1), whatever the arguments.

    >>> round(girgis_divergence(8, 1.0, 2), 9)
    0.730575906
    """
    pairs = alpha * (alpha - 1) / 2.0
    return math.log1p(pairs * 4.0 * math.expm1(epsilon) ** 2 / clients) / (alpha - 1)


def from_hoeffding(epsilon: float, clients: int, blanket: float, width: float) -> float:
    """(b^2/(4 a g n)) (1 - g (1 - e^{-2 a^2/b^2}))^n, a = e^eps - 1, b = width, g = blanket.

    >>> round(from_hoeffding(math.log(2), 1, 1.0, 2.0), 9)
    0.60653066
    """
    a = math.expm1(epsilon)
    lost = -blanket * math.expm1(-2.0 * a * a / (width * width))
    power = math.exp(clients * math.log1p(-lost)) if lost < 1.0 else 0.0
    return min(1.0, width * width / (4.0 * a * blanket * clients) * power)


def from_bennett(epsilon: float, clients: int, blanket: float, most: float, square: float) -> float:
    """(b/(g n log(1 + u))) ((1 - g + g e^{-c phi(u)/b^2})^n - (1 - g)^n), u = a b/c.

    a = e^eps - 1, b = `most` bounds the variable, c = `square` its mean square, phi(u) = (1+u) log(1+u) - u.

    >>> round(from_bennett(math.log(2), 1, 1.0, 1.0, 1.0), 9)
    0.980412928
    """
    a = math.expm1(epsilon)
    u = a * most / square
    bent = (1.0 + u) * math.log1p(u) - u if u > 1e-4 else 0.5 * u * u * (1.0 - u / 3.0)
    lost = -blanket * math.expm1(-square / (most * most) * bent)
    power = math.exp(clients * math.log1p(-lost)) if lost < 1.0 else 0.0
    none = math.exp(clients * math.log1p(-blanket)) if blanket < 1.0 else 0.0
    return min(1.0, most / (blanket * clients * math.log1p(u)) * max(power - none, 0.0))


def hoeffding(eps0: float, epsilon: float, clients: int) -> float:
    """Balle et al. 2019, Hoeffding, any randomiser: delta after shuffling, at most.

    >>> hoeffding(1.0, 0.5, 10**5) < 1e-10
    True
    """
    width = (math.exp(epsilon) + 1.0) * 2.0 * math.sinh(eps0)
    return from_hoeffding(epsilon, clients, math.exp(-eps0), width)


def bennett(eps0: float, epsilon: float, clients: int) -> float:
    """Balle et al. 2019, Bennett, any randomiser: delta after shuffling, at most.

    >>> bennett(1.0, 0.5, 10**5) < 1e-10
    True
    """
    blanket = math.exp(-eps0)
    most = math.exp(eps0) - math.exp(epsilon - eps0)
    square = math.exp(eps0) * (math.exp(2.0 * epsilon) + 1.0)
    square -= 2.0 * blanket * math.exp(epsilon - 2.0 * eps0)
    return from_bennett(epsilon, clients, blanket, most, square)


def _share(eps0: float, answers: int) -> float:
    """The weight of the uniform blanket of randomised response."""
    return answers / (math.exp(eps0) + answers - 1.0)


def hoeffding_rr(eps0: float, epsilon: float, clients: int, answers: int) -> float:
    """Balle et al. 2019, Hoeffding, randomised response: delta after shuffling, at most.

    >>> hoeffding_rr(1.0, 0.5, 10**4, 4) < hoeffding(1.0, 0.5, 10**4)
    True
    """
    blanket = _share(eps0, answers)
    width = (1.0 - blanket) * answers * (math.exp(epsilon) + 1.0)
    return from_hoeffding(epsilon, clients, blanket, width)


def bennett_rr(eps0: float, epsilon: float, clients: int, answers: int) -> float:
    """Balle et al. 2019, Bennett, randomised response: delta after shuffling, at most.

    >>> bennett_rr(1.0, 0.5, 10**4, 4) < bennett(1.0, 0.5, 10**4)
    True
    """
    blanket, a = _share(eps0, answers), math.expm1(epsilon)
    left = 1.0 - blanket
    most = left * answers - blanket * a
    square = blanket * (2.0 - blanket) * a * a
    square += left * left * answers * (math.exp(2.0 * epsilon) + 1.0)
    return from_bennett(epsilon, clients, blanket, most, square)
