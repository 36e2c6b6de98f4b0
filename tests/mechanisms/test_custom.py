"""Your own mechanism: known mechanisms given again in each form, and everything that is refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import ndtr, ndtri

import dpacct as dp
from tests.mechanisms import oracle

MU = 0.5
GAUSSIAN = dp.Gaussian(sigma=2)


def profile(epsilon: float) -> float:
    return float(ndtr(MU / 2 - epsilon / MU) - math.exp(epsilon) * ndtr(-MU / 2 - epsilon / MU))


def tradeoff(alpha: float) -> float:
    return float(ndtr(ndtri(1 - alpha) - MU)) if alpha < 1 else 0.0


def normal(mean: float) -> Callable[[Any], Any]:
    return lambda x: np.exp(-((x - mean) ** 2) / 8) / math.sqrt(8 * math.pi)


ALPHAS = ndtr(np.linspace(-8, 8, 1601)).tolist()
"""Type I errors at which the polygon has its corners; the curve lies below the chords, by next to nothing."""
FORMS = {
    "profile": dp.Custom(profile=[(e, profile(e)) for e in np.linspace(0, 5, 1001).tolist()]),
    "tradeoff": dp.Custom(tradeoff=[(a, tradeoff(a)) for a in ALPHAS]),
    "densities": dp.Custom(densities=(normal(1), normal(0)), breaks=[-60, 60], symmetric=True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_gaussian_given_by_a_curve_is_one(form: str, delta: float) -> None:
    """Between its points a profile is taken to be as large, a trade-off function as large, as can be."""
    for wrapped, plain in (
        (FORMS[form], GAUSSIAN),
        (dp.Poisson("0.1")(FORMS[form]), dp.Poisson("0.1")(GAUSSIAN)),
        (FORMS[form] * 10, GAUSSIAN * 10),
    ):
        truth, answer = plain.epsilon(delta=delta).value, wrapped.epsilon(delta=delta)
        assert answer.upper == pytest.approx(truth, rel=1e-3)
        if form == "profile":
            assert answer.upper >= truth
        if form == "densities":
            assert answer.lower <= truth <= answer.upper


def test_a_renyi_curve_gives_what_zcdp_gives() -> None:
    custom, zcdp = dp.Custom(rdp=lambda order: order / 8), dp.ZCDP(rho="0.125") * 4
    answer, of_zcdp = (custom * 4).epsilon(delta=1e-6), zcdp.epsilon(delta=1e-6)
    assert answer.upper == pytest.approx(of_zcdp.upper, rel=1e-9)
    assert str(answer.side) == "upper"
    with pytest.raises(dp.Unsupported, match="cannot be amplified by sampling"):
        (dp.Poisson(0.1)(custom) * 3).epsilon(delta=1e-6)


@given(eps=st.floats(0.1, 5), delta=st.floats(1e-9, 0.1))
def test_one_point_is_approximate_dp(eps: float, delta: float) -> None:
    custom, approximate = dp.Custom(profile=[(eps, delta)]), dp.ApproxDP(epsilon=eps, delta=delta)
    for node, other in ((custom, approximate), (custom * 3, approximate * 3)):
        left, right = (n.delta(epsilon=eps / 2, method="exact").value for n in (node, other))
        assert left == pytest.approx(right, rel=1e-9)


def test_points_that_others_imply_change_nothing() -> None:
    few = dp.Custom(profile=[(0.5, 1e-3), (2, 0)])
    more = dp.Custom(profile=[(0.5, 1e-3), (1, 0.9e-3), (2, 0), (3, 0)])
    assert few.delta(epsilon=1).value == pytest.approx(more.delta(epsilon=1).value, rel=1e-12)
    assert few.delta(epsilon=2).value == 0.0
    assert float(few.epsilon(delta=0)) == 2.0


def test_a_trade_off_by_points_is_randomised_response() -> None:
    corner = 1 / (1 + math.e)
    custom = dp.Custom(tradeoff=[(0, 1), (corner, corner), (1, 0)]) * 6
    truth = (dp.PureDP(epsilon=1) * 6).epsilon(delta=1e-3).value
    assert custom.epsilon(delta=1e-3).value == pytest.approx(truth, rel=1e-4)
    # a point above the line does not matter: the hull is taken
    again = dp.Custom(tradeoff=[(0, 1), (corner, corner), (0.5, 0.2), (1, 0)]) * 6
    assert again.epsilon(delta=1e-3).value == pytest.approx(truth, rel=1e-4)


tables = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        *(st.lists(st.integers(0, 20), min_size=n, max_size=n).filter(any) for _ in "pq")
    ).filter(lambda rows: any(a and b for a, b in zip(*rows, strict=True)))
)


@given(weights=tables, steps=st.integers(1, 3), epsilon=st.floats(0.01, 2))
def test_tables_are_taken_outcome_by_outcome(
    weights: tuple[list[int], list[int]], steps: int, epsilon: float
) -> None:
    p, q = ([f"{x}/{sum(row)}" for x in row] for row in weights)
    table = tuple([mpf(x) / sum(row) for x in row] for row in weights)
    node = dp.Custom(tables=(p, q))
    for run, pair in (
        (node * steps, table),
        (dp.Poisson("0.25")(node) * steps, oracle.poisson(table, mpf("0.25"))),
    ):
        answer = run.delta(epsilon=epsilon, method="exact")
        truth = oracle.two_sided(pair, steps, mpf(epsilon))
        assert answer.lower <= truth * (1 + mpf("1e-9")) + mpf("1e-14")
        assert truth * (1 - mpf("1e-9")) <= answer.upper <= truth * (1 + mpf("1e-3")) + mpf("1e-14")


@given(weights=tables, epsilon=st.floats(0.01, 2))
def test_under_replace_one_either_table_may_come_first(
    weights: tuple[list[int], list[int]], epsilon: float
) -> None:
    """Two steps of which one goes one way and one the other are dominated."""
    p, q = ([f"{x}/{sum(row)}" for x in row] for row in weights)
    first, second = ([mpf(x) / sum(row) for x in row] for row in weights)
    growth = mp.exp(mpf(epsilon))
    crossed = mp.fsum(
        max(mpf(0), a * d - growth * b * c)
        for a, b in zip(first, second, strict=True)
        for c, d in zip(first, second, strict=True)
    )
    run = (dp.Custom(tables=(p, q)) * 2).under("replace-one")
    assert crossed <= run.delta(epsilon=epsilon).upper * (1 + 1e-9) + 1e-12


def test_tables_and_points_are_saved_and_functions_are_not() -> None:
    saved = [
        dp.Custom(tables=(["1/3", "2/3"], [0.5, 0.5])),
        dp.Custom(profile=[(0, 0.1), (1, 1e-5)]),
        dp.Custom(tradeoff=[(0, 0.9), (0.3, 0.3), (0.9, 0)]),
    ]
    for custom in saved:
        plan = dp.Poisson("0.1")(custom) * 3
        assert dp.from_json(plan.to_json()) == plan
    functions = [FORMS["densities"], dp.Custom(rdp=lambda order: order)]
    for custom in functions:
        with pytest.raises(dp.Unsupported, match="a Custom made of a function cannot be saved"):
            custom.to_json()


def test_what_was_promised_is_answered_to_the_letter() -> None:
    """Delta is then exactly what fails openly, which rounding alone can't tell from less."""
    for node in (
        dp.Custom(profile=[(0, "0.1"), (1, "1e-5")]),
        dp.ApproxDP(epsilon=1, delta="1e-5"),
    ):
        answer = node.epsilon(delta="1e-5")
        assert answer.lower <= 1 <= answer.upper <= 1 + 1e-14
        assert node.epsilon(delta="0.99e-5").upper == math.inf


