"""The second check, against proofs of every form that one line carries; and certificates in Python."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from flint import acb, arb

import dpacct as dp
from dpacct.pld.loss import normal
from dpacct.proof import independent
from dpacct.proof.balls import precision
from dpacct.proof.check import check, laws_of, number
from dpacct.proof.independent import MOST_POINTS, within
from dpacct.proof.plan import Step, read_plan
from dpacct.vocabulary import Adjacency
from tests.cli.runner import line

PLANS = {
    "sampled": (dp.Poisson("0.5")(dp.Gaussian(sigma=3)) * 60, "1e-5"),
    "laplace": (dp.Laplace(b=10) * 1000, "1e-5"),
    "sampled laplace": (dp.Poisson("0.05")(dp.Laplace(b="0.5")) * 200, "1e-5"),
    "fixed size": (dp.WithoutReplacement("0.1")(dp.Laplace(b="0.5")) * 100, "1e-5"),
    "two laws": (dp.Laplace(b=10) * 800 + dp.Poisson("0.1")(dp.Laplace(b=2)) * 100, "1e-6"),
    "beside a guarantee": (dp.Laplace(b=10) * 800 + dp.PureDP(epsilon="0.1") * 3, "1e-6"),
}


@pytest.mark.parametrize("name", PLANS)
def test_it_decides_what_a_line_proved_and_nothing_false(name: str) -> None:
    node, delta = PLANS[name]
    made = dp.certificate(node, delta=delta, digits=9)
    assert all(claim.holds for claim in made.check())
    assert all(claim.holds for claim in made.check(independent=True)), made.check(independent=True)
    for claim in made.contents["claims"]:
        leads = claim["direction"] == made.contents["claims"][-1]["direction"]
        if leads and claim["evidence"]["form"] == "contour":
            below = claim["relation"] == "at most"
            false = Fraction(claim["bound"]) * Fraction(999 if below else 1001, 1000)
            laws = laws_of(claim["plan"], claim["adjacency"], claim["side"])[claim["direction"]]
            c = claim["evidence"]["contour"]["c"]
            assert within(laws, number(claim["epsilon"]), false, c) is not below


def test_it_says_what_it_cannot_reach() -> None:
    made = dp.certificate(dp.RandomizedResponse(eps0="0.01") * 100_000, delta="1e-6", digits=6)
    statements = made.check(independent=True)
    assert "beyond two integrals" in statements[0].statement
    assert not statements[0].holds


@pytest.mark.parametrize("c", [0.3, 1.5, 6.0])
def test_any_line_gives_a_true_verdict(c: float) -> None:
    node = dp.Laplace(b=10) * 1000
    (laws,) = read_plan(node, Adjacency.ADD_REMOVE).upper
    truth = Fraction(str(node.delta(15, method="certified").value))
    for factor, verdict in ((Fraction(9, 10), False), (Fraction(11, 10), True)):
        assert within(laws, Fraction(15), truth * factor, c) in (verdict, None)


def test_without_theorem_2_it_says_what_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that ends early."""
    node = dp.Laplace(b=10) * 30
    (laws,) = read_plan(node, Adjacency.ADD_REMOVE).upper
    truth = Fraction(str(node.delta(2, method="certified").value))
    bounds = [truth * (1 + Fraction(k, 10**4)) for k in (-999, -300, -30, 30, 300, 700)]

    def wrong() -> list[bool]:
        said = [within(laws, Fraction(2), bound, 1.5) for bound in bounds]
        return [verdict is (bound < truth) for verdict, bound in zip(said, bounds, strict=True)]

    monkeypatch.setattr(independent, "_FARTHEST", 9.0)
    assert not any(wrong())
    monkeypatch.setattr(independent, "disc", lambda size: 0 * size)
    assert any(wrong())


def test_without_theorem_3_a_moment_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A density that is cut off two deviations from its middle: log M(2) = 3 mu^2."""
    with precision(100):
        law = Step(normal, (Fraction(1, 4),)).law()
        monkeypatch.setattr(independent, "_DEVIATIONS", 2)
        # an end forty deviations below, so that no closed form of a whole bell applies
        part = independent._cut(replace(law.branches[0], start=arb(-20)), arb(2))
        truth = (arb(3) / 4).exp()
        assert independent._integral(part, acb(2), 1e-12).real.contains(truth)
        monkeypatch.setattr(independent, "spread", lambda size: acb(0))
        assert independent._integral(part, acb(2), 1e-12).real < truth


def test_a_bell_of_one_step_is_decided_at_twelve_digits() -> None:
    """Its tail falls faster than any power: 0.04 s, where a density's variation would take minutes."""
    made = dp.certificate(dp.Gaussian(sigma=4), delta="1e-5")
    assert all(statement.holds for statement in made.check(independent=True))


def test_it_imports_neither_search_nor_rules() -> None:
    text = Path(independent.__file__).read_text()
    assert len(text.splitlines()) <= 165
    names = {row.split()[1] for row in text.splitlines() if row.startswith("from .")}
    assert names == {".balls", ".law", ".plan"}


def test_made_written_read_and_checked(tmp_path: Path) -> None:
    node = dp.Laplace(b=10) * 1000
    made = dp.certificate(node, epsilon=15, digits=6)
    made.write(tmp_path / "laplace.json")
    read = dp.Certificate.read(tmp_path / "laplace.json")
    assert read == made
    assert read.contents["schema"] == 2
    assert all(claim.holds for claim in read.check())
    output = line(f"verify --certificate {tmp_path / 'laplace.json'} --independent --json")
    assert output.code == 0
    assert "two integrals" in json.loads(output.stdout)["claims"][0]["claim"]
    assert line("verify --independent").code == 2


def test_wrong_input_is_a_sentence(tmp_path: Path) -> None:
    node = dp.Gaussian(sigma=1)
    for item in ({}, {"delta": 1e-5, "epsilon": 1}):
        with pytest.raises(dp.InvalidArgument, match="either delta or epsilon"):
            dp.certificate(node, **item)
    (tmp_path / "list.json").write_text("[1]")
    for name in ("list.json", "none.json"):
        with pytest.raises(dp.InvalidArgument, match="certificate must be a file"):
            dp.Certificate.read(tmp_path / name)


def test_every_point_of_the_outer_integral_is_told_with_the_most_that_there_are() -> None:
    """From both follows how long it may take: minutes for a low sampling rate."""
    told: list[int] = []
    contents = dp.certificate(dp.Poisson("0.5")(dp.Gaussian(sigma=2)) * 100, delta="1e-5").contents
    assert all(fine for _, fine in check(contents, independent=True, tell=told.append))
    assert len(told) > 10 and set(told) == {len(contents["claims"]) * MOST_POINTS}
