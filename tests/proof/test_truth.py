"""Certified intervals against truths made without dpacct, and against the fast engine."""

import json
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import pytest
from mpmath import mp, mpf

import dpacct as dp
from dpacct.errors import NotCertified
from dpacct.plan import certified
from dpacct.proof.check import decimal, exact_text
from dpacct.vocabulary import Strength
from tests.golden.golden_mpmath import delta_sampled
from tests.golden.golden_realspace import two_steps
from tests.golden.test_golden import label, plan, section, table
from tests.proof import against_truth

run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000


def width(answer: dp.Answer) -> float:
    assert answer.lower is not None
    assert answer.upper is not None
    return (answer.upper - answer.lower) / answer.upper


# eps at delta; the last digit rounded
NAMED = [
    (run, "1e-5", "1.51536191666"),
    (dp.Poisson("256/60000")(dp.Gaussian(sigma=0.8)) * 14063, "1e-5", "4.55001275751"),
    (dp.Poisson(0.2)(dp.Gaussian(sigma=3)) * 100, None, "2.18925634238"),
    (dp.Poisson(0.01)(dp.Gaussian(sigma=1)) * 1000, "1e-40", "12.2862282"),
    (dp.Poisson(0.001)(dp.Gaussian(sigma=1)) * 10**6, "1e-6", "6.6942726"),
]


@pytest.mark.parametrize(("node", "delta", "printed"), NAMED, ids=[case[2] for case in NAMED])
def test_the_named_examples(node: dp.Node, delta: str | None, printed: str) -> None:
    with mp.workdps(30):
        at = Fraction(delta) if delta else Fraction(str(mpf(975) ** mpf("-1.1")))
    answer = certified.epsilon(node, delta=at, effort=3.0).answer  # estimated from sizes of sums
    assert answer.strength is Strength.PROVED
    assert width(answer) <= 1e-9
    half = Fraction(6, 10 ** (len(printed.partition(".")[2]) + 1))
    assert answer.lower is not None
    assert answer.upper is not None
    assert Fraction(answer.lower) - half <= Fraction(printed) <= Fraction(answer.upper) + half


def test_the_named_delta_of_a_fixed_size_sample() -> None:
    node = dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=1)) * 200
    answer = certified.delta(node, epsilon=5).answer
    assert answer.upper is not None
    assert math.isclose(answer.upper, 3.40104090796e-05, rel_tol=1e-9)
    assert answer.upper >= 3.40104090796e-05 * (1 - 1e-11)


def test_twenty_digits() -> None:
    """Doubles gave 1.1537867345629311608e-5; mpmath gives these digits (certificate.md)."""
    answer = certified.delta(run, epsilon=1.5, digits=20)
    extra = answer.answer.extra
    assert str(extra["lower_decimal"])[:25] == "0.00001153786734563273811"
    truth = Fraction("0.0000115378673456327381180285288465958")
    assert Fraction(str(extra["lower_decimal"])) <= truth <= Fraction(str(extra["upper_decimal"]))


def test_the_same_digits_on_the_real_axis() -> None:
    """In mpmath, with no code shared, and from the golden table: those of doubles end at the 13th."""
    row = table("examples.json")["examples"]["delta-at-1.5"]
    assert abs(row["mpmath_delta_relative_gap"]) < 1e-18
    value = delta_sampled("1.1", "0.01", 1000, "1.5", "remove", dps=24)
    assert abs(value / mpf(row["delta"]) - 1) < mpf(10) ** -15
    assert abs(mpf(row["delta"]) / mpf("1.1537867345629311608e-5") - 1) > mpf(10) ** -13


GOLDEN = [*section("box")[::9], *section("hetero")[::4], *section("laplace")[::5]]


@pytest.mark.parametrize("row", GOLDEN, ids=label)
def test_golden(row: dict[str, str]) -> None:
    try:
        answer = certified.epsilon(plan(row), delta=row["delta"])
    except NotCertified:
        # only where losses pile up: a refusal, never a wrong interval
        return
    truth, tolerance = Fraction(row["epsilon"]), Fraction(1, 10**25)
    proven = answer.certificate
    assert Fraction(proven["lower"]) <= truth * (1 + tolerance)
    assert truth * (1 - tolerance) <= Fraction(proven["upper"])
    assert truth == 0 or width(answer.answer) <= 1.001e-9


def test_golden_rows_are_mostly_certified() -> None:
    assert len(GOLDEN) >= 40


@pytest.mark.parametrize(
    ("sigma", "rate", "epsilon"), [("1", "0.5", "3"), ("2", "0.7", "0.6"), ("0.8", "0.6", "5")]
)
def test_two_steps_in_real_space(sigma: str, rate: str, epsilon: str) -> None:
    truth = Fraction(str(two_steps(sigma, rate, epsilon, "remove", dps=25)))
    answer = certified.delta(dp.Poisson(rate)(dp.Gaussian(sigma=sigma)) * 2, epsilon=epsilon)
    proven = answer.certificate
    tolerance = Fraction(1, 10**15)
    assert Fraction(proven["lower"]) <= truth * (1 + tolerance)
    assert truth * (1 - tolerance) <= Fraction(proven["upper"])


def test_what_is_typed_is_exact() -> None:
    """One tenth, not the double nearest to it: at 40 digits the two are told apart."""
    gaussian = dp.Gaussian(sigma=1)
    typed = certified.delta(dp.Poisson(0.1)(gaussian) * 50, epsilon=1, digits=40)
    binary = certified.delta(dp.Poisson(Fraction(0.1))(gaussian) * 50, epsilon=1, digits=40)
    assert Fraction(typed.certificate["upper"]) < Fraction(binary.certificate["lower"])


def test_rare_hits_are_withheld() -> None:
    node = dp.Poisson("0.01")(dp.Gaussian(sigma="0.2")) * 50
    with pytest.raises(NotCertified, match="more than 40000 nodes"):
        certified.delta(node, epsilon=3)


def test_decimals_are_rounded_outwards() -> None:
    third = Fraction(1, 3)
    assert Fraction(decimal(third, 9, up=False)) < third < Fraction(decimal(third, 9, up=True))


@pytest.mark.parametrize(
    "value", [Fraction(7, 3 * 2**40_000), -Fraction(10**5_000, 3), Fraction(1, 10**4_000)]
)
@pytest.mark.parametrize("up", [False, True])
def test_long_numbers_are_rounded_as_short_ones(value: Fraction, up: bool) -> None:
    """`Decimal` itself takes seconds for numbers as small as 1e-181449."""
    for digits in (1, 4, 17):
        rounding = ROUND_CEILING if up else ROUND_FLOOR
        context = Context(prec=digits, rounding=rounding, Emin=-999_999, Emax=999_999)
        quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
        assert Decimal(decimal(value, digits, up=up)) == quotient
    assert exact_text(Fraction(12345, 10**181_453)) == "1.2345E-181449"
    with pytest.raises(NotCertified, match="more digits"):
        exact_text(Fraction(1, 2**60_000))


def test_stored_random_plans_hold_their_truths() -> None:
    """What `against_truth` found in its last run."""
    stored = json.loads(against_truth.SUMMARY.read_text())
    assert stored["truth outside"] == []
    assert stored["wider than 1e-11"] == []
    assert stored["plans"] >= 200
    assert sum(stored["proved"].values()) >= 0.97 * stored["plans"]


@pytest.mark.search
@pytest.mark.parametrize("k", range(against_truth.PLANS))
def test_a_random_plan_holds_its_truth(k: int) -> None:
    row = against_truth.judge(k)
    assert row.get("held", True), row
    assert row.get("tight", True), row
