"""All that is declared, and what a declared value may not be: one table for every way to type it."""

import math
import pkgutil
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from inspect import isabstract
from random import Random
from typing import Any

import numpy as np

import dpacct
from dpacct.declare.domain import Domain, Integer, Real, Word
from dpacct.declare.record import Record
from dpacct.mechanisms.mixture import Numbers
from tests.drawing import draw

NOT_NUMBERS: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("nan"), Decimal("-inf")),
    *(True, False, np.True_, b"1", 1j, [], [1.0], {}, object(), np.array([1.0, 2.0])),
    *("", " ", "junk", "1e", "--", "1,5", "0x10", "1__000", "nan", "-inf", "1/0", "1 2", "؁"),
    *("None", "[]", "1e-5 # comment", "9^9^9^9", "1e999999999"),
)
"""No finite real number, to nobody."""
NOT_FLOATS = ("1e400", "1e-400", 1e309, Fraction(10**400))
NOT_WHOLE = (1.5, 2.0, "2.5", Fraction(7, 2))
NOT_WORDS = ("", "junk", 1, math.nan, "poison ", "remove")

RANGES = {
    "(0, 1)": "delta rate",
    "(0, 1]": "client_rate rate sample_rate",
    "(0, 500]": "eps0",
    "(0, inf)": "b clip epochs epsilon noise noise_multiplier realised rho sigma squared_sensitivity",
    "[-1000000000, 1000000000]": "threshold",
    "[0, 1)": "delta",
    "[0, 1000000000000]": "smoothing",
    "[0, 1]": "nu",
    "[0, 1000000000000000]": "epsilon",
    "[0, inf)": "epsilon per_clip per_sensitivity",
    "[0.001, 1000000000]": "b noise_multiplier sigma threshold_sigma",
    "[0.002, 10000000000]": "scale",
    "[0.01, 1000000000]": "sigma",
    "[0.05, 1000000000]": "scale",
    "whole, [0, inf)": "missing",
    "whole, [1, 64]": "size",
    "whole, [1, 1000000000000000]": "steps",
    "whole, [1, 50000]": "steps",
    "whole, [1, 1000000000000]": "batch_size clients records rounds",
    "whole, [1, 1000000000]": "clients coordinates local_steps max_batch rounds",
    "whole, [2, 1000000000000]": "dataset_size",
    "whole, [1, 1000000]": "epochs neighbours",
    "whole, [1, 10000]": "sensitivity",
    "whole, [1, 1000]": "records records_per_user",
    "whole, [1, 1e18]": "batch_size dataset_size",
    "whole, [2, 1000000000]": "clients k",
    "whole, [2, 1000000]": "bins",
}
"""What a number may be, and the parameters that are declared so: what the bad values below follow from."""


def declared_range(domain: Real | Integer) -> str:
    """As the table above writes it."""
    return f"whole, {domain}" if isinstance(domain, Integer) else str(domain)


def bad_values(domain: Domain[Any]) -> list[Any]:
    """What a domain refuses: the table above, and what lies outside its ends, or on an open one."""
    if isinstance(domain, Word):
        return [word for word in NOT_WORDS if word not in domain.choices]
    if not isinstance(domain, Real | Integer):
        return []
    ends = [end for end in (domain.lower, domain.upper) if isinstance(end, Fraction)]
    near = {Fraction(0), *ends, *(end - 1 for end in ends), *(end + 1 for end in ends)}
    near |= {end + step for end in ends for step in (Fraction(1, 10**9), -Fraction(1, 10**9))}
    outside: list[Any] = [value for value in sorted(near) if not domain.contains(value)]
    floats = map(float, outside)
    outside += [value for value in floats if not domain.contains(Fraction(repr(value)))]
    whole = NOT_WHOLE if isinstance(domain, Integer) else ()
    return [*NOT_NUMBERS, *(NOT_FLOATS if domain.as_float else ()), *whole, *outside]


def good_value(domain: Domain[Any]) -> Any:
    """A value that the domain takes."""
    if isinstance(domain, Word):
        return domain.choices[0]
    if isinstance(domain, Real | Integer):
        return draw(domain, Random(0))
    return [1] if isinstance(domain, Numbers) else "a"


def records() -> list[type[Record]]:
    """Every class of dpacct that declares parameters."""
    for module in pkgutil.walk_packages(dpacct.__path__, "dpacct."):
        if not module.name.startswith(("dpacct.papers.", "dpacct.__main__")):
            import_module(module.name)
    by_name, waiting = {}, [Record]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        by_name |= {f"{kind.__module__}.{kind.__qualname__}": kind for kind in below}
    ours = [name for name in by_name if name.startswith("dpacct.")]
    kinds = [by_name[name] for name in sorted(ours)]
    return [kind for kind in kinds if kind.parameters and not isabstract(kind)]


def stated(kind: type[Record]) -> Iterator[tuple[dict[str, Any], str]]:
    """For each parameter whose bad values are known: good values that go together with it, and its name."""
    for name, each in kind.parameters.items():
        if bad_values(each.domain):
            values = {n: good_value(kind.parameters[n].domain) for n in _beside(kind, name)}
            yield values, name


def _beside(kind: type[Record], name: str) -> set[str]:
    """What is needed beside a parameter."""
    results = {name, *(each for each, of in kind.parameters.items() if of.required)}
    results |= {other for pair in kind.needing if name in pair for other in pair}
    ways = [way[0] for way in kind.ways if name in way] or [way[0] for way in kind.ways]
    return results | {*ways[:1]}