def test_arrays_are_lists() -> None:
    tables = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert dp.Custom(tables=tables) == dp.Custom(tables=tables.tolist())
    points = np.array([[0, 0.1], [1, 0.01]])
    assert dp.Custom(profile=points) == dp.Custom(profile=points.tolist())


@pytest.mark.parametrize("rare", ["1e-17", "1e-200"])
def test_a_rare_outcome_is_not_an_impossible_one(rare: str) -> None:
    custom = dp.Custom(tables=([rare, f"{1 - Fraction(rare)}"], ["1/2", "1/2"]))
    # half of Q lies at the loss log(1/2 / rare), so delta is (1 - e^{eps - loss})/2 just below it
    truth = math.log(0.5 / float(rare)) + math.log1p(-2e-9)
    answer = custom.epsilon(delta=1e-9)
    assert answer.lower <= truth <= answer.upper * (1 + 1e-12)
    assert answer.upper <= truth * (1 + 1e-6)


def test_a_renyi_curve_is_checked_wherever_it_is_read() -> None:
    """Between and beyond the orders that are tried when it is brought."""
    dip = dp.Custom(rdp=lambda order: order / 8 if not 2.5 < order < 2.6 else 0.0)
    with pytest.raises(dp.InvalidArgument, match="never falls"):
        dip.rdp(2.55)
    late = dp.Custom(rdp=lambda order: order / 8 if order < 1e6 else math.nan)
    with pytest.raises(dp.InvalidArgument, match="got nan"):
        late.rdp(2e6)


