"""Your own mechanism: known mechanisms given again in each form, and everything that is refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import ndtr, ndtri

import dpacct as dp
from dpacct.mechanisms.laws.knots import below, below_profile
from tests.mechanisms import oracle

MU = 0.5
GAUSSIAN = dp.Gaussian(sigma=2)


def profile(epsilon: float) -> float:
    return float(ndtr(MU / 2 - epsilon / MU) - math.exp(epsilon) * ndtr(-MU / 2 - epsilon / MU))


def tradeoff(alpha: float) -> float:
    return float(ndtr(ndtri(1 - alpha) - MU)) if alpha < 1 else 0.0


def normal(mean: float) -> Callable[[Any], Any]:
    return lambda x: np.exp(-((x - mean) ** 2) / 8) / math.sqrt(8 * math.pi)


FORMS = {
    "profile": dp.Custom(profile=profile),
    "tradeoff": dp.Custom(tradeoff=tradeoff),
    "densities": dp.Custom(densities=(normal(1), normal(0)), breaks=[-60, 60], symmetric=True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_gaussian_given_by_a_curve_is_one(form: str, delta: float) -> None:
    truth = GAUSSIAN.epsilon(delta=delta).value
    answer = FORMS[form].epsilon(delta=delta)
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower <= 1e-3 * truth


@pytest.mark.parametrize("form", FORMS)
def test_so_it_is_on_a_sample(form: str) -> None:
    plain, wrapped = (dp.Poisson("0.1")(m) for m in (GAUSSIAN, FORMS[form]))
    truth = plain.epsilon(delta=1e-5).value
    answer = wrapped.epsilon(delta=1e-5)
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower <= 3e-3 * truth


@pytest.mark.parametrize("form", FORMS)
def test_so_it_is_repeated(form: str) -> None:
    truth = (GAUSSIAN * 10).epsilon(delta=1e-5).value
    answer = (FORMS[form] * 10).epsilon(delta=1e-5)
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower <= 1e-3 * truth


@pytest.mark.parametrize("top", [0.37, 2.0, 9.1])
def test_next_to_its_largest_loss_a_profile_is_not_the_chord(top: float) -> None:
    """Between the last two points that are read the function lies below the chord: so does the lower end."""

    def falling(epsilon: float) -> float:
        return math.expm1(min(0.0, (epsilon - top) / 2)) ** 2 / -math.expm1(-top)

    custom = dp.Custom(profile=falling)
    for away in np.linspace(1e-4, 3e-3, 30).tolist():
        epsilon = top * (1.0 - away)
        with mp.workdps(30):
            truth = mp.expm1((mpf(epsilon) - mpf(top)) / 2) ** 2 / -mp.expm1(-mpf(top))
        answer = custom.delta(epsilon=epsilon, method="exact")
        assert answer.lower <= truth <= answer.upper


@given(
    k=st.floats(0.3, 1),
    alphas=st.lists(st.integers(1, 999), min_size=3, max_size=8, unique=True),
    top=st.floats(0.1, 5),
    shares=st.lists(st.integers(1, 120), min_size=2, max_size=8, unique=True),
)
def test_chains_through_points_lie_below(
    k: float, alphas: list[int], top: float, shares: list[int]
) -> None:
    """Of trade-off functions and of profiles, everywhere between the points that were read."""
    some = [0.0, *(a / 1000 for a in sorted(alphas)), 1.0]
    chain = below(some, [(1 - a**k) ** (1 / k) for a in some])
    between = np.linspace(0.0, 1.0, 401)
    assert np.all(chain(between) <= (1 - between**k) ** (1 / k) + 1e-12)

    def falling(epsilon: float) -> float:
        return math.expm1(min(0.0, (epsilon - top) / 2)) ** 2 / -math.expm1(-top)

    read = [0.0, *(top * share / 100 for share in sorted(shares))]
    law = below_profile(read, [falling(e) for e in read])
    places = np.linspace(0.0, 1.3 * top, 101)
    values = law.profile(places)[0] + law.infinite
    assert np.all(values <= [falling(e) + 1e-12 for e in places.tolist()])


def test_moments_give_what_zcdp_gives() -> None:
    zcdp = dp.ZCDP(rho="0.125") * 4
    for custom in (
        dp.Custom(rdp=lambda order: order / 8),
        dp.Custom(moment=lambda s: math.exp(s * (s + 1) / 8)),
    ):
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


def test_tables_and_points_are_saved_and_functions_are_not(tmp_path: Path) -> None:
    saved = [
        dp.Custom(tables=(["1/3", "2/3"], [0.5, 0.5])),
        dp.Custom(profile=[(0, 0.1), (1, 1e-5)]),
        dp.Custom(tradeoff=[(0, 0.9), (0.3, 0.3), (0.9, 0)]),
    ]
    for custom in saved:
        plan = dp.Poisson("0.1")(custom) * 3
        assert dp.from_json(plan.to_json()) == plan
    functions = [*FORMS.values(), dp.Custom(rdp=lambda order: order), dp.Custom(moment=math.exp)]
    for custom in functions:
        with pytest.raises(dp.Unsupported, match="a Custom made of a function cannot be saved"):
            custom.to_json()
    file = tmp_path / "profile.csv"
    file.write_text("epsilon,delta\n0, 0.1\n1, 1e-5\n\n")
    assert dp.Custom.from_csv(file) == saved[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2,3\n", "line 1 of .* must be two numbers"),
        ("epsilon,delta\n1,x\n", "line 2 of"),
        ("epsilon,delta\n", "lines of epsilon,delta, and .* has none"),
        ("", "has none"),
        ("\n \n", "has none"),
        ("0,.1\n1,nan\n", "line 2 of .* must be two numbers"),
        ("0,.1\ninf,0\n", "line 2 of .* must be two numbers"),
        ("0,.1\n\n-1,.1\n", "line 3 of .* epsilon >= 0"),
        ("1,2\n", r"line 1 of .* delta in \[0, 1\]"),
        ("0,.1\n1\n", "line 2 of .* must be two numbers"),
        ("0,.1\n1_0,.1\n", "line 2 of .* must be two numbers"),
        ("0,.1\n2,.01\n1,.2\n", "line 3 of .* larger delta than line 1, got 0.2 at epsilon 1"),
        ("1,.1\n1,.05\n", "line 2 of .* larger|line 1 of .* larger|at epsilon 1"),
        ("delta,epsilon\n.1,0\n", "in this order"),
        ("0;0,1\n1;0,01\n", "line 1 of .* must be two numbers"),
        ('0,"0.1\n1,1e-5\n', "line 1 of .* must be two numbers"),
        ("0," + "1" * 200_000, "field larger"),
    ],
    ids=range(17),
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "profile.csv"
    file.write_text(content)
    with pytest.raises(dp.InvalidArgument, match=message) as caught:
        dp.Custom.from_csv(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["none.csv", ".", None, 3, "a\0b"])
def test_what_is_no_file_gets_one_sentence(tmp_path: Path, path: Any) -> None:
    with pytest.raises(dp.InvalidArgument, match="path must be a readable file"):
        dp.Custom.from_csv(tmp_path / path if isinstance(path, str) else path)


@pytest.mark.parametrize(
    "content",
    [
        "0,.1\n1,1e-5\n",
        "1,1e-5\r\n0,.1",
        "epsilon,delta\n0, 0.1\n\n1,1e-5\n",
        "# from our survey\nEpsilon (nats),Delta\n0,.1\n1,1e-5\n",
        "\ufeff0,.1\n1,1e-5\n",
        "\ufeffepsilon;delta\n0;.1\n1;1e-5\n",
        "0\t.1\n1\t1e-5\n",
        '"0","0.1"\n"1","1e-5"\n',
    ],
)
def test_a_file_as_people_have_it_is_read(tmp_path: Path, content: str) -> None:
    file = tmp_path / "profile.csv"
    file.write_bytes(content.encode())
    assert dp.Custom.from_csv(file) == dp.Custom(profile=[(0, 0.1), (1, 1e-5)])


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
    ({"moment": lambda s: 0.5}, "moment", "at least 1"),
    ({"moment": lambda s: math.nan}, "moment", "got nan at"),
    ({"tables": 3}, "tables", "two lists"),
    ({"tables": ([0.5, 0.4], [0.5, 0.5])}, "tables", "sum to 1"),
    ({"tables": ([0.5, 0.5], [1])}, "tables", "equal length"),
    ({"tables": ([1.5, -0.5], [0.5, 0.5])}, "tables", r"in \[0, 1\], got 1.5"),
    ({"tables": ([math.nan, 1], [0.5, 0.5])}, "tables", "got nan"),
    ({"tables": ([1, 0], [0, 1])}, "tables", "both p and q can yield"),
    ({"profile": [(1, 1)]}, "profile", "nothing is promised"),
    ({"tradeoff": [(0, 0)]}, "tradeoff", "nothing is promised"),
    ({"profile": []}, "profile", "a function or a list"),
    ({"profile": "x"}, "profile", "a function or a list"),
    ({"profile": [(1, 2)]}, "profile", r"in \[0, 1\]"),
    ({"profile": [(-1, 0.5)]}, "profile", "epsilon in"),
    ({"profile": [(1, 0.5, 3)]}, "profile", "pairs of finite numbers"),
    ({"profile": lambda e: min(1.0, 0.1 + e / 50)}, "profile", "never rise"),
    ({"profile": lambda e: 0.5 if e < 1 else 0.1 if e < 2 else 0.0}, "profile", "convex in e"),
    ({"profile": lambda e: math.nan}, "profile", "got nan at"),
    ({"tradeoff": lambda a: 1 - a * a}, "tradeoff", r"in \[0, 1 - alpha\]"),
    ({"tradeoff": lambda a: 0.05 if 0.5 < a < 0.9 else 0.0}, "tradeoff", "never rise"),
    ({"tradeoff": lambda a: 0.3 if a < 0.5 else 0.0}, "tradeoff", "convex"),
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