def wide(x: Any) -> Any:
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def half(start: float) -> Callable[[Any], Any]:
    return lambda x: np.where((x >= start) & (x < start + 1), 1.0, 0.0)


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "rdp", "exactly one of"),
    ({"rdp": abs, "profile": [(1, 0)]}, "rdp", "got rdp and profile"),
    ({"rdp": 3}, "rdp", "must be a function"),
    ({"rdp": lambda order: -1.0}, "rdp", "at least 0"),
    ({"rdp": lambda order: 1 / order}, "rdp", "never falls"),
    ({"rdp": lambda order: math.sqrt(min(order, 9))}, "rdp", "convex"),
    ({"rdp": lambda order: math.nan}, "rdp", "got nan at"),
    ({"rdp": lambda order: "x"}, "rdp", "fails at"),
    ({"rdp": lambda order: {}[order]}, "rdp", "KeyError"),
    ({"rdp": lambda order: order.rate}, "rdp", "AttributeError"),
    ({"rdp": lambda order: math.inf}, "rdp", "nothing is promised"),
    ({"rdp": abs, "breaks": [0, 1]}, "breaks", "takes no breaks"),
    ({"profile": [(1, 0)], "name": "x"}, "name", "takes no name"),
    ({"tables": ([1e-310, 1], [0.5, 0.5])}, "tables", "at least 1e-300"),
    ({"tables": ([0.5, 0.5, 0], [0.5, 0.5])}, "tables", "equal length"),
    ({"profile": [(0, 0.1), (1, 0.2)]}, "profile", "never rise"),
    ({"profile": [(1, 0.1), (1, 0.2)]}, "profile", "never rise"),
    ({"profile": [(1000, 0)]}, "profile", r"epsilon in \[0, 690\]"),
    ({"tradeoff": [(0, 0.2), (0.5, 0.4)]}, "tradeoff", "never rise"),
    ({"densities": (abs, lambda x: 1 / 0), "breaks": [0, 1]}, "densities", "ZeroDivisionError"),
    ({"densities": (abs, lambda x: x * 1j), "breaks": [0, 1]}, "densities", "Cannot cast"),
    ({"densities": (half(0), half(1)), "breaks": [0, 1, 2]}, "densities", "overlap"),
    ({"densities": (half(0), half(0)), "breaks": [0, 1]}, "densities", "differ"),
    ({"densities": (wide, wide), "breaks": [-5, 5]}, "densities", "leave nothing out"),
    ({"tables": 3}, "tables", "two lists"),
    ({"tables": ([0.5, 0.4], [0.5, 0.5])}, "tables", "sum to 1"),
    ({"tables": ([0.5, 0.5], [1])}, "tables", "equal length"),
    ({"tables": ([1.5, -0.5], [0.5, 0.5])}, "tables", r"in \[0, 1\], got 1.5"),
    ({"tables": ([math.nan, 1], [0.5, 0.5])}, "tables", "got nan"),
    ({"tables": ([1, 0], [0, 1])}, "tables", "both p and q can yield"),
    ({"profile": [(1, 1)]}, "profile", "nothing is promised"),
    ({"tradeoff": [(0, 0)]}, "tradeoff", "nothing is promised"),
    ({"profile": []}, "profile", "a list of pairs"),
    ({"profile": "x"}, "profile", "a list of pairs"),
    ({"profile": profile}, "profile", "a list of pairs"),
    ({"profile": [(1, 2)]}, "profile", r"in \[0, 1\]"),
    ({"profile": [(-1, 0.5)]}, "profile", "epsilon in"),
    ({"profile": [(1, 0.5, 3)]}, "profile", "pairs of finite numbers"),
    ({"tradeoff": [(0.5, 0.6)]}, "tradeoff", r"in \[0, 1 - alpha\]"),
    ({"densities": (wide, wide)}, "breaks", "two or more"),
    ({"densities": (wide, wide), "breaks": [1, 1]}, "breaks", "increasing"),
    ({"densities": (wide, 3), "breaks": [-9, 9]}, "densities", "two functions"),
    ({"densities": (wide, lambda x: 2 * wide(x)), "breaks": [-9, 9]}, "densities", "integrate to"),
    ({"densities": (wide, lambda x: -wide(x)), "breaks": [-9, 9]}, "densities", "at least 0"),
    ({"densities": (wide, lambda x: 1.0), "breaks": [-9, 9]}, "densities", "shape"),
    (
        {"densities": (normal(0), wide), "breaks": [-60, 60], "symmetric": True},
        "symmetric",
        "two directions differ",
    ),
]


@pytest.mark.parametrize(("wrong", "argument", "message"), WRONG, ids=[t for *_, t in WRONG])
def test_wrong_use_gets_one_sentence(wrong: dict[str, Any], argument: str, message: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=message) as caught:
        dp.Custom(**wrong)
    assert caught.value.argument == argument
    assert "\n" not in str(caught.value)
